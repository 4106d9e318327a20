//! The hub dies, again and again, at each step between a tap and the last edit of its message: the answer is read once,
//! and the message ends in the truth.

use std::thread;
use std::time::{Duration, Instant};

use atlasbridge_testkit::Terminal;

use crate::dice::{Dice, full_or_a_tenth};
use crate::{ANN, Desk};

/// In the order in which a tap comes by.
const POINTS: [&str; 10] = [
    "hub-update-received",
    "hub-before-accept",
    "hub-after-accept",
    "hub-update-recorded",
    "hub-before-deliver",
    "hub-after-deliver",
    "hub-before-outcome",
    "hub-before-task",
    "hub-before-task-done",
    "hub-after-task-done",
];

/// As many as a session may be answered from a chat within a minute.
const QUESTIONS: usize = 10;

struct Rounds {
    desk: Desk,
    /// One after the other.
    terminals: Vec<Terminal>,
    dice: Dice,
    done: usize,
}

impl Rounds {
    fn new(seed: u64) -> Self {
        Self { desk: Desk::new(), terminals: Vec::new(), dice: Dice::new(seed), done: 0 }
    }

    /// It stays after its last question: a hub that is killed when no session is left starts with the next one, and not
    /// before.
    fn next_session(&mut self) {
        let (first, last) = (self.done + 1, self.done + QUESTIONS);
        let script = format!(
            r#"for n in {{{first:03}..{last:03}}}; do read -p "Step $n? (y/n) " a; echo "step$n=[$a]"; done; sleep 3600"#
        );
        self.terminals.push(self.desk.home.bash(&script));
    }

    /// One question, one tap, one death, brought about by `kill` around the tap.
    #[track_caller]
    fn round(&mut self, what: &str, kill: impl FnOnce(&Desk, &mut Dice, &dyn Fn())) {
        if self.done.is_multiple_of(QUESTIONS) {
            self.next_session();
        }
        self.done += 1;
        let n = self.done;
        let (desk, dice) = (&self.desk, &mut self.dice);
        let terminal = self.terminals.last().unwrap();
        let question = format!("Step {n:03}?");
        let prompt = desk.prompt(&question);
        let (label, letter) = [("Yes", "y"), ("No", "n")][dice.roll(2) as usize];
        let data = prompt.button(label).unwrap().data.clone();
        kill(desk, dice, &|| drop(desk.telegram.forges_tap(ANN, desk.chat, prompt.id, &data)));
        terminal.wait_for(&format!("step{n:03}=["));
        assert_eq!(terminal.count(&format!("step{n:03}=[{letter}]")), 1, "{what}, step {n}");
        desk.ends(&prompt, "applied");
        // A message whose sending was cut short may be there twice; then both tell the truth.
        for message in desk.telegram.messages(desk.chat) {
            if message.text.contains(&question) {
                desk.ends(&message, "applied");
            }
        }
    }

    fn ends(self) {
        for n in 1..=self.done {
            let shown = self.terminals.iter();
            let times: usize = shown.map(|terminal| terminal.count(&format!("step{n:03}=["))).sum();
            assert_eq!(times, 1, "step {n}");
        }
        let received = self.desk.home.audit();
        let received = received.iter().filter(|record| record["event"] == "REPLY_RECEIVED");
        assert_eq!(received.count(), self.done);
        assert_eq!(self.desk.home.run(["audit", "verify"]).code, 0);
        self.desk.nothing_was_violated();
    }
}

#[test]
fn a_tap_survives_every_death_of_the_hub_at_a_named_point() {
    let each = full_or_a_tenth(160) / POINTS.len();
    let began = Instant::now();
    let mut rounds = Rounds::new(1);
    for point in POINTS.repeat(each) {
        rounds.round(point, |desk, _, tap| {
            let pause = desk.home.pause_at(point);
            tap();
            pause.kill();
        });
    }
    eprintln!("killed {} times in {:?}", rounds.done, began.elapsed());
    rounds.ends();
}

#[test]
fn a_tap_survives_deaths_of_the_hub_at_any_moment() {
    let began = Instant::now();
    let mut rounds = Rounds::new(2);
    for _ in 0..full_or_a_tenth(40) {
        rounds.round("any moment", |desk, dice, tap| {
            let hub = std::fs::read_to_string(desk.home.path().join("hub.lock")).unwrap();
            tap();
            // Not a wait for something: the moment is what is tried.
            thread::sleep(Duration::from_micros(dice.roll(60_000)));
            atlasbridge_testkit::kill(hub.trim().parse().unwrap());
        });
    }
    eprintln!("killed {} times in {:?}", rounds.done, began.elapsed());
    rounds.ends();
}
