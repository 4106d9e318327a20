//! Many dialogs of one Claude Code, answered at random: what was refused never happens, what was accepted happens once,
//! no answer decides two dialogs, and of two answers at the same time one counts.
//!
//! A tenth of it each time, all with `ATLASBRIDGE_TEST_FULL=1`. `ATLASBRIDGE_TEST_SEED` rolls other dice; the seed is printed.
#![allow(clippy::print_stdout, reason = "a run of minutes says how it goes")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use atlasbridge_testkit::agents::{Agent, Asked, Stage, Turn};
use atlasbridge_testkit::{Finished, Home};

use crate::claude_hooks::{NEWEST, bash, bash_input};
use crate::dice::{Dice, full_or_a_tenth};
use crate::{by_hook, by_screen};

const DIALOGS: usize = 200;
/// Longest pause between a dialog's sighting and its answer.
const PAUSE_MS: u64 = 1500;
/// Most between the key at the desk and the answer from elsewhere.
const APART_MS: u64 = 80;
/// How long nothing may touch the next dialog after a race for the one before.
const UNTOUCHED: Duration = Duration::from_millis(400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Hook,
    Screen,
}

/// One command: it makes a directory or removes a file, each with a name of its own, and would fail the second time.
#[derive(Debug, Clone, Copy)]
struct Deed {
    /// Of its call in the script.
    number: usize,
    makes: bool,
}

impl Deed {
    fn name(self) -> String {
        format!("thing-{:04}", self.number)
    }

    fn command(self) -> String {
        match self.makes {
            true => format!("mkdir {}", self.name()),
            false => format!("rm {}", self.name()),
        }
    }

    fn is_done(self, stage: &Stage) -> bool {
        stage.exists(&self.name()) == self.makes
    }
}

/// What was decided about a deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Accepted,
    /// And the turn was interrupted.
    Refused,
    /// With a reason: the turn went on.
    Corrected,
    /// Its turn was interrupted before it was asked for.
    Dropped,
}

struct Course {
    stage: Stage,
    route: Route,
    dice: Dice,
    calls: usize,
    dialogs: usize,
    fates: Vec<(Deed, Fate)>,
    /// How often what happened.
    tally: BTreeMap<String, usize>,
    wrong: Vec<String>,
    began: Instant,
}

impl Course {
    fn begin(route: Route, seed: u64) -> Option<Self> {
        let agent = Agent::claude(NEWEST)?;
        let seed = match std::env::var("ATLASBRIDGE_TEST_SEED") {
            Ok(seed) => seed.parse().expect("a seed is a number"),
            Err(_) => seed,
        };
        println!("{route:?}: seed {seed}");
        let opening = match route {
            Route::Hook => by_hook(agent),
            Route::Screen => by_screen(agent),
        };
        Some(Self {
            stage: opening.open([]),
            route,
            dice: Dice::new(seed),
            calls: 0,
            dialogs: 0,
            fates: Vec::new(),
            tally: BTreeMap::new(),
            wrong: Vec::new(),
            began: Instant::now(),
        })
    }

    fn coin(&mut self) -> bool {
        self.dice.roll(2) == 0
    }

    /// The next turn of the model: one call, or two.
    fn script(&mut self) -> Vec<Deed> {
        let count = 1 + usize::from(self.coin());
        let deeds: Vec<Deed> = (0..count)
            .map(|_| {
                self.calls += 1;
                let makes = self.coin();
                let number = self.calls;
                Deed { number, makes }
            })
            .collect();
        for deed in deeds.iter().filter(|deed| !deed.makes) {
            std::fs::write(self.stage.project().join(deed.name()), "").unwrap();
        }
        let first = bash(&deeds[0].command());
        let turn = deeds[1..]
            .iter()
            .fold(first, |turn: Turn, deed| turn.and_call("Bash", bash_input(&deed.command())));
        self.stage.model.script([turn]);
        deeds
    }

    /// Dialogs until there were enough of them, each decided by `decide`.
    fn go(&mut self, enough: usize, mut decide: impl FnMut(&mut Self, Deed, &Asked) -> Fate) {
        let mut turn = self.script();
        self.tell();
        loop {
            // There before the model is asked for it.
            let following = (self.dialogs + turn.len() < enough).then(|| self.script());
            let is_interrupted = self.one_turn(&turn, &mut decide);
            let Some(following) = following else { break };
            if is_interrupted {
                self.tell();
            }
            turn = following;
        }
        self.tell();
    }

    /// What the person says is all that the model hears: nothing was left over in the input box.
    fn tell(&mut self) {
        let words = format!("go on after {}", self.dialogs);
        self.stage.tell(&words);
        self.stage.hears(&words);
    }

    fn one_turn(&mut self, turn: &[Deed], decide: &mut impl FnMut(&mut Self, Deed, &Asked) -> Fate) -> bool {
        for (at, deed) in turn.iter().enumerate() {
            let asked = self.stage.sighted(&deed.name());
            self.dialogs += 1;
            if deed.is_done(&self.stage) {
                self.note_wrong(*deed, "it had happened before it was answered");
            }
            if self.route == Route::Hook && !asked.text.contains(&format!("command: {}", deed.command())) {
                self.count("seen before its hook came");
            }
            let fate = decide(self, *deed, &asked);
            self.fates.push((*deed, fate));
            match fate {
                Fate::Accepted => {
                    let stage = &self.stage;
                    stage.until(&format!("{} happens", deed.command()), || deed.is_done(stage).then_some(()));
                }
                Fate::Corrected => {}
                Fate::Refused | Fate::Dropped => {
                    let dropped = turn[at + 1..].iter().map(|deed| (*deed, Fate::Dropped));
                    self.fates.extend(dropped);
                    return true;
                }
            }
        }
        false
    }

    fn count(&mut self, what: &str) {
        *self.tally.entry(what.to_owned()).or_default() += 1;
    }

    fn note_wrong(&mut self, deed: Deed, what: &str) {
        let what = format!("dialog {}, {}: {what}", self.dialogs, deed.command());
        println!("WRONG {what}\n{}", self.stage.screen());
        self.wrong.push(what);
    }

    /// Looks at everything once more, from the model's side too.
    fn end(mut self) {
        for (deed, fate) in std::mem::take(&mut self.fates) {
            let is_accepted = fate == Fate::Accepted;
            if deed.is_done(&self.stage) != is_accepted {
                self.note_wrong(deed, &format!("{fate:?}, and the directory says otherwise"));
            }
            let result = self.stage.result(deed.number);
            if result.is_error == is_accepted {
                self.note_wrong(deed, &format!("{fate:?}, and the model heard {result:?}"));
            }
        }
        println!(
            "{:?}: {} dialogs in {:.0} s, {} wrong; {:?}",
            self.route,
            self.dialogs,
            self.began.elapsed().as_secs_f64(),
            self.wrong.len(),
            self.tally
        );
        if !self.wrong.is_empty() {
            self.stage.give_up(&self.wrong.join("\n"));
        }
    }
}

fn is_applied(told: &Finished) -> bool {
    told.code == 0 && told.stdout.contains("applied")
}

/// An answer after a pause of any length. It must be taken.
fn answer(course: &mut Course, deed: Deed, asked: &Asked) -> Fate {
    std::thread::sleep(Duration::from_millis(course.dice.roll(PAUSE_MS + 1)));
    let (words, fate): (&[&str], Fate) = match course.dice.roll(4) {
        0 | 1 => (&["approve", &asked.id], Fate::Accepted),
        2 if course.route == Route::Hook => (&["deny", &asked.id, "not this one"], Fate::Corrected),
        _ => (&["deny", &asked.id], Fate::Refused),
    };
    let told = course.stage.home.run(words);
    if !is_applied(&told) {
        course.note_wrong(deed, &format!("{} was not applied: {told:?}", words[0]));
        course.stage.give_up("an answer was lost");
    }
    course.count(&format!("{fate:?}"));
    fate
}

fn answered_at_any_moment(route: Route, seed: u64) {
    let Some(mut course) = Course::begin(route, seed) else {
        return;
    };
    course.go(full_or_a_tenth(DIALOGS), answer);
    course.end();
}

#[test]
fn dialogs_answered_at_any_moment_by_hook() {
    answered_at_any_moment(Route::Hook, 1);
}

#[test]
fn dialogs_answered_at_any_moment_by_screen() {
    answered_at_any_moment(Route::Screen, 2);
}

/// How long a command of ours takes until the hub has read it.
fn way_to_the_hub(home: &Home) -> Duration {
    let mut times: Vec<Duration> = (0..7)
        .map(|_| {
            let began = Instant::now();
            home.run(["approve", "00000000"]);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The digit of the row that refuses.
pub(crate) fn refusing_digit(asked: &Asked) -> String {
    let at = asked.choices.iter().position(|label| label == "No");
    (at.expect("a row refuses") + 1).to_string()
}

/// A key at the desk and an answer from elsewhere at almost the same time. One of them counts, and whoever answered from
/// elsewhere is told which.
fn race(course: &mut Course, way: Duration, deed: Deed, asked: &Asked) -> Fate {
    let (desk, elsewhere) = (course.coin(), course.coin());
    let key = match desk {
        true => "1".to_owned(),
        false => refusing_digit(asked),
    };
    let word = if elsewhere { "approve" } else { "deny" };
    // From 0: the answer is 80 ms ahead, to 160: it is 80 ms behind.
    let lead = Duration::from_millis(course.dice.roll(2 * APART_MS + 1));
    let (key_after, word_after) = (way + Duration::from_millis(APART_MS), lead);
    course.stage.time_to_read();
    let began = Instant::now();
    let (stage, id) = (&course.stage, asked.id.as_str());
    let told = std::thread::scope(|scope| {
        let answering = scope.spawn(move || {
            std::thread::sleep(word_after);
            stage.home.run([word, id])
        });
        std::thread::sleep(key_after.saturating_sub(began.elapsed()));
        stage.type_keys(&key);
        answering.join().unwrap()
    });
    let applied = is_applied(&told);
    let counts = if applied { elsewhere } else { desk };
    let words = format!("{}{}", told.stdout, told.stderr);
    let winner = match () {
        () if applied => "elsewhere was first",
        () if words.contains("the keyboard was first") => "told: the keyboard was first",
        () if words.contains("somebody was typing") => "told: somebody was typing",
        () if words.contains("answered locally") => "refused: answered locally",
        () if words.contains("no longer shows this prompt") => "told: the prompt is gone",
        () => {
            course.note_wrong(deed, &format!("{word} was told something else: {told:?}"));
            "told: something else"
        }
    };
    course.count(winner);
    println!(
        "dialog {}: key {key:?} at {:?}, {word} from {word_after:?}: {winner}",
        course.dialogs, key_after
    );
    if counts { Fate::Accepted } else { Fate::Refused }
}

fn raced(route: Route, seed: u64) {
    let Some(mut course) = Course::begin(route, seed) else {
        return;
    };
    course.stage.idle();
    let way = way_to_the_hub(&course.stage.home);
    let mut before: Option<Instant> = None;
    course.go(full_or_a_tenth(DIALOGS), |course, deed, asked| {
        if let Some(before) = before.take() {
            // A key that came too late for the dialog before must not have come to this one.
            std::thread::sleep(UNTOUCHED.saturating_sub(before.elapsed()));
            let still_waits = course.stage.prompts().iter().any(|prompt| prompt.id == asked.id);
            if !still_waits || deed.is_done(&course.stage) {
                course.note_wrong(deed, "the race for the dialog before touched it");
            }
        }
        let fate = race(course, way, deed, asked);
        before = Some(Instant::now());
        fate
    });
    course.end();
}

#[test]
fn the_desk_and_elsewhere_at_once_by_hook() {
    raced(Route::Hook, 3);
}

#[test]
fn the_desk_and_elsewhere_at_once_by_screen() {
    raced(Route::Screen, 4);
}
