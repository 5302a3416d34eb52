//! Where the data is: a directory of this machine, or a database that any number of servers share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_cluster::redis::{Instances, LockSettings, RedlockTurns};
use boxoffice_engine::store::{EmbeddedStore, Store};
use boxoffice_engine::{Clock, Engine, Settings};
use clap::Args;

use super::console::Failure;

const DIRECTORY: &str = "./boxoffice-data";

/// Where the data is.
#[derive(Debug, Clone, Args)]
pub(super) struct Data {
    /// A directory with the data; ./boxoffice-data if nothing is said.
    #[arg(long, env = "BOXOFFICE_DATA")]
    data: Option<PathBuf>,
    /// A PostgreSQL database with the data, for one server or many: postgres://user:password@host:port/database. The
    /// environment's DATABASE_URL says the same.
    #[arg(long, value_name = "URL", env = "BOXOFFICE_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
}

/// One of the two.
pub(super) enum Place {
    Directory(PathBuf),
    /// By its URL, which must not be shown: it may have a password in it.
    Database(String),
}

impl Data {
    /// Where the data is.
    pub(super) fn place(&self) -> Result<Place, Failure> {
        Ok(self.given()?.unwrap_or_else(|| Place::Directory(DIRECTORY.into())))
    }

    /// Where the data is, if anybody said so. A database goes before a directory that the environment or the configuration file
    /// names; beside a flag it would be a mistake.
    pub(super) fn given(&self) -> Result<Option<Place>, Failure> {
        let usual = || std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
        let Some(url) = self.database_url.clone().or_else(usual) else {
            return Ok(self.data.clone().map(Place::Directory));
        };
        let is_flag = |argument: String| argument == "--data" || argument.starts_with("--data=");
        if std::env::args().any(is_flag) {
            let why = "both a directory (--data) and a database (--database-url, BOXOFFICE_DATABASE_URL or DATABASE_URL) are given: leave one out";
            return Err(Failure::nonsense(why));
        }
        Ok(Some(Place::Database(url)))
    }

    /// Opens a store that exists.
    pub(super) fn open(&self) -> Result<Box<dyn Store>, Failure> {
        match self.place()? {
            Place::Directory(directory) => Ok(Box::new(open(&directory)?)),
            Place::Database(url) => Ok(Box::new(PostgresStore::open(&url)?)),
        }
    }
}

/// An engine that runs.
pub(super) struct Started {
    pub(super) engine: Engine,
    /// What it runs on, if that is a database.
    pub(super) database: Option<Arc<PostgresStore>>,
}

impl Place {
    /// Starts an engine on it. What does not exist is made, also the tables of a database if `migrate` says so. Servers that share
    /// a database take turns by `locks`, or by the database's own.
    pub(super) fn start(
        &self,
        settings: &Settings,
        migrate: bool,
        locks: Option<(&Instances, LockSettings)>,
    ) -> Result<Started, Failure> {
        match self {
            Place::Directory(directory) => {
                Ok(Started { engine: Engine::open(directory, settings)?, database: None })
            }
            Place::Database(url) => {
                let store = if migrate { PostgresStore::migrate(url)?.0 } else { PostgresStore::open(url)? };
                tracing::info!("the data is in the database {}", store.place());
                let store = match locks {
                    Some((instances, settings)) => {
                        store.with_turns(|own| Box::new(RedlockTurns::new(instances, settings, own)))
                    }
                    None => store,
                };
                let store = Arc::new(store);
                let engine = Engine::start(Arc::<PostgresStore>::clone(&store), Clock::system(), settings)?;
                Ok(Started { engine, database: Some(store) })
            }
        }
    }

    /// The option that names it, for advice.
    pub(super) fn option(&self) -> String {
        match self {
            Place::Directory(directory) => format!("--data {}", directory.display()),
            Place::Database(_) => "--database-url URL".to_owned(),
        }
    }
}

/// Opens a store that exists: whoever mistypes a path must not be told that an empty store is fine.
pub(super) fn open(directory: &Path) -> Result<EmbeddedStore, Failure> {
    must_exist(directory)?;
    Ok(EmbeddedStore::open(directory)?)
}

pub(super) fn must_exist(directory: &Path) -> Result<(), Failure> {
    if EmbeddedStore::is_in(directory) {
        return Ok(());
    }
    Err(Failure::new(format!("there is no store in {}", directory.display())))
}
