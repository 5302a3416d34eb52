//! A connection to PostgreSQL that is cut when it hurts most: around COMMIT.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::error::{Error, Result};

/// Between a client and a PostgreSQL. It ends with the process.
#[derive(Debug, Clone)]
pub struct Proxy {
    state: Arc<State>,
    port: u16,
}

#[derive(Debug)]
struct State {
    socket: PathBuf,
    cutting: AtomicBool,
    commits: AtomicU32,
    cuts: AtomicU32,
}

/// When a transaction is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The server never gets to know of the message of this number, counted from BEGIN; if there are fewer, of the COMMIT.
    Before(u32),
    /// The server gets the COMMIT, and nobody waits for its answer.
    Meanwhile,
    /// The server has done it, and its answer is lost.
    After,
}

/// More messages than a transaction has.
const COMMIT: u32 = u32::MAX;
/// All of them come up in turn.
const CUTS: [Cut; 8] = [
    Cut::After,
    Cut::Before(COMMIT),
    Cut::Meanwhile,
    Cut::Before(1),
    Cut::After,
    Cut::Before(2),
    Cut::Meanwhile,
    Cut::Before(3),
];
/// Of so many transactions that reach the proxy, one is cut off.
const ONE_IN: u32 = 2;

impl Proxy {
    /// Listens on a free port for connections to the server whose socket is in a directory.
    pub fn start(sockets: &Path) -> Result<Proxy> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("cannot make a runtime"))?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(Error::io("cannot listen"))?;
        listener.set_nonblocking(true).map_err(Error::io("cannot listen without blocking"))?;
        let port = listener.local_addr().map_err(Error::io("no port"))?.port();
        let state = Arc::new(State {
            socket: sockets.join(".s.PGSQL.5432"),
            cutting: AtomicBool::new(false),
            commits: AtomicU32::new(0),
            cuts: AtomicU32::new(0),
        });
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a runtime runs");
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(carry(Arc::clone(&accepting), client));
                }
            });
        });
        Ok(Proxy { state, port })
    }

    /// The URL of a database behind it.
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// From now on every second transaction is cut off somewhere, or none.
    pub fn cut(&self, cutting: bool) {
        self.state.cutting.store(cutting, Ordering::Relaxed);
    }

    /// How often it has.
    pub fn cuts(&self) -> u32 {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

impl State {
    /// What to do with a transaction.
    fn next(&self) -> Option<Cut> {
        if !self.cutting.load(Ordering::Relaxed) {
            return None;
        }
        let commit = self.commits.fetch_add(1, Ordering::Relaxed);
        commit.is_multiple_of(ONE_IN).then(|| CUTS[(commit / ONE_IN) as usize % CUTS.len()])
    }

    fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::Relaxed);
    }
}

/// Carries bytes both ways until one side ends or the connection is cut. Dropping both ends cuts it.
async fn carry(state: Arc<State>, mut client: TcpStream) {
    let Ok(mut server) = UnixStream::connect(&state.socket).await else { return };
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let (mut planned, mut messages) = (None, 0);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let message = &asked[..length];
                if message.ends_with(b"BEGIN\0") {
                    (planned, messages) = (state.next(), 0);
                }
                let is_commit = message.ends_with(b"COMMIT\0");
                if let Some(Cut::Before(number)) = planned && (is_commit || messages == number) {
                    return state.cut();
                }
                messages += 1;
                if server.write_all(message).await.is_err() {
                    return;
                }
                if is_commit && let Some(cut) = planned.take() {
                    if cut == Cut::After {
                        // Its answer says that it is done.
                        let _ = server.read(&mut answered).await;
                    }
                    return state.cut();
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
