//! Two panes, the same keys, the same picture at every step: colours, attributes, cursor and terminal modes included.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use atlasbridge_testkit::{Home, eventually};

use crate::scene::{home, program, quoted};
use crate::tmux::{Picture, Tmux};

const DIRECT: &str = "direct";
const WRAPPED: &str = "wrapped";

struct Pair<'a> {
    tmux: Tmux<'a>,
}

impl<'a> Pair<'a> {
    /// A line before, the tool, its exit code after it.
    fn start(home: &'a Home, tool: &str) -> Self {
        let tmux = Tmux::new(home);
        let wrapper = tmux.wrapper();
        for (pane, before) in [(DIRECT, ""), (WRAPPED, wrapper.as_str())] {
            let script = format!("trap : INT; echo before; {before} {tool}; echo after $?; exec sleep 1000");
            let place = quoted(&home.scratch().display().to_string());
            tmux.start(pane, &format!("cd {place}; HOME={place} exec sh -c {}", quoted(&script)));
        }
        Self { tmux }
    }

    /// A shell each, in which `$W tool` is the tool.
    fn shells(home: &'a Home) -> Self {
        let tmux = Tmux::new(home);
        tmux.start_shell(DIRECT, "");
        tmux.start_shell(WRAPPED, &tmux.wrapper());
        Self { tmux }
    }

    fn both(&self, act: impl Fn(&str)) {
        for pane in [DIRECT, WRAPPED] {
            act(pane);
        }
    }

    fn press(&self, keys: &[&str]) {
        self.both(|pane| self.tmux.press(pane, keys));
    }

    fn type_text(&self, text: &str) {
        self.both(|pane| self.tmux.type_text(pane, text));
    }

    fn enter(&self, line: &str) {
        self.both(|pane| self.tmux.enter(pane, line));
    }

    fn resize(&self, cols: u16, rows: u16) {
        self.both(|pane| self.tmux.resize(pane, cols, rows));
    }

    /// Both show the text, and look alike.
    #[track_caller]
    fn same(&self, text: &str) {
        self.same_part(text, Picture::clone);
    }

    /// Both show the text, and what `part` takes of the pictures is alike.
    #[track_caller]
    fn same_part<T: PartialEq + std::fmt::Debug>(&self, text: &str, part: impl Fn(&Picture) -> T) {
        let mut last = None;
        let agree = catch_unwind(AssertUnwindSafe(|| {
            eventually("two panes look alike", || {
                let (direct, wrapped) = (self.tmux.picture(DIRECT), self.tmux.picture(WRAPPED));
                let (one, other) = (part(&direct), part(&wrapped));
                let agree = one == other && direct.screen.contains(text);
                last = Some((one, other));
                agree.then_some(())
            });
        }));
        if agree.is_err() {
            let (direct, wrapped) = last.expect("it was looked at once");
            panic!(
                "{text:?} with both panes alike was waited for in vain.\ndirect: {direct:?}\nwrapped: {wrapped:?}"
            );
        }
    }
}

#[test]
fn a_shell() {
    let home = home();
    let bash = program("bash");
    let pair = Pair::start(&home, &format!("env PS1=\"\\$ \" HISTFILE= {bash} --norc --noprofile"));
    pair.same("before\n$");
    pair.enter("echo hello");
    pair.same("hello\n$");
    pair.enter(r"printf '\e[31mred \e[1;4;44mloud\e[0m plain \u00e9\u4e2d\U1F600\n'");
    pair.same("red");
    // The terminal is the same one as far as a program can ask.
    pair.enter("stty size; tput cols; tput lines; tput colors; echo $TERM $LINES $COLUMNS");
    pair.same("30 100\n100\n30\n");
    pair.enter("stty -a");
    pair.same("speed 38400 baud; rows 30; columns 100;");
    pair.enter(
        "tty | tr -d 0-9; tty -s < /dev/tty && echo has one; test -t 0 -a -t 1 -a -t 2 && echo all three",
    );
    pair.same("/dev/pts/\nhas one\nall three\n");
    pair.press(&["C-l"]);
    pair.type_text(&"a line that is longer than the terminal is wide ".repeat(3));
    pair.same("is wide a line");
    pair.resize(63, 20);
    pair.same("is wide");
    pair.press(&["C-a"]);
    pair.type_text("echo ");
    pair.press(&["Enter"]);
    pair.same("echo a line");
    pair.press(&["C-l"]);
    pair.enter("stty size");
    pair.same("20 63");
    pair.press(&["Up"]);
    pair.same("$ stty size");
    // Typed sooner, the next line would be added to the interrupted one: bash does so without us, too.
    pair.press(&["C-c"]);
    pair.same("^C\n$");
    pair.enter("read -s -p 'secret: ' secret");
    pair.same("\nsecret:");
    pair.enter("hunter2");
    pair.same("secret: $");
    pair.enter("echo ${#secret}");
    pair.same("\n7\n");
    pair.enter("exit 3");
    pair.same("after 3");
}

#[test]
fn vim() {
    let home = home();
    let file = home.scratch().join("poem.txt");
    fs::write(&file, "one\ntwo\tand a half\nthree\n".repeat(40)).unwrap();
    let pair = Pair::start(&home, &format!("{} -u NONE -i NONE -N -n poem.txt", program("vim")));
    pair.same("and a half");
    pair.type_text(":set number hlsearch laststatus=2 mouse=a");
    pair.press(&["Enter"]);
    pair.same("  1 ");
    pair.type_text("/three");
    pair.press(&["Enter"]);
    pair.same("three");
    pair.press(&["O"]);
    pair.type_text("a new line, \u{e9}\u{4e2d}");
    pair.press(&["Escape"]);
    pair.same("a new line");
    pair.press(&["V", "j", "j"]);
    pair.same("VISUAL LINE");
    pair.press(&["Escape"]);
    pair.type_text(":split");
    pair.press(&["Enter", "G"]);
    pair.same("121");
    pair.resize(71, 23);
    pair.same("121");
    pair.resize(120, 40);
    pair.same("121");
    pair.press(&["C-l"]);
    pair.same("121");
    pair.type_text(":qa!");
    pair.press(&["Enter"]);
    // The alternate screen has left nothing behind.
    pair.same("before\nafter 0");
}

#[test]
fn less() {
    let home = home();
    let lines: String =
        (1..=500).map(|n| format!("line {n} \u{1b}[3{}mcoloured\u{1b}[0m end\n", n % 8)).collect();
    fs::write(home.scratch().join("long.txt"), lines).unwrap();
    let pair = Pair::start(&home, &format!("env LESS= LESSHISTFILE=- {} -R long.txt", program("less")));
    pair.same("line 29 ");
    pair.press(&["Space"]);
    pair.same("line 58 ");
    pair.press(&["G"]);
    pair.same("line 500 ");
    pair.resize(50, 15);
    pair.same("line 485 ");
    pair.type_text("?line 77 ");
    pair.press(&["Enter"]);
    pair.same("line 77 ");
    pair.press(&["k", "k"]);
    pair.same("line 75 ");
    pair.press(&["q"]);
    pair.same("before\nafter 0");
}

/// What top shows changes by itself; its screens of help and of fields do not, nor does the line above its table.
#[test]
fn top() {
    let home = home();
    let pair = Pair::start(&home, &format!("{} -d 900 -p 1", program("top")));
    let heading = |picture: &Picture| {
        picture
            .screen
            .lines()
            .position(|line| line.contains("COMMAND"))
            .map(|at| (at, picture.screen.lines().nth(at).map(str::to_owned)))
    };
    pair.same_part("COMMAND", heading);
    pair.press(&["h"]);
    pair.same("Help for Interactive Commands");
    pair.press(&["Escape"]);
    pair.same_part("COMMAND", heading);
    pair.press(&["f"]);
    pair.same("Fields Management");
    pair.resize(80, 24);
    pair.same("Fields Management");
    pair.press(&["q"]);
    pair.same_part("COMMAND", heading);
    pair.press(&["q"]);
    pair.same_part("after 0", |picture| picture.screen.contains("after 0"));
}

#[test]
fn a_python_repl() {
    let home = home();
    let pair = Pair::start(&home, &format!("{} -q", python_command()));
    pair.same("\n>>>");
    pair.enter("1 + 1");
    pair.same("\n2\n>>>");
    pair.enter("def double(x):");
    pair.same("\n...");
    pair.enter("    return 2 * x");
    pair.same("...     return 2 * x\n...");
    pair.press(&["Enter"]);
    pair.same("...\n>>>");
    pair.enter("double(input('how much? '))");
    pair.same("how much?");
    pair.enter("ab");
    pair.same("'abab'");
    pair.press(&["Up", "Up"]);
    pair.same(">>> d");
    pair.press(&["C-c"]);
    pair.same("KeyboardInterrupt\n>>>");
    pair.resize(60, 18);
    pair.enter("import os; os.get_terminal_size()");
    pair.same("columns=60, lines=18");
    pair.press(&["C-d"]);
    pair.same("after 0");
}

fn python_command() -> String {
    format!("env PYTHONSTARTUP= {}", crate::scene::python())
}

/// A shell's job control with the tool as the job: what the shell says, and what is on the screen afterwards.
#[test]
fn a_suspended_tool_is_a_job_of_the_shell() {
    let home = home();
    let pair = Pair::shells(&home);
    pair.enter("$W sh -c 'echo up; exec cat'");
    pair.same("\nup\n");
    pair.enter("hello");
    pair.same("hello\nhello\n");
    pair.press(&["C-z"]);
    pair.same("[1]+  Stopped  ");
    pair.enter("jobs");
    pair.same("$ jobs\n[1]+  Stopped  ");
    pair.enter("stty -a | grep -o '.icanon.*'");
    pair.same("icanon");
    pair.enter("fg");
    pair.same("$ fg\n$W sh -c 'echo up; exec cat'\n");
    pair.enter("again");
    pair.same("again\nagain\n");
    pair.press(&["C-z"]);
    pair.same("again\nagain\n^Z\n[1]+  Stopped  ");
    pair.enter("bg");
    // It reads, and may not: the shell says so at the next prompt.
    pair.press(&["Enter"]);
    eventually("both shells know that the job has stopped again", || {
        pair.press(&["Enter"]);
        let stopped = |pane: &str| pair.tmux.text(pane).matches("Stopped").count() >= 4;
        (stopped(DIRECT) && stopped(WRAPPED)).then_some(())
    });
    pair.press(&["C-l"]);
    pair.enter("fg");
    pair.same("$ fg\n$W sh -c");
    pair.enter("third");
    pair.same("third\nthird\n");
    pair.press(&["C-d"]);
    pair.same("third\n$");
    pair.enter("echo code $?");
    pair.same("code 0");
}

#[test]
fn vim_suspended_and_resumed_has_its_screen_again() {
    let home = home();
    fs::write(home.scratch().join("poem.txt"), "one\ntwo\nthree\n").unwrap();
    let pair = Pair::shells(&home);
    pair.enter(&format!("cd; $W {} -u NONE -i NONE -N -n poem.txt", program("vim")));
    pair.same("three");
    pair.type_text("Ofour");
    pair.press(&["Escape"]);
    pair.same("four");
    pair.press(&["C-z"]);
    pair.same("[1]+  Stopped  ");
    pair.resize(80, 24);
    pair.enter("fg");
    pair.same("four\none");
    pair.type_text(":q!");
    pair.press(&["Enter"]);
    pair.same("poem.txt\n$");
    pair.enter("echo code $?");
    pair.same("code 0");
}

/// A job in the background neither waits for the terminal nor takes it.
#[test]
fn a_background_job_goes_on_and_can_be_fetched() {
    let home = home();
    let go = home.scratch().join("go");
    let pair = Pair::shells(&home);
    pair.enter(&format!("$W sh -c 'while [ ! -e {} ]; do sleep 0.05; done; echo done' &", go.display()));
    // The number is the job's own.
    let without_pid = |pane: &str| pair.tmux.text(pane).contains("[1] ");
    eventually("both jobs run", || (without_pid(DIRECT) && without_pid(WRAPPED)).then_some(()));
    pair.enter("clear; echo the shell is free");
    pair.same("the shell is free\n$");
    fs::write(&go, "").unwrap();
    eventually("both jobs have said their word", || {
        let done = |pane: &str| pair.tmux.text(pane).contains("done");
        (done(DIRECT) && done(WRAPPED)).then_some(())
    });
    pair.enter("clear; wait; clear");
    pair.same("$");

    pair.enter("$W cat & clear");
    eventually("both jobs are stopped for want of a terminal", || {
        pair.enter("clear; jobs");
        let stopped = |pane: &str| pair.tmux.text(pane).contains("Stopped");
        (stopped(DIRECT) && stopped(WRAPPED)).then_some(())
    });
    pair.enter("clear; fg");
    pair.same("$W cat\n");
    pair.enter("fetched");
    pair.same("fetched\nfetched\n");
    pair.press(&["C-d"]);
    pair.same("fetched\n$");
    pair.enter("echo code $?");
    pair.same("code 0");
}

/// A pager needs the keyboard that the tool before it does not.
#[test]
fn a_pager_behind_the_tool_gets_the_keys() {
    let home = home();
    let pair = Pair::shells(&home);
    pair.enter(&format!("$W seq 1 300 | env LESS= {}", program("less")));
    pair.same("\n29\n");
    pair.press(&["Space"]);
    pair.same("\n58\n");
    pair.press(&["G"]);
    pair.same("\n300\n");
    pair.press(&["q"]);
    pair.same("less\n$");
    pair.enter("echo code ${PIPESTATUS[0]}; stty -a");
    pair.same("code 0");
}

/// The tool's own shell has job control of its own.
#[test]
fn job_control_within_the_tool() {
    let home = home();
    let bash = program("bash");
    let pair = Pair::shells(&home);
    pair.enter(&format!("$W env PS1='inner ' HISTFILE= {bash} --norc --noprofile"));
    pair.same("\ninner");
    pair.enter("sh -c 'echo started; exec cat'");
    pair.same("\nstarted\n");
    pair.enter("in cat");
    pair.same("in cat\nin cat\n");
    pair.press(&["C-z"]);
    pair.same("[1]+  Stopped  ");
    pair.enter("fg");
    pair.same("inner fg\nsh -c");
    pair.enter("back");
    pair.same("back\nback\n");
    pair.press(&["C-c"]);
    pair.same("^C\ninner");
    pair.enter("echo inner code $?");
    pair.same("inner code 130");
    pair.enter("sleep 1000 & kill %1; wait; clear");
    pair.same("inner");
    pair.enter("exit 5");
    pair.same("exit\n$");
    pair.enter("echo outer code $?");
    pair.same("outer code 5");
}
