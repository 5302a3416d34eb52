//! A connection that is cut when it hurts most: around COMMIT.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// Between a store and its server.
#[derive(Clone)]
pub(crate) struct Proxy {
    state: Arc<State>,
    port: u16,
}

struct State {
    socket: PathBuf,
    cutting: AtomicBool,
    commits: AtomicU32,
    cuts: AtomicU32,
}

/// When a connection is cut.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The server never gets to know of the COMMIT.
    Before,
    /// The server gets it, and nobody waits for its answer.
    Meanwhile,
    /// The server has done it, and its answer is lost.
    After,
}

const CUTS: [Cut; 3] = [Cut::Before, Cut::Meanwhile, Cut::After];

impl Proxy {
    /// Listens on a free port for connections to the server whose socket is in a directory.
    pub(crate) async fn start(sockets: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            socket: sockets.join(".s.PGSQL.5432"),
            cutting: AtomicBool::new(false),
            commits: AtomicU32::new(0),
            cuts: AtomicU32::new(0),
        });
        let proxy = Proxy { state, port };
        let accepting = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(Arc::clone(&accepting.state), client));
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// From now on every third COMMIT is cut, or none.
    pub(crate) fn cut(&self, cutting: bool) {
        self.state.cutting.store(cutting, Ordering::Relaxed);
    }

    pub(crate) fn cuts(&self) -> u32 {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

impl State {
    /// What to do with a COMMIT. All three ways come up in turn.
    fn next(&self) -> Option<Cut> {
        if !self.cutting.load(Ordering::Relaxed) {
            return None;
        }
        let commit = self.commits.fetch_add(1, Ordering::Relaxed);
        if commit % 3 != 2 {
            return None;
        }
        let cut = self.cuts.fetch_add(1, Ordering::Relaxed);
        Some(CUTS[cut as usize % CUTS.len()])
    }
}

/// Carries bytes both ways until one side ends or the connection is cut. Dropping both ends cuts it.
async fn carry(state: Arc<State>, mut client: TcpStream) {
    let mut server = UnixStream::connect(&state.socket).await.unwrap();
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let cut = if asked[..length].ends_with(b"COMMIT\0") { state.next() } else { None };
                if let Some(Cut::Before) = cut {
                    return;
                }
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
                match cut {
                    Some(Cut::Meanwhile) => return,
                    // Its answer says that it is done.
                    Some(Cut::After) => {
                        let _ = server.read(&mut answered).await;
                        return;
                    }
                    Some(Cut::Before) | None => {}
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}
