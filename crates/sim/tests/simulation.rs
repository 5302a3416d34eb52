//! Whole runs from seeds. `cargo xtask sim` makes more of them.

use boxoffice_sim::{Settings, run};

const RUNS: u64 = 300;

#[test]
fn runs_keep_all_promises() {
    for seed in 0..RUNS {
        let settings = Settings::of_seed(seed);
        if let Err(failed) = run(seed, &settings) {
            let steps = failed.last_steps.join("\n");
            panic!("seed {seed}, {settings:?}\n{steps}\nseed {seed}: {}", failed.violation);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..5 {
        let settings = Settings::of_seed(seed);
        let runs = [(); 2].map(|()| run(seed, &settings).expect("it passes"));
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
    let other = run(1, &Settings::of_seed(0)).expect("it passes");
    assert_ne!(other.trace, run(0, &Settings::of_seed(0)).expect("it passes").trace);
}
