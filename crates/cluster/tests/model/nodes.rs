//! Engines that share a store and take turns, moved step by step.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_core::command::Command;
use boxoffice_core::outcome::Applied;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::stepped::{Step, SteppedEngine};
use boxoffice_engine::store::{EmbeddedStore, Store};
use boxoffice_engine::{Answer, Clock, Settings};

use crate::creation::START;
use crate::database::Database;
use crate::ensure;

/// What the inventory is called.
pub(crate) const NAME: &str = "default/event:model";
/// A command that is fenced waits for a turn, and is decided and committed again; after this time it has been forgotten.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// The nodes, and the store they share.
pub(crate) struct Nodes {
    pub(crate) store: Arc<dyn Store>,
    clock: Clock,
    /// Moved by hand, so that nothing is done by the clock that the core is not told to do.
    engines: Vec<SteppedEngine>,
    sent: usize,
}

impl Nodes {
    /// Two on a database that is emptied for them.
    pub(crate) fn on_nothing(database: &Database) -> Nodes {
        let store = database.shared_store();
        empty(database);
        Nodes::on(&store, 2)
    }

    /// One on a store of its own.
    pub(crate) fn alone(directory: &Path) -> Nodes {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(directory).expect("a new store"));
        Nodes::on(&store, 1)
    }

    fn on(store: &Arc<dyn Store>, engines: usize) -> Nodes {
        let clock = Clock::manual(START);
        let engine = || {
            let settings = Settings { shards: 1, ..Settings::default() };
            SteppedEngine::start(Arc::clone(store), clock.clone(), &settings).expect("an empty store")
        };
        Nodes { engines: (0..engines).map(|_| engine()).collect(), store: Arc::clone(store), clock, sent: 0 }
    }

    /// Has one of them answer, and compares.
    pub(crate) fn answer(
        &mut self,
        now: Timestamp,
        command: &Command,
        expected: &Applied,
    ) -> Result<(), String> {
        self.clock.set(now);
        self.sent += 1;
        let count = self.engines.len();
        let engine = &mut self.engines[turn(self.sent) % count];
        if engine.number(NAME).is_none() {
            // As a node does by itself, some time later.
            engine.step(Step::Follow).map_err(|error| error.to_string())?;
        }
        let mut receipt = engine.submit(NAME, command.clone());
        let asked = Instant::now();
        while asked.elapsed() < ANSWERED_WITHIN {
            let mut moved = false;
            for step in [Step::Load, Step::CatchUp, Step::Turn, Step::Seal(0), Step::Commit] {
                moved |= engine.step(step).map_err(|error| error.to_string())?;
            }
            let Ok(answer) = receipt.try_recv() else {
                if !moved {
                    // The database says whose turn it is, on a thread of the store.
                    std::thread::yield_now();
                }
                continue;
            };
            return answers_alike(&answer.map_err(|error| error.to_string())?, expected);
        }
        Err("a node does not answer".to_owned())
    }
}

/// Takes everything out of a database but its tables.
pub(crate) fn empty(database: &Database) {
    database.rows(
        "DO $$ DECLARE one text; BEGIN
           FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'boxoffice_schema' LOOP
             EXECUTE format('TRUNCATE %I CASCADE', one);
           END LOOP;
         END $$",
    );
}

/// Which of two nodes is sent a command: now one, now the other, and sometimes one of them several times.
pub(crate) fn turn(sent: usize) -> usize {
    (sent / 3 + sent / 5) % 2
}

pub(crate) fn answers_alike(answer: &Answer, expected: &Applied) -> Result<(), String> {
    ensure!(answer.outcome == expected.outcome, "a node answered {:?}", answer.outcome);
    ensure!(answer.replayed == expected.replayed, "a node replayed: {}", answer.replayed);
    ensure!(answer.decided_at == expected.decided_at, "a node decided at {:?}", answer.decided_at);
    Ok(())
}
