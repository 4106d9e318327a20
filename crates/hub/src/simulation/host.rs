//! A session host: a screen, a gate that types at most once, reports that are said until they are thanked for, and a
//! journal for when it is killed.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use atlasbridge_model::lifecycle::{self, Departure, Failure, NotApplied};
use atlasbridge_model::{
    Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Kind, Now,
    PromptId, ReplyId, SessionId, Sighting, SightingNo, Strokes, Takes,
};
use atlasbridge_store::{SessionRecord, SessionStatus};
use atlasbridge_wire::journal::Trace;
use atlasbridge_wire::session::Inject;

use super::dice::Dice;
use crate::core::acts::Event;

#[derive(Debug, Clone)]
pub(super) enum Report {
    Sighted(Box<Sighting>, Option<Duration>),
    Left(u32, Departure),
    Outcome(PromptId, lifecycle::Event),
    Ended,
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) record: SessionRecord,
    pub(super) is_alive: bool,
    pub(super) is_connected: bool,
    pub(super) has_ended: bool,
    /// The hub knows that its process has ended.
    pub(super) is_mourned: bool,
    /// What stands on its screen: the last one is what keys would reach.
    pub(super) screen: Vec<Sighting>,
    /// Not thanked for yet, in order.
    pub(super) reports: VecDeque<Report>,
    pub(super) inbox: Vec<Inject>,
    /// What became of each reply, by its id.
    outcomes: HashMap<String, (PromptId, Vec<lifecycle::Event>)>,
    /// How often something was typed for each sighting.
    pub(super) typed: HashMap<u32, u32>,
    pub(super) journal: HashMap<String, Trace>,
    next_sighting: u32,
}

impl Host {
    pub(super) fn new(dice: &mut Dice, now: Now) -> Self {
        let record = SessionRecord {
            id: SessionId::from_random(dice.bytes()),
            tool: "claude".to_owned(),
            command: vec!["claude".to_owned()],
            cwd: "/home/dev".to_owned(),
            label: None,
            host_pid: 4711,
            host_started: 1,
            leader_pid: None,
            tool_pid: None,
            boot_id: super::life::BOOT.to_owned(),
            started_at: now.wall,
            ended_at: None,
            exit_code: None,
            status: SessionStatus::Active,
            paused_at: None,
        };
        Self {
            record,
            is_alive: true,
            is_connected: false,
            has_ended: false,
            is_mourned: false,
            screen: Vec::new(),
            reports: VecDeque::new(),
            inbox: Vec::new(),
            outcomes: HashMap::new(),
            typed: HashMap::new(),
            journal: HashMap::new(),
            next_sighting: 1,
        }
    }

    pub(super) fn session(&self) -> SessionId {
        self.record.id
    }

    /// The tool asks something. What stood there before may still be on the screen, behind it.
    pub(super) fn ask(&mut self, dice: &mut Dice) -> Kind {
        let sighting = sighting(self.next_sighting, dice);
        let kind = sighting.kind;
        self.next_sighting += 1;
        let typed_ago = dice.once_in(4).then(|| Duration::from_millis(dice.next() % 15_000));
        self.screen.push(sighting.clone());
        self.reports.push_back(Report::Sighted(Box::new(sighting), typed_ago));
        kind
    }

    /// What stands on the screen leaves it without us.
    pub(super) fn leave(&mut self, dice: &mut Dice) {
        let how = match dice.below(5) {
            0 => Departure::OutOfBand,
            1 => Departure::Withdrawn,
            _ => Departure::AnsweredLocally,
        };
        if let Some(sighting) = self.screen.pop().filter(|_| !self.has_ended) {
            self.reports.push_back(Report::Left(sighting.no.0, how));
        }
    }

    pub(super) fn end(&mut self) {
        if self.has_ended {
            return;
        }
        self.has_ended = true;
        self.screen.clear();
        self.reports.push_back(Report::Ended);
    }

    /// # At most once
    /// As the gate does: a reply that was seen is answered from memory, and what does not fit the screen of this moment is
    /// not typed.
    pub(super) fn inject(&mut self, inject: &Inject, dice: &mut Dice, now: Now) {
        if let Some((prompt, events)) = self.outcomes.get(&inject.reply_id) {
            self.reports.extend(events.iter().map(|event| Report::Outcome(*prompt, event.clone())));
            return;
        }
        let reply: ReplyId = inject.reply_id.parse().unwrap();
        let prompt: PromptId = inject.prompt_id.parse().unwrap();
        let failed = |failure| lifecycle::Event::NotApplied { reply, why: NotApplied::Failed(failure) };
        let shows = !self.has_ended && self.screen.last().is_some_and(|top| top.no.0 == inject.sighting);
        let events = if !shows {
            vec![failed(Failure::PromptChanged)]
        } else if inject.deadline.is_some_and(|deadline| deadline <= now.boot.0) {
            vec![failed(Failure::TooLate)]
        } else if inject.value.is_none() {
            vec![failed(Failure::NotRecorded)]
        } else if dice.once_in(12) {
            vec![failed(Failure::TypingLocally)]
        } else {
            self.journal.insert(inject.reply_id.clone(), Trace::Unknown);
            *self.typed.entry(inject.sighting).or_default() += 1;
            if dice.once_in(30) {
                // Killed between the intent and the outcome.
                self.is_alive = false;
                return;
            }
            self.journal.insert(inject.reply_id.clone(), Trace::Typed);
            let typed = lifecycle::Event::Typed { reply };
            match dice.once_in(10) {
                true => vec![typed, failed(Failure::NotTaken)],
                false => {
                    self.screen.pop();
                    vec![typed, lifecycle::Event::Taken { reply }]
                }
            }
        };
        self.reports.extend(events.iter().map(|event| Report::Outcome(prompt, event.clone())));
        self.outcomes.insert(inject.reply_id.clone(), (prompt, events));
    }

    pub(super) fn event(&self, report: Report) -> Event {
        let session = self.session();
        match report {
            Report::Sighted(sighting, typed_ago) => Event::Sighted { session, sighting, typed_ago },
            Report::Left(sighting, how) => Event::Left { session, sighting, how },
            Report::Outcome(prompt, what) => Event::Outcome { session, prompt, what },
            Report::Ended => Event::ToolEnded { session, status: SessionStatus::Completed, code: 0 },
        }
    }
}

fn sighting(no: u32, dice: &mut Dice) -> Sighting {
    let (kind, text, labels): (_, _, &[(&str, Effect)]) = match dice.below(10) {
        0..=3 => (Kind::YesNo, "Delete? (y/n)", &[("yes", Effect::Accepts), ("no", Effect::Refuses)]),
        4..=5 => (
            Kind::MultipleChoice,
            "Proceed?",
            &[("Yes", Effect::Accepts), ("Yes, always", Effect::Other), ("No", Effect::Refuses)],
        ),
        6 => (Kind::ConfirmEnter, "Press Enter", &[]),
        7 => (Kind::FreeText, "Message:", &[]),
        8 => (Kind::Idle, "❯", &[]),
        _ => (Kind::Unknown, "?", &[]),
    };
    let choice = |(label, effect): &(&str, Effect)| Choice {
        label: (*label).to_owned(),
        strokes: Some(Strokes::once("x")),
        effect: *effect,
    };
    let confidence = if dice.once_in(8) { 62 } else { 95 };
    Sighting {
        no: SightingNo(no),
        kind,
        confidence: Confidence::new(confidence).unwrap(),
        excerpt: Excerpt::new(text),
        detail: Detail::new(text),
        choices: Choices::new(labels.iter().map(choice).collect()),
        constraints: Constraints::default(),
        offers_default: false,
        takes: Takes::NOTHING,
        entry: Entry::Line,
        fingerprint: Fingerprint([no as u8; 16]),
    }
}
