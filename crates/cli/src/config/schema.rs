//! The table of all settings: name, rule, default and one sentence each. `docs/config.md` is written from it.

use super::shape::Shape;

/// One key of the file.
#[derive(Debug)]
pub(super) struct Setting {
    /// Sections and key, joined by dots.
    pub path: &'static str,
    pub shape: Shape,
    pub presence: Presence,
    pub help: &'static str,
}

/// What holds when the file does not have the key. The texts are TOML.
#[derive(Debug, Clone, Copy)]
pub(super) enum Presence {
    Default(&'static str),
    /// Once its section is there, so must the key be.
    Required {
        example: &'static str,
    },
    Optional {
        example: &'static str,
    },
}

#[derive(Debug)]
pub(super) struct Section {
    pub path: &'static str,
    pub help: &'static str,
    /// Said when the file has the section and this build has nothing that obeys it. Clear it with the feature.
    pub not_yet: Option<&'static str>,
}

/// The word for "when nobody answers, type nothing".
pub(super) const NO_DEFAULT: &str = "none";

/// Variables that stand in for a key, so that a token need not lie in the file.
pub(super) const FROM_ENVIRONMENT: [(&str, &str); 3] = [
    ("ATLASBRIDGE_TELEGRAM_BOT_TOKEN", "telegram.bot_token"),
    ("ATLASBRIDGE_SLACK_APP_TOKEN", "slack.app_token"),
    ("ATLASBRIDGE_SLACK_BOT_TOKEN", "slack.bot_token"),
];

pub(super) const SECTIONS: &[Section] = &[
    section("prompts", "When a tool is taken to be waiting, and how long a prompt waits for a person."),
    section(
        "prompts.defaults",
        "What is typed when nobody answers in time, per kind of prompt: the safe default of that kind, or nothing. \
         Silence never approves: no setting can make a timeout say yes.",
    ),
    section("web", "The page that AtlasBridge serves on your own machine."),
    section(
        "telegram",
        "Prompts in a chat with your own Telegram bot; `atlasbridge setup telegram` writes this section. Without it \
         there is none.",
    ),
    Section {
        not_yet: Some("this build has no Slack channel yet"),
        ..section(
            "slack",
            "Prompts in a Slack channel, over Socket Mode. Without this section there are none.",
        )
    },
    section("store", "Where sessions, prompts and replies are kept."),
    section(
        "policy",
        "Rules that decide by themselves. Comes with a later version; until then a file is refused.",
    ),
];

pub(super) const SETTINGS: &[Setting] = &[
    // 86400: a prompt older than a day is about a working tree that has moved on.
    setting(
        "prompts.timeout_seconds",
        Shape::Whole { least: 1, most: 86_400 },
        Presence::Default("600"),
        "Seconds that a prompt waits for an answer before its safe default is used.",
    ),
    // 0.60: below it the detector makes no prompt at all (SPEC 3.2).
    setting(
        "prompts.detection_threshold",
        Shape::Hundredths { least: 0.60, most: 1.0 },
        Presence::Default("0.65"),
        "How sure the detector must be to report a prompt. Lower finds more, higher disturbs less.",
    ),
    setting(
        "prompts.stuck_timeout_seconds",
        Shape::Decimal { least: 0.1, most: 60.0 },
        Presence::Default("2.0"),
        "Seconds of silence that count as waiting, where the system cannot tell whether a program reads its terminal.",
    ),
    // 500: a second prompt that follows at once must still be seen (SPEC 3.3).
    setting(
        "prompts.echo_suppression_ms",
        Shape::Whole { least: 0, most: 500 },
        Presence::Default("500"),
        "Longest time in milliseconds for which the detector looks away while a reply echoes on the screen.",
    ),
    // 2000: by then the operator is told that the tool did not take the reply (SPEC 3.5).
    setting(
        "prompts.inject_settle_ms",
        Shape::Whole { least: 10, most: 2_000 },
        Presence::Default("100"),
        "Milliseconds that a tool gets to react to a typed reply before its screen is read again.",
    ),
    setting(
        "prompts.free_text_enabled",
        Shape::Toggle,
        Presence::Default("true"),
        "Ask people for free text. With `false` such a prompt gets its safe default at once.",
    ),
    setting(
        "prompts.secrets_over_channels",
        Shape::Toggle,
        Presence::Default("false"),
        "Accept the answer to a password prompt over a channel. It is never stored, logged or echoed, but the \
         channel's server sees it.",
    ),
    setting(
        "prompts.notify_idle",
        Shape::Toggle,
        Presence::Default("true"),
        "Say when an agent has finished and waits for its next instruction.",
    ),
    setting(
        "prompts.presence_grace_seconds",
        Shape::Whole { least: 0, most: 3_600 },
        Presence::Default("10"),
        "Seconds that chat channels hold back a prompt after somebody typed at its terminal.",
    ),
    setting(
        "prompts.show_detail",
        Shape::Toggle,
        Presence::Default("false"),
        "Show the whole dialog in each message, not only when somebody asks for it. Secrets stay masked.",
    ),
    setting(
        "prompts.defaults.yes_no",
        Shape::Fallback { safe: Some("n") },
        Presence::Default("\"n\""),
        "Questions to be answered with yes or no.",
    ),
    setting(
        "prompts.defaults.confirm_enter",
        Shape::Fallback { safe: Some("enter") },
        Presence::Default("\"enter\""),
        "*Press Enter to continue*.",
    ),
    setting(
        "prompts.defaults.multiple_choice",
        Shape::Fallback { safe: Some("refuse") },
        Presence::Default("\"refuse\""),
        "Lists and menus: the choice that refuses or cancels. A dialog that has none is left alone.",
    ),
    setting(
        "prompts.defaults.free_text",
        Shape::Fallback { safe: Some("enter") },
        Presence::Default("\"enter\""),
        "Questions for text: an empty line, unless the question offers a default of its own.",
    ),
    setting(
        "prompts.defaults.password",
        Shape::Fallback { safe: None },
        Presence::Default("\"none\""),
        "Passwords: nothing is ever typed by itself.",
    ),
    setting(
        "prompts.defaults.idle",
        Shape::Fallback { safe: None },
        Presence::Default("\"none\""),
        "An agent that waits for its next instruction.",
    ),
    setting(
        "prompts.defaults.unknown",
        Shape::Fallback { safe: None },
        Presence::Default("\"none\""),
        "A tool that seems to wait, at no dialog we know.",
    ),
    setting("web.enabled", Shape::Toggle, Presence::Default("true"), "Serve the page."),
    setting(
        "web.listen",
        Shape::Address,
        Presence::Default("\"127.0.0.1:8787\""),
        "Address and port of the page. If the port is taken, the next free one \
         is used. Beyond this machine it needs `self_signed`, or `tls_certificate` and `tls_key`, or `insecure = true`.",
    ),
    setting(
        "web.tls_certificate",
        Shape::File,
        Presence::Optional { example: "\"/etc/atlasbridge/page.crt\"" },
        "Certificate chain in PEM form; goes with `tls_key`.",
    ),
    setting(
        "web.tls_key",
        Shape::File,
        Presence::Optional { example: "\"/etc/atlasbridge/page.key\"" },
        "Private key in PEM form; goes with `tls_certificate`.",
    ),
    setting(
        "web.self_signed",
        Shape::Toggle,
        Presence::Default("false"),
        "Serve the page over TLS with a certificate that AtlasBridge makes for itself; `atlasbridge status` shows its \
         fingerprint.",
    ),
    setting(
        "web.insecure",
        Shape::Toggle,
        Presence::Default("false"),
        "Allow an address beyond this machine without TLS: whoever sees the traffic can answer for you.",
    ),
    setting(
        "telegram.bot_token",
        Shape::TelegramToken,
        Presence::Required { example: "\"123456789:AAE…\"" },
        "The token that @BotFather gave you.",
    ),
    setting(
        "telegram.allowed_users",
        Shape::TelegramUsers,
        Presence::Required { example: "[123456789]" },
        "The numeric ids of the people who may answer. Everybody else is ignored.",
    ),
    setting(
        "telegram.chats",
        Shape::TelegramChats,
        Presence::Default("[]"),
        "Groups in which prompts are shown, and answered by the allowed users alone. Without any, each allowed user \
         gets them in the private chat with the bot.",
    ),
    setting("telegram.notify_start", Shape::Toggle, Presence::Default("true"), "Say when a session starts."),
    setting(
        "telegram.notify_end",
        Shape::Toggle,
        Presence::Default("true"),
        "Say when a session ends, and how.",
    ),
    // 1: what Telegram allows in one chat without asking for patience.
    setting(
        "telegram.messages_per_second",
        Shape::Decimal { least: 0.1, most: 30.0 },
        Presence::Default("1.0"),
        "Most messages and edits a second in one chat. More is for Bot API servers of your own.",
    ),
    setting(
        "telegram.api_url",
        Shape::ApiUrl,
        Presence::Default("\"https://api.telegram.org\""),
        "For a Bot API server of your own, and for tests.",
    ),
    setting(
        "slack.app_token",
        Shape::SlackToken { prefix: "xapp-" },
        Presence::Required { example: "\"xapp-…\"" },
        "App-level token with the scope `connections:write`, for Socket Mode.",
    ),
    setting(
        "slack.bot_token",
        Shape::SlackToken { prefix: "xoxb-" },
        Presence::Required { example: "\"xoxb-…\"" },
        "Bot token of the app.",
    ),
    setting(
        "slack.channel",
        Shape::SlackId { first: "CGD", what: "a channel" },
        Presence::Required { example: "\"C012AB3CD\"" },
        "The id of the channel for prompts; it stands at the end of the channel's details.",
    ),
    setting(
        "slack.allowed_users",
        Shape::SlackUsers,
        Presence::Required { example: "[\"U012AB3CD\"]" },
        "The member ids of the people who may answer (*Copy member ID* in a profile). Everybody else is ignored.",
    ),
    setting("slack.api_url", Shape::ApiUrl, Presence::Default("\"https://slack.com/api\""), "For tests."),
    setting(
        "store.url",
        Shape::StoreUrl,
        Presence::Default("\"sqlite\""),
        "`\"sqlite\"`: the file `atlasbridge.db` in the home directory. PostgreSQL (`postgres://…`) comes with a \
         later version.",
    ),
    // 36500: a hundred years, so that "for ever" can be written and arithmetic on days stays small.
    setting(
        "store.retention_days",
        Shape::Whole { least: 1, most: 36_500 },
        Presence::Default("90"),
        "Days for which ended sessions and their prompts are kept. The audit log is not touched.",
    ),
    setting(
        "policy.file",
        Shape::PolicyFile,
        Presence::Optional { example: "\"/path/to/policy\"" },
        "The rules. Without them every prompt goes to a person.",
    ),
];

pub(super) fn find_setting(path: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.path == path)
}

pub(super) fn find_section(path: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.path == path)
}

impl Setting {
    pub(super) fn section(&self) -> &'static str {
        split(self.path).0
    }

    pub(super) fn key(&self) -> &'static str {
        split(self.path).1
    }

    /// A value that may be written, as TOML.
    pub(super) fn example(&self) -> &'static str {
        match self.presence {
            Presence::Default(text) => text,
            Presence::Required { example } | Presence::Optional { example } => example,
        }
    }
}

/// The section (empty at the top) and the last word of a path.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

const fn section(path: &'static str, help: &'static str) -> Section {
    Section { path, help, not_yet: None }
}

const fn setting(path: &'static str, shape: Shape, presence: Presence, help: &'static str) -> Setting {
    Setting { path, shape, presence, help }
}
