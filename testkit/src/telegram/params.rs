//! The parameters of a call, in each of the four ways that the Bot API takes them: the query string, a form, a JSON
//! object, parts with files.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::refusal::Refusal;

/// A file as it was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub mime: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    values: BTreeMap<String, Value>,
    files: BTreeMap<String, File>,
}

impl Params {
    pub(crate) fn read(query: Option<&str>, content_type: &str, body: &[u8]) -> Result<Self, Refusal> {
        let mut params = Self::default();
        params.add_form(query.unwrap_or_default().as_bytes());
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            _ if body.is_empty() => {}
            "application/json" => params.add_json(body)?,
            "application/x-www-form-urlencoded" => params.add_form(body),
            "multipart/form-data" => params.add_parts(content_type, body)?,
            _ => return Err(Refusal::bad(format!("unsupported content type {kind:?}"))),
        }
        Ok(params)
    }

    fn add_json(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let Ok(Value::Object(object)) = serde_json::from_slice(body) else {
            return Err(Refusal::bad("can't parse request JSON: object expected"));
        };
        let given = object.into_iter().filter(|(_, value)| !value.is_null());
        self.values.extend(given);
        Ok(())
    }

    fn add_form(&mut self, text: &[u8]) {
        for pair in text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let (name, value) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
            self.values.insert(unescape(name), Value::String(unescape(value)));
        }
    }

    fn add_parts(&mut self, content_type: &str, body: &[u8]) -> Result<(), Refusal> {
        let broken = || Refusal::bad("can't parse multipart/form-data");
        let boundary = attribute(content_type, "boundary").ok_or_else(broken)?;
        let delimiter = format!("\r\n--{boundary}");
        // The first delimiter has no line before it.
        let body = [b"\r\n", body].concat();
        let mut parts = pieces(&body, delimiter.as_bytes());
        parts.next().ok_or_else(broken)?;
        for part in parts {
            if part.starts_with(b"--") {
                return Ok(());
            }
            let part = part.strip_prefix(b"\r\n").ok_or_else(broken)?;
            let at = find(part, b"\r\n\r\n").ok_or_else(broken)?;
            let head = String::from_utf8_lossy(&part[..at]).into_owned();
            self.add_part(&head, &part[at + 4..]).ok_or_else(broken)?;
        }
        // Without the closing delimiter the body was cut.
        Err(broken())
    }

    fn add_part(&mut self, head: &str, body: &[u8]) -> Option<()> {
        let line = |wanted: &str| {
            head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim())
            })
        };
        let disposition = line("Content-Disposition")?;
        let name = attribute(disposition, "name")?;
        match attribute(disposition, "filename") {
            Some(file) => {
                let mime = line("Content-Type").unwrap_or("application/octet-stream");
                let file = File { name: file, mime: mime.to_owned(), bytes: body.to_vec() };
                self.files.insert(name, file);
            }
            None => {
                let text = String::from_utf8(body.to_vec()).ok()?;
                self.values.insert(name, Value::String(text));
            }
        }
        Some(())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.values.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// A whole number, which may also come as text. Nothing if it is absent or is no number.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.text(name)?.trim().parse().ok()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        let text = self.text(name).unwrap_or_default().to_lowercase();
        matches!(text.as_str(), "true" | "yes" | "1")
    }

    /// A JSON value, which in a form is text. `Err` if that text is no JSON.
    pub(crate) fn json(&self, name: &str) -> Result<Option<Value>, serde_json::Error> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text).map(Some),
            Some(other) => Ok(Some(other.clone())),
        }
    }

    /// The file uploaded as this parameter, directly or by `attach://`.
    pub(crate) fn file(&self, name: &str) -> Option<&File> {
        let attached = self.text(name);
        let attached = attached.as_deref().and_then(|text| text.strip_prefix("attach://"));
        self.files.get(attached.unwrap_or(name))
    }

    /// For the record of calls: values as they came, a file by its name and size.
    pub(crate) fn to_json(&self) -> Value {
        let values = self.values.iter().map(|(name, value)| (name.clone(), value.clone()));
        let files = self.files.iter().map(|(name, file)| {
            let file = json!({"file": file.name, "size": file.bytes.len()});
            (name.clone(), file)
        });
        Value::Object(values.chain(files).collect::<Map<_, _>>())
    }
}

fn unescape(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let escaped = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        (rest, _) = match (first, escaped) {
            (b'%', Some(byte)) => (&tail[2..], bytes.push(byte)),
            (b'+', _) => (tail, bytes.push(b' ')),
            (byte, _) => (tail, bytes.push(*byte)),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `name=value` or `name="value"` among what is separated by semicolons.
fn attribute(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn pieces<'a>(body: &'a [u8], delimiter: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(body);
    std::iter::from_fn(move || {
        let body = rest?;
        match find(body, delimiter) {
            Some(at) => {
                rest = Some(&body[at + delimiter.len()..]);
                Some(&body[..at])
            }
            None => rest.take(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, content_type: &str, body: &str, expected: Value) {
        let params = Params::read(Some(query), content_type, body.as_bytes()).unwrap();
        assert_eq!(params.to_json(), expected);
    }

    #[test]
    fn parameters_come_in_four_ways() {
        check("a=1&b=x+%26y", "", "", json!({"a": "1", "b": "x &y"}));
        check("a=1", "application/x-www-form-urlencoded", "b=%F0%9F%98%80", json!({"a": "1", "b": "😀"}));
        check(
            "",
            "application/json; charset=utf-8",
            r#"{"a": 1, "b": {"c": []}, "d": null}"#,
            json!({"a": 1, "b": {"c": []}}),
        );
        let parts = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X\r\nContent-Disposition: \
                     form-data; name=\"document\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\nab\r\n\r\n--X--\r\n";
        check(
            "",
            "multipart/form-data; boundary=X",
            parts,
            json!({"a": "1", "document": {"file": "f.txt", "size": 4}}),
        );
        let cut = &parts[..parts.len() - 8];
        let refused = Params::read(None, "multipart/form-data; boundary=X", cut.as_bytes());
        assert_eq!(refused.unwrap_err().code, 400);
    }
}
