//! What stands below a message: inline buttons, checked as strictly as the Bot API does, or a request to reply.

use serde_json::{Value, json};

use super::params::Params;
use super::refusal::Refusal;

/// Bytes of callback data.
const MOST_DATA: usize = 64;
/// Buttons below one message.
const MOST_BUTTONS: usize = 100;
/// Buttons in one row.
const MOST_IN_A_ROW: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    pub text: String,
    /// Empty for a button that opens an address.
    pub data: String,
    pub url: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Markup {
    #[default]
    None,
    Inline(Vec<Vec<Button>>),
    ForceReply,
    /// A keyboard in place of the person's own, or its removal: taken, and of no consequence here.
    Keyboard,
}

impl Markup {
    pub(crate) fn read(params: &Params) -> Result<Self, Refusal> {
        let unreadable = || Refusal::bad("can't parse reply keyboard markup JSON object");
        let Some(value) = params.json("reply_markup").map_err(|_| unreadable())? else {
            return Ok(Self::None);
        };
        let Value::Object(object) = value else {
            return Err(Refusal::bad("object expected as reply markup"));
        };
        if let Some(rows) = object.get("inline_keyboard") {
            let rows = read_rows(rows)?;
            return Ok(if rows.is_empty() { Self::None } else { Self::Inline(rows) });
        }
        let is_set = |name: &str| object.get(name) == Some(&Value::Bool(true));
        Ok(match () {
            () if is_set("force_reply") => Self::ForceReply,
            () if is_set("remove_keyboard") || object.contains_key("keyboard") => Self::Keyboard,
            () => Self::None,
        })
    }

    pub(crate) fn buttons(&self) -> &[Vec<Button>] {
        match self {
            Self::Inline(rows) => rows,
            Self::None | Self::ForceReply | Self::Keyboard => &[],
        }
    }

    /// Only inline buttons are part of a message.
    pub(crate) fn to_json(&self) -> Option<Value> {
        let button = |button: &Button| match &button.url {
            Some(url) => json!({"text": button.text, "url": url}),
            None => json!({"text": button.text, "callback_data": button.data}),
        };
        let row = |row: &Vec<Button>| row.iter().map(button).collect::<Value>();
        match self {
            Self::Inline(rows) => Some(json!({"inline_keyboard": rows.iter().map(row).collect::<Value>()})),
            Self::None | Self::ForceReply | Self::Keyboard => None,
        }
    }
}

fn read_rows(rows: &Value) -> Result<Vec<Vec<Button>>, Refusal> {
    let wrong =
        |what: &str| Refusal::bad(format!("field \"inline_keyboard\" of the InlineKeyboardMarkup {what}"));
    let rows = rows.as_array().ok_or_else(|| wrong("must be of type Array"))?;
    let mut read = Vec::new();
    for row in rows {
        let row = row.as_array().ok_or_else(|| wrong("must be an Array of Arrays"))?;
        let row = row.iter().map(read_button).collect::<Result<Vec<_>, _>>()?;
        if row.len() > MOST_IN_A_ROW {
            // Over there the row is broken in two without a word; nobody here should rely on that.
            return Err(Refusal::bad("BUTTON_ROW_TOO_LONG"));
        }
        if !row.is_empty() {
            read.push(row);
        }
    }
    if read.iter().map(Vec::len).sum::<usize>() > MOST_BUTTONS {
        return Err(Refusal::bad("reply markup is too long"));
    }
    Ok(read)
}

fn read_button(value: &Value) -> Result<Button, Refusal> {
    let wrong = |what: &str| Refusal::bad(format!("can't parse inline keyboard button: {what}"));
    let Value::Object(button) = value else {
        return Err(wrong("InlineKeyboardButton must be an Object"));
    };
    let text = button.get("text").and_then(Value::as_str);
    let text = text.ok_or_else(|| wrong("Can't find field \"text\""))?.trim();
    if text.is_empty() {
        return Err(Refusal::bad("BUTTON_TEXT_INVALID"));
    }
    let word = |name: &str| button.get(name).and_then(Value::as_str).map(str::to_owned);
    match (word("callback_data"), word("url")) {
        (Some(data), None) if (1..=MOST_DATA).contains(&data.len()) => {
            Ok(Button { text: text.to_owned(), data, url: None })
        }
        (Some(_), None) => Err(Refusal::bad("BUTTON_DATA_INVALID")),
        (None, Some(url)) if url.starts_with("https://") || url.starts_with("http://") => {
            Ok(Button { text: text.to_owned(), data: String::new(), url: Some(url) })
        }
        (None, Some(_)) => Err(Refusal::bad("BUTTON_URL_INVALID")),
        (Some(_), Some(_)) => Err(Refusal::bad("BUTTON_TYPE_INVALID")),
        (None, None) => Err(Refusal::bad("text buttons are unallowed in the inline keyboard")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markup: Value, expected: &str) {
        let body = json!({"reply_markup": markup}).to_string();
        let params = Params::read(None, "application/json", body.as_bytes()).unwrap();
        let seen = match Markup::read(&params) {
            Ok(markup) => markup.to_json().map_or("none".to_owned(), |markup| markup.to_string()),
            Err(refusal) => refusal.description,
        };
        assert_eq!(seen, expected);
    }

    fn data(data: &str) -> Value {
        json!({"inline_keyboard": [[{"text": "Yes", "callback_data": data}]]})
    }

    #[test]
    fn buttons_are_checked() {
        check(json!({"inline_keyboard": []}), "none");
        check(json!({"force_reply": true}), "none");
        let full = "é".repeat(32);
        check(
            data(&full),
            &format!(r#"{{"inline_keyboard":[[{{"callback_data":"{full}","text":"Yes"}}]]}}"#),
        );
        check(data(&(full + "x")), "Bad Request: BUTTON_DATA_INVALID");
        check(data(""), "Bad Request: BUTTON_DATA_INVALID");
        check(
            json!({"inline_keyboard": [[{"text": " ", "callback_data": "x"}]]}),
            "Bad Request: BUTTON_TEXT_INVALID",
        );
        check(
            json!({"inline_keyboard": [[{"text": "x"}]]}),
            "Bad Request: text buttons are unallowed in the inline keyboard",
        );
        let row = vec![json!({"text": "x", "callback_data": "x"}); 6];
        check(json!({"inline_keyboard": vec![row; 17]}), "Bad Request: reply markup is too long");
        check(
            json!({"inline_keyboard": [{"text": "x"}]}),
            "Bad Request: field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array of Arrays",
        );
        check(json!("nonsense"), "Bad Request: can't parse reply keyboard markup JSON object");
    }
}
