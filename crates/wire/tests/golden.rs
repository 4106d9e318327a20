//! The text of every frame. A row that must change is a new protocol: other versions of us read these lines.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

use atlasbridge_model::answer::Value;
use atlasbridge_model::lifecycle::Departure;
use atlasbridge_model::{Entry, Takes, picture};
use atlasbridge_wire::command::{
    ChannelView, ChoiceView, ConstraintsView, HubView, LoginView, PromptView, Request, Response, SessionView,
};
use atlasbridge_wire::journal::JournalEntry;
use atlasbridge_wire::picture::PictureChange;
use atlasbridge_wire::session::{
    End, FromSession, Health, Inject, Key, Report, SessionInfo, ToSession, Typing, TypingOutcome, Unread,
};
use atlasbridge_wire::twin::{self, Choice, Outcome, SaidText, Sighting, Stroke};
use atlasbridge_wire::{Greeting, Hello, Role, decode, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(frame: T, text: &str) {
    let line = String::from_utf8(encode(&frame)).unwrap();
    assert_eq!(line.strip_suffix('\n'), Some(text));
    assert_eq!(decode::<T>(text.as_bytes()).unwrap(), frame);
    // A later version may add members; this one passes over them.
    let with_more = format!("{},\"added_later\":1}}", text.strip_suffix('}').unwrap());
    assert_eq!(decode::<T>(with_more.as_bytes()).unwrap(), frame);
}

fn report(report: Report) -> FromSession {
    FromSession::Report { n: 7, report }
}

fn sighted(typed_ms_ago: Option<u64>) -> Report {
    let sighting = Sighting {
        no: 1,
        kind: "yes_no".into(),
        confidence: 95,
        excerpt: "Go on? [y/n]".into(),
        detail: "Go on? [y/n]".into(),
        choices: vec![Choice {
            label: "yes".into(),
            effect: "accepts".into(),
            grants: None,
            strokes: vec![
                Stroke { keys: "y".into(), if_still_there: false },
                Stroke { keys: "\r".into(), if_still_there: true },
            ],
        }],
        constraints: ConstraintsView { max_length: 200, ..ConstraintsView::default() },
        offers_default: false,
        takes: Takes::default(),
        entry: Entry::Line,
        fingerprint: "00".repeat(16),
    };
    Report::Sighted { sighting, typed_ms_ago }
}

#[test]
fn hello_and_greeting() {
    check(
        Hello { atlasbridge: Role::Session, oldest: 1, newest: 1, version: "0.1.0".into() },
        r#"{"atlasbridge":"session","oldest":1,"newest":1,"version":"0.1.0"}"#,
    );
    check(
        Hello { atlasbridge: Role::Command, oldest: 1, newest: 2, version: "0.2.0".into() },
        r#"{"atlasbridge":"command","oldest":1,"newest":2,"version":"0.2.0"}"#,
    );
    check(
        Greeting::Welcome { protocol: 1, version: "0.1.0".into(), pid: 42, epoch: 9 },
        r#"{"greeting":"welcome","protocol":1,"version":"0.1.0","pid":42,"epoch":9}"#,
    );
    check(
        Greeting::Refused { reason: "too old".into(), oldest: 1, newest: 1, version: "0.1.0".into() },
        r#"{"greeting":"refused","reason":"too old","oldest":1,"newest":1,"version":"0.1.0"}"#,
    );
}

#[test]
fn from_a_session() {
    check(
        FromSession::Begin(SessionInfo {
            session_id: "s".into(),
            tool: "bash".into(),
            command: vec!["bash".into(), "-c".into()],
            cwd: "/tmp".into(),
            label: Some("build".into()),
            host_pid: 10,
            leader_pid: 11,
            started_at: 12,
        }),
        r#"{"type":"begin","session_id":"s","tool":"bash","command":["bash","-c"],"cwd":"/tmp","label":"build","host_pid":10,"leader_pid":11,"started_at":12}"#,
    );
    check(
        report(Report::ToolStarted { pid: 5 }),
        r#"{"type":"report","n":7,"report":{"tool_started":{"pid":5}}}"#,
    );
    check(
        report(sighted(None)),
        r#"{"type":"report","n":7,"report":{"sighted":{"no":1,"kind":"yes_no","confidence":95,"excerpt":"Go on? [y/n]","detail":"Go on? [y/n]","choices":[{"label":"yes","effect":"accepts","strokes":[{"keys":"y"},{"keys":"\r","if_still_there":true}]}],"max_length":200,"offers_default":false,"entry":"line","fingerprint":"00000000000000000000000000000000"}}}"#,
    );
    check(
        report(sighted(Some(250))),
        r#"{"type":"report","n":7,"report":{"sighted":{"no":1,"kind":"yes_no","confidence":95,"excerpt":"Go on? [y/n]","detail":"Go on? [y/n]","choices":[{"label":"yes","effect":"accepts","strokes":[{"keys":"y"},{"keys":"\r","if_still_there":true}]}],"max_length":200,"offers_default":false,"entry":"line","fingerprint":"00000000000000000000000000000000","typed_ms_ago":250}}}"#,
    );
    check(
        report(Report::Left { sighting: 1, how: Departure::AnsweredLocally }),
        r#"{"type":"report","n":7,"report":{"left":{"sighting":1,"how":"answered_locally"}}}"#,
    );
    check(
        report(Report::Outcome {
            reply_id: "r".into(),
            prompt_id: "p".into(),
            outcome: Outcome::PromptChanged,
        }),
        r#"{"type":"report","n":7,"report":{"outcome":{"reply_id":"r","prompt_id":"p","outcome":"prompt_changed"}}}"#,
    );
    check(
        report(Report::Ended(End::Exited { code: 0 })),
        r#"{"type":"report","n":7,"report":{"ended":{"exited":{"code":0}}}}"#,
    );
    check(
        FromSession::Health(Health {
            asked: 3,
            pty_alive: true,
            injecting: false,
            silent_for_ms: Some(10),
            typed_ms_ago: None,
        }),
        r#"{"type":"health","asked":3,"pty_alive":true,"injecting":false,"silent_for_ms":10}"#,
    );
    check(
        FromSession::Health(Health {
            asked: 3,
            pty_alive: true,
            injecting: false,
            silent_for_ms: None,
            typed_ms_ago: Some(99),
        }),
        r#"{"type":"health","asked":3,"pty_alive":true,"injecting":false,"typed_ms_ago":99}"#,
    );
}

/// What only a tool's own hook carries: rows without keys, several rows, a refusal with a reason.
#[test]
fn what_a_hook_adds() {
    let Report::Sighted { sighting, .. } = sighted(None) else {
        return;
    };
    let by_hook = Sighting {
        choices: vec![
            Choice { label: "Yes".into(), effect: "accepts".into(), grants: None, strokes: vec![] },
            Choice {
                label: "Yes, always".into(),
                effect: "accepts".into(),
                grants: Some("always".into()),
                strokes: vec![],
            },
        ],
        takes: Takes { reason: true, several: true, ..Takes::default() },
        constraints: ConstraintsView {
            max_length: 200,
            min_choice: Some(1),
            max_choice: Some(4),
            min_picks: Some(1),
            max_picks: Some(3),
        },
        ..sighting
    };
    check(
        report(Report::Sighted { sighting: by_hook, typed_ms_ago: None }),
        r#"{"type":"report","n":7,"report":{"sighted":{"no":1,"kind":"yes_no","confidence":95,"excerpt":"Go on? [y/n]","detail":"Go on? [y/n]","choices":[{"label":"Yes","effect":"accepts"},{"label":"Yes, always","effect":"accepts","grants":"always"}],"max_length":200,"min_choice":1,"max_choice":4,"min_picks":1,"max_picks":3,"offers_default":false,"takes":{"reason":true,"several":true},"entry":"line","fingerprint":"00000000000000000000000000000000"}}}"#,
    );
    for (value, text) in [
        (Value::Several(vec![(0, "a".into()), (2, "c".into())]), r#"{"several":[[0,"a"],[2,"c"]]}"#),
        (Value::Refused { reason: "later".into() }, r#"{"refused":{"reason":"later"}}"#),
    ] {
        check(
            ToSession::Inject(Inject {
                reply_id: "r".into(),
                prompt_id: "p".into(),
                sighting: 1,
                fingerprint: "f".into(),
                epoch: 9,
                deadline: None,
                by_silence: true,
                value: Some(twin::Value(value)),
            }),
            &format!(
                r#"{{"type":"inject","reply_id":"r","prompt_id":"p","sighting":1,"fingerprint":"f","epoch":9,"by_silence":true,"value":{text}}}"#
            ),
        );
    }
    check(
        Request::Answer { prompt: "p".into(), said: SaidText::DenyWith("later".into()), as_is: false },
        r#"{"request":"answer","prompt":"p","said":{"deny_with":"later"}}"#,
    );
}

#[test]
fn what_a_session_shows() {
    check(
        FromSession::ScreenText { asked: 4, text: "$ ls\na".into() },
        r#"{"type":"screen_text","asked":4,"text":"$ ls\na"}"#,
    );
    check(
        FromSession::Lines { asked: 5, lines: vec!["one".into(), String::new()] },
        r#"{"type":"lines","asked":5,"lines":["one",""]}"#,
    );
    let done = |outcome| FromSession::TypingDone { typing_id: "t".into(), outcome };
    for (outcome, word) in [
        (TypingOutcome::Typed, "typed"),
        (TypingOutcome::Busy, "busy"),
        (TypingOutcome::TypingLocally, "typing_locally"),
        (TypingOutcome::Refused, "refused"),
        (TypingOutcome::NotTaken, "not_taken"),
        (TypingOutcome::NotRecorded, "not_recorded"),
        (TypingOutcome::Gone, "gone"),
    ] {
        check(done(outcome), &format!(r#"{{"type":"typing_done","typing_id":"t","outcome":"{word}"}}"#));
    }
    check_picture(
        picture::Change {
            columns: 4,
            height: 2,
            cursor: Some((1, 3)),
            is_alternate: true,
            is_whole: true,
            rows: vec![(0, picture::Row::default()), (1, coloured_row())],
        },
        r#"{"type":"picture","c":4,"h":2,"k":[1,3],"a":true,"w":true,"r":[[0,[]],[1,[{"t":"a"},{"t":"日","n":2,"f":9,"b":[1,2,3],"s":"bdiusrh"}]]]}"#,
    );
    check_picture(
        picture::Change {
            columns: 4,
            height: 2,
            cursor: None,
            is_alternate: false,
            is_whole: false,
            rows: vec![],
        },
        r#"{"type":"picture","c":4,"h":2}"#,
    );
}

fn coloured_row() -> picture::Row {
    let plain = picture::Run { text: "a".into(), cells: 1, style: picture::Style::default() };
    let loud = picture::Run {
        text: "日".into(),
        cells: 2,
        style: picture::Style {
            foreground: picture::Colour::Indexed(9),
            background: picture::Colour::Rgb(1, 2, 3),
            is_bold: true,
            is_dim: true,
            is_italic: true,
            is_underlined: true,
            is_struck: true,
            is_reversed: true,
            is_hidden: true,
        },
    };
    picture::Row { runs: vec![plain, loud] }
}

/// There and back through the twin: nothing of the picture is lost.
#[track_caller]
fn check_picture(change: picture::Change, text: &str) {
    let twin = PictureChange::from(&change);
    check(FromSession::Picture(twin.clone()), text);
    assert_eq!(picture::Change::from(twin), change);
}

#[test]
fn to_a_session() {
    check(ToSession::Noted { n: 7 }, r#"{"type":"noted","n":7}"#);
    check(
        ToSession::Inject(Inject {
            reply_id: "r".into(),
            prompt_id: "p".into(),
            sighting: 1,
            fingerprint: "f".into(),
            epoch: 9,
            deadline: Some(1000),
            by_silence: false,
            value: Some(twin::Value(Value::Choice { row: 0, label: "yes".into() })),
        }),
        r#"{"type":"inject","reply_id":"r","prompt_id":"p","sighting":1,"fingerprint":"f","epoch":9,"deadline":1000,"value":{"choice":{"row":0,"label":"yes"}}}"#,
    );
    check(ToSession::HowAreYou { asked: 3 }, r#"{"type":"how_are_you","asked":3}"#);
    check(ToSession::Stop, r#"{"type":"stop"}"#);
    check(ToSession::Watch { on: true }, r#"{"type":"watch","on":true}"#);
    check(ToSession::Screen { asked: 4 }, r#"{"type":"screen","asked":4}"#);
    check(ToSession::Lines { asked: 5, most: 1000 }, r#"{"type":"lines","asked":5,"most":1000}"#);
    let keys = [
        (Key::Escape, "escape"),
        (Key::Tab, "tab"),
        (Key::Up, "up"),
        (Key::Down, "down"),
        (Key::Left, "left"),
        (Key::Right, "right"),
        (Key::Enter, "enter"),
        (Key::Backspace, "backspace"),
        (Key::CtrlC, "ctrl_c"),
        (Key::CtrlD, "ctrl_d"),
    ];
    for (key, name) in keys {
        check(
            ToSession::Type { typing_id: "t".into(), what: Typing::Key(key) },
            &format!(r#"{{"type":"type","typing_id":"t","what":{{"key":"{name}"}}}}"#),
        );
    }
    check(
        ToSession::Type { typing_id: "t".into(), what: Typing::Text { text: "ls".into(), enter: true } },
        r#"{"type":"type","typing_id":"t","what":{"text":{"text":"ls","enter":true}}}"#,
    );
}

#[test]
fn requests() {
    check(Request::Approvals, r#"{"request":"approvals"}"#);
    check(Request::Watch, r#"{"request":"watch"}"#);
    check(
        Request::Answer { prompt: "3f2a".into(), said: SaidText::Approve, as_is: false },
        r#"{"request":"answer","prompt":"3f2a","said":"approve"}"#,
    );
    check(
        Request::Answer { prompt: "3f2a".into(), said: SaidText::Text("2".into()), as_is: false },
        r#"{"request":"answer","prompt":"3f2a","said":{"text":"2"}}"#,
    );
    check(
        Request::Answer { prompt: "3f2a".into(), said: SaidText::Text("!ls".into()), as_is: true },
        r#"{"request":"answer","prompt":"3f2a","said":{"text":"!ls"},"as_is":true}"#,
    );
    check(
        Request::Send { session: "s".into(), text: "one\ntwo".into(), as_is: false },
        r#"{"request":"send","session":"s","text":"one\ntwo"}"#,
    );
    check(Request::TakeBack { session: "s".into() }, r#"{"request":"take_back","session":"s"}"#);
    check(Request::Status, r#"{"request":"status"}"#);
    check(Request::Sessions { all: true }, r#"{"request":"sessions","all":true}"#);
    check(Request::Session { session: "s".into() }, r#"{"request":"session","session":"s"}"#);
    check(Request::StopSession { session: "s".into() }, r#"{"request":"stop_session","session":"s"}"#);
    check(Request::StopHub, r#"{"request":"stop_hub"}"#);
    check(Request::WebLink, r#"{"request":"web_link"}"#);
    check(Request::WebLogins, r#"{"request":"web_logins"}"#);
    check(Request::WebRevoke { name: None }, r#"{"request":"web_revoke","name":null}"#);
    check(
        Request::WebRevoke { name: Some("web:3f9c".into()) },
        r#"{"request":"web_revoke","name":"web:3f9c"}"#,
    );
    check(Request::ResumeSession { session: "s".into() }, r#"{"request":"resume_session","session":"s"}"#);
}

#[test]
fn responses() {
    check(
        Response::Approvals {
            prompts: vec![PromptView {
                prompt_id: "p".into(),
                session_id: "s".into(),
                tool: "bash".into(),
                label: None,
                cwd: "/tmp".into(),
                kind: "yes_no".into(),
                confidence: "high".into(),
                excerpt: "Go on?".into(),
                detail: "Go on?".into(),
                choices: vec![ChoiceView { label: "yes".into(), keys: "y\r".into(), refuses: false }],
                constraints: ConstraintsView {
                    max_length: 200,
                    min_choice: Some(1),
                    max_choice: Some(4),
                    min_picks: None,
                    max_picks: None,
                },
                expires_at: Some("2026-01-01T00:00:00.000Z".into()),
                expires_in_ms: Some(600_000),
                created_at: "2026-01-01T00:00:00.000Z".into(),
                status: "awaiting_reply".into(),
                reason: None,
                word: "waiting".into(),
                safe_default: Some("no".into()),
                answers: vec!["approve".into(), "deny".into()],
            }],
        },
        r#"{"response":"approvals","prompts":[{"prompt_id":"p","session_id":"s","tool":"bash","label":null,"cwd":"/tmp","kind":"yes_no","confidence":"high","excerpt":"Go on?","detail":"Go on?","choices":[{"label":"yes","keys":"y\r","refuses":false}],"constraints":{"max_length":200,"min_choice":1,"max_choice":4},"expires_at":"2026-01-01T00:00:00.000Z","expires_in_ms":600000,"created_at":"2026-01-01T00:00:00.000Z","status":"awaiting_reply","reason":null,"word":"waiting","safe_default":"no","answers":["approve","deny"]}]}"#,
    );
    check(
        Response::Status(HubView {
            pid: 1,
            version: "0.1.0".into(),
            protocol: 1,
            started_at: "2026-01-01T00:00:00.000Z".into(),
            sessions: 2,
            prompts: 3,
            channels: vec![ChannelView {
                name: "web".into(),
                state: "connected".into(),
                detail: None,
                address: Some("http://127.0.0.1:8787/".into()),
            }],
            trouble: None,
        }),
        r#"{"response":"status","pid":1,"version":"0.1.0","protocol":1,"started_at":"2026-01-01T00:00:00.000Z","sessions":2,"prompts":3,"channels":[{"name":"web","state":"connected","detail":null,"address":"http://127.0.0.1:8787/"}],"trouble":null}"#,
    );
    check(
        Response::Session(SessionView {
            session_id: "s".into(),
            tool: "bash".into(),
            command: vec!["bash".into()],
            cwd: "/tmp".into(),
            label: None,
            status: "active".into(),
            state: "running".into(),
            pid: Some(5),
            host_pid: 4,
            started_at: "2026-01-01T00:00:00.000Z".into(),
            ended_at: None,
            uptime_seconds: 6,
            exit_code: None,
            prompts: 1,
            seconds_since_output: Some(2),
            pty_alive: true,
            host_healthy: true,
            waiting: 1,
            paused: false,
        }),
        r#"{"response":"session","session_id":"s","tool":"bash","command":["bash"],"cwd":"/tmp","label":null,"status":"active","state":"running","pid":5,"host_pid":4,"started_at":"2026-01-01T00:00:00.000Z","ended_at":null,"uptime_seconds":6,"exit_code":null,"prompts":1,"seconds_since_output":2,"pty_alive":true,"host_healthy":true,"waiting":1,"paused":false}"#,
    );
    check(
        Response::WebLink { url: "http://127.0.0.1:8787/in/k".into() },
        r#"{"response":"web_link","url":"http://127.0.0.1:8787/in/k"}"#,
    );
    check(
        Response::WebLogins {
            logins: vec![LoginView {
                name: "web:3f9c".into(),
                device: "Firefox on Android".into(),
                created_at: "2026-01-01T00:00:00.000Z".into(),
                seen_at: "2026-01-02T00:00:00.000Z".into(),
            }],
        },
        r#"{"response":"web_logins","logins":[{"name":"web:3f9c","device":"Firefox on Android","created_at":"2026-01-01T00:00:00.000Z","seen_at":"2026-01-02T00:00:00.000Z"}]}"#,
    );
    check(
        Response::Queued { session_id: "s".into(), replaces: true, told: "claude is working".into() },
        r#"{"response":"queued","session_id":"s","replaces":true,"told":"claude is working"}"#,
    );
    check(Response::Done, r#"{"response":"done"}"#);
    check(Response::Refused { reason: "no".into() }, r#"{"response":"refused","reason":"no"}"#);
    check(Response::Failed { reason: "disk full".into() }, r#"{"response":"failed","reason":"disk full"}"#);
}

#[test]
fn journal_entries() {
    check(
        JournalEntry::Intent { reply_id: "r".into(), prompt_id: "p".into() },
        r#"{"entry":"intent","reply_id":"r","prompt_id":"p"}"#,
    );
    check(JournalEntry::Typed { reply_id: "r".into() }, r#"{"entry":"typed","reply_id":"r"}"#);
    check(
        JournalEntry::TypingIntent { typing_id: "t".into() },
        r#"{"entry":"typing_intent","typing_id":"t"}"#,
    );
    check(JournalEntry::TypingDone { typing_id: "t".into() }, r#"{"entry":"typing_done","typing_id":"t"}"#);
}

#[test]
fn what_is_no_frame_is_refused() {
    for text in ["", "{}", "[]", "null", r#"{"type":"noted"}"#, "\u{0}", "{\"type\":\"noted\",\"n\":-1}"] {
        assert!(decode::<ToSession>(text.as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn what_a_newer_peer_says_is_passed_over() {
    let explode = br#"{"type":"explode","how":{"loud":[1,2]}}"#;
    assert_eq!(decode::<ToSession>(explode).unwrap(), ToSession::Unknown);
    assert_eq!(decode::<FromSession>(explode).unwrap(), FromSession::Unknown);
    assert_eq!(decode::<Request>(br#"{"request":"explode","how":1}"#).unwrap(), Request::Unknown);
    assert_eq!(
        decode::<FromSession>(br#"{"type":"report","n":7,"report":{"exploded":{"how":"loud"}}}"#).unwrap(),
        report(Report::Unknown(Unread)),
        "its number must be noted all the same"
    );
    assert_eq!(
        decode::<FromSession>(br#"{"type":"typing_done","typing_id":"t","outcome":"exploded"}"#).unwrap(),
        FromSession::TypingDone { typing_id: "t".into(), outcome: TypingOutcome::Unknown }
    );
    assert_eq!(
        decode::<ToSession>(br#"{"type":"type","typing_id":"t","what":{"key":"f13"}}"#).unwrap(),
        ToSession::Type { typing_id: "t".into(), what: Typing::Unknown(Unread) }
    );
}

#[test]
fn what_is_typed_stays_out_of_logs() {
    let typing = Typing::Text { text: "hunter22".into(), enter: true };
    assert_eq!(format!("{typing:?}"), "Text(8 characters, enter: true)");
}
