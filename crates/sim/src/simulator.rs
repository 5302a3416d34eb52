//! One run: callers, an engine that is moved step by step, a disk that crashes, and an audit after every start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use boxoffice_core::outcome::Outcome;
use boxoffice_core::refusal::RefusalKind;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::snapshot::Retention;
use boxoffice_engine::stepped::{Receipt, Step, SteppedEngine};
use boxoffice_engine::store::{EmbeddedStore, Store};
use boxoffice_engine::{Clock, SubmitError};
use tokio::sync::oneshot::error::TryRecvError;

use crate::auditor::{self, Archive, Violation};
use crate::disk::{Damage, Disk, Failure, Moment};
use crate::history::{Asked, End, History};
use crate::random::Random;
use crate::settings::Settings;
use crate::trace::Trace;
use crate::workload::{START, Workload};

/// Steps that a process may still take after its end was arranged.
const LAST_STEPS_MAX: u32 = 400;

/// What happened in a run that kept all promises.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The same for the same run.
    pub trace: u64,
    /// Commands.
    pub asked: usize,
    /// Commands that got an answer.
    pub answered: usize,
    /// Commands that were in somebody else's way.
    pub conflicts: usize,
    /// Holds that ran out.
    pub expired: u32,
    /// Times that the process died.
    pub crashes: u32,
    /// Of them with commands under way.
    pub crashes_mid_batch: u32,
    /// Of them while it was starting.
    pub crashes_in_recovery: u32,
    /// Snapshots that were written.
    pub snapshots: u32,
    /// Inventories that were read from the store.
    pub loads: u32,
}

/// A run that did not keep all promises.
#[derive(Debug)]
pub struct Failed {
    /// What was wrong.
    pub violation: String,
    /// What happened before, oldest first.
    pub last_steps: Vec<String>,
}

/// Runs a seed.
pub fn run(seed: u64, settings: &Settings) -> Result<Report, Failed> {
    let mut run = Run::new(seed, settings);
    let result = catch_unwind(AssertUnwindSafe(|| run.all_lives().and_then(|()| run.is_worth_something())));
    let violation = match result {
        Ok(Ok(())) => return Ok(run.report()),
        Ok(Err(violation)) => violation.to_string(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            format!("a panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without words"))
        }
    };
    Err(Failed { violation, last_steps: run.trace.last().map(str::to_owned).collect() })
}

/// What [`record`] kept of a life.
#[derive(Debug)]
pub struct Recording {
    /// Operations of the disk before the first moment.
    pub operations_before: u64,
    /// The moment before each operation.
    pub moments: Vec<Moment>,
    /// What callers know at the end.
    pub history: History,
    /// When that is.
    pub now: Timestamp,
}

/// One life on a new store, with the moment before each operation of the disk. The creation of the store is not among them:
/// its files are made aside and moved into place, so nobody ever meets half of it.
pub fn record(seed: u64, settings: &Settings) -> Result<Recording, Violation> {
    let mut run = Run::new(seed, settings);
    let disk = Disk::new(run.random.fork());
    let mut process = run.start(&disk)?;
    let operations_before = disk.operations();
    disk.record_moments();
    run.work(&mut process, settings.commands)?;
    run.rest(&mut process)?;
    let moments = disk.moments();
    disk.stop();
    Ok(Recording { operations_before, moments, now: run.clock.now(), history: run.history })
}

struct Run<'a> {
    settings: &'a Settings,
    random: Random,
    clock: Clock,
    workload: Workload,
    history: History,
    waiting: Vec<(usize, Receipt)>,
    archive: Archive,
    trace: Trace,
    report: Report,
    /// Operations of the disks before this one.
    operations_before: u64,
}

/// How often the last life goes on, and how far.
const LAST_ROUNDS_MAX: usize = 20;
const COMMANDS_PER_ROUND: usize = 10;

/// A running engine on its store and disk.
struct Process {
    disk: Disk,
    store: Arc<EmbeddedStore>,
    engine: SteppedEngine,
}

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// In an orderly way.
    Closed,
    /// Between two steps.
    Killed,
    /// At an operation of the disk.
    Failure(Failure),
}

impl Run<'_> {
    fn new(seed: u64, settings: &Settings) -> Run<'_> {
        let mut random = Random::new(seed);
        let workload = Workload::new(random.fork());
        Run {
            settings,
            random,
            clock: Clock::manual(START),
            workload,
            history: History::default(),
            waiting: Vec::new(),
            archive: Archive::default(),
            trace: Trace::default(),
            report: Report::default(),
            operations_before: 0,
        }
    }

    fn all_lives(&mut self) -> Result<(), Violation> {
        let mut disk = Disk::new(self.random.fork());
        let commands = self.settings.commands / usize::try_from(self.settings.lives).expect("few");
        for life in 1..self.settings.lives {
            let mut process = self.start(&disk)?;
            self.work(&mut process, commands)?;
            let ending = match self.random.below(10) {
                // So that there is one in every run.
                _ if life == 1 => Ending::Failure(Failure::Crash),
                0 => Ending::Closed,
                1..=2 => Ending::Killed,
                3..=5 if self.settings.faults => {
                    let failures = [Failure::Device, Failure::Full];
                    Ending::Failure(*self.random.pick(&failures))
                }
                _ => Ending::Failure(Failure::Crash),
            };
            self.end(process, ending)?;
            disk = self.recover(&disk, ending)?;
        }
        let mut process = self.start(&disk)?;
        self.work(&mut process, commands)?;
        self.rest(&mut process)?;
        // Crashes that came at bad moments leave many without an answer: the last life goes on until the run shows something.
        for _ in 0..LAST_ROUNDS_MAX {
            if self.is_worth_something().is_ok() {
                break;
            }
            self.work(&mut process, COMMANDS_PER_ROUND)?;
            self.rest(&mut process)?;
        }
        let Process { disk, store, engine } = process;
        drop(engine);
        // The log has something only until the store is closed.
        let killed = disk.moment();
        store.close().map_err(|error| Violation::Silent(error.to_string()))?;
        if self.settings.bit_flip {
            self.flip_a_bit(&killed)?;
            self.flip_a_bit(&disk.moment())?;
        }
        Ok(())
    }

    /// Opens the store and looks at what is there before an engine touches it.
    fn start(&mut self, disk: &Disk) -> Result<Process, Violation> {
        let store = EmbeddedStore::open_files(disk.files(self.settings.log_bytes_max));
        let store = Arc::new(store.map_err(|error| Violation::Refused(error.to_string()))?);
        let audited = auditor::audit(&*store, &self.archive, &self.history)?;
        self.trace.note(format!("start with {audited:?}"));
        let shared: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
        let engine = SteppedEngine::start(shared, self.clock.clone(), &self.settings.engine());
        let engine = engine.map_err(|error| Violation::Refused(error.to_string()))?;
        Ok(Process { disk: disk.clone(), store, engine })
    }

    /// Callers ask so many commands while the engine takes steps.
    fn work(&mut self, process: &mut Process, commands: usize) -> Result<(), Violation> {
        let until = self.history.asked.len() + commands;
        while self.history.asked.len() < until {
            // More shards take more steps for the same work.
            let steps = 2 + self.settings.shards as u64;
            if self.random.below(self.settings.hurry + steps) < self.settings.hurry {
                self.ask(process);
            } else {
                self.step(process)?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, process: &mut Process) {
        let jump_ms = match self.random.below(100) {
            0 => 6 * 60 * 60 * 1_000,
            1..=6 => self.random.between(10_000, 120_000),
            7..=40 => self.random.below(3_000),
            _ => 0,
        };
        let now = Timestamp(self.clock.now().0 + i64::try_from(jump_ms).expect("days"));
        self.clock.set(now);
        let engine = &mut process.engine;
        let (inventory, command) = self.workload.next(now, |name| engine.number(name));
        self.trace.note(format!("{now:?} {inventory}: {command:?}"));
        let receipt = engine.submit(&inventory, command.clone());
        self.waiting.push((self.history.asked.len(), receipt));
        let asked_after = self.operations_before + process.disk.operations();
        self.history.asked.push(Asked {
            inventory,
            command,
            asked_at: now,
            asked_after,
            end: End::Open,
            ended_at: now,
            ended_after: u64::MAX,
        });
        self.listen(process);
    }

    /// One step of the engine, or somebody looks at something.
    fn step(&mut self, process: &mut Process) -> Result<(), Violation> {
        let shard = self.random.index(process.engine.shards());
        let step = match self.random.below(20) {
            0..=2 => Step::Wake(shard),
            3..=8 => Step::Seal(shard),
            9..=13 => Step::Commit,
            14..=16 => Step::Load,
            17 => Step::Snapshot,
            18 if self.random.percent(50) => Step::Chores,
            _ => {
                self.look(process);
                return Ok(());
            }
        };
        if step == Step::Snapshot && self.settings.retention != Retention::All && !process.disk.is_stopped() {
            self.archive.read(&*process.store)?;
        }
        let moved = process.engine.step(step);
        if let Ok(true) = moved {
            self.trace.note(format!("{step:?}, {} operations", process.disk.operations()));
            self.report.snapshots += u32::from(step == Step::Snapshot);
            self.report.loads += u32::from(step == Step::Load);
        }
        self.listen(process);
        moved.map(drop).map_err(|error| Violation::Refused(error.to_string()))
    }

    fn look(&mut self, process: &Process) {
        let names = self.workload.names();
        let Some(number) = process.engine.number(&names[self.random.index(names.len())]) else { return };
        let seen_after = self.operations_before + process.disk.operations();
        self.history.seen.extend(auditor::look(&process.engine, number, seen_after));
    }

    /// Takes down the answers that have arrived.
    fn listen(&mut self, process: &Process) {
        let ended_after = self.operations_before + process.disk.operations();
        let ended_at = self.clock.now();
        let Run { waiting, history, trace, .. } = self;
        waiting.retain_mut(|(index, receipt)| {
            let end = match receipt.try_recv() {
                Ok(Ok(answer)) => End::Answered(answer),
                Ok(Err(SubmitError::OutcomeUnknown)) | Err(TryRecvError::Closed) => End::Unknown,
                Ok(Err(
                    SubmitError::Overloaded { .. }
                    | SubmitError::Unavailable { .. }
                    | SubmitError::AlreadyDecided
                    | SubmitError::Stopped
                    | SubmitError::NoSuchInventory
                    | SubmitError::Damaged(_),
                )) => End::NotDone,
                Err(TryRecvError::Empty) => return true,
            };
            trace.note(format!("answer {index}: {end:?}"));
            let asked = &mut history.asked[*index];
            (asked.end, asked.ended_after, asked.ended_at) = (end, ended_after, ended_at);
            false
        });
    }

    /// Lets the engine do all that is to be done, and audits it.
    fn rest(&mut self, process: &mut Process) -> Result<(), Violation> {
        if self.settings.retention != Retention::All {
            // Nothing must be cut off that the archive does not have.
            while self.step_all(process)? {}
            self.archive.read(&*process.store)?;
        }
        process.engine.settle().map_err(|error| Violation::Refused(error.to_string()))?;
        self.listen(process);
        if let Some((index, _)) = self.waiting.first() {
            let asked = &self.history.asked[*index];
            return Err(Violation::Silent(format!("nobody ever answered {asked:?}")));
        }
        auditor::audit_at_rest(
            &process.engine,
            &*process.store,
            &self.archive,
            &self.history,
            self.clock.now(),
        )?;
        let audited = auditor::audit(&*process.store, &self.archive, &self.history)?;
        self.report.expired = audited.expired;
        Ok(())
    }

    /// Every step but snapshots; says whether there was anything to do.
    fn step_all(&mut self, process: &mut Process) -> Result<bool, Violation> {
        let mut moved = false;
        let shards = 0..process.engine.shards();
        let each = shards.flat_map(|shard| [Step::Wake(shard), Step::Seal(shard)]);
        for step in each.chain([Step::Load, Step::Commit]) {
            moved |= process.engine.step(step).map_err(|error| Violation::Refused(error.to_string()))?;
        }
        Ok(moved)
    }

    fn end(&mut self, mut process: Process, ending: Ending) -> Result<(), Violation> {
        self.trace.note(format!("the end: {ending:?}"));
        let unknown_before = self.unknown();
        match ending {
            Ending::Closed => {
                self.rest(&mut process)?;
                let Process { disk: _, store, engine } = process;
                drop(engine);
                return store.close().map_err(|error| Violation::Silent(error.to_string()));
            }
            Ending::Killed => {}
            Ending::Failure(failure) => {
                process.disk.fail_after(self.random.below(30), failure);
                for _ in 0..LAST_STEPS_MAX {
                    if process.disk.is_stopped() {
                        break;
                    } else if self.waiting.is_empty() || self.random.percent(10) {
                        // Somebody always waits, so that something is under way when it happens.
                        self.ask(&mut process);
                    } else if self.step(&mut process).is_err() {
                        break;
                    }
                }
            }
        }
        self.report.crashes += 1;
        process.disk.stop();
        drop(process.engine);
        drop(process.store);
        self.waiting.clear();
        self.history.forget_the_waiting();
        self.report.crashes_mid_batch += u32::from(self.unknown() > unknown_before);
        Ok(())
    }

    /// Commands of which nobody knows what became of them.
    fn unknown(&self) -> usize {
        self.history.asked.iter().filter(|asked| asked.end == End::Unknown).count()
    }

    /// The disk that the next process finds. It may take more than one attempt to start that one.
    fn recover(&mut self, disk: &Disk, ending: Ending) -> Result<Disk, Violation> {
        self.operations_before += disk.operations();
        let mut moment = disk.moment();
        let mut damage = match ending {
            Ending::Closed => Damage::Kept,
            Ending::Killed | Ending::Failure(_) => self.draw_damage(),
        };
        loop {
            let disk = moment.crash(damage, self.random.fork());
            self.trace.note(format!("a disk after {damage:?}"));
            if !self.random.percent(30) {
                return Ok(disk);
            }
            disk.fail_after(self.random.below(25), Failure::Crash);
            match EmbeddedStore::open_files(disk.files(self.settings.log_bytes_max)) {
                Err(_) if disk.is_stopped() => {}
                Err(error) => return Err(Violation::Refused(error.to_string())),
                Ok(store) => {
                    disk.stop();
                    drop(store);
                }
            }
            self.report.crashes_in_recovery += 1;
            moment = disk.moment();
            damage = self.draw_damage();
        }
    }

    fn draw_damage(&mut self) -> Damage {
        *self.random.pick(&[Damage::Lost, Damage::Kept, Damage::Torn, Damage::Torn])
    }

    /// After a bit was turned over, the store says so or is none the worse for it.
    fn flip_a_bit(&mut self, moment: &Moment) -> Result<(), Violation> {
        let flipped = moment.with_flipped_bit(&mut self.random);
        let disk = flipped.crash(Damage::Kept, self.random.fork());
        let Ok(store) = EmbeddedStore::open_files(disk.files(self.settings.log_bytes_max)) else {
            return Ok(());
        };
        match auditor::audit(&store, &self.archive, &self.history) {
            Ok(_) | Err(Violation::Refused(_)) => Ok(()),
            Err(silent @ Violation::Silent(_)) => Err(silent),
        }
    }

    fn is_worth_something(&mut self) -> Result<(), Violation> {
        let report = self.report();
        let idle =
            |what: &str| Err(Violation::Silent(format!("a run without {what} shows nothing: {report:?}")));
        if report.answered * 2 < report.asked {
            return idle("answers to half of its commands");
        }
        if report.conflicts == 0 {
            return idle("a conflict");
        }
        if report.expired == 0 {
            return idle("a hold that ran out");
        }
        if report.crashes_mid_batch == 0 {
            return idle("a crash while commands were under way");
        }
        Ok(())
    }

    fn report(&self) -> Report {
        let answers = || self.history.asked.iter().filter_map(Asked::answer);
        let is_conflict = |outcome: &Outcome| match outcome {
            Outcome::Granted(_) => false,
            Outcome::Refused(refusal) => refusal.kind() == RefusalKind::Conflict,
        };
        Report {
            trace: self.trace.hash(),
            asked: self.history.asked.len(),
            answered: answers().count(),
            conflicts: answers().filter(|answer| is_conflict(&answer.outcome)).count(),
            ..self.report.clone()
        }
    }
}
