//! Kernel descriptors that tokio has no type for (timers, processes), as something to await.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Registers a descriptor that we own alone.
#[expect(
    deprecated,
    reason = "the sound spelling is an unsafe function, which this room forbids; an OwnedFd moved in here stays open \
              for as long as it is registered, which is all that the unsafe contract asks"
)]
pub(crate) fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}
