//! Connections: how many, how long, and how slow they may be. What they ask is the router's business.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::seats::{Seat, Seats};
use crate::server::Server;
use crate::tls::Prepared;

/// A browser keeps six and a stream or two; three phones and ten tabs are far from this.
const MOST_CONNECTIONS: usize = 256;
/// One other machine cannot take them all.
const MOST_PER_PEER: usize = 64;
/// For the head of a request, and between two requests on one connection: who sends a byte now and then is cut off.
const HEAD_TIME: Duration = Duration::from_secs(10);
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a browser may take nothing at all of what is being sent to it.
const STALL_TIME: Duration = Duration::from_secs(30);
/// More head than any browser sends.
const HEAD_BYTES: usize = 32 * 1024;
/// After a failed accept (no descriptors left), so that it does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where a request came from, for the handlers; and a place among the connections for as long as anybody holds it.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    _seat: Seat,
}

/// Serves until the handle is dropped; its connections end with it.
pub(crate) async fn run(listener: TcpListener, tls: Option<Prepared>, server: Arc<Server>) {
    let acceptor = tls.map(|tls| TlsAcceptor::from(tls.config));
    let router = crate::api::router(server.clone());
    let seats = Seats::new();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = server.closed() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection to the page");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(seat) = seat(&seats, peer.ip()) else {
            server.tell_refused("too_many_connections", peer.ip());
            continue;
        };
        let Ok(local) = stream.local_addr() else { continue };
        let connection = Connection { peer, local, _seat: seat };
        connections.spawn(serve(stream, acceptor.clone(), router.clone(), connection));
    }
    connections.shutdown().await;
}

async fn serve(stream: TcpStream, acceptor: Option<TlsAcceptor>, router: Router, connection: Connection) {
    // Small frames follow each other closely; waiting to join them only makes a live screen late.
    let _ = stream.set_nodelay(true);
    let stream = Patient { stream, patience: STALL_TIME, stalled: None };
    match acceptor {
        None => talk(stream, router, connection).await,
        Some(acceptor) => match timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => talk(stream, router, connection).await,
            Ok(Err(error)) => tracing::debug!(%error, "a connection to the page did not come to TLS"),
            Err(_) => tracing::debug!("a connection to the page was too slow for TLS"),
        },
    }
}

async fn talk<S>(stream: S, router: Router, connection: Connection)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Each request has the connection it came on.
    let service = TowerToHyperService::new(router.layer(Extension(connection)));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the page ended early");
    }
}

fn seat(seats: &Seats<IpAddr>, peer: IpAddr) -> Option<Seat> {
    let peer = peer.to_canonical();
    let most_of_peer = if peer.is_loopback() { MOST_CONNECTIONS } else { MOST_PER_PEER };
    seats.take(peer, |all, of_peer| all < MOST_CONNECTIONS && of_peer < most_of_peer)
}

/// A stream whose reader may be slow, but not stand still: what is sent to it fails after a while, and its seat is free.
/// It says that it gathers no pieces, so that everything is sent by the one way that is watched.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        if sent.is_ready() {
            self.stalled = None;
            return sent;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_stands_still_is_let_go() {
        use tokio::io::AsyncWriteExt as _;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _reader = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = Patient { stream, patience: Duration::from_millis(50), stalled: None };
        let refused = loop {
            if let Err(error) = stream.write_all(&[0; 64 * 1024]).await {
                break error;
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn seats_are_given_back_and_no_other_machine_takes_them_all() {
        let seats = Seats::new();
        let (here, there): (IpAddr, IpAddr) = ([127, 0, 0, 1].into(), [192, 0, 2, 7].into());
        let theirs: Vec<_> = (0..MOST_PER_PEER).map(|_| seat(&seats, there).unwrap()).collect();
        assert!(seat(&seats, there).is_none());
        let ours: Vec<_> = std::iter::from_fn(|| seat(&seats, here)).collect();
        assert_eq!(ours.len() + theirs.len(), MOST_CONNECTIONS);
        drop(theirs);
        assert!(seat(&seats, there).is_some());
        drop(ours);
        let all: Vec<_> = std::iter::from_fn(|| seat(&seats, here)).collect();
        assert_eq!(all.len(), MOST_CONNECTIONS, "all were given back");
    }
}
