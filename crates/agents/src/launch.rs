//! What is done for a tool that is known, before it starts: its version asked, its hooks set up, or a bridge to its server.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use atlasbridge_detect::Pack;
use atlasbridge_model::SessionId;

use crate::claude::{self, SettingsFile};
use crate::codex::{self, ServerPlace};
use crate::surroundings::{Surroundings, quoted, unusable};
use crate::version::{self, Version};

/// A tool that is about to be started.
#[derive(Debug)]
pub struct Launch<'a> {
    pub program: &'a OsStr,
    pub args: Vec<OsString>,
    pub pack: Option<&'a Pack>,
    pub session: SessionId,
    pub ways: Ways,
}

/// What of a tool may be used beside its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// Nothing: `--no-hooks`.
    Screen,
    /// Its hooks, where it has them.
    Hooks,
    /// Also what changes how it is started: `--structured`.
    Structured,
}

/// How it is started instead.
#[derive(Debug)]
pub struct Prepared {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// What the person typed, where another program is started in its place.
    pub typed: Option<Vec<OsString>>,
    /// Whether the tool tells us itself what it is about to do.
    pub hooks: Option<Hooks>,
    /// What a person should know before the tool has the terminal: that the dialogs of this version were not proved, and
    /// why its hooks are not used where they might have expected otherwise.
    pub notices: Vec<String>,
}

/// Gone with this value: to be kept until the tool has ended.
#[derive(Debug)]
pub struct Hooks {
    /// Where they will call, and the session host is to listen.
    pub socket: PathBuf,
    /// What Claude or Codex got for this session, kept and nothing else.
    _files: Box<dyn Debug>,
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // The session host that listened there has removed it, as a rule.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Why a tool is started as it was typed; nothing where no person expected otherwise.
type Plainly = Option<String>;

pub fn prepare(launch: Launch<'_>, surroundings: &Surroundings) -> Prepared {
    let Some(pack) = launch.pack else {
        let why = no_structured_way(&launch);
        return plain(launch, why.into_iter().collect());
    };
    let version = version::installed(launch.program, pack, surroundings);
    let name = Path::new(launch.program).file_name().unwrap_or(launch.program);
    let warning = version.and_then(|version| version::warning(&name.to_string_lossy(), version, pack));
    let notices = |why: Plainly| warning.into_iter().chain(why).collect();
    if launch.ways == Ways::Screen {
        return plain(launch, notices(None));
    }
    let is_it = |name: &str| pack.name() == name && version::is_for(launch.program, pack);
    let prepared = if is_it(claude::NAME) {
        let told = |why| {
            format!("hooks are not used, because {why}; Claude's dialogs are read off the screen instead")
        };
        hooked(&launch, version, surroundings).map_err(|why| why.map(told))
    } else if is_it(codex::NAME) && launch.ways == Ways::Structured {
        let told = |why| {
            format!(
                "codex is started without an app-server, because {why}; its dialogs are read off the screen instead"
            )
        };
        bridged(&launch, version, surroundings).map_err(|why| why.map(told))
    } else {
        Err(no_structured_way(&launch))
    };
    match prepared {
        Ok(prepared) => Prepared { notices: notices(None), ..prepared },
        Err(why) => plain(launch, notices(why)),
    }
}

/// As it was typed.
fn plain(launch: Launch<'_>, notices: Vec<String>) -> Prepared {
    Prepared { program: launch.program.to_owned(), args: launch.args, typed: None, hooks: None, notices }
}

fn no_structured_way(launch: &Launch<'_>) -> Plainly {
    let asked_for = launch.ways == Ways::Structured;
    asked_for.then(|| {
        let name = launch.program.to_string_lossy();
        format!("--structured changes nothing for {name}: its dialogs are read off the screen")
    })
}

/// Codex with an app-server of its own and our bridge beside it, or why not.
fn bridged(
    launch: &Launch<'_>,
    version: Option<Version>,
    surroundings: &Surroundings,
) -> Result<Prepared, Plainly> {
    codex::judge(version, &launch.args)?;
    let socket = surroundings.hook_socket(launch.session);
    let server = surroundings.tool_server(launch.session);
    let own = own_program()?;
    if let Some(why) = unusable(&server) {
        return Err(Some(why));
    }
    let place = ServerPlace::make(&server)
        .map_err(|error| format!("{} cannot be made: {error}", server.display()))?;
    let typed: Vec<OsString> =
        std::iter::once(launch.program.to_owned()).chain(launch.args.iter().cloned()).collect();
    let (front, hooks, listen) = ("codex-front".as_ref(), "--hooks".as_ref(), "--server".as_ref());
    let ours = [front, hooks, socket.as_os_str(), listen, server.as_os_str(), "--".as_ref()];
    Ok(Prepared {
        program: own.into(),
        args: ours.map(OsStr::to_owned).into_iter().chain(typed.iter().cloned()).collect(),
        typed: Some(typed),
        hooks: Some(Hooks { socket, _files: Box::new(place) }),
        notices: Vec::new(),
    })
}

/// Claude with our hooks, or why not.
fn hooked(
    launch: &Launch<'_>,
    version: Option<Version>,
    surroundings: &Surroundings,
) -> Result<Prepared, Plainly> {
    let arguments = claude::Arguments::read(&launch.args);
    let given = claude::judge(version, &arguments, surroundings).map_err(|off| off.reason())?;
    let socket = surroundings.hook_socket(launch.session);
    let settings = claude::settings(given.version, &hook_command(&socket)?);
    let merged = claude::merged(given.settings, settings)?;
    let file = SettingsFile::write(surroundings.hook_settings(launch.session), &merged)
        .map_err(|error| format!("their settings cannot be written: {error}"))?;
    Ok(Prepared {
        program: launch.program.to_owned(),
        args: arguments.with_settings(launch.args.clone(), file.path()),
        typed: None,
        hooks: Some(Hooks { socket, _files: Box::new(file) }),
        notices: Vec::new(),
    })
}

/// What Claude hands to `/bin/sh` for each hook, or why it cannot.
pub fn hook_command(socket: &Path) -> Result<String, String> {
    let program = own_program()?;
    match unusable(socket) {
        Some(why) => Err(why),
        None if program.to_str().is_none() => Err(format!("{} is not UTF-8", program.display())),
        None => Ok(format!("{} hook --socket {}", quoted(&program), quoted(socket))),
    }
}

fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("our own program cannot be found: {error}"))
}
