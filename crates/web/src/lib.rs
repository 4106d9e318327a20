//! The built-in channel: a page on the operator's own machine.
//!
//! Data comes from the hub through the [`desk`] and goes to browsers that showed a right to it; answers go back the
//! same way. This room serves and renders. It opens no database, reads no terminal and cannot type.
#![forbid(unsafe_code)]

pub mod desk;
