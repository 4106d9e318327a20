//! A store in a directory of its own, a clock, and things to record.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atlasbridge_model::answer::{Source, Value};
use atlasbridge_model::lifecycle::Event;
use atlasbridge_model::{
    BootTime, Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Kind,
    Nonce, Now, PromptId, ReplyId, SessionId, Sighting, SightingNo, Strokes, Takes, Timestamp,
};
use atlasbridge_store::{
    AcceptedAnswer, Advance, Cancel, FollowUp, Moved, NewNotice, NewPrompt, Once, Outcome, PromptRecord,
    Recovery, Resume, SessionRecord, SessionStatus, Store, StoreConfig, StoreError, Verification,
    read_records, verify,
};

pub(crate) const BOOT: &str = "0f7d3b8e-boot";
pub(crate) const TTL: Duration = Duration::from_secs(600);

/// A directory that goes away.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("atlasbridge-store-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("atlasbridge.db")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("audit.log")
    }

    pub(crate) fn config(&self) -> StoreConfig {
        StoreConfig { database: self.database(), audit_log: self.log(), boot_id: BOOT.to_owned() }
    }

    pub(crate) async fn open(&self) -> (Store, Recovery) {
        Store::open(self.config(), at(0)).await.unwrap()
    }

    pub(crate) async fn store(&self) -> Store {
        self.open().await.0
    }

    /// As a power cut would leave it for the next start: the files of a store that is still open.
    pub(crate) fn copy(&self) -> Dir {
        let copy = Dir::new();
        for entry in fs::read_dir(&self.0).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.0.join(entry.file_name())).unwrap();
        }
        copy
    }

    pub(crate) fn verify(&self) -> Verification {
        verify(&self.log(), Some(&self.database())).unwrap()
    }

    #[track_caller]
    pub(crate) fn assert_good(&self) -> u64 {
        match self.verify() {
            Verification::Good { records, .. } => records,
            other => panic!("{other:?}"),
        }
    }

    /// `EVENT value` of each record.
    pub(crate) fn story(&self) -> Vec<String> {
        events(&self.log())
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn events(log: &Path) -> Vec<String> {
    read_records(log, Default::default())
        .unwrap()
        .map(|record| {
            let record = record.unwrap();
            format!("{} {}", record.event, record.value.unwrap_or_default()).trim_end().to_owned()
        })
        .collect()
}

/// Both clocks, `seconds` after the start of the test.
pub(crate) fn at(seconds: i64) -> Now {
    Now { wall: Timestamp(1_767_323_045_678 + seconds * 1000), boot: BootTime(1_000_000 + seconds * 1000) }
}

/// Sixteen bytes that no other call returns.
pub(crate) fn random() -> [u8; 16] {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    bytes[12..].copy_from_slice(&std::process::id().to_be_bytes());
    bytes
}

pub(crate) fn session_record() -> SessionRecord {
    SessionRecord {
        id: SessionId::from_random(random()),
        tool: "claude".to_owned(),
        command: vec!["claude".to_owned(), "--model".to_owned(), "ö".to_owned()],
        cwd: "/home/dev/project".to_owned(),
        label: Some("work".to_owned()),
        host_pid: 4711,
        host_started: 123_456_789,
        leader_pid: None,
        tool_pid: None,
        boot_id: BOOT.to_owned(),
        started_at: at(0).wall,
        ended_at: None,
        exit_code: None,
        status: SessionStatus::Active,
        paused_at: None,
    }
}

pub(crate) async fn begin(store: &Store) -> SessionId {
    let session = session_record();
    store.begin_session(&session, at(0)).await.unwrap();
    session.id
}

pub(crate) fn yes_no(no: u32) -> Sighting {
    let choice =
        |label: &str, strokes, effect| Choice { label: label.to_owned(), strokes: Some(strokes), effect };
    Sighting {
        no: SightingNo(no),
        kind: Kind::YesNo,
        confidence: Confidence::new(90).unwrap(),
        excerpt: Excerpt::new("Delete 3 files? (y/n)"),
        detail: Detail::new("rm -r a b c\nDelete 3 files? (y/n)"),
        choices: Choices::new(vec![
            choice("yes", Strokes::once("y\r"), Effect::Accepts),
            choice("no", Strokes::then_enter_if_still_there("\u{1b}[B"), Effect::Refuses),
        ]),
        constraints: Constraints::default(),
        offers_default: false,
        takes: Takes::NOTHING,
        entry: Entry::Keys,
        fingerprint: Fingerprint([7; 16]),
    }
}

pub(crate) fn password(no: u32) -> Sighting {
    Sighting {
        kind: Kind::Password,
        choices: None,
        excerpt: Excerpt::new("Password:"),
        detail: Detail::new("Password:"),
        entry: Entry::Line,
        ..yes_no(no)
    }
}

pub(crate) fn new(session: SessionId, sighting: &Sighting) -> NewPrompt {
    NewPrompt {
        id: PromptId::from_random(random()),
        session,
        sighting: sighting.clone(),
        nonce: Nonce::from_random(random()),
        ttl: Some(TTL),
    }
}

pub(crate) async fn ask(store: &Store, session: SessionId, no: u32) -> PromptRecord {
    ask_with(store, session, &yes_no(no)).await
}

pub(crate) async fn ask_with(store: &Store, session: SessionId, sighting: &Sighting) -> PromptRecord {
    let recorded = store.record_prompt(new(session, sighting), at(0)).await.unwrap();
    assert!(recorded.fresh);
    recorded.prompt
}

pub(crate) fn tap(prompt: &PromptRecord) -> AcceptedAnswer {
    AcceptedAnswer {
        prompt: prompt.id,
        session: prompt.session,
        nonce: prompt.nonce,
        value: yes(),
        reply: ReplyId::from_random(random()),
        source: Source::Channel("telegram".to_owned()),
        decided_by: "telegram:42".to_owned(),
    }
}

pub(crate) fn yes() -> Value {
    Value::Choice { row: 0, label: "yes".to_owned() }
}

pub(crate) fn no() -> Value {
    Value::Choice { row: 1, label: "no".to_owned() }
}

/// An answer that nothing brought and nothing follows from.
pub(crate) trait AcceptAlone {
    async fn accept_alone(&self, answer: AcceptedAnswer, now: Now) -> Result<Outcome, StoreError>;
}

impl AcceptAlone for Store {
    async fn accept_alone(&self, answer: AcceptedAnswer, now: Now) -> Result<Outcome, StoreError> {
        match self.accept(answer, None, |_| FollowUp::default(), now).await? {
            Once::First(outcome) => Ok(outcome),
            Once::Repeated => unreachable!("only updates are repeated"),
        }
    }
}

/// One event for every prompt of a session, in their order; those that it does not concern stay.
pub(crate) async fn advance_all(store: &Store, session: SessionId, event: &Event, now: Now) -> Vec<Moved> {
    let mut moves = Vec::new();
    for prompt in store.prompts_of(session).await.unwrap() {
        if let Advance::Moved(moved) = store.advance(prompt.id, event, now).await.unwrap() {
            moves.push(moved);
        }
    }
    moves
}

/// Leaves a prompt to the terminal, from the command line.
pub(crate) async fn leave(store: &Store, prompt: &PromptRecord, decided_by: &str) -> Advance {
    let cancel = Cancel {
        prompt: prompt.id,
        nonce: prompt.nonce,
        source: Source::Command,
        decided_by: decided_by.to_owned(),
    };
    match store.cancel(cancel, None, |_| FollowUp::default(), at(1)).await.unwrap() {
        Once::First(advance) => advance,
        Once::Repeated => unreachable!("only updates are repeated"),
    }
}

/// A notice that follows from nothing else.
pub(crate) async fn notify(store: &Store, notice: NewNotice) {
    let follow = FollowUp { notices: vec![notice], ..FollowUp::default() };
    store.follow_up(None, follow, at(0)).await.unwrap();
}

/// Lets the channels of a session answer again, from the command line.
pub(crate) async fn resume(store: &Store, session: SessionId, now: Now) {
    let resume = Resume { session, source: Source::Command, decided_by: "uid:1000".to_owned() };
    let follow = FollowUp { resume: Some(resume), ..FollowUp::default() };
    store.follow_up(None, follow, now).await.unwrap();
}

/// Nothing had to be repaired and nothing is wrong; a migration does not count.
pub(crate) fn is_clean(recovery: &Recovery) -> bool {
    *recovery == Recovery { migration: recovery.migration.clone(), ..Recovery::default() }
}
