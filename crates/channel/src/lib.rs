//! Ways to reach a person.
#![forbid(unsafe_code)]
