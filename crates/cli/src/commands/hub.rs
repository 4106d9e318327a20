//! `hub`: start, stop, restart, status, and being it.

mod stop;

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use atlasbridge_channel::telegram::{self, BotSettings};
use atlasbridge_hub::{ChannelStart, Defaults, HubConfig, Settings, serve};
use atlasbridge_model::speech;
use atlasbridge_web::{PageConfig, Tls};
use atlasbridge_wire::command::{ChannelView, HubView};
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;

use crate::args::Hub;
use crate::client::Client;
use crate::config::{self, Config, Environment, OnExpiry, Paths, Telegram, Web};
use crate::output::Output;

pub(super) use stop::stop;

/// Where the command that started us in the background waits for the word that we listen.
const READY: &str = "/proc/self/fd/3";

pub(super) const NOT_RUNNING: &str = "The hub does not run. It starts by itself with `atlasbridge run TOOL`.";

pub(super) fn run(command: Hub, output: &Output) -> anyhow::Result<()> {
    let paths = super::home()?;
    match command {
        Hub::Start | Hub::Restart => {
            super::config_of(&paths, output)?;
            if matches!(command, Hub::Restart) {
                stop(&paths, output)?;
            }
            let hub = Client::connect_or_start(&paths)?;
            output.line(&format!("The hub runs (version {}).", hub.version));
        }
        Hub::Stop => output.line(match stop(&paths, output)? {
            true => "The hub has stopped. Sessions go on; the next prompt starts it again.",
            false => "The hub does not run.",
        }),
        Hub::Status { json } => status(&paths, json, output)?,
        Hub::Serve { background } => be_the_hub(&paths, background, output)?,
    }
    Ok(())
}

fn status(paths: &Paths, json: bool, output: &Output) -> anyhow::Result<()> {
    let Some(mut client) = Client::if_running(paths)? else {
        return output.told(json, &stopped(paths), NOT_RUNNING);
    };
    let hub = client.status()?;
    if json {
        return output.json(&running(paths, &hub)?);
    }
    output.fields(&[
        ("hub", "running".to_owned()),
        ("pid", hub.pid.to_string()),
        ("version", format!("{} (protocol {})", hub.version, hub.protocol)),
        ("started", hub.started_at.clone()),
        ("socket", paths.socket().display().to_string()),
        ("sessions", hub.sessions.to_string()),
        ("waiting", hub.prompts.to_string()),
        ("channels", channels(&hub)),
    ]);
    warn_of_trouble(&hub, output);
    Ok(())
}

pub(super) fn warn_of_trouble(hub: &HubView, output: &Output) {
    if let Some(trouble) = &hub.trouble {
        output.warn(&speech::trouble(trouble));
    }
}

pub(super) fn channels(hub: &HubView) -> String {
    let shown = |channel: &ChannelView| format!("{} ({})", channel.name, state_of(channel));
    if hub.channels.is_empty() {
        return "command line".to_owned();
    }
    hub.channels.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// How a channel is, where it is reached, and why it is not connected.
pub(super) fn state_of(channel: &ChannelView) -> String {
    let more = [&channel.address, &channel.detail].into_iter().flatten();
    std::iter::once(&channel.state).chain(more).cloned().collect::<Vec<_>>().join(", ")
}

pub(super) fn stopped(paths: &Paths) -> Value {
    json!({ "running": false, "pid": null, "socket": paths.socket(), "version": null, "sessions": 0, "channels": [] })
}

pub(super) fn running(paths: &Paths, hub: &HubView) -> anyhow::Result<Value> {
    let mut view = serde_json::to_value(hub)?;
    view["running"] = true.into();
    view["socket"] = json!(paths.socket());
    Ok(view)
}

fn be_the_hub(paths: &Paths, background: bool, output: &Output) -> anyhow::Result<()> {
    let ready = background.then(|| File::options().write(true).open(READY)).transpose();
    let ready = ready.context("opening the descriptor for the word that we are ready")?;
    log_to(paths, background)?;
    let result = config_and_serve(paths, ready);
    if let (Err(error), true) = (&result, background) {
        // Our standard error is seen by no person: the log is where `hub start` sends people.
        tracing::error!(error = %format!("{error:#}"), "the hub could not go on");
    }
    if result.is_ok() && !background {
        output.line("The hub has stopped.");
    }
    result
}

fn config_and_serve(paths: &Paths, ready: Option<File>) -> anyhow::Result<()> {
    // One provider for every TLS connection of the process; a second call would only say that there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let loaded = config::load(paths, &Environment::of_process())?;
    let again = paths.clone();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the hub")?;
    runtime.block_on(serve(HubConfig {
        socket: paths.socket(),
        lock: paths.lock(),
        database: paths.database(),
        audit_log: paths.audit_log(),
        journals: paths.journal_dir(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: settings(&loaded.config, paths),
        reload: Box::new(move || {
            let loaded =
                config::load(&again, &Environment::of_process()).map_err(|error| error.to_string())?;
            Ok(settings(&loaded.config, &again))
        }),
        ready,
    }))?;
    Ok(())
}

fn settings(config: &Config, paths: &Paths) -> Settings {
    let defaults = &config.prompts.defaults;
    let takes = |on_expiry| on_expiry == OnExpiry::SafeDefault;
    Settings {
        ttl: Duration::from_secs(config.prompts.timeout_seconds),
        retention: Duration::from_secs(u64::from(config.store.retention_days) * 24 * 60 * 60),
        free_text_enabled: config.prompts.free_text_enabled,
        secrets_over_channels: config.prompts.secrets_over_channels,
        presence_grace: Duration::from_secs(config.prompts.presence_grace_seconds),
        show_detail: config.prompts.show_detail,
        channels: config.telegram.iter().map(telegram).collect(),
        page: page(&config.web, paths),
        defaults: Defaults {
            yes_no: takes(defaults.yes_no),
            confirm_enter: takes(defaults.confirm_enter),
            multiple_choice: takes(defaults.multiple_choice),
            free_text: takes(defaults.free_text),
        },
    }
}

/// How the hub starts the Telegram channel. What changes in the configuration changes `version`.
fn telegram(config: &Telegram) -> ChannelStart {
    let mut hasher = DefaultHasher::new();
    // A token shows itself to `expose` alone, everything else in the debug form.
    (config.bot_token.expose(), format!("{config:?}")).hash(&mut hasher);
    let settings = BotSettings {
        bot_token: config.bot_token.clone(),
        allowed_users: config.allowed_users.clone(),
        chats: config.chats.clone(),
        messages_per_second: config.messages_per_second,
        api_url: config.api_url.clone(),
    };
    ChannelStart {
        name: telegram::NAME,
        notify_start: config.notify_start,
        notify_end: config.notify_end,
        version: hasher.finish(),
        start: Arc::new(move |last_offset, inbound| {
            let (handle, work) = telegram::start(settings.clone(), last_offset, inbound);
            (handle, Box::pin(work))
        }),
    }
}

fn page(web: &Web, paths: &Paths) -> Option<PageConfig> {
    let files = web.tls_certificate.clone().zip(web.tls_key.clone());
    let files = files.map(|(certificate, key)| Tls::Files { certificate, key });
    let tls = files.or_else(|| web.self_signed.then(|| Tls::SelfSigned { dir: paths.home.clone() }));
    let version = env!("CARGO_PKG_VERSION").to_owned();
    web.enabled.then_some(PageConfig { listen: web.listen, tls, version })
}

/// # One-event-one-line invariant
/// An event is one line of the log: an error of the configuration has several, and what looks like a line
/// of ours must be one. The formatter hands over each event in one piece.
struct OneLine<W>(W);

impl<W: std::io::Write> std::io::Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.trim_end_matches('\n').replace('\r', "\\r").replace('\n', "\\n");
        writeln!(self.0, "{line}")?;
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn log_to(paths: &Paths, background: bool) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_env("ATLASBRIDGE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
    if background {
        let path = paths.hub_log();
        let file = File::options().append(true).create(true).mode(0o600).open(&path);
        let file = file.with_context(|| format!("opening {}", path.display()))?;
        let file = Arc::new(file);
        let writer = move || OneLine(Arc::clone(&file));
        builder.with_ansi(false).with_writer(writer).init();
    } else {
        builder.with_writer(|| OneLine(std::io::stderr())).init();
    }
    Ok(())
}
