//! Looks for a scenario that fails, and makes it as small as it can be.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime};

use boxoffice_core::refusal::RefusalCode;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use strum::IntoEnumIterator;

use crate::drive::Tally;
use crate::ops::{self, Scenario};

const SHRINK_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs a scenario and says what does not hold. If told to, it prints every command and its answer.
pub(crate) type Run<'a> = &'a dyn Fn(&Scenario, &mut Tally, bool) -> Result<(), String>;

/// Runs scenarios until so many commands were sent, prints what happened in them, and panics if one fails.
pub(crate) fn search_and_report(commands: u64, run: Run<'_>) -> Tally {
    let seed = number_from("BOXOFFICE_SEED").unwrap_or_else(seed_of_this_run);
    let tally = RefCell::new(Tally::default());
    let started = Instant::now();
    let cases = match quietly(|| search(seed, commands, &tally, run)) {
        Ok(cases) => cases,
        Err(scenario) => panic!("seed {seed}: {}", told_failure(&scenario, run)),
    };
    let tally = tally.into_inner();
    eprintln!("model: seed {seed}, cases {cases}, commands {}, {:.1?}", tally.commands, started.elapsed());
    report(&tally);
    tally
}

/// Runs scenarios until so many commands were sent; one that fails comes back as small as it could be made.
fn search(seed: u64, commands: u64, tally: &RefCell<Tally>, run: Run<'_>) -> Result<u64, Scenario> {
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: u32::MAX,
        max_shrink_time: u32::try_from(SHRINK_TIME_MAX.as_millis()).expect("a minute"),
        ..Config::default()
    };
    let mut seed_bytes = [0; 32];
    seed_bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed_bytes));
    let scenarios = ops::scenarios();
    let told = Cell::new(false);
    let mut cases = 0;
    while tally.borrow().commands < commands {
        let case = scenarios.new_tree(&mut runner).expect("scenarios can be drawn");
        let result = runner.run_one(case, |scenario| {
            run(&scenario, &mut tally.borrow_mut(), false).map_err(|reason| {
                // What depends on other programs may not fail again.
                if !told.replace(true) {
                    eprintln!("model: a scenario fails: {reason}");
                }
                TestCaseError::fail(reason)
            })
        });
        match result {
            Ok(_) => cases += 1,
            Err(TestError::Fail(_, scenario)) => return Err(without_idle_steps(scenario, run)),
            Err(TestError::Abort(reason)) => panic!("no scenario: {reason}"),
        }
    }
    Ok(cases)
}

/// Leaves out every step that the failure can do without, as far as there is time: proptest tries each only once.
fn without_idle_steps(mut scenario: Scenario, run: Run<'_>) -> Scenario {
    let started = Instant::now();
    loop {
        let steps = scenario.steps.len();
        for at in (0..steps).rev() {
            if started.elapsed() > SHRINK_TIME_MAX {
                return scenario;
            }
            let mut shorter = scenario.clone();
            shorter.steps.remove(at);
            if failure(&shorter, run, false).is_some() {
                scenario = shorter;
            }
        }
        if scenario.steps.len() == steps {
            return scenario;
        }
    }
}

/// Why a scenario fails, if it does.
fn failure(scenario: &Scenario, run: Run<'_>, told: bool) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| run(scenario, &mut Tally::default(), told))) {
        Ok(result) => result.err(),
        Err(_) => Some("somebody panicked".to_owned()),
    }
}

/// Runs something that may panic many times while a failure is made smaller, without a word.
fn quietly<T>(run: impl FnOnce() -> T) -> T {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = run();
    std::panic::set_hook(loud);
    result
}

/// Prints the steps of a scenario that fails, then its commands and answers, and says why it does.
fn told_failure(scenario: &Scenario, run: Run<'_>) -> String {
    eprintln!("model: a scenario fails, of {:?}", scenario.setup);
    for step in &scenario.steps {
        eprintln!("model:   {step:?}");
    }
    failure(scenario, run, true).unwrap_or_else(|| "it does not fail again".to_owned())
}

fn report(tally: &Tally) {
    let percent = |part: u64| part * 100 / tally.commands.max(1);
    eprintln!(
        "model: {} % granted, {} replayed, {} expired, {} revived ({} elsewhere), {} best available apart, {} sold out",
        percent(tally.granted),
        tally.replayed,
        tally.expired,
        tally.revived,
        tally.revived_elsewhere,
        tally.best_apart,
        tally.sold_out,
    );
    for (action, (granted, all)) in &tally.actions {
        eprintln!("model:   {action:?}: {granted} of {all} granted");
    }
    for (code, count) in &tally.refused {
        eprintln!("model:   {}: {count}", <&str>::from(code));
    }
    let missing: Vec<_> = RefusalCode::iter().filter(|code| !tally.refused.contains_key(code)).collect();
    eprintln!("model: never refused with {missing:?}");
}

pub(crate) fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text}")))
}

fn seed_of_this_run() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
    u64::from(since_epoch.subsec_nanos()) ^ (since_epoch.as_secs() << 30)
}
