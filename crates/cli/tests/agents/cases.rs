//! What is asked of every agent, whatever its dialogs look like.

use atlasbridge_testkit::agents::{Answered, Opening, Stage, ToolResult, Turn};

/// A dialog, and how the agent's model brings it about.
#[derive(Debug, Clone)]
pub(crate) struct Dialog {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The last call is the one that is asked about.
    pub(crate) turns: Vec<Turn>,
    pub(crate) calls: usize,
    /// Words of the prompt.
    pub(crate) shows: &'static str,
}

/// How an agent takes a no.
#[derive(Debug, Clone, Copy)]
pub(crate) enum No {
    /// The turn is over: the model hears of it with the next instruction.
    Interrupts,
    /// The turn is over, and the model never hears of the call.
    Forgets,
}

/// The dialog is accepted; `is_done` then holds, and did not before.
#[track_caller]
pub(crate) fn accepted(opening: Opening, dialog: Dialog, is_done: impl Fn(&Stage) -> bool) {
    let stage = opening.open(dialog.turns);
    stage.tell("do it");
    let asked = stage.asked(dialog.shows);
    assert!(!is_done(&stage), "done without being asked");
    let answered = stage.approve(&asked);
    stage.result(dialog.calls);
    assert!(is_done(&stage), "accepted and not done\n{}", stage.screen());
    stage.idle();
    stage.proves(dialog.name, &answered);
}

/// The dialog is refused; `is_done` never holds, and the model hears that.
#[track_caller]
pub(crate) fn refused(
    opening: Opening,
    dialog: Dialog,
    no: No,
    is_done: impl Fn(&Stage) -> bool,
) -> Option<ToolResult> {
    let stage = opening.open(dialog.turns);
    stage.tell("do it");
    let asked = stage.asked(dialog.shows);
    let answered = stage.deny(&asked);
    stage.tell("leave it then");
    stage.hears("leave it then");
    let result = told_of(&stage, dialog.calls, no);
    stage.idle();
    assert!(!is_done(&stage), "refused and done\n{}", stage.screen());
    stage.proves(dialog.name, &answered);
    result
}

/// Two calls in one turn: the first that is asked for is accepted, the other refused. Each is a prompt of its own, and the
/// other is not touched by what answered the first. The calls make `one.txt` and `two.txt`.
#[track_caller]
pub(crate) fn pair(opening: Opening, dialog: Dialog, no: No) {
    let stage = opening.open(dialog.turns);
    stage.tell("do both");
    let first = stage.asked(dialog.shows);
    let (chosen, other) = match first.text.contains("one.txt") {
        true => ("one.txt", "two.txt"),
        false => ("two.txt", "one.txt"),
    };
    let accepted = stage.approve(&first);
    let second = stage.asked_next(&first, dialog.shows);
    assert!(second.text.contains(other), "{second:?}");
    assert!(!stage.exists(other), "answered by what answered the first");
    let answered = stage.deny(&second);
    // Some run what was accepted only now that everything is decided.
    stage.until("the accepted call runs", || stage.exists(chosen).then_some(()));
    stage.tell("that is enough");
    stage.hears("that is enough");
    told_of(&stage, dialog.calls, no);
    assert!(stage.exists(chosen) && !stage.exists(other));
    let answer = "one accepted, one refused".to_owned();
    let keys = format!("{}; {}", accepted.keys, answered.keys);
    stage.proves(dialog.name, &Answered { answer, keys });
}

/// A sentence sent to an open dialog is refused, and not one key of it reaches the agent.
#[track_caller]
pub(crate) fn sentence(opening: Opening, dialog: Dialog, is_done: impl Fn(&Stage) -> bool) {
    let stage = opening.open(dialog.turns);
    stage.tell("do it");
    let asked = stage.asked(dialog.shows);
    let before = stage.screen();
    let told = stage.refused(&asked, "stop please");
    assert!(told.contains("none of the choices"), "{told}");
    assert!(!stage.home.course_of(&asked.id).contains(&"REPLY_INJECTED".to_owned()));
    // The dialog answers as if nothing had been: a stray key would have closed it.
    assert_eq!(stage.prompts().len(), 1);
    assert_eq!(choices_of(&before), choices_of(&stage.screen()));
    assert!(!is_done(&stage));
    stage.deny(&asked);
    stage.idle();
    assert!(!is_done(&stage));
    let answer = "a sentence: not typed".to_owned();
    stage.proves(dialog.name, &Answered { answer, keys: "none".to_owned() });
}

/// An instruction sent to the idle agent arrives as one text; and so does the next.
#[track_caller]
pub(crate) fn instructions(opening: Opening, first: &str) {
    let stage = opening.open([Turn::text("Hello."), Turn::text("Again.")]);
    let answered = stage.tell(first);
    stage.hears(first);
    stage.tell("and once more");
    stage.hears("and once more");
    let texts = stage.model.user_texts();
    let ours: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert!(ours.ends_with(&[first, "and once more"]), "{texts:?}");
    stage.idle();
    stage.proves("input box", &answered);
}

/// What the model heard of the refused call, if its agent tells.
#[track_caller]
fn told_of(stage: &Stage, call: usize, no: No) -> Option<ToolResult> {
    match no {
        No::Interrupts => Some(stage.result(call)),
        No::Forgets => {
            let id = format!("call_{call}");
            assert!(stage.model.tool_results().iter().all(|result| result.id != id));
            None
        }
    }
}

/// The rows of a screen that can be chosen.
fn choices_of(screen: &str) -> Vec<String> {
    let lines = screen.lines().map(str::trim);
    let rows = lines.filter(|line| line.contains(". ") || line.contains("Allow"));
    rows.map(str::to_owned).collect()
}
