//! A row of a screen as HTML. Pure.
//!
//! # Text-is-text invariant
//! Whatever a program printed, the only markup in the result is the `<span>`s of this file: their classes and colours come
//! from closed sets, and each of the five characters that mean something to HTML leaves escaped. Control characters and
//! those that turn text around do not leave at all. Nothing is clickable.

use std::fmt::Write as _;

use atlasbridge_model::picture::{Colour, Row, Run, Style};
use unicode_width::UnicodeWidthChar as _;

/// One row, left to right, as text and flat spans. Classes: `f0`–`f15` and `b0`–`b15` the named colours; `bo`ld, `di`m,
/// `it`alic, `un`derlined, `st`ruck, `re`versed; `w2` a character that covers two cells. Other colours stand in `data-f`
/// and `data-b` as `#rrggbb`: the page's policy forbids inline styles, so its script sets them.
pub(crate) fn row(row: &Row) -> String {
    let mut html = String::new();
    for run in &row.runs {
        push_run(&mut html, run);
    }
    html
}

fn push_run(html: &mut String, run: &Run) {
    let mut narrow = String::new();
    for char in run.text.chars() {
        match char.width() {
            // A program that conceals a password conceals it here too.
            Some(2) if run.style.is_hidden => narrow.push_str("  "),
            _ if run.style.is_hidden => narrow.push(' '),
            Some(2) if !is_unseen(char) => {
                push_span(html, &std::mem::take(&mut narrow), run.style, false);
                push_span(html, char.encode_utf8(&mut [0; 4]), run.style, true);
            }
            _ => push_char(&mut narrow, char),
        }
    }
    push_span(html, &narrow, run.style, false);
}

fn push_char(html: &mut String, char: char) {
    match char {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        '\'' => html.push_str("&#39;"),
        // Takes its cell, if it has one, and says nothing.
        _ if char.is_control() => html.push('\u{fffd}'),
        // A joiner or a variation selector belongs to the character before it; the others only deceive.
        '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => html.push(char),
        _ if is_unseen(char) => (),
        _ => html.push(char),
    }
}

/// Covers no cell of its own, or turns its neighbours around. On a grid it cannot be named: that would move what follows.
fn is_unseen(char: char) -> bool {
    matches!(char,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// `inside` is escaped already, or a wide character, none of which means anything to HTML.
fn push_span(html: &mut String, inside: &str, style: Style, is_wide: bool) {
    let attributes = attributes(style, is_wide);
    let _ = match (inside.is_empty(), attributes.is_empty()) {
        (true, _) => Ok(()),
        (false, true) => html.write_str(inside),
        (false, false) => write!(html, "<span{attributes}>{inside}</span>"),
    };
}

fn attributes(style: Style, is_wide: bool) -> String {
    let mut classes: Vec<String> = Vec::new();
    let mut data = String::new();
    for (letter, colour) in [('f', style.foreground), ('b', style.background)] {
        match colour {
            Colour::Default => (),
            Colour::Indexed(number @ 0..16) => classes.push(format!("{letter}{number}")),
            Colour::Indexed(number) => push_colour(&mut data, letter, palette(number)),
            Colour::Rgb(red, green, blue) => push_colour(&mut data, letter, (red, green, blue)),
        }
    }
    for (is_set, name) in [
        (style.is_bold, "bo"),
        (style.is_dim, "di"),
        (style.is_italic, "it"),
        (style.is_underlined, "un"),
        (style.is_struck, "st"),
        (style.is_reversed, "re"),
        (is_wide, "w2"),
    ] {
        if is_set {
            classes.push(name.to_owned());
        }
    }
    if classes.is_empty() { data } else { format!(" class=\"{}\"{data}", classes.join(" ")) }
}

fn push_colour(data: &mut String, letter: char, (red, green, blue): (u8, u8, u8)) {
    let _ = write!(data, " data-{letter}=\"#{red:02x}{green:02x}{blue:02x}\"");
}

/// The cube and the greys of the 256 colours, as xterm has them. The first sixteen are the page's to choose.
fn palette(number: u8) -> (u8, u8, u8) {
    if number >= 232 {
        let grey = 8 + 10 * (number - 232);
        return (grey, grey, grey);
    }
    let number = number.saturating_sub(16);
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    (level(number / 36), level(number / 6 % 6), level(number % 6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(text: &str, style: Style) -> Run {
        Run { text: text.to_owned(), cells: text.chars().count() as u16, style }
    }

    #[track_caller]
    fn check(text: &str, style: Style, expected: &str) {
        let html = row(&Row { runs: vec![run(text, style)] });
        assert_eq!(html, expected);
    }

    #[test]
    fn rows_as_the_page_gets_them() {
        let plain = Style::default();
        let red = Colour::Indexed(1);
        check("ls -l", plain, "ls -l");
        check("<script>alert(\"1\" & '2')", plain, "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)");
        let bold_red = Style { foreground: red, is_bold: true, ..plain };
        check("no", bold_red, r#"<span class="f1 bo">no</span>"#);
        let reversed = Style { foreground: red, is_reversed: true, ..plain };
        check("no", reversed, r#"<span class="f1 re">no</span>"#);
        let cube = Style { foreground: Colour::Indexed(208), background: Colour::Indexed(244), ..plain };
        check("x", cube, r##"<span data-f="#ff8700" data-b="#808080">x</span>"##);
        let rgb = Style { background: Colour::Rgb(1, 2, 255), is_underlined: true, ..plain };
        check("x", rgb, r##"<span class="un" data-b="#0102ff">x</span>"##);
        check("<漢", bold_red, r#"<span class="f1 bo">&lt;</span><span class="f1 bo w2">漢</span>"#);
        check("漢a", plain, r#"<span class="w2">漢</span>a"#);
        check("a\u{1b}[31m\u{202e}b\u{9b}", plain, "a\u{fffd}[31mb\u{fffd}");
        let hidden = Style { is_hidden: true, ..plain };
        check("s3<漢", hidden, "     ");
    }

    fn any_colour() -> impl Strategy<Value = Colour> {
        prop_oneof![
            Just(Colour::Default),
            any::<u8>().prop_map(Colour::Indexed),
            any::<(u8, u8, u8)>().prop_map(|(red, green, blue)| Colour::Rgb(red, green, blue)),
        ]
    }

    fn any_style() -> impl Strategy<Value = Style> {
        (any_colour(), any_colour(), any::<[bool; 7]>()).prop_map(|(foreground, background, flags)| Style {
            foreground,
            background,
            is_bold: flags[0],
            is_dim: flags[1],
            is_italic: flags[2],
            is_underlined: flags[3],
            is_struck: flags[4],
            is_reversed: flags[5],
            is_hidden: flags[6],
        })
    }

    /// Takes our own spans away, checking each; what is left came from the program.
    fn without_spans(mut html: &str) -> String {
        let mut rest = String::new();
        let mut depth = 0i32;
        while let Some(start) = html.find('<') {
            rest.push_str(&html[..start]);
            let end = start + html[start..].find('>').unwrap() + 1;
            let span = &html[start..end];
            match span {
                "</span>" => depth -= 1,
                _ => {
                    depth += 1;
                    let attributes = span.strip_prefix("<span ").unwrap().strip_suffix('>').unwrap();
                    let inside = attributes.split('"').skip(1).step_by(2);
                    for value in inside {
                        let is_plain =
                            |char: char| char.is_ascii_alphanumeric() || char == ' ' || char == '#';
                        assert!(value.chars().all(is_plain), "{span}");
                    }
                }
            }
            assert!((0..=1).contains(&depth), "{html}");
            html = &html[end..];
        }
        assert_eq!(depth, 0);
        rest.push_str(html);
        rest
    }

    proptest! {
        #[test]
        fn nothing_of_a_program_is_markup(
            runs in proptest::collection::vec(
                (r#"([<>&"'a-z;#漢\u{0}-\u{9f}\u{200b}-\u{202e}]|\PC){0,20}"#, any_style()), 0..6)
        ) {
            let runs: Vec<Run> = runs.iter().map(|(text, style)| run(text, *style)).collect();
            let html = row(&Row { runs });
            let is_odd = |char: char| char.is_control() || ('\u{202a}'..='\u{202e}').contains(&char);
            prop_assert!(!html.contains(is_odd));
            let text = without_spans(&html);
            prop_assert!(!text.contains(['<', '>', '"', '\'']), "{text}");
            for (at, _) in text.match_indices('&') {
                let is_escape = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].iter().any(|escape| text[at..].starts_with(escape));
                prop_assert!(is_escape, "{text}");
            }
        }

        #[test]
        fn the_text_comes_through(text in r#"[ -~]{0,40}"#) {
            let html = row(&Row { runs: vec![run(&text, Style::default())] });
            let back = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            prop_assert_eq!(back, text);
        }
    }
}
