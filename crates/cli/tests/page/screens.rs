//! Real programs on live screens: what the page shows is what their terminal shows.

use std::collections::BTreeMap;
use std::fs;

use atlasbridge_detect::{Detector, DetectorConfig, Moment, Observation};
use atlasbridge_model::Picture;
use atlasbridge_testkit::page::Live;
use atlasbridge_testkit::{LIMIT, Terminal, eventually};
use serde_json::{Value, json};

use crate::Desk;
use crate::tools::Tools;

/// Of the terminals of these tests.
const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

/// What a browser has made of the frames so far.
struct Shown {
    live: Live,
    rows: BTreeMap<u64, String>,
    cursor: Value,
    is_alternate: bool,
    /// What became of the keys that were sent last.
    typed: Option<bool>,
}

impl Shown {
    fn new(live: Live) -> Self {
        Self { live, rows: BTreeMap::new(), cursor: Value::Null, is_alternate: false, typed: None }
    }

    /// Takes one frame; false once the session is over.
    #[track_caller]
    fn take(&mut self) -> bool {
        let Some(frame) = self.live.hear() else {
            return false;
        };
        if frame["t"] == "typed" {
            self.typed = frame["ok"].as_bool();
        }
        if frame["t"] != "screen" {
            return frame["t"] != "gone";
        }
        if frame["whole"] == true {
            self.rows.clear();
        }
        for (row, html) in frame["rows"].as_object().unwrap() {
            self.rows.insert(row.parse().unwrap(), html.as_str().unwrap().to_owned());
        }
        self.cursor = frame["cursor"].clone();
        self.is_alternate = frame["alternate"] == true;
        true
    }

    /// Types a key, and again while the gate says that somebody types at the terminal.
    #[track_caller]
    fn types(&mut self, key: &str) {
        let message = json!({ "t": "text", "text": key, "enter": false });
        eventually("the key is typed", || {
            self.typed = None;
            self.live.say(&message);
            while self.typed.is_none() {
                assert!(self.take(), "the session goes on");
            }
            (self.typed == Some(true)).then_some(())
        });
    }

    fn text(&self) -> String {
        let height = self.rows.keys().next_back().map_or(0, |last| last + 1);
        let line = |row| self.rows.get(&row).map_or(String::new(), |html| plain(html));
        let lines: Vec<String> = (0..height).map(line).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Takes frames until the page and the terminal show the same, and `is_it` holds for that.
    #[track_caller]
    fn sees(&mut self, tools: &Tools<'_>, label: &str, what: &str, is_it: impl Fn(&Self) -> bool) {
        let deadline = std::time::Instant::now() + LIMIT;
        loop {
            let picture = tools.with_terminal(label, |terminal| picture_of(terminal));
            let cursor = picture.cursor.map_or(Value::Null, |cursor| json!(cursor));
            let is_same = self.text() == picture.to_text()
                && self.is_alternate == picture.is_alternate
                && self.cursor == cursor;
            if is_same && is_it(self) {
                return;
            }
            // The page may be ahead: what it shows is on its way to the terminal, and no other frame comes.
            let goes_on = !self.live.has_come() || self.take();
            assert!(
                std::time::Instant::now() < deadline && goes_on,
                "{what}; the page:\n{}\nthe terminal:\n{}",
                self.text(),
                picture.to_text()
            );
        }
    }
}

/// What an emulator of our own makes of everything that the terminal got.
fn picture_of(terminal: &Terminal) -> Picture {
    let mut detector = Detector::new(DetectorConfig::default(), COLUMNS, ROWS);
    detector.observe(Observation::Output(&terminal.bytes()), Moment::default());
    detector.screen().picture()
}

/// The text of a row as a browser shows it.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = tag.split_once('>').expect("a tag has an end").1;
    }
    text.push_str(rest);
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    text.trim_end().to_owned()
}

/// Runs a program on an empty screen, and looks at it.
fn watch(tools: &Tools<'_>, script: &str) -> (String, Shown) {
    let label = tools.start(&[], &format!("printf '\\e[H\\e[2J'\n{script}"));
    let session = eventually("the session runs", || {
        let sessions = tools.visitor().get("/api/sessions").json();
        let sessions = sessions["sessions"].as_array().unwrap().clone();
        let session = sessions.into_iter().find(|session| session["label"] == label.as_str())?;
        (session["is_connected"] == true).then(|| session["id"].as_str().unwrap().to_owned())
    });
    let live = tools.visitor().live(&session);
    (label, Shown::new(live))
}

#[test]
fn vim_is_shown_as_it_is_and_typed_into_from_afar() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let poem = desk.home.scratch().join("poem");
    let lines: Vec<String> = (1..200).map(|n| format!("line {n}: <b>größer</b> & 世界 {n}")).collect();
    fs::write(&poem, lines.join("\n")).unwrap();
    let script = format!("vim -u NONE -i NONE -N -n -c 'set number hlsearch' {}", poem.display());
    let (label, mut shown) = watch(&tools, &script);
    shown.sees(&tools, &label, "vim shows the file", |shown| {
        shown.is_alternate && shown.text().contains("世界 1")
    });
    shown.live.say(&json!({ "t": "text", "text": "G", "enter": false }));
    shown.live.say(&json!({ "t": "unlock" }));
    shown.types("G");
    shown.sees(&tools, &label, "the end of the file", |shown| shown.text().contains("世界 199"));
    // One step at a time: an Escape that comes together with the next key may be taken for another key.
    let steps = [
        ("ggihere ", "here line 1:"),
        ("\u{1b}", "here line 1:"),
        (":%s/line/row/g", ":%s/line/row/g"),
        ("\r", "199 substitutions"),
    ];
    for (keys, seen) in steps {
        tools.with_terminal(&label, |terminal| terminal.type_keys(keys));
        shown.sees(&tools, &label, "keyboard and page see the same", |shown| shown.text().contains(seen));
    }
    // A line would come as a paste, which vim takes for text; a key at a time is a command.
    shown.types("Z");
    shown.types("Z");
    while shown.take() {}
    assert!(fs::read_to_string(&poem).unwrap().starts_with("here row 1"));
}

#[test]
fn top_goes_on_and_so_does_its_picture() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let (label, mut shown) = watch(&tools, "TERM=xterm-256color exec top -d 0.3");
    for _ in 0..3 {
        shown.sees(&tools, &label, "top shows processes", |shown| shown.text().contains("load average"));
        assert!(shown.take(), "top goes on");
    }
    let reversed = shown.rows.values().any(|html| html.contains("re"));
    assert!(reversed, "its heading is reversed: {:?}", shown.rows);
}

#[test]
fn htop_draws_its_bars() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let (label, mut shown) = watch(&tools, "exec htop -d 3");
    shown.sees(&tools, &label, "htop shows processes", |shown| {
        shown.is_alternate && shown.text().contains("Load average")
    });
}

#[test]
fn colours_and_wide_characters_arrive() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let place = desk.home.scratch().join("listed");
    fs::create_dir_all(place.join("directory")).unwrap();
    fs::write(place.join("世界"), "").unwrap();
    let script = format!(
        "export LS_COLORS='di=01;34'; cd {}; ls -1 --color=always; printf '\\e[38;2;1;2;3mtrue\\e[0m \\e[7mturned\\e[0m 🌉|e\\u0301|\\n'; sleep 600",
        place.display()
    );
    let (label, mut shown) = watch(&tools, &script);
    shown.sees(&tools, &label, "the listing is there", |shown| shown.text().contains("turned"));
    let row = |text: &str| {
        let found = shown.rows.values().find(|html| html.contains(text));
        found.unwrap_or_else(|| panic!("{text} in {:?}", shown.rows)).clone()
    };
    let directory = row("directory");
    assert!(directory.contains("bo") && directory.contains("f4"), "{directory}");
    assert!(row("世").contains("w2"), "{}", row("世"));
    let last = row("turned");
    for part in ["data-f=\"#010203\"", "re", "w2", "e\u{301}"] {
        assert!(last.contains(part), "{part} in {last}");
    }
}
