//! The pages that must be there, the links between them, and the paths that must not be in them.

use super::Findings;
use super::files::Files;

const REQUIRED: [&str; 13] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs/wire.md",
    "docs/audit.md",
    "docs/config.md",
    "docs/lab.md",
    "docs/detection.md",
    "docs/style.md",
];

/// Recordings show what a tool wrote on the machine where it ran.
const RECORDINGS: &str = "crates/detect/tests/recordings/";

/// The person who lives in our examples.
const MADE_UP: &str = "dev";

pub(crate) fn check(files: &Files) -> Findings {
    let mut findings = Findings::default();
    for page in REQUIRED.iter().filter(|page| !files.exists(page)) {
        findings.problem(*page, "is missing");
    }
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".md")) {
        check_links(files, path, text, &mut findings);
    }
    for (path, text) in files.iter().filter(|(path, _)| !path.starts_with(RECORDINGS)) {
        check_machine_paths(path, text, &mut findings);
    }
    findings
}

fn check_links(files: &Files, page: &str, text: &str, findings: &mut Findings) {
    for (index, line) in prose(text).lines().enumerate() {
        for target in link_targets(line) {
            let leads = resolve(page, target).is_none_or(|path| files.exists(&path));
            if !leads {
                findings.problem(
                    format!("{page}:{}", index + 1),
                    format!("the link to `{target}` leads nowhere"),
                );
            }
        }
    }
}

/// The page without its code, where brackets are not links. Lines stay where they are.
fn prose(text: &str) -> String {
    let mut is_fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            // Every second part between backticks is code.
            prose.extend(line.split('`').step_by(2));
        }
        prose.push('\n');
    }
    prose
}

/// `[text](target)`, `[text](target "title")` and `[label]: target`.
fn link_targets(line: &str) -> Vec<&str> {
    let first_word = |rest: &str| rest.split([')', ' ']).next().map(str::len);
    let mut targets: Vec<&str> = line
        .match_indices("](")
        .map(|(start, found)| &line[start + found.len()..])
        .filter_map(|rest| rest.get(..first_word(rest)?))
        .collect();
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        targets.push(target.trim());
    }
    targets
}

/// The path from the root that a relative link means; `None` for links that lead out of the repository or to a place
/// on the same page. One that climbs above the root keeps its dots and exists nowhere.
fn resolve(page: &str, target: &str) -> Option<String> {
    let target = target.trim_matches(['<', '>']);
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = match path.starts_with('/') {
        true => Vec::new(),
        false => page.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

/// Paths of the machine where somebody worked: they mean nothing elsewhere and tell who it was.
fn check_machine_paths(file: &str, text: &str, findings: &mut Findings) {
    for (index, line) in text.lines().enumerate() {
        if let Some(path) = machine_path(line) {
            let what =
                format!("`{path}` is a path of somebody's machine; the made-up home is /home/{MADE_UP}");
            findings.problem(format!("{file}:{}", index + 1), what);
        }
    }
}

fn machine_path(line: &str) -> Option<String> {
    // Built from parts, so that this file does not find itself.
    let whole = ["work", "root"].map(|name| format!("/{name}/"));
    let begins =
        |start: usize| !line[..start].ends_with(|c: char| c.is_alphanumeric() || "_-.~/}*".contains(c));
    for path in whole {
        if line.match_indices(&path).any(|(start, _)| begins(start)) {
            return Some(path);
        }
    }
    let home = "/home/";
    let names = line.match_indices(home).filter(|(start, _)| begins(*start)).filter_map(|(start, _)| {
        let (name, _) = line[start + home.len()..].split_once('/')?;
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        (is_name && name != MADE_UP).then(|| format!("{home}{name}/"))
    });
    names.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        let check_page = |text: &str| {
            let files = Files::fake(&[("docs/a.md", text), ("docs/b.md", ""), ("README.md", "")]);
            let mut findings = Findings::default();
            check_links(&files, "docs/a.md", text, &mut findings);
            findings.problems.len()
        };
        for fine in [
            "[b](b.md) and [b](./b.md#part) and [r](../README.md \"title\")",
            "[web](https://example.com/x) [part](#part) [mail](mailto:a@b.c)",
            "[b]: b.md",
            "`[x](nowhere.md)`\n```\n[x](nowhere.md)\n```",
        ] {
            assert_eq!(check_page(fine), 0, "{fine}");
        }
        for broken in ["[x](c.md)", "[x](README.md)", "[x](../../README.md)", "a\n\n[x]: c.md"] {
            assert_eq!(check_page(broken), 1, "{broken}");
        }
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let path = |name: &str| format!("see /{name}/x");
        assert!(machine_path(&path("work")).is_some());
        assert!(machine_path(&path("root")).is_some());
        assert!(machine_path(&path("home/alice")).is_some());
        assert_eq!(machine_path("/home/dev/x"), None);
        assert_eq!(machine_path("/home/$USER/x"), None);
        assert_eq!(
            machine_path(&format!("https://example.com{}", path("work").trim_start_matches("see "))),
            None
        );
        assert_eq!(machine_path("~/work/x and target/work/x"), None);
    }
}
