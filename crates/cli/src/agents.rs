//! What is done for a tool that is known, before it starts: its version asked, its hooks set up, or a bridge to its server.
//!
//! All of it is for one session and leaves the tool's own files alone. Nothing here stops a tool from starting: what
//! cannot be done is told in a sentence, and the tool's dialogs are read off the screen as those of any other.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod question;
pub(crate) mod version;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use atlasbridge_detect::Pack;
use atlasbridge_model::SessionId;
use clap::CommandFactory;

use crate::args::Args;
use crate::config::{Environment, LONGEST_SOCKET, Paths, quoted};

use claude::{Places, SettingsFile};
use codex::ServerPlace;
use version::Version;

/// A tool that is about to be started.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub program: &'a OsStr,
    pub args: Vec<OsString>,
    pub pack: Option<&'a Pack>,
    pub session: SessionId,
    /// Where it will run, and where Claude looks for the settings of a project.
    pub cwd: &'a Path,
    pub ways: Ways,
}

/// What of a tool may be used beside its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ways {
    /// Nothing: `--no-hooks`.
    Screen,
    /// Its hooks, where it has them.
    Hooks,
    /// Also what changes how it is started: `--structured`.
    Structured,
}

/// How it is started instead.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// What the person typed, where another program is started in its place.
    pub typed: Option<Vec<OsString>>,
    pub hooks: Hooks,
    /// That nobody has proved the dialogs of this version.
    pub version_warning: Option<String>,
}

/// Whether the tool tells us itself what it is about to do.
#[derive(Debug)]
pub(crate) enum Hooks {
    On {
        files: Files,
        /// Where its hooks will call.
        socket: PathBuf,
    },
    Off {
        /// For people, where they might have expected otherwise.
        why: Option<String>,
    },
}

/// Gone with this value: to be kept until the tool has ended.
#[derive(Debug)]
#[expect(dead_code, reason = "they are kept, and nothing else")]
pub(crate) enum Files {
    Claude(SettingsFile),
    Codex(ServerPlace),
}

impl Hooks {
    /// Where the session host is to listen for them.
    pub(crate) fn socket(&self) -> Option<PathBuf> {
        match self {
            Hooks::On { socket, .. } => Some(socket.clone()),
            Hooks::Off { .. } => None,
        }
    }

    /// The tool has ended: nothing of it stays behind.
    pub(crate) fn end(self) {
        if let Hooks::On { files, socket } = self {
            drop(files);
            // Whoever listened there has removed it, as a rule.
            let _ = std::fs::remove_file(socket);
        }
    }
}

impl Prepared {
    /// What a person should know before the tool has the terminal.
    pub(crate) fn notices(&self) -> impl Iterator<Item = &str> {
        let why = match &self.hooks {
            Hooks::Off { why } => why.as_deref(),
            Hooks::On { .. } => None,
        };
        self.version_warning.as_deref().into_iter().chain(why)
    }
}

pub(crate) fn prepare(launch: Launch<'_>, paths: &Paths, environment: &Environment) -> Prepared {
    let Some(pack) = launch.pack else {
        let why = no_structured_way(&launch);
        return plain(launch, why, None);
    };
    let version = version::installed(launch.program, pack, paths, environment);
    let name = Path::new(launch.program).file_name().unwrap_or(launch.program);
    let warning = version.and_then(|version| version::warning(&name.to_string_lossy(), version, pack));
    if launch.ways == Ways::Screen || !can_hook() {
        return plain(launch, None, warning);
    }
    let is_it = |name: &str| pack.name() == name && version::is_for(launch.program, pack);
    let prepared = match () {
        () if is_it(claude::NAME) => hooked(&launch, version, paths, environment),
        () if is_it(codex::NAME) && launch.ways == Ways::Structured => bridged(&launch, version, paths),
        () => Err(no_structured_way(&launch)),
    };
    match prepared {
        Ok(prepared) => Prepared { version_warning: warning, ..prepared },
        Err(why) => plain(launch, why, warning),
    }
}

/// As it was typed.
fn plain(launch: Launch<'_>, why: Option<String>, version_warning: Option<String>) -> Prepared {
    Prepared {
        program: launch.program.to_owned(),
        args: launch.args,
        typed: None,
        hooks: Hooks::Off { why },
        version_warning,
    }
}

fn no_structured_way(launch: &Launch<'_>) -> Option<String> {
    let asked_for = launch.ways == Ways::Structured;
    asked_for.then(|| {
        let name = launch.program.to_string_lossy();
        format!("--structured changes nothing for {name}: its dialogs are read off the screen")
    })
}

/// Codex with an app-server of its own and our bridge beside it, or why not.
fn bridged(launch: &Launch<'_>, version: Option<Version>, paths: &Paths) -> Result<Prepared, Option<String>> {
    let because = |why: String| {
        format!(
            "codex is started without an app-server, because {why}; its dialogs are read off the screen instead"
        )
    };
    codex::judge(version, &launch.args).map_err(|off| off.reason().map(because))?;
    let socket = paths.hook_socket(launch.session);
    let server = paths.tool_server(launch.session);
    let own = std::env::current_exe()
        .map_err(|error| Some(because(format!("our own program cannot be found: {error}"))))?;
    if let Some(why) = codex::unusable(&server, LONGEST_SOCKET) {
        return Err(Some(because(why)));
    }
    let place = ServerPlace::make(paths, &server)
        .map_err(|error| Some(because(format!("{} cannot be made: {error}", server.display()))))?;
    let typed: Vec<OsString> =
        std::iter::once(launch.program.to_owned()).chain(launch.args.iter().cloned()).collect();
    let ours: [OsString; 6] = [
        "codex-front".into(),
        "--hooks".into(),
        socket.clone().into(),
        "--server".into(),
        server.into(),
        "--".into(),
    ];
    Ok(Prepared {
        program: own.into(),
        args: ours.into_iter().chain(typed.iter().cloned()).collect(),
        typed: Some(typed),
        hooks: Hooks::On { files: Files::Codex(place), socket },
        version_warning: None,
    })
}

/// Claude with our hooks, or why not.
fn hooked(
    launch: &Launch<'_>,
    version: Option<Version>,
    paths: &Paths,
    environment: &Environment,
) -> Result<Prepared, Option<String>> {
    let arguments = claude::Arguments::read(&launch.args);
    let places = Places::new(launch.cwd, environment);
    let given = claude::judge(version, &arguments, &places, environment).map_err(|off| off.sentence())?;
    let socket = paths.hook_socket(launch.session);
    let command = hook_command(&socket).map_err(Some)?;
    let settings = claude::settings(given.version, &command);
    let merged = claude::merged(given.settings, settings).map_err(|what| {
        Some(format!("hooks are not used, because {what}; Claude's dialogs are read off the screen instead"))
    })?;
    let file = SettingsFile::write(paths, launch.session, &merged).map_err(|error| {
        Some(format!("hooks are not used, because their settings cannot be written: {error}"))
    })?;
    let args = arguments.with_settings(launch.args.clone(), file.path());
    Ok(Prepared {
        program: launch.program.to_owned(),
        args,
        typed: None,
        hooks: Hooks::On { files: Files::Claude(file), socket },
        version_warning: None,
    })
}

/// What Claude hands to `/bin/sh` for each hook.
pub(crate) fn hook_command(socket: &Path) -> Result<String, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("our own program cannot be found: {error}"))?;
    if program.to_str().is_none() || socket.to_str().is_none() {
        return Err("hooks are not used, because a path on the way is not UTF-8".to_owned());
    }
    if socket.as_os_str().len() > LONGEST_SOCKET {
        return Err(format!(
            "hooks are not used, because {} is too long for the path of a socket; set ATLASBRIDGE_HOME to a shorter one",
            socket.display()
        ));
    }
    Ok(format!("{} hook --socket {}", quoted(&program), quoted(socket)))
}

/// Whether this binary answers hooks. One that fails is shown by Claude at each event, so none is set up in vain.
pub(crate) fn can_hook() -> bool {
    Args::command().find_subcommand("hook").is_some()
}
