//! The page's server against a hub in memory and a client that writes its own bytes.
//!
//! - `hub`: a small honest hub behind the door; it counts whatever changed.
//! - `client`: requests, streams and sockets, byte for byte.
//! - `schema`: `api/openapi.json`, and whether an answer is as it says.
//!
//! - `refusals`: the matrix of what must not get in, and that none of it changed anything.
//! - `access`: links, cookies, limits, TLS, ports, the end.
//! - `answers`: what the API tells and does, checked against its description.
//! - `streams`: events and live screens, fast, slow and stalled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails where it stands")]

mod client;
mod hub;
mod schema;

mod access;
mod answers;
mod refusals;
mod streams;
