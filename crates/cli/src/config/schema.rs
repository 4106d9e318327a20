//! The table of all settings: key, type, default or example, rule and sentence, each told once. The structs that the
//! program reads, `config show` and `docs/config.md` are written from it.

use std::net::SocketAddr;
use std::path::PathBuf;

use atlasbridge_channel as channel;
use serde::Deserialize;
use toml::Value;
use toml::de::DeValue;

use super::OnExpiry;
use super::rules::{self, API_URL, Rule, Steps, TOGGLE};

#[derive(Debug)]
pub(super) struct Section {
    /// Its own name behind those of the sections around it, joined by dots.
    pub path: &'static str,
    pub help: &'static str,
    /// Said when the file has the section and this build has nothing that obeys it. Clear it with the feature.
    pub not_yet: Option<&'static str>,
    pub settings: &'static [Setting],
}

/// One key of the file.
#[derive(Debug)]
pub(super) struct Setting {
    pub key: &'static str,
    /// A value that may be written, as TOML; of `Presence::Default` the one that holds.
    pub example: &'static str,
    pub presence: Presence,
    pub rule: Rule,
    pub help: &'static str,
}

/// What holds when the file does not have the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Default,
    Optional,
    /// Once its section is there, so must the key be.
    Required,
    /// The same for a token, which need not lie in the file: this variable stands in for it, and beats it.
    Secret(&'static str),
}

use Presence::{Default, Optional, Required, Secret};
use Rule::{Fallback, Number, Text};
use Steps::{Any, Hundredths, Whole};

/// Sections as the file has them, each with its struct, and `key: type = default or example, presence, rule` in each.
/// Comments with three slashes are the sentences of the reference.
macro_rules! sections {
    ($($(#[doc = $about:literal])+ [$path:literal] $(not_yet = $not_yet:literal)? struct $name:ident $(with $inner:ident: $within:ty)? {
        $($(#[doc = $help:literal])+ $key:ident: $type:ty = $example:tt, $presence:expr, $rule:expr;)+
    })+) => {
        pub(super) const SECTIONS: &[Section] = &[$(Section {
            path: $path,
            help: concat!($($about),+).trim_ascii_start(),
            not_yet: [$(Some($not_yet),)? None][0],
            settings: &[$(Setting {
                key: stringify!($key),
                example: stringify!($example),
                presence: $presence,
                rule: $rule,
                help: concat!($($help),+).trim_ascii_start(),
            }),+],
        }),+];
        $($(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        pub(crate) struct $name {
            $($(#[doc = $help])+ pub(crate) $key: $type,)+
            $(pub(crate) $inner: $within,)?
        })+
    };
}

sections! {
    /// When a tool is taken to be waiting, and how long a prompt waits for a person.
    ["prompts"] struct Prompts with defaults: Defaults {
        /// Seconds that a prompt waits for an answer before its safe default is used.
        // 86400: a prompt older than a day is about a working tree that has moved on.
        timeout_seconds: u64 = 600, Default, Number(Whole, 1.0..=86_400.0);
        /// How sure the detector must be to report a prompt. Lower finds more, higher disturbs less.
        // 0.60: below it the detector makes no prompt at all (SPEC 3.2).
        detection_threshold: f64 = 0.65, Default, Number(Hundredths, 0.60..=1.0);
        /// Seconds of silence that count as waiting, where the system cannot tell whether a program reads its terminal.
        stuck_timeout_seconds: f64 = 2.0, Default, Number(Any, 0.1..=60.0);
        /// Longest time in milliseconds for which the detector looks away while a reply echoes on the screen.
        // 500: a second prompt that follows at once must still be seen (SPEC 3.3).
        echo_suppression_ms: u64 = 500, Default, Number(Whole, 0.0..=500.0);
        /// Milliseconds that a tool gets to react to a typed reply before its screen is read again.
        // 2000: by then the operator is told that the tool did not take the reply (SPEC 3.5).
        inject_settle_ms: u64 = 100, Default, Number(Whole, 10.0..=2_000.0);
        /// Ask people for free text. With `false` such a prompt gets its safe default at once.
        free_text_enabled: bool = true, Default, TOGGLE;
        /// Accept the answer to a password prompt over a channel. It is never stored, logged or echoed, but the
        /// channel's server sees it.
        secrets_over_channels: bool = false, Default, TOGGLE;
        /// Say when an agent has finished and waits for its next instruction.
        notify_idle: bool = true, Default, TOGGLE;
        /// Seconds that chat channels hold back a prompt after somebody typed at its terminal.
        presence_grace_seconds: u64 = 10, Default, Number(Whole, 0.0..=3_600.0);
        /// Show the whole dialog in each message, not only when somebody asks for it. Secrets stay masked.
        show_detail: bool = false, Default, TOGGLE;
    }

    /// What is typed when nobody answers in time, per kind of prompt: the safe default of that kind, or nothing.
    /// Silence never approves: no setting can make a timeout say yes.
    ["prompts.defaults"] struct Defaults {
        /// Questions to be answered with yes or no.
        yes_no: OnExpiry = "n", Default, Fallback(Some("n"));
        /// *Press Enter to continue*.
        confirm_enter: OnExpiry = "enter", Default, Fallback(Some("enter"));
        /// Lists and menus: the choice that refuses or cancels. A dialog that has none is left alone.
        multiple_choice: OnExpiry = "refuse", Default, Fallback(Some("refuse"));
        /// Questions for text: an empty line, unless the question offers a default of its own.
        free_text: OnExpiry = "enter", Default, Fallback(Some("enter"));
        /// Passwords: nothing is ever typed by itself.
        password: OnExpiry = "none", Default, Fallback(None);
        /// An agent that waits for its next instruction.
        idle: OnExpiry = "none", Default, Fallback(None);
        /// A tool that seems to wait, at no dialog we know.
        unknown: OnExpiry = "none", Default, Fallback(None);
    }

    /// The page that AtlasBridge serves on your own machine.
    ["web"] struct Web {
        /// Serve the page.
        enabled: bool = true, Default, TOGGLE;
        /// Address and port of the page. If the port is taken, the next free one is used. Beyond this machine it needs
        /// `self_signed`, or `tls_certificate` and `tls_key`, or `insecure = true`.
        listen: SocketAddr = "127.0.0.1:8787", Default, Text("IP address and port", rules::address);
        /// Certificate chain in PEM form; goes with `tls_key`.
        tls_certificate: Option<PathBuf> = "/etc/atlasbridge/page.crt", Optional,
            Text("absolute path", rules::absolute_path);
        /// Private key in PEM form; goes with `tls_certificate`.
        tls_key: Option<PathBuf> = "/etc/atlasbridge/page.key", Optional,
            Text("absolute path", rules::absolute_path);
        /// Serve the page over TLS with a certificate that AtlasBridge makes for itself; `atlasbridge status` shows its
        /// fingerprint.
        self_signed: bool = false, Default, TOGGLE;
        /// Allow an address beyond this machine without TLS: whoever sees the traffic can answer for you.
        insecure: bool = false, Default, TOGGLE;
    }

    /// Prompts in a chat with your own Telegram bot; `atlasbridge setup telegram` writes this section. Without it
    /// there is none.
    ["telegram"] struct Telegram {
        /// The token that @BotFather gave you.
        bot_token: channel::Secret = "123456789:AAE…", Secret("ATLASBRIDGE_TELEGRAM_BOT_TOKEN"),
            Text("bot token, secret", rules::telegram_token);
        /// The numeric ids of the people who may answer. Everybody else is ignored.
        allowed_users: Vec<i64> = [123456789], Required,
            Rule::Value("list of positive whole numbers, not empty", |users| rules::people(users, rules::telegram_user));
        /// Groups in which prompts are shown, and answered by the allowed users alone. Without any, each allowed user
        /// gets them in the private chat with the bot.
        chats: Vec<i64> = [], Default, Rule::Value("list of negative whole numbers", rules::telegram_groups);
        /// Say when a session starts.
        notify_start: bool = true, Default, TOGGLE;
        /// Say when a session ends, and how.
        notify_end: bool = true, Default, TOGGLE;
        /// Most messages and edits a second in one chat. More is for Bot API servers of your own.
        // 1: what Telegram allows in one chat without asking for patience.
        messages_per_second: f64 = 1.0, Default, Number(Any, 0.1..=30.0);
        /// For a Bot API server of your own, and for tests.
        api_url: String = "https://api.telegram.org", Default, API_URL;
    }

    /// Prompts in a Slack channel, over Socket Mode. Without this section there are none.
    ["slack"] not_yet = "this build has no Slack channel yet" struct Slack {
        /// App-level token with the scope `connections:write`, for Socket Mode.
        app_token: channel::Secret = "xapp-…", Secret("ATLASBRIDGE_SLACK_APP_TOKEN"),
            Text("token that begins with `xapp-`, secret", |text| rules::slack_token(text, "xapp-"));
        /// Bot token of the app.
        bot_token: channel::Secret = "xoxb-…", Secret("ATLASBRIDGE_SLACK_BOT_TOKEN"),
            Text("token that begins with `xoxb-`, secret", |text| rules::slack_token(text, "xoxb-"));
        /// The id of the channel for prompts; it stands at the end of the channel's details.
        channel: String = "C012AB3CD", Required, Text("channel id", |text| rules::slack_id(text, "CGD", "a channel"));
        /// The member ids of the people who may answer (*Copy member ID* in a profile). Everybody else is ignored.
        allowed_users: Vec<String> = ["U012AB3CD"], Required,
            Rule::Value("list of member ids, not empty", |users| rules::people(users, rules::slack_member));
        /// For tests.
        api_url: String = "https://slack.com/api", Default, API_URL;
    }

    /// Where sessions, prompts and replies are kept.
    ["store"] struct StoreSettings {
        /// `"sqlite"`: the file `atlasbridge.db` in the home directory. PostgreSQL (`postgres://…`) comes with a
        /// later version.
        url: String = "sqlite", Default, Text("`\"sqlite\"`", rules::store_url);
        /// Days for which ended sessions and their prompts are kept. The audit log is not touched.
        // 36500: a hundred years, so that "for ever" can be written and arithmetic on days stays small.
        retention_days: u32 = 90, Default, Number(Whole, 1.0..=36_500.0);
    }

    /// Rules that decide by themselves. Comes with a later version; until then a file is refused.
    ["policy"] struct Policy {
        /// The rules. Without them every prompt goes to a person.
        file: Option<PathBuf> = "/path/to/policy", Optional, Rule::Value("path", rules::policy);
    }
}

impl Setting {
    /// The variable that stands in for the key; a setting that has one is a secret.
    pub(super) fn variable(&self) -> Option<&'static str> {
        match self.presence {
            Secret(name) => Some(name),
            Default | Optional | Required => None,
        }
    }

    pub(super) fn is_required(&self) -> bool {
        matches!(self.presence, Required | Secret(_))
    }

    pub(super) fn default(&self) -> Option<Value> {
        let value = DeValue::parse(self.example).ok().filter(|_| self.presence == Default)?;
        self.rule.check(value.get_ref()).ok()
    }
}

impl Section {
    pub(super) fn find(&self, key: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// The last word of the path.
    pub(super) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The sections right under this path; the empty one is the file itself.
    pub(super) fn under(path: &str) -> impl Iterator<Item = &'static Section> {
        let around = |section: &Section| section.path.rsplit_once('.').map_or("", |(around, _)| around);
        SECTIONS.iter().filter(move |section| around(section) == path)
    }

    /// A channel without its section does not exist, so its defaults mean nothing.
    pub(super) fn is_channel(&self) -> bool {
        self.settings.iter().any(Setting::is_required)
    }
}
