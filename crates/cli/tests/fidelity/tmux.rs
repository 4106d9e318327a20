//! A terminal that is somebody else's program: tmux, with a server of the test's own.

use std::process::Command;
use std::time::Instant;

use atlasbridge_testkit::{Home, LIMIT, eventually};

use crate::scene::{program, quoted};

/// One server, gone with the value. Its panes are named by who is in them.
pub(crate) struct Tmux<'a> {
    home: &'a Home,
    tmux: String,
}

/// What can be seen of a pane, and the modes of its terminal.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    /// With colours and attributes.
    pub(crate) screen: String,
    modes: String,
}

const MODES: &str = "cursor #{cursor_x},#{cursor_y} visible=#{cursor_flag} alternate=#{alternate_on} insert=#{insert_flag} \
                     keypad=#{keypad_flag},#{keypad_cursor_flag} mouse=#{mouse_any_flag} wrap=#{wrap_flag} \
                     origin=#{origin_flag} region=#{scroll_region_upper}-#{scroll_region_lower} size=#{pane_width}x#{pane_height}";

impl<'a> Tmux<'a> {
    pub(crate) fn new(home: &'a Home) -> Self {
        Self { home, tmux: program("tmux") }
    }

    /// A pane of 100×30 in which the shell command runs.
    pub(crate) fn start(&self, pane: &str, command: &str) {
        self.tell(&["new-session", "-d", "-x", "100", "-y", "30", "-s", pane, command]);
    }

    /// An interactive bash without a history, whose prompt is `$ `. `$W` stands before the tool: nothing, or us.
    pub(crate) fn start_shell(&self, pane: &str, w: &str) {
        let command = format!(
            "exec env PS1='$ ' W={} HISTFILE= HOME={} {} --norc --noprofile",
            quoted(w),
            quoted(&self.home.scratch().display().to_string()),
            program("bash"),
        );
        self.start(pane, &command);
        self.wait(pane, "the shell's prompt", |picture| picture.screen.contains('$'));
    }

    /// What stands before a tool to run it through us.
    pub(crate) fn wrapper(&self) -> String {
        format!("{} run --quiet --", self.home.binary().display())
    }

    /// Keys by tmux's names: `Enter`, `C-c`, `Up`.
    #[track_caller]
    pub(crate) fn press(&self, pane: &str, keys: &[&str]) {
        self.tell(&[&["send-keys", "-t", pane], keys].concat());
    }

    #[track_caller]
    pub(crate) fn type_text(&self, pane: &str, text: &str) {
        self.tell(&["send-keys", "-t", pane, "-l", text]);
    }

    /// Types a line and Enter.
    #[track_caller]
    pub(crate) fn enter(&self, pane: &str, line: &str) {
        self.type_text(pane, line);
        self.press(pane, &["Enter"]);
    }

    #[track_caller]
    pub(crate) fn resize(&self, pane: &str, cols: u16, rows: u16) {
        self.tell(&["resize-window", "-t", pane, "-x", &cols.to_string(), "-y", &rows.to_string()]);
    }

    #[track_caller]
    pub(crate) fn picture(&self, pane: &str) -> Picture {
        Picture {
            screen: self.tell(&["capture-pane", "-e", "-p", "-t", pane]),
            modes: self.tell(&["display-message", "-p", "-t", pane, MODES]),
        }
    }

    /// What is on the screen, as plain text.
    pub(crate) fn text(&self, pane: &str) -> String {
        self.tell(&["capture-pane", "-p", "-t", pane])
    }

    #[track_caller]
    pub(crate) fn wait(&self, pane: &str, what: &str, shows: impl Fn(&Picture) -> bool) -> Picture {
        let mut last = None;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                let picture = self.picture(pane);
                last = Some(picture.clone());
                shows(&picture).then_some(picture)
            })
        }));
        found.unwrap_or_else(|_| panic!("{pane}: {what} was waited for in vain:\n{last:?}"))
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, pane: &str, text: &str) {
        self.wait(pane, text, |picture| picture.screen.contains(text));
    }

    /// The process that the pane was started with.
    pub(crate) fn pid(&self, pane: &str) -> i32 {
        self.tell(&["display-message", "-p", "-t", pane, "#{pane_pid}"]).trim().parse().unwrap()
    }

    /// The settings of the pane's terminal, as `stty -a` prints them.
    pub(crate) fn settings(&self, pane: &str) -> String {
        let tty = self.tell(&["display-message", "-p", "-t", pane, "#{pane_tty}"]);
        let stty = Command::new("stty").args(["-a", "-F", tty.trim()]).output().unwrap();
        String::from_utf8_lossy(&stty.stdout).into_owned()
    }

    /// Waits until the terminal is set as it was.
    #[track_caller]
    pub(crate) fn wait_for_settings(&self, pane: &str, expected: &str) {
        let deadline = Instant::now() + LIMIT;
        while self.settings(pane) != expected {
            let found = self.settings(pane);
            assert!(
                Instant::now() < deadline,
                "set as\n{found}and not as\n{expected}{:?}",
                self.picture(pane)
            );
        }
    }

    #[track_caller]
    fn tell(&self, words: &[&str]) -> String {
        let output = self.command().args(words).output().unwrap();
        assert!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.tmux);
        // Nothing below the window takes a line of it.
        let quiet = ["set", "-g", "status", "off", ";"];
        command.env_clear().envs(self.home.environment());
        command.env_remove("TMUX").env("TMUX_TMPDIR", self.home.scratch()).env("LC_ALL", "C.UTF-8");
        command.args(["-L", "fidelity", "-f", "/dev/null", "start-server", ";"]).args(quiet);
        command
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.modes.trim())?;
        for line in self.screen.trim_end().lines() {
            writeln!(f, "│{}", line.escape_debug())?;
        }
        Ok(())
    }
}
