//! strace makes single calls of a real process fail: nothing is acknowledged after that, and nothing is lost.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use boxoffice_engine::private_files::create_directory;
use boxoffice_sim::hammer::audit::{Scope, audit};
use boxoffice_sim::hammer::history::{Fate, History};
use boxoffice_sim::hammer::process::Place;

const HAMMER: &str = env!("CARGO_BIN_EXE_hammer");

/// Commands of a life that is disturbed: enough for more commits than the last number below.
const COMMANDS: &str = "1500";
const CLIENTS: &str = "8";
/// A call fails when a thread makes it for the n-th time. The committer makes two writes a commit.
const WRITES: RangeInclusive<u32> = 1..=48;
const SYNCS: RangeInclusive<u32> = 1..=16;
/// Of the store's log: with the first the faults meet whoever commits, with the second whoever moves what has gathered.
const LOG_BYTES: [&str; 2] = ["131072", "8192"];
const UNHEARD_COMMITS_MAX: u64 = 4;
const STORE_FILES: [&str; 4] = ["store.redb", "mark", "log-0", "log-1"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The disk is broken.
    InputOutput,
    /// The disk is full.
    NoSpace,
    /// The process is killed as it makes the call.
    Kill,
}

impl Fault {
    fn injection(self) -> &'static str {
        match self {
            Fault::InputOutput => "error=EIO",
            Fault::NoSpace => "error=ENOSPC",
            Fault::Kill => "signal=KILL",
        }
    }
}

#[test]
fn after_an_input_output_error_nothing_is_acknowledged_and_nothing_is_lost() {
    disturb(Fault::InputOutput);
}

#[test]
fn a_full_disk_is_named_and_what_is_in_memory_can_be_read() {
    disturb(Fault::NoSpace);
}

#[test]
fn a_kill_in_the_middle_of_a_call_loses_nothing() {
    disturb(Fault::Kill);
}

fn disturb(fault: Fault) {
    let base = tempfile::tempdir().unwrap();
    let (status, _) = Place::within(base.path(), HAMMER).start("run", &LIFE_BEFORE).finish();
    assert!(status.success(), "an undisturbed life: {status}");
    let calls = WRITES.map(|nth| ("pwrite64", nth)).chain(SYNCS.map(|nth| ("fdatasync", nth)));
    let (mut at_start, mut while_running, mut in_moves, mut late) = (0, 0, 0, 0);
    for (call, nth) in calls {
        let log_bytes = LOG_BYTES[nth as usize % LOG_BYTES.len()];
        let case = format!("{fault:?} at {call} {nth}, {log_bytes} bytes of log");
        let directory = tempfile::tempdir().unwrap();
        copy(base.path(), directory.path());
        let injection = format!("inject={call}:{}:when={nth}", fault.injection());
        let life = Life::run(directory.path(), fault, &injection, log_bytes, &case);
        in_moves += u32::from(life.began && life.failed_in_move);
        if life.began {
            while_running += 1;
        } else {
            at_start += 1;
        }
        late += life.answered_after_fault;
    }
    eprintln!(
        "faults: {fault:?}: {at_start} while the store was opened, {while_running} later, {in_moves} of them in moves; {late} \
         answers of earlier commits were still written down after the fault, none of a later one; 0 lost"
    );
    assert!(in_moves > 0, "no fault came while something was moved");
    assert!(while_running > 0, "every fault came while the store was opened");
}

const LIFE_BEFORE: [&str; 5] = ["--commands", "200", "--seed", "1", "--only-hall"];

struct Life {
    /// Whether the store had been opened before the fault.
    began: bool,
    /// Whether it met whoever moves what has gathered.
    failed_in_move: bool,
    /// Lines in the log of what was made durable before the fault.
    answered_after_fault: usize,
}

impl Life {
    fn run(directory: &Path, fault: Fault, injection: &str, log_bytes: &str, case: &str) -> Life {
        let place = Place::within(directory, HAMMER);
        let before = History::of(&place.log).unwrap();
        let marked_before = marked(&place.store.join("mark"));
        let trace = directory.join("trace");
        let status = strace(&place, &trace, injection, log_bytes);
        let trace = Trace::read(&trace, case);
        let history = History::of(&place.log).unwrap();
        let began = history.requests.len() > before.requests.len();
        check_end(fault, status, &history, began, case);

        // The hall is alone in its store: every commit has one batch of it, so sequences count commits.
        let through = trace.marked_after_fault.unwrap_or(0).max(trace.marked_before_fault).max(marked_before);
        for request in &history.requests {
            if let Fate::Told(told) = &request.fate {
                assert!(
                    told.sequence <= through,
                    "{case}: commit {} was acknowledged and {through} were through: {told:?}",
                    told.sequence
                );
            }
        }
        // Whoever moves is not whoever commits, and is heard a moment later: until then commits are in the log as ever.
        let under_way = if trace.failed_in_move { UNHEARD_COMMITS_MAX } else { 0 };
        let marked = trace.marked_after_fault.unwrap_or(0);
        assert!(
            marked == 0 || marked <= trace.marked_before_fault + under_way,
            "{case}: {marked} was committed after the fault"
        );

        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let report = runtime.block_on(audit(&place.store, &history, Scope::Everything)).unwrap();
        assert!(report.findings.is_empty(), "{case}: {report}");
        // The fault is gone: everything goes on.
        let (status, _) = place.start("run", &["--commands", "50", "--seed", "3", "--only-hall"]).finish();
        assert!(status.success(), "{case}: started again: {status}");
        let history = History::of(&place.log).unwrap();
        let report = runtime.block_on(audit(&place.store, &history, Scope::Everything)).unwrap();
        assert!(report.findings.is_empty() && report.open == 0, "{case}, a life later: {report}");
        let Trace { failed_in_move, answered_after_fault, .. } = trace;
        Life { began, failed_in_move, answered_after_fault }
    }
}

fn check_end(fault: Fault, status: ExitStatus, history: &History, began: bool, case: &str) {
    let stop = history.stops.last().map_or("", String::as_str);
    let read = |what: &str| history.reads.iter().any(|read| read.contains(what));
    let ended = (status.code(), status.signal());
    match fault {
        Fault::Kill => assert_eq!(ended, (None, Some(9)), "{case}"),
        Fault::InputOutput | Fault::NoSpace if !began && stop.is_empty() => {
            assert_eq!(ended, (Some(1), None), "{case}: the store was not opened");
        }
        Fault::InputOutput => {
            assert_eq!(ended, (Some(3), None), "{case}: {stop}");
            assert!(stop.starts_with("the store failed: "), "{case}: {stop}");
        }
        Fault::NoSpace => {
            assert_eq!(ended, (Some(4), None), "{case}: {stop}");
            assert!(stop.starts_with("the disk is full: "), "{case}: {stop}");
            assert!(read("view of hall at ") && read(" bookings at "), "{case}: {:?}", history.reads);
            assert!(read("found again: true"), "{case}: {:?}", history.reads);
        }
    }
}

fn strace(place: &Place, trace: &Path, injection: &str, log_bytes: &str) -> ExitStatus {
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-q",
        "-y",
        "-x",
        "-s",
        "64",
        "-e",
        "trace=pwrite64,fdatasync,write",
        "-e",
        injection,
    ]);
    command.arg("-o").arg(trace);
    // Nothing else is seen or disturbed. The log is written by `write`, which is never made to fail.
    for name in STORE_FILES {
        command.arg("-P").arg(place.store.join(name));
    }
    command.arg("-P").arg(&place.log);
    let options = ["--seed", "2", "--only-hall", "--commands", COMMANDS, "--clients", CLIENTS];
    let options = [&options[..], &["--log-bytes", log_bytes]].concat();
    command.arg("--").arg(&place.program).args(place.arguments("run", &options));
    let output = command.output().expect("strace is needed: `apt-get install strace`, or `cargo xtask test`");
    output.status
}

/// What strace saw, in the order in which the calls returned.
#[derive(Debug, Default)]
struct Trace {
    marked_before_fault: u64,
    marked_after_fault: Option<u64>,
    /// Whether the call was one that only moves make while the engine runs.
    failed_in_move: bool,
    answered_after_fault: usize,
}

impl Trace {
    fn read(path: &Path, case: &str) -> Trace {
        let text = std::fs::read_to_string(path).unwrap();
        let mut trace = Trace::default();
        let mut failed = false;
        let mut unfinished: HashMap<&str, &str> = HashMap::new();
        for line in text.lines() {
            let (thread, said) = line.split_once(' ').expect("the thread's number stands in front");
            let said = said.trim_start();
            let start = if let Some((start, _)) = said.split_once("<unfinished ...>") {
                unfinished.insert(thread, start);
                continue;
            } else if said.starts_with("<...") {
                unfinished.remove(thread).unwrap_or_default()
            } else {
                said
            };
            // `= ?` is a call that never returned.
            let over = ["(INJECTED)", "= ?", "+++ killed by SIGKILL +++"];
            if over.iter().any(|over| said.contains(over)) {
                let is_sync_of_mark = start.starts_with("fdatasync(") && start.contains("/mark>");
                trace.failed_in_move |= !failed && (start.contains("/store.redb>") || is_sync_of_mark);
                failed = true;
            } else if start.starts_with("pwrite64(") && start.contains("/mark>") {
                let count = count_in(start);
                if failed {
                    trace.marked_after_fault = Some(count);
                } else {
                    trace.marked_before_fault = trace.marked_before_fault.max(count);
                }
            } else if failed && start.contains("\"answered ") {
                trace.answered_after_fault += 1;
            }
        }
        assert!(failed, "{case}: it never came to that:\n{text}");
        trace
    }
}

/// The count that a write to the mark carries: its first eight bytes, which strace shows in hexadecimal.
fn count_in(call: &str) -> u64 {
    let bytes = call.split('"').nth(1).expect("strace shows what is written");
    let bytes = bytes.split("\\x").skip(1).take(8);
    let bytes: Vec<u8> = bytes.map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal")).collect();
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// The count in the mark's file.
fn marked(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let slots = bytes.chunks(bytes.len() / 2);
    slots.map(|slot| u64::from_le_bytes(*slot.first_chunk().unwrap())).max().unwrap()
}

fn copy(from: &Path, to: &Path) {
    create_directory(&to.join("store")).unwrap();
    std::fs::copy(from.join("log"), to.join("log")).unwrap();
    for name in STORE_FILES {
        std::fs::copy(from.join("store").join(name), to.join("store").join(name)).unwrap();
    }
}
