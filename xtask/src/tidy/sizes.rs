//! How large the product is, in figures that only a change for the worse makes fail.
//!
//! Product means `crates/*/src` without tests: files and modules under `#[cfg(test)]` do not count, nor do comments and
//! blank lines. `cargo xtask tidy --sizes` prints the figures; `cargo xtask tidy` holds them to the limits below.

use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use super::code::{code_only, without_comments};
use super::files::Files;

/// Lines of the product. Never raised for comfort: what makes it grow is a capability, and says so in its commit.
const MOST_LINES: usize = 33_000;
/// Lines of one function, from its `fn` to its closing brace.
const LONGEST_FUNCTION: usize = 80;
/// Fields of one struct in the two middles, which are where state gathers unseen.
const MOST_FIELDS: usize = 16;
const MIDDLES: [&str; 2] = ["crates/hub/", "crates/session-host/"];
/// A name that is looked for should be found once; twice can be told apart, three times cannot.
const MOST_USES_OF_A_NAME: usize = 2;
/// Names that stand for more types than that.
const MOST_SHARED_NAMES: usize = 0;

/// One file of the product.
struct Source {
    path: String,
    /// Comments and test items blanked out.
    text: String,
    /// The same, without literals.
    code: String,
}

/// Something with a size, and where it stands.
#[derive(Debug, PartialEq, Eq)]
struct Sized {
    place: String,
    name: String,
    size: usize,
}

pub(crate) fn check(files: &Files) -> Findings {
    let mut findings = Findings::default();
    let sources = product(files);
    let lines: usize = sources.iter().map(Source::lines).sum();
    if lines > MOST_LINES {
        findings.problem("the product", format!("has {lines} lines, {MOST_LINES} at most"));
    }
    let functions = sources.iter().flat_map(Source::functions);
    for function in functions.filter(|function| function.size > LONGEST_FUNCTION) {
        let what = format!("`{}` has {} lines, {LONGEST_FUNCTION} at most", function.name, function.size);
        findings.problem(function.place, what);
    }
    let middles = sources.iter().filter(|source| source.is_middle());
    for fields in middles.flat_map(Source::structs).filter(|fields| fields.size > MOST_FIELDS) {
        let what = format!("`{}` has {} fields, {MOST_FIELDS} at most", fields.name, fields.size);
        findings.problem(fields.place, what);
    }
    let shared: Vec<_> = shared_names(&sources).collect();
    if shared.len() > MOST_SHARED_NAMES {
        for (name, places) in shared {
            findings.problem(name, format!("names {} types: {}", places.len(), places.join(", ")));
        }
    }
    findings
}

/// The figures, largest first, for whoever wants to know.
pub(crate) fn print(files: &Files) {
    let sources = product(files);
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for source in &sources {
        *crates.entry(source.room()).or_default() += source.lines();
    }
    for (room, lines) in &crates {
        println!("{lines:>7}  {room}");
    }
    println!("{:>7}  lines of the product, {MOST_LINES} at most", crates.values().sum::<usize>());
    let longest = sources.iter().flat_map(Source::functions).max_by_key(|function| function.size);
    print_largest("lines has the longest function", longest);
    let middles = sources.iter().filter(|source| source.is_middle());
    print_largest("fields has the widest struct of hub and session host", {
        middles.flat_map(Source::structs).max_by_key(|fields| fields.size)
    });
    println!("{:>7}  names stand for three types or more:", shared_names(&sources).count());
    for (name, places) in shared_names(&sources) {
        println!("         {name}: {}", places.join(", "));
    }
}

fn print_largest(what: &str, largest: Option<Sized>) {
    if let Some(Sized { place, name, size }) = largest {
        println!("{size:>7}  {what}: `{name}` ({place})");
    }
}

fn product(files: &Files) -> Vec<Source> {
    let is_product =
        |path: &str| path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    let candidates: Vec<(&str, &str)> = files.iter().filter(|(path, _)| is_product(path)).collect();
    let mut tests = BTreeSet::new();
    let mut sources = Vec::new();
    for (path, text) in candidates {
        let (spans, modules) = test_items(&code_only(text));
        tests.extend(modules.iter().map(|module| format!("{}/{module}", folder_of_modules(path))));
        let blanked = |text: String| blank(&text, &spans);
        let (code, text) = (blanked(code_only(text)), blanked(without_comments(text)));
        sources.push(Source { path: path.to_owned(), text, code });
    }
    let is_test = |path: &str| {
        let inside =
            |module: &String| path == format!("{module}.rs") || path.starts_with(&format!("{module}/"));
        tests.iter().any(inside)
    };
    sources.retain(|source| !is_test(&source.path));
    sources
}

/// Where the modules that a file declares lie.
fn folder_of_modules(path: &str) -> &str {
    let is_root = path.ends_with("/lib.rs") || path.ends_with("/main.rs");
    match path.rsplit_once('/') {
        Some((folder, _)) if is_root => folder,
        _ => path.trim_end_matches(".rs"),
    }
}

/// The line numbers (from 0) of what stands under `#[cfg(test)]`, and the modules among it that are files of their own.
fn test_items(code: &str) -> (Vec<std::ops::RangeInclusive<usize>>, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let (mut spans, mut modules) = (Vec::new(), Vec::new());
    for (start, _) in code.match_indices(MARK) {
        let item = &code[start + MARK.len()..];
        let end = item_end(item);
        let first = code[..start].matches('\n').count();
        let declared = item[..end].trim().trim_end_matches(';');
        let last = first + code[start..start + MARK.len() + end].matches('\n').count();
        spans.push(first..=last);
        if let Some((_, name)) = declared.rsplit_once("mod ").filter(|(_, name)| !name.contains('{')) {
            modules.push(name.trim().to_owned());
        }
    }
    (spans, modules)
}

/// Behind the `;` or the closing brace of the item that begins here.
fn item_end(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(c, ';' | '}') {
            return at + 1;
        }
    }
    code.len()
}

fn blank(text: &str, spans: &[std::ops::RangeInclusive<usize>]) -> String {
    let keep = |(number, line)| match spans.iter().any(|span| span.contains(&number)) {
        true => "",
        false => line,
    };
    text.lines().enumerate().map(keep).collect::<Vec<_>>().join("\n")
}

fn shared_names(sources: &[Source]) -> impl Iterator<Item = (String, Vec<String>)> {
    names(sources).into_iter().filter(|(_, places)| places.len() > MOST_USES_OF_A_NAME)
}

/// Every type that the product defines, with its places.
fn names(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        for (number, line) in source.code.lines().enumerate() {
            if let Some(name) = defined_type(line) {
                names.entry(name.to_owned()).or_default().push(source.place(number));
            }
        }
    }
    names
}

/// The type that this line begins to define. An alias counts outside of traits and their implementations only.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with("pub"));
    let keyword = words.next()?;
    let is_alias = keyword == "type" && !line.starts_with(' ');
    if !is_alias && !matches!(keyword, "struct" | "enum" | "trait") {
        return None;
    }
    let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next();
    // `$name` in a macro is a place for one.
    name.filter(|name| !name.is_empty())
}

impl Source {
    /// `crates/hub`.
    fn room(&self) -> &str {
        self.path.split_once("/src/").map_or(&self.path, |(room, _)| room)
    }

    fn is_middle(&self) -> bool {
        MIDDLES.iter().any(|middle| self.path.starts_with(middle))
    }

    fn lines(&self) -> usize {
        self.text.lines().filter(|line| !line.trim().is_empty()).count()
    }

    fn place(&self, number: usize) -> String {
        format!("{}:{}", self.path, number + 1)
    }

    fn functions(&self) -> impl Iterator<Item = Sized> {
        self.items("fn").map(|(name, body, number)| Sized {
            place: self.place(number),
            name,
            size: body.matches('\n').count() + 1,
        })
    }

    fn structs(&self) -> impl Iterator<Item = Sized> {
        self.items("struct").map(|(name, body, number)| Sized {
            place: self.place(number),
            name,
            size: field_count(body),
        })
    }

    /// Name, text and line of each item of this kind.
    fn items(&self, keyword: &str) -> impl Iterator<Item = (String, &str, usize)> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let starts = self.code.match_indices(keyword).filter_map(move |(start, keyword)| {
            let before = &self.code[..start];
            let after = self.code[start + keyword.len()..].strip_prefix(' ')?;
            let name: String = after.chars().take_while(|c| is_name(*c)).collect();
            let is_item = !before.ends_with(is_name) && !name.is_empty();
            is_item.then_some((name, start))
        });
        starts.map(|(name, start)| {
            let item = &self.code[start..];
            (name, &item[..item_end(item)], self.code[..start].matches('\n').count())
        })
    }
}

/// The lines that begin a field, at the depth of the struct's own braces.
fn field_count(item: &str) -> usize {
    let mut depth = 0_usize;
    let mut count = 0;
    for line in item.lines() {
        let begins_field =
            line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
        let name = begins_field.trim_start_matches("pub ").split(':').next().unwrap_or_default();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if depth == 1 && is_name && line.contains(':') {
            count += 1;
        }
        depth += line.matches(['{', '(', '[']).count();
        depth = depth.saturating_sub(line.matches(['}', ')', ']']).count());
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "//! A room.\n\n/// A door.\npub(crate) struct Door {\n    a: u8,\n    // Why.\n    pub(crate) b: Vec<\
                        (u8, u8)>,\n}\n\nfn open(\n    a: u8,\n) -> u8 {\n    \"}\";\n    a\n}\n\n#[cfg(test)]\nmod tests \
                        {\n    struct Hidden {\n        a: u8,\n    }\n}\n";

    fn sources(texts: &[(&str, &str)]) -> Vec<Source> {
        product(&Files::fake(texts))
    }

    #[test]
    fn comments_blanks_and_tests_do_not_count() {
        let sources = sources(&[
            ("crates/hub/src/lib.rs", FILE),
            ("crates/hub/src/door.rs", "#[cfg(test)]\nmod walk;\n#[cfg(test)]\nmod rows;\nmod key;\n"),
            ("crates/hub/src/door/walk.rs", "fn a() {}"),
            ("crates/hub/src/door/rows/b.rs", "fn a() {}"),
            ("crates/hub/src/door/key.rs", "fn a() {}\n"),
            ("crates/hub/tests/e2e.rs", "fn a() {}"),
            ("testkit/src/lib.rs", "fn a() {}"),
        ]);
        let lines: Vec<(&str, usize)> =
            sources.iter().map(|source| (source.path.as_str(), source.lines())).collect();
        let expected =
            [("crates/hub/src/lib.rs", 10), ("crates/hub/src/door.rs", 1), ("crates/hub/src/door/key.rs", 1)];
        assert_eq!(lines, expected);
    }

    #[test]
    fn functions_and_fields_are_measured() {
        let sources = sources(&[("crates/hub/src/lib.rs", FILE)]);
        let at = |line: usize, name: &str, size| Sized {
            place: format!("crates/hub/src/lib.rs:{line}"),
            name: name.to_owned(),
            size,
        };
        assert_eq!(sources[0].functions().collect::<Vec<_>>(), [at(10, "open", 6)]);
        assert_eq!(sources[0].structs().collect::<Vec<_>>(), [at(4, "Door", 2)]);
    }

    #[test]
    fn what_is_too_large_is_said() {
        let body = "    a();\n".repeat(LONGEST_FUNCTION);
        let long = format!("//! A.\nfn long() {{\n{body}}}\n");
        let fields: String = (0..=MOST_FIELDS).map(|no| format!("    a{no}: u8,\n")).collect();
        let wide = format!("//! A.\nstruct Wide {{\n{fields}}}\n");
        let files = Files::fake(&[
            ("crates/detect/src/wide.rs", &wide),
            ("crates/hub/src/long.rs", &long),
            ("crates/hub/src/wide.rs", &wide),
        ]);
        let (lines, fields) = (LONGEST_FUNCTION + 2, MOST_FIELDS + 1);
        let expected = [
            format!("crates/hub/src/long.rs:2: `long` has {lines} lines, {LONGEST_FUNCTION} at most"),
            format!("crates/hub/src/wide.rs:2: `Wide` has {fields} fields, {MOST_FIELDS} at most"),
        ];
        assert_eq!(check(&files).problems, expected);
    }

    #[test]
    fn a_name_that_three_types_share_is_found() {
        let named =
            "//! A.\npub struct Entry;\nimpl A for B {\n    type Output = u8;\n}\npub struct $name;\n";
        let paths = ["crates/pty/src/a.rs", "crates/pty/src/b.rs", "crates/pty/src/c.rs"];
        let sources = sources(&paths.map(|path| (path, named)));
        let places = paths.map(|path| format!("{path}:2")).to_vec();
        assert_eq!(shared_names(&sources).collect::<Vec<_>>(), [("Entry".to_owned(), places)]);
    }
}
