//! The log verifies; every change to it is named.

use std::fs;
use std::path::Path;

use atlasbridge_model::SessionId;
use atlasbridge_model::audit::{AuditEvent, EventName, GENESIS, Link};
use atlasbridge_store::{Flaw, RecordFilter, Verification, VerifyError, read_records, tail, verify};
use proptest::prelude::*;

use crate::world::{AcceptAlone, Dir, ask, at, begin, tap};

/// A store that was closed in order, with seven records in its log.
async fn closed() -> Dir {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    store.accept_alone(tap(&prompt), at(1)).await.unwrap();
    ask(&store, prompt.session, 2).await;
    let start = AuditEvent {
        value: Some("quotes \" and \\ and é and \u{1}".to_owned()),
        ..AuditEvent::new(EventName::HubStart)
    };
    store.audit(start, at(2)).await.unwrap();
    store.close().await.unwrap();
    dir
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let breaks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(breaks.map(|(index, _)| index + 1)).collect()
}

#[tokio::test]
async fn an_untouched_log_is_good() {
    let dir = closed().await;
    let head = tail(&dir.log(), 1).unwrap()[0].hash.clone();
    let good = Verification::Good { records: 7, head };
    assert_eq!(dir.verify(), good);
    assert_eq!(verify(&dir.log(), None).unwrap(), good);
    assert!(matches!(verify(Path::new("/nowhere/audit.log"), None), Err(VerifyError::Log { .. })));
    assert!(matches!(
        verify(&dir.log(), Some(Path::new("/nowhere/atlasbridge.db"))),
        Err(VerifyError::Database { .. })
    ));
}

#[tokio::test]
async fn every_flipped_byte_is_found_and_its_line_named() {
    let dir = closed().await;
    let bytes = fs::read(dir.log()).unwrap();
    let changed = dir.0.join("changed.log");
    for index in 0..bytes.len() {
        let line = bytes[..index].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        for flip in [0x01, 0x20] {
            let mut copy = bytes.clone();
            copy[index] ^= flip;
            fs::write(&changed, &copy).unwrap();
            let is_last_break = index + 1 == bytes.len();
            match verify(&changed, None).unwrap() {
                Verification::Tampered { line: named, .. } => assert_eq!(named, line, "byte {index}"),
                Verification::TornTail { line: named } if is_last_break => assert_eq!(named, line),
                other => panic!("byte {index}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn of_two_bad_lines_the_first_is_named() {
    let dir = closed().await;
    let text = fs::read_to_string(dir.log()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in [5, 2] {
        lines[line] = lines[line].replace("2026-01-02", "2026-01-03");
    }
    fs::write(dir.log(), lines.join("\n") + "\n").unwrap();
    assert!(matches!(dir.verify(), Verification::Tampered { line: 3, seq: 3, .. }));
}

#[tokio::test]
async fn a_line_that_says_the_same_in_other_bytes_is_tampering() {
    let dir = closed().await;
    let text = fs::read_to_string(dir.log()).unwrap();
    for (from, to) in [
        ("{\"decided_by\"", "{ \"decided_by\""),
        ("\"seq\":1,", "\"seq\":1,\"seq\":1,"),
        ("\"seq\":1,", "\"seq\":1,\"extra\":1,"),
        ("\"value\":\"claude\"", "\"value\":\"cl\\u0061ude\""),
        ("\"decided_by\":null,", ""),
        ("}\n", "}\r\n"),
        ("}\n", "}\n\n"),
    ] {
        let changed = dir.0.join("changed.log");
        fs::write(&changed, text.replacen(from, to, 1)).unwrap();
        let verdict = verify(&changed, None).unwrap();
        assert!(
            matches!(
                verdict,
                Verification::Tampered { line: 1 | 2, why: Flaw::NoRecord | Flaw::NotCanonical, .. }
            ),
            "{to:?}: {verdict:?}"
        );
    }
}

#[tokio::test]
async fn a_removed_swapped_or_repeated_line_is_named() {
    let dir = closed().await;
    let text = fs::read_to_string(dir.log()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let changed = dir.0.join("changed.log");
    let check = |order: &[usize], expected: u64| {
        let text: String = order.iter().map(|&line| format!("{}\n", lines[line])).collect();
        fs::write(&changed, text).unwrap();
        match verify(&changed, None).unwrap() {
            Verification::Tampered { line, .. } => assert_eq!(line, expected, "{order:?}"),
            other => panic!("{order:?}: {other:?}"),
        }
    };
    check(&[0, 1, 3, 4, 5, 6], 3);
    check(&[1, 2, 3, 4, 5, 6], 1);
    check(&[0, 2, 1, 3, 4, 5, 6], 2);
    check(&[0, 1, 1, 2, 3, 4, 5, 6], 3);
}

#[tokio::test]
async fn a_line_without_end_is_named() {
    let dir = closed().await;
    let mut bytes = fs::read(dir.log()).unwrap();
    bytes.extend(std::iter::repeat_n(b'x', 1 << 20));
    fs::write(dir.log(), bytes).unwrap();
    let expected = Verification::Tampered { line: 8, seq: 8, why: Flaw::TooLong };
    assert_eq!(dir.verify(), expected);
}

#[tokio::test]
async fn missing_lines_are_counted_and_never_written_again() {
    for cut in 1..=7 {
        let dir = closed().await;
        let bytes = fs::read(dir.log()).unwrap();
        let keep = 7 - cut;
        fs::write(dir.log(), &bytes[..line_starts(&bytes)[keep]]).unwrap();
        let truncated = Verification::Truncated { have: keep as u64, expected: 7 };
        assert_eq!(dir.verify(), truncated);
        assert!(matches!(verify(&dir.log(), None).unwrap(), Verification::Good { .. }));

        let (store, recovery) = dir.open().await;
        let missing = recovery.missing.unwrap();
        assert_eq!((missing.have, missing.expected), (keep as u64, 7));
        assert_eq!((recovery.reexported, recovery.torn), (0, None));
        begin(&store).await;
        match dir.verify() {
            Verification::Tampered { line, seq, .. } => {
                assert_eq!((line, seq), (keep as u64 + 1, keep as u64 + 1));
            }
            other => panic!("{other:?}"),
        }
        store.close().await.unwrap();
        let (_, recovery) = dir.open().await;
        // The file has another length than before: the mark moved with it.
        assert_eq!(recovery.missing, None, "said once, verified ever after");
    }
}

#[tokio::test]
async fn a_log_that_is_gone_is_truncated() {
    let dir = closed().await;
    fs::remove_file(dir.log()).unwrap();
    assert_eq!(dir.verify(), Verification::Truncated { have: 0, expected: 7 });
}

#[tokio::test]
async fn a_log_that_was_hashed_anew_differs_from_the_table() {
    let dir = closed().await;
    let mut text = String::new();
    let mut prev_hash = GENESIS.to_owned();
    for record in read_records(&dir.log(), RecordFilter::default()).unwrap() {
        let mut record = record.unwrap();
        if record.seq == 4 {
            record.value = Some("no".to_owned());
        }
        record.prev_hash = prev_hash;
        record.hash = record.link().hash(&mut String::new());
        prev_hash = record.hash.clone();
        text.push_str(&record.line());
        text.push('\n');
    }
    fs::write(dir.log(), text).unwrap();
    assert!(
        matches!(verify(&dir.log(), None).unwrap(), Verification::Good { .. }),
        "a chain alone proves nothing"
    );
    let expected = Verification::Tampered { line: 7, seq: 7, why: Flaw::NotInTable };
    assert_eq!(dir.verify(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_being_written_gives_no_false_alarm() {
    let dir = Dir::new();
    let store = dir.store().await;
    let writer = tokio::spawn(async move {
        let session = begin(&store).await;
        for no in 1..=150 {
            let prompt = ask(&store, session, no).await;
            store.accept_alone(tap(&prompt), at(1)).await.unwrap();
        }
    });
    while !writer.is_finished() {
        dir.assert_good();
    }
    writer.await.unwrap();
    assert_eq!(dir.assert_good(), 1 + 150 * 3);
}

#[tokio::test]
async fn a_file_that_somebody_else_touched_stops_all_writing() {
    let touch: [fn(&Dir); 3] = [
        |dir| fs::write(dir.log(), "").unwrap(),
        |dir| fs::remove_file(dir.log()).unwrap(),
        |dir| {
            let bytes = fs::read(dir.log()).unwrap();
            fs::write(dir.log(), [&bytes[..], b"{}\n"].concat()).unwrap();
        },
    ];
    for touch in touch {
        let dir = Dir::new();
        let store = dir.store().await;
        let prompt = ask(&store, begin(&store).await, 1).await;
        touch(&dir);
        assert!(store.accept_alone(tap(&prompt), at(1)).await.is_err());
        let error = store.accept_alone(tap(&prompt), at(1)).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("until the hub restarts"), "{cause}");
        assert!(store.prompt(prompt.id).await.unwrap().is_some(), "looking is still allowed");
        drop(store);
        let (store, _) = dir.open().await;
        begin(&store).await;
    }
}

#[tokio::test]
async fn records_are_found_by_what_they_belong_to() {
    let dir = closed().await;
    let all = |filter| -> Vec<u64> {
        let records = read_records(&dir.log(), filter).unwrap();
        records.map(|record| record.unwrap().seq).collect()
    };
    assert_eq!(all(RecordFilter::default()), [1, 2, 3, 4, 5, 6, 7]);
    let since = RecordFilter { since: Some(at(2).wall), ..RecordFilter::default() };
    assert_eq!(all(since), [7]);
    let session = tail(&dir.log(), 7).unwrap()[0].session_id.clone().unwrap();
    let of_session =
        RecordFilter { session: Some(session.parse::<SessionId>().unwrap()), ..RecordFilter::default() };
    assert_eq!(all(of_session), [1, 2, 3, 4, 5, 6]);
    let prompt = tail(&dir.log(), 6).unwrap()[0].prompt_id.clone().unwrap();
    let of_prompt = RecordFilter { prompt: Some(prompt.parse().unwrap()), ..RecordFilter::default() };
    assert_eq!(all(of_prompt), [2, 3, 4]);
}

#[tokio::test]
async fn the_tail_is_read_from_the_end() {
    let dir = Dir::new();
    let store = dir.store().await;
    for number in 0..300 {
        let event =
            AuditEvent { value: Some("x".repeat(number * 7)), ..AuditEvent::new(EventName::ConfigReloaded) };
        store.audit(event, at(0)).await.unwrap();
    }
    for count in [0, 1, 2, 63, 299, 300, 1000] {
        let seqs: Vec<u64> = tail(&dir.log(), count).unwrap().iter().map(|record| record.seq).collect();
        let expected: Vec<u64> = (301 - count.min(300) as u64..=300).collect();
        assert_eq!(seqs, expected, "{count}");
    }
    let mut bytes = fs::read(dir.log()).unwrap();
    bytes.truncate(bytes.len() - 10);
    fs::write(dir.log(), bytes).unwrap();
    assert_eq!(tail(&dir.log(), 1).unwrap()[0].seq, 299, "a torn line is left out");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,20}", "[\\x00-\\x20\"\\\\/\u{7f}-\u{a0}\u{2028}\u{10ffff}]{0,12}"]
}

proptest! {
    /// A second, independent implementation of RFC 8785 writes the same bytes.
    #[test]
    fn the_canonical_form_is_that_of_rfc_8785(
        seq in 1_u64..1 << 53,
        ts in text(),
        event in text(),
        members in proptest::collection::vec(proptest::option::of(text()), 5),
        prev_hash in text(),
    ) {
        let link = Link {
            seq,
            ts: &ts,
            event: &event,
            session_id: members[0].as_deref(),
            prompt_id: members[1].as_deref(),
            value: members[2].as_deref(),
            source: members[3].as_deref(),
            decided_by: members[4].as_deref(),
            prev_hash: &prev_hash,
        };
        let mut object = serde_json::json!({
            "seq": seq, "ts": ts, "event": event, "session_id": members[0], "prompt_id": members[1],
            "value": members[2], "source": members[3], "decided_by": members[4], "prev_hash": prev_hash,
        });
        let mut ours = String::new();
        link.write(None, &mut ours);
        prop_assert_eq!(serde_json_canonicalizer::to_string(&object).unwrap(), ours);
        let hash = link.hash(&mut String::new());
        object["hash"] = hash.as_str().into();
        prop_assert_eq!(serde_json_canonicalizer::to_string(&object).unwrap(), link.line(&hash));
    }
}
