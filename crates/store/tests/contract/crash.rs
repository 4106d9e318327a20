//! Torn lines, lost lines, `kill -9`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use atlasbridge_store::{Recovery, Store, Verification};

use crate::files::execute;
use crate::world::{AcceptAlone, Dir, ask, at, begin, is_clean, tap};

/// An open store whose last transaction wrote two records, the sixth and the seventh.
async fn open_store() -> (Dir, Store) {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let first = ask(&store, session, 1).await;
    store.accept_alone(tap(&first), at(1)).await.unwrap();
    begin(&store).await;
    ask(&store, session, 2).await;
    (dir, store)
}

/// Where line `number` (from 1) starts.
fn start_of(bytes: &[u8], number: usize) -> usize {
    let breaks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    breaks.map(|(index, _)| index + 1).nth(number - 2).unwrap()
}

/// What a crash left is made good by the next start, and work goes on.
async fn recover(dir: &Dir) -> Recovery {
    let (store, recovery) = dir.open().await;
    assert_eq!((recovery.missing, recovery.damaged), (None, false), "{recovery}");
    assert_eq!(dir.assert_good(), 7);
    begin(&store).await;
    assert_eq!(dir.assert_good(), 8);
    store.close().await.unwrap();
    let (_, again) = dir.open().await;
    assert!(is_clean(&again), "{again}");
    recovery
}

#[tokio::test]
async fn a_log_torn_at_any_byte_of_its_last_line_is_made_good() {
    let (dir, _store) = open_store().await;
    let bytes = fs::read(dir.log()).unwrap();
    let last_line = start_of(&bytes, 7);
    for length in last_line..bytes.len() {
        let crashed = dir.copy();
        fs::write(crashed.log(), &bytes[..length]).unwrap();
        let recovery = recover(&crashed).await;
        assert_eq!(recovery.reexported, 1);
        match recovery.torn {
            None => assert_eq!(length, last_line),
            Some(torn) => {
                assert_eq!(torn.bytes as usize, length - last_line);
                assert_eq!(fs::read(torn.file).unwrap(), &bytes[last_line..length]);
            }
        }
    }
}

#[tokio::test]
async fn a_whole_transaction_may_be_missing_from_the_file() {
    let (dir, _store) = open_store().await;
    let bytes = fs::read(dir.log()).unwrap();
    let sixth = start_of(&bytes, 6);
    for (length, torn) in [(sixth, 0), (sixth + 17, 17), (start_of(&bytes, 7) - 1, 0)] {
        let crashed = dir.copy();
        fs::write(crashed.log(), &bytes[..length]).unwrap();
        match crashed.verify() {
            Verification::Behind { have: 5, expected: 7 } => assert_eq!(length, sixth),
            Verification::TornTail { line: 6 } => assert_ne!(length, sixth),
            other => panic!("{other:?}"),
        }
        let recovery = recover(&crashed).await;
        assert_eq!(recovery.reexported, 2);
        assert!(recovery.torn.map_or(0, |torn| torn.bytes) >= torn);
    }
}

#[tokio::test]
async fn blocks_that_never_reached_the_disk_are_set_aside() {
    let (dir, _store) = open_store().await;
    let bytes = fs::read(dir.log()).unwrap();
    let sixth = start_of(&bytes, 6);
    let crashed = dir.copy();
    let mut zeroed = bytes.clone();
    zeroed[sixth..sixth + 300].fill(0);
    fs::write(crashed.log(), &zeroed).unwrap();
    let recovery = recover(&crashed).await;
    assert_eq!(recovery.reexported, 2);
    assert_eq!(fs::read(recovery.torn.unwrap().file).unwrap(), &zeroed[sixth..]);
    assert_eq!(fs::read(crashed.log()).unwrap()[..bytes.len()], bytes);
}

#[tokio::test]
async fn what_was_on_the_disk_before_is_not_explained_by_a_crash() {
    let (dir, _store) = open_store().await;
    let bytes = fs::read(dir.log()).unwrap();
    let fifth = start_of(&bytes, 5);
    let crashed = dir.copy();
    fs::write(crashed.log(), &bytes[..fifth + 10]).unwrap();
    assert_eq!(crashed.verify(), Verification::Truncated { have: 4, expected: 7 });
    let (_store, recovery) = crashed.open().await;
    let missing = recovery.missing.unwrap();
    assert_eq!((missing.have, missing.expected), (4, 5));
    assert_eq!(recovery.torn.clone().unwrap().bytes, 10);
    assert_eq!(recovery.reexported, 2, "those after the mark");
    assert!(recovery.to_string().contains("records 5 to 5 are missing"), "{recovery}");
    assert!(matches!(crashed.verify(), Verification::Tampered { line: 5, seq: 5, .. }));
}

#[tokio::test]
async fn a_changed_line_before_the_mark_is_reported_and_left_alone() {
    let (dir, _store) = open_store().await;
    let mut bytes = fs::read(dir.log()).unwrap();
    let fifth = start_of(&bytes, 5);
    bytes[fifth + 3] ^= 1;
    let crashed = dir.copy();
    fs::write(crashed.log(), &bytes).unwrap();
    let (_store, recovery) = crashed.open().await;
    assert!(recovery.damaged);
    assert_eq!(fs::read(crashed.log()).unwrap(), bytes);
    assert!(matches!(crashed.verify(), Verification::Tampered { line: 5, .. }));
}

#[tokio::test]
async fn a_new_or_old_database_learns_the_records_back() {
    let (dir, store) = open_store().await;
    let old = dir.copy();
    begin(&store).await;
    begin(&store).await;
    store.close().await.unwrap();
    let head = dir.verify();

    fs::copy(dir.log(), old.log()).unwrap();
    assert_eq!(old.verify(), Verification::TableDiffers { in_file: 9, in_table: 7 });
    let (store, recovery) = old.open().await;
    assert_eq!((recovery.imported, recovery.reexported), (2, 0));
    assert_eq!(old.verify(), head);
    begin(&store).await;
    assert_eq!(old.assert_good(), 10);

    execute(&dir, "DELETE FROM audit_events WHERE seq > 3").await;
    assert_eq!(dir.verify(), Verification::TableDiffers { in_file: 9, in_table: 3 });
    let (_store, recovery) = dir.open().await;
    assert_eq!((recovery.imported, recovery.reexported), (6, 0));
    assert_eq!(dir.verify(), head);

    let none = Dir::new();
    fs::copy(dir.log(), none.log()).unwrap();
    let (store, recovery) = none.open().await;
    assert_eq!(recovery.imported, 9);
    begin(&store).await;
    assert_eq!(none.assert_good(), 10);
}

#[tokio::test]
async fn damage_that_no_table_can_mend_is_left_to_see() {
    let (dir, store) = open_store().await;
    store.close().await.unwrap();
    let mut bytes = fs::read(dir.log()).unwrap();
    let third = start_of(&bytes, 3);
    bytes[third + 5] ^= 1;
    let lost = Dir::new();
    fs::write(lost.log(), &bytes).unwrap();
    for round in 1..3 {
        let (store, recovery) = lost.open().await;
        assert_eq!(recovery.damaged, round == 1);
        assert_eq!(recovery.torn, None);
        begin(&store).await;
        assert!(fs::read(lost.log()).unwrap().starts_with(&bytes));
        assert!(matches!(lost.verify(), Verification::Tampered { line: 3, .. }));
        store.close().await.unwrap();
    }
    assert_eq!(atlasbridge_store::tail(&lost.log(), 1).unwrap()[0].seq, 9);
}

const CHILD: &str = "ATLASBRIDGE_STORE_CHILD";

/// No test by itself: what `kill_9_at_any_moment` starts and kills.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = std::mem::ManuallyDrop::new(Dir(path.into()));
        let (store, recovery) = dir.open().await;
        assert_eq!((recovery.missing, recovery.damaged), (None, false), "{recovery}");
        let session = begin(&store).await;
        for no in 1.. {
            let prompt = ask(&store, session, no).await;
            store.accept_alone(tap(&prompt), at(1)).await.unwrap();
            if no == 1 {
                println!("\nready");
            }
        }
    });
}

#[tokio::test]
async fn kill_9_at_any_moment_loses_nothing_that_was_answered() {
    let dir = Dir::new();
    let mut records = 0;
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::child", "--exact", "--nocapture"])
            .env(CHILD, &dir.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let ready = stdout.lines().any(|line| line.unwrap() == "ready");
        assert!(ready, "the child of round {round} did not start");
        // Any moment will do; these differ by less than a transaction takes.
        std::thread::sleep(Duration::from_micros(20_000 + round * 370));
        child.kill().unwrap();
        child.wait().unwrap();
        let (store, recovery) = dir.open().await;
        assert_eq!((recovery.missing, recovery.damaged), (None, false), "{recovery}");
        drop(store);
        let now = dir.assert_good();
        assert!(now > records);
        records = now;
    }
}
