//! The random commands of the core's model test, sent to two nodes that share a real PostgreSQL: whatever the core answers to one that has
//! everything to itself, they must answer, too.
//!
//! `BOXOFFICE_SEED` repeats a run; `BOXOFFICE_CLUSTER_MODEL_COMMANDS` says how many commands to send in all.

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
#[path = "../../../core/tests/model/search.rs"]
mod search;
#[path = "../../../core/tests/model/translate.rs"]
mod translate;

use boxoffice_engine::verify::verify;

use database::Database;
use drive::Tally;
use nodes::Nodes;
use ops::{Pause, Scenario, StockSetup};

/// Each is a transaction or two.
const COMMANDS_DEFAULT: u64 = 4_000;

#[test]
fn two_nodes_on_one_database_answer_what_the_core_answers() {
    let commands = search::number_from("BOXOFFICE_CLUSTER_MODEL_COMMANDS").unwrap_or(COMMANDS_DEFAULT);
    let database = Database::start();
    let run = |scenario: &Scenario, tally: &mut Tally, told: bool| {
        // An engine makes and forgets slots by itself when a day begins; here the core is not told to, so that they would disagree.
        if matches!(scenario.setup.stock, StockSetup::Schedule { .. }) {
            return Ok(());
        }
        let mut nodes = Nodes::on_nothing(&database);
        let scenario = without_steps_back(scenario);
        drive::run(&scenario, tally, told, &mut |now, command, applied| nodes.answer(now, command, applied))?;
        verify(&*nodes.store, |_, _| {}).map(drop).map_err(|error| error.to_string())
    };
    let tally = search::search_and_report(commands, &run);
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
