//! `setup telegram`: from a token to a tap on a test message, step by step; then the configuration is written.

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use atlasbridge_agents::replace_private;
use atlasbridge_channel::Secret;
use atlasbridge_channel::telegram::API_URL;
use atlasbridge_channel::telegram::setup::{Candidate, Setup as Bot};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::args::Setup;
use crate::client::Client;
use crate::config::{self, Environment, Paths};
use crate::output::Output;

/// How long a person may take to press Start, or the button of the test.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) fn run(command: Setup, output: &Output) -> anyhow::Result<()> {
    let Setup::Telegram { token_stdin, user, api_url } = command;
    let paths = super::home()?;
    // A file that does not hold now must not be mended by overwriting it.
    let loaded = config::load(&paths, &Environment::of_process())?;
    let known = loaded.config.telegram.as_ref();
    let api_url = api_url.as_deref().or(known.map(|known| known.api_url.as_str())).unwrap_or(API_URL);
    let api_url = api_url.trim_end_matches('/');
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (token, users) = if token_stdin {
        let token = token_from_stdin()?;
        runtime.block_on(check(&Bot::new(token.clone(), api_url)?, output))?;
        (token, user)
    } else {
        if !io::stdin().is_terminal() {
            bail!("standard input is no terminal: use `atlasbridge setup telegram --token-stdin --user ID`");
        }
        let token = ask_for_token(output)?;
        // One program may poll with a token. If the hub does with this one, it is stopped; sessions go on.
        let is_same = known.is_some_and(|known| known.bot_token.expose() == token.expose());
        let was_polling = is_same && super::hub::stop(&paths, output)?;
        let user = runtime.block_on(converse(Bot::new(token.clone(), api_url)?, output))?;
        if was_polling {
            output.line("The hub was stopped meanwhile; it starts again by itself.");
        }
        (token, vec![user])
    };
    write(&paths.config, &token, &users, api_url)?;
    // What was written is read back as the hub will read it: a setup that ends well leaves a file that holds.
    config::load(&paths, &Environment::of_process())?;
    output.line(&format!("Written to {}.", paths.config.display()));
    tell_hub(&paths, output)
}

/// The name of the bot that the token belongs to.
async fn check(bot: &Bot, output: &Output) -> anyhow::Result<String> {
    let name = bot.username().await?;
    output.line(&format!("The token is good: it belongs to @{name}."));
    Ok(name)
}

async fn converse(mut bot: Bot, output: &Output) -> anyhow::Result<i64> {
    let name = check(&bot, output).await?;
    output.line(&format!("Open https://t.me/{name} in Telegram and press Start. Waiting …"));
    let user = loop {
        let Some(person) = bot.wait_for_start(PATIENCE).await? else {
            bail!(
                "nobody pressed Start within {} minutes; nothing was written. Run the setup again when you are ready",
                PATIENCE.as_secs() / 60
            );
        };
        if is_confirmed(&person, output)? {
            break person.id;
        }
        output.line("Not added. Waiting for somebody else …");
    };
    bot.send_test(user).await?;
    output.line("A test message was sent. Tap its button …");
    if !bot.wait_for_tap(user, PATIENCE).await? {
        bail!("the button was not tapped within {} minutes; nothing was written", PATIENCE.as_secs() / 60);
    }
    output.line("The tap has arrived.");
    Ok(user)
}

fn is_confirmed(person: &Candidate, output: &Output) -> anyhow::Result<bool> {
    output.line(&format!(
        "{} (id {}) wrote to your bot. May this person answer prompts of your tools? [y/N]",
        person.name, person.id
    ));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn token_from_stdin() -> anyhow::Result<Secret> {
    let mut text = String::new();
    io::stdin().lock().take(1024).read_to_string(&mut text)?;
    checked(text.trim())
}

/// The token is not shown while it is typed or pasted.
fn ask_for_token(output: &Output) -> anyhow::Result<Secret> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    // Before the question: a person who is quick with the paste must not see it either.
    tcsetattr(&stdin, OptionalActions::Now, &hidden)?;
    output.line("Talk to @BotFather in Telegram, make a bot with /newbot, and paste its token here (it is not shown):");
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Now, &before)?;
    output.line("");
    read?;
    checked(line.trim())
}

fn checked(text: &str) -> anyhow::Result<Secret> {
    // The rule is the table's own, so that the file written from it will hold.
    if !config::is_telegram_token(text) {
        bail!(
            "this is no bot token: copy the whole of it from @BotFather, digits, a colon, then about 35 characters"
        );
    }
    Ok(Secret::new(text))
}

/// Writes the section and leaves everything else in the file as it is. The file is replaced at once or not at all.
fn write(file: &Path, token: &Secret, users: &[i64], api_url: &str) -> anyhow::Result<()> {
    let text = config::read_if_present(file)?.unwrap_or_default();
    let document = with_telegram(&text, token, users, api_url)?;
    replace_private(file, document.as_bytes()).with_context(|| format!("replacing {}", file.display()))
}

fn with_telegram(text: &str, token: &Secret, users: &[i64], api_url: &str) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("reading the configuration")?;
    let section = document.entry("telegram").or_insert(Item::Table(Table::new()));
    let section = section.as_table_like_mut().context("telegram in the configuration is no section")?;
    set(section, "bot_token", value(token.expose()));
    let mut allowed: Vec<i64> = section
        .get("allowed_users")
        .and_then(Item::as_array)
        .map(|known| known.iter().filter_map(toml_edit::Value::as_integer).collect())
        .unwrap_or_default();
    for user in users {
        if !allowed.contains(user) {
            allowed.push(*user);
        }
    }
    set(section, "allowed_users", value(allowed.into_iter().collect::<Array>()));
    if api_url != API_URL || section.contains_key("api_url") {
        set(section, "api_url", value(api_url));
    }
    Ok(document.to_string())
}

/// A comment behind a value outlives it.
fn set(section: &mut dyn toml_edit::TableLike, key: &str, mut new: Item) {
    if let (Some(old), Some(new)) = (section.get(key).and_then(Item::as_value), new.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    section.insert(key, new);
}

/// A hub that runs reads the file again; one that does not will when it starts.
fn tell_hub(paths: &Paths, output: &Output) -> anyhow::Result<()> {
    let Ok(mut client) = Client::connect(paths) else {
        output.line("It takes effect with the next `atlasbridge run`, or now with `atlasbridge hub start`.");
        return Ok(());
    };
    let pid = i32::try_from(client.status()?.pid).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.context("the hub has no pid")?;
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).context("telling the hub")?;
    output.line("The hub reads it now; `atlasbridge status` shows whether Telegram is connected.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "123456789:AAE0123456789012345678901234567890a";

    #[test]
    fn the_rest_of_a_file_stays_as_it_is() {
        let before = "# mine\n[prompts]\ntimeout_seconds = 900 # long\n\n[telegram]\nbot_token = \"1:old\" # from a friend\n\
                      allowed_users = [7]\n";
        let after = with_telegram(before, &Secret::new(TOKEN), &[42, 7], API_URL).unwrap();
        assert_eq!(
            after,
            format!(
                "# mine\n[prompts]\ntimeout_seconds = 900 # long\n\n[telegram]\nbot_token = \"{TOKEN}\" # from a friend\n\
                 allowed_users = [7, 42]\n"
            )
        );
    }

    #[test]
    fn an_empty_file_gets_its_section() {
        let after = with_telegram("", &Secret::new(TOKEN), &[42], "http://127.0.0.1:8081").unwrap();
        assert_eq!(
            after,
            format!(
                "[telegram]\nbot_token = \"{TOKEN}\"\nallowed_users = [42]\napi_url = \"http://127.0.0.1:8081\"\n"
            )
        );
    }
}
