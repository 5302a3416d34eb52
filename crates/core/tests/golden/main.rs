//! The bytes of commands, changes and inventories, written down: they fail if a variant or a field moves.
//!
//! `rubbish.rs` feeds the rules with commands from damaged bytes, and loads damaged inventories. A line of
//! `commands.txt`, `changes.txt` and `inventories.txt` is a name and the bytes in hexadecimal. A new variant gets a new
//! line; a line that exists is never changed while journals and snapshots of its version are about. What is in the
//! inventories stands in `src/snapshot/tests.rs`.

mod rubbish;
mod samples;

use std::collections::BTreeSet;

use boxoffice_core::codec::{
    DecodeError, FORMAT_VERSION, decode_changes, decode_command, decode_inventory, encode_changes,
    encode_command, encode_inventory,
};
use boxoffice_core::command::ActionKind;
use strum::IntoEnumIterator;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("hexadecimal");
    (0..hexadecimal.len()).step_by(2).map(digit).collect()
}

/// Compares the bytes with the golden file, or writes the file if `BOXOFFICE_WRITE_GOLDEN` is set: for a new format version.
fn check_golden(file: &str, written: &str) {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BOXOFFICE_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{written}\n")).expect("a writable source tree");
    }
    assert_eq!(written, std::fs::read_to_string(&path).expect("a golden file").trim_end(), "{file}");
}

/// The lines of a golden file, by name.
fn golden(file: &'static str) -> Vec<(&'static str, Vec<u8>)> {
    let line = |line: &'static str| {
        let (name, bytes) = line.split_once(' ').expect("a name and bytes");
        (name, bytes_of(bytes))
    };
    file.lines().map(line).collect()
}

#[test]
fn commands_have_the_bytes_that_were_written_down() {
    let samples = samples::commands();
    let kinds: BTreeSet<ActionKind> = samples.iter().map(|(_, command)| (&command.action).into()).collect();
    assert_eq!(kinds, ActionKind::iter().collect(), "every action has a sample");
    let written: Vec<String> = samples
        .iter()
        .map(|(name, command)| format!("{name} {}", hexadecimal(&encode_command(command))))
        .collect();
    check_golden("commands.txt", &written.join("\n"));
    for ((name, bytes), (_, command)) in golden(include_str!("commands.txt")).iter().zip(&samples) {
        assert_eq!(decode_command(bytes).as_ref(), Ok(command), "{name}");
    }
}

#[test]
fn changes_have_the_bytes_that_were_written_down() {
    let samples = samples::changes();
    let names: BTreeSet<&str> = samples.iter().map(|change| samples::name_of(change)).collect();
    assert_eq!(names, samples::CHANGE_NAMES.into_iter().collect(), "every change has a sample");
    let written: Vec<String> = samples
        .iter()
        .map(|change| {
            let bytes = encode_changes(std::slice::from_ref(change));
            format!("{} {}", samples::name_of(change), hexadecimal(&bytes))
        })
        .collect();
    check_golden("changes.txt", &written.join("\n"));
    for ((name, bytes), change) in golden(include_str!("changes.txt")).iter().zip(&samples) {
        assert_eq!(decode_changes(bytes).as_deref(), Ok([change.clone()].as_slice()), "{name}");
    }
}

#[test]
fn inventories_are_read_and_written_again_as_they_were_written_down() {
    let inventories = golden(include_str!("inventories.txt"));
    assert_eq!(inventories.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["event", "schedule", "shop"]);
    for (kind, bytes) in inventories {
        let inventory = decode_inventory(&bytes).expect(kind);
        assert_eq!(hexadecimal(&encode_inventory(&inventory)), hexadecimal(&bytes), "{kind}");
    }
}

#[test]
fn damaged_bytes_are_refused_and_never_panic() {
    assert_eq!(decode_command(&[]), Err(DecodeError::Empty));
    assert_eq!(decode_changes(&[]), Err(DecodeError::Empty));
    assert_eq!(decode_inventory(&[]), Err(DecodeError::Empty));
    let (_, bytes) = golden(include_str!("commands.txt")).swap_remove(0);
    let newer = [&[FORMAT_VERSION + 1], &bytes[1..]].concat();
    assert_eq!(decode_command(&newer), Err(DecodeError::UnknownVersion(FORMAT_VERSION + 1)));
    assert_eq!(
        decode_command(&newer).unwrap_err().to_string(),
        "format version 4 is not known; this program reads version 3"
    );
    for (name, bytes) in golden(include_str!("changes.txt")) {
        for length in 1..bytes.len() {
            assert!(decode_changes(&bytes[..length]).is_err(), "{name} cut to {length} bytes");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(decode_changes(&longer), Err(DecodeError::LeftOver(1)), "{name}");
        // A flipped bit may read as another value, which the checksum of the record is for; it must not do worse.
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let sample = decode_changes(&bytes).expect("golden bytes");
            assert_ne!(decode_changes(&flipped), Ok(sample), "{name} with bit {bit} flipped");
        }
    }
}
