//! The random commands of the core's model test, sent to engines on each kind of store: whatever the core answers, they must answer, too.
//! One alone on the embedded store; two that share a PostgreSQL, step by step; two as they run with Redis beside it; and two with Kafka
//! before it.
//!
//! `BOXOFFICE_SEED` repeats a run; `BOXOFFICE_CLUSTER_MODEL_COMMANDS` says how many commands to send in all.

#[path = "../postgres/beside.rs"]
mod beside;
#[path = "../../../core/tests/model/compare.rs"]
mod compare;
#[path = "../../../core/tests/model/creation.rs"]
mod creation;
#[path = "../postgres/database.rs"]
mod database;
#[path = "../../../core/tests/model/drive.rs"]
mod drive;
#[path = "../../../core/tests/model/invariants.rs"]
mod invariants;
#[path = "../../../core/tests/model/naive/mod.rs"]
mod naive;
mod nodes;
#[path = "../../../core/tests/model/ops.rs"]
mod ops;
mod running;
#[path = "../../../core/tests/model/search.rs"]
mod search;
#[path = "../../../core/tests/model/translate.rs"]
mod translate;

use std::cell::Cell;
use std::sync::Arc;

use boxoffice_engine::store::Store;
use boxoffice_engine::verify::verify;

use database::Database;
use drive::Tally;
use nodes::Nodes;
use ops::{Pause, Scenario, StockSetup};
use running::House;

/// Each is a transaction or two.
const STEPPED_COMMANDS_DEFAULT: u64 = 4_000;
/// Threads, Redis and Kafka have to wake each other for each.
const RUNNING_COMMANDS_DEFAULT: u64 = 2_000;
/// How often a scenario is begun in which a node has to say that it does not know what became of a command.
const TRIES_MAX: usize = 3;

#[test]
fn an_engine_on_the_embedded_store_answers_what_the_core_answers() {
    same_answers(STEPPED_COMMANDS_DEFAULT, &|scenario, tally, told| {
        let directory = tempfile::tempdir().expect("a directory");
        let mut nodes = Nodes::alone(&directory.path().join("store"));
        drive::run(scenario, tally, told, &mut |now, command, applied| nodes.answer(now, command, applied))?;
        Ok(Arc::clone(&nodes.store))
    });
}

#[test]
fn two_nodes_on_one_database_answer_what_the_core_answers() {
    let database = Database::start();
    same_answers(STEPPED_COMMANDS_DEFAULT, &|scenario, tally, told| {
        let mut nodes = Nodes::on_nothing(&database);
        drive::run(scenario, tally, told, &mut |now, command, applied| nodes.answer(now, command, applied))?;
        Ok(Arc::clone(&nodes.store))
    });
}

#[test]
fn two_nodes_with_redis_beside_them_answer_what_the_core_answers() {
    running_nodes_give_the_same_answers(&House::with_redis());
}

#[test]
fn two_nodes_behind_kafka_answer_what_the_core_answers() {
    running_nodes_give_the_same_answers(&House::with_kafka());
}

fn running_nodes_give_the_same_answers(house: &House) {
    let scenarios = Cell::new(0);
    same_answers(RUNNING_COMMANDS_DEFAULT, &|scenario, tally, told| {
        let mut tries = 0;
        loop {
            tries += 1;
            scenarios.set(scenarios.get() + 1);
            let mut nodes = house.nodes(scenarios.get());
            let answered = drive::run(scenario, tally, told, &mut |now, command, applied| {
                nodes.answer(now, command, applied)
            })
            .and_then(|()| nodes.check_mirror());
            // So it must say, if the machine is so busy that the database is silent for seconds; nothing can be compared then.
            let is_unknown = nodes.is_unknown;
            let store = nodes.end();
            if !is_unknown || tries == TRIES_MAX {
                return answered.map(|()| store);
            }
        }
    });
}

/// Has nodes do what the core does, and returns what they left.
type RunNodes<'a> = &'a dyn Fn(&Scenario, &mut Tally, bool) -> Result<Arc<dyn Store>, String>;

/// Runs scenarios, and verifies the store after each.
fn same_answers(commands_default: u64, run: RunNodes<'_>) {
    let commands = search::number_from("BOXOFFICE_CLUSTER_MODEL_COMMANDS").unwrap_or(commands_default);
    let tally = search::search_and_report(commands, &|scenario, tally, told| {
        // An engine makes and forgets slots by itself when a day begins; here the core is not told to, so that they would disagree.
        if matches!(scenario.setup.stock, StockSetup::Schedule { .. }) {
            return Ok(());
        }
        let store = run(&without_steps_back(scenario), tally, told)?;
        verify(&*store, |_, _| {}).map(drop).map_err(|error| error.to_string())
    });
    for (what, count) in
        [("granted", tally.granted), ("replayed", tally.replayed), ("expired", tally.expired)]
    {
        assert!(count > 0, "{what} never happened");
    }
}

/// The core takes whatever time it is given; an engine's clock never runs backwards.
fn without_steps_back(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    for step in &mut scenario.steps {
        if matches!(step.pause, Pause::BackSeconds(_)) {
            step.pause = Pause::None;
        }
    }
    scenario
}
