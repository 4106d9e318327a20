//! Text that fits: escaped, cut on a character, and counted as the service counts.

use std::borrow::Cow;

/// Longest message, in UTF-16 units. The service counts without markup and with entities read; we count all of it.
pub(super) const MOST_UNITS: usize = 4096;

/// The beginning of a text, and how many of its characters are not in it.
pub(super) struct Fitted {
    pub(super) html: String,
    pub(super) left_out: usize,
}

/// As much of `text` as fits, at most `most` characters, shown by `show` and escaped.
///
/// Counted in characters of the text itself: "412 more" are 412 that the program wrote, whatever becomes of them.
pub(super) fn fit<'a, S: Into<Cow<'a, str>>>(
    text: &'a str,
    most: usize,
    room: usize,
    show: impl Fn(&'a str) -> S,
) -> Fitted {
    let ends: Vec<usize> = text.char_indices().map(|(at, char)| at + char.len_utf8()).collect();
    let html = |count: usize| {
        let end = count.checked_sub(1).map_or(0, |last| ends[last]);
        escape(&show(&text[..end]).into())
    };
    let most = most.min(ends.len());
    let whole = html(most);
    if units(&whole) <= room {
        return Fitted { html: whole, left_out: ends.len() - most };
    }
    let (mut fits, mut too_many) = (0, most);
    while fits + 1 < too_many {
        let middle = usize::midpoint(fits, too_many);
        if units(&html(middle)) <= room { fits = middle } else { too_many = middle }
    }
    Fitted { html: html(fits), left_out: ends.len() - fits }
}

/// The three characters that mean something in the service's HTML; the quotation mark is for attributes, which we
/// do not write.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            char => escaped.push(char),
        }
    }
    escaped
}

pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
