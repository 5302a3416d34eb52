//! TLS without a proxy in front: the certificate and its key, read at start and again on SIGHUP.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio_rustls::rustls::crypto::{self, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, InconsistentKeys};
use tokio_rustls::{Accept, TlsAcceptor};

/// The permissions of all users other than the owner and the group of a file.
const OTHERS_MODE: u32 = 0o007;

/// Accepts TLS connections with the certificate of two files.
#[derive(Debug)]
pub(crate) struct ServerTls {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    certificate: Arc<CurrentCertificate>,
    config: Arc<ServerConfig>,
}

/// Where the certificate chain and its key are, both as PEM.
#[derive(Debug, Clone)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("{} cannot be read: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} has no {what} in PEM form", .path.display())]
    Missing { path: PathBuf, what: &'static str },
    #[error("{} is not PEM: {error:?}", .path.display())]
    NotPem { path: PathBuf, error: pem::Error },
    #[error("every user of this machine can read the key (mode {mode:03o}); run: chmod 600 {}", .path.display())]
    KeyExposed { path: PathBuf, mode: u32 },
    #[error("the key in {} does not belong to the certificate in {}", .0.key.display(), .0.certificate.display())]
    Mismatch(TlsFiles),
    #[error("the certificate in {} cannot be used: {error}", .path.display())]
    Unusable { path: PathBuf, error: rustls::Error },
}

/// The certificate of new connections. Open ones keep the one they began with.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

impl ServerTls {
    pub(crate) fn load(files: TlsFiles) -> Result<ServerTls, TlsError> {
        let provider = Arc::new(crypto::ring::default_provider());
        let certificate = files.read(&provider)?;
        let certificate = Arc::new(CurrentCertificate(RwLock::new(Arc::new(certificate))));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has the usual versions")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(ServerTls { files, provider, certificate, config: Arc::new(config) })
    }

    /// Reads both files again. After an error the certificate is the one before.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let certificate = self.files.read(&self.provider)?;
        *self.certificate.0.write() = Arc::new(certificate);
        Ok(())
    }

    pub(crate) fn accept<S>(&self, stream: S) -> Accept<S>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        TlsAcceptor::from(Arc::clone(&self.config)).accept(stream)
    }
}

impl TlsFiles {
    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let chain: Result<Vec<CertificateDer<'static>>, pem::Error> =
            CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect);
        let chain = chain.map_err(|error| pem_error(&self.certificate, "certificate", error))?;
        if chain.is_empty() {
            return Err(pem_error(&self.certificate, "certificate", pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key);
        let key = key.map_err(|error| pem_error(&self.key, "private key", error))?;
        check_not_exposed(&self.key)?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch(self.clone())
            }
            error => TlsError::Unusable { path: self.certificate.clone(), error },
        })
    }
}

fn pem_error(path: &Path, what: &'static str, error: pem::Error) -> TlsError {
    let path = path.to_owned();
    match error {
        pem::Error::Io(error) => TlsError::Unreadable { path, error },
        pem::Error::NoItemsFound => TlsError::Missing { path, what },
        error => TlsError::NotPem { path, error },
    }
}

fn check_not_exposed(path: &Path) -> Result<(), TlsError> {
    let metadata =
        std::fs::metadata(path).map_err(|error| TlsError::Unreadable { path: path.to_owned(), error })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS_MODE != 0 {
        return Err(TlsError::KeyExposed { path: path.to_owned(), mode });
    }
    Ok(())
}
