//! What AtlasBridge remembers: sessions, prompts, replies, what is shown on channels and what came from
//! there, and the audit log.
//!
//! Data comes from the hub alone and goes to two places: an SQLite file, and `audit.log` beside it. This room
//! decides nothing by itself: [`lifecycle::step`](atlasbridge_model::lifecycle::step) says what may follow, and one
//! guarded statement per move says who was first. It must never let anything be acted on that is not on record:
//! each change and its audit row are one transaction, and the function returns only when the line is on the disk.
//!
//! Suggested reading order is the order of the modules.
#![forbid(unsafe_code)]
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod store;

mod sessions;

mod prompts;

mod accept;
mod moves;

mod offers;
mod posts;

mod inbox;
mod notices;
mod texts;

mod logins;

mod history;

mod rows;
mod schema;
mod sql;

mod audit_log;
mod record;
mod verify;

pub use atlasbridge_model::SessionStatus;

pub use accept::{AcceptedAnswer, MOST_ANSWERS, Outcome};
pub use audit_log::{Missing, Recovery, Torn};
pub use history::{Counts, PastPrompt, Search};
pub use inbox::{CameBy, ChatChange, FollowUp, Handling, NewAsk, Once};
pub use logins::{Login, Logins, Redeem};
pub use moves::{Advance, Cancel, Moved};
pub use notices::{NewNotice, Notice, NoticeId};
pub use offers::Offered;
pub use posts::{DuePost, Post, PostId};
pub use prompts::{Delivery, NewPrompt, OpenPrompt, PromptRecord, Recorded, Reply};
pub use record::{AuditRecord, Flaw, ReadError, RecordFilter, read_records, tail};
pub use schema::Migration;
pub use sessions::{Resume, SessionRecord};
pub use store::{BackendError, OpenError, Store, StoreConfig, StoreError};
pub use texts::{HeardAt, OpenText, QueuedText, TextMove};
pub use verify::{Verification, VerifyError, verify};
