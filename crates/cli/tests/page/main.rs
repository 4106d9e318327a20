//! The page from outside: the real binary, tools on real terminals, real browsers. The truth is what the tool read, and
//! what its terminal shows.
//!
//! `browsers` everything that a person does, in Chromium and Firefox · `access` who gets in, and who does not ·
//! `screens` real programs, as the page shows them · `stories` one prompt, from many sides · `crowd` many sessions at
//! once. `tools` is what asks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on should say where and stop"
)]

mod browsers;
mod tools;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use atlasbridge_testkit::Home;
use atlasbridge_testkit::page::Visitor;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};

/// A home whose page has an address that stays, though the hub goes and comes back.
pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) port: u16,
    _reserved: OwnedFd,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// `more` is appended to the configuration.
    pub(crate) fn with(more: &str) -> Self {
        let (reserved, port) = reserve();
        let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
        home.write_config(&format!("[web]\nlisten = \"127.0.0.1:{port}\"\n{more}"));
        Self {
            home,
            port,
            _reserved: reserved,
        }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A one-time link.
    #[track_caller]
    pub(crate) fn link(&self) -> String {
        let opened = self.home.run(["open", "--json"]);
        assert_eq!(opened.code, 0, "{opened:?}");
        opened.json()["url"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn visitor(&self) -> Visitor {
        Visitor::enter(&self.link()).unwrap()
    }
}

/// A port that nobody else gets, held by a socket that never listens: whoever may share an address may listen there.
pub(crate) fn reserve() -> (OwnedFd, u16) {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, address.port())
}
