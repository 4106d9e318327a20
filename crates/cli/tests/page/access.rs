//! Who gets in, where the page is, and who is turned away. The matrix of requests is in `crates/web/tests`; here are
//! the commands and the configuration around it.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use atlasbridge_testkit::page::Visitor;
use atlasbridge_testkit::{Finished, Home, Terminal, eventually, npm_package};
use serde_json::{Value, json};

use crate::tools::Tools;
use crate::{Desk, reserve};

#[test]
fn a_link_works_once() {
    let desk = Desk::new();
    let link = desk.link();
    let visitor = Visitor::enter(&link).unwrap();
    assert_eq!(visitor.get("/api/me").status, 200);
    let refused = Visitor::enter(&link).unwrap_err();
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("atlasbridge open"), "{refused:?}");
    assert!(!refused.head.contains("set-cookie"), "{refused:?}");
    let record = desk.home.audit_has("REPLY_REJECTED", None);
    assert_eq!((&record["value"], &record["source"]), (&json!("wrong_link"), &json!("web")));
}

/// How `status` says that the page is.
fn state_of_page(desk: &Desk) -> Value {
    let status = desk.home.run(["status", "--json"]).json();
    let channels = status["hub"]["channels"].as_array().cloned().unwrap_or_default();
    let page = channels.into_iter().find(|channel| channel["name"] == "web");
    page.map_or(Value::Null, |page| page["state"].clone())
}

#[test]
fn a_page_that_fails_is_served_again() {
    let desk = Desk::new();
    desk.home.breaks("page");
    desk.home.run(["hub", "start"]);
    eventually("the failure is seen", || (state_of_page(&desk) == "retrying").then_some(()));
    desk.home.mends("page");
    eventually("it is served again", || (state_of_page(&desk) == "connected").then_some(()));
    assert_eq!(desk.visitor().get("/api/me").status, 200);
}

#[test]
fn a_page_that_fails_again_and_again_is_told_by_status() {
    let desk = Desk::new();
    desk.home.breaks("page");
    desk.home.run(["hub", "start"]);
    eventually("it is given up", || (state_of_page(&desk) == "stopped").then_some(()));
    let log = fs::read_to_string(desk.home.path().join("hub.log")).unwrap();
    assert_eq!(log.matches("the page failed").count(), 4, "{log}");
    let link = desk.home.run(["open", "--json"]);
    assert!(link.stdout.contains("again and again") || link.stderr.contains("again and again"), "{link:?}");
    // What has nothing to do with it goes on.
    assert_eq!(desk.home.run(["approvals", "--json"]).stdout.trim(), "[]");
}

#[test]
fn a_tool_inside_a_session_gets_no_link() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let logins_before = desk.home.run(["open", "--list", "--json"]).json();
    let binary = desk.home.binary().display().to_string();
    // By itself, and through a shell that has left its parents behind.
    let label = tools.start(
        &[],
        &format!(
            "export ATLASBRIDGE_HOME='{}'\nout=$({binary} open --json 2>&1); note \"$? $out\"\n\
             ( setsid sh -c '{binary} open --print > \"$0.out\" 2>&1; echo $? > \"$0.code\"' \"$RECORD\" & )\n\
             until [ -s \"$RECORD.code\" ]; do sleep 0.05; done\nnote \"$(cat \"$RECORD.code\") $(cat \"$RECORD.out\")\"\n\
             {binary} open --revoke all > \"$RECORD.out\" 2>&1; note \"$? $(cat \"$RECORD.out\")\"",
            desk.home.path().display()
        ),
    );
    let said = eventually("the tool has tried three times", || {
        Some(tools.read(&label)).filter(|said| said.iter().filter(|line| line.starts_with("1 ")).count() == 3)
    });
    assert!(said.iter().all(|line| line.contains("session") && !line.contains("open#")), "{said:?}");
    let rejected = desk.home.audit().into_iter();
    let rejected: Vec<Value> = rejected.filter(|record| record["event"] == "REPLY_REJECTED").collect();
    assert_eq!(rejected.len(), 3, "{rejected:?}");
    assert_eq!(desk.home.run(["open", "--list", "--json"]).json(), logins_before);
    assert_eq!(tools.visitor().get("/api/me").status, 200);
}

#[test]
fn a_login_outlives_the_hub() {
    let desk = Desk::new();
    let visitor = desk.visitor();
    let me = visitor.get("/api/me").json()["visitor"].clone();
    desk.home.kill_hub();
    assert_eq!(desk.home.run(["hub", "start"]).code, 0);
    assert_eq!(visitor.get("/api/me").json()["visitor"], me);
    let stopped = desk.home.run(["hub", "restart"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(visitor.get("/api/me").json()["visitor"], me);
}

#[test]
fn a_revoked_login_sees_and_does_nothing_more() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let card = tools.ask("yes_no");
    let session = card["session"]["id"].as_str().unwrap();
    let (one, other) = (desk.visitor(), desk.visitor());
    let name = one.get("/api/me").json()["visitor"].as_str().unwrap().to_owned();
    let listed = desk.home.run(["open", "--list", "--json"]).json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|login| login["name"].as_str().unwrap()).collect();
    assert!(names.len() == 3 && names.contains(&name.as_str()), "{names:?}");
    let (mut events, mut live) = (one.events(), one.live(session));
    assert!(events.next("prompts").is_some());
    assert_eq!(live.hear().unwrap()["t"], "screen");
    let revoked = desk.home.run(["open", "--revoke", &name]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
    while events.next("prompts").is_some() {}
    while live.hear().is_some() {}
    assert_eq!(one.get("/api/prompts").status, 401);
    assert_eq!(one.answers(&card, json!({ "choice": 0 })).status, 401);
    assert_eq!(other.get("/api/prompts").status, 200, "only this one");
    assert_eq!(desk.home.run(["open", "--revoke", &name]).code, 1, "it is gone");
    assert_eq!(desk.home.run(["open", "--revoke", "all"]).code, 0);
    assert_eq!(other.get("/api/prompts").status, 401);
    assert_eq!(desk.home.run(["open", "--list", "--json"]).json(), json!([]));
    assert!(tools.read("tool 0").is_empty());
}

#[test]
fn a_port_that_is_taken_is_passed_over() {
    let (reserved, port) = reserve();
    let _taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config(&format!("[web]\nlisten = \"127.0.0.1:{port}\"\n"));
    assert_eq!(home.run(["hub", "start"]).code, 0);
    let base = page_of(&home)["address"].as_str().unwrap().to_owned();
    assert!(!base.ends_with(&format!(":{port}")), "{base}");
    assert!(home.run(["status"]).stdout.contains(&base));
    let link = home.run(["open", "--json"]).json()["url"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&base), "{link}");
    let visitor = Visitor::enter(&link).unwrap();
    assert_eq!(visitor.get("/api/me").status, 200);
    drop(reserved);
}

#[test]
fn where_to_answer_is_told_before_the_tool_begins() {
    let desk = Desk::new();
    let told = Terminal::start(
        desk.home.binary(),
        &["run", "--", "echo", "the tool"],
        &desk.home.environment(),
        100,
        30,
    );
    let (_, shown) = told.end();
    let (hint, tool) = (shown.find("`atlasbridge open`"), shown.find("the tool"));
    assert!(hint.is_some() && hint < tool, "{shown:?}");
    let (_, quiet) = desk.home.run_in_terminal(&["run", "--quiet", "--", "echo", "the tool"]).end();
    assert_eq!(quiet, "the tool\r\n");
}

#[test]
fn a_page_that_is_switched_off_is_not_served() {
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config("[web]\nenabled = false\n");
    assert_eq!(home.run(["hub", "start"]).code, 0);
    let channels = home.run(["status", "--json"]).json()["hub"]["channels"].clone();
    assert!(
        channels.as_array().is_none_or(|channels| channels.iter().all(|channel| channel["name"] != "web")),
        "{channels}"
    );
    let refused = home.run(["open", "--json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("enabled = true"), "{refused:?}");
}

#[test]
fn an_address_that_others_reach_needs_tls() {
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config("[web]\nlisten = \"0.0.0.0:0\"\n");
    for refused in [home.run(["config", "check"]), home.run(["run", "--", "echo", "started"])] {
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("self_signed") && refused.stderr.contains("insecure"), "{refused:?}");
        assert!(!refused.stdout.contains("started"), "{refused:?}");
    }
}

#[test]
fn a_certificate_of_our_own_is_shown_by_its_fingerprint() {
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config("[web]\nlisten = \"127.0.0.1:0\"\nself_signed = true\n");
    assert_eq!(home.run(["hub", "start"]).code, 0);
    let page = page_of(&home);
    let base = page["address"].as_str().unwrap().to_owned();
    let told = page["detail"].as_str().unwrap().to_owned();
    assert!(base.starts_with("https://"), "{page}");
    assert!(home.run(["status"]).stdout.contains(&told));
    let certificate = home.scratch().join("shown.pem");
    let address = base.strip_prefix("https://").unwrap();
    let shown = program(Command::new("openssl").args(["s_client", "-connect", address]));
    fs::write(&certificate, &shown.stdout).unwrap();
    let printed = program(
        Command::new("openssl").args(["x509", "-noout", "-fingerprint", "-sha256", "-in"]).arg(&certificate),
    );
    let fingerprint = printed.stdout.trim().split('=').nth(1).unwrap();
    assert!(told.ends_with(fingerprint), "{told} is not {fingerprint}");
    let health = format!("{base}/healthz");
    let trusting = program(
        Command::new("curl").args(["-sS", "--cacert"]).args([&certificate.display().to_string(), &health]),
    );
    assert_eq!(trusting.code, 0, "{trusting:?}");
    assert_ne!(program(Command::new("curl").args(["-sS", &health])).code, 0, "nobody else vouches for it");
    let plain = program(Command::new("curl").args(["-sS", &health.replace("https://", "http://")]));
    assert!(!plain.stdout.contains("ok"), "{plain:?}");
    // The same one after a restart, or the comparison would be in vain.
    assert_eq!(home.run(["hub", "restart"]).code, 0);
    assert_eq!(page_of(&home)["detail"].as_str(), Some(told.as_str()));
}

#[test]
fn the_code_for_a_phone_says_the_link() {
    let desk = Desk::new();
    let (code, printed) = desk.home.run_in_terminal(&["open", "--qr"]).end();
    assert_eq!(code, 0, "{printed}");
    let link = printed.split_whitespace().find(|word| word.contains("/open#"));
    let decoded = program(
        Command::new("node").args(["-e", DECODE, &printed]).env("NODE_PATH", npm_package("jsqr", "1.4.0")),
    );
    assert_eq!(Some(decoded.stdout.trim()), link, "{decoded:?}");
    assert!(printed.contains("a phone cannot reach it"), "{printed}");
    Visitor::enter(decoded.stdout.trim()).unwrap();
}

/// Half blocks to pixels, four to a module, with a white rim as a terminal has around it; and what a phone would read.
const DECODE: &str = r"
const rows = process.argv[1].split('\n').filter((line) => line.includes('\x1b[30;107m')).map((line) => [...line.replace(/\x1b\[[\d;]*m|\r/g, '')]);
const dark = (x, y) => { const cell = rows[y >> 1]?.[x]; return cell === '█' || cell === (y % 2 ? '▄' : '▀'); };
const [rim, scale] = [4, 4], width = (rows[0].length + 2 * rim) * scale, height = (rows.length * 2 + 2 * rim) * scale;
const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
for (let y = 0; y < height; y++) for (let x = 0; x < width; x++)
  if (dark(Math.floor(x / scale) - rim, Math.floor(y / scale) - rim)) pixels.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
console.log(require('jsqr')(pixels, width, height)?.data ?? 'nothing was read');
";

/// The page's line of `status`.
#[track_caller]
fn page_of(home: &Home) -> Value {
    let status = home.run(["status", "--json"]).json();
    let channels = status["hub"]["channels"].as_array().cloned().unwrap_or_default();
    channels
        .into_iter()
        .find(|channel| channel["name"] == "web")
        .unwrap_or_else(|| panic!("no page in {status}"))
}

#[track_caller]
fn program(command: &mut Command) -> Finished {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")).into()
}
