//! (e) Boxoffice on PostgreSQL: one node or several on one database, over HTTP, one booking a request.
//!
//! The same binary and the same requests as (d). A batch of bookings is one transaction, guarded by the fence; nodes that sell
//! the same hall take turns. Clients are spread over the nodes.
//!
//! After a power cut: what was acknowledged is there (`synchronous_commit=on`, `fsync=on`), once; the same key gets the
//! same bytes again, from any node.
//!
//! Where it fails: every booking is also rows that people can query (booking, claim, key), which cost more than the record does;
//! several nodes on one hot hall are not faster than one, because there is one order of bookings in it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use boxoffice_services::{Server, directory};

use super::boxoffice::{Connection, Single, Way, open_hall, serve};
use crate::drive::{Design, Recorded};
use crate::error::Result;
use crate::postgres::Postgres;

/// Nodes on one database, with an empty hall.
pub(crate) struct OnPostgres {
    nodes: Vec<(Server, SocketAddr)>,
    postgres: Postgres,
    /// Of the nodes' logs.
    _directory: tempfile::TempDir,
    /// Where it says how many bookings shared a commit.
    bookings_a_commit: Rc<Cell<f64>>,
}

impl OnPostgres {
    pub(crate) async fn start(
        program: &Path,
        nodes: usize,
        bookings_a_commit: &Rc<Cell<f64>>,
    ) -> Result<OnPostgres> {
        let postgres = Postgres::start()?;
        let directory = directory()?;
        let url = postgres.server.url(postgres.server.user());
        let mut running = Vec::new();
        for node in 0..nodes {
            let log = directory.path().join(format!("node-{node}.log"));
            running.push(serve(program, &["--database-url", &url], log).await?);
        }
        open_hall(running[0].1).await?;
        for (_, address) in &running {
            // It is known everywhere a moment later.
            let mut connection = Connection::open(*address).await?;
            while connection
                .expect(b"GET /v1/events/hall HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 200)
                .await
                .is_err()
            {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        postgres.prepare("").await?;
        let bookings_a_commit = Rc::clone(bookings_a_commit);
        Ok(OnPostgres { nodes: running, postgres, _directory: directory, bookings_a_commit })
    }
}

impl Design for OnPostgres {
    type Client = Single;

    async fn client(&self, index: usize, _clients: usize) -> Result<Single> {
        let (_, address) = self.nodes[index % self.nodes.len()];
        Ok(Single::new(Way::Own(Connection::open(address).await?)))
    }

    fn processes(&self) -> Vec<u32> {
        let nodes = self.nodes.iter().map(|(server, _)| server.id());
        nodes.chain([self.postgres.server.id()]).collect()
    }

    async fn recorded(self) -> Result<Recorded> {
        let connection = self.postgres.connect().await?;
        let counts = connection
            .query_one(
                "SELECT (SELECT count(*) FROM booking), (SELECT held + sold FROM inventory), \
                 (SELECT count(*) FROM idempotency), (SELECT count(*) FROM journal)",
                &[],
            )
            .await?;
        let count = |column: usize| counts.get::<_, i64>(column) as u64;
        self.bookings_a_commit.set(count(0) as f64 / count(3).max(1) as f64);
        Ok(Recorded { bookings: count(0), taken: count(1), keys: count(2) })
    }
}
