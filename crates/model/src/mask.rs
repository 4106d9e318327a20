//! Secrets in what a tool printed are masked before the text leaves the process that read it.
//!
//! Patterns of well-known token shapes, plus `name = value` where the name says that the value is secret. The
//! rules err on the side of masking: an excerpt with `••••` too many costs a tap on *Show screen*, a leaked key
//! costs a key.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands in the place of a secret.
pub const MASK: &str = "••••";

/// Token shapes that are secret wherever they stand. The whole match is masked.
const TOKEN_SHAPES: &[&str] = &[
    r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b",   // Telegram bot token, also inside a URL
    r"\bbot\d{8,10}:[A-Za-z0-9_-]{30,}", // the same behind `/bot`
    r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,}", // Slack
    r"\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{16,}", // Anthropic, OpenAI
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",     // GitHub
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",              // GitLab
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", // AWS access key id
    r"\bAIza[A-Za-z0-9_-]{35}",                 // Google
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[A-Za-z0-9_-]{30,}",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", // Stripe
    r"\bhf_[A-Za-z0-9]{30,}",                  // Hugging Face
    r"\bdop_v1_[a-f0-9]{40,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", // JWT
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
];

/// `password = …`, `"api_key": "…"`, `Authorization: Bearer …`, `scheme://user:…@host`: the value is masked, the
/// name stays so that the operator sees what was there.
const NAMED_VALUES: &[&str] = &[
    r#"(?i)(?P<keep>\b[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?["']?[ \t]*[=:][ \t]*["']?)(?P<secret>[^\s"',;]{4,})"#,
    r"(?i)(?P<keep>\bauthorization[ \t]*:[ \t]*(?:bearer|basic|token)[ \t]+)(?P<secret>[^\s]{4,})",
    r"(?i)(?P<keep>--(?:password|token|secret|api-key)[ =])(?P<secret>[^\s-][^\s]{3,})",
    r"(?P<keep>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)(?P<secret>[^\s/@]{3,})(?P<tail>@)",
];

static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&TOKEN_SHAPES.iter().map(|shape| format!("(?:{shape})")).collect::<Vec<_>>().join("|"))
        .expect("the token shapes are constants, checked by the tests")
});
static NAMED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    NAMED_VALUES
        .iter()
        .map(|shape| Regex::new(shape).expect("the named shapes are constants, checked by the tests"))
        .collect()
});

/// `text` with everything that looks like a secret replaced.
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut masked = TOKENS.replace_all(text, MASK);
    for shape in NAMED.iter() {
        if let Cow::Owned(changed) = shape.replace_all(&masked, keep_the_name) {
            masked = Cow::Owned(changed);
        }
    }
    masked
}

/// The same, each secret by as many dots as it has characters: for what is told by its length.
pub fn mask_in_place(text: &str) -> Cow<'_, str> {
    let secrets = secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for secret in secrets {
        masked.push_str(&text[end..secret.start]);
        masked.extend(text[secret.clone()].chars().map(|_| '•'));
        end = secret.end;
    }
    masked.push_str(&text[end..]);
    Cow::Owned(masked)
}

/// Where the secrets of `text` stand: byte ranges, in order, none touching another. For what must keep its shape.
pub fn secrets(text: &str) -> Vec<Range<usize>> {
    let named =
        NAMED.iter().flat_map(|shape| shape.captures_iter(text)).filter_map(|found| found.name("secret"));
    let mut found: Vec<Range<usize>> =
        TOKENS.find_iter(text).chain(named).map(|found| found.range()).collect();
    found.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => apart.push(range),
        }
    }
    apart
}

/// The words of a command line, each masked; a word that follows `--password` and the like is masked whole.
pub fn mask_words<'a>(words: impl IntoIterator<Item = Cow<'a, str>>) -> Vec<String> {
    let mut before = String::new();
    let masked = |word: Cow<'a, str>| {
        let told = mask(&word).into_owned();
        let pair = format!("{before} {word}");
        let is_named = mask(&pair) != pair && mask(&before) == before && told == word;
        before = word.into_owned();
        if is_named { MASK.to_owned() } else { told }
    };
    words.into_iter().map(masked).collect()
}

fn keep_the_name(found: &Captures<'_>) -> String {
    let part = |name| found.name(name).map_or("", |part| part.as_str());
    format!("{}{MASK}{}", part("keep"), part("tail"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(mask(text), expected);
        assert_eq!(mask(expected), expected, "masking is stable");
        let mut rest = expected.split(MASK);
        let mut at = 0;
        for secret in secrets(text) {
            assert_eq!(rest.next(), Some(&text[at..secret.start]), "{text:?}");
            at = secret.end;
        }
        assert_eq!((rest.next(), rest.next()), (Some(&text[at..]), None), "{text:?}");
    }

    #[test]
    fn tokens_are_masked_wherever_they_stand() {
        // Assembled at run time, so that no secret scanner takes this file for a leak.
        let tail = "a1B2".repeat(10);
        check(&format!("run with sk-ant-{tail} now"), "run with •••• now");
        check(&format!("x=ghp_{tail}"), "x=••••");
        check(
            &format!("https://api.example/bot123456789:{}/getMe", &tail[..35]),
            "https://api.example/••••/getMe",
        );
        check(&format!("AKIA{}", "ABCD".repeat(4)), "••••");
        check("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nab", "••••");
    }

    #[test]
    fn named_values_keep_their_name() {
        check("DB_PASSWORD=hunter22 make", "DB_PASSWORD=•••• make");
        check(r#"{"api_key": "abcdef123"}"#, r#"{"api_key": "••••"}"#);
        check("curl -H 'Authorization: Bearer abc.def-123'", "curl -H 'Authorization: Bearer ••••");
        check("postgres://atlas:s3cret@db/x", "postgres://atlas:••••@db/x");
        check("mysql --password hunter22", "mysql --password ••••");
    }

    #[test]
    fn the_words_of_a_command_are_masked_one_by_one() {
        let words = ["mysql", "--password", "hunter22", "-h", "db", "API_KEY=abcdef", "--verbose"];
        let masked = mask_words(words.map(Cow::Borrowed));
        assert_eq!(masked, ["mysql", "--password", MASK, "-h", "db", "API_KEY=••••", "--verbose"]);
    }

    #[test]
    fn ordinary_prompts_are_left_alone() {
        for text in [
            "Password:",
            "Enter token: ",
            "Delete 3 files? (y/n) ",
            "Password for dev@host: ",
            "ssh://host:22/x",
        ] {
            check(text, text);
        }
    }
}
