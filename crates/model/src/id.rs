//! Identities, one type each: a prompt id can never be passed where a session id is meant.
//!
//! Random bytes come from the shells; this file only gives them a shape.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Excerpt;

/// The text was not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {what}")]
pub struct IdError {
    pub(crate) what: &'static str,
}

macro_rules! uuid_id {
    ($name:ident, $what:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// A version 4 uuid from sixteen random bytes.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }

            /// The first eight hex digits: enough for a person to tell prompts apart, never enough to decide.
            pub fn short(&self) -> String {
                self.to_string()[..8].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                // Only the canonical spelling: one id has one text, in files, frames and columns alike.
                match Uuid::try_parse(text) {
                    Ok(uuid) if uuid.to_string() == text => Ok(Self(uuid)),
                    _ => Err(IdError { what: $what }),
                }
            }
        }
    };
}

uuid_id!(SessionId, "session id", "One `atlasbridge run`.");
uuid_id!(PromptId, "prompt id", "One moment in which a tool waits for a person, as the hub recorded it.");
uuid_id!(ReplyId, "reply id", "One validated answer on its way to be typed.");
uuid_id!(TypingId, "typing id", "Keys or a line that somebody who watches a session types into it.");

/// Number of a prompt within its session, counted by the detector from 1.
///
/// Identity of a prompt is (session, sighting): one dialog redrawn 500 times is one sighting, the same question
/// asked twice is two. No time bucket can say that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SightingNo(pub u32);

impl fmt::Display for SightingNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The single-use right to answer one prompt: 128 random bits, 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; 16]);

impl Nonce {
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }
}

impl FromStr for Nonce {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        sixteen_bytes(text).map(Self).ok_or(IdError { what: "nonce" })
    }
}

/// A nonce is a secret until it is spent: it must not reach a log through `Debug`.
impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(…)")
    }
}

/// SHA-256 of `session:sighting:excerpt`, in hex: the same sighting offered twice is recorded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub fn of(session: SessionId, sighting: SightingNo, excerpt: &Excerpt) -> Self {
        let digest = Sha256::digest(format!("{session}:{sighting}:{excerpt}").as_bytes());
        Self(hex(&digest))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lower-case hex digits, the one spelling used in ids, hashes and fingerprints.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 0xf)] as char);
    }
    text
}

/// Whether these are so many lower-case hex digits.
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Sixteen bytes from their 32 lower-case hex digits.
pub fn sixteen_bytes(text: &str) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex(text, 32))?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = SessionId::from_random([0xab; 16]);
        let text = id.to_string();
        assert_eq!(text.parse(), Ok(id));
        assert!(text.to_uppercase().parse::<SessionId>().is_err());
        assert!(text.replace('-', "").parse::<SessionId>().is_err());
        assert_eq!(text.as_bytes()[14], b'4', "version 4");
    }

    #[test]
    fn a_nonce_survives_its_text_and_hides_from_debug() {
        let nonce = Nonce::from_random([0xa5; 16]);
        assert_eq!(nonce.to_hex().parse(), Ok(nonce));
        assert!(!format!("{nonce:?}").contains("a5"));
        assert!("A5".repeat(16).parse::<Nonce>().is_err());
        assert!("é".repeat(16).parse::<Nonce>().is_err());
    }

    #[test]
    fn the_idempotency_key_depends_on_each_part() {
        let session = SessionId::from_random([1; 16]);
        let excerpt = Excerpt::new("Continue? [y/n]");
        let key = IdempotencyKey::of(session, SightingNo(1), &excerpt);
        assert_eq!(key, IdempotencyKey::of(session, SightingNo(1), &excerpt));
        assert_ne!(key, IdempotencyKey::of(session, SightingNo(2), &excerpt));
        assert_ne!(key, IdempotencyKey::of(SessionId::from_random([2; 16]), SightingNo(1), &excerpt));
        assert_ne!(key, IdempotencyKey::of(session, SightingNo(1), &Excerpt::new("Other?")));
    }
}
