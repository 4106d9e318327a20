//! Every pattern of the recognisers compiles: they are compiled when a screen first asks for them, which may be never in
//! a test and once in a session.

#![expect(clippy::unwrap_used, reason = "a source file that cannot be read fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn every_pattern_compiles() {
    let literal = Regex::new(r##"(?s)pattern!\(\s*r(?:#"(?<hashed>.*?)"#|"(?<plain>.*?)")\s*\)"##).unwrap();
    let (mut used, mut compiled) = (0, 0);
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        used += text.matches("pattern!(").count();
        for found in literal.captures_iter(&text) {
            let source = found.name("hashed").or(found.name("plain")).unwrap().as_str();
            Regex::new(source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            compiled += 1;
        }
    }
    assert_eq!(compiled, used, "a pattern is written in another way than the others");
    assert!(compiled > 50, "{compiled}");
}
