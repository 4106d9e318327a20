//! The built-in channel: a page on the operator's own machine.
//!
//! Data comes from the hub through the [`questions`] and goes to browsers that showed a right to it; answers go back the
//! same way. This room serves and renders. It opens no database, reads no terminal and cannot type.
//!
//! Suggested reading order is the order of the modules.
#![forbid(unsafe_code)]
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod questions;

mod access;
mod door;
mod serve;
mod tls;

mod api;
mod assets;
mod events;
mod export;
mod figures;
mod live;
mod pace;
mod render;
mod seats;
mod server;
mod show;

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

pub use access::{link_hash, link_url, new_secret};
pub use questions::HubDoor;
pub use tls::TlsError;

/// How many ports are tried, beginning with the wanted one: a second user's hub, or another program, has the first.
const PORTS_TRIED: u16 = 20;

/// What the page needs to know of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageConfig {
    pub listen: SocketAddr,
    pub tls: Option<Tls>,
    /// Our own version, for the page and for `/metrics`.
    pub version: String,
}

/// Where the certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// The operator's own, in PEM.
    Files { certificate: PathBuf, key: PathBuf },
    /// One of our making, kept in this directory so that its fingerprint stays.
    SelfSigned { dir: PathBuf },
}

/// A page that is being served. Dropping it ends the page, its streams and its sockets.
#[derive(Debug)]
pub struct WebHandle {
    /// The port is the one that was really bound.
    pub address: SocketAddr,
    /// Without a slash at its end. Where every address is listened on, it names the one that others reach.
    pub base_url: String,
    /// SHA-256 of a self-signed certificate, as browsers write it.
    pub fingerprint: Option<String>,
    _open: watch::Sender<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error("listening on {address} or one of the ports after it")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("preparing TLS for the page")]
    Tls(#[from] TlsError),
}

/// Binds at once, in a runtime, and serves while the returned future runs. It ends once the handle is dropped.
pub fn start(
    config: PageConfig,
    hub: HubDoor,
) -> Result<(WebHandle, impl Future<Output = ()> + Send + 'static), WebError> {
    let tls = config.tls.as_ref().map(|tls| tls::prepare(tls, config.listen.ip())).transpose()?;
    let (listener, address) =
        bind(config.listen).map_err(|source| WebError::Listen { address: config.listen, source })?;
    let (open, closing) = watch::channel(());
    let scheme = if tls.is_some() { "https" } else { "http" };
    let handle = WebHandle {
        address,
        base_url: format!("{scheme}://{}", SocketAddr::new(reachable(address.ip()), address.port())),
        fingerprint: tls.as_ref().and_then(|tls| tls.fingerprint.clone()),
        _open: open,
    };
    let server = server::Server::new(hub, config.version, tls.is_some(), closing);
    Ok((handle, serve::run(listener, tls, Arc::new(server))))
}

fn bind(wanted: SocketAddr) -> io::Result<(tokio::net::TcpListener, SocketAddr)> {
    let last = wanted.port().saturating_add(PORTS_TRIED - 1);
    let mut refusal = None;
    for port in wanted.port()..=last {
        match TcpListener::bind(SocketAddr::new(wanted.ip(), port)) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                return Ok((tokio::net::TcpListener::from_std(listener)?, address));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => refusal = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refusal.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

/// The address by which another machine finds this one, where all of them are listened on.
fn reachable(ip: IpAddr) -> IpAddr {
    // Connecting a datagram socket sends nothing; the kernel only chooses the way out. These are addresses for examples.
    let (there, loopback): (IpAddr, IpAddr) = match ip {
        ip if !ip.is_unspecified() => return ip,
        IpAddr::V4(_) => ([192, 0, 2, 1].into(), Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(), Ipv6Addr::LOCALHOST.into()),
    };
    let outward = UdpSocket::bind((ip, 0)).and_then(|socket| {
        socket.connect((there, 9))?;
        socket.local_addr()
    });
    outward.map_or(loopback, |address| address.ip())
}
