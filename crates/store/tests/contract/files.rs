//! Modes, locks, damaged and foreign files, secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlasbridge_model::answer::Value;
use atlasbridge_model::lifecycle::Event;
use atlasbridge_store::{AcceptedAnswer, OpenError, Outcome, Store};
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};

use crate::world::{AcceptAlone, Dir, ask_with, at, begin, password, tap};

pub(crate) async fn execute(dir: &Dir, sql: &'static str) {
    let mut conn =
        SqliteConnectOptions::new().filename(dir.database()).create_if_missing(true).connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
    sqlx::Connection::close(conn).await.unwrap();
}

#[tokio::test]
async fn everything_is_for_its_owner_alone() {
    let dir = Dir::new();
    fs::write(dir.log(), "").unwrap();
    fs::set_permissions(dir.log(), fs::Permissions::from_mode(0o644)).unwrap();
    let store = dir.store().await;
    begin(&store).await;
    for entry in fs::read_dir(&dir.0).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}

#[tokio::test]
async fn a_second_hub_is_refused() {
    let dir = Dir::new();
    let store = dir.store().await;
    let second = Store::open(dir.config(), at(0)).await;
    assert!(matches!(second, Err(OpenError::InUse { .. })), "{second:?}");
    drop(store);
    dir.open().await;
}

#[tokio::test]
async fn a_newer_database_is_refused() {
    let dir = Dir::new();
    dir.store().await.close().await.unwrap();
    execute(&dir, "INSERT INTO schema_version (version, applied_at) VALUES (99, 0)").await;
    let opened = Store::open(dir.config(), at(0)).await;
    assert!(matches!(opened, Err(OpenError::Newer { found: 99, known: 7, .. })), "{opened:?}");
}

#[tokio::test]
async fn a_database_of_something_else_is_refused() {
    let dir = Dir::new();
    execute(&dir, "CREATE TABLE recipes (name TEXT)").await;
    let opened = Store::open(dir.config(), at(0)).await;
    assert!(matches!(opened, Err(OpenError::Foreign { .. })), "{opened:?}");
}

#[tokio::test]
async fn a_damaged_database_is_refused() {
    let dir = Dir::new();
    fs::write(dir.database(), "this is no database, however long it may be".repeat(100)).unwrap();
    let opened = Store::open(dir.config(), at(0)).await;
    assert!(matches!(opened, Err(OpenError::Corrupt { .. })), "{opened:?}");

    let dir = Dir::new();
    let store = dir.store().await;
    for _ in 0..200 {
        begin(&store).await;
    }
    store.close().await.unwrap();
    let mut bytes = fs::read(dir.database()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xa5);
    fs::write(dir.database(), bytes).unwrap();
    let opened = Store::open(dir.config(), at(0)).await;
    assert!(matches!(opened, Err(OpenError::Corrupt { .. })), "{opened:?}");
}

#[tokio::test]
async fn a_secret_is_never_on_the_disk() {
    const CANARY: &str = "correct horse battery staple";
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask_with(&store, begin(&store).await, &password(1)).await;
    let answer = AcceptedAnswer { value: Value::Secret(CANARY.to_owned()), ..tap(&prompt) };
    let Outcome::Won { reply, .. } = store.accept_alone(answer, at(1)).await.unwrap() else {
        panic!("nobody else is there")
    };
    assert_eq!(reply.value, Some(Value::Secret(CANARY.to_owned())), "the gate needs it");
    assert_eq!(store.undelivered(prompt.session).await.unwrap()[0].reply.value, None);
    store.advance(prompt.id, &Event::Typed { reply: reply.id }, at(2)).await.unwrap();
    store.advance(prompt.id, &Event::Taken { reply: reply.id }, at(3)).await.unwrap();
    for _ in 0..2 {
        for entry in fs::read_dir(&dir.0).unwrap() {
            let entry = entry.unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!found, "{:?}", entry.file_name());
        }
        store.clone().close().await.ok();
    }
    assert_eq!(
        dir.story()[3..],
        ["REPLY_RECEIVED secret", "REPLY_INJECTED secret", "PROMPT_RESOLVED applied"]
    );
}
