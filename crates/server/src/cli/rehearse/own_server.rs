//! A server for the rehearsal alone: the real one, on a port of its own, with a store that is removed afterwards.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxoffice_engine::private_files;
use boxoffice_engine::{Engine, Settings};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::{App, AppSettings};
use crate::cli::console::Failure;
use crate::connections::ConnectionLimits;
use crate::listen;

/// A directory that is removed when it is no longer needed.
pub(super) struct Directory(PathBuf);

impl Directory {
    /// A new one among the system's temporary files, which `TMPDIR` can put on the disk that matters.
    pub(super) fn new(seed: u64) -> Result<Directory, Failure> {
        let path = std::env::temp_dir().join(format!("boxoffice-rehearsal-{}-{seed:x}", std::process::id()));
        private_files::create_directory(&path)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        Ok(Directory(path))
    }

    pub(super) fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "{} is left behind", self.0.display());
        }
    }
}

/// A running server. But for lanes and watchers it has threads of its own, as a process of its own would.
pub(super) struct OwnServer {
    runtime: Runtime,
    app: Arc<App>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    address: SocketAddr,
}

impl OwnServer {
    /// Serves a store, which is made if it is not there.
    pub(super) fn start(store: &Path) -> Result<OwnServer, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let entered = runtime.enter();
        let app = App::new(Engine::open(store, &Settings::default())?, AppSettings::default())?;
        let listener = listen::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let of_server = Arc::clone(&app);
        let serving = runtime.spawn(async move {
            // Whoever is gone wants it to stop, too.
            let stop = async { drop(stopped.await) };
            listen::serve(listener, &of_server, ConnectionLimits::default(), stop).await;
        });
        drop(entered);
        Ok(OwnServer { runtime, app, stop, serving, address })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers what was taken and closes the store.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.app.stopping.send_replace(true);
        // If nobody hears it, it has stopped.
        let _ = self.stop.send(());
        self.runtime.block_on(async {
            self.serving.await?;
            self.app.webhooks.stop().await;
            Ok::<_, Failure>(())
        })?;
        Ok(self.app.engine.close()?)
    }
}
