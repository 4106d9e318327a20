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

mod access;
mod browsers;
mod crowd;
mod screens;
mod stories;
mod tools;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use atlasbridge_testkit::page::Visitor;
use atlasbridge_testkit::{Home, eventually};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};
use rustix::process::{Pid, Signal, kill_process};

/// A home whose page has an address that stays, though the hub goes and comes back.
pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) port: u16,
    more: String,
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
        let desk = Self { home, port, more: more.to_owned(), _reserved: reserved };
        desk.configure("");
        desk
    }

    fn configure(&self, more: &str) {
        let Self { port, more: own, .. } = self;
        let text = format!("[web]\nlisten = \"127.0.0.1:{port}\"\n{own}{more}");
        self.home.write_config(&text);
    }

    /// Acts while prompts have a few seconds only.
    #[track_caller]
    pub(crate) fn briefly<T>(&self, act: impl FnOnce() -> T) -> T {
        self.reconfigure("[prompts]\ntimeout_seconds = 6\n");
        let done = act();
        self.reconfigure("");
        done
    }

    /// Changes the configuration of a hub that runs.
    #[track_caller]
    fn reconfigure(&self, more: &str) {
        let reloads = || {
            let records = self.home.audit();
            let reloaded = records.iter().filter(|record| record["event"] == "CONFIG_RELOADED");
            reloaded.count()
        };
        let before = reloads();
        self.configure(more);
        let hub = Pid::from_raw(self.home.hub_pid().expect("the hub runs")).unwrap();
        kill_process(hub, Signal::HUP).unwrap();
        eventually("the configuration is read again", || (reloads() > before).then_some(()));
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
