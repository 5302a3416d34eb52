//! Puts known bugs into a copy of core, engine and cluster, one by one, and demands that the tests notice each.
//!
//! A test suite that passes says little; one that fails for every bug on a list says what it is good for.

mod cluster_list;
mod copy;
mod engine_list;
mod list;

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::sources;
use copy::{Copy, Verdict};

/// All planted bugs, in the order in which they are planted.
pub(crate) fn planted_bugs() -> impl Iterator<Item = &'static PlantedBug> {
    list::PLANTED_BUGS.iter().chain(engine_list::PLANTED_BUGS).chain(cluster_list::PLANTED_BUGS)
}

/// Random commands that the model test makes per bug: fewer than in CI, so that the whole list takes minutes.
const MODEL_COMMANDS: u32 = 20_000;

/// A bug's tests may take this many times as long as those of the unchanged core, and a minute on top: a failure
/// is shrunk before it is reported.
const PATIENCE: u32 = 10;

/// What is to be damaged, and whose tests must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The rules and their own tests.
    Core,
    /// The engine, its own tests and the simulator's.
    Engine,
    /// The store on PostgreSQL, its own tests, and several servers on one database.
    Cluster,
}

impl Suite {
    fn sources(self) -> &'static str {
        match self {
            Suite::Core => "crates/core/src",
            Suite::Engine => "crates/engine/src",
            Suite::Cluster => "crates/cluster/src",
        }
    }

    /// Where the tests are.
    fn tests(self) -> &'static str {
        match self {
            Suite::Core => "crates/core",
            Suite::Engine => "crates/sim",
            Suite::Cluster => "crates/cluster",
        }
    }

    /// The tests, in cargo's words.
    fn selection(self) -> &'static [&'static str] {
        match self {
            Suite::Core => &["--package", "boxoffice-core", "--lib", "--tests"],
            Suite::Engine => {
                &["--package", "boxoffice-engine", "--package", "boxoffice-sim", "--lib", "--tests"]
            }
            Suite::Cluster => &[
                "--package",
                "boxoffice-cluster",
                "--package",
                "boxoffice-server",
                "--test",
                "postgres",
                "--test",
                "cluster",
            ],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Suite::Core => "core",
            Suite::Engine => "engine",
            Suite::Cluster => "cluster",
        }
    }
}

/// One bug: a text that stands exactly once in a file, and what it becomes.
#[derive(Debug)]
pub(crate) struct PlantedBug {
    pub(crate) name: &'static str,
    /// What a customer or operator would live to see.
    pub(crate) harm: &'static str,
    pub(crate) suite: Suite,
    /// From the sources of the suite.
    pub(crate) file: &'static str,
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

impl PlantedBug {
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.suite.sources(), self.file)
    }

    /// The text of its file with the bug in it; an error unless there is exactly one place for it.
    pub(crate) fn plant(&self, text: &str) -> Result<String> {
        match text.matches(self.find).count() {
            1 => Ok(text.replacen(self.find, self.replace, 1)),
            found => Err(Error::new(format!(
                "the text of planted bug `{}` stands {found} times in {}: {:?}",
                self.name,
                self.path(),
                self.find
            ))),
        }
    }
}

/// Prints the list.
pub(crate) fn list() -> Result<()> {
    for bug in planted_bugs() {
        println!("{:<36} {:<38} {}", bug.name, bug.path(), bug.harm);
    }
    println!("{} planted bugs", planted_bugs().count());
    Ok(())
}

/// Plants all bugs, those of one suite, or one. An error if a bug survives, does not compile or finds no place.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    let bugs: Vec<&PlantedBug> = planted_bugs()
        .filter(|bug| only.is_none_or(|name| [bug.name, bug.suite.name()].contains(&name)))
        .collect();
    if bugs.is_empty() {
        return Err(Error::new(format!(
            "no planted bug and no suite is called {only:?}; `--list` shows all"
        )));
    }
    let copy = Copy::of(&sources::root()?)?;
    let mut troubles = Vec::new();
    for suite in [Suite::Core, Suite::Engine, Suite::Cluster] {
        let bugs: Vec<&PlantedBug> = bugs.iter().copied().filter(|bug| bug.suite == suite).collect();
        if !bugs.is_empty() {
            troubles.extend(run_suite(&copy, suite, &bugs)?);
        }
    }
    println!("\n{} bugs planted, {} caught", bugs.len(), bugs.len() - troubles.len());
    if troubles.is_empty() { Ok(()) } else { Err(Error::new(format!("not caught: {}", troubles.join(", ")))) }
}

/// Plants the bugs of one suite; the names of those that were not caught.
fn run_suite(copy: &Copy, suite: Suite, bugs: &[&PlantedBug]) -> Result<Vec<&'static str>> {
    let tests = suite.name();
    println!("building and testing the unchanged {tests} in {}", copy.root().display());
    copy.build(suite)?
        .map_err(|complaint| Error::new(format!("the unchanged {tests} does not compile:\n{complaint}")))?;
    let started = Instant::now();
    let baseline = copy.test(suite, MODEL_COMMANDS, Duration::MAX)?;
    let took = started.elapsed();
    if baseline != Verdict::Passed {
        let log = copy.read("test.log").unwrap_or_default();
        let first_lines: Vec<String> =
            log.lines().take(20).map(|line| line.chars().take(200).collect()).collect();
        let message = format!("the unchanged {tests} fails: {baseline}\n{}", first_lines.join("\n"));
        return Err(Error::new(message));
    }
    println!("it passes in {:.1} s\n", took.as_secs_f64());
    let patience = took * PATIENCE + Duration::from_secs(60);

    println!("{:<36} {:>7}  caught by", "bug", "seconds");
    let mut troubles = Vec::new();
    for bug in bugs {
        let started = Instant::now();
        let verdict = plant_and_test(copy, bug, patience);
        let seconds = started.elapsed().as_secs_f64();
        let shown = match &verdict {
            Ok(Verdict::Passed) => "NOTHING: it survived".to_owned(),
            Ok(caught @ (Verdict::Failed { .. } | Verdict::TimedOut)) => caught.to_string(),
            Err(error) => format!("NOT TESTED: {error}"),
        };
        println!("{:<36} {seconds:>7.1}  {shown}", bug.name);
        match verdict {
            Ok(Verdict::Failed { .. } | Verdict::TimedOut) => {}
            Ok(Verdict::Passed) | Err(_) => troubles.push(bug.name),
        }
    }
    Ok(troubles)
}

fn plant_and_test(copy: &Copy, bug: &PlantedBug, patience: Duration) -> Result<Verdict> {
    let path = bug.path();
    let original = copy.read(&path)?;
    copy.write(&path, &bug.plant(&original)?)?;
    let verdict = copy.build(bug.suite).and_then(|built| match built {
        Ok(()) => copy.test(bug.suite, MODEL_COMMANDS, patience),
        Err(complaint) => Err(Error::new(format!("does not compile:\n{complaint}"))),
    });
    copy.write(&path, &original)?;
    verdict
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BUG: PlantedBug = PlantedBug {
        name: "a",
        harm: "b",
        suite: Suite::Core,
        file: "c.rs",
        find: "x < y",
        replace: "x <= y",
    };

    #[test]
    fn a_bug_needs_exactly_one_place() {
        assert_eq!(BUG.plant("if x < y {").expect("one place"), "if x <= y {");
        for text in ["if x > y {", "x < y || x < y"] {
            let message = BUG.plant(text).expect_err(text).to_string();
            assert!(message.contains("`a` stands"), "{message}");
        }
    }

    #[test]
    fn bugs_have_names_of_their_own_and_change_something() {
        let names: BTreeSet<&str> = planted_bugs().map(|bug| bug.name).collect();
        assert_eq!(names.len(), planted_bugs().count());
        for bug in planted_bugs() {
            assert_ne!(bug.find, bug.replace, "{}", bug.name);
        }
    }
}
