//! Which of our crates may depend on which. An arrow that is missing here is a promise.

use super::Findings;
use super::metadata::Workspace;

struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    /// What a crate could do that had an arrow to this room; ends the sentence "X must not be able to …".
    gives: &'static str,
}

/// The rooms that a product crate may depend on at all.
const ALL: &[&str] = &[
    "model",
    "detect",
    "policy",
    "agents",
    "pty",
    "wire",
    "store",
    "channel",
    "web",
    "session-host",
    "hub",
    "lab",
];
const ALL_BUT_LAB: &[&str] = ALL.split_at(ALL.len() - 1).0;

/// DESIGN §6. `testkit` and `xtask` may use anything, and nobody may use them outside dev-dependencies.
const ROOMS: &[Room] = &[
    room("model", &[], "know what a prompt is"),
    room("detect", &["model"], "look for prompts on a screen"),
    room("policy", &["model"], "decide in a person's place"),
    room("agents", &["model", "detect"], "start an agent in its own way or talk to it beside its screen"),
    room("pty", &[], "reach a terminal"),
    room("wire", &["model"], "talk to another process"),
    room("store", &["model"], "open the database or the audit log"),
    room("channel", &["model"], "reach the internet"),
    room("web", &["channel", "model"], "serve a page"),
    room("session-host", &["model", "detect", "pty", "wire"], "run a tool"),
    room("hub", &["model", "policy", "wire", "store", "channel", "web"], "act as the hub"),
    room("lab", ALL_BUT_LAB, "run rehearsals"),
    room("cli", ALL, "act for the person at the command line"),
    room("testkit", ALL, "use test code outside tests"),
    room("xtask", ALL, "use the tools of the house outside tests"),
];

const TESTS_ONLY: [&str; 2] = ["testkit", "xtask"];

pub(crate) fn check(workspace: &Workspace) -> Findings {
    let mut findings = Findings::default();
    for (_, package) in workspace.members() {
        let Some(from) = room_of(&package.name) else {
            let what =
                format!("{} has no row in the table of rooms (xtask/src/tidy/arrows.rs)", package.name);
            findings.problem(workspace.manifest_line(package, "name"), what);
            continue;
        };
        for dependency in package.shipped() {
            // A crate from outside; `reach` looks at those.
            let Some(to) = room_of(&dependency.name) else {
                continue;
            };
            if let Some(promise) = broken_promise(from, to) {
                findings.problem(workspace.manifest_line(package, &dependency.name), promise);
            }
        }
    }
    findings
}

fn broken_promise(from: &Room, to: &Room) -> Option<String> {
    let is_free = TESTS_ONLY.contains(&from.name) || from.may_use.contains(&to.name);
    let sentence = || format!("{} must not be able to {} ({} → {})", from.name, to.gives, from.name, to.name);
    (!is_free).then(sentence)
}

/// The room of one of our packages: `atlasbridge-detect` is `detect`, `atlasbridge` itself is `cli`.
fn room_of(package: &str) -> Option<&'static Room> {
    let name = match package {
        "atlasbridge" => "cli",
        "testkit" | "xtask" => package,
        _ => package.strip_prefix("atlasbridge-").filter(|name| *name != "cli")?,
    };
    ROOMS.iter().find(|room| room.name == name)
}

const fn room(name: &'static str, may_use: &'static [&'static str], gives: &'static str) -> Room {
    Room { name, may_use, gives }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::fake::workspace;
    use super::*;

    #[track_caller]
    fn check_arrow(from: &str, to: &str, kind: &str, expected: &[&str]) {
        let fake = workspace(&[(from, &[(to, kind)]), (to, &[])], &[]);
        assert_eq!(check(&fake).problems, expected, "{from} → {to}");
    }

    #[test]
    fn allowed_arrows_pass() {
        for (from, to) in [
            ("atlasbridge-detect", "atlasbridge-model"),
            ("atlasbridge-web", "atlasbridge-channel"),
            ("atlasbridge-session-host", "atlasbridge-pty"),
            ("atlasbridge-hub", "atlasbridge-store"),
            ("atlasbridge-lab", "atlasbridge-hub"),
            ("atlasbridge", "atlasbridge-lab"),
            ("xtask", "atlasbridge-pty"),
            ("testkit", "atlasbridge-hub"),
        ] {
            check_arrow(from, to, "normal", &[]);
        }
    }

    #[test]
    fn a_forbidden_arrow_is_a_sentence() {
        check_arrow(
            "atlasbridge-hub",
            "atlasbridge-pty",
            "normal",
            &["atlasbridge-hub/Cargo.toml: hub must not be able to reach a terminal (hub → pty)"],
        );
        check_arrow(
            "atlasbridge-session-host",
            "atlasbridge-channel",
            "build",
            &["atlasbridge-session-host/Cargo.toml: session-host must not be able to reach the internet \
             (session-host → channel)"],
        );
        check_arrow(
            "atlasbridge-model",
            "atlasbridge-store",
            "normal",
            &["atlasbridge-model/Cargo.toml: model must not be able to open the database or the audit log \
             (model → store)"],
        );
    }

    #[test]
    fn test_code_is_for_tests() {
        check_arrow("atlasbridge-hub", "testkit", "dev", &[]);
        check_arrow("atlasbridge-hub", "atlasbridge-pty", "dev", &[]);
        check_arrow(
            "atlasbridge",
            "testkit",
            "normal",
            &["atlasbridge/Cargo.toml: cli must not be able to use test code outside tests (cli → testkit)"],
        );
    }

    #[test]
    fn a_crate_without_a_row_is_a_problem() {
        let fake = workspace(&[("atlasbridge-utils", &[])], &[]);
        assert_eq!(check(&fake).problems.len(), 1);
    }

    #[test]
    fn every_room_has_its_sentence_for_every_missing_arrow() {
        let count = ROOMS
            .iter()
            .flat_map(|from| ROOMS.iter().map(move |to| (from, to)))
            .filter(|(from, to)| broken_promise(from, to).is_some())
            .count();
        // 13 rooms of the product times 15, less the arrows of the table.
        let arrows: usize = ROOMS.iter().take(13).map(|room| room.may_use.len()).sum();
        assert_eq!(count, 13 * 15 - arrows);
    }
}
