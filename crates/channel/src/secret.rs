//! A token that never shows itself: not in logs, not in errors, not among settings.

use std::fmt;

use atlasbridge_model::mask::MASK;

/// Text for a channel's server alone. It can be printed in no way but as a mask.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Each call is a place to look at twice.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_to_expose_alone() {
        let secret = Secret::new("hunter2");
        let shown = format!("{secret:?} {:#?}", Some(&secret));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(secret.expose(), "hunter2");
    }
}
