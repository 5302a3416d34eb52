//! Commands read from damaged bytes: whatever decodes is a command, and no command makes the rules panic. Inventories
//! read from damaged bytes: whatever decodes is an inventory, which sells on and can be written again.

use boxoffice_core::apply;
use boxoffice_core::codec::{
    DecodeError, decode_command, decode_inventory, encode_command, encode_inventory,
};
use boxoffice_core::command::{Action, Command};
use boxoffice_core::ids::{BookingId, RedeemCode};
use boxoffice_core::inventory::Inventory;
use boxoffice_core::outcome::Outcome;
use boxoffice_core::rules::TermsPatch;
use boxoffice_core::time::Timestamp;

use crate::{golden, samples};

const VARIANTS_PER_SAMPLE: u32 = 3_000;
const VARIANTS_PER_INVENTORY: u32 = 10_000;
const SEED: u64 = 0x5EED_0FB0_C0DE;

/// A generator of bits that is good enough to spoil bytes.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            // Never the version.
            let at = 1 + self.below(bytes.len() - 1);
            match self.below(4) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => bytes.insert(at, [0xff, 0x80, 0][self.below(3)]),
                _ => bytes.splice(at..at + 1, [0xff, 0xff, 0xff, 0xff, 0x0f]).for_each(drop),
            }
        }
    }
}

/// A sample with another booking, customer and key, so that most of them are granted before they are spoiled.
fn varied(sample: &Command, chance: &mut Chance) -> Command {
    let mut command = sample.clone();
    if chance.below(8) > 0 {
        command.idempotency = None;
    }
    let id = BookingId::from_bytes([u8::try_from(chance.below(200)).expect("a byte"); 16]);
    match &mut command.action {
        Action::Book(book) => {
            book.id = id;
            book.customer = format!("customer-{}", chance.below(50)).into();
            book.confirm = chance.below(4) == 0;
            book.redeem_code =
                RedeemCode::from_random(u32::try_from(chance.below(100)).expect("a small number"));
        }
        Action::Confirm(confirm) => (confirm.booking, confirm.free_only) = (id, false),
        Action::Extend(extend) => extend.booking = id,
        Action::Cancel(cancel) => cancel.booking = id,
        Action::Move(moving) => moving.booking = id,
        Action::Redeem(redeem) => redeem.booking = id,
        // Closing everything in the first round would leave nothing to spoil.
        Action::PatchEvent(patch) => patch.terms = TermsPatch::default(),
        Action::PatchShop(patch) => patch.terms = TermsPatch::default(),
        Action::PatchSlot(patch) => patch.closed = Some(false),
        _ => {}
    }
    command
}

/// The sample's inventory under the default rules.
fn lenient(creation: &Command) -> Command {
    let mut creation = creation.clone();
    match &mut creation.action {
        Action::CreateEvent(create) => (create.rules, create.sales) = Default::default(),
        Action::CreateSchedule(create) => (create.rules, create.sales) = Default::default(),
        Action::CreateShop(create) => (create.rules, create.sales) = Default::default(),
        other => panic!("not a creation: {other:?}"),
    }
    creation
}

#[test]
fn commands_from_damaged_bytes_never_panic() {
    let mut chance = Chance(SEED);
    let mut decoded = 0u32;
    let mut bookings = 0;
    let samples = samples::commands();
    let creations = samples.iter().filter(|(_, command)| {
        matches!(command.action, Action::CreateEvent(_) | Action::CreateSchedule(_) | Action::CreateShop(_))
    });
    for (kind, creation) in creations {
        let mut live = Inventory::default();
        let mut copy = Inventory::default();
        let mut now = samples::MOMENT;
        let applied = apply(&mut live, now, &lenient(creation));
        assert!(matches!(applied.outcome, Outcome::Granted(_)), "{kind}: {:?}", applied.outcome);
        live.end_batch();
        copy.replay(&applied.changes);
        for _ in 0..VARIANTS_PER_SAMPLE {
            for (_, sample) in &samples {
                let mut bytes = encode_command(&varied(sample, &mut chance));
                if chance.below(4) > 0 {
                    chance.spoil(&mut bytes);
                }
                let Ok(command) = decode_command(&bytes) else { continue };
                decoded += 1;
                // Cancelling the event in the first round would leave nothing to spoil.
                if matches!(&command.action, Action::CancelEvent(cancel) if !cancel.dry_run) {
                    continue;
                }
                now = Timestamp(now.0 + chance.below(200) as i64);
                let applied = apply(&mut live, now, &command);
                live.end_batch();
                copy.replay(&applied.changes);
            }
        }
        bookings += live.bookings().len();
        assert!(live == copy, "{kind}: replaying the changes gives the same state");
    }
    assert!(decoded > 50_000, "only {decoded} commands could be read");
    assert!(bookings > 100, "only {bookings} bookings");
}

#[test]
fn inventories_from_damaged_bytes_never_panic() {
    let mut chance = Chance(SEED);
    let mut loaded = 0u32;
    let mut contradictions = 0u32;
    for (kind, bytes) in golden(include_str!("inventories.txt")) {
        for length in 1..bytes.len() {
            assert!(decode_inventory(&bytes[..length]).is_err(), "{kind} cut to {length} bytes");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(decode_inventory(&longer), Err(DecodeError::LeftOver(1)), "{kind}");
        let flipped = (8..bytes.len() * 8).map(|bit| {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            flipped
        });
        let spoiled = (0..VARIANTS_PER_INVENTORY).map(|_| {
            let mut spoiled = bytes.clone();
            chance.spoil(&mut spoiled);
            spoiled
        });
        for damaged in flipped.chain(spoiled).collect::<Vec<_>>() {
            match decode_inventory(&damaged) {
                Ok(inventory) => {
                    loaded += 1;
                    check_usable(inventory, &mut chance);
                }
                Err(DecodeError::NotAnInventory(_)) => contradictions += 1,
                Err(_) => {}
            }
        }
    }
    assert!(loaded > 10_000, "only {loaded} inventories could be read");
    assert!(contradictions > 1_000, "only {contradictions} were no inventory");
}

/// It is written and read as it is, and answers commands.
fn check_usable(mut inventory: Inventory, chance: &mut Chance) {
    assert!(decode_inventory(&encode_inventory(&inventory)).as_ref() == Ok(&inventory));
    for (_, sample) in samples::commands() {
        let now = Timestamp(samples::MOMENT.0 + chance.below(200_000) as i64);
        apply(&mut inventory, now, &varied(&sample, chance));
    }
    inventory.end_batch();
}
