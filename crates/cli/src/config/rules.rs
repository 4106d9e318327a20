//! The rules of single values: what a setting takes, and what is said of everything else. Pure.
//!
//! A refused value is quoted in the message only where it cannot be a secret.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use atlasbridge_model::mask::mask;
use toml::Value;
use toml::de::DeValue;

/// What a setting takes. Where it has words of its own, they are those of the reference.
#[derive(Debug)]
pub(super) enum Rule {
    Number(Steps, RangeInclusive<f64>),
    /// The safe default of a kind of prompt, if it has one, or "none".
    Fallback(Option<&'static str>),
    /// The check gives the text as it is used from now on.
    Text(&'static str, fn(&str) -> Result<&str, Wrong>),
    /// The check gives the value as the structs of `Config` take it.
    Value(&'static str, fn(&DeValue<'_>) -> Result<Value, Wrong>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    Whole,
    /// As confidence is counted.
    Hundredths,
    Any,
}

/// Why a value was refused.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Continues a sentence that begins with the key.
    pub what: String,
    /// What to do instead, where the setting's example would not say it.
    pub cure: Option<String>,
    /// The part of the value that is meant, where it is not the whole.
    pub at: Option<Range<usize>>,
}

/// The word for "when nobody answers, type nothing".
const NO_DEFAULT: &str = "none";

pub(super) const TOGGLE: Rule = Rule::Value("`true` or `false`", toggle);

pub(super) const API_URL: Rule = Rule::Text("`https://` URL; `http://` to this machine only", api_url);

impl Rule {
    /// The value as the structs of `Config` take it.
    pub(super) fn check(&self, value: &DeValue<'_>) -> Result<Value, Wrong> {
        match self {
            Rule::Number(steps, bounds) => check_number(value, *steps, bounds),
            Rule::Fallback(safe) => check_fallback(value, *safe),
            Rule::Text(_, check) => check(text(value)?).map(Value::from),
            Rule::Value(_, check) => check(value),
        }
    }
}

/// What the setting takes, for the reference.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Number(steps, bounds) => {
                let (least, most) = (bounds.start(), bounds.end());
                match steps {
                    Steps::Whole => write!(f, "whole number, {least} to {most}"),
                    Steps::Hundredths => write!(f, "number, {least:.2} to {most:.2}, two decimals"),
                    Steps::Any => write!(f, "number, {least} to {most}"),
                }
            }
            Rule::Fallback(Some(safe)) => write!(f, "`\"{safe}\"` or `\"{NO_DEFAULT}\"`"),
            Rule::Fallback(None) => write!(f, "`\"{NO_DEFAULT}\"`"),
            Rule::Text(takes, _) | Rule::Value(takes, _) => f.write_str(takes),
        }
    }
}

impl Wrong {
    fn cure(self, cure: impl Into<String>) -> Self {
        Self { cure: Some(cure.into()), ..self }
    }
}

fn wrong(what: impl Into<String>) -> Wrong {
    Wrong { what: what.into(), cure: None, at: None }
}

fn mismatch(wanted: &str, found: &DeValue<'_>) -> Wrong {
    wrong(format!("must be {wanted}, found {}", name(found)))
}

fn toggle(value: &DeValue<'_>) -> Result<Value, Wrong> {
    value.as_bool().map(Value::from).ok_or_else(|| mismatch("true or false", value))
}

fn check_number(value: &DeValue<'_>, steps: Steps, bounds: &RangeInclusive<f64>) -> Result<Value, Wrong> {
    let (found, number) = match (value.as_float(), value.as_integer()) {
        (Some(float), _) if steps == Steps::Whole => {
            return Err(wrong(format!("must be a whole number, found {float}")));
        }
        (Some(float), _) => (float.to_string(), float.as_str().parse().ok()),
        (None, Some(written)) => (written.to_string(), integer(value).map(|number| number as f64)),
        (None, None) => return Err(mismatch("a number", value)),
    };
    let Some(number) = number.filter(|number| bounds.contains(number)) else {
        let (least, most) = (bounds.start(), bounds.end());
        return Err(wrong(format!("must be from {least} to {most}, found {found}"))
            .cure(format!("write {least} at least, {most} at most")));
    };
    let rounded = (number * 100.0).round() / 100.0;
    match steps {
        Steps::Whole => Ok(Value::from(number as i64)),
        Steps::Any => Ok(Value::from(number)),
        Steps::Hundredths if (number - rounded).abs() < 1e-9 => Ok(Value::from(rounded)),
        Steps::Hundredths => {
            Err(wrong(format!("counts in steps of 0.01, found {number}")).cure(format!("write {rounded:.2}")))
        }
    }
}

/// # Silence-never-approves invariant
/// Only the safe default of the kind and "none" pass, whatever words for "yes" there may be; those we know get
/// the reason as well.
fn check_fallback(value: &DeValue<'_>, safe: Option<&str>) -> Result<Value, Wrong> {
    let means_yes = |word: &str| {
        let words = ["y", "yes", "true", "ok", "accept", "allow", "approve", "proceed"];
        words.contains(&word.trim().to_lowercase().as_str())
    };
    let refused = match value.as_str() {
        Some(word) if word == NO_DEFAULT || Some(word) == safe => return Ok(Value::from(word)),
        _ if value.as_bool() == Some(true) || value.as_str().is_some_and(means_yes) => {
            wrong("silence never approves: a prompt that nobody answers cannot be answered with yes")
        }
        Some(word) => wrong(format!("has no choice {}", quoted(word))),
        None => mismatch("a string", value),
    };
    Err(refused.cure(match safe {
        Some(safe) => format!("write \"{safe}\", or \"{NO_DEFAULT}\" to leave the prompt on the screen"),
        None => format!("write \"{NO_DEFAULT}\": nothing is ever typed at such a prompt by itself"),
    }))
}

pub(super) fn address(text: &str) -> Result<&str, Wrong> {
    if text.parse::<SocketAddr>().is_ok() {
        return Ok(text);
    }
    let refused = wrong(format!("must be an IP address and a port, found {}", quoted(text)));
    match text.strip_prefix("localhost:") {
        Some(port) => {
            Err(refused.cure(format!("write \"127.0.0.1:{}\": a name is not an address", mask(port))))
        }
        None if text.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4()) => {
            Err(refused.cure(format!("write \"{text}:8787\": the port is missing")))
        }
        None => Err(refused),
    }
}

pub(super) fn absolute_path(text: &str) -> Result<&str, Wrong> {
    let is_absolute = Path::new(text).is_absolute().then_some(text);
    is_absolute.ok_or_else(|| wrong(format!("must be an absolute path, found {}", quoted(text))))
}

/// `123456789:AAE…`: the bot's id, a colon, and a secret of 35 characters (30 leave room for other servers).
pub(super) fn telegram_token(text: &str) -> Result<&str, Wrong> {
    let is_secret = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let holds = text.split_once(':').is_some_and(|(bot, secret)| {
        (1..=20).contains(&bot.len())
            && bot.bytes().all(|byte| byte.is_ascii_digit())
            && secret.len() >= 30
            && secret.chars().all(is_secret)
    });
    holds.then_some(text).ok_or_else(|| {
        wrong("is not a bot token (it is not shown here)")
            .cure("copy the whole token from @BotFather: digits, a colon, then about 35 characters")
    })
}

/// The ids of those who may answer, each once and never none.
pub(super) fn people(value: &DeValue<'_>, check: CheckItem) -> Result<Value, Wrong> {
    match list(value, check)? {
        people if people.is_empty() => Err(wrong("is empty: nobody could answer")),
        people => Ok(Value::from(people)),
    }
}

pub(super) fn telegram_user(user: &DeValue<'_>) -> Result<Value, Wrong> {
    if let Some(id) = integer(user).filter(|id| *id > 0) {
        return Ok(Value::from(id));
    }
    let refused = wrong(format!("must hold positive whole numbers, found {}", name(user)));
    match (user.as_str().map(str::parse::<u64>), user.as_integer()) {
        (Some(Ok(id)), _) => Err(refused.cure(format!("write {id} without quotes"))),
        (Some(Err(_)), _) => Err(refused.cure("write the numeric id, not the @name: names can change hands")),
        (None, Some(id)) if id.as_str().starts_with('-') => {
            Err(wrong(format!("holds {id}, which is not a person's id"))
                .cure("write the ids of people: a negative id is a group"))
        }
        (None, _) => Err(refused),
    }
}

/// A set.
pub(super) fn telegram_groups(value: &DeValue<'_>) -> Result<Value, Wrong> {
    let mut groups = list(value, |group| {
        integer(group).filter(|id| *id < 0).map(Value::from).ok_or_else(|| {
            wrong("must hold the ids of groups, which are negative whole numbers")
                .cure("write the ids of groups: they are negative; people stand in allowed_users")
        })
    })?;
    groups.sort_by_key(Value::as_integer);
    Ok(Value::from(groups))
}

pub(super) fn slack_token<'a>(text: &'a str, prefix: &str) -> Result<&'a str, Wrong> {
    let rest = text.strip_prefix(prefix);
    if rest.is_some_and(|rest| rest.len() >= 8 && rest.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Ok(text);
    }
    let cure = match text.get(..5) {
        _ if rest.is_some() => "copy the whole token: this one is cut short",
        Some("xapp-" | "xoxb-") => "app_token begins with xapp-, bot_token with xoxb-: the two are swapped",
        Some("xoxp-") => "this is a user token; copy the Bot User OAuth Token of the app",
        _ => "copy the token from the pages of your app at api.slack.com",
    };
    Err(wrong(format!("is not a token that begins with {prefix} (it is not shown here)")).cure(cure))
}

pub(super) fn slack_member(member: &DeValue<'_>) -> Result<Value, Wrong> {
    slack_id(text(member)?, "UW", "a member").map(Value::from)
}

/// `first` holds the letters that such an id may begin with.
pub(super) fn slack_id<'a>(text: &'a str, first: &str, what: &str) -> Result<&'a str, Wrong> {
    let is_id = text.len() >= 3
        && text.starts_with(|letter| first.contains(letter))
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    is_id.then_some(text).ok_or_else(|| {
        wrong(format!("{} is not the id of {what}", quoted(text)))
            .cure(format!("write its id, not its name, for example \"{}012AB3CD\"", &first[..1]))
    })
}

/// # Token-in-the-clear invariant
/// Requests to this URL carry a token, so plain http goes to this machine only, and the host is what it seems:
/// no `user@`, no backslash, nothing after the path that a client might read in another way.
fn api_url(text: &str) -> Result<&str, Wrong> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(wrong(format!("must be a URL that begins with https://, found {}", quoted(text))));
    };
    if !["http", "https"].contains(&scheme) {
        return Err(wrong(format!("must be a URL that begins with https://, found {}://", mask(scheme))));
    }
    if rest.chars().any(|c| "@\\?#".contains(c) || c.is_whitespace() || c.is_control()) {
        return Err(wrong("must be a plain URL: no user, no query, no spaces"));
    }
    let Some(host) = host(rest.split('/').next().unwrap_or_default()) else {
        return Err(wrong("must be a URL with a host, and a port at most behind it"));
    };
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if scheme == "http" && !is_here {
        return Err(wrong("would send your token unencrypted over the network")
            .cure(format!("write https://{}: plain http is for 127.0.0.1 only", mask(rest))));
    }
    Ok(text.trim_end_matches('/'))
}

/// The host of `host`, `host:port` or `[v6]:port`; `None` if it is none of these.
fn host(authority: &str) -> Option<&str> {
    let (host, after) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_holds =
        after.is_empty() || after.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (port_holds && !host.is_empty()).then_some(host)
}

/// The value is not quoted: it may hold the password of a database.
pub(super) fn store_url(text: &str) -> Result<&str, Wrong> {
    match text {
        "sqlite" => Ok(text),
        _ if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
            Err(wrong("cannot be used: PostgreSQL comes with a later version").cure("write url = \"sqlite\""))
        }
        _ => {
            Err(wrong("must be \"sqlite\"").cure("write url = \"sqlite\": the file lies in ATLASBRIDGE_HOME"))
        }
    }
}

/// Refused in this version, every value of it.
pub(super) fn policy(_: &DeValue<'_>) -> Result<Value, Wrong> {
    Err(wrong("cannot be used: policies come with a later version, and a rule must not seem to hold")
        .cure("remove [policy]: without it every prompt goes to a person"))
}

fn text<'a>(value: &'a DeValue<'_>) -> Result<&'a str, Wrong> {
    value.as_str().ok_or_else(|| mismatch("a string", value))
}

type CheckItem = fn(&DeValue<'_>) -> Result<Value, Wrong>;

/// What the check makes of each item, without repetitions; a refusal points at its item.
fn list(value: &DeValue<'_>, check: CheckItem) -> Result<Vec<Value>, Wrong> {
    let mut items = Vec::new();
    for item in value.as_array().ok_or_else(|| mismatch("a list", value))? {
        let checked = check(item.get_ref()).map_err(|wrong| Wrong { at: Some(item.span()), ..wrong })?;
        if !items.contains(&checked) {
            items.push(checked);
        }
    }
    Ok(items)
}

/// None that is too large for any setting.
fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A person may have put a token in the wrong place.
fn quoted(text: &str) -> String {
    format!("{:?}", mask(text))
}

pub(super) fn name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}
