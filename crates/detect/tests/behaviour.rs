//! The detector's promises, one small session each.

use std::time::Duration;

use atlasbridge_detect::{Detector, DetectorConfig, Event, KernelWait, Moment, Observation, Waits};
use atlasbridge_model::{Kind, Sighting};

const READ: KernelWait = KernelWait {
    wait: Waits::Read,
    canonical: true,
    echo: true,
};
const HIDDEN: KernelWait = KernelWait {
    wait: Waits::Read,
    canonical: true,
    echo: false,
};
const NOBODY: KernelWait = KernelWait {
    wait: Waits::Nobody,
    canonical: true,
    echo: true,
};
const POLL: KernelWait = KernelWait {
    wait: Waits::Poll,
    canonical: false,
    echo: false,
};

struct Session {
    detector: Detector,
    kernel: KernelWait,
    now: Moment,
    told: Vec<String>,
}

impl Session {
    fn new(kernel: KernelWait) -> Self {
        let detector = Detector::new(DetectorConfig::default(), 80, 24);
        Self {
            detector,
            kernel,
            now: Moment::default(),
            told: Vec::new(),
        }
    }

    fn give(&mut self, observation: Observation<'_>) -> &mut Self {
        for event in self.detector.observe(observation, self.now) {
            match event {
                Event::AskKernel => {
                    self.give(Observation::Kernel(self.kernel));
                }
                Event::Seen(Sighting {
                    no, kind, excerpt, ..
                }) => self.told.push(format!("{no} {kind} {excerpt}")),
                Event::Gone { no, how } => self.told.push(format!("{no} gone {how:?}")),
                Event::AnswerStatusQuery(bytes) => {
                    self.told
                        .push(format!("answer {}", String::from_utf8_lossy(&bytes)));
                }
            }
        }
        self
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        let until = self.now + Duration::from_millis(millis);
        while let Some(due) = self.detector.next_deadline().filter(|due| *due <= until) {
            self.now = due;
            self.give(Observation::Deadline);
        }
        self.now = until;
        self
    }

    fn output(&mut self, text: &str) -> &mut Self {
        self.give(Observation::Output(text.as_bytes())).wait(5)
    }

    fn typed(&mut self, text: &str) -> &mut Self {
        self.give(Observation::LocalInput(text.as_bytes()))
    }

    #[track_caller]
    fn told(&mut self, expected: &[&str]) -> &mut Self {
        assert_eq!(self.told, expected);
        self.told.clear();
        self
    }
}

#[test]
fn a_question_is_seen_once_and_gone_when_answered_at_the_keyboard() {
    let mut session = Session::new(READ);
    session
        .output("Continue? [y/N] ")
        .told(&["1 yes_no Continue? [y/N]"]);
    session.wait(10_000).told(&[]);
    session.typed("y").output("y").told(&[]);
    assert!(
        session
            .detector
            .typed_since(session.detector.current().unwrap().no)
    );
    session
        .typed("\r")
        .output("\r\nworking\r\n")
        .told(&["1 gone LocalInput"]);
}

#[test]
fn an_idle_session_does_not_wake() {
    let mut session = Session::new(READ);
    session.output("Name: ").told(&["1 free_text Name:"]);
    assert_eq!(session.detector.next_deadline(), None);
}

#[test]
fn the_next_question_is_seen_at_once_after_our_stroke() {
    let mut session = Session::new(READ);
    session.output("First? [y/N] ").told(&["1 yes_no First? [y/N]"]);
    session.give(Observation::Injected).output("y\r\nSecond? [y/N] ");
    session.told(&["1 gone Injected", "2 yes_no Second? [y/N]"]);
}

#[test]
fn the_same_question_asked_again_is_another_prompt() {
    let mut session = Session::new(HIDDEN);
    session.output("Password: ").told(&["1 password Password:"]);
    session
        .give(Observation::Injected)
        .output("\r\nSorry, try again.\r\nPassword: ");
    session.told(&["1 gone Injected", "2 password Password:"]);
}

#[test]
fn at_the_bottom_of_the_screen_too() {
    let mut session = Session::new(READ);
    session
        .output(&"line\r\n".repeat(40))
        .output("Go on? (y/n) ")
        .told(&["1 yes_no Go on? (y/n)"]);
    session
        .typed("n\r")
        .output("n\r\nGo on? (y/n) ")
        .told(&["1 gone LocalInput", "2 yes_no Go on? (y/n)"]);
}

#[test]
fn a_question_redrawn_in_place_stays_the_same() {
    let mut session = Session::new(READ);
    session
        .output("Continue? [y/N] ")
        .told(&["1 yes_no Continue? [y/N]"]);
    for _ in 0..50 {
        session.output("\r\x1b[KContinue? [y/N] ").wait(30);
    }
    session
        .give(Observation::Resized { cols: 60, rows: 20 })
        .wait(500)
        .told(&[]);
}

#[test]
fn our_echo_is_no_new_prompt() {
    let mut session = Session::new(READ);
    session.output("Name: ").told(&["1 free_text Name:"]);
    session
        .give(Observation::Injected)
        .output("who: ")
        .wait(400)
        .told(&[]);
}

#[test]
fn nobody_reads_so_nothing_is_asked() {
    let mut session = Session::new(NOBODY);
    session.output("Continue? [y/N] ").wait(20_000).told(&[]);
    session.kernel = READ;
    session.wait(40_000).told(&["1 yes_no Continue? [y/N]"]);
}

#[test]
fn a_flood_costs_few_looks_and_sees_nothing() {
    let mut session = Session::new(POLL);
    for _ in 0..1000 {
        session
            .give(Observation::Output(b"Continue? [y/N] \r\nbuilding\r\n"))
            .wait(1);
    }
    session.told(&[]);
}

#[test]
fn an_answer_from_elsewhere_is_noticed() {
    let mut session = Session::new(READ);
    session
        .output("Continue? [y/N] ")
        .told(&["1 yes_no Continue? [y/N]"]);
    session.kernel = NOBODY;
    session
        .output("y\r\nrunning\r\n")
        .wait(1000)
        .told(&["1 gone Unprompted { echoed: true }"]);
}

#[test]
fn the_end_of_the_tool_ends_its_prompt() {
    let mut session = Session::new(READ);
    session.output("Continue? [y/N] ").give(Observation::ToolEnded);
    session.told(&["1 yes_no Continue? [y/N]", "1 gone Ended"]);
}

#[test]
fn still_shows_reads_the_screen_as_it_is_now() {
    let mut session = Session::new(READ);
    session.output("Continue? [y/N] ");
    let sighting = session.detector.current().unwrap().clone();
    assert!(session.detector.still_shows(sighting.no, sighting.fingerprint));
    session.give(Observation::Output(b"y"));
    assert!(
        session.detector.still_shows(sighting.no, sighting.fingerprint),
        "typed text is fine"
    );
    session.give(Observation::Output(b"\r\ndone\r\n"));
    assert!(
        !session.detector.still_shows(sighting.no, sighting.fingerprint),
        "before any look was taken"
    );
}

#[test]
fn an_arrow_menu_is_the_same_menu_wherever_its_highlight_is() {
    let mut session = Session::new(POLL);
    session
        .output("? Pick one\r\n❯ Red\r\n  Green\r\n\x1b[3A\x1b[11C")
        .wait(200)
        .told(&["1 multiple_choice Pick one"]);
    let sighting = session.detector.current().unwrap().clone();
    session
        .give(Observation::Injected)
        .output("\r\x1b[1B  Red\r\x1b[1B❯ Green\x1b[2A")
        .wait(300)
        .told(&[]);
    assert!(session.detector.still_shows(sighting.no, sighting.fingerprint));
}

#[test]
fn a_forgotten_synchronized_update_does_not_blind() {
    let mut session = Session::new(READ);
    session.output("\x1b[?2026hContinue? [y/N] ").told(&[]);
    session.wait(200).told(&["1 yes_no Continue? [y/N]"]);
}

#[test]
fn replies_of_the_terminal_answer_nothing() {
    let mut session = Session::new(POLL);
    session.output("Name: ").wait(200).told(&["1 free_text Name:"]);
    session
        .typed("\x1b[?62;22c\x1b[I\x1b]11;rgb:0/0/0\x07")
        .output("\r\nother\r\n")
        .wait(1000);
    session.told(&["1 gone Unprompted { echoed: false }"]);
}

#[test]
fn a_blocked_read_without_a_known_question_is_a_possible_prompt() {
    let mut session = Session::new(READ);
    session
        .output("something odd")
        .wait(500)
        .told(&["1 unknown something odd"]);
    assert_eq!(session.detector.current().unwrap().kind, Kind::Unknown);
}

#[test]
fn idle_is_a_state_unless_it_is_announced() {
    let mut session = Session::new(POLL);
    session.output("me@box:~$ ").wait(3000).told(&[]);
    assert_eq!(session.detector.current(), None);
}

/// A reply from afar must not land in the second of two equal questions, however fast it is asked.
#[test]
fn the_same_question_asked_again_is_not_the_one_that_was_answered() {
    let mut session = Session::new(READ);
    session.output("Delete it? (y/n) ");
    let first = session
        .detector
        .current()
        .cloned()
        .expect("the first question stands");
    assert!(session.detector.still_shows(first.no, first.fingerprint));
    assert!(!session.detector.is_being_answered(first.no, session.now));
    session.typed("y\r");
    assert!(
        session.detector.is_being_answered(first.no, session.now),
        "Enter is on its way"
    );
    // The tool has answered and asks again, and nobody has looked yet.
    session.give(Observation::Output(b"y\r\nDelete it? (y/n) "));
    assert!(!session.detector.still_shows(first.no, first.fingerprint));
}
