//! Text with entities: what is left of a text when the Bot API has read its HTML or its list of entities.
//!
//! As strict as the real reader: an unknown tag, an unclosed one, a crossing one is refused. Offsets and lengths
//! count UTF-16 code units.

use serde_json::{Value, json};

use super::params::Params;
use super::refusal::Refusal;

/// A piece of a text that is shown in a special way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// As in the Bot API: `bold`, `pre`, `code`, `text_link`, …
    pub kind: String,
    /// In UTF-16 code units.
    pub offset: usize,
    pub length: usize,
    pub url: Option<String>,
    pub language: Option<String>,
}

impl Entity {
    pub(crate) fn new(kind: &str, offset: usize, length: usize) -> Self {
        Self { kind: kind.to_owned(), offset, length, url: None, language: None }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut value = json!({"type": self.kind, "offset": self.offset, "length": self.length});
        for (name, extra) in [("url", &self.url), ("language", &self.language)] {
            if let Some(extra) = extra {
                value[name] = json!(extra);
            }
        }
        value
    }

    /// The part of `text` that this covers.
    pub fn of(&self, text: &str) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let end = (self.offset + self.length).min(units.len());
        String::from_utf16_lossy(&units[self.offset.min(end)..end])
    }
}

/// A text as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Formatted {
    pub(crate) text: String,
    pub(crate) entities: Vec<Entity>,
}

impl Formatted {
    /// The parameter `name`, formatted as `parse_mode` or the parameter `entities` says.
    pub(crate) fn read(params: &Params, name: &str, entities: &str) -> Result<Self, Refusal> {
        let text = clean(&params.text(name).unwrap_or_default());
        let formatted = match params.text("parse_mode").unwrap_or_default().to_lowercase().as_str() {
            "" => Self { entities: listed(params, entities, &text)?, text },
            "html" => {
                parse_html(&text).map_err(|why| Refusal::bad(format!("can't parse entities: {why}")))?
            }
            // Markdown exists over there and is not spoken here.
            _ => return Err(Refusal::bad("unsupported parse_mode")),
        };
        Ok(formatted.trimmed())
    }

    pub(crate) fn entities_json(&self) -> Value {
        self.entities.iter().map(Entity::to_json).collect()
    }

    /// Without the blanks at both ends, which are not kept; those before the first entity are.
    fn trimmed(self) -> Self {
        let text = self.text.trim_end();
        let first = self.entities.iter().map(|entity| entity.offset).min();
        let blank = units(text) - units(text.trim_start());
        let cut = blank.min(first.unwrap_or(usize::MAX));
        // Blanks are one unit each, except those that no keyboard makes.
        let text: String = text.chars().skip(cut).collect();
        let end = units(&text);
        let entities = self.entities.into_iter().filter_map(|mut entity| {
            entity.offset -= cut;
            entity.length = entity.length.min(end.saturating_sub(entity.offset));
            (entity.length > 0).then_some(entity)
        });
        Self { entities: entities.collect(), text }
    }
}

pub(crate) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What the server does to any text before it looks at it: control characters become blanks, carriage returns and
/// the marks that turn the direction of a line are dropped.
fn clean(text: &str) -> String {
    let kept = text.chars().filter(|character| !matches!(character, '\r' | '\u{2028}'..='\u{202e}'));
    kept.map(|character| match character {
        '\t' | '\n' => character,
        '\0'..='\u{1f}' => ' ',
        _ => character,
    })
    .collect()
}

const KINDS: [&str; 18] = [
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "custom_emoji",
];

/// Stricter than over there, where an entity beyond the end is cut: whoever counts wrongly should hear of it.
fn listed(params: &Params, name: &str, text: &str) -> Result<Vec<Entity>, Refusal> {
    let wrong = |what: &str| Refusal::bad(format!("can't parse entities: {what}"));
    let list = match params.json(name).map_err(|_| wrong("can't parse entities JSON object"))? {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(wrong("expected an Array of entities")),
    };
    let end = units(text);
    let read = |value: &Value| {
        let number = |name: &str| value[name].as_u64().map(|number| number as usize);
        let kind = value["type"].as_str().filter(|kind| KINDS.contains(kind));
        let kind = kind.ok_or_else(|| wrong("unsupported type of MessageEntity"))?;
        let (Some(offset), Some(length)) = (number("offset"), number("length")) else {
            return Err(wrong("offset and length must be numbers"));
        };
        if length == 0 || offset + length > end {
            return Err(Refusal::bad("ENTITY_BOUNDS_INVALID"));
        }
        let word = |name: &str| value[name].as_str().map(str::to_owned);
        Ok(Entity { url: word("url"), language: word("language"), ..Entity::new(kind, offset, length) })
    };
    list.iter().map(read).collect()
}

/// The commands in what a person wrote, as the server marks them.
pub(crate) fn commands(text: &str) -> Vec<Entity> {
    let mut found = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let name = word.trim_end();
        let is_command = name.strip_prefix('/').is_some_and(|name| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '@');
            !name.is_empty() && name.chars().all(fits)
        });
        if is_command {
            found.push(Entity::new("bot_command", offset, units(name)));
        }
        offset += units(word);
    }
    found
}

struct Open {
    tag: String,
    entity: Option<Entity>,
    start: usize,
}

/// The reader of `parse_mode=HTML`. The error is what follows "can't parse entities: ".
fn parse_html(html: &str) -> Result<Formatted, String> {
    let (mut text, mut entities, mut open) = (String::new(), Vec::new(), Vec::<Open>::new());
    let mut at = 0;
    while let Some(first) = html[at..].chars().next() {
        let rest = &html[at..];
        match first {
            '&' => {
                let (character, length) = character_reference(rest).unwrap_or(('&', 1));
                text.push(character);
                at += length;
            }
            '<' if rest.starts_with("</") => {
                let end = rest.find('>').ok_or(format!("Unclosed end tag at byte offset {at}"))?;
                let name = rest[2..end].trim_end().to_lowercase();
                let opened = open.pop().ok_or(format!("Unexpected end tag at byte offset {at}"))?;
                if !name.is_empty() && name != opened.tag {
                    return Err(format!(
                        "Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{name}>\"",
                        opened.tag
                    ));
                }
                close(opened, &text, &mut entities);
                at += end + 1;
            }
            '<' => {
                let end = tag_end(rest).ok_or(format!("Unclosed start tag at byte offset {at}"))?;
                open.push(start_tag(&rest[1..end], at, units(&text))?);
                at += end + 1;
            }
            other => {
                text.push(other);
                at += other.len_utf8();
            }
        }
    }
    if let Some(opened) = open.pop() {
        return Err(format!("Can't find end tag corresponding to start tag \"{}\"", opened.tag));
    }
    entities.sort_by_key(|entity: &Entity| (entity.offset, usize::MAX - entity.length));
    Ok(Formatted { text, entities })
}

/// Where the tag that begins `rest` ends: the first `>` outside of quotes.
fn tag_end(rest: &str) -> Option<usize> {
    let mut quote = None;
    rest.char_indices().find_map(|(at, character)| match (quote, character) {
        (None, '>') => Some(at),
        (None, '"' | '\'') => {
            quote = Some(character);
            None
        }
        (Some(open), _) if open == character => {
            quote = None;
            None
        }
        _ => None,
    })
}

fn start_tag(inside: &str, at: usize, start: usize) -> Result<Open, String> {
    let (name, rest) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    let tag = name.to_lowercase();
    let attributes = attributes(rest, &tag, at)?;
    let attribute = |wanted: &str| {
        let found = attributes.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone())
    };
    let class = attribute("class").unwrap_or_default();
    let kind = match tag.as_str() {
        "b" | "strong" => Some("bold"),
        "i" | "em" => Some("italic"),
        "u" | "ins" => Some("underline"),
        "s" | "strike" | "del" => Some("strikethrough"),
        "tg-spoiler" => Some("spoiler"),
        "span" if class == "tg-spoiler" => Some("spoiler"),
        "span" => {
            return Err(format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {at}"));
        }
        "blockquote" if attribute("expandable").is_some() => Some("expandable_blockquote"),
        "blockquote" => Some("blockquote"),
        "code" => Some("code"),
        "pre" => Some("pre"),
        // Without an address it is no link, and no error either.
        "a" => attribute("href").map(|_| "text_link"),
        _ => return Err(format!("Unsupported start tag \"{tag}\" at byte offset {at}")),
    };
    let language = class.strip_prefix("language-").filter(|_| tag == "code");
    Ok(Open {
        entity: kind.map(|kind| Entity {
            url: attribute("href").filter(|_| tag == "a"),
            language: language.map(str::to_owned),
            ..Entity::new(kind, start, 0)
        }),
        tag,
        start,
    })
}

fn attributes(text: &str, tag: &str, at: usize) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter == '=' || letter.is_whitespace()).unwrap_or(rest.len());
        let name = rest[..end].to_lowercase();
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            found.push((name, String::new()));
            continue;
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let (value, left) = match quote {
            Some(quote) => value[1..]
                .split_once(quote)
                .ok_or(format!("Unclosed attribute value in the tag \"{tag}\" at byte offset {at}"))?,
            None => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        found.push((name, unescape(value)));
        rest = left.trim_start();
    }
    Ok(found)
}

fn close(opened: Open, text: &str, entities: &mut Vec<Entity>) {
    let Some(mut entity) = opened.entity else { return };
    entity.length = units(text) - opened.start;
    if entity.length == 0 {
        return;
    }
    if entity.kind == "pre" {
        // `<pre><code class="language-rust">` is one block with a language.
        let inner = entities.iter().position(|inner| {
            inner.kind == "code" && inner.offset == entity.offset && inner.length == entity.length
        });
        if let Some(inner) = inner {
            entity.language = entities.remove(inner).language;
        }
    }
    if matches!(entity.kind.as_str(), "pre" | "code") {
        // Nothing is bold within code.
        entities.retain(|inner| inner.offset < opened.start);
    }
    entities.push(entity);
}

fn unescape(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let (character, length) = character_reference(rest).unwrap_or((first, first.len_utf8()));
        plain.push(character);
        rest = &rest[length..];
    }
    plain
}

/// `&lt;` and its like at the beginning of `rest`, and how many bytes it takes.
fn character_reference(rest: &str) -> Option<(char, usize)> {
    let body = rest.strip_prefix('&')?;
    let end = body.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '#')?;
    let character = match &body[..end] {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|character| *character != '\0')?
        }
    };
    let semicolon = usize::from(body[end..].starts_with(';'));
    Some((character, 1 + end + semicolon))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let seen = match parse_html(html) {
            Err(why) => format!("! {why}"),
            Ok(read) => {
                let entity = |entity: &Entity| {
                    let extra = entity.url.iter().chain(&entity.language);
                    let extra: String = extra.map(|extra| format!(" {extra}")).collect();
                    format!(" [{}{extra}: {}]", entity.kind, entity.of(&read.text))
                };
                read.text.clone() + &read.entities.iter().map(entity).collect::<String>()
            }
        };
        assert_eq!(seen, expected, "{html}");
    }

    #[test]
    fn html_becomes_text_and_entities() {
        check("plain", "plain");
        check("a &lt;b&gt; &amp;&quot; &#33;&#x3f; &nbsp;", "a <b> &\" !? &nbsp;");
        check("<b>1 <i>2</i></b>3", "1 23 [bold: 1 2] [italic: 2]");
        check("😀<code>x</code>", "😀x [code: x]");
        check("<pre><code class=\"language-rust\">fn</code></pre>", "fn [pre rust: fn]");
        check("<code>a <b>b</b></code>", "a b [code: a b]");
        check("<a href='https://x/?a&amp;b'>x</a>", "x [text_link https://x/?a&b: x]");
        check("<blockquote expandable>q</blockquote>", "q [expandable_blockquote: q]");
        check("<b></b>x", "x");
    }

    #[test]
    fn wrong_html_is_refused() {
        check("1 < 2", "! Unclosed start tag at byte offset 2");
        check("1 < 2 >", "! Unsupported start tag \"\" at byte offset 2");
        check("<h1>x</h1>", "! Unsupported start tag \"h1\" at byte offset 0");
        check("<b>x", "! Can't find end tag corresponding to start tag \"b\"");
        check("x</b>", "! Unexpected end tag at byte offset 1");
        check("<b><i>x</b></i>", "! Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\"");
        check("<span>x</span>", "! Tag \"span\" must have class \"tg-spoiler\" at byte offset 0");
    }

    #[test]
    fn blanks_at_the_ends_are_not_kept() {
        let trimmed = |html: &str| parse_html(html).unwrap().trimmed();
        assert_eq!(trimmed(" \n a \n").text, "a");
        let kept = trimmed("\n<pre>  a\n</pre>\n");
        assert_eq!((kept.text.as_str(), kept.entities[0].length), ("  a", 3));
        assert_eq!(clean("a\u{1b}[1m\r\n\u{202e}b"), "a [1m\nb");
    }

    #[test]
    fn commands_are_marked() {
        let marked =
            |text: &str| -> Vec<String> { commands(text).iter().map(|entity| entity.of(text)).collect() };
        assert_eq!(marked("/start 😀 /stop@bot x/y"), ["/start", "/stop@bot"]);
        assert!(marked("/ a").is_empty());
    }
}
