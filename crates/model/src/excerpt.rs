//! Texts that are fit to leave the session host: masked and cut by construction.
//!
//! # Masked-and-cut invariant
//! There is no way to make an [`Excerpt`] or a [`Detail`] other than through [`mask`](crate::mask::mask) and the
//! cut; whoever holds one may show it to an operator.

use std::fmt;

use crate::mask::mask;

/// Longest excerpt, in bytes of UTF-8. What a phone shows of a message without opening it.
pub const EXCERPT_BYTES: usize = 200;
/// Longest detail, in bytes of UTF-8: the whole dialog, shown when the operator asks.
pub const DETAIL_BYTES: usize = 4096;

/// Text that was masked, and cut to so many bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fitted<const BYTES: usize>(String);

/// The question, in a line or two.
pub type Excerpt = Fitted<EXCERPT_BYTES>;

/// The whole dialog as plain text.
pub type Detail = Fitted<DETAIL_BYTES>;

impl<const BYTES: usize> Fitted<BYTES> {
    pub fn new(text: &str) -> Self {
        Self(fit(text, BYTES))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const BYTES: usize> fmt::Display for Fitted<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a tool printed stays out of logs: lengths only.
impl<const BYTES: usize> fmt::Debug for Fitted<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fitted({} of at most {BYTES} bytes)", self.0.len())
    }
}

/// Control characters out (line breaks stay), secrets masked, cut on a character boundary with `…`.
///
/// Masking comes before the cut: a token cut in half would no longer look like one.
fn fit(text: &str, limit: usize) -> String {
    let plain: String = text.chars().filter(|&char| char == '\n' || !char.is_control()).collect();
    let masked = mask(plain.trim_end());
    if masked.len() <= limit {
        return masked.into_owned();
    }
    let mut end = limit - '…'.len_utf8();
    while !masked.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &masked[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_text_is_cut_on_a_character_boundary() {
        let excerpt = Excerpt::new(&"é".repeat(150));
        assert!(excerpt.as_str().len() <= EXCERPT_BYTES);
        assert!(excerpt.as_str().ends_with('…'));
    }

    #[test]
    fn a_secret_is_masked_before_the_cut_can_hide_it() {
        let text = format!("{}ghp_{}", "x ".repeat(90), "a1B2".repeat(10));
        assert!(!Excerpt::new(&text).as_str().contains("ghp_"));
    }

    proptest! {
        #[test]
        fn any_text_fits(text in "\\PC{0,400}|.{0,400}") {
            prop_assert!(Excerpt::new(&text).as_str().len() <= EXCERPT_BYTES);
            prop_assert!(Detail::new(&text).as_str().len() <= DETAIL_BYTES);
        }

        #[test]
        fn fitting_twice_changes_nothing(text in "[ -~\\n]{0,300}") {
            let once = Excerpt::new(&text);
            prop_assert_eq!(Excerpt::new(once.as_str()), once);
        }
    }
}
