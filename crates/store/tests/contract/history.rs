//! Looking back, and databases of earlier versions.

use std::fs;

use atlasbridge_model::answer::Value;
use atlasbridge_model::{Excerpt, Sighting, Takes};
use atlasbridge_store::{Outcome, Search};

use crate::files::execute;
use crate::world::{AcceptAlone, Dir, ask, ask_with, at, begin, new, tap, yes_no};

fn search(text: &str, most: u32) -> Search {
    Search { text: Some(text.to_owned()), most, ..Search::default() }
}

#[tokio::test]
async fn words_are_found_and_patterns_are_words() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    for (no, text) in [(1, "Delete 100% of it?"), (2, "Größe ändern?"), (3, "Write a_b?")] {
        let sighting = Sighting { excerpt: Excerpt::new(text), ..yes_no(no) };
        ask_with(&store, session, &sighting).await;
    }
    for (text, expected) in [
        ("delete 100% OF", 1),
        ("%", 1),
        ("_b", 1),
        ("a_", 1),
        ("\\", 0),
        ("größe", 1),
        ("ÄNDERN", 1),
        ("claude", 3),
        ("", 3),
        ("' OR 1=1 --", 0),
    ] {
        let found = store.search_prompts(&search(text, 10)).await.unwrap();
        assert_eq!(found.len(), expected, "{text:?}");
    }
    let audit = async |text| store.search_audit(&search(text, 10)).await.unwrap().len();
    assert_eq!(audit("prompt_detected").await, 3);
    assert_eq!(audit("HIGH").await, 3);
    assert_eq!(audit("%").await, 0);
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps() {
    let dir = Dir::new();
    let store = dir.store().await;
    let (session, other) = (begin(&store).await, begin(&store).await);
    ask(&store, other, 1).await;
    // Three of the same moment in the middle.
    for (no, seconds) in [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3)] {
        store.record_prompt(new(session, &yes_no(no)), at(seconds)).await.unwrap();
    }
    let prompt = store.prompts_of(session).await.unwrap().remove(0);
    store.accept_alone(tap(&prompt), at(4)).await.unwrap();
    store.accept_alone(tap(&prompt), at(5)).await.unwrap();

    let mut wanted = Search { session: Some(session), most: 2, ..Search::default() };
    let mut numbers = Vec::new();
    loop {
        let page = store.search_prompts(&wanted).await.unwrap();
        let Some(last) = page.last() else { break };
        wanted.before = Some(last.prompt.created_at.0);
        numbers.extend(page.iter().map(|past| past.prompt.sighting.no.0));
    }
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    let page = store.search_prompts(&Search { most: 100, ..Search::default() }).await.unwrap();
    assert_eq!(page.len(), 6);
    assert_eq!(page.iter().filter(|past| past.reply.is_some()).count(), 1);
    assert_eq!(store.search_prompts(&Search::default()).await.unwrap(), []);

    let mut wanted = Search { most: 4, ..Search::default() };
    let mut seqs = Vec::new();
    loop {
        let page = store.search_audit(&wanted).await.unwrap();
        let Some(last) = page.last() else { break };
        wanted.before = Some(last.seq as i64);
        seqs.extend(page.iter().map(|record| record.seq));
    }
    seqs.reverse();
    let records = dir.assert_good();
    assert_eq!(seqs.len() as u64, records);
    assert!(seqs.is_sorted());

    let counts = store.figures().await.unwrap();
    assert_eq!((counts.prompts_total, counts.replies_total, counts.rejected_total), (6, 1, 1));
    assert_eq!(store.prompt_count(session).await.unwrap(), 5);
    assert_eq!(store.prompt_count(other).await.unwrap(), 1);
}

#[tokio::test]
async fn a_database_of_the_first_version_is_taken_over() {
    let dir = Dir::new();
    execute(&dir, include_str!("../../migrations/0001_first.sql")).await;
    execute(
        &dir,
        "CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL);
         INSERT INTO schema_version VALUES (1, 0);
         INSERT INTO sessions VALUES ('0aaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 'claude', '[\"claude\"]', '/', NULL, 1, 2,
             NULL, NULL, '0f7d3b8e-boot', 1767323045000, NULL, NULL, 'active');
         INSERT INTO prompts VALUES ('0bbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb', '0aaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 1,
             'key', 'free_text', 70, 'Name:', 'Name:', NULL, 200, 0, 'line', '07070707070707070707070707070707',
             '0123456789abcdef0123456789abcdef', 0, 'awaiting_reply', NULL, NULL, NULL, 1767323045000, 1767323045000,
             NULL, NULL, '0f7d3b8e-boot');
         INSERT INTO prompts VALUES ('0ddddddd-dddd-4ddd-8ddd-dddddddddddd', '0aaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 2,
             'key 2', 'free_text', 70, 'Who:', 'Who:', NULL, 200, 0, 'line', '07070707070707070707070707070707',
             '1123456789abcdef0123456789abcdef', 1, 'resolved', 'applied', NULL, 'telegram', 1767323045000, 1767323045000,
             NULL, NULL, '0f7d3b8e-boot');
         INSERT INTO replies VALUES ('0ccccccc-cccc-4ccc-8ccc-cccccccccccc', '0ddddddd-dddd-4ddd-8ddd-dddddddddddd',
             '0aaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 'text', NULL, 'Ada', 'telegram', '42', 1767323045000);",
    )
    .await;
    let (store, recovery) = dir.open().await;
    let migration = recovery.migration.unwrap();
    assert_eq!((migration.from, migration.to), (1, 7));
    let kept = store.reply_of("0ddddddd-dddd-4ddd-8ddd-dddddddddddd".parse().unwrap()).await.unwrap();
    assert_eq!(kept.unwrap().value, Some(Value::Text("Ada".to_owned())));
    assert!(fs::metadata(migration.backup.unwrap()).unwrap().len() > 0);
    let open = store.open_prompts().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].session.paused_at, None);
    assert_eq!(open[0].prompt.sighting.takes, Takes::NOTHING);
    let prompt = &open[0].prompt;
    let targets = ["42".to_owned()];
    assert_eq!(store.offer(prompt.id, "telegram", &targets, at(0).boot, at(0)).await.unwrap(), 1);
    let outcome = store.accept_alone(tap(prompt), at(1)).await.unwrap();
    assert!(matches!(outcome, Outcome::Won { .. }), "{outcome:?}");
    drop(store);
    assert_eq!(dir.open().await.1.migration, None);
}
