//! A server of each test's own.

use std::sync::Arc;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_engine::store::Store;
use boxoffice_services::Postgres;

/// Nothing here survives the machine, and nobody asks it to.
const SETTINGS: &[&str] = &["fsync=off", "max_connections=200", "jit=off"];
const DATABASE: &str = "postgres";

/// A server with an empty database.
pub(crate) struct Database {
    pub(crate) server: Postgres,
}

impl Database {
    pub(crate) fn start() -> Database {
        let server = Postgres::start(SETTINGS).unwrap_or_else(|error| panic!("{error}"));
        Database { server }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url(DATABASE)
    }

    /// A store as a node of its own has it.
    pub(crate) fn store(&self) -> Arc<PostgresStore> {
        Arc::new(PostgresStore::migrate(&self.url()).unwrap().0)
    }

    pub(crate) fn shared_store(&self) -> Arc<dyn Store> {
        self.store()
    }

    /// The rows of a query, with `|` between columns.
    pub(crate) fn rows(&self, query: &str) -> Vec<String> {
        let said = self.server.psql(DATABASE, query).unwrap_or_else(|error| panic!("{error}"));
        said.lines().map(str::to_owned).collect()
    }
}
