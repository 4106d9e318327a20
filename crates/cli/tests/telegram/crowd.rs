//! Many sessions at once, a service that fails now and then, and somebody who answers in no order: each answer reaches
//! the question that it was given to, once. The truth is what the tools wrote down. That the rules hold in every order is for
//! the simulation of the hub to say; this says that the real service, hub and tools hold together.

use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use atlasbridge_testkit::telegram::{Fault, Message, Times};

use crate::dice::{Dice, full_or};
use crate::{ANN, Desk};

/// In the full run more than a session may be answered within a minute: it is paused, and resumed.
fn questions() -> usize {
    full_or(20, 6)
}

/// So long nothing may go on at all: the longest pause after failures is a minute.
const STANDSTILL: Duration = Duration::from_secs(90);

/// Of a session and a question, counted from one: the word that is to be read.
fn answer(session: usize, question: usize) -> String {
    let mut dice = Dice::new((session * 1_000 + question) as u64);
    match is_text(question) {
        true => format!("word-{}", dice.hex(12)),
        false => ["y", "n"][dice.roll(2) as usize].to_owned(),
    }
}

/// Every third question asks for a text.
fn is_text(question: usize) -> bool {
    question.is_multiple_of(3)
}

/// Asks, and appends what it read to a file, line by line.
fn tool(session: usize, record: &str) -> String {
    let last = questions();
    format!(
        r#"for q in {{01..{last:02}}}; do
            case $((10#$q % 3)) in 0) read -r -p "s{session:02} q$q name: " a ;; *) read -r -p "s{session:02} q$q go? (y/n) " a ;; esac
            echo "$q=$a" >> {record}
        done"#
    )
}

/// Which session and question a message is about.
fn subject(message: &Message) -> Option<(usize, usize)> {
    let words: Vec<&str> = message.text.split_whitespace().collect();
    words.windows(2).find_map(|pair| {
        let number = |word: &str, letter: char| -> Option<usize> {
            let digits = word.strip_prefix(letter)?;
            (digits.len() == 2).then(|| digits.parse().ok())?
        };
        Some((number(pair[0], 's')?, number(pair[1], 'q')?))
    })
}

/// The person with the phone.
struct Person<'a> {
    desk: &'a Desk,
    dice: Dice,
    done: HashSet<i64>,
    resumed: HashSet<i64>,
}

impl Person<'_> {
    /// Answers whatever offers itself, in no order, and lets go on what is paused.
    fn looks(&mut self) -> usize {
        let mut messages = self.desk.telegram.messages(self.desk.chat);
        self.resumes(&messages);
        messages.retain(|message| !message.buttons.is_empty() && !self.done.contains(&message.id));
        self.dice.shuffle(&mut messages);
        let mut answered = 0;
        for message in messages {
            let Some((session, question)) = subject(&message) else {
                continue;
            };
            let answer = answer(session, question);
            match answer.as_str() {
                "y" => drop(self.desk.telegram.taps(ANN, self.desk.chat, message.id, "Yes")),
                "n" => drop(self.desk.telegram.taps(ANN, self.desk.chat, message.id, "No")),
                word => drop(self.desk.telegram.replies(ANN, self.desk.chat, message.id, word)),
            }
            self.done.insert(message.id);
            answered += 1;
        }
        answered
    }

    /// A warning names the session; what was refused since it was paused is answered again.
    fn resumes(&mut self, messages: &[Message]) {
        for message in messages.iter().filter(|message| message.text.contains("It is paused")) {
            if self.resumed.insert(message.id) {
                let (_, rest) = message.text.split_once("/resume ").unwrap();
                let session = rest.split_whitespace().next().unwrap();
                self.desk.says(&format!("/resume {session}"));
                let open = messages.iter().filter(|message| !message.buttons.is_empty());
                for message in open {
                    self.done.remove(&message.id);
                }
            }
        }
    }
}

#[test]
fn each_answer_reaches_its_question_once() {
    let sessions = full_or(50, 5);
    let desk = Desk::new();
    desk.telegram.seed(50);
    let faults = [
        Fault::Status(502),
        Fault::DropBefore,
        Fault::DropAfterHandling,
        Fault::CutJson,
        Fault::TooManyRequests { retry_after: 1 },
    ];
    for fault in faults {
        // Taps are answered side by side: those that are on their way when one is told to wait cannot know of it.
        if matches!(fault, Fault::TooManyRequests { .. }) {
            for method in ["sendMessage", "editMessageText", "getUpdates"] {
                desk.telegram.fails(method, fault.clone(), Times::Chance(0.02));
            }
            continue;
        }
        desk.telegram.fails("*", fault, Times::Chance(0.02));
    }
    let record = |session: usize| desk.home.scratch().join(format!("read-{session:02}"));
    let began = Instant::now();
    let terminals: Vec<_> = (1..=sessions)
        .map(|session| desk.home.bash(&tool(session, &record(session).display().to_string())))
        .collect();
    let lines = |session: usize| -> Vec<String> {
        let text = fs::read_to_string(record(session)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let mut person =
        Person { desk: &desk, dice: Dice::new(50), done: HashSet::new(), resumed: HashSet::new() };
    let (mut read, mut moved) = (0, Instant::now());
    while read < sessions * questions() {
        let answered = person.looks();
        let now = (1..=sessions).map(|session| lines(session).len()).sum();
        if now > read || answered > 0 {
            (read, moved) = (now, Instant::now());
        }
        assert!(
            moved.elapsed() < STANDSTILL,
            "only {read} of {} were read; {:?}",
            sessions * questions(),
            desk.home.run(["status"]).stdout
        );
        thread::sleep(Duration::from_millis(20));
    }
    let pauses = person.resumed.len();
    eprintln!("{read} answers in {:?}, {pauses} pauses", began.elapsed());
    for terminal in terminals {
        assert_eq!(terminal.end().0, 0);
    }
    for session in 1..=sessions {
        let expected: Vec<String> = (1..=questions())
            .map(|question| format!("{question:02}={}", answer(session, question)))
            .collect();
        assert_eq!(lines(session), expected, "session {session}");
    }
    assert_eq!(desk.home.run(["audit", "verify"]).code, 0);
    desk.nothing_was_violated();
}
