//! The operator of a rehearsal: sees what is offered, does what the scenario says, notes what differs. Pure: what the
//! hub said goes in, what to ask or type comes out.

use std::collections::{BTreeSet, VecDeque};
use std::time::SystemTime;

use atlasbridge_wire::command::{PromptView, Request, Response};
use atlasbridge_wire::twin::SaidText;

use crate::scenario::{Act, Expected, Scenario};

#[derive(Debug)]
pub(crate) struct Operator {
    scenario: &'static Scenario,
    /// Which act of which prompt comes next.
    prompt: usize,
    act: usize,
    /// With the id of its prompt; `None`: the next prompt is to be offered.
    turn: Option<(Turn, String)>,
    /// Offered and not looked at yet.
    queue: VecDeque<(PromptView, SystemTime)>,
    known: BTreeSet<String>,
    /// On the hub's list right now.
    present: Vec<String>,
    offered: Vec<Offer>,
    problems: Vec<String>,
}

/// A prompt as it was offered.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) kind: String,
    pub(crate) excerpt: String,
    pub(crate) at: SystemTime,
    pub(crate) answered_at: Option<SystemTime>,
}

/// What is to happen to the prompt that was offered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The hub is to respond to an answer.
    Answering,
    /// The tool is to withdraw it.
    Leaving,
    /// It was withdrawn, and the hub is to refuse an answer.
    TooLate,
    /// It was answered at the keyboard and is to go.
    Typing,
}

/// What the operator does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OperatorAct {
    Ask(Request),
    Type(String),
}

impl Operator {
    pub(crate) fn new(scenario: &'static Scenario) -> Self {
        Self {
            scenario,
            prompt: 0,
            act: 0,
            turn: None,
            queue: VecDeque::new(),
            known: BTreeSet::new(),
            present: Vec::new(),
            offered: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    pub(crate) fn offered(&self) -> &[Offer] {
        &self.offered
    }

    pub(crate) fn is_done(&self) -> bool {
        self.turn.is_none() && self.prompt == self.scenario.prompts.len() && self.queue.is_empty()
    }

    /// The hub's list has changed.
    pub(crate) fn watched(&mut self, prompts: Vec<PromptView>, now: SystemTime) -> Vec<OperatorAct> {
        self.present = prompts.iter().map(|prompt| prompt.prompt_id.clone()).collect();
        for prompt in prompts {
            if prompt.status == "awaiting_reply" && self.known.insert(prompt.prompt_id.clone()) {
                self.queue.push_back((prompt, now));
            }
        }
        self.go_on(now)
    }

    /// The hub has responded to the last answer.
    pub(crate) fn responded(&mut self, response: Response, now: SystemTime) -> Vec<OperatorAct> {
        let is_refused = matches!(response, Response::Refused { .. });
        let problem = match &self.turn {
            Some((Turn::Answering, _)) => self.complaint(response),
            Some((Turn::TooLate, _)) if is_refused => None,
            Some((Turn::TooLate, _)) => Some(format!("a late answer was not refused: {response:?}")),
            None | Some((Turn::Leaving | Turn::Typing, _)) => {
                Some(format!("the hub said something unasked: {response:?}"))
            }
        };
        match (problem, &self.turn) {
            (None, Some((_, prompt))) => self.advance(prompt.clone(), now),
            (problem, _) => {
                self.problems.extend(problem);
                Vec::new()
            }
        }
    }

    /// The tool has ended.
    pub(crate) fn ended(&mut self, code: i32) {
        if self.is_done() && code == 0 {
            return;
        }
        let unseen = self.queue.pop_front().map(|(prompt, _)| prompt.excerpt);
        match unseen {
            _ if !self.is_done() => {
                self.fail(format!("the tool ended with code {code} before {}", self.expectation()))
            }
            Some(excerpt) => self.fail(format!("one prompt too many was offered: {excerpt:?}")),
            None => self.fail(format!("the tool ended with code {code}")),
        }
    }

    pub(crate) fn fail(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// What is being waited for, to end a sentence.
    pub(crate) fn expectation(&self) -> String {
        match (&self.turn, self.scenario.prompts.get(self.prompt)) {
            (None, Some(expected)) => format!("a prompt with {:?} was offered", expected.says),
            (None, None) => "it should".to_owned(),
            (Some((Turn::Answering, _)), _) => "the hub had responded to the answer".to_owned(),
            (Some((Turn::Leaving, _)), _) => "the prompt was withdrawn".to_owned(),
            (Some((Turn::TooLate, _)), _) => "the hub had refused the late answer".to_owned(),
            (Some((Turn::Typing, _)), _) => {
                "the prompt that was answered at the keyboard had gone".to_owned()
            }
        }
    }

    fn go_on(&mut self, now: SystemTime) -> Vec<OperatorAct> {
        match self.turn.clone() {
            None => self.take_offer(now),
            Some((Turn::Leaving, prompt)) if !self.present.contains(&prompt) => {
                self.turn = Some((Turn::TooLate, prompt.clone()));
                vec![ask(prompt, SaidText::Approve)]
            }
            Some((Turn::Typing, prompt)) if !self.present.contains(&prompt) => self.advance(prompt, now),
            Some((Turn::Answering | Turn::Leaving | Turn::TooLate | Turn::Typing, _)) => Vec::new(),
        }
    }

    /// The act is done: the next one on the same prompt, or the next prompt.
    fn advance(&mut self, prompt: String, now: SystemTime) -> Vec<OperatorAct> {
        self.act += 1;
        if self.current_act().is_some() {
            return self.perform(prompt, now);
        }
        self.prompt += 1;
        self.act = 0;
        self.turn = None;
        self.take_offer(now)
    }

    /// The next prompt, if it was offered.
    fn take_offer(&mut self, now: SystemTime) -> Vec<OperatorAct> {
        let Some((prompt, at)) = self.queue.pop_front() else {
            return Vec::new();
        };
        let Some(expected) = self.scenario.prompts.get(self.prompt) else {
            self.fail(format!("one prompt too many was offered: {:?}", prompt.excerpt));
            return Vec::new();
        };
        self.problems.extend(differences(expected, &prompt));
        self.offered.push(Offer { kind: prompt.kind, excerpt: prompt.excerpt, at, answered_at: None });
        self.perform(prompt.prompt_id, now)
    }

    fn perform(&mut self, prompt: String, now: SystemTime) -> Vec<OperatorAct> {
        let Some(act) = self.current_act() else {
            return Vec::new();
        };
        if matches!(act, Act::Say(_) | Act::Type(_))
            && let Some(offer) = self.offered.last_mut()
        {
            offer.answered_at = Some(now);
        }
        let (turn, acts) = match act {
            Act::Say(said) | Act::Refused(said, _) => (Turn::Answering, vec![ask(prompt.clone(), said)]),
            Act::Leave => (Turn::Leaving, Vec::new()),
            Act::Type(keys) => (Turn::Typing, vec![OperatorAct::Type(keys)]),
        };
        self.turn = Some((turn, prompt));
        acts
    }

    /// What is wrong with the response to an answer.
    fn complaint(&self, response: Response) -> Option<String> {
        match (self.current_act(), response) {
            (Some(Act::Refused(_, words)), Response::Refused { reason }) if reason.contains(words) => None,
            (Some(Act::Refused(answer, words)), other) => {
                Some(format!("{answer:?} should be refused with {words:?}, but: {other:?}"))
            }
            (_, Response::Answered { prompt }) if prompt.reason.as_deref() == Some("applied") => None,
            (_, Response::Answered { prompt }) => {
                Some(format!("the answer to {:?} was not taken: {}", prompt.excerpt, prompt.word))
            }
            (_, other) => Some(format!("the answer was not accepted: {other:?}")),
        }
    }

    fn current_act(&self) -> Option<Act> {
        self.scenario.prompts.get(self.prompt)?.acts.get(self.act).cloned()
    }
}

fn ask(prompt: String, said: SaidText) -> OperatorAct {
    OperatorAct::Ask(Request::Answer { prompt, said, as_is: false })
}

/// How an offered prompt differs from the one that was expected.
fn differences(expected: &Expected, offered: &PromptView) -> Vec<String> {
    let mut differences = Vec::new();
    if offered.kind != expected.kind {
        differences
            .push(format!("{:?} was offered as {} and is {}", offered.excerpt, offered.kind, expected.kind));
    }
    if !offered.excerpt.contains(expected.says) && !offered.detail.contains(expected.says) {
        differences.push(format!("{:?} was offered where {:?} was expected", offered.excerpt, expected.says));
    }
    let labels: Vec<&str> = offered.choices.iter().map(|choice| choice.label.as_str()).collect();
    let are_same = labels.len() == expected.choices.len()
        && labels.iter().zip(&expected.choices).all(|(one, other)| one.eq_ignore_ascii_case(other));
    if !are_same {
        differences.push(format!(
            "{:?} was offered with the choices {labels:?} and has {:?}",
            offered.excerpt, expected.choices
        ));
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::scenario;

    fn view(id: &str, kind: &str, excerpt: &str, status: &str) -> PromptView {
        PromptView {
            prompt_id: id.to_owned(),
            session_id: String::new(),
            tool: "bash".to_owned(),
            label: None,
            cwd: String::new(),
            kind: kind.to_owned(),
            confidence: "high".to_owned(),
            excerpt: excerpt.to_owned(),
            detail: String::new(),
            choices: Vec::new(),
            constraints: Default::default(),
            expires_at: None,
            expires_in_ms: None,
            created_at: String::new(),
            status: status.to_owned(),
            reason: None,
            word: "waiting".to_owned(),
            safe_default: None,
            answers: Vec::new(),
        }
    }

    fn waiting(id: &str, excerpt: &str) -> Vec<PromptView> {
        vec![view(id, "free_text", excerpt, "awaiting_reply")]
    }

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn taken(id: &str) -> Response {
        Response::Answered {
            prompt: PromptView {
                reason: Some("applied".to_owned()),
                ..view(id, "free_text", "", "resolved")
            },
        }
    }

    #[test]
    fn a_refused_answer_is_followed_by_the_right_one() {
        let mut operator = Operator::new(scenario("QA-009").unwrap());
        let asked = operator.watched(waiting("a", "Enter name (max 20 chars):"), NOW);
        assert!(matches!(&asked[..], [OperatorAct::Ask(Request::Answer { .. })]));
        let reason = "at most 20 characters".to_owned();
        let again = operator.responded(Response::Refused { reason }, NOW);
        let said = SaidText::Text("twenty characters ok".to_owned());
        assert_eq!(again, [OperatorAct::Ask(Request::Answer { prompt: "a".to_owned(), said, as_is: false })]);
        assert!(operator.responded(taken("a"), NOW).is_empty());
        assert_eq!(operator.watched(waiting("b", "Enter commit message:"), NOW).len(), 1);
        operator.responded(taken("b"), NOW);
        operator.ended(0);
        assert!(operator.is_done() && operator.problems().is_empty(), "{:?}", operator.problems());
    }

    #[test]
    fn what_differs_is_told() {
        let check = |play: &dyn Fn(&mut Operator), expected: &str| {
            let mut operator = Operator::new(scenario("QA-019").unwrap());
            play(&mut operator);
            let problems = operator.problems().join("; ");
            assert!(problems.contains(expected), "{problems}");
        };
        check(&|operator| operator.ended(1), "ended with code 1 before a prompt with \"Note:\"");
        check(
            &|operator| drop(operator.watched(waiting("a", "Delete it?"), NOW)),
            "\"Delete it?\" was offered where \"Note:\"",
        );
        check(
            &|operator| {
                operator.watched(waiting("a", "Note:"), NOW);
                operator.responded(Response::Done, NOW);
            },
            "was not accepted",
        );
    }
}
