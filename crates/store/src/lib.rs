//! What AtlasBridge remembers: sessions, prompts, replies, and the audit log.
//!
//! Data comes from the hub alone and goes to two places: an SQLite file, and `audit.log` beside it. This room
//! decides nothing by itself: [`lifecycle::step`](atlasbridge_model::lifecycle::step) says what may follow, and one
//! guarded statement per move says who was first. It must never let anything be acted on that is not on record:
//! each change and its audit row are one transaction, and the function returns only when the line is on the disk.
//!
//! Suggested reading order is the order of the modules.
#![forbid(unsafe_code)]

mod store;

mod sessions;

mod prompts;

mod moves;

mod rows;
mod schema;

mod audit_log;
mod record;
mod verify;

pub use audit_log::{Missing, Recovery, Torn};
pub use moves::{AcceptError, AcceptedAnswer, Advance, AdvanceError, Moved, Outcome};
pub use prompts::{Delivery, NewPrompt, OpenPrompt, PromptRecord, RecordError, Recorded, Reply};
pub use record::{AuditRecord, ReadError, RecordFilter, Records, read_records, rfc3339, tail};
pub use schema::Migration;
pub use sessions::{SessionError, SessionRecord, SessionStatus};
pub use store::{AuditError, BackendError, OpenError, QueryError, Store, StoreConfig};
pub use verify::{Flaw, Verdict, VerifyError, verify};
