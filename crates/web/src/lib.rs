//! The built-in channel.
#![forbid(unsafe_code)]
