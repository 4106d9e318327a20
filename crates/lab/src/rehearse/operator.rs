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
    /// Which act of which prompt is under way, or comes next.
    prompt: usize,
    act: usize,
    /// The id of the prompt that is acted on; `None`: the next prompt is to be offered.
    current: Option<String>,
    /// It was left until the tool withdrew it, and the hub is to refuse an answer.
    is_late: bool,
    /// Offered and not looked at yet.
    queue: VecDeque<(PromptView, SystemTime)>,
    known: BTreeSet<String>,
    /// On the hub's list right now.
    present: Vec<String>,
    pub(crate) offered: Vec<Offer>,
    pub(crate) problems: Vec<String>,
}

/// A prompt as it was offered.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) kind: String,
    pub(crate) excerpt: String,
    pub(crate) at: SystemTime,
    pub(crate) answered_at: Option<SystemTime>,
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
            current: None,
            is_late: false,
            queue: VecDeque::new(),
            known: BTreeSet::new(),
            present: Vec::new(),
            offered: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.current.is_none() && self.prompt == self.scenario.prompts.len() && self.queue.is_empty()
    }

    /// The hub's list has changed.
    pub(crate) fn watched(&mut self, prompts: Vec<PromptView>, now: SystemTime) -> Option<OperatorAct> {
        self.present = prompts.iter().map(|prompt| prompt.prompt_id.clone()).collect();
        for prompt in prompts {
            if prompt.status == "awaiting_reply" && self.known.insert(prompt.prompt_id.clone()) {
                self.queue.push_back((prompt, now));
            }
        }
        self.go_on(now)
    }

    /// The hub has responded to the last answer.
    pub(crate) fn responded(&mut self, response: Response, now: SystemTime) -> Option<OperatorAct> {
        match self.complaint(response) {
            None => self.advance(now),
            Some(problem) => {
                self.fail(problem);
                None
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
        match self.current_act() {
            None => match self.scenario.prompts.get(self.prompt) {
                Some(expected) => format!("a prompt with {:?} was offered", expected.says),
                None => "it should".to_owned(),
            },
            Some(Act::Say(_) | Act::Refused(..)) => "the hub had responded to the answer".to_owned(),
            Some(Act::Leave) if self.is_late => "the hub had refused the late answer".to_owned(),
            Some(Act::Leave) => "the prompt was withdrawn".to_owned(),
            Some(Act::Type(_)) => "the prompt that was answered at the keyboard had gone".to_owned(),
        }
    }

    fn go_on(&mut self, now: SystemTime) -> Option<OperatorAct> {
        let Some(prompt) = &self.current else {
            return self.take_offer(now);
        };
        let is_gone = !self.present.contains(prompt);
        match self.current_act()? {
            Act::Leave if is_gone && !self.is_late => {
                self.is_late = true;
                self.ask(&SaidText::Approve)
            }
            Act::Type(_) if is_gone => self.advance(now),
            Act::Say(_) | Act::Refused(..) | Act::Leave | Act::Type(_) => None,
        }
    }

    /// The act is done: the next one on the same prompt, or the next prompt.
    fn advance(&mut self, now: SystemTime) -> Option<OperatorAct> {
        self.act += 1;
        self.is_late = false;
        if self.current_act().is_some() {
            return self.perform(now);
        }
        self.prompt += 1;
        self.act = 0;
        self.current = None;
        self.take_offer(now)
    }

    /// The next prompt, if it was offered.
    fn take_offer(&mut self, now: SystemTime) -> Option<OperatorAct> {
        let (prompt, at) = self.queue.pop_front()?;
        let Some(expected) = self.scenario.prompts.get(self.prompt) else {
            self.fail(format!("one prompt too many was offered: {:?}", prompt.excerpt));
            return None;
        };
        self.problems.extend(differences(expected, &prompt));
        self.offered.push(Offer { kind: prompt.kind, excerpt: prompt.excerpt, at, answered_at: None });
        self.current = Some(prompt.prompt_id);
        self.perform(now)
    }

    fn perform(&mut self, now: SystemTime) -> Option<OperatorAct> {
        let act = self.current_act()?;
        if matches!(act, Act::Say(_) | Act::Type(_))
            && let Some(offer) = self.offered.last_mut()
        {
            offer.answered_at = Some(now);
        }
        match act {
            Act::Say(said) | Act::Refused(said, _) => self.ask(said),
            Act::Leave => None,
            Act::Type(keys) => Some(OperatorAct::Type(keys.clone())),
        }
    }

    fn ask(&self, said: &SaidText) -> Option<OperatorAct> {
        let prompt = self.current.clone()?;
        Some(OperatorAct::Ask(Request::Answer { prompt, said: said.clone(), as_is: false }))
    }

    /// What is wrong with the response of the hub.
    fn complaint(&self, response: Response) -> Option<String> {
        match (self.current_act(), response) {
            (Some(Act::Refused(_, words)), Response::Refused { reason }) if reason.contains(words) => None,
            (Some(Act::Refused(answer, words)), other) => {
                Some(format!("{answer:?} should be refused with {words:?}, but: {other:?}"))
            }
            (Some(Act::Leave), Response::Refused { .. }) if self.is_late => None,
            (Some(Act::Leave), other) if self.is_late => {
                Some(format!("a late answer was not refused: {other:?}"))
            }
            (None | Some(Act::Leave | Act::Type(_)), other) => {
                Some(format!("the hub said something unasked: {other:?}"))
            }
            (Some(Act::Say(_)), Response::Answered { prompt })
                if prompt.reason.as_deref() == Some("applied") =>
            {
                None
            }
            (Some(Act::Say(_)), Response::Answered { prompt }) => {
                Some(format!("the answer to {:?} was not taken: {}", prompt.excerpt, prompt.word))
            }
            (Some(Act::Say(_)), other) => Some(format!("the answer was not accepted: {other:?}")),
        }
    }

    /// What is done, or to be done, about the prompt that was offered last.
    fn current_act(&self) -> Option<&'static Act> {
        self.current.as_ref()?;
        self.scenario.prompts.get(self.prompt)?.acts.get(self.act)
    }
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
        assert!(matches!(asked, Some(OperatorAct::Ask(Request::Answer { .. }))));
        let reason = "at most 20 characters".to_owned();
        let again = operator.responded(Response::Refused { reason }, NOW);
        let said = SaidText::Text("twenty characters ok".to_owned());
        let asked = OperatorAct::Ask(Request::Answer { prompt: "a".to_owned(), said, as_is: false });
        assert_eq!(again, Some(asked));
        assert_eq!(operator.responded(taken("a"), NOW), None);
        assert!(operator.watched(waiting("b", "Enter commit message:"), NOW).is_some());
        operator.responded(taken("b"), NOW);
        operator.ended(0);
        assert!(operator.is_done() && operator.problems.is_empty(), "{:?}", operator.problems);
    }

    #[test]
    fn what_differs_is_told() {
        let check = |play: &dyn Fn(&mut Operator), expected: &str| {
            let mut operator = Operator::new(scenario("QA-019").unwrap());
            play(&mut operator);
            let problems = operator.problems.join("; ");
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
