//! The agents on this machine: installed, of a version whose dialogs were proved, and, for Claude, whether its hooks
//! will run in this directory. Hooks that are switched off are silent: nothing else tells before it is too late.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_agents::claude::{self, Off, Trust};
use atlasbridge_agents::version::{Standing, Version, asked_now, find_program, proved_on, standing};
use atlasbridge_agents::{Surroundings, codex, hook_command, question};
use atlasbridge_detect::{Pack, Packs};
use serde_json::json;

use crate::config::Paths;
use crate::output::{Output, Severity};

use super::Findings;

/// Longer than a hook may take to say that it decides nothing, on a busy machine.
const HOOK_LIMIT: Duration = Duration::from_secs(5);

/// The first that starts a daemon shared by all sessions. Seen in 0.166.0 and not in 0.63.0.
const CODEX_DAEMON_AFTER: Version = Version(0, 63, 0);

/// A tool that was found, and what is known of it.
struct InstalledTool {
    pack: Arc<Pack>,
    file: PathBuf,
}

pub(super) fn checks(named: &[OsString], paths: &Paths, output: &Output, findings: &mut Findings) {
    let surroundings = super::super::surroundings(paths);
    let packs = match super::super::adapters::packs(paths) {
        Ok(packs) => packs,
        Err(error) => {
            let next = "run: atlasbridge adapters check FILE; `run` starts nothing until it is mended";
            findings.problem("adapters", error.to_string(), next);
            Packs::embedded()
        }
    };
    let is_any = named.is_empty();
    let tools = if is_any {
        installed(&packs, &surroundings)
    } else {
        wanted(named, &packs, &surroundings, findings)
    };
    if is_any && tools.is_empty() {
        findings.ok(
            "agents",
            "none of those that are known by name is on your PATH; any other program can be wrapped as well",
        );
    }
    for tool in &tools {
        let name = tool.pack.name();
        output.progress(&format!("asking {name} for its version"));
        let version = asked_now(&tool.file, &tool.pack, &surroundings);
        output.progress("");
        of_version(tool, version, findings);
        match name {
            claude::NAME => of_claude(version, &surroundings, findings),
            codex::NAME => of_codex(version, findings),
            _ => {
                findings.ok(&format!("{name} hooks"), "none are used: its dialogs are read off the screen");
            }
        }
    }
}

/// Every agent that is known, by the first of its programs on the PATH.
fn installed(packs: &Packs, surroundings: &Surroundings) -> Vec<InstalledTool> {
    let agents = packs.iter().filter(|pack| pack.is_agent());
    agents.filter_map(|pack| Some(InstalledTool { file: program_of(&pack, surroundings)?, pack })).collect()
}

/// The first of its programs that is there.
fn program_of(pack: &Pack, surroundings: &Surroundings) -> Option<PathBuf> {
    pack.binaries().iter().find_map(|binary| find_program(binary.as_ref(), surroundings))
}

/// Those that were named, with a finding for each that is not there or has no adapter.
fn wanted(
    named: &[OsString],
    packs: &Packs,
    surroundings: &Surroundings,
    findings: &mut Findings,
) -> Vec<InstalledTool> {
    let mut tools = Vec::new();
    for name in named {
        let shown = name.to_string_lossy();
        let pack = packs.for_program(&shown).filter(|pack| pack.name() != "generic");
        let pack = pack.or_else(|| packs.iter().find(|pack| pack.is_agent() && pack.name() == shown));
        let of_pack = || program_of(pack.as_deref()?, surroundings);
        let file = find_program(name, surroundings).or_else(of_pack);
        match (pack, file) {
            (Some(pack), Some(file)) => tools.push(InstalledTool { pack, file }),
            (None, Some(file)) => {
                let any = "it has no adapter, so its prompts are read as those of any program";
                findings.ok(&shown, format!("{}; {any}", file.display()));
            }
            (_, None) => {
                let next = "install it, or name it with its whole path";
                findings.problem(&shown, "no such program is on your PATH", next);
            }
        }
    }
    tools
}

fn of_version(tool: &InstalledTool, version: Option<Version>, findings: &mut Findings) {
    let name = tool.pack.name();
    let file = tool.file.display();
    let Some(version) = version else {
        let says = format!("{file} did not tell its version");
        return findings.warning(name, says, format!("see what `{file} --version` says"));
    };
    let proved = proved_on(&tool.pack);
    let how = match standing(version, &tool.pack) {
        Standing::Proved => {
            return findings.ok(name, format!("{file}, version {version}; proved on {proved}"));
        }
        Standing::NothingProved => return findings.ok(name, format!("{file}, version {version}")),
        Standing::Older { .. } => "older",
        Standing::Newer { .. } => "newer",
    };
    findings.warning(
        name,
        format!("{file}, version {version}: {how} than those its dialogs were proved on ({proved})"),
        format!(
            "it works all the same, as a rule; ATLASBRIDGE_CAPTURE_PROMPTS=1 keeps what is missed, `atlasbridge adapters \
             show {name}` shows what is known"
        ),
    );
}

fn of_claude(version: Option<Version>, surroundings: &Surroundings, findings: &mut Findings) {
    let judged = claude::hooks_here(version, surroundings);
    of_hooks(&judged, findings);
    if let Ok(version) = judged {
        of_trust(&claude::trust_here(version, surroundings), &surroundings.cwd, findings);
    }
    proof(surroundings, findings);
}

fn of_hooks(judged: &Result<Version, Off>, findings: &mut Findings) {
    const CHECK: &str = "claude hooks";
    const SCREEN: &str = "nothing must be done: its dialogs are read off the screen instead";
    let off = match judged {
        Ok(version) if claude::decides_by_hook(*version) => {
            let events = claude::events(*version).len();
            let says = format!("will run here: {events} events, no setting switches them off");
            return findings.ok(CHECK, says);
        }
        Ok(version) => {
            let says = format!("will run here; {version} reports by them and asks on the screen alone");
            return findings.ok(CHECK, says);
        }
        Err(off) => off,
    };
    let reason = off.reason().unwrap_or_else(|| {
        "CLAUDE_CODE_SIMPLE or CLAUDE_CODE_SAFE_MODE is set, with which Claude runs none".to_owned()
    });
    let next = match off {
        Off::Switch { is_managed: true, .. } => {
            format!("ask whoever administers this machine; {SCREEN}")
        }
        Off::Switch { file, key, .. } => format!("remove {key:?} from {file}; or {SCREEN}"),
        Off::AsWished | Off::VersionUnknown | Off::TooOld(_) | Off::Unreadable(_) => SCREEN.to_owned(),
    };
    findings.warning(CHECK, format!("will not run, because {reason}"), next);
}

fn of_trust(trust: &Trust, cwd: &Path, findings: &mut Findings) {
    const CHECK: &str = "claude trust";
    let here = cwd.display();
    match trust {
        Trust::Accepted { folder } if folder == cwd => findings.ok(CHECK, format!("{here} is trusted")),
        Trust::Accepted { folder } => {
            findings.ok(CHECK, format!("{here} is trusted, because {} is", folder.display()))
        }
        Trust::Asks => findings.warning(
            CHECK,
            format!("Claude will ask whether you trust {here}, and runs no hook before it has its answer"),
            "run `claude` here once and answer it, or answer it when it comes: that dialog is read off the screen",
        ),
    }
}

/// Runs our hook as Claude would: a shell, a request on standard input. No session host listens, so it must decide nothing, and soon.
fn proof(surroundings: &Surroundings, findings: &mut Findings) {
    const CHECK: &str = "claude hook command";
    let socket = surroundings.hooks_dir.join(format!("doctor-{}.sock", std::process::id()));
    let command = match hook_command(&socket) {
        Ok(command) => command,
        Err(why) => {
            let says = format!("hooks are not used, because {why}");
            return findings.problem(CHECK, says, "mend that, or use `run --no-hooks`");
        }
    };
    let request = json!({
        "session_id": "doctor",
        "transcript_path": "/dev/null",
        "cwd": "/",
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": { "command": "true" },
    });
    let mut shell = Command::new("/bin/sh");
    shell.arg(OsStr::new("-c")).arg(&command);
    let answer = question::ask(shell, Some(request.to_string().as_bytes()), HOOK_LIMIT, surroundings);
    let wrong = match answer {
        Ok(answer) if answer.code == Some(0) && answer.out.trim().is_empty() => {
            return findings.ok(CHECK, "starts, and decides nothing where nobody listens");
        }
        Ok(answer) => format!(
            "it ended with {} and said {:?} {:?}",
            answer.code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}")),
            answer.out.trim(),
            answer.err.trim()
        ),
        Err(error) => format!("it could not be run to its end: {error}"),
    };
    findings.problem(
        CHECK,
        format!("`{command}` does not do as it should: {wrong}"),
        "is this binary whole, and may it be executed? Until then use `run --no-hooks`",
    )
}

fn of_codex(version: Option<Version>, findings: &mut Findings) {
    findings.ok(
        "codex hooks",
        "none are used, because Codex would ask you to trust them at its start: its dialogs are read off the screen",
    );
    if version.is_some_and(|version| version >= codex::OLDEST) {
        findings.ok(
            "codex server",
            "with `run --structured` it gets an app-server of its own, and can be answered here and elsewhere at once",
        );
    }
    if version.is_some_and(|version| version > CODEX_DAEMON_AFTER) {
        let says = "by default Codex starts a daemon that all sessions share and that outlives them";
        let next = "where each session should be on its own: atlasbridge run -- codex --no-daemon";
        findings.add(Severity::Ok, "codex daemon", says, Some(next.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{found, only};
    use super::*;

    #[track_caller]
    fn check(look: impl FnOnce(&mut Findings), state: Severity, words: &[&str]) {
        let finding = only(look);
        assert_eq!(finding.state, state, "{finding:?}");
        let text = format!("{} {}", finding.says, finding.next.clone().unwrap_or_default());
        for word in words {
            assert!(text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn hooks_that_will_not_run_are_a_warning_with_the_file_that_says_so() {
        check(|findings| of_hooks(&Ok(Version(2, 1, 325)), findings), Severity::Ok, &["9 events"]);
        check(|findings| of_hooks(&Ok(Version(1, 0, 128)), findings), Severity::Ok, &["on the screen"]);
        let switch = |is_managed| Off::Switch {
            file: "/x/settings.json".to_owned(),
            key: "disableAllHooks",
            is_managed,
        };
        check(
            |findings| of_hooks(&Err(switch(false)), findings),
            Severity::Warning,
            &["/x/settings.json", "remove \"disableAllHooks\" from /x/settings.json"],
        );
        check(|findings| of_hooks(&Err(switch(true)), findings), Severity::Warning, &["administers"]);
        check(|findings| of_hooks(&Err(Off::VersionUnknown), findings), Severity::Warning, &["version"]);
        check(
            |findings| of_hooks(&Err(Off::TooOld(Version(1, 0, 9))), findings),
            Severity::Warning,
            &["1.0.9", "1.0.61"],
        );
        check(|findings| of_hooks(&Err(Off::AsWished), findings), Severity::Warning, &["CLAUDE_CODE_SIMPLE"]);
    }

    #[test]
    fn an_untrusted_folder_is_a_warning() {
        let cwd = Path::new("/p/sub");
        let accepted = |folder: &str| Trust::Accepted { folder: folder.into() };
        check(|findings| of_trust(&accepted("/p/sub"), cwd, findings), Severity::Ok, &["/p/sub is trusted"]);
        check(|findings| of_trust(&accepted("/p"), cwd, findings), Severity::Ok, &["because /p is"]);
        check(|findings| of_trust(&Trust::Asks, cwd, findings), Severity::Warning, &["/p/sub", "claude"]);
    }

    #[test]
    fn codex_is_told_apart_by_version() {
        assert_eq!(found(|findings| of_codex(Some(Version(0, 166, 0)), findings)).len(), 3);
        assert_eq!(found(|findings| of_codex(Some(Version(0, 165, 0)), findings)).len(), 2);
        assert_eq!(found(|findings| of_codex(Some(Version(0, 63, 0)), findings)).len(), 1);
        assert_eq!(found(|findings| of_codex(None, findings)).len(), 1);
    }
}
