//! Other programs that the tests need, played by this binary: it is executed again with `ATLASBRIDGE_TEST_ROLE` set.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};

use atlasbridge_pty::{PollFd, PollFlags, poll};

use crate::stage::Stage;
use crate::{guardian, host, jobs, probe};

const ROLE: &str = "ATLASBRIDGE_TEST_ROLE";

/// Puts this binary on a terminal, in this role.
pub(crate) fn play(role: &str, variables: &[(&str, &str)]) -> Stage {
    let variables: Vec<_> = variables.iter().copied().chain([(ROLE, role)]).collect();
    // By this name, which also a user finds who may not walk to where it was built.
    Stage::run_with("/proc/self/exe", ARGUMENTS, &variables, |config| {
        // Whoever plays a role and starts another has one in its own environment.
        config.env.retain(|(key, value)| key != ROLE || value == role);
    })
}

/// Becomes nobody, if it is root that runs the tests.
pub(crate) fn drop_privileges() {
    const NOBODY: u32 = 65_534;
    // SAFETY: no memory is involved; libc changes all threads.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
            assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
            assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
        }
    }
}

const ARGUMENTS: &[&str] = &["--exact", "role::role", "--nocapture", "--test-threads=1"];

/// A test in name only: without a role it has nothing to do.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    match role.as_str() {
        "read" => wait_by_read(),
        "poll" => wait_by_poll(PollFlags::IN),
        "poll-other" => wait_by_poll(PollFlags::PRI),
        "select" => wait_by_select(),
        "epoll" => wait_by_epoll(),
        "dev-tty" => wait_on_dev_tty(),
        "not-dumpable" => {
            atlasbridge_pty::protect_this_process().unwrap();
            wait_by_poll(PollFlags::IN);
        }
        "unprivileged-host" => probe::play_unprivileged_host(),
        "reaping-host" => jobs::play_reaping_host(),
        "nohup" => host::play_nohup(),
        "guarded-host" => guardian::play_host(),
        "stop" => host::play_stopping(),
        "raw" => host::play_raw(),
        "streams" => host::play_streams(),
        other => panic!("no such role: {other}"),
    }
}

fn ready() {
    println!("ready");
}

fn wait_by_read() {
    ready();
    let _ = std::io::stdin().read(&mut [0; 16]);
}

fn wait_by_poll(interest: PollFlags) {
    ready();
    let stdin = std::io::stdin();
    poll(&mut [PollFd::new(&stdin, interest)], None).unwrap();
}

fn wait_by_select() {
    ready();
    // SAFETY: all-zero bytes are a valid, empty set, and 0 is within its bounds.
    unsafe {
        let mut set: libc::fd_set = std::mem::zeroed();
        libc::FD_SET(0, &raw mut set);
        let none = std::ptr::null_mut();
        libc::select(1, &raw mut set, none, none, std::ptr::null_mut());
    }
}

fn wait_by_epoll() {
    use rustix::event::epoll;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    let data = epoll::EventData::new_u64(0);
    epoll::add(&epoll, std::io::stdin().as_fd(), data, epoll::EventFlags::IN).unwrap();
    ready();
    let mut events = Vec::with_capacity(1);
    let _ = epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None);
}

/// With a standard input that is another file, as `less` in a pipe.
fn wait_on_dev_tty() {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").unwrap();
    assert_ne!(terminal.as_raw_fd(), 0);
    terminal.write_all(b"ready\n").unwrap();
    let _ = terminal.read(&mut [0; 16]);
}
