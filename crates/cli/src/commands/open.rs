//! `open`: a one-time link to the page, in a browser or as a QR code; and who has come in by one.

use std::process::{Command, Stdio};

use atlasbridge_wire::command::{LoginView, Request, Response};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::json;

use crate::args::Open;
use crate::client::{Client, answered};
use crate::output::Output;

pub(super) fn run(args: Open, output: &Output) -> anyhow::Result<()> {
    let mut client = super::hub()?;
    if args.list {
        return list(&mut client, args.json, output);
    }
    if let Some(name) = args.revoke {
        return revoke(&mut client, name, output);
    }
    let url = answered!(client.ask(&Request::WebLink)?, Response::WebLink { url } => url);
    if args.json {
        return output.json(&json!({ "url": url }));
    }
    if args.qr {
        output.raw(&qr(&url)?);
        if is_loopback(&url) {
            output.warn(
                "the page is served on this machine alone, so a phone cannot reach it: set `listen` in [web] to an \
                 address that it can reach, with `self_signed = true`, and run `atlasbridge hub restart`",
            );
        }
    }
    let is_opened = !args.qr && !args.print && has_display() && open_browser(&url);
    output.line(match is_opened {
        true => "The page opens in your browser. If it does not, open this link:",
        false => "Open this link in a browser:",
    });
    output.line(&format!("  {url}"));
    output.line("It works once, within five minutes; the browser stays signed in after that.");
    Ok(())
}

fn list(client: &mut Client, json: bool, output: &Output) -> anyhow::Result<()> {
    let logins = answered!(client.ask(&Request::WebLogins)?, Response::WebLogins { logins } => logins);
    if json {
        return output.json(&logins);
    }
    let row = |login: &LoginView| {
        vec![login.name.clone(), login.created_at.clone(), login.seen_at.clone(), login.device.clone()]
    };
    let header = ["name", "signed in", "last seen", "browser"];
    output.table(&header, logins.iter().map(row), "No browser is signed in.");
    Ok(())
}

fn revoke(client: &mut Client, name: String, output: &Output) -> anyhow::Result<()> {
    let name = (name != "all").then_some(name);
    answered!(client.ask(&Request::WebRevoke { name })?, Response::Done => ());
    output.line("Signed out. `atlasbridge open` makes a new link.");
    Ok(())
}

/// Two modules a character, in colours that scan on light and dark terminals alike.
fn qr(url: &str) -> anyhow::Result<String> {
    let code = QrCode::new(url.as_bytes())?.render::<Dense1x2>().build();
    Ok(code.lines().map(|line| format!("\x1b[30;107m{line}\x1b[0m\n")).collect())
}

fn is_loopback(url: &str) -> bool {
    ["//127.", "//[::1]", "//localhost"].iter().any(|host| url.contains(host))
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The link is handed over as an argument that other processes of this user can read for a moment; it is spent by the
/// browser that opens it, and a process inside a session may look at it as little as it may ask for one.
fn open_browser(url: &str) -> bool {
    Command::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_square_and_has_a_margin() {
        let text = qr("http://127.0.0.1:8787/open#0123456789abcdef").unwrap();
        let rows: Vec<String> =
            text.lines().map(|line| line.replace("\x1b[30;107m", "").replace("\x1b[0m", "")).collect();
        let side = rows[0].chars().count();
        assert!(rows.iter().all(|row| row.chars().count() == side));
        assert_eq!(rows.len(), side.div_ceil(2));
        assert!(rows[0].chars().all(|char| char == ' '));
    }

    #[test]
    fn a_phone_cannot_reach_a_loopback_address() {
        assert!(is_loopback("http://127.0.0.1:8787/open#x"));
        assert!(!is_loopback("https://192.168.1.7:8787/open#x"));
    }
}
