//! The fake over raw HTTP, as a bot sees it. Data where it can be: a method, its parameters, the answer.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::http::{self, Answer};

const TOKEN: &str = "123456:TEST-token_x";
const ANN: i64 = 4_242;

fn start() -> FakeTelegram {
    let telegram = FakeTelegram::start(TOKEN);
    telegram.private_chat(ANN, "Ann");
    telegram
}

impl FakeTelegram {
    fn call(&self, method: &str, params: Value) -> std::io::Result<Answer> {
        http::post_json(&format!("{}/bot{TOKEN}/{method}", self.api_url()), &params)
    }

    /// The result, or the code and description of the refusal.
    #[track_caller]
    fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).unwrap();
        let envelope = answer.json();
        if envelope["ok"] == json!(true) {
            assert_eq!(answer.status, 200);
            return envelope["result"].clone();
        }
        assert_eq!(envelope["error_code"], json!(answer.status));
        json!(format!("{} {}", answer.status, envelope["description"].as_str().unwrap()))
    }

    #[track_caller]
    fn check(&self, method: &str, params: Value, expected: &str) {
        let seen = self.ask(method, params.clone());
        let seen = seen.as_str().map_or_else(|| format!("ok {seen}"), str::to_owned);
        let fits = match expected.strip_suffix('…') {
            Some(beginning) => seen.starts_with(beginning),
            None => seen == expected,
        };
        assert!(fits, "{method} {params}\n  gave {seen}\n  not  {expected}");
    }

    #[track_caller]
    fn send(&self, chat: i64, text: &str) -> i64 {
        self.ask("sendMessage", json!({"chat_id": chat, "text": text}))["message_id"].as_i64().unwrap()
    }

    #[track_caller]
    fn update_ids(&self, params: Value) -> Vec<i64> {
        let batch = self.ask("getUpdates", params);
        let batch = batch.as_array().unwrap_or_else(|| panic!("{batch}"));
        batch.iter().map(|update| update["update_id"].as_i64().unwrap()).collect()
    }
}

fn buttons() -> Value {
    json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}], [{"text": "No", "callback_data": "n"}]]})
}

#[test]
fn tokens_and_methods_are_told_apart() {
    let telegram = start();
    let url = telegram.api_url();
    let status = |path: &str| {
        let answer = http::get(&format!("{url}{path}")).unwrap();
        (answer.status, answer.json()["description"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(status(&format!("/bot{TOKEN}/getMe")).0, 200);
    assert_eq!(status(&format!("/bot{TOKEN}/GETME")).0, 200);
    assert_eq!(status("/bot123456:wrong/getMe"), (401, "Unauthorized".to_owned()));
    assert_eq!(status("/botnonsense/getMe"), (404, "Not Found".to_owned()));
    assert_eq!(status(&format!("/bot{TOKEN}/getNothing")), (404, "Not Found".to_owned()));
    assert_eq!(status("/elsewhere"), (404, "Not Found".to_owned()));
    telegram.revokes_token("123456:another");
    assert_eq!(status(&format!("/bot{TOKEN}/getMe")).0, 401);
}

#[test]
fn messages_are_checked() {
    let telegram = start();
    telegram.limits(Limits::none());
    telegram.stranger(7, "Bob");
    let text = |chat: Value, text: &str| json!({"chat_id": chat, "text": text});
    telegram.check("sendMessage", json!({"text": "x"}), "400 Bad Request: chat_id is empty");
    telegram.check("sendMessage", text(json!(1), "x"), "400 Bad Request: chat not found");
    telegram.check("sendMessage", text(json!("@nobody"), "x"), "400 Bad Request: chat not found");
    telegram.check(
        "sendMessage",
        text(json!(7), "x"),
        "403 Forbidden: bot can't initiate conversation with a user",
    );
    telegram.check("sendMessage", text(json!(ANN), " \n"), "400 Bad Request: message text is empty");
    telegram.check("sendMessage", text(json!(ANN.to_string()), &"😀".repeat(2048)), "ok …");
    telegram.check(
        "sendMessage",
        text(json!(ANN), &("😀".repeat(2048) + "x")),
        "400 Bad Request: message is too long",
    );
    // The limit holds for what is left when the tags are read.
    let long = format!("<b>{}</b>&lt;", "x".repeat(4095));
    telegram.check("sendMessage", json!({"chat_id": ANN, "text": long, "parse_mode": "HTML"}), "ok …");
    telegram.check(
        "sendMessage",
        json!({"chat_id": ANN, "text": "<b>x", "parse_mode": "html"}),
        "400 Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\"",
    );
    telegram.check(
        "sendMessage",
        json!({"chat_id": ANN, "text": "x", "entities": [{"type": "bold", "offset": 0, "length": 2}]}),
        "400 Bad Request: ENTITY_BOUNDS_INVALID",
    );
    telegram.check(
        "sendMessage",
        json!({"chat_id": ANN, "text": "x", "reply_parameters": {"message_id": 999}}),
        "400 Bad Request: message to be replied not found",
    );
    telegram.check(
        "sendMessage",
        json!({"chat_id": ANN, "text": "x", "reply_parameters":
            {"message_id": 999, "allow_sending_without_reply": true}}),
        "ok …",
    );
    telegram.blocks(ANN);
    telegram.check("sendMessage", text(json!(ANN), "x"), "403 Forbidden: bot was blocked by the user");
    assert!(telegram.violations().is_empty());
    telegram.ask("sendMessage", json!({"chat_id": ANN, "text": "x", "reply_makrup": {}}));
    assert_eq!(telegram.violations(), ["sendMessage has no parameter \"reply_makrup\""]);
}

#[test]
fn edits_are_checked_and_kept() {
    let telegram = start();
    telegram.limits(Limits::none());
    let theirs = telegram.says(ANN, ANN, "hello");
    let sent = telegram.ask("sendMessage", json!({"chat_id": ANN, "text": "a", "reply_markup": buttons()}));
    let id = &sent["message_id"];
    let edit = |id: &Value, text: &str| json!({"chat_id": ANN, "message_id": id, "text": text});
    let same = json!({"chat_id": ANN, "message_id": id, "text": "a ", "reply_markup": buttons()});
    telegram.check("editMessageText", same, "400 Bad Request: message is not modified: specified new…");
    telegram.check("editMessageText", edit(&json!(999), "b"), "400 Bad Request: message to edit not found");
    telegram.check("editMessageText", edit(&json!(theirs), "b"), "400 Bad Request: message can't be edited");
    telegram.check("editMessageText", edit(id, &"x".repeat(4097)), "400 Bad Request: MESSAGE_TOO_LONG");
    // An edit without buttons takes them away.
    let edited = telegram.ask("editMessageText", edit(id, "b"));
    assert_eq!((&edited["text"], &edited["reply_markup"]), (&json!("b"), &Value::Null));
    assert!(edited["edit_date"].is_u64());
    telegram.check(
        "editMessageReplyMarkup",
        json!({"chat_id": ANN, "message_id": id}),
        "400 Bad Request: message is not modified…",
    );
    let message = telegram.message(ANN, id.as_i64().unwrap());
    assert_eq!((message.text.as_str(), message.edits), ("b", 1));
    assert_eq!(message.history[0].text, "a");
    assert_eq!(message.history[0].buttons.len(), 2);
    telegram.check("deleteMessage", json!({"chat_id": ANN, "message_id": id}), "ok true");
    telegram.check(
        "deleteMessage",
        json!({"chat_id": ANN, "message_id": id}),
        "400 Bad Request: message to delete not found",
    );
    assert!(telegram.messages(ANN).is_empty());
    assert_eq!(telegram.deleted(ANN).len(), 1);
}

#[test]
fn taps_are_delivered_answered_and_forgotten() {
    let telegram = start();
    let sent = telegram.ask("sendMessage", json!({"chat_id": ANN, "text": "a", "reply_markup": buttons()}));
    let tap = telegram.taps(ANN, ANN, sent["message_id"].as_i64().unwrap(), "Yes");
    let batch = telegram.ask("getUpdates", json!({}));
    let query = &batch[0]["callback_query"];
    assert_eq!((&query["data"], &query["id"]), (&json!("y"), &json!(tap.0)));
    assert_eq!(query["message"]["reply_markup"], buttons());
    assert_eq!(query["from"]["id"], json!(ANN));
    assert!(query["chat_instance"].is_string());
    let answer = |text: String| json!({"callback_query_id": tap.0, "text": text});
    telegram.check("answerCallbackQuery", answer("x".repeat(201)), "400 Bad Request: MESSAGE_TOO_LONG");
    assert_eq!(telegram.tap_answer(&tap), None);
    telegram.check("answerCallbackQuery", answer("applied".to_owned()), "ok true");
    assert_eq!(telegram.tap_answer(&tap).unwrap().text.as_deref(), Some("applied"));
    let too_old = "400 Bad Request: query is too old and response timeout expired or query ID is invalid";
    telegram.check("answerCallbackQuery", json!({"callback_query_id": "1"}), too_old);
    telegram.advance(Duration::from_secs(151));
    telegram.check("answerCallbackQuery", answer("late".to_owned()), too_old);
    // Never confirmed, and never delivered again either.
    assert_eq!(telegram.pending(), 0);
}

#[test]
fn a_poll_waits_and_is_woken() {
    let telegram = start();
    thread::scope(|scope| {
        let poll = scope.spawn(|| telegram.update_ids(json!({"timeout": 30})));
        telegram.wait_polled("the poll waits");
        telegram.says(ANN, ANN, "hello");
        assert_eq!(poll.join().unwrap().len(), 1);
    });
    assert!(!telegram.is_polled());
    // Unconfirmed, it comes again; confirmed, it never does.
    telegram.says(ANN, ANN, "again");
    telegram.advance(Duration::from_secs(4));
    let [first, second] = telegram.update_ids(json!({}))[..] else { panic!("not two") };
    assert_eq!(second, first + 1);
    assert_eq!(telegram.update_ids(json!({"offset": first + 1})), [first + 1]);
    assert_eq!(telegram.update_ids(json!({"offset": first + 2})), [0; 0]);
    assert_eq!(telegram.pending(), 0);
    // A long poll ends empty when its time is over.
    thread::scope(|scope| {
        let poll = scope.spawn(|| telegram.update_ids(json!({"offset": first + 2, "timeout": 30})));
        telegram.wait_polled("the poll waits");
        telegram.advance(Duration::from_secs(31));
        assert_eq!(poll.join().unwrap(), [0; 0]);
    });
}

#[test]
fn a_second_poll_ends_the_first() {
    let telegram = start();
    thread::scope(|scope| {
        let poll = |offset: i64| telegram.ask("getUpdates", json!({"timeout": 30, "offset": offset}));
        let first = scope.spawn(move || poll(1));
        telegram.wait_polled("the first waits");
        let second = scope.spawn(move || poll(2));
        assert_eq!(
            first.join().unwrap(),
            "409 Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
        );
        telegram.says(ANN, ANN, "hello");
        assert_eq!(second.join().unwrap().as_array().unwrap().len(), 1);
        // A conflict soon after another is answered slowly.
        telegram.advance(Duration::from_secs(4));
        let third = scope.spawn(move || poll(telegram_end()));
        telegram.wait_polled("the third waits");
        telegram.ask("setWebhook", json!({"url": "https://example.org/hook"}));
        assert_eq!(third.join().unwrap(), "409 Conflict: terminated by setWebhook request");
    });
    telegram.check("setWebhook", json!({"url": "http://x"}), "400 Bad Request: bad webhook: An HTTPS URL…");
    telegram.advance(Duration::from_secs(4));
    telegram.check(
        "getUpdates",
        json!({}),
        "409 Conflict: can't use getUpdates method while webhook is active;…",
    );
    assert_eq!(telegram.ask("getWebhookInfo", json!({}))["url"], "https://example.org/hook");
    telegram.check("deleteWebhook", json!({"drop_pending_updates": true}), "ok true");
    assert_eq!(telegram.ask("getWebhookInfo", json!({}))["url"], "");
    telegram.check("getUpdates", json!({}), "ok []");
}

/// An offset after the first update.
fn telegram_end() -> i64 {
    871_000_002
}

#[test]
fn pace_is_kept_and_haste_recorded() {
    let telegram = start();
    telegram.limits(Limits { per_chat: 0.1, ..Limits::default() });
    for _ in 0..3 {
        telegram.send(ANN, "x");
    }
    let message = json!({"chat_id": ANN, "text": "x"});
    let answer = telegram.call("sendMessage", message.clone()).unwrap();
    let seconds = answer.json()["parameters"]["retry_after"].as_u64().unwrap();
    assert!((1..=10).contains(&seconds), "{seconds}");
    let description = format!("Too Many Requests: retry after {seconds}");
    assert_eq!(answer.json()["description"], description);
    assert!(answer.head.contains(&format!("retry-after: {seconds}\r\n")), "{}", answer.head);
    assert!(telegram.violations().is_empty());
    telegram.check("sendMessage", message, "429 Too Many Requests: retry after …");
    assert_eq!(telegram.violations().len(), 1, "{:?}", telegram.violations());
    telegram.advance(Duration::from_secs(11));
    telegram.send(ANN, "x");
    let statuses: Vec<_> = telegram.calls().iter().map(|call| call.status.unwrap()).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429, 200]);
}

#[test]
fn faults_come_on_demand() {
    let telegram = start();
    telegram.limits(Limits::none());
    let send = || telegram.call("sendMessage", json!({"chat_id": ANN, "text": "x"}));
    let sent = || telegram.messages(ANN).len();
    telegram.fails("sendMessage", Fault::Status(502), Times::Next(1));
    telegram.fails("sendMessage", Fault::Status(504), Times::Next(1));
    assert_eq!((send().unwrap().status, send().unwrap().status, sent()), (502, 504, 0));
    telegram.fails("*", Fault::DropBefore, Times::Next(1));
    assert!(send().is_err());
    assert_eq!(sent(), 0);
    telegram.fails("*", Fault::DropAfterHandling, Times::Next(1));
    assert!(send().is_err());
    assert_eq!(sent(), 1);
    telegram.fails("*", Fault::CutJson, Times::Next(1));
    let cut = send().unwrap();
    assert_eq!((cut.status, sent()), (200, 2));
    assert!(serde_json::from_str::<Value>(&cut.body).is_err(), "{cut:?}");
    telegram.fails("sendMessage", Fault::TooManyRequests { retry_after: 5 }, Times::Next(1));
    assert_eq!((send().unwrap().status, sent()), (429, 2));
    assert!(telegram.violations().is_empty());
    assert_eq!(send().unwrap().status, 429);
    assert_eq!(telegram.violations().len(), 1);
    telegram.advance(Duration::from_secs(6));
    telegram.fails("sendMessage", Fault::Hang, Times::Next(1));
    thread::scope(|scope| {
        let hanging = scope.spawn(send);
        telegram.wait_hanging("the call hangs");
        assert_eq!(sent(), 2);
        telegram.releases();
        assert_eq!((hanging.join().unwrap().unwrap().status, sent()), (200, 3));
    });
}

#[test]
fn nobody_listens_while_it_is_unreachable() {
    let telegram = start();
    let refused = || telegram.call("getMe", json!({})).unwrap_err().kind();
    thread::scope(|scope| {
        let poll = scope.spawn(|| telegram.call("getUpdates", json!({"timeout": 30})));
        telegram.wait_polled("the poll waits");
        telegram.unreachable();
        assert!(poll.join().unwrap().is_err());
    });
    assert_eq!(refused(), std::io::ErrorKind::ConnectionRefused);
    let _others: Vec<_> = (0..50).map(|_| FakeTelegram::start(TOKEN)).collect();
    telegram.says(ANN, ANN, "while you were out");
    telegram.reachable();
    assert_eq!(telegram.update_ids(json!({})).len(), 1);
}

#[test]
fn a_bot_in_a_group_hears_what_is_meant_for_it() {
    let telegram = start();
    let group = telegram.group(-1_000_000_000_555, "Team");
    let ours = telegram.send(group, "x");
    assert_eq!(ours, 1);
    telegram.says(ANN, group, "chatter");
    telegram.says(ANN, group, "/stop@another_bot");
    telegram.says(ANN, group, "/stop");
    telegram.replies(ANN, group, ours, "yes");
    telegram.edits(ANN, group, 2, "chatter, edited");
    let batch = telegram.ask("getUpdates", json!({}));
    let texts: Vec<_> = batch.as_array().unwrap().iter().map(|update| &update["message"]["text"]).collect();
    assert_eq!(texts, ["/stop", "yes"]);
    assert_eq!(batch[0]["message"]["entities"][0]["type"], "bot_command");
    assert_eq!(batch[1]["message"]["reply_to_message"]["message_id"], ours);
    assert_eq!(batch[1]["message"]["chat"]["type"], "supergroup");
    telegram.kicks_bot(group);
    telegram.check(
        "sendMessage",
        json!({"chat_id": group, "text": "x"}),
        "403 Forbidden: bot was kicked from the group chat",
    );
}

#[test]
fn a_test_hears_of_a_message_when_it_comes() {
    let telegram = start();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| telegram.wait_message(ANN, |message| message.text == "now", "it comes"));
        telegram.send(ANN, "not yet");
        telegram.send(ANN, "now");
        assert_eq!(waiter.join().unwrap().text, "now");
    });
}

#[test]
fn any_update_can_be_forged() {
    let telegram = start();
    let id = telegram.raw_update(json!({"brand_new_kind": {"a": 1}}));
    telegram.raw_update(json!({"update_id": id + 7, "message": "nonsense"}));
    assert_eq!(telegram.update_ids(json!({})), [id, id + 7]);
    telegram.raw_update(json!({"callback_query": {"id": "forged"}}));
    telegram.check("answerCallbackQuery", json!({"callback_query_id": "forged"}), "ok true");
}
