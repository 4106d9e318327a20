//! Plain words with one spelling each, in files, frames and columns alike.

/// The text is none of the names of what was wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such {what}")]
pub struct NameError {
    pub(crate) what: &'static str,
}

/// An enum that is written as a word: each variant stands beside its name, and is found by it.
macro_rules! named {
    (
        $what:literal:
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::names::NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|known| known.as_str() == text);
                found.ok_or($crate::names::NameError { what: $what })
            }
        }
    };
}

pub(crate) use named;
