//! Words for people: each fact of a prompt, an answer or a refusal, and how each audience hears it.
//!
//! The rules beside this room decide; the rooms that show (chat, page, command line) lay out. Neither words anything that
//! a person reads about a prompt: the same fact would soon be told in two ways, and one of them would be wrong. Commands
//! of ours (`/resume`, `atlasbridge reply`) are named here and nowhere else in this crate.
//!
//! Facts in, plain text out: escaping, cutting and making visible is for the room that shows it.

mod asking;
mod fate;
mod health;
mod refusals;

pub use asking::{
    answerable, if_nobody_answers, label, left, possibly, rows_wanted, silence, time_left, wants,
};
pub use fate::{Fate, Instruction, because, by, instruction, meaning, tone};
pub use health::{lasted, trouble};

/// Who hears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person far from the machine, on a phone: whole sentences, and no command line but the one that ends a pause.
    Chat,
    /// A person at the page: as in a chat, but nothing can be sent with a slash from there.
    Page,
    /// A person at the machine: half a sentence after `atlasbridge:`, with the command that helps.
    Command,
}

/// The same with its first letter as a sentence begins.
pub fn sentence(half: &str) -> String {
    let mut chars = half.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// `1 row`, `3 rows`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
