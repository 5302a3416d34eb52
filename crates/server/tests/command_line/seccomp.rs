//! The seccomp filters that systemd derives from `deploy/boxoffice.service`, built from the unit itself.
//!
//! `systemd-analyze syscall-filter` lists systemd's sets of system calls. A filter holds for a thread and for the
//! processes that it starts, so no launcher is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use syscalls::Sysno;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/boxoffice.service");
const PROT_WRITE_AND_EXEC: u64 = 0x2 | 0x4;
const PROT_EXEC: u64 = 0x4;

/// Numbers of `AF_*` in `socket(2)`.
const FAMILIES: [(&str, u64); 4] = [("AF_UNIX", 1), ("AF_INET", 2), ("AF_INET6", 10), ("AF_NETLINK", 16)];

/// The unit file.
pub(crate) struct Unit {
    pub(crate) text: String,
}

/// Calls a function in a thread that is restricted as the unit restricts the server, and so is what it starts. A call
/// that the unit denies kills the process, also where the unit lets it fail: so the test notices it.
pub(crate) fn run_filtered<T: Send>(unit: &Unit, call: impl FnOnce() -> T + Send) -> T {
    let filters = unit.filters();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            filters.iter().for_each(|filter| apply_filter(filter).unwrap());
            call()
        });
        thread.join().unwrap()
    })
}

impl Unit {
    pub(crate) fn read() -> Unit {
        Unit { text: std::fs::read_to_string(UNIT).unwrap() }
    }

    /// The values of an option, in their order.
    fn values<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        self.text.lines().filter_map(move |line| line.strip_prefix(option)?.strip_prefix('='))
    }

    fn has(&self, line: &str) -> bool {
        self.text.lines().any(|found| found == line)
    }

    /// The last one is the allow-list: after it a thread may not add filters.
    fn filters(&self) -> Vec<BpfProgram> {
        let mut filters = vec![denied(Errno::AFNOSUPPORT, [(Sysno::socket, self.foreign_families())])];
        if self.has("MemoryDenyWriteExecute=yes") {
            let writable_code =
                condition(2, SeccompCmpOp::MaskedEq(PROT_WRITE_AND_EXEC), PROT_WRITE_AND_EXEC);
            let code = || condition(2, SeccompCmpOp::MaskedEq(PROT_EXEC), PROT_EXEC);
            let calls = [
                (Sysno::mmap, vec![writable_code]),
                (Sysno::mprotect, vec![code()]),
                (Sysno::pkey_mprotect, vec![code()]),
            ];
            filters.push(denied(Errno::PERM, calls));
        }
        if self.has("RestrictNamespaces=yes") {
            // Its flags are behind a pointer, so systemd has programs fall back to clone.
            filters.push(denied(Errno::NOSYS, [(Sysno::clone3, Vec::new())]));
        }
        let allowed = self.allowed_calls().into_iter().map(|call| (i64::from(call.id()), Vec::new()));
        filters.push(program(allowed.collect(), SeccompAction::KillProcess, SeccompAction::Allow));
        filters
    }

    /// All conditions together: of none of the families that the unit allows.
    fn foreign_families(&self) -> Vec<SeccompCondition> {
        let families = self.values("RestrictAddressFamilies").flat_map(str::split_whitespace);
        let number = |name| FAMILIES.iter().find(|(found, _)| *found == name).expect("a known family").1;
        families.map(|name| condition(0, SeccompCmpOp::Ne, number(name))).collect()
    }

    /// As systemd reads the lines: the first one begins an allow-list, `~` takes away from it, the rest adds to it.
    fn allowed_calls(&self) -> BTreeSet<Sysno> {
        let sets = sets();
        let mut allowed = BTreeSet::new();
        add(&sets, "@default", &mut allowed);
        for line in self.values("SystemCallFilter") {
            let mut named = BTreeSet::new();
            let names = line.strip_prefix('~').unwrap_or(line).split_whitespace();
            names.for_each(|name| add(&sets, name, &mut named));
            assert!(!named.is_empty(), "{line} names no call");
            if line.starts_with('~') {
                allowed.retain(|call| !named.contains(call));
            } else {
                allowed.extend(named);
            }
        }
        allowed
    }
}

/// Adds a call, or all calls of a set. Calls of other architectures are left out.
fn add(sets: &BTreeMap<String, Vec<String>>, name: &str, calls: &mut BTreeSet<Sysno>) {
    match name.starts_with('@') {
        true => sets[name].iter().for_each(|name| add(sets, name, calls)),
        false => calls.extend(name.parse::<Sysno>().ok()),
    }
}

/// What is in each of systemd's sets: calls, and other sets.
fn sets() -> BTreeMap<String, Vec<String>> {
    let printed = Command::new("systemd-analyze").args(["--no-pager", "syscall-filter"]).output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let mut sets = BTreeMap::<String, Vec<String>>::new();
    let mut set = String::new();
    for line in String::from_utf8(printed.stdout).unwrap().lines() {
        match line.strip_prefix("    ") {
            Some(name) if !name.starts_with('#') => {
                sets.entry(set.clone()).or_default().push(name.trim().to_owned());
            }
            Some(_) => {}
            None => set = line.trim().to_owned(),
        }
    }
    sets
}

/// Calls that fail if all their conditions are met.
fn denied<const N: usize>(errno: Errno, calls: [(Sysno, Vec<SeccompCondition>); N]) -> BpfProgram {
    let rule = |conditions: Vec<_>| match conditions.is_empty() {
        true => Vec::new(),
        false => vec![SeccompRule::new(conditions).unwrap()],
    };
    let calls = calls.into_iter().map(|(call, conditions)| (i64::from(call.id()), rule(conditions)));
    let error = SeccompAction::Errno(errno.raw_os_error().unsigned_abs());
    program(calls.collect(), SeccompAction::Allow, error)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> SeccompCondition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).unwrap()
}

fn program(
    calls: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    action: SeccompAction,
) -> BpfProgram {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    SeccompFilter::new(calls, otherwise, action, arch).unwrap().try_into().unwrap()
}
