//! Ways to reach a person. HTTP to chat services and their tokens live in this room and nowhere else.
//!
//! Data comes from the hub as a [`Task`] for one target and goes back to it as an [`Inbound`]; a channel remembers
//! nothing that must survive: the store keeps what was posted where, what is still to be said, and which updates were
//! handled. A channel can ask and report. It decides nothing, and it cannot type.
//!
//! Suggested reading order is the order of the modules.
#![forbid(unsafe_code)]
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod card;
mod contract;
mod secret;
pub mod telegram;

pub use card::{Answered, Card, SessionTag};
pub use contract::{
    Address, Block, Button, Command, Confirmation, Done, Handle, Health, Inbound, JobNo, Notice, OfferName,
    Outgoing, Person, Receipt, RepliedTo, Saying, Tap, TapOn, Target, Task, Undelivered, Update, UpdateNo,
};
pub use secret::Secret;
