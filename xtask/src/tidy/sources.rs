//! What our Rust files look like, and where dangerous words may stand.

use super::Findings;
use super::code::{code_only, lines_with_word};
use super::files::Files;

/// A file longer than this has more than one subject.
const MOST_LINES: usize = 700;

const PRINTING: [&str; 4] = ["println!", "eprintln!", "print!", "eprint!"];

pub(crate) fn check(files: &Files) -> Findings {
    let mut findings = Findings::default();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
        check_opening(path, text, &mut findings);
        check_length(path, text, &mut findings);
        check_words(path, &code_only(text), &mut findings);
    }
    findings
}

fn check_opening(path: &str, text: &str, findings: &mut Findings) {
    let is_module = path.split('/').any(|part| part == "src") && !is_test(path);
    if is_module && !text.starts_with("//!") {
        findings.problem(format!("{path}:1"), "does not open with `//!`: say what this room is for");
    }
}

fn check_length(path: &str, text: &str, findings: &mut Findings) {
    let lines = text.lines().count();
    if lines > MOST_LINES && !is_test(path) {
        findings.warn(path, format!("has {lines} lines; over {MOST_LINES} it has more than one subject"));
    }
}

fn check_words(path: &str, code: &str, findings: &mut Findings) {
    if !path.starts_with("crates/pty/") {
        for line in lines_with_word(code, "unsafe") {
            findings.problem(format!("{path}:{line}"), "`unsafe` belongs to crates/pty alone");
        }
    }
    if may_print(path) {
        return;
    }
    for word in PRINTING {
        for line in lines_with_word(code, word) {
            let what = format!(
                "`{word}` belongs to crates/cli/src/output.rs: a stray line lands in the tool's screen"
            );
            findings.problem(format!("{path}:{line}"), what);
        }
    }
}

fn may_print(path: &str) -> bool {
    path == "crates/cli/src/output.rs"
        || path.starts_with("xtask/")
        || path.starts_with("testkit/")
        || path.ends_with("/build.rs")
        || path.split('/').any(|part| part == "examples" || part == "benches")
        || is_test(path)
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(check(&Files::fake(&[(path, text)])).problems, expected);
    }

    #[test]
    fn files_open_with_their_purpose() {
        check_file("crates/hub/src/lib.rs", "//! The hub.", &[]);
        check_file("crates/hub/tests/e2e.rs", "fn main() {}", &[]);
        check_file("crates/hub/src/hub/tests.rs", "fn main() {}", &[]);
        check_file(
            "crates/hub/src/lib.rs",
            "use a;",
            &["crates/hub/src/lib.rs:1: does not open with `//!`: say what this room is for"],
        );
    }

    #[test]
    fn words_have_their_place() {
        let line = "//! A.\nfn a() { unsafe { b() } }";
        check_file("crates/pty/src/lib.rs", line, &[]);
        check_file(
            "crates/hub/src/lib.rs",
            line,
            &["crates/hub/src/lib.rs:2: `unsafe` belongs to crates/pty alone"],
        );
        let line = "//! A.\nfn a() { eprintln!() }";
        check_file("crates/cli/src/output.rs", line, &[]);
        check_file("crates/cli/examples/a.rs", line, &[]);
        check_file(
            "crates/cli/src/config.rs",
            line,
            &[
                "crates/cli/src/config.rs:2: `eprintln!` belongs to crates/cli/src/output.rs: a stray line lands in the \
             tool's screen",
            ],
        );
    }
}
