//! The rules of single values: what a setting takes, and what is said of everything else. Pure.
//!
//! A refused value is quoted in the message only where it cannot be a secret.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::Path;

use atlasbridge_model::mask::{MASK, mask};
use toml::Spanned;
use toml::de::{DeArray, DeValue};

use super::schema::NO_DEFAULT;
use super::secret::Secret;

/// What kind of value a setting takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Toggle,
    Whole {
        least: u64,
        most: u64,
    },
    Decimal {
        least: f64,
        most: f64,
    },
    /// A decimal in steps of 0.01, as confidence is counted.
    Hundredths {
        least: f64,
        most: f64,
    },
    /// The safe default of a kind of prompt, if it has one, or "none".
    Fallback {
        safe: Option<&'static str>,
    },
    Address,
    File,
    TelegramToken,
    TelegramUsers,
    /// Groups, by their ids, which are negative.
    TelegramChats,
    SlackToken {
        prefix: &'static str,
    },
    /// `first` holds the letters that such an id may begin with.
    SlackId {
        first: &'static str,
        what: &'static str,
    },
    SlackUsers,
    ApiUrl,
    StoreUrl,
    PolicyFile,
}

/// A value that has passed its rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Toggle(bool),
    Whole(u64),
    Decimal(f64),
    Text(String),
    Secret(Secret),
    Numbers(Vec<i64>),
    Texts(Vec<String>),
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

type Checked = Result<Value, Wrong>;

impl Shape {
    pub(super) fn check(self, value: &DeValue<'_>) -> Checked {
        match self {
            Shape::Toggle => match value {
                DeValue::Boolean(on) => Ok(Value::Toggle(*on)),
                other => Err(mismatch("true or false", other)),
            },
            Shape::Whole { least, most } => whole(value, least, most),
            Shape::Decimal { least, most } => decimal(value, least, most).map(Value::Decimal),
            Shape::Hundredths { least, most } => hundredths(value, least, most),
            Shape::Fallback { safe } => fallback(value, safe),
            Shape::Address => address(text(value)?),
            Shape::File => match text(value)? {
                path if Path::new(path).is_absolute() => Ok(Value::Text(path.to_owned())),
                path => Err(wrong(format!("must be an absolute path, found {}", quoted(path)))),
            },
            Shape::TelegramToken => telegram_token(text(value)?),
            Shape::TelegramUsers => telegram_users(list(value)?),
            Shape::TelegramChats => telegram_chats(list(value)?),
            Shape::SlackToken { prefix } => slack_token(text(value)?, prefix),
            Shape::SlackId { first, what } => {
                slack_id(text(value)?, first, what).map(|id| Value::Text(id.to_owned()))
            }
            Shape::SlackUsers => slack_users(list(value)?),
            Shape::ApiUrl => api_url(text(value)?),
            Shape::StoreUrl => store_url(text(value)?),
            Shape::PolicyFile => Err(Wrong {
                cure: Some("remove [policy]: without it every prompt goes to a person".into()),
                ..wrong(
                    "cannot be used: policies come with a later version, and a rule must not seem to hold",
                )
            }),
        }
    }
}

/// What the setting takes, for the reference.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Toggle => f.write_str("`true` or `false`"),
            Shape::Whole { least, most } => write!(f, "whole number, {least} to {most}"),
            Shape::Decimal { least, most } => write!(f, "number, {least} to {most}"),
            Shape::Hundredths { least, most } => write!(f, "number, {least:.2} to {most:.2}, two decimals"),
            Shape::Fallback { safe: Some(safe) } => write!(f, "`\"{safe}\"` or `\"{NO_DEFAULT}\"`"),
            Shape::Fallback { safe: None } => write!(f, "`\"{NO_DEFAULT}\"`"),
            Shape::Address => f.write_str("IP address and port"),
            Shape::File => f.write_str("absolute path"),
            Shape::TelegramToken => f.write_str("bot token, secret"),
            Shape::TelegramUsers => f.write_str("list of positive whole numbers, not empty"),
            Shape::TelegramChats => f.write_str("list of negative whole numbers"),
            Shape::SlackToken { prefix } => write!(f, "token that begins with `{prefix}`, secret"),
            Shape::SlackId { .. } => f.write_str("channel id"),
            Shape::SlackUsers => f.write_str("list of member ids, not empty"),
            Shape::ApiUrl => f.write_str("`https://` URL; `http://` to this machine only"),
            Shape::StoreUrl => f.write_str("`\"sqlite\"`"),
            Shape::PolicyFile => f.write_str("path"),
        }
    }
}

/// As TOML, with secrets masked.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        match self {
            Value::Toggle(on) => write!(f, "{on}"),
            Value::Whole(number) => write!(f, "{number}"),
            Value::Decimal(number) => write!(f, "{number:?}"),
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Secret(_) => f.write_str(&quoted(MASK)),
            Value::Numbers(numbers) => f.write_str(&list(numbers.iter().map(i64::to_string).collect())),
            Value::Texts(texts) => f.write_str(&list(texts.iter().map(|text| quoted(text)).collect())),
        }
    }
}

fn whole(value: &DeValue<'_>, least: u64, most: u64) -> Checked {
    match value {
        DeValue::Integer(_) => {}
        DeValue::Float(float) => {
            return Err(wrong(format!("must be a whole number, found {}", float.as_str())));
        }
        other => return Err(mismatch("a number", other)),
    }
    match integer(value) {
        Some(number) if (least as i128..=most as i128).contains(&number) => Ok(Value::Whole(number as u64)),
        _ => Err(out_of_bounds(value, least, most)),
    }
}

fn decimal(value: &DeValue<'_>, least: f64, most: f64) -> Result<f64, Wrong> {
    let number = match value {
        DeValue::Integer(_) => integer(value).map(|number| number as f64),
        DeValue::Float(float) => float.as_str().parse().ok(),
        other => return Err(mismatch("a number", other)),
    };
    match number {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(out_of_bounds(value, least, most)),
    }
}

fn hundredths(value: &DeValue<'_>, least: f64, most: f64) -> Checked {
    let number = decimal(value, least, most)?;
    let rounded = (number * 100.0).round() / 100.0;
    match (number - rounded).abs() < 1e-9 {
        true => Ok(Value::Decimal(rounded)),
        false => Err(Wrong {
            cure: Some(format!("write {rounded:.2}")),
            ..wrong(format!("counts in steps of 0.01, found {number}"))
        }),
    }
}

/// # Silence-never-approves invariant
/// Only the safe default of the kind and "none" pass, whatever words for "yes" there may be; those we know get
/// the reason as well.
fn fallback(value: &DeValue<'_>, safe: Option<&'static str>) -> Checked {
    let approves = match value {
        DeValue::Boolean(on) => *on,
        DeValue::String(text) => {
            let words = ["y", "yes", "true", "ok", "accept", "allow", "approve", "proceed"];
            words.contains(&text.trim().to_lowercase().as_str())
        }
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => false,
    };
    let cure = match safe {
        Some(safe) => format!("write \"{safe}\", or \"{NO_DEFAULT}\" to leave the prompt on the screen"),
        None => format!("write \"{NO_DEFAULT}\": nothing is ever typed at such a prompt by itself"),
    };
    let refused = |what: String| Wrong { cure: Some(cure.clone()), ..wrong(what) };
    if approves {
        return Err(refused(
            "silence never approves: a prompt that nobody answers cannot be answered with yes".into(),
        ));
    }
    let word = match value {
        DeValue::String(word) => word.as_ref(),
        other => return Err(refused(mismatch("a string", other).what)),
    };
    match word {
        _ if word == NO_DEFAULT || Some(word) == safe => Ok(Value::Text(word.to_owned())),
        _ => Err(refused(format!("has no choice {}", quoted(word)))),
    }
}

fn address(text: &str) -> Checked {
    if text.parse::<SocketAddr>().is_ok() {
        return Ok(Value::Text(text.to_owned()));
    }
    let refused = wrong(format!("must be an IP address and a port, found {}", quoted(text)));
    let cure = if let Some(port) = text.strip_prefix("localhost:") {
        Some(format!("write \"127.0.0.1:{port}\": a name is not an address"))
    } else if text.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4()) {
        Some(format!("write \"{text}:8787\": the port is missing"))
    } else {
        None
    };
    Err(Wrong { cure, ..refused })
}

/// `123456789:AAE…`: the bot's id, a colon, and a secret of 35 characters (30 leave room for other servers).
pub(super) fn telegram_token(text: &str) -> Checked {
    let is_secret = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let holds = text.split_once(':').is_some_and(|(bot, secret)| {
        (1..=20).contains(&bot.len())
            && bot.bytes().all(|byte| byte.is_ascii_digit())
            && secret.len() >= 30
            && secret.chars().all(is_secret)
    });
    match holds {
        true => Ok(Value::Secret(Secret::new(text))),
        false => Err(Wrong {
            cure: Some(
                "copy the whole token from @BotFather: digits, a colon, then about 35 characters".into(),
            ),
            ..wrong("is not a bot token (it is not shown here)")
        }),
    }
}

fn telegram_users(users: &DeArray<'_>) -> Checked {
    let mut ids = Vec::new();
    for user in users {
        let id = match (user.get_ref(), integer(user.get_ref())) {
            (_, Some(id)) if id > 0 && id <= i64::MAX as i128 => id as i64,
            (DeValue::Integer(id), _) if id.as_str().starts_with('-') => {
                return Err(within(
                    user,
                    Wrong {
                        cure: Some("write the ids of people: a negative id is a group".into()),
                        ..wrong(format!("holds {id}, which is not a person's id"))
                    },
                ));
            }
            (DeValue::String(name), _) => return Err(within(user, not_a_user_id(name))),
            (other, _) => {
                return Err(within(
                    user,
                    wrong(format!("must hold positive whole numbers, found {}", name(other))),
                ));
            }
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    not_empty(&ids)?;
    Ok(Value::Numbers(ids))
}

fn telegram_chats(chats: &DeArray<'_>) -> Checked {
    let mut ids = Vec::new();
    for chat in chats {
        match integer(chat.get_ref()) {
            Some(id) if id < 0 && id >= i64::MIN as i128 => ids.push(id as i64),
            _ => {
                return Err(within(
                    chat,
                    Wrong {
                        cure: Some(
                            "write the ids of groups: they are negative; people stand in allowed_users"
                                .into(),
                        ),
                        ..wrong("must hold the ids of groups, which are negative whole numbers")
                    },
                ));
            }
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(Value::Numbers(ids))
}

fn not_a_user_id(text: &str) -> Wrong {
    let cure = match text.parse::<u64>() {
        Ok(id) => format!("write {id} without quotes"),
        Err(_) => "write the numeric id, not the @name: names can change hands".to_owned(),
    };
    Wrong { cure: Some(cure), ..wrong("must hold positive whole numbers, found a string") }
}

fn slack_token(text: &str, prefix: &'static str) -> Checked {
    let rest = text.strip_prefix(prefix);
    if rest.is_some_and(|rest| rest.len() >= 8 && rest.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Ok(Value::Secret(Secret::new(text)));
    }
    let cure = match text {
        _ if text.starts_with("xapp-") || text.starts_with("xoxb-") => match rest {
            Some(_) => "copy the whole token: this one is cut short",
            None => "app_token begins with xapp-, bot_token with xoxb-: the two are swapped",
        },
        _ if text.starts_with("xoxp-") => "this is a user token; copy the Bot User OAuth Token of the app",
        _ => "copy the token from the pages of your app at api.slack.com",
    };
    Err(Wrong {
        cure: Some(cure.to_owned()),
        ..wrong(format!("is not a token that begins with {prefix} (it is not shown here)"))
    })
}

fn slack_id<'a>(text: &'a str, first: &str, what: &str) -> Result<&'a str, Wrong> {
    let is_id = text.len() >= 3
        && text.starts_with(|letter| first.contains(letter))
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    match is_id {
        true => Ok(text),
        false => Err(Wrong {
            cure: Some(format!("write its id, not its name, for example \"{}012AB3CD\"", &first[..1])),
            ..wrong(format!("{} is not the id of {what}", quoted(text)))
        }),
    }
}

fn slack_users(users: &DeArray<'_>) -> Checked {
    let mut ids: Vec<String> = Vec::new();
    for user in users {
        let id = text(user.get_ref()).and_then(|id| slack_id(id, "UW", "a member"));
        let id = id.map_err(|wrong| within(user, wrong))?;
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    not_empty(&ids)?;
    Ok(Value::Texts(ids))
}

/// # Token-in-the-clear invariant
/// Requests to this URL carry a token, so plain http goes to this machine only, and the host is what it seems:
/// no `user@`, no backslash, nothing after the path that a client might read in another way.
fn api_url(text: &str) -> Checked {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(wrong(format!("must be a URL that begins with https://, found {}", quoted(text))));
    };
    if !["http", "https"].contains(&scheme) {
        return Err(wrong(format!("must be a URL that begins with https://, found {scheme}://")));
    }
    if rest.chars().any(|c| "@\\?#".contains(c) || c.is_whitespace() || c.is_control()) {
        return Err(wrong("must be a plain URL: no user, no query, no spaces"));
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let Some(host) = host(authority) else {
        return Err(wrong("must be a URL with a host, and a port at most behind it"));
    };
    if scheme == "http" && !is_this_machine(host) {
        return Err(Wrong {
            cure: Some(format!("write https://{}: plain http is for 127.0.0.1 only", mask(rest))),
            ..wrong("would send your token unencrypted over the network")
        });
    }
    Ok(Value::Text(text.trim_end_matches('/').to_owned()))
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

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The value is not quoted: it may hold the password of a database.
fn store_url(text: &str) -> Checked {
    match text {
        "sqlite" => Ok(Value::Text(text.to_owned())),
        _ if text.starts_with("postgres://") || text.starts_with("postgresql://") => Err(Wrong {
            cure: Some("write url = \"sqlite\"".into()),
            ..wrong("cannot be used: PostgreSQL comes with a later version")
        }),
        _ => Err(Wrong {
            cure: Some("write url = \"sqlite\": the file lies in ATLASBRIDGE_HOME".into()),
            ..wrong("must be \"sqlite\"")
        }),
    }
}

fn text<'a>(value: &'a DeValue<'_>) -> Result<&'a str, Wrong> {
    value.as_str().ok_or_else(|| mismatch("a string", value))
}

fn list<'a, 'i>(value: &'a DeValue<'i>) -> Result<&'a DeArray<'i>, Wrong> {
    value.as_array().ok_or_else(|| mismatch("a list", value))
}

fn integer(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn not_empty<T>(people: &[T]) -> Result<(), Wrong> {
    match people.is_empty() {
        true => Err(wrong("is empty: nobody could answer")),
        false => Ok(()),
    }
}

fn wrong(what: impl Into<String>) -> Wrong {
    Wrong { what: what.into(), cure: None, at: None }
}

fn mismatch(wanted: &str, found: &DeValue<'_>) -> Wrong {
    wrong(format!("must be {wanted}, found {}", name(found)))
}

fn within(part: &Spanned<DeValue<'_>>, wrong: Wrong) -> Wrong {
    Wrong { at: Some(part.span()), ..wrong }
}

fn out_of_bounds(value: &DeValue<'_>, least: impl fmt::Display, most: impl fmt::Display) -> Wrong {
    let found = match value {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        other => name(other).to_owned(),
    };
    Wrong {
        cure: Some(format!("write {least} at least, {most} at most")),
        ..wrong(format!("must be from {least} to {most}, found {found}"))
    }
}

/// Somebody may have put a token in the wrong place.
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
