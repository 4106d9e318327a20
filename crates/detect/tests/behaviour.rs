//! The detector's promises, one small session each.

use std::time::Duration;

use atlasbridge_detect::{
    Detector, DetectorConfig, DetectorEvent, KernelWait, Moment, Observation, Packs, ToolWord, Waits,
};
use atlasbridge_model::{Kind, Level, Sighting};

const READ: KernelWait = KernelWait { wait: Waits::Read, canonical: true, echo: true };
const HIDDEN: KernelWait = KernelWait { wait: Waits::Read, canonical: true, echo: false };
const NOBODY: KernelWait = KernelWait { wait: Waits::Nobody, canonical: true, echo: true };
const POLL: KernelWait = KernelWait { wait: Waits::Poll, canonical: false, echo: false };

struct Session {
    detector: Detector,
    kernel: KernelWait,
    now: Moment,
    told: Vec<String>,
}

impl Session {
    fn new(kernel: KernelWait) -> Self {
        Self::with(DetectorConfig::default(), kernel)
    }

    /// A session of a tool that has a pack.
    fn of(tool: &str, kernel: KernelWait) -> Self {
        let config = DetectorConfig {
            announce_idle: true,
            pack: Packs::embedded().for_program(tool),
            ..DetectorConfig::default()
        };
        Self::with(config, kernel)
    }

    fn with(config: DetectorConfig, kernel: KernelWait) -> Self {
        let detector = Detector::new(config, 80, 24);
        Self { detector, kernel, now: Moment::default(), told: Vec::new() }
    }

    fn give(&mut self, observation: Observation<'_>) -> &mut Self {
        for event in self.detector.observe(observation, self.now) {
            match event {
                DetectorEvent::AskKernel => {
                    self.give(Observation::Kernel(self.kernel));
                }
                DetectorEvent::Seen(Sighting { no, kind, excerpt, .. }) => {
                    self.told.push(format!("{no} {kind} {excerpt}"))
                }
                DetectorEvent::Gone { no, how } => self.told.push(format!("{no} gone {how:?}")),
                DetectorEvent::Drift { no, how } => self.told.push(format!("{no} drift {}", how.as_str())),
                DetectorEvent::AnswerStatusQuery(bytes) => {
                    self.told.push(format!("answer {}", String::from_utf8_lossy(&bytes)));
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
    session.output("Continue? [y/N] ").told(&["1 yes_no Continue? [y/N]"]);
    session.wait(10_000).told(&[]);
    session.typed("y").output("y").told(&[]);
    assert!(session.detector.typed_since(session.detector.current().unwrap().no, session.now));
    session.typed("\r").output("\r\nworking\r\n").told(&["1 gone LocalInput"]);
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
    session.give(Observation::Injected { whole: true }).output("y\r\nSecond? [y/N] ");
    session.told(&["1 gone Injected", "2 yes_no Second? [y/N]"]);
}

#[test]
fn the_same_question_asked_again_is_another_prompt() {
    let mut session = Session::new(HIDDEN);
    session.output("Password: ").told(&["1 password Password:"]);
    session.give(Observation::Injected { whole: true }).output("\r\nSorry, try again.\r\nPassword: ");
    session.told(&["1 gone Injected", "2 password Password:"]);
}

#[test]
fn at_the_bottom_of_the_screen_too() {
    let mut session = Session::new(READ);
    session.output(&"line\r\n".repeat(40)).output("Go on? (y/n) ").told(&["1 yes_no Go on? (y/n)"]);
    session.typed("n\r").output("n\r\nGo on? (y/n) ").told(&["1 gone LocalInput", "2 yes_no Go on? (y/n)"]);
}

#[test]
fn a_question_redrawn_in_place_stays_the_same() {
    let mut session = Session::new(READ);
    session.output("Continue? [y/N] ").told(&["1 yes_no Continue? [y/N]"]);
    for _ in 0..50 {
        session.output("\r\x1b[KContinue? [y/N] ").wait(30);
    }
    session.give(Observation::Resized { cols: 60, rows: 20 }).wait(500).told(&[]);
}

#[test]
fn our_echo_is_no_new_prompt() {
    let mut session = Session::new(READ);
    session.output("Name: ").told(&["1 free_text Name:"]);
    session.give(Observation::Injected { whole: true }).output("who: ").wait(400).told(&[]);
}

#[test]
fn nobody_reads_so_nothing_is_asked() {
    let mut session = Session::new(NOBODY);
    session.output("Continue? [y/N] ").wait(20_000).told(&[]);
    session.kernel = READ;
    session.wait(40_000).told(&["1 yes_no Continue? [y/N]"]);
}

/// "Don't know" once, after "nobody reads", is no sign that somebody does: the text has to stand from there on.
#[test]
fn one_silence_of_the_kernel_does_not_undo_its_veto() {
    for quoted in ["The script asks: Continue? [y/N] ", "Enter your name: "] {
        let mut session = Session::new(NOBODY);
        session.output(quoted).wait(20_000).told(&[]);
        session.give(Observation::Kernel(KernelWait::UNKNOWN)).told(&[]);
        session.wait(20_000).told(&[]);
        // A kernel that says nothing any more is another matter.
        session.kernel = KernelWait::UNKNOWN;
        session.give(Observation::Kernel(KernelWait::UNKNOWN)).told(&[]);
        session.wait(3_000);
        assert_eq!(session.told.len(), 1, "{:?}", session.told);
    }
    // Nor for what no family knows.
    let mut session = Session::new(NOBODY);
    session.output("some gibberish").wait(20_000).told(&[]);
    session.give(Observation::Kernel(KernelWait::UNKNOWN)).told(&[]);
    session.wait(20_000).told(&[]);
}

#[test]
fn a_flood_costs_few_looks_and_sees_nothing() {
    let mut session = Session::new(POLL);
    for _ in 0..1000 {
        session.give(Observation::Output(b"Continue? [y/N] \r\nbuilding\r\n")).wait(1);
    }
    session.told(&[]);
}

#[test]
fn an_answer_from_elsewhere_is_noticed() {
    let mut session = Session::new(READ);
    session.output("Continue? [y/N] ").told(&["1 yes_no Continue? [y/N]"]);
    session.kernel = NOBODY;
    session.output("y\r\nrunning\r\n").wait(1000).told(&["1 gone Unprompted { echoed: true }"]);
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
    assert!(session.detector.still_shows(sighting.no, sighting.fingerprint), "typed text is fine");
    session.give(Observation::Output(b"\r\ndone\r\n"));
    assert!(!session.detector.still_shows(sighting.no, sighting.fingerprint), "before any look was taken");
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
        .give(Observation::Injected { whole: true })
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
    session.typed("\x1b[?62;22c\x1b[I\x1b]11;rgb:0/0/0\x07").output("\r\nother\r\n").wait(1000);
    session.told(&["1 gone Unprompted { echoed: false }"]);
}

#[test]
fn a_blocked_read_without_a_known_question_is_a_possible_prompt() {
    let mut session = Session::new(READ);
    session.output("something odd").wait(500).told(&["1 unknown something odd"]);
    assert_eq!(session.detector.current().unwrap().kind, Kind::Unknown);
}

#[test]
fn idle_is_a_state_unless_it_is_announced() {
    let mut session = Session::new(POLL);
    session.output("me@box:~$ ").wait(3000).told(&[]);
    assert_eq!(session.detector.current(), None);
}

/// Somebody who begins to write just before the empty box would be told of needs no message about it.
#[test]
fn an_empty_box_is_not_told_while_somebody_begins_to_write() {
    let rule = "─".repeat(80);
    let drawn = format!("\x1b[H\x1b[2J{rule}\r\n❯ \r\n{rule}\r\n\x1b[2;3H");
    let mut unhurried = Session::of("claude", KernelWait::UNKNOWN);
    unhurried.output(&drawn).wait(985).told(&[]);
    unhurried.wait(20).told(&["1 idle ❯"]);

    let mut session = Session::of("claude", KernelWait::UNKNOWN);
    session.output(&drawn).wait(985).typed("f").wait(120).told(&[]);
    session.output("fix the lint errors").wait(1500).told(&[]);
}

/// A reply from afar must not land in the second of two equal questions, however fast it is asked.
#[test]
fn the_same_question_asked_again_is_not_the_one_that_was_answered() {
    let mut session = Session::new(READ);
    session.output("Delete it? (y/n) ");
    let first = session.detector.current().cloned().expect("the first question stands");
    assert!(session.detector.still_shows(first.no, first.fingerprint));
    assert!(!session.detector.is_being_answered(first.no, session.now));
    session.typed("y\r");
    assert!(session.detector.is_being_answered(first.no, session.now), "Enter is on its way");
    // The tool has answered and asks again, and nobody has looked yet.
    session.give(Observation::Output(b"y\r\nDelete it? (y/n) "));
    assert!(!session.detector.still_shows(first.no, first.fingerprint));
}

#[test]
fn the_status_query_is_answered_at_once_and_nothing_else_is() {
    let answer =
        "answer \u{1b}]7501;?:states=idle,working,done,blocked,error:kinds=permission,question,auth\u{1b}\\";
    let mut session = Session::new(POLL);
    session.give(Observation::Output(b"\x1b]7501;?\x07\x1b[c")).told(&[answer]);
    session.give(Observation::Output(b"\x1b]75"));
    session.told(&[]);
    session.give(Observation::Output(b"01;?\x1b\\")).told(&[answer]);
    for query in ["\x1b[c", "\x1b[6n", "\x1b]11;?\x07", "\x1b[>q", "\x1b[?u", "\x1bP$qm\x1b\\"] {
        session.output(query).wait(100).told(&[]);
    }
    for _ in 0..100 {
        session.give(Observation::Output(b"\x1b]7501;?\x07"));
    }
    assert!(session.told.len() <= 16, "a file full of queries does not type for ever");
}

/// One dialog, redrawn, resized, beside a spinner and under a blinking title, is one prompt.
#[test]
fn a_dialog_that_moves_is_one_prompt() {
    let dialog = "\x1b[2J\x1b[HDelete it?\r\n\r\n❯ 1. Yes\r\n  2. No\r\n\r\nEnter to confirm · Esc to cancel";
    let mut session = Session::new(POLL);
    session.output(dialog).wait(200).told(&["1 yes_no Delete it?"]);
    for turn in 0..40 {
        let title = ["\x1b]0;[ ! ] Action Required\x07", "\x1b]0;[ . ] Action Required\x07"][turn % 2];
        let spinner = ["⠋", "⠙", "⠹"][turn % 3];
        session.output(title).wait(50);
        session.output(&format!("\x1b7\x1b[20;70H{spinner}\x1b8")).wait(50);
        if turn % 10 == 0 {
            session.output(dialog).wait(50);
            session.give(Observation::Resized { cols: 90 + turn as u16, rows: 30 }).wait(50);
        }
    }
    session.told(&[]);
    assert!(session.detector.current().is_some());
}

/// In a wider window a wrapped row is read as a label and its description: still the same words, the same dialog.
#[test]
fn a_dialog_whose_rows_are_wrapped_is_one_prompt_at_every_width() {
    let dialog = "\x1b[2J\x1b[HDo you want to create config.yaml?\r\n❯ 1. Yes\r\n  \
                  2. Yes, and switch to accept edits (auto-approve file edits and common file\r\n     \
                  commands) for this session (shift+tab)\r\n  3. No\r\n\r\nEsc to cancel · Tab to amend";
    let mut session = Session::new(POLL);
    session.output(dialog).wait(200).told(&["1 multiple_choice Do you want to create config.yaml?"]);
    let sighting = session.detector.current().unwrap().clone();
    for cols in [120, 80, 132, 81] {
        session.give(Observation::Resized { cols, rows: 24 }).wait(700).told(&[]);
        assert!(session.detector.still_shows(sighting.no, sighting.fingerprint));
    }
    // Other words are another dialog, resized or not.
    session.output(&dialog.replace("config.yaml", "other.yaml")).wait(700).told(&[
        "1 gone Unprompted { echoed: false }",
        "2 multiple_choice Do you want to create other.yaml?",
    ]);
}

/// A row that scrolls with its question, and a full screen that scrolls under a spinner, change nothing.
#[test]
fn a_question_that_scrolls_is_one_prompt() {
    let mut session = Session::new(READ);
    session.output(&"line\r\n".repeat(10)).output("Go on? (y/n) ").told(&["1 yes_no Go on? (y/n)"]);
    // A smaller window scrolls its text up; a larger one lets it stand.
    for rows in [8, 30, 12] {
        session.give(Observation::Resized { cols: 80, rows }).wait(600).told(&[]);
    }
    // The program's own notice above the question: it scrolls the screen and asks on.
    session.output("\r\x1b[K[download finished]\r\nGo on? (y/n) ").wait(600).told(&[]);
}

#[test]
fn questions_three_milliseconds_apart_are_all_seen() {
    let mut session = Session::new(READ);
    session.output("Name: ").told(&["1 free_text Name:"]);
    for (number, question) in [(2, "Street: "), (3, "Town: "), (4, "Town: ")] {
        session.typed("x\r");
        session.give(Observation::Output(format!("x\r\n{question}").as_bytes())).wait(3);
        session.told(&[
            &format!("{} gone LocalInput", number - 1),
            &format!("{number} free_text {}", question.trim()),
        ]);
    }
}

#[test]
fn a_rejected_answer_is_asked_again() {
    let mut session = Session::new(READ);
    session.output("Continue (yes/no)? ").told(&["1 yes_no Continue (yes/no)?"]);
    session
        .give(Observation::Injected { whole: true })
        .output("maybe\r\nPlease type 'yes' or 'no': ")
        .told(&["1 gone Injected", "2 yes_no Please type 'yes' or 'no':"]);
    session
        .give(Observation::Injected { whole: true })
        .output("hm\r\nPlease type 'yes' or 'no': ")
        .told(&["2 gone Injected", "3 yes_no Please type 'yes' or 'no':"]);
}

#[test]
fn a_menu_told_by_its_background_alone() {
    let mut session = Session::new(POLL);
    session
        .output("Choose a shell:\r\n  bash\r\n\x1b[7m  zsh\x1b[0m\r\n  fish\r\n")
        .wait(300)
        .told(&["1 multiple_choice Choose a shell:"]);
    let sighting = session.detector.current().unwrap();
    let keys: Vec<String> = sighting
        .choices
        .iter()
        .flat_map(|choices| choices.iter())
        .map(|choice| format!("{}={}", choice.label, choice.keys()))
        .collect();
    assert_eq!(keys, ["bash=\x1b[A\r", "zsh=\r", "fish=\x1b[B\r"]);
}

#[test]
fn an_editor_waits_and_nothing_is_guessed() {
    let screen = format!(
        "\x1b[?1049h\x1b[2J\x1b[H# Please enter the commit message\r\n{}\"COMMIT_EDITMSG\" 5L, 99B\x1b[H",
        "~\r\n".repeat(22)
    );
    let mut session = Session::new(POLL);
    session.output(&screen).wait(3000).told(&[]);
    let told = session.detector.explain(session.now);
    assert_eq!(told.read_by.as_deref(), Some("recogniser of an editor"));
    assert!(told.evidence_for.iter().any(|line| line.starts_with("the text reads as idle")), "{told:?}");
}

#[test]
fn every_verdict_says_why() {
    let mut session = Session::new(NOBODY);
    session.output("Continue? [y/N] ").wait(500);
    let vetoed = session.detector.explain(session.now);
    assert_eq!(vetoed.read_by.as_deref(), Some("recogniser of yes or no"));
    assert_eq!(vetoed.evidence_for[0], "the text reads as yes_no (0.95 by itself)");
    assert_eq!(vetoed.evidence_against, ["the kernel: nobody waits for the terminal"]);
    assert_eq!(vetoed.waiting_for.as_deref(), Some("somebody to read the terminal"));
    session.kernel = READ;
    session.output("\r\x1b[KContinue? [y/N] ").wait(10);
    let stands = session.detector.explain(session.now);
    assert_eq!(stands.read_by.as_deref(), Some("recogniser of yes or no"));
    assert_eq!(stands.evidence_for[1], "the kernel: the tool is blocked reading a line, shown");
    assert_eq!(stands.waiting_for.as_deref(), Some("an answer, here or from elsewhere"));
}

/// Silence alone is a possible prompt, and only after the time that the configuration names.
#[test]
fn what_nobody_knows_is_told_after_silence() {
    let mut session = Session::new(KernelWait::UNKNOWN);
    session.output("gibberish that waits").wait(1900).told(&[]);
    session.wait(200).told(&["1 unknown gibberish that waits"]);
}

/// Keys that came between the question and its sighting are the person's answer, not somebody else's.
#[test]
fn what_was_typed_before_the_question_was_seen_counts() {
    let mut session = Session::new(READ);
    session.give(Observation::Output(b"Delete it? (y/n) ")).wait(1);
    session.typed("y\r").wait(50);
    session.give(Observation::Output(b"y\r\ndone\r\n")).wait(300);
    session.told(&["1 yes_no Delete it? (y/n)", "1 gone LocalInput"]);
}

const WAITS: Observation<'_> = Observation::Told(ToolWord::Waits { title: "approve Bash" });
const GOES_ON: Observation<'_> = Observation::Told(ToolWord::GoesOn);
const BLOCKED: &str = "\x1b]7501;state=blocked:app=claude-code:kind=permission\x07";
const WORKING: &str = "\x1b]7501;state=working:app=claude-code\x07";
const DIALOG: &str =
    "\x1b[2J\x1b[HDelete it?\r\n\r\n❯ 1. Yes\r\n  2. No\r\n\r\nEnter to confirm · Esc to cancel";

/// The hook and the screen speak of one prompt, whichever comes first, and then it is certain.
#[test]
fn a_hook_and_its_dialog_are_one_prompt() {
    for hook_first in [true, false] {
        // Even a kernel that says nobody reads is overruled by the tool itself.
        let mut session = Session::of("claude", NOBODY);
        if hook_first {
            session.give(WAITS).wait(400).told(&[]);
        }
        session.output(DIALOG).wait(30);
        if !hook_first {
            session.wait(5_000).told(&[]);
            session.give(WAITS);
        }
        session.wait(5_000).told(&["1 yes_no Delete it?"]);
        let sighting = session.detector.current().unwrap();
        assert_eq!(sighting.confidence.level(), Level::High);
        assert_eq!(sighting.confidence.hundredths(), 99);
        session
            .give(GOES_ON)
            .output("\x1b[2J\x1b[Hdone\r\n")
            .wait(1000)
            .told(&["1 gone Unprompted { echoed: false }"]);
    }
}

/// The tool waits and nobody knows how its dialog looks: said once, with the whole screen, as a possible prompt.
#[test]
fn a_hook_without_a_dialog_is_drift() {
    let mut session = Session::of("claude", POLL);
    session.output("\x1b[2J\x1b[H~ shall it be? ~\r\n\r\n(( aye ))  (( nay ))\r\n").wait(500).told(&[]);
    session.give(WAITS).wait(1_400).told(&[]);
    session.wait(200).told(&["1 drift unrecognised", "1 unknown approve Bash"]);
    let sighting = session.detector.current().unwrap().clone();
    assert_eq!(sighting.confidence.level(), Level::Low);
    assert!(sighting.detail.as_str().contains("shall it be?"));
    assert!(sighting.detail.as_str().contains("(( aye ))"));
    // It stands whatever spins, and is typed into only while the words are those that were shown.
    session.output("\x1b[20;70H⠋").wait(20_000).told(&[]);
    assert!(session.detector.still_shows(sighting.no, sighting.fingerprint));
    session.output("\x1b[1;1Hother words").wait(500).told(&[]);
    assert!(!session.detector.still_shows(sighting.no, sighting.fingerprint));
    // What is said to the hook that asks needs no words on a screen; a status asks nobody.
    assert!(session.detector.still_asks(sighting.no, sighting.fingerprint));
    session.give(GOES_ON).wait(100).told(&["1 gone Unprompted { echoed: false }"]);
    assert!(!session.detector.still_asks(sighting.no, sighting.fingerprint));
    assert_eq!(session.detector.next_deadline(), None);
}

/// Once the dialog can be read after all, it takes the place of the possible prompt.
#[test]
fn drift_ends_when_the_dialog_is_recognised() {
    let mut session = Session::of("claude", POLL);
    session.output(BLOCKED).wait(2_000).told(&["1 drift unrecognised", "1 unknown "]);
    let sighting = session.detector.current().unwrap();
    assert!(!session.detector.still_asks(sighting.no, sighting.fingerprint));
    session.output(DIALOG).wait(500).told(&["1 gone Unprompted { echoed: false }", "2 yes_no Delete it?"]);
}

/// `blocked` comes up to half a second before its dialog: no drift, and one prompt.
#[test]
fn a_status_ahead_of_its_dialog_is_no_drift() {
    for kernel in [POLL, KernelWait::UNKNOWN] {
        let mut session = Session::of("claude", kernel);
        session.output(BLOCKED).wait(450).output(DIALOG).wait(300);
        session.told(&["1 yes_no Delete it?"]).wait(10_000).told(&[]);
        session.typed("1").output(WORKING).output("\x1b[2J\x1b[H").wait(300);
        session.told(&["1 gone LocalInput"]);
    }
}

/// A hook that comes after its dialog speaks of that one, and may say later than the screen that it goes on.
#[test]
fn a_hook_behind_its_dialog_is_no_drift() {
    let mut session = Session::of("claude", POLL);
    session.output(DIALOG).wait(200).told(&["1 yes_no Delete it?"]);
    session.give(WAITS).wait(5_000).told(&[]);
    session.typed("1").output("\x1b[2J\x1b[Hworking\r\n").wait(5_000);
    session.told(&["1 gone LocalInput"]);
    session.give(GOES_ON).wait(5_000).told(&[]);
}

/// The box stands there whether the tool asks or not; its word that it waits is worth more.
#[test]
fn a_status_over_an_empty_box_is_drift_once() {
    let box_ = format!("\x1b[2J\x1b[H{rule}\r\n❯ \r\n{rule}\x1b[2;3H", rule = "─".repeat(80));
    let mut session = Session::of("claude", POLL);
    session.output(&box_).wait(2_000).told(&["1 idle ❯"]);
    session.output(BLOCKED).wait(3_000).told(&[
        "1 gone Unprompted { echoed: false }",
        "2 drift unrecognised",
        "2 unknown ❯",
    ]);
    session.wait(60_000).told(&[]);
    session.output(WORKING).wait(100).told(&["2 gone Unprompted { echoed: false }"]);
}

/// A dialog on the screen of a tool that says it works may be a quotation: only possible, and said so once.
#[test]
fn a_dialog_while_the_tool_works_is_drift() {
    for kernel in [POLL, KernelWait::UNKNOWN] {
        let mut session = Session::of("claude", kernel);
        session.output(WORKING).output(DIALOG).wait(1_000).told(&[]);
        session.wait(1_000).told(&["1 drift unannounced", "1 yes_no Delete it?"]);
        assert_eq!(session.detector.current().unwrap().confidence.level(), Level::Low);
        session.wait(60_000).told(&[]);
    }
    // The word follows in time: nothing is doubted.
    let mut session = Session::of("claude", POLL);
    session.output(WORKING).output(DIALOG).wait(300).output(BLOCKED).wait(100);
    session.told(&["1 yes_no Delete it?"]);
    assert_eq!(session.detector.current().unwrap().confidence.level(), Level::High);
}

/// A program without a pack may have left its last word behind: a shell after a crash of its agent.
#[test]
fn a_stale_status_is_no_drift() {
    for status in [BLOCKED, WORKING] {
        let mut session = Session::new(READ);
        session.output(status);
        session.output("Continue? [y/N] ").told(&["1 yes_no Continue? [y/N]"]);
        session.wait(5_000).told(&[]);
        assert_eq!(session.detector.current().unwrap().confidence.level(), Level::High);
    }
}

/// A dialog that took no notice of an answer can be answered again: as another prompt, by another decision.
#[test]
fn a_dialog_that_ignored_an_answer_is_another_prompt() {
    let mut session = Session::of("claude", POLL);
    let dialog =
        "\x1b[H Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel · Tab to amend";
    session.output(dialog).wait(2_000).told(&["1 yes_no Do you want to proceed?"]);
    session.give(Observation::Injected { whole: true }).wait(2_000).told(&[]);
    session.give(Observation::Untaken).wait(1_000).told(&["2 yes_no Do you want to proceed?"]);
}

/// Claude Code draws the rest of its first screen when the first key comes.
#[test]
fn an_input_box_is_left_by_enter_and_not_by_a_text_alone() {
    let mut session = Session::of("claude", POLL);
    let rule = "─".repeat(40);
    let drawn = |above: &str, draft: &str| {
        format!("\x1b[2J\x1b[HWelcome{above}\r\n{rule}\r\n❯ {draft}\r\n{rule}\r\n\x1b[1A")
    };
    session.output(&drawn("", "")).wait(2_000).told(&["1 idle ❯"]);
    let sighting = session.detector.current().unwrap().clone();
    session
        .give(Observation::Injected { whole: false })
        .output(&drawn(" back, and 3 tips", "go on"))
        .wait(200)
        .told(&[]);
    assert!(session.detector.still_shows(sighting.no, sighting.fingerprint));
    session
        .give(Observation::Injected { whole: true })
        .output(&drawn(" back, and 3 tips\r\n> go on\r\n", ""))
        .wait(200)
        .told(&["1 gone Injected"]);
}

/// Seen with Claude Code 2.1.325: the lines of an edit come later than its frame, and their coming would make another prompt.
#[test]
fn an_edit_without_its_lines_is_not_drawn_yet() {
    let mut session = Session::of("claude", POLL);
    let (rule, dashes) = ("─".repeat(60), "╌".repeat(60));
    let drawn = |lines: &str| {
        format!(
            "\x1b[2J\x1b[H{rule}\r\n Edit file\r\n README.md\r\n{dashes}\r\n {lines}\r\n{dashes}\r\n Do you want to make this \
             edit to README.md?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel · Tab to amend"
        )
    };
    session.output(&drawn("…")).wait(300).told(&[]);
    session.output(&drawn("1 -old\r\n 1 +new")).wait(1_000);
    assert_eq!(session.told.len(), 1, "{:?}", session.told);
    assert!(session.told[0].contains("1 +new"), "{:?}", session.told);
}

/// Codex draws the next of two waiting dialogs in place of the first. For the same command both look the same; the line
/// that tells of the answer is all that is new.
#[test]
fn the_same_dialog_below_a_line_that_tells_of_its_answer_is_the_next_one() {
    let mut session = Session::of("codex", POLL);
    let drawn = |above: &str| {
        format!(
            "\x1b[H\x1b[2J{above}\r\n\r\n\r\n\r\n  Would you like to run the following command?\r\n\r\n  $ make\r\n\r\n› 1. Yes, proceed (y)\r\n  2. No, and tell Codex what to do differently (esc)\r\n\r\n  Press enter to confirm or esc to cancel"
        )
    };
    let seen = "multiple_choice Would you like to run the following command? · $ make";
    session.output(&drawn("• Running make")).wait(2_000);
    session.told(&[&format!("1 {seen}")]);
    session
        .give(Observation::Injected { whole: true })
        .output(&drawn("✔ You approved codex to run make this time"))
        .wait(1_000)
        .told(&["1 gone Injected", &format!("2 {seen}")]);
}

/// Cline and Continue run a command in less time than they take to draw: the dialog for the same command stands there again
/// before anybody saw the first one go. The answer to the first was taken, and is told so.
#[test]
fn the_same_dialog_below_a_call_that_is_over_is_the_next_one() {
    let cline =
        " Approve tool call?\r\n\r\n run_commands\r\n\r\n   $ make\r\n\r\n  [y] Approve   [n] Deny\r\n";
    let continues = "╭──────────────────────────────╮\r\n│  Bash(make)                  │\r\n│                              │\r\n│  Would you like to continue? │\r\n│                              │\r\n│  > Continue (tab)            │\r\n│    No (esc)                  │\r\n╰──────────────────────────────╯\r\n";
    for (tool, before, after, dialog, seen) in [
        ("cline", "", " * run_commands(make)", cline, "yes_no Approve tool call? · run_commands · $ make"),
        (
            "cn",
            "○ Bash(make)",
            "● Bash(make)\r\n  ⎿  No output\r\n\r\n○ Bash(make)",
            continues,
            "multiple_choice Would you like to continue? · Bash(make)",
        ),
    ] {
        let mut session = Session::of(tool, POLL);
        let drawn = |above: &str| format!("\x1b[?25l\x1b[H\x1b[2J{above}\r\n\r\n\r\n\r\n{dialog}");
        session.output(&drawn(before)).wait(2_000);
        session.told(&[&format!("1 {seen}")]);
        session
            .give(Observation::Injected { whole: true })
            .output(&drawn(after))
            .wait(1_000)
            .told(&["1 gone Injected", &format!("2 {seen}")]);
    }
}

/// Codex 0.107: the first letter takes the footer away, and nothing is left below the box. The box is still the same, and
/// what was written in it has not been sent, though it begins as an invitation does.
#[test]
fn a_box_without_its_footer_still_holds_its_draft() {
    let drawn = |draft: &str, footer: &str| {
        format!("\x1b[2J\x1b[H• Hello.\r\n\r\n\r\n\r\n{footer}\x1b[3;1H› {draft}")
    };
    let mut session = Session::of("codex", POLL);
    let empty = drawn("\x1b[2mWrite tests for @filename\x1b[0m\x1b[3;3H", "  fake-model default · 100% left");
    session.output(&empty).wait(3_000).told(&["1 idle › Write tests for @filename"]);
    assert_eq!(session.detector.holds_draft(), Some(false));
    let sighting = session.detector.current().unwrap().clone();
    for draft in ["Write tests for the rest", "go on,\r\n  and on"] {
        session.give(Observation::Injected { whole: false }).output(&drawn(draft, "")).wait(1_000).told(&[]);
        assert_eq!(session.detector.holds_draft(), Some(true), "{draft}");
        assert!(session.detector.still_shows(sighting.no, sighting.fingerprint), "{draft}");
        assert!(
            session.detector.holds_text("Write tests for the rest")
                || session.detector.holds_text("go on, and on")
        );
    }
    session
        .give(Observation::Injected { whole: true })
        .output(&drawn("go on,\r\n  and on", ""))
        .wait(1_500)
        .told(&[]);
    assert_eq!(session.detector.holds_draft(), Some(true), "Enter was swallowed");
}

/// What was typed stands before the cursor, whatever is drawn around it; what was sent does not.
#[test]
fn a_text_is_found_where_it_was_typed() {
    let check = |screen: &str, expected: bool| {
        let mut session = Session::new(POLL);
        session.output(screen);
        assert_eq!(session.detector.holds_text("say hello to me"), expected, "{screen:?}");
    };
    check("│ ❯ say hello to me", true);
    check("some box: say hello\r\n  to me", true);
    check("› say hello to me\r\n\r\n› ", false);
    check("> say hello to me\r\nWorking", false);
    check("diff> ", false);
    check("", false);
}

/// Codex 0.107 shows nothing of its work while the answer streams: repaints that change nothing are all that is seen of it.
#[test]
fn a_box_is_not_idle_while_its_tool_repaints() {
    let repaint = "\x1b[?2026h\x1b[3;1H› \x1b[2mWrite tests for @filename\x1b[0m\r\n\r\n  fake-model · 100% left\x1b[3;3H\x1b[?2026l";
    let mut session = Session::of("codex", POLL);
    session.output("• The first line.\r\n\r\n").output(repaint);
    for _ in 0..20 {
        session.wait(900).output(repaint);
    }
    session.told(&[]).wait(2_500).told(&["1 idle › Write tests for @filename"]);
}

/// opencode was once offered half drawn: the buttons stood there, and the command did not.
#[test]
fn a_dialog_without_its_matter_is_not_drawn_yet() {
    let drawn = |matter: &str| {
        format!(
            "\x1b[2J\x1b[H┃ △ Permission required\r\n┃   # Shell command\r\n┃\r\n┃ {matter}\r\n┃\r\n┃  \x1b[7mAllow once\x1b[0m   \
             Allow always   Reject          ctrl+f fullscreen  enter confirm\r\n"
        )
    };
    let mut session = Session::of("opencode", POLL);
    session.output(&drawn("")).wait(1_200).told(&[]);
    session
        .output(&drawn("$ rm -rf build"))
        .wait(300)
        .told(&["1 multiple_choice Permission required # Shell command · $ rm -rf build"]);
    // One that never shows more is told all the same.
    let mut session = Session::of("opencode", POLL);
    session.output(&drawn("")).wait(2_000).told(&["1 multiple_choice Permission required # Shell command"]);
}

/// The box of opencode holds seven lines at any height, and cuts the rest without a sign.
#[test]
fn a_full_box_is_told_as_perhaps_not_the_whole() {
    let lines: String = (1..=7).map(|line| format!("┃ line {line}\r\n")).collect();
    let mut session = Session::of("opencode", POLL);
    session.output(&format!(
        "┃ △ Permission required\r\n┃   # Shell command\r\n┃\r\n{lines}┃\r\n┃  \x1b[7mAllow once\x1b[0m   Allow always   Reject          \
         ctrl+f fullscreen  enter confirm\r\n"
    ));
    session.wait(500);
    let detail = session.detector.current().unwrap().detail.as_str().to_owned();
    assert!(detail.starts_with("[Perhaps not all of this is shown"), "{detail}");
    assert!(detail.contains("Ctrl+F at the terminal shows more of it."), "{detail}");
    let [told] = &session.told[..] else { panic!("{:?}", session.told) };
    assert!(told.contains("[perhaps not all of it is shown] Permission required"), "{told}");
}

/// A starved event loop reads nothing for a while: the tool's own dialog is certain once it listens again.
#[test]
fn a_dialog_of_the_pack_is_not_doubted_while_its_tool_is_starved() {
    let dialog = "? Shell rm -rf build\r\n\r\n Allow execution of: 'rm'?\r\n\r\n › 1. Yes, allow once\r\n   2. No, suggest changes (esc)\r\n";
    let starved = KernelWait { wait: Waits::Nobody, ..POLL };
    let mut session = Session::of("qwen", starved);
    session.output(dialog).wait(3_000).told(&[]);
    session.kernel = POLL;
    session.wait(400);
    let level = session.detector.current().map(|seen| seen.confidence.level());
    assert_eq!(level, Some(Level::High));
    // Where nobody ever listens it is a possible prompt in the end.
    let mut session = Session::of("qwen", starved);
    session.output(dialog).wait(8_000);
    let level = session.detector.current().map(|seen| seen.confidence.level());
    assert_eq!(level, Some(Level::Low));
}

/// The question, a gap, and the place to type below its words. The answer that is typed there leaves it the same.
#[test]
fn a_question_above_an_empty_line_is_asked() {
    let asked = "  Run this code? (y/n)\r\n\r\n  ";
    let mut session = Session::new(POLL);
    session.output(asked).wait(300).told(&["1 yes_no Run this code? (y/n)"]);
    session.give(Observation::Injected { whole: false }).output("y").wait(300).told(&[]);
    session
        .give(Observation::Injected { whole: true })
        .output("\r\n\r\nrunning\r\n")
        .wait(300)
        .told(&["1 gone Injected"]);
    // Prose, with the cursor in the next line, asks nothing as long as keys are all that is waited for.
    let mut session = Session::new(POLL);
    session.output("Run this code? (y/n)\r\n\r\n").wait(1_500).told(&[]);
}
