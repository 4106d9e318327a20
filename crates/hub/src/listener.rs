//! The socket: one hub per home directory, peers of the same user only, one task per connection.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_wire::command::{Request, Response};
use atlasbridge_wire::session::{FromSession, ToSession};
use atlasbridge_wire::{FrameError, Greeting, Hello, Lines, OLDEST_PROTOCOL, PROTOCOL, Role, decode, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};

use crate::HubError;
use crate::peer::Peer;
use crate::registry::ConnectionNo;
use crate::shell::Input;

/// How long a peer may take to say who it is.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// How long a command may take to ask something. Ours ask at once; one that does not takes a seat from others.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// How long a peer may take to read what it asked for.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// Connections at a time. A user's sessions and commands; more is a loop gone wild.
const MOST_CONNECTIONS: usize = 512;
/// Messages that wait for one session host.
const MAILBOX: usize = 64;

/// What every connection needs to know of the hub.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) version: String,
    pub(crate) epoch: u64,
}

/// The lock of the hub, held for its life: the kernel releases it with the process, however that ends. And one that is held
/// from before the lock is tried until the hub listens, one process at a time: whoever is told that another hub runs may
/// connect to it at once.
pub(crate) fn lock(path: &Path) -> Result<(File, File), HubError> {
    let broken = |source| HubError::Lock { path: path.to_owned(), source };
    let starting = open_lock(&path.with_extension("starting")).map_err(broken)?;
    starting.lock().map_err(broken)?;
    let mut file = open_lock(path).map_err(broken)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            return Err(HubError::AlreadyRunning { pid: pid.trim().to_owned() });
        }
        Err(TryLockError::Error(source)) => return Err(broken(source)),
    }
    let written =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(broken)?;
    Ok((file, starting))
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Binds the socket, 0600. Only the holder of the lock gets here, so an old socket file has no owner.
pub(crate) fn bind(path: &Path) -> Result<UnixListener, HubError> {
    let bound = || -> io::Result<UnixListener> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(listener)
    };
    bound().map_err(|source| HubError::Listen { path: path.to_owned(), source })
}

/// Accepts until the hub is gone.
pub(crate) async fn listen(listener: UnixListener, identity: Arc<Identity>, hub: mpsc::Sender<Input>) {
    let seats = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut next = 0;
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: the next connection may fare better.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        next += 1;
        let (identity, hub) = (identity.clone(), hub.clone());
        tokio::spawn(async move {
            // Whatever goes wrong with a peer is its connection's end and nobody else's.
            if let Err(error) = serve(stream, ConnectionNo(next), &identity, &hub).await {
                tracing::debug!(connection = next, %error, "connection ended");
            }
            drop(seat);
        });
    }
}

async fn serve(
    stream: UnixStream,
    no: ConnectionNo,
    identity: &Identity,
    hub: &mpsc::Sender<Input>,
) -> io::Result<()> {
    let peer = Peer::of(&stream)?;
    if peer.uid != rustix::process::getuid().as_raw() {
        tracing::warn!(
            pid = peer.pid,
            uid = peer.uid,
            "another user's process connected and was turned away"
        );
        return Ok(());
    }
    let (read_half, mut writer) = stream.into_split();
    let mut reader = Reader { half: read_half, lines: Lines::default() };
    let version = identity.version.clone();
    let agreed = match in_time(HELLO_LIMIT, reader.next::<Hello>()).await {
        Ok(Some(hello)) => hello.agree(&version).map(|protocol| (protocol, hello.atlasbridge)),
        Ok(None) => return Ok(()),
        Err(_) => Err("this is not the AtlasBridge protocol".to_owned()),
    };
    let (protocol, role) = match agreed {
        Ok(agreed) => agreed,
        Err(reason) => {
            let (oldest, newest) = (OLDEST_PROTOCOL, PROTOCOL);
            return send(&mut writer, &Greeting::Refused { reason, oldest, newest, version }).await;
        }
    };
    let (pid, epoch) = (std::process::id(), identity.epoch);
    send(&mut writer, &Greeting::Welcome { protocol, version, pid, epoch }).await?;
    match role {
        Role::Session => serve_session(reader, writer, no, peer, hub).await,
        Role::Command => serve_command(reader, writer, peer, hub).await,
    }
}

async fn serve_session(
    mut reader: Reader,
    mut writer: OwnedWriteHalf,
    no: ConnectionNo,
    peer: Peer,
    hub: &mpsc::Sender<Input>,
) -> io::Result<()> {
    let Some(FromSession::Begin(info)) = in_time(HELLO_LIMIT, reader.next()).await? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let (mailbox, mut outgoing) = mpsc::channel::<ToSession>(MAILBOX);
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    hub.send(Input::SessionUp { no, info, peer_pid: peer.pid, mailbox }).await.map_err(|_| gone())?;
    let read = async {
        while let Some(message) = reader.next::<FromSession>().await? {
            hub.send(Input::SessionSaid { no, message }).await.map_err(|_| gone())?;
        }
        Ok(())
    };
    let write = async {
        // Ends when the hub forgets this connection, as it does when the session comes back on another one.
        while let Some(message) = outgoing.recv().await {
            send(&mut writer, &message).await?;
        }
        Ok(())
    };
    let result = tokio::select! {
        result = read => result,
        result = write => result,
    };
    let _ = hub.send(Input::SessionDown { no }).await;
    result
}

async fn serve_command(
    mut reader: Reader,
    mut writer: OwnedWriteHalf,
    peer: Peer,
    hub: &mpsc::Sender<Input>,
) -> io::Result<()> {
    let peer = Arc::new(peer);
    while let Some(request) = in_time(REQUEST_LIMIT, reader.next::<Request>()).await? {
        // A watch is answered many times, everything else once; either way the answers end with the sender.
        let (respond, mut responses) = mpsc::channel::<Response>(4);
        let asked = Input::Asked { request, peer: peer.clone(), respond };
        hub.send(asked).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        loop {
            let response = tokio::select! {
                response = responses.recv() => response,
                // Whoever hangs up does not want the answer.
                closed = reader.is_closed() => match closed { true => return Ok(()), false => continue },
            };
            match response {
                Some(response) => send(&mut writer, &response).await?,
                None => break,
            }
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Reader {
    half: OwnedReadHalf,
    lines: Lines,
}

impl Reader {
    async fn next<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let broken = |error: FrameError| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut buffer = [0; 16 * 1024];
        loop {
            if let Some(line) = self.lines.next_line().map_err(broken)? {
                return decode(&line).map(Some).map_err(broken);
            }
            match self.half.read(&mut buffer).await? {
                0 => return Ok(None),
                count => self.lines.push(&buffer[..count]),
            }
        }
    }

    /// Waits for more input: true if there is none any more, or far too much; false if a further request has begun
    /// to come.
    async fn is_closed(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match self.half.read(&mut buffer).await {
            Ok(0) | Err(_) => true,
            Ok(count) => {
                self.lines.push(&buffer[..count]);
                self.lines.is_full()
            }
        }
    }
}

async fn send<T: serde::Serialize>(writer: &mut OwnedWriteHalf, frame: &T) -> io::Result<()> {
    let bytes = encode(frame);
    in_time(WRITE_LIMIT, writer.write_all(&bytes)).await
}

async fn in_time<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
