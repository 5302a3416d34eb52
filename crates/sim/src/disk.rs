//! A simulated disk under the embedded store: it forgets what was not synced, tears it, reorders it, and fails.
//!
//! Four files (the store's, the mark's and two of the log) share one machine and so one crash. Each has a live image, which the process
//! sees, and a durable one, which a crash leaves together with any part of what was written and not synced. Images are pages
//! that are shared until they are written, so that a copy of a whole disk costs next to nothing.

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_engine::store::Files;
use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use crate::random::Random;

const PAGE_BYTES: usize = 4096;
const FILES: usize = 4;
/// What a disk writes whole or not at all.
const SECTOR_BYTES: u64 = 512;

/// A disk; clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Disk(Arc<Mutex<Machine>>);

/// What a crash does to writes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// All are lost.
    Lost,
    /// All are kept: only the process died.
    Kept,
    /// Any of them are kept, and some of those in part: some of their sectors, and of the last one perhaps a prefix.
    Torn,
}

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The machine stops: from here on everything fails.
    Crash,
    /// An error of the device (EIO). After one of a sync, what was not synced may be durable or lost for good.
    Device,
    /// No room is left (ENOSPC).
    Full,
}

/// Everything on a disk at one moment, as a later crash would find it.
#[derive(Debug, Clone)]
pub struct Moment {
    files: [File; FILES],
}

#[derive(Debug)]
struct Machine {
    files: [File; FILES],
    /// Writes, syncs and changes of length so far.
    operations: u64,
    syncs: u64,
    failure: Option<(u64, Failure)>,
    stopped: bool,
    random: Random,
    /// The moment before each operation, if they are recorded.
    moments: Option<Vec<Moment>>,
}

#[derive(Debug, Clone, Default)]
struct File {
    live: Image,
    durable: Image,
    unsynced: Vec<Unsynced>,
}

#[derive(Debug, Clone)]
enum Unsynced {
    Write { offset: u64, bytes: Arc<[u8]> },
    Length(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Store,
    Mark,
    Logs(usize),
}

#[derive(Debug)]
struct Handle {
    disk: Disk,
    name: Name,
}

impl Disk {
    /// An empty one. The seed decides what errors leave behind.
    pub fn new(random: Random) -> Disk {
        Disk::with_files(<[File; FILES]>::default(), random)
    }

    fn with_files(files: [File; FILES], random: Random) -> Disk {
        Disk(Arc::new(Mutex::new(Machine {
            files,
            operations: 0,
            syncs: 0,
            failure: None,
            stopped: false,
            random,
            moments: None,
        })))
    }

    /// The files for a store to open, whose log gathers so much in each of its own.
    pub fn files(&self, log_bytes_max: u64) -> Files {
        let handle = |name| -> Box<dyn StorageBackend> { Box::new(Handle { disk: self.clone(), name }) };
        let logs = [handle(Name::Logs(0)), handle(Name::Logs(1))];
        // So little that most moves are synced on the way.
        let unsynced_bytes_max = 16 * 1024;
        Files {
            store: handle(Name::Store),
            mark: handle(Name::Mark),
            logs,
            log_bytes_max,
            unsynced_bytes_max,
            pause: Duration::ZERO,
        }
    }

    /// Lets the operation after so many more fail.
    pub fn fail_after(&self, operations: u64, failure: Failure) {
        let mut machine = self.0.lock();
        machine.failure = Some((machine.operations + operations + 1, failure));
    }

    /// Takes back what [`Disk::fail_after`] said.
    pub fn never_fail(&self) {
        self.0.lock().failure = None;
    }

    /// Stops the machine now.
    pub fn stop(&self) {
        self.0.lock().stopped = true;
    }

    /// Whether the machine stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.lock().stopped
    }

    /// Writes, syncs and changes of length so far.
    pub fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    /// Syncs so far.
    pub fn syncs(&self) -> u64 {
        self.0.lock().syncs
    }

    /// Keeps the moment before every operation from here on.
    pub fn record_moments(&self) {
        self.0.lock().moments = Some(Vec::new());
    }

    /// The moments that were kept.
    pub fn moments(&self) -> Vec<Moment> {
        self.0.lock().moments.clone().unwrap_or_default()
    }

    /// What is there now.
    pub fn moment(&self) -> Moment {
        Moment { files: self.0.lock().files.clone() }
    }
}

impl Moment {
    /// The disk that a crash at this moment leaves.
    pub fn crash(&self, damage: Damage, mut random: Random) -> Disk {
        let files = self.files.clone().map(|file| match damage {
            // What was not synced is still the system's to write, or to lose in the next crash.
            Damage::Kept => file,
            Damage::Lost | Damage::Torn => {
                let image = file.after_crash(damage, &mut random);
                File { live: image.clone(), durable: image, unsynced: Vec::new() }
            }
        });
        Disk::with_files(files, random)
    }

    /// The same with everything but the mark as it was at an earlier moment: acknowledged commits are gone.
    pub fn with_store_of(&self, earlier: &Moment) -> Moment {
        let mut files = earlier.files.clone();
        files[1] = self.files[1].clone();
        Moment { files }
    }

    /// The same with one bit of the store's file or of its log turned over.
    pub fn with_flipped_bit(&self, random: &mut Random) -> Moment {
        let mut flipped = self.clone();
        let file = &mut flipped.files[*random.pick(&[0, 0, 2, 3])];
        let written: Vec<usize> =
            (0..file.live.pages.len()).filter(|&page| file.live.pages[page].is_some()).collect();
        if let Some(&page) = (!written.is_empty()).then(|| random.pick(&written)) {
            let bit = random.index(PAGE_BYTES * 8);
            let offset = (page * PAGE_BYTES + bit / 8) as u64;
            let mut byte = [0];
            file.live.read(offset, &mut byte);
            byte[0] ^= 1 << (bit % 8);
            file.live.write(offset, &byte);
            file.durable = file.live.clone();
            file.unsynced.clear();
        }
        flipped
    }
}

impl File {
    fn after_crash(&self, damage: Damage, random: &mut Random) -> Image {
        let mut image = self.durable.clone();
        let kept_percent = 10 + random.below(90);
        for (index, unsynced) in self.unsynced.iter().enumerate() {
            match damage {
                Damage::Lost => {}
                Damage::Kept => unsynced.apply(&mut image),
                Damage::Torn => {
                    if random.percent(kept_percent) {
                        let is_last = index + 1 == self.unsynced.len();
                        unsynced.apply_torn(&mut image, is_last, random);
                    }
                }
            }
        }
        image
    }
}

impl Unsynced {
    fn apply(&self, image: &mut Image) {
        match self {
            Unsynced::Write { offset, bytes } => image.write(*offset, bytes),
            Unsynced::Length(length) => image.set_length(*length),
        }
    }

    /// Sectors are whole or not there; only what was under way can end anywhere.
    fn apply_torn(&self, image: &mut Image, is_last: bool, random: &mut Random) {
        match self {
            Unsynced::Write { offset, bytes } if random.percent(30) => {
                if is_last && random.percent(50) {
                    image.write(*offset, &bytes[..random.index(bytes.len())]);
                    return;
                }
                let end = offset + bytes.len() as u64;
                let mut at = *offset;
                while at < end {
                    let next = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
                    if random.percent(50) {
                        let within = |position: u64| usize::try_from(position - offset).expect("in memory");
                        image.write(at, &bytes[within(at)..within(next)]);
                    }
                    at = next;
                }
            }
            Unsynced::Write { .. } | Unsynced::Length(_) => self.apply(image),
        }
    }
}

impl Machine {
    /// Counts an operation; how it fails, if it does.
    fn operate(&mut self) -> Result<(), Failure> {
        if self.stopped {
            return Err(Failure::Crash);
        }
        if let Some(moments) = &mut self.moments {
            moments.push(Moment { files: self.files.clone() });
        }
        self.operations += 1;
        match self.failure {
            Some((at, failure)) if at == self.operations => {
                self.stopped |= failure == Failure::Crash;
                Err(failure)
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Failure {
    fn error(self) -> io::Error {
        match self {
            Failure::Crash => io::Error::other("the machine stopped"),
            Failure::Device => io::Error::other("the device failed"),
            Failure::Full => io::Error::new(io::ErrorKind::StorageFull, "no room is left"),
        }
    }
}

impl Handle {
    fn with<R>(&self, act: impl FnOnce(&mut Machine, usize) -> io::Result<R>) -> io::Result<R> {
        let index = match self.name {
            Name::Store => 0,
            Name::Mark => 1,
            Name::Logs(index) => 2 + index,
        };
        act(&mut self.disk.0.lock(), index)
    }

    fn change(&self, unsynced: Unsynced) -> io::Result<()> {
        self.with(|machine, index| {
            let was_running = !machine.stopped;
            let result = machine.operate();
            let takes_effect = match result {
                Ok(()) => true,
                // Whatever was under way when the machine stopped may have got there, whole or in part.
                Err(Failure::Crash) => was_running,
                Err(Failure::Device) => machine.random.percent(50),
                Err(Failure::Full) => false,
            };
            if takes_effect {
                let file = &mut machine.files[index];
                unsynced.apply(&mut file.live);
                file.unsynced.push(unsynced);
            }
            result.map_err(Failure::error)
        })
    }
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        self.with(|machine, index| {
            if machine.stopped { Err(Failure::Crash.error()) } else { Ok(machine.files[index].live.length) }
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|machine, index| {
            let live = &machine.files[index].live;
            if machine.stopped {
                return Err(Failure::Crash.error());
            }
            if offset + out.len() as u64 > live.length {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "past the end"));
            }
            live.read(offset, out);
            Ok(())
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(Unsynced::Length(length))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|machine, index| {
            machine.syncs += 1;
            let result = machine.operate();
            let Machine { files, random, .. } = machine;
            let file = &mut files[index];
            match result {
                Ok(()) => {
                    file.durable = file.live_of_unsynced();
                    file.unsynced.clear();
                    Ok(())
                }
                Err(Failure::Crash) => Err(Failure::Crash.error()),
                Err(failure @ (Failure::Device | Failure::Full)) => {
                    // The system forgets which pages it failed to write: a later sync will not try again.
                    for unsynced in std::mem::take(&mut file.unsynced) {
                        if random.percent(50) {
                            unsynced.apply(&mut file.durable);
                        }
                    }
                    Err(failure.error())
                }
            }
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Unsynced::Write { offset, bytes: data.into() })
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}

impl File {
    /// The durable image with everything that was written since.
    fn live_of_unsynced(&self) -> Image {
        let mut image = self.durable.clone();
        self.unsynced.iter().for_each(|unsynced| unsynced.apply(&mut image));
        image
    }
}

/// The bytes of a file. A page that is not there is zeros.
#[derive(Debug, Clone, Default)]
struct Image {
    length: u64,
    pages: Vec<Option<Arc<[u8; PAGE_BYTES]>>>,
}

impl Image {
    fn set_length(&mut self, length: u64) {
        if length < self.length {
            // What is cut off must not come back when the file grows again.
            let page = usize::try_from(length).expect("in memory") / PAGE_BYTES;
            let within = usize::try_from(length).expect("in memory") % PAGE_BYTES;
            if let Some(Some(page)) = self.pages.get_mut(page) {
                Arc::make_mut(page)[within..].fill(0);
            }
            self.pages.truncate(page + usize::from(within > 0));
        }
        self.length = length;
        self.pages.resize(usize::try_from(length).expect("in memory").div_ceil(PAGE_BYTES), None);
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end > self.length {
            self.set_length(end);
        }
        let mut offset = usize::try_from(offset).expect("in memory");
        let mut rest = bytes;
        while !rest.is_empty() {
            let within = offset % PAGE_BYTES;
            let (now, later) = rest.split_at(rest.len().min(PAGE_BYTES - within));
            let page = self.pages[offset / PAGE_BYTES].get_or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(page)[within..within + now.len()].copy_from_slice(now);
            offset += now.len();
            rest = later;
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        let mut offset = usize::try_from(offset).expect("in memory");
        let mut rest = out;
        while !rest.is_empty() {
            let within = offset % PAGE_BYTES;
            let length = rest.len().min(PAGE_BYTES - within);
            let (now, later) = rest.split_at_mut(length);
            match &self.pages[offset / PAGE_BYTES] {
                Some(page) => now.copy_from_slice(&page[within..within + length]),
                None => now.fill(0),
            }
            offset += length;
            rest = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(disk: &Disk) -> Vec<u8> {
        let file = disk.files(0).store;
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_crash_keeps_what_was_synced_and_any_part_of_the_rest() {
        let disk = Disk::new(Random::new(1));
        let file = disk.files(0).store;
        file.write(0, &[1; 2000]).unwrap();
        file.sync_data().unwrap();
        file.write(0, &[2; 2000]).unwrap();
        let after = |damage, seed| bytes_of(&disk.moment().crash(damage, Random::new(seed)));
        assert_eq!(after(Damage::Lost, 1), [1; 2000]);
        assert_eq!(after(Damage::Kept, 1), [2; 2000]);
        let mixed = (0..100).map(|seed| after(Damage::Torn, seed)).filter(|bytes| {
            let new = bytes.iter().filter(|&&byte| byte == 2).count();
            0 < new && new < 2000
        });
        assert!(mixed.count() > 5, "some are torn");
    }

    #[test]
    fn what_a_failed_sync_left_out_is_not_made_durable_by_a_later_one() {
        let lost = (0..20).any(|seed| {
            let disk = Disk::new(Random::new(seed));
            let file = disk.files(0).store;
            file.write(0, &[1]).unwrap();
            disk.fail_after(0, Failure::Device);
            file.sync_data().unwrap_err();
            file.sync_data().unwrap();
            bytes_of(&disk) == [1] && bytes_of(&disk.moment().crash(Damage::Lost, Random::new(0))).is_empty()
        });
        assert!(lost);
    }

    #[test]
    fn a_stopped_machine_does_nothing_more() {
        let disk = Disk::new(Random::new(1));
        let file = disk.files(0).mark;
        disk.fail_after(1, Failure::Crash);
        file.write(0, &[1]).unwrap();
        file.write(0, &[2]).unwrap_err();
        file.sync_data().unwrap_err();
        assert!(disk.is_stopped());
        assert!(file.read(0, &mut [0]).is_err());
        assert_eq!(disk.operations(), 2);
    }
}
