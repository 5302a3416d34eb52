//! The bytes of commands and replies: a version byte, then the postcard wire format. A command ends with the core's own bytes of
//! it.

use boxoffice_core::codec;
use boxoffice_core::command::Command;
use boxoffice_core::outcome::Outcome;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::{Answer, InventoryNumber, SubmitError};
use serde::{Deserialize, Serialize};

const VERSION: u8 = 3;
/// Versions stay below this: no text begins with such a byte, and no message of protobuf, whose first field is 8 or more, so that what
/// somebody else wrote into the topic is not taken for a command of a newer program.
const VERSIONS_END: u8 = 8;

/// Where a reply goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplyTo {
    pub(super) node: u128,
    /// Of the replies, where that node listens.
    pub(super) partition: i32,
    /// Tells it from the node's other commands.
    pub(super) correlation: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Heading {
    inventory: u32,
    /// `None` if nobody waits.
    reply_to: Option<ReplyTo>,
}

/// A command as it comes out of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) inventory: InventoryNumber,
    pub(super) reply_to: Option<ReplyTo>,
    pub(super) command: Command,
}

/// What became of a command.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) node: u128,
    pub(super) correlation: u64,
    result: Result<Told, NotDone>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    outcome: Outcome,
    sequence: u64,
    decided_at: Timestamp,
    replayed: bool,
}

/// Why a command was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(super) enum NotDone {
    #[error("there is no such inventory")]
    NoSuchInventory,
    #[error("{0}")]
    Damaged(String),
}

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub(super) enum MessageError {
    #[error("no bytes")]
    Empty,
    #[error("message version {0} is of a newer program; this one reads version {VERSION}")]
    Newer(u8),
    #[error("message version {0} is not known; this program reads version {VERSION}")]
    UnknownVersion(u8),
    #[error("the message is damaged: {0}")]
    Damaged(#[from] postcard::Error),
    #[error("the command is damaged: {0}")]
    Command(codec::DecodeError),
}

pub(super) fn encode_command(
    inventory: InventoryNumber,
    reply_to: Option<ReplyTo>,
    command: &Command,
) -> Vec<u8> {
    let mut bytes = encode(&Heading { inventory: inventory.0, reply_to });
    bytes.extend(codec::encode_command(command));
    bytes
}

pub(super) fn decode_command(bytes: &[u8]) -> Result<Taken, MessageError> {
    let (heading, rest): (Heading, &[u8]) = postcard::take_from_bytes(body(bytes)?)?;
    let command = codec::decode_command(rest).map_err(|error| match error {
        codec::DecodeError::UnknownVersion(version)
            if (codec::FORMAT_VERSION..VERSIONS_END).contains(&version) =>
        {
            MessageError::Newer(version)
        }
        error => MessageError::Command(error),
    })?;
    Ok(Taken { inventory: InventoryNumber(heading.inventory), reply_to: heading.reply_to, command })
}

impl Reply {
    pub(super) fn new(to: ReplyTo, result: Result<Answer, NotDone>) -> Reply {
        let result = result.map(|answer| {
            let Answer { outcome, sequence, decided_at, replayed } = answer;
            Told { outcome, sequence, decided_at, replayed }
        });
        Reply { node: to.node, correlation: to.correlation, result }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Reply, MessageError> {
        Ok(postcard::from_bytes(body(bytes)?)?)
    }

    /// What whoever waits is told.
    pub(super) fn into_result(self) -> Result<Answer, SubmitError> {
        match self.result {
            Ok(Told { outcome, sequence, decided_at, replayed }) => {
                Ok(Answer { outcome, sequence, decided_at, replayed })
            }
            Err(reason) => {
                tracing::warn!(%reason, "a command of this server was put aside");
                // How far the log was read is noted a moment later: until then another owner may be given the command and decide it.
                Err(SubmitError::OutcomeUnknown)
            }
        }
    }
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(value, vec![VERSION]).expect("no type without a length, no full buffer")
}

fn body(bytes: &[u8]) -> Result<&[u8], MessageError> {
    match bytes.split_first() {
        None => Err(MessageError::Empty),
        Some((&VERSION, body)) => Ok(body),
        Some((&version, _)) if (VERSION..VERSIONS_END).contains(&version) => {
            Err(MessageError::Newer(version))
        }
        Some((&version, _)) => Err(MessageError::UnknownVersion(version)),
    }
}

#[cfg(test)]
mod tests {
    use boxoffice_core::command::Action;
    use boxoffice_core::refusal::Refusal;

    use super::*;

    const TO: ReplyTo = ReplyTo { node: 7, partition: 3, correlation: 9 };

    #[test]
    fn messages_are_read_as_they_were_written() {
        let command = Command::of(Action::Expire);
        let bytes = encode_command(InventoryNumber(5), Some(TO), &command);
        let taken = decode_command(&bytes).unwrap();
        assert_eq!(taken, Taken { inventory: InventoryNumber(5), reply_to: Some(TO), command });
        let answer = Answer {
            outcome: Outcome::Refused(Box::new(Refusal::BookingIdTaken)),
            sequence: 4,
            decided_at: Timestamp(77),
            replayed: true,
        };
        for result in [Ok(answer), Err(NotDone::NoSuchInventory)] {
            let reply = Reply::new(TO, result.clone());
            let read = Reply::decode(&reply.encode()).unwrap();
            assert_eq!(read, reply);
            assert_eq!(read.into_result().ok(), result.ok());
        }
    }

    #[test]
    fn of_what_was_put_aside_nobody_knows_whether_it_will_be_done() {
        for reason in [NotDone::NoSuchInventory, NotDone::Damaged("a record is damaged".to_owned())] {
            assert_eq!(Reply::new(TO, Err(reason)).into_result(), Err(SubmitError::OutcomeUnknown));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let bytes = encode_command(InventoryNumber(5), None, &Command::of(Action::Expire));
        for length in 0..bytes.len() {
            assert!(decode_command(&bytes[..length]).is_err(), "{length} bytes");
        }
        for rubbish in [&b"rubbish"[..], b"\n{}", b"\t", &[0x08, 3], &[0x0a, 3]] {
            assert!(matches!(decode_command(rubbish), Err(MessageError::UnknownVersion(_))), "{rubbish:?}");
        }
    }

    #[test]
    fn what_a_newer_program_wrote_is_told_from_rubbish() {
        assert!(matches!(decode_command(&[VERSION + 1, 0]), Err(MessageError::Newer(_))));
        let command = Command::of(Action::Expire);
        let mut bytes = encode_command(InventoryNumber(5), None, &command);
        let format_version = bytes.len() - codec::encode_command(&command).len();
        bytes[format_version] += 1;
        assert!(matches!(decode_command(&bytes), Err(MessageError::Newer(_))));
    }
}
