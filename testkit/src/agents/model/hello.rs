//! Two services that Claude Code greets before its first start, and does not begin without. They answer here, over TLS, with
//! a certificate that only the agent under test is told to believe.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::serve;

/// Who is greeted, and how.
const GREETED: [(&str, &str); 2] =
    [("api.anthropic.com", "/api/hello"), ("platform.claude.com", "/v1/oauth/hello")];

pub(super) struct Hello {
    config: Arc<ServerConfig>,
    /// For `NODE_EXTRA_CA_CERTS`.
    pub(super) certificate: String,
}

impl std::fmt::Debug for Hello {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hello")
    }
}

impl Hello {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let hosts: Vec<String> = GREETED.iter().map(|(host, _)| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        Self { config: Arc::new(config), certificate: certificate.pem() }
    }

    /// `target` of a CONNECT is one of those who answer.
    pub(super) fn knows(target: &str) -> bool {
        let host = target.strip_suffix(":443").unwrap_or(target);
        GREETED.iter().any(|(greeted, _)| *greeted == host)
    }

    /// Says hello, and nothing else.
    pub(super) fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        let connection = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        let mut reader = io::BufReader::new(StreamOwned::new(connection, stream));
        let head = serve::read_head(&mut reader)?;
        let is_hello = GREETED.iter().any(|(_, path)| head.target == *path);
        let status = if is_hello { "200 OK" } else { "404 Not Found" };
        let mut stream = reader.into_inner();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        )?;
        stream.conn.send_close_notify();
        stream.flush()
    }
}
