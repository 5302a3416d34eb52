//! What processes cost, as Linux accounts for it.

use std::collections::HashMap;
use std::io;

use crate::error::{Error, Result};

/// `USER_HZ`, which Linux fixes for everything it tells in ticks.
const TICKS_PER_SECOND: f64 = 100.0;

/// What processes have used since they started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) cpu_seconds: f64,
    /// Bytes handed to the kernel with `write` and its like.
    pub(crate) written_bytes: f64,
    /// Bytes of the pages that became dirty by it.
    pub(crate) dirtied_bytes: f64,
}

impl Usage {
    /// Of these processes, their descendants, and those of them that are gone.
    pub(crate) fn of(roots: &[u32]) -> Result<Usage> {
        let processes = processes()?;
        let mut usage = Usage::default();
        let mut waiting = roots.to_vec();
        while let Some(id) = waiting.pop() {
            let Some(process) = processes.get(&id) else {
                return Err(Error::Wrong(format!("process {id} is gone")));
            };
            usage.cpu_seconds += process.cpu_seconds;
            let (written, dirtied) = written_and_dirtied(id)?;
            usage.written_bytes += written;
            usage.dirtied_bytes += dirtied;
            waiting.extend(processes.iter().filter(|(_, child)| child.parent == id).map(|(id, _)| *id));
        }
        Ok(usage)
    }

    pub(crate) fn since(self, before: Usage) -> Usage {
        Usage {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            written_bytes: self.written_bytes - before.written_bytes,
            dirtied_bytes: self.dirtied_bytes - before.dirtied_bytes,
        }
    }
}

struct Process {
    parent: u32,
    /// Its own, and of its children that were waited for.
    cpu_seconds: f64,
}

fn processes() -> Result<HashMap<u32, Process>> {
    let mut found = HashMap::new();
    for entry in std::fs::read_dir("/proc").map_err(Error::io("cannot list processes"))? {
        let Ok(entry) = entry else { continue };
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // It may have ended since it was listed.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let process = parse_stat(&stat)
            .ok_or_else(|| Error::Wrong(format!("/proc/{id}/stat has another form: {stat}")))?;
        found.insert(id, process);
    }
    Ok(found)
}

/// The name stands in brackets and may have anything in it.
fn parse_stat(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let mut ticks = 0.0;
    for field in fields.get(11..15)? {
        ticks += field.parse::<f64>().ok()?;
    }
    Some(Process { parent: fields.get(1)?.parse().ok()?, cpu_seconds: ticks / TICKS_PER_SECOND })
}

/// Its own and, as Linux adds them up, of its children that were waited for.
fn written_and_dirtied(id: u32) -> Result<(f64, f64)> {
    let path = format!("/proc/{id}/io");
    let io = match std::fs::read_to_string(&path) {
        Ok(io) => io,
        // It ended since it was listed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0.0, 0.0)),
        Err(error) => return Err(Error::Io { what: format!("cannot read {path}"), error }),
    };
    let value = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    match (value("wchar: "), value("write_bytes: ")) {
        (Some(written), Some(dirtied)) => Ok((written, dirtied)),
        _ => Err(Error::Wrong(format!("{path} has another form: {io}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_after_any_name() {
        let stat = "42 (a ) b) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 7 20 0 1 0 5 6 7";
        let process = parse_stat(stat).expect("it has that form");
        assert_eq!((process.parent, process.cpu_seconds), (7, 1.3));
        assert!(parse_stat("42 (cut) S 7").is_none());
    }
}
