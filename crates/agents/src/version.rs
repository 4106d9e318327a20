//! Which version a tool is: asked of the tool itself, remembered for as long as its program file stays the same.
//!
//! Asking runs the program, so only one that a pack knows by name is asked, and only as the pack says. Nothing here
//! ever stops a tool from starting: who does not answer, or answers something else, has no version.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use atlasbridge_detect::Pack;
use serde::{Deserialize, Serialize};

use crate::question;
use crate::surroundings::{Surroundings, create_private, replace_private};

/// How long a tool may take to say its version. The slowest measured (a large script on a busy machine) took 2.4 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// A wrapper script stays the same while the program behind it is updated: so even a good answer gets old.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// One that gave no version is not asked, and waited for, at each start.
const SILENCE_KEPT: Duration = Duration::from_secs(60 * 60);
/// More programs than one person wraps; the oldest answers go first.
const MOST_KEPT: usize = 64;

/// `major.minor.patch`. What may follow (`-beta.1`) does not count: packs are proved on releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64, pub u64, pub u64);

impl Version {
    /// The first `x.y.z` in the first line that says anything.
    ///
    /// # A number elsewhere is no version
    /// Where `~/.claude.json` is cut short, Claude 1.0.128 answers `--version` with a page about that, in which numbers stand.
    fn find(printed: &str) -> Option<Self> {
        let line = printed.lines().find(|line| !line.trim().is_empty())?;
        let is_part = |char: char| char.is_ascii_digit() || char == '.';
        let words = line.split(|char: char| !is_part(char));
        words
            .map(|word| word.trim_matches('.'))
            .filter(|word| word.split('.').count() == 3)
            .find_map(Self::parse)
    }

    /// A version as packs write it: `2.1.325`, also `4.2`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        match parts?.as_slice() {
            [major, minor] => Some(Self(*major, *minor, 0)),
            [major, minor, patch] => Some(Self(*major, *minor, *patch)),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// How a version stands to those that a pack was proved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Between the oldest and the newest, these included.
    Proved,
    /// Than the oldest.
    Older { oldest: Version },
    /// Than the newest.
    Newer { newest: Version },
    /// The pack names no version that could be compared.
    NothingProved,
}

pub fn standing(version: Version, pack: &Pack) -> Standing {
    let proved = || pack.proved().iter().filter_map(|proved| Version::parse(&proved.version));
    match (proved().min(), proved().max()) {
        (Some(oldest), _) if version < oldest => Standing::Older { oldest },
        (_, Some(newest)) if version > newest => Standing::Newer { newest },
        (Some(_), Some(_)) => Standing::Proved,
        (None, _) | (_, None) => Standing::NothingProved,
    }
}

/// The versions of the pack, for people: oldest first.
pub fn proved_on(pack: &Pack) -> String {
    let mut versions: Vec<&str> = pack.proved().iter().map(|proved| proved.version.as_str()).collect();
    versions.sort_by_key(|version| Version::parse(version));
    versions.join(", ")
}

/// What is worth a word before the tool starts: that its dialogs were not proved in this version.
pub(crate) fn warning(name: &str, version: Version, pack: &Pack) -> Option<String> {
    let than = match standing(version, pack) {
        Standing::Proved | Standing::NothingProved => return None,
        Standing::Older { oldest } => format!("older than {oldest}, the oldest"),
        Standing::Newer { newest } => format!("newer than {newest}, the newest"),
    };
    let adapter = pack.name();
    Some(format!(
        "{name} is version {version}, {than} that its dialogs were proved on ({proved}); it runs all the same. If a prompt \
         is missed, see `atlasbridge adapters show {adapter}`, and keep it with ATLASBRIDGE_CAPTURE_PROMPTS=1",
        proved = proved_on(pack),
    ))
}

/// The version of the installed program, as it said itself: now, or when its file was last seen the same.
pub(crate) fn installed(program: &OsStr, pack: &Pack, surroundings: &Surroundings) -> Option<Version> {
    let args = can_be_asked(program, pack)?;
    let file = find_program(program, surroundings)?;
    let seen = Seen::of(&file)?;
    let now = now_seconds();
    let mut cache = Cache::read(&surroundings.versions).unwrap_or_default();
    if let Some(known) = cache.known(&seen, now) {
        return known;
    }
    let version = ask(&file, &args, surroundings);
    cache.keep(seen, version, now);
    // A cache that cannot be written costs time at the next start, nothing else.
    let _ = cache.write(&surroundings.versions);
    version
}

/// The same, asked anew: for `doctor`, which must not repeat what was once true.
pub fn asked_now(file: &Path, pack: &Pack, surroundings: &Surroundings) -> Option<Version> {
    ask(file, &can_be_asked(file.as_os_str(), pack)?, surroundings)
}

/// Only a program that the pack is for: `--adapter claude -- ssh host claude` must not run `ssh --version`.
fn can_be_asked(program: &OsStr, pack: &Pack) -> Option<Vec<String>> {
    pack.version_args().filter(|_| is_for(program, pack))
}

/// Whether the pack is for a program of this name.
pub(crate) fn is_for(program: &OsStr, pack: &Pack) -> bool {
    let name = Path::new(program).file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| pack.name() == name || pack.binaries().iter().any(|binary| binary == name))
}

/// The file that `execvp` would execute.
pub fn find_program(program: &OsStr, surroundings: &Surroundings) -> Option<PathBuf> {
    let path = Path::new(program);
    if program.to_string_lossy().contains('/') {
        return is_executable(path).then(|| path.to_owned());
    }
    // An empty entry is the current directory, for the C library as for us.
    let directories = std::env::split_paths(surroundings.variable("PATH")?);
    directories
        .map(|directory| match directory.as_os_str().is_empty() {
            true => Path::new(".").join(path),
            false => directory.join(path),
        })
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    let is_file = fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
    is_file && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Runs the program for its version.
fn ask(file: &Path, args: &[String], surroundings: &Surroundings) -> Option<Version> {
    let mut command = Command::new(file);
    command.args(args);
    let answer = question::ask(command, None, ANSWER_LIMIT, surroundings).ok()?;
    // Warnings of a runtime on standard error may name versions, too: it counts where nothing else was printed.
    Version::find(if answer.out.trim().is_empty() { &answer.err } else { &answer.out })
}

/// A program's file, as it was when it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// Where all links lead: an update that moves a link is another program.
    file: String,
    size: u64,
    /// In nanoseconds: two updates within a second are two.
    modified: i128,
}

impl Seen {
    fn of(program: &Path) -> Option<Self> {
        let file = fs::canonicalize(program).ok()?;
        let metadata = fs::metadata(&file).ok()?;
        let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Some(Self { size: metadata.len(), modified, file: file.to_str()?.to_owned() })
    }
}

/// `cache/versions.json`: by the path of the program.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cache(BTreeMap<String, KnownVersion>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownVersion {
    size: u64,
    modified: i128,
    version: Option<String>,
    /// Seconds since 1970.
    asked: u64,
}

impl Cache {
    /// One that cannot be read is `None`, and is made anew where it is needed; one that is not there is empty.
    pub fn read(file: &Path) -> Option<Self> {
        match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Self::default()),
            Err(_) => None,
        }
    }

    /// `Some(None)`: it was asked, and gave no version.
    #[expect(clippy::option_option, reason = "not asked, asked in vain and answered are three things")]
    fn known(&self, seen: &Seen, now: u64) -> Option<Option<Version>> {
        let entry = self.0.get(&seen.file)?;
        let version = entry.version.as_deref().and_then(Version::parse);
        let kept = if version.is_some() { KEPT } else { SILENCE_KEPT };
        // A clock that was set back makes answers of the future: they are not believed.
        let age = now.checked_sub(entry.asked)?;
        let is_same = entry.size == seen.size && entry.modified == seen.modified;
        (is_same && age < kept.as_secs()).then_some(version)
    }

    fn keep(&mut self, seen: Seen, version: Option<Version>, now: u64) {
        let entry = KnownVersion {
            size: seen.size,
            modified: seen.modified,
            version: version.map(|version| version.to_string()),
            asked: now,
        };
        self.0.insert(seen.file, entry);
        while self.0.len() > MOST_KEPT {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.asked);
            let Some(oldest) = oldest.map(|(file, _)| file.clone()) else { return };
            self.0.remove(&oldest);
        }
    }

    /// Whole or not at all: two sessions may start at once.
    fn write(&self, file: &Path) -> io::Result<()> {
        create_private(file.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        replace_private(file, &serde_json::to_vec_pretty(self)?)
    }
}

fn now_seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_find(printed: &str, expected: Option<(u64, u64, u64)>) {
        let expected = expected.map(|(major, minor, patch)| Version(major, minor, patch));
        assert_eq!(Version::find(printed), expected, "{printed:?}");
    }

    #[test]
    fn the_first_version_in_the_first_line_that_is_printed() {
        // As the real programs print it.
        check_find("2.1.325 (Claude Code)\n", Some((2, 1, 325)));
        check_find("codex-cli 0.166.0\n", Some((0, 166, 0)));
        check_find("aider 0.86.2\n", Some((0, 86, 2)));
        check_find("1.18.33\n", Some((1, 18, 33)));
        check_find("v0.61.0-nightly.20260801", Some((0, 61, 0)));
        check_find("\n  \r\ntool 1.2.3\n", Some((1, 2, 3)));
        check_find("tool version 1.2\nbuilt with 3.4.5", None);
        // Claude 1.0.128 with a file of its own that was cut short.
        let page = "╭────╮\n│ Configuration Error │\n│ The configuration file at /h/1.0.3/.claude.json │\n";
        check_find(page, None);
        check_find("Configuration Error\n\nThe file at /opt/2.0.77/.claude.json\n", None);
        check_find("", None);
        check_find("listening on 127.0.0.1", None);
        check_find("This is version 1.2.3.", Some((1, 2, 3)));
        check_find("1.2", None);
        check_find("1..2 .1.2 ...", None);
        check_find("99999999999999999999.0.0", None);
        check_find("done on 2026.11.15, version 2.0.1", Some((2026, 11, 15)));
    }

    fn pack(versions: &[&str]) -> Pack {
        let proved: String = versions
            .iter()
            .map(|version| format!("[[proved]]\nversion = {version:?}\nrecordings = []\n"))
            .collect();
        let text = format!("[tool]\nname = \"tool\"\nbinaries = [\"tool\"]\nagent = true\n{proved}");
        Pack::parse(&text, Path::new("tool.toml")).unwrap()
    }

    #[track_caller]
    fn check_standing(version: &str, proved: &[&str], expected: Standing) {
        let version = Version::parse(version).unwrap();
        let pack = pack(proved);
        assert_eq!(standing(version, &pack), expected);
        let is_told = matches!(expected, Standing::Older { .. } | Standing::Newer { .. });
        assert_eq!(warning("tool", version, &pack).is_some(), is_told);
    }

    #[test]
    fn versions_compare_by_number_and_ends_are_inside() {
        let proved = ["2.1.325", "2.0.77", "1.0.128"];
        for inside in ["1.0.128", "2.0.9", "2.1.40", "2.1.325"] {
            check_standing(inside, &proved, Standing::Proved);
        }
        let oldest = Version(1, 0, 128);
        let newest = Version(2, 1, 325);
        check_standing("1.0.99", &proved, Standing::Older { oldest });
        check_standing("0.9.999", &proved, Standing::Older { oldest });
        check_standing("2.1.326", &proved, Standing::Newer { newest });
        check_standing("2.10.0", &proved, Standing::Newer { newest });
        check_standing("1.2.3", &[], Standing::NothingProved);
        check_standing("1.2.3", &["unreleased"], Standing::NothingProved);
        let newest = Version(4, 2, 0);
        check_standing("4.2.1", &["4.2"], Standing::Newer { newest });
    }

    #[test]
    fn the_warning_says_what_was_proved_and_what_to_do() {
        let said = warning("tool", Version(3, 0, 0), &pack(&["2.10.0", "2.9.0"])).unwrap();
        for word in [
            "3.0.0",
            "2.9.0, 2.10.0",
            "runs all the same",
            "atlasbridge adapters show tool",
            "ATLASBRIDGE_CAPTURE_PROMPTS=1",
        ] {
            assert!(said.contains(word), "{word} in {said}");
        }
    }

    #[test]
    fn only_a_program_that_the_pack_is_for_is_asked() {
        let pack = pack(&[]);
        let asked = |program: &str| can_be_asked(OsStr::new(program), &pack).is_some();
        assert!(asked("tool") && asked("/opt/bin/tool"));
        assert!(!asked("ssh") && !asked("/opt/tool/run") && !asked("/"));
    }

    #[track_caller]
    fn check_known(entry: (u64, i128, Option<&str>), age: i64, expected: Option<Option<Version>>) {
        let now = 1_000_000_000;
        let seen = Seen { file: "/opt/tool".to_owned(), size: 7, modified: 8 };
        let (size, modified, version) = entry;
        let mut cache = Cache::default();
        let entry = KnownVersion {
            size,
            modified,
            version: version.map(str::to_owned),
            asked: (now as i64 - age) as u64,
        };
        cache.0.insert(seen.file.clone(), entry);
        assert_eq!(cache.known(&seen, now), expected);
    }

    #[test]
    fn an_answer_holds_while_the_file_is_the_same_and_the_answer_is_young() {
        let version = Some(Version(1, 2, 3));
        let week = 7 * 24 * 60 * 60;
        check_known((7, 8, Some("1.2.3")), 5, Some(version));
        check_known((7, 8, Some("1.2.3")), week - 1, Some(version));
        check_known((7, 8, Some("1.2.3")), week, None);
        check_known((7, 8, Some("1.2.3")), -5, None);
        check_known((6, 8, Some("1.2.3")), 5, None);
        check_known((7, 9, Some("1.2.3")), 5, None);
        check_known((7, 8, None), 60, Some(None));
        check_known((7, 8, None), 60 * 60, None);
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let mut cache = Cache::default();
        for number in 0..MOST_KEPT as u64 + 3 {
            let seen = Seen { file: format!("/opt/{number}"), size: 0, modified: 0 };
            cache.keep(seen, None, number);
        }
        assert_eq!(cache.0.len(), MOST_KEPT);
        assert!(!cache.0.contains_key("/opt/2") && cache.0.contains_key("/opt/3"));
    }
}
