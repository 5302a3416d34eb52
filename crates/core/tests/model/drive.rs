//! Runs a scenario through the core and the model, side by side.

use std::collections::BTreeMap;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::change::Change;
use boxoffice_core::codec;
use boxoffice_core::command::{Action, ActionKind, Command};
use boxoffice_core::ids::Actor;
use boxoffice_core::inventory::Inventory;
use boxoffice_core::outcome::{Applied, Grant, Outcome};
use boxoffice_core::refusal::RefusalCode;
use boxoffice_core::time::Timestamp;

use crate::compare::check_answer;
use crate::creation::{START, creation};
use crate::invariants::{check_inventory, check_same};
use crate::naive::{Answer, KeptAnswer, Model, Prediction, Stock};
use crate::ops::{Scenario, StockSetup};
use crate::translate::{Translator, add_box, moved};

/// Says what does not hold.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            return Err(format!($($message)*));
        }
    };
}

/// What happened in all scenarios, to see that nothing is tested in vain.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) commands: u64,
    pub(crate) granted: u64,
    pub(crate) replayed: u64,
    pub(crate) expired: u64,
    pub(crate) revived: u64,
    pub(crate) revived_elsewhere: u64,
    pub(crate) best_apart: u64,
    pub(crate) sold_out: u64,
    pub(crate) refused: BTreeMap<RefusalCode, u64>,
    /// Granted and all, of each action.
    pub(crate) actions: BTreeMap<ActionKind, (u64, u64)>,
}

/// Rarely enough to be cheap, and often enough for the loaded inventory to meet all that may follow.
const BATCHES_PER_SNAPSHOT: u64 = 8;

/// A command as it was sent and answered.
struct Entry {
    now: Timestamp,
    command: Vec<u8>,
    changes: Vec<u8>,
    outcome: Outcome,
    ends_batch: bool,
}

struct Drive<'a> {
    live: Inventory,
    /// Made from the journal alone.
    replica: Inventory,
    /// Made from a snapshot and the commands since; the first is of nothing.
    loaded: Inventory,
    model: Model,
    now: Timestamp,
    /// Of the open batch.
    changes: Vec<Change>,
    entries: Vec<Entry>,
    tally: &'a mut Tally,
    told: bool,
    also: Also<'a>,
}

/// Whoever does the same as the core, and is shown what that answered.
pub(crate) type Also<'a> = &'a mut dyn FnMut(Timestamp, &Command, &Applied) -> Result<(), String>;

/// Runs a scenario. If `told`, every command and its answer are printed.
pub(crate) fn run(scenario: &Scenario, tally: &mut Tally, told: bool, also: Also<'_>) -> Result<(), String> {
    let mut drive = Drive {
        live: Inventory::default(),
        replica: Inventory::default(),
        loaded: Inventory::default(),
        model: Model::default(),
        now: START,
        changes: Vec::new(),
        entries: Vec::new(),
        tally,
        told,
        also,
    };
    let mut translator = Translator::default();
    for (number, step) in scenario.steps.iter().enumerate() {
        if number == usize::from(scenario.early_steps) {
            drive.create(scenario)?;
        }
        drive.now = moved(drive.now, step.pause, &drive.model);
        let command = translator.command(step.by, step.key, &step.op, &drive.model, drive.now);
        drive.send(&command, step.ends_batch)?;
    }
    drive.end_batch()?;
    drive.load_snapshot()?;
    if let Stock::Event(hall) = &drive.model.stock {
        drive.tally.sold_out += u64::from(hall.sellout.sold_out_at.is_some());
    }
    drive.check_repeatable()
}

impl Drive<'_> {
    fn create(&mut self, scenario: &Scenario) -> Result<(), String> {
        let mut actions = vec![creation(&scenario.setup)];
        if let StockSetup::Shop { boxes } = &scenario.setup.stock {
            actions.extend(boxes.iter().map(|new| Action::AddBox(Box::new(add_box(new, self.now)))));
        }
        for action in actions {
            self.send(&Command { by: Actor(0), idempotency: None, action }, false)?;
        }
        Ok(())
    }

    fn send(&mut self, command: &Command, ends_batch: bool) -> Result<(), String> {
        if self.told {
            eprintln!("at +{} ms: {command:?}", self.now.0 - START.0);
        }
        let prediction = self.model.apply(self.now, command);
        let before = matches!(prediction.answer, Answer::Refused(_)).then(|| self.live.clone());
        let applied = boxoffice_core::apply(&mut self.live, self.now, command);
        if self.told {
            match &applied.outcome {
                Outcome::Granted(Grant::Inventory(_)) => eprintln!("    granted"),
                outcome => eprintln!("    {outcome:?}"),
            }
        }

        check_answer(&prediction, &applied)?;
        (self.also)(self.now, command, &applied)?;
        let answered = boxoffice_core::apply(&mut self.loaded, self.now, command);
        ensure!(answered == applied, "loaded from a snapshot it is {answered:?}");
        self.check_sequence(&prediction, &applied)?;
        if let Some(before) = before {
            self.check_nothing_happened(before, &prediction, &applied)?;
        }
        self.count(command, &prediction, &applied);
        let first = KeptAnswer {
            fingerprint: 0.into(),
            outcome: applied.outcome.clone(),
            sequence: applied.sequence,
            decided_at: applied.decided_at,
            keep_until: prediction.now,
        };
        self.model.settle(&prediction, command, &first, !applied.changes.is_empty());
        check_inventory(&self.live)?;
        check_same(&self.live, &self.model)?;

        let bytes = codec::encode_command(command);
        ensure!(
            codec::decode_command(&bytes).as_ref() == Ok(command),
            "the command does not survive its bytes"
        );
        self.entries.push(Entry {
            now: self.now,
            command: bytes,
            changes: codec::encode_changes(&applied.changes),
            outcome: applied.outcome,
            ends_batch,
        });
        self.changes.extend(applied.changes);
        if ends_batch { self.end_batch() } else { Ok(()) }
    }

    fn check_sequence(&self, prediction: &Prediction, applied: &Applied) -> Result<(), String> {
        let expected = match &prediction.answer {
            Answer::Replayed(kept) => kept.sequence,
            Answer::Granted(_) | Answer::Refused(_) => {
                let batch_has_changes = !self.changes.is_empty() || !applied.changes.is_empty();
                self.live.sequence() + u64::from(batch_has_changes)
            }
        };
        ensure!(applied.sequence == expected, "sequence {} instead of {expected}", applied.sequence);
        Ok(())
    }

    /// A refused command does what `Expire` would do, and a key may remember it: nothing else.
    fn check_nothing_happened(
        &self,
        mut before: Inventory,
        prediction: &Prediction,
        applied: &Applied,
    ) -> Result<(), String> {
        let expire = Command { by: Actor(0), idempotency: None, action: Action::Expire };
        let expired = boxoffice_core::apply(&mut before, self.now, &expire);
        let (head, rest) = applied.changes.split_at(expired.changes.len().min(applied.changes.len()));
        ensure!(head == expired.changes, "a refused command ended other holds than Expire");
        let remembered = rest.iter().filter(|change| matches!(change, Change::Remembered { .. })).count();
        let others =
            rest.iter().filter(|change| !matches!(change, Change::Remembered { .. } | Change::Act { .. }));
        ensure!(others.count() == 0, "a refused command changed something: {rest:?}");
        ensure!(
            remembered == usize::from(prediction.remembered),
            "a refusal is remembered {remembered} times"
        );
        let mut after = self.live.clone();
        after.end_batch();
        before.replay(rest);
        ensure!(before == after, "a refused command left another state behind");
        Ok(())
    }

    fn end_batch(&mut self) -> Result<(), String> {
        let before = self.live.sequence();
        let ended = self.live.end_batch();
        self.loaded.end_batch();
        if self.changes.is_empty() {
            ensure!(ended.is_none(), "a batch without changes has the number {ended:?}");
            return Ok(());
        }
        ensure!(ended == Some(before + 1), "after batch {before} comes {ended:?}");
        let bytes = codec::encode_changes(&self.changes);
        let decoded = codec::decode_changes(&bytes).map_err(|error| error.to_string())?;
        ensure!(decoded == self.changes, "the changes do not survive their bytes");
        self.replica.replay(&decoded);
        ensure!(self.replica == self.live, "the replayed journal gives another state");
        self.changes.clear();
        if self.live.sequence().is_multiple_of(BATCHES_PER_SNAPSHOT) { self.load_snapshot() } else { Ok(()) }
    }

    /// The inventory survives its bytes, and goes on from them.
    fn load_snapshot(&mut self) -> Result<(), String> {
        ensure!(self.loaded == self.live, "another state since the last snapshot was loaded");
        let bytes = codec::encode_inventory(&self.live);
        ensure!(codec::encode_inventory(&self.replica) == bytes, "equal inventories have other bytes");
        self.loaded = codec::decode_inventory(&bytes).map_err(|error| error.to_string())?;
        ensure!(self.loaded == self.live, "the inventory does not survive its bytes");
        ensure!(codec::encode_inventory(&self.loaded) == bytes, "the loaded inventory has other bytes");
        Ok(())
    }

    /// The same commands from nothing give the same answers and the same bytes.
    fn check_repeatable(&self) -> Result<(), String> {
        let mut again = Inventory::default();
        for entry in &self.entries {
            let command = codec::decode_command(&entry.command).map_err(|error| error.to_string())?;
            let applied = boxoffice_core::apply(&mut again, entry.now, &command);
            ensure!(codec::encode_changes(&applied.changes) == entry.changes, "other bytes the second time");
            ensure!(applied.outcome == entry.outcome, "another answer the second time");
            if entry.ends_batch {
                again.end_batch();
            }
        }
        again.end_batch();
        ensure!(again == self.live, "another state the second time");
        Ok(())
    }

    fn count(&mut self, command: &Command, prediction: &Prediction, applied: &Applied) {
        let tally = &mut *self.tally;
        tally.commands += 1;
        tally.replayed += u64::from(applied.replayed);
        tally.expired += prediction.expired.len() as u64;
        let of_action = tally.actions.entry(ActionKind::from(&command.action)).or_default();
        of_action.1 += 1;
        match &applied.outcome {
            Outcome::Granted(grant) => {
                tally.granted += 1;
                of_action.0 += 1;
                if let (Action::Book(_), Grant::Booking(booking)) = (&command.action, grant)
                    && seats(booking) > 1
                    && !booking.is_adjacent()
                {
                    tally.best_apart += u64::from(format!("{:?}", command.action).contains("Best("));
                }
                for change in &applied.changes {
                    if let Change::Revived { booking, units, .. } = change {
                        tally.revived += 1;
                        let old = self.replica.booking(*booking);
                        tally.revived_elsewhere += u64::from(old.is_some_and(|old| old.units != **units));
                    }
                }
            }
            Outcome::Refused(refusal) => {
                *tally.refused.entry(RefusalCode::from(&**refusal)).or_default() += 1;
            }
        }
    }
}

fn seats(booking: &Booking) -> usize {
    match (&booking.units, booking.status) {
        (Units::Event { seats, .. }, Status::OnHold { .. } | Status::Confirmed { .. }) => seats.len(),
        _ => 0,
    }
}
