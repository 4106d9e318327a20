//! The page's certificate: the operator's own files, or one of our making that is kept.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::Tls;

/// Key and certificate in one file: it is there whole or not at all.
const OWN_FILE: &str = "page.pem";

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("reading {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} holds no usable certificate or key in PEM form", path.display())]
    Unusable { path: PathBuf },
    #[error("{} can be read by others; `chmod 600` it, or remove it so that a new one is made", path.display())]
    Exposed { path: PathBuf },
    #[error("certificate and key do not fit together, or are of a kind that is not supported")]
    Mismatch(#[source] rustls::Error),
    #[error("making a certificate")]
    Make(#[source] rcgen::Error),
    #[error("keeping the certificate in {}", path.display())]
    Keep {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// What the server needs to speak TLS.
pub(crate) struct Prepared {
    pub(crate) config: Arc<ServerConfig>,
    /// Of a certificate of our own making: no authority vouches for it.
    pub(crate) fingerprint: Option<String>,
}

pub(crate) fn prepare(tls: &Tls, listen: IpAddr) -> Result<Prepared, TlsError> {
    match tls {
        Tls::Files { certificate, key } => {
            let config = configure(certificates(certificate)?, private_key(key)?)?;
            Ok(Prepared { config, fingerprint: None })
        }
        Tls::SelfSigned { dir } => {
            let path = dir.join(OWN_FILE);
            if !is_kept(&path)? {
                make(&path, listen)?;
            }
            let chain = certificates(&path)?;
            let fingerprint = chain.first().map(fingerprint);
            Ok(Prepared { config: configure(chain, private_key(&path)?)?, fingerprint })
        }
    }
}

fn configure(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Mismatch)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Mismatch)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| TlsError::Unusable { path: path.to_owned() })
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|_| TlsError::Unusable { path: path.to_owned() })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn is_kept(path: &Path) -> Result<bool, TlsError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(TlsError::Read { path: path.to_owned(), source }),
        Ok(file) if file.permissions().mode() & 0o077 != 0 => {
            Err(TlsError::Exposed { path: path.to_owned() })
        }
        Ok(_) => Ok(true),
    }
}

fn make(path: &Path, listen: IpAddr) -> Result<(), TlsError> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let reached = crate::reachable(listen).to_string();
    if !names.contains(&reached) {
        names.push(reached);
    }
    let key = KeyPair::generate().map_err(TlsError::Make)?;
    let mut params = CertificateParams::new(names).map_err(TlsError::Make)?;
    params.distinguished_name.push(DnType::CommonName, "AtlasBridge");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.self_signed(&key).map_err(TlsError::Make)?;
    let text = format!("{}{}", key.serialize_pem(), certificate.pem());
    keep(path, text.as_bytes()).map_err(|source| TlsError::Keep { path: path.to_owned(), source })
}

/// Written aside and moved: a crash in between leaves no half of a key.
fn keep(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let aside = path.with_extension("new");
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&aside, path)
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let pairs: Vec<String> =
        Sha256::digest(certificate.as_ref()).iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}
