//! Random commands against the core and a naive model of it, which must agree on every answer and every unit.
//!
//! `BOXOFFICE_SEED` repeats a run; `BOXOFFICE_MODEL_COMMANDS` says how many commands to send in all.

mod compare;
mod creation;
mod drive;
mod invariants;
mod naive;
mod ops;
mod search;
mod translate;

use boxoffice_core::command::ActionKind;
use boxoffice_core::refusal::RefusalCode;
use strum::IntoEnumIterator;

use drive::Tally;

const COMMANDS_DEFAULT: u64 = 200_000;
/// Below this, too few scenarios run to meet every rare answer.
const COMMANDS_FOR_GUARDS: u64 = 100_000;

#[test]
fn the_core_does_what_a_naive_model_does() {
    let commands = search::number_from("BOXOFFICE_MODEL_COMMANDS").unwrap_or(COMMANDS_DEFAULT);
    let run = |scenario: &ops::Scenario, tally: &mut Tally, told| {
        drive::run(scenario, tally, told, &mut |_, _, _| Ok(()))
    };
    let tally = search::search_and_report(commands, &run);
    if commands >= COMMANDS_FOR_GUARDS {
        check_not_in_vain(&tally);
    }
}

fn check_not_in_vain(tally: &Tally) {
    assert!(tally.granted * 100 >= tally.commands * 30, "{} of {} granted", tally.granted, tally.commands);
    let unheard: Vec<_> = RefusalCode::iter().filter(|code| !tally.refused.contains_key(code)).collect();
    assert!(unheard.iter().all(|code| *code == RefusalCode::Overloaded), "never refused with {unheard:?}");
    for action in ActionKind::iter() {
        let (granted, all) = tally.actions.get(&action).copied().unwrap_or_default();
        assert!(granted > 0, "{action:?} was granted {granted} times of {all}");
    }
    for (what, count) in [
        ("replayed", tally.replayed),
        ("expired", tally.expired),
        ("revived", tally.revived),
        ("revived elsewhere", tally.revived_elsewhere),
        ("best available apart", tally.best_apart),
        ("sold out", tally.sold_out),
    ] {
        assert!(count > 0, "{what} never happened");
    }
}
