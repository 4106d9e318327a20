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

/// Held for the life of the hub; the kernel releases it with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Held from before the lock is tried until the hub listens, one process at a time: whoever is told that another
/// hub runs may connect to it at once.
#[derive(Debug)]
pub(crate) struct Starting {
    _file: File,
}

impl Lock {
    pub(crate) fn take(path: &Path) -> Result<(Self, Starting), HubError> {
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
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(broken)?;
        Ok((Self { _file: file }, Starting { _file: starting }))
    }
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
        let Ok(seat) = seats.clone().acquire_owned().await else {
            return;
        };
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
    let (reader, writer) = stream.into_split();
    let mut connection = Connection { reader, writer, lines: Lines::default() };
    let hello: Hello = match tokio::time::timeout(HELLO_LIMIT, connection.next()).await {
        Ok(Ok(Some(hello))) => hello,
        Ok(Ok(None)) => return Ok(()),
        Ok(Err(_)) | Err(_) => {
            return connection.refuse("this is not the AtlasBridge protocol", identity).await;
        }
    };
    match hello.agree(&identity.version) {
        Ok(protocol) => {
            let version = identity.version.clone();
            let welcome =
                Greeting::Welcome { protocol, version, pid: std::process::id(), epoch: identity.epoch };
            connection.send(&welcome).await?;
        }
        Err(reason) => return connection.refuse(&reason, identity).await,
    }
    match hello.atlasbridge {
        Role::Session => serve_session(connection, no, peer, hub).await,
        Role::Command => serve_command(connection, peer, hub).await,
    }
}

async fn serve_session(
    mut connection: Connection,
    no: ConnectionNo,
    peer: Peer,
    hub: &mpsc::Sender<Input>,
) -> io::Result<()> {
    let Some(FromSession::Begin(info)) = in_time(HELLO_LIMIT, connection.next()).await? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let (mailbox, mut outgoing) = mpsc::channel::<ToSession>(MAILBOX);
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    hub.send(Input::SessionUp { no, info, peer_pid: peer.pid, mailbox }).await.map_err(|_| gone())?;
    let Connection { mut reader, mut writer, mut lines } = connection;
    let read = async {
        while let Some(message) = next_frame::<FromSession>(&mut reader, &mut lines).await? {
            hub.send(Input::SessionSaid { no, message }).await.map_err(|_| gone())?;
        }
        Ok(())
    };
    let write = async {
        // Ends when the hub forgets this connection, as it does when the session comes back on another one.
        while let Some(message) = outgoing.recv().await {
            send_frame(&mut writer, &message).await?;
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

async fn serve_command(mut connection: Connection, peer: Peer, hub: &mpsc::Sender<Input>) -> io::Result<()> {
    let peer = Arc::new(peer);
    while let Some(request) = in_time(REQUEST_LIMIT, connection.next::<Request>()).await? {
        // A watch is answered many times, everything else once; either way the answers end with the sender.
        let (respond, mut responses) = mpsc::channel::<Response>(4);
        let asked = Input::Asked { request, peer: peer.clone(), respond };
        hub.send(asked).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        loop {
            let response = tokio::select! {
                response = responses.recv() => response,
                // Whoever hangs up does not want the answer.
                closed = connection.is_closed() => match closed { true => return Ok(()), false => continue },
            };
            match response {
                Some(response) => connection.send(&response).await?,
                None => break,
            }
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Connection {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    lines: Lines,
}

impl Connection {
    async fn next<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        next_frame(&mut self.reader, &mut self.lines).await
    }

    async fn send<T: serde::Serialize>(&mut self, frame: &T) -> io::Result<()> {
        send_frame(&mut self.writer, frame).await
    }

    async fn refuse(&mut self, reason: &str, identity: &Identity) -> io::Result<()> {
        self.send(&Greeting::Refused {
            reason: reason.to_owned(),
            oldest: OLDEST_PROTOCOL,
            newest: PROTOCOL,
            version: identity.version.clone(),
        })
        .await
    }

    /// Waits for more input: true if there is none any more, or far too much; false if a further request has begun
    /// to come.
    async fn is_closed(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match self.reader.read(&mut buffer).await {
            Ok(0) | Err(_) => true,
            Ok(count) => {
                self.lines.push(&buffer[..count]);
                self.lines.is_full()
            }
        }
    }
}

async fn next_frame<T: serde::de::DeserializeOwned>(
    reader: &mut OwnedReadHalf,
    lines: &mut Lines,
) -> io::Result<Option<T>> {
    let broken = |error: FrameError| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(line) = lines.next_line().map_err(broken)? {
            return decode(&line).map(Some).map_err(broken);
        }
        match reader.read(&mut buffer).await? {
            0 => return Ok(None),
            count => lines.push(&buffer[..count]),
        }
    }
}

async fn send_frame<T: serde::Serialize>(writer: &mut OwnedWriteHalf, frame: &T) -> io::Result<()> {
    let bytes = encode(frame);
    in_time(WRITE_LIMIT, writer.write_all(&bytes)).await
}

async fn in_time<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
