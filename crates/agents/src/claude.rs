//! Claude Code: which hooks it knows, the settings that set them up for one session, and whether they will run.
//!
//! The settings are handed over with `--settings`, beside the person's own files and never in them. Facts are
//! measured on 1.0.128, 2.0.77, 2.1.197 and 2.1.325; what changed between was looked up in the versions there.

mod arguments;
mod settings_file;
mod switches;
mod trust;

use serde_json::{Value, json};

use crate::surroundings::Surroundings;
use crate::version::Version;

pub use switches::Off;
pub use trust::Trust;

pub(crate) use arguments::Arguments;
pub(crate) use settings_file::{SettingsFile, is_left_behind};
use switches::Places;

/// The name of its pack.
pub const NAME: &str = "claude";

/// The first that takes `--settings`; hooks are a little older.
pub(crate) const OLDEST: Version = Version(1, 0, 61);

/// Seconds for a hook that waits for a person: a day. Claude shows its dialog meanwhile, and the first answer wins.
const DECISION_LIMIT: u64 = 24 * 60 * 60;
/// Seconds for a hook that only reports: Claude waits for it before it goes on.
const REPORT_LIMIT: u64 = 5;

/// A hook event that we want.
#[derive(Debug, PartialEq, Eq)]
struct HookEvent {
    name: &'static str,
    /// The first version that knows it. An unknown name is no trifle: 2.1 stops at a dialog until a person reads it, and
    /// up to 2.0 the whole file is dropped.
    since: Version,
    /// It is about a tool call, and takes a matcher.
    has_matcher: bool,
    limit: u64,
}

const EVENTS: [HookEvent; 9] = [
    report("PreToolUse", OLDEST, true),
    report("PostToolUse", OLDEST, true),
    report("PostToolUseFailure", Version(2, 0, 56), true),
    HookEvent {
        name: "PermissionRequest",
        since: Version(2, 0, 45),
        has_matcher: true,
        limit: DECISION_LIMIT,
    },
    report("Notification", OLDEST, false),
    report("UserPromptSubmit", OLDEST, false),
    report("Stop", OLDEST, false),
    report("SessionStart", Version(1, 0, 62), false),
    report("SessionEnd", Version(1, 0, 85), false),
];

const fn report(name: &'static str, since: Version, has_matcher: bool) -> HookEvent {
    HookEvent { name, since, has_matcher, limit: REPORT_LIMIT }
}

/// The events of ours that this version knows.
pub fn events(version: Version) -> Vec<&'static str> {
    known(version).map(|event| event.name).collect()
}

fn known(version: Version) -> impl Iterator<Item = &'static HookEvent> {
    EVENTS.iter().filter(move |event| version >= OLDEST && version >= event.since)
}

/// Whether it can be asked to decide by hook, and not only to report.
pub fn decides_by_hook(version: Version) -> bool {
    known(version).any(|event| event.limit == DECISION_LIMIT)
}

/// The settings that make this version call `command` at each event.
pub(crate) fn settings(version: Version, command: &str) -> Value {
    let entry = |event: &HookEvent| {
        let hook = json!({ "type": "command", "command": command, "timeout": event.limit });
        match event.has_matcher {
            true => json!([{ "matcher": "*", "hooks": [hook] }]),
            false => json!([{ "hooks": [hook] }]),
        }
    };
    let hooks: serde_json::Map<String, Value> =
        known(version).map(|event| (event.name.to_owned(), entry(event))).collect();
    json!({ "hooks": hooks })
}

/// Our hooks behind those of the settings that the person gave. What is there and is no list of hooks is not ours to
/// judge: then there is a reason why they cannot be merged.
pub(crate) fn merged(given: Option<Value>, ours: Value) -> Result<Value, String> {
    let Some(mut given) = given else { return Ok(ours) };
    let cannot =
        |what: &str| format!("{what} in the settings given with --settings are no hooks that Claude knows");
    let Some(object) = given.as_object_mut() else {
        return Err("the settings given with --settings are no JSON object".to_owned());
    };
    let hooks = object.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| cannot("the hooks"))?;
    let ours = ours["hooks"].as_object().into_iter().flatten();
    for (event, entries) in ours {
        let list = hooks.entry(event.clone()).or_insert_with(|| json!([]));
        let list = list.as_array_mut().ok_or_else(|| cannot(&format!("those of {event}")))?;
        list.extend(entries.as_array().into_iter().flatten().cloned());
    }
    Ok(given)
}

/// A start of Claude in which our hooks will run.
#[derive(Debug, PartialEq)]
pub(crate) struct Given {
    pub version: Version,
    /// What the person passed with `--settings`.
    pub settings: Option<Value>,
}

/// The version whose hooks will run in a session that is started here without arguments.
pub fn hooks_here(version: Option<Version>, surroundings: &Surroundings) -> Result<Version, Off> {
    judge(version, &Arguments::read(&[]), surroundings).map(|given| given.version)
}

/// Whether it will ask before its first hook runs here.
pub fn trust_here(version: Version, surroundings: &Surroundings) -> Trust {
    if surroundings.is_truthy("CLAUDE_CODE_SANDBOXED") {
        return Trust::Accepted { folder: surroundings.cwd.clone() };
    }
    trust::trust(version, &Places::new(surroundings))
}

/// Whether hooks will run in a session that is started so.
pub(crate) fn judge(
    version: Option<Version>,
    arguments: &Arguments,
    surroundings: &Surroundings,
) -> Result<Given, Off> {
    let switched = ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"];
    if !arguments.is_interactive || switched.iter().any(|name| surroundings.is_truthy(name)) {
        return Err(Off::AsWished);
    }
    let version = version.ok_or(Off::VersionUnknown)?;
    if version < OLDEST {
        return Err(Off::TooOld(version));
    }
    let settings = match arguments.counting_settings(version) {
        None => None,
        Some(text) => Some(arguments::read_settings(text, &surroundings.cwd).map_err(Off::Unreadable)?),
    };
    let sources = arguments.sources.as_deref();
    match switches::switched_off(version, sources, settings.as_ref(), &Places::new(surroundings)) {
        Some(off) => Err(off),
        None => Ok(Given { version, settings }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_events(version: &str, left_out: &[&str]) {
        let known = events(Version::parse(version).unwrap());
        let expected: Vec<&str> =
            EVENTS.iter().map(|event| event.name).filter(|name| !left_out.contains(name)).collect();
        assert_eq!(known, expected, "{version}");
    }

    #[test]
    fn only_events_that_the_version_knows() {
        check_events("2.1.325", &[]);
        check_events("2.1.197", &[]);
        check_events("2.0.77", &[]);
        check_events("2.0.56", &[]);
        check_events("2.0.54", &["PostToolUseFailure"]);
        check_events("2.0.45", &["PostToolUseFailure"]);
        let none_of_2_0 = ["PostToolUseFailure", "PermissionRequest"];
        check_events("2.0.44", &none_of_2_0);
        check_events("1.0.128", &none_of_2_0);
        check_events("1.0.85", &none_of_2_0);
        let no_end = ["PostToolUseFailure", "PermissionRequest", "SessionEnd"];
        check_events("1.0.84", &no_end);
        check_events("1.0.62", &no_end);
        check_events("1.0.61", &[&no_end[..], &["SessionStart"]].concat());
        assert!(events(Version(1, 0, 60)).is_empty());
        assert!(decides_by_hook(Version(2, 0, 45)) && !decides_by_hook(Version(1, 0, 128)));
    }

    #[test]
    fn settings_are_what_the_real_versions_took() {
        let made = settings(Version(2, 1, 325), "'/opt/my bin/atlasbridge' hook --socket /h/s.sock");
        let hook = |limit| json!({ "type": "command", "command": "'/opt/my bin/atlasbridge' hook --socket /h/s.sock", "timeout": limit });
        assert_eq!(made["hooks"]["PermissionRequest"], json!([{ "matcher": "*", "hooks": [hook(86400)] }]));
        assert_eq!(made["hooks"]["PreToolUse"], json!([{ "matcher": "*", "hooks": [hook(5)] }]));
        assert_eq!(made["hooks"]["Stop"], json!([{ "hooks": [hook(5)] }]));
        assert_eq!(made["hooks"].as_object().unwrap().len(), 9);
        let old = settings(Version(1, 0, 128), "x");
        assert_eq!(old["hooks"].get("PermissionRequest"), None);
        assert_eq!(old["hooks"].as_object().unwrap().len(), 7);
    }

    #[track_caller]
    fn check_merged(given: Option<Value>, expected: Result<Value, &str>) {
        let ours = json!({ "hooks": { "Stop": [1], "SessionStart": [2] } });
        match (merged(given, ours), expected) {
            (Ok(merged), Ok(expected)) => assert_eq!(merged, expected),
            (Err(what), Err(word)) => assert!(what.contains(word), "{word} in {what}"),
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_settings_of_the_person_stay_and_ours_come_behind() {
        let ours = json!({ "hooks": { "Stop": [1], "SessionStart": [2] } });
        check_merged(None, Ok(ours.clone()));
        check_merged(Some(json!({})), Ok(ours));
        check_merged(
            Some(json!({ "model": "opus", "hooks": { "Stop": ["own"], "PreCompact": ["too"] } })),
            Ok(json!({
                "model": "opus",
                "hooks": { "Stop": ["own", 1], "PreCompact": ["too"], "SessionStart": [2] },
            })),
        );
        check_merged(Some(json!([])), Err("no JSON object"));
        check_merged(Some(json!({ "hooks": "none" })), Err("the hooks"));
        check_merged(Some(json!({ "hooks": { "Stop": {} } })), Err("those of Stop"));
    }
}
