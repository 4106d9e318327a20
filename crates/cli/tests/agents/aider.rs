//! aider by its screen: questions of one line, answered by a letter and Enter. Its changes stand in the text of the model.

use atlasbridge_testkit::agents::{Agent, Answered, Opening, Stage, Turn};

use crate::by_screen;

const VERSION: &str = "0.86.2";

/// A file that is not there yet, in its edit format.
const NEW_FILE: &str =
    "Here it is.\n\nnotes.txt\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```\n";

const COMMAND: &str = "Run this:\n\n```bash\ntouch made.txt\n```\n";

fn aider() -> Option<Opening> {
    Agent::aider(VERSION).map(by_screen)
}

/// It neither ended nor was told that its input ended.
#[track_caller]
fn still_works(stage: &Stage) {
    stage.tell("are you there");
    stage.hears("are you there");
    stage.idle();
}

#[test]
fn a_new_file() {
    let Some(opening) = aider() else { return };
    let stage = opening.open([Turn::text(NEW_FILE)]);
    stage.tell("write the notes");
    let asked = stage.asked("Create new file?");
    assert_eq!(asked.kind, "yes_no");
    assert!(!stage.exists("notes.txt"));
    let answered = stage.approve(&asked);
    stage.until("the file is made", || stage.exists("notes.txt").then_some(()));
    still_works(&stage);
    stage.proves("new file", &answered);
}

#[test]
fn no_new_file() {
    let Some(opening) = aider() else { return };
    let stage = opening.open([Turn::text(NEW_FILE)]);
    stage.tell("write the notes");
    let asked = stage.asked("Create new file?");
    let answered = stage.deny(&asked);
    still_works(&stage);
    assert!(!stage.exists("notes.txt"));
    stage.proves("new file", &answered);
}

/// What the desk answers badly is asked again, and the second prompt is answered from elsewhere.
#[test]
fn a_command_asked_for_twice() {
    let Some(opening) = aider() else { return };
    let stage = opening.open([Turn::text(COMMAND)]);
    stage.tell("make it");
    let asked = stage.asked("Run shell command?");
    stage.type_keys("maybe\r");
    stage.shows("Please answer with one of");
    let again = stage.asked_next(&asked, "Run shell command?");
    assert!(!stage.exists("made.txt"));
    let answered = stage.approve(&again);
    stage.until("the command runs", || stage.exists("made.txt").then_some(()));
    still_works(&stage);
    let answer = "accepted, after a bad answer at the desk".to_owned();
    stage.proves("command", &Answered { answer, ..answered });
}

#[test]
fn no_command() {
    let Some(opening) = aider() else { return };
    let stage = opening.open([Turn::text(COMMAND)]);
    stage.tell("make it");
    let asked = stage.asked("Run shell command?");
    let answered = stage.deny(&asked);
    still_works(&stage);
    assert!(!stage.exists("made.txt"));
    stage.proves("command", &answered);
}

#[test]
fn instructions() {
    let Some(opening) = aider() else { return };
    crate::cases::instructions(opening, "say hello, then wait (y/n)?");
}
