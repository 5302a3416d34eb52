//! From the log to this node's engine: the commands of the partitions that it owns, in order, each with its position.
//!
//! A round takes what is there, has it decided, replies, and only then notes how far it came. Everything of a round is answered
//! before the next begins, so that no command overtakes another of its inventory. Whoever else decides the same commands at
//! the same time (an owner that was put aside and does not know yet) is kept from harm by the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use boxoffice_core::command::Command;
use boxoffice_engine::routing::Position;
use boxoffice_engine::{Answer, Engine, InventoryNumber, SubmitError};
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::message::{Header, Message, OwnedHeaders, OwnedMessage};
use rdkafka::producer::FutureRecord;
use rdkafka::{Offset, TopicPartitionList};

use super::StartError;
use super::async_bookings::AsyncBookings;
use super::broker::Member;
use super::log::{Log, committed};
use super::measure;
use super::message::{self, MessageError, NotDone, Reply, ReplyTo, Taken};
use super::router::KafkaRouter;
use crate::postgres::PostgresStore;
use crate::wait::wait;

/// How long it may take to notice that the node stops.
const POLL: Duration = Duration::from_millis(100);
/// Commands that are decided together.
const ROUND_COMMANDS_MAX: usize = 1_024;
/// Between two attempts at what may pass.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Decides what is in the partitions that the group gives to this node.
pub(super) struct Owner {
    member: Member,
    router: Arc<KafkaRouter>,
    engine: Engine,
    store: Arc<PostgresStore>,
    log: Log,
    places: BTreeMap<i32, Place>,
    async_bookings: AsyncBookings,
}

/// How far this node has come in a partition.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Of the log that the partition was last seen to be in.
    epoch: u32,
    /// The offset that is expected.
    next: i64,
    /// When the last command was sent that was taken from it, in ms.
    sent_at: Option<i64>,
}

/// A command that can be decided.
struct Open {
    position: Position,
    reply_to: Option<ReplyTo>,
    inventory: InventoryNumber,
    command: Command,
    /// As it came.
    message: OwnedMessage,
}

/// The node stops, or its engine has, or it is too old: what was not answered is left to others.
struct Stopped;

impl Owner {
    pub(super) fn new(
        member: Member,
        router: Arc<KafkaRouter>,
        engine: Engine,
        store: Arc<PostgresStore>,
        log: Log,
        async_bookings: AsyncBookings,
    ) -> Owner {
        Owner { member, router, engine, store, log, places: BTreeMap::new(), async_bookings }
    }

    /// Decides until the node stops; then leaves the group.
    pub(super) fn run(mut self, stopping: &AtomicBool) {
        if let Err(error) = self.member.subscribe(&[&self.router.topics.commands]) {
            tracing::error!(%error, "this server decides none of Kafka's commands");
            return;
        }
        while !stopping.load(Ordering::Relaxed) {
            let Ok(round) = self.take(stopping) else { return };
            if !round.is_empty() && self.decide(round, stopping).is_err() {
                return;
            }
        }
    }

    /// What is there, at most so many; waits for the first for a moment.
    fn take(&mut self, stopping: &AtomicBool) -> Result<Vec<OwnedMessage>, Stopped> {
        let mut round = Vec::new();
        let mut patience = POLL;
        while round.len() < ROUND_COMMANDS_MAX {
            let polled = self.member.poll(patience).map(|polled| polled.map(|message| message.detach()));
            if let Some(given) = self.member.context().assigned() {
                self.find_log(&given, stopping)?;
                // What was there of these before they were given comes again.
                round.retain(|message: &OwnedMessage| !given.contains(&message.partition()));
            }
            match polled {
                None => break,
                Some(Ok(message)) => round.push(message),
                Some(Err(error)) => tracing::debug!(%error, "Kafka's commands cannot be read"),
            }
            patience = Duration::ZERO;
        }
        Ok(round)
    }

    /// Whoever is given partitions makes sure that the log is still the one it knows.
    fn find_log(&mut self, given: &[i32], stopping: &AtomicBool) -> Result<(), Stopped> {
        let topics = &self.router.topics;
        let look = || -> Result<_, StartError> {
            let log = Log::find(&self.store, &self.member, topics)?;
            let next = |&partition: &i32| {
                let next = committed(&self.member, &topics.commands, partition)?.unwrap_or(0);
                Ok((partition, Place { epoch: log.epoch, next, sent_at: None }))
            };
            Ok((log, given.iter().map(next).collect::<Result<Vec<_>, StartError>>()?))
        };
        loop {
            match look() {
                Ok((log, places)) => {
                    self.places.extend(places);
                    self.follow(log);
                    return Ok(());
                }
                Err(error) => tracing::warn!(%error, "which log Kafka's commands are in is not known yet"),
            }
            pause(stopping)?;
        }
    }

    fn follow(&mut self, log: Log) {
        self.log = log;
        self.router.follow(log);
        // Nothing came from these in the log before. Others are in it until they are seen to begin anew.
        self.places.values_mut().filter(|place| place.next == 0).for_each(|place| place.epoch = log.epoch);
    }

    /// Where a message stands. Offsets that begin anew are those of a topic that was made anew: another log.
    fn position(&mut self, message: &OwnedMessage, stopping: &AtomicBool) -> Result<Position, Stopped> {
        let (partition, offset) = (message.partition(), message.offset());
        let unknown = Place { epoch: self.log.epoch, next: offset, sent_at: None };
        let mut place = *self.places.entry(partition).or_insert(unknown);
        if offset < place.next {
            tracing::warn!(partition, offset, expected = place.next, "a partition begins anew");
            self.begin_anew(message, place, stopping)?;
            place.epoch = self.log.epoch;
        } else if offset > place.next && place.next > 0 {
            tracing::error!(
                partition,
                from = place.next,
                to = offset,
                "commands are gone from Kafka undecided"
            );
        }
        place.next = offset + 1;
        place.sent_at = message.timestamp().to_millis().or(place.sent_at);
        self.places.insert(partition, place);
        Ok(Position { epoch: place.epoch, partition, offset })
    }

    /// Goes on in the log after the one that a partition was in. If it may be the same one, which has lost its end, nothing is
    /// decided until somebody has looked at it.
    fn begin_anew(
        &mut self,
        message: &OwnedMessage,
        place: Place,
        stopping: &AtomicBool,
    ) -> Result<(), Stopped> {
        let topics = &self.router.topics;
        let (partition, end) = (message.partition(), message.offset());
        let look = || {
            // What is in a new topic was sent after what was taken from the old one.
            let is_new = match place.sent_at.zip(message.timestamp().to_millis()) {
                Some((before, now)) => before < now,
                None => committed(&self.member, &topics.commands, partition)?.is_none(),
            };
            if !is_new {
                let (topic, group, decided) = (topics.commands.clone(), topics.group.clone(), place.next - 1);
                return Err(StartError::Lost { topic, partition, end, decided, group });
            }
            if self.log.epoch > place.epoch {
                return Ok(self.log);
            }
            self.log.next(&self.store, &self.member, topics)
        };
        let log = loop {
            match look() {
                Ok(log) => break log,
                Err(error) => tracing::error!(%error, "which log Kafka's commands are in is not known"),
            }
            pause(stopping)?;
        };
        // The group is where the new one begins, whatever was noted of the old one.
        let commands = &topics.commands;
        let noted = self.member.store_offset(commands, partition, end - 1).and_then(|()| {
            let mut begin = TopicPartitionList::new();
            begin.add_partition_offset(commands, partition, Offset::Offset(end))?;
            self.member.commit(&begin, CommitMode::Sync)
        });
        if let Err(error) = noted {
            tracing::warn!(%error, partition, "where a partition begins anew is not noted");
        }
        self.follow(log);
        Ok(())
    }

    /// Has commands decided, replies, and notes how far this came.
    fn decide(&mut self, round: Vec<OwnedMessage>, stopping: &AtomicBool) -> Result<(), Stopped> {
        let mut ends: BTreeMap<i32, i64> = BTreeMap::new();
        let mut open = Vec::with_capacity(round.len());
        let mut is_too_old = false;
        for message in round {
            let (partition, offset) = (message.partition(), message.offset());
            let taken = message::decode_command(message.payload().unwrap_or_default());
            if let Err(error @ MessageError::Newer(_)) = &taken {
                tracing::error!(
                    %error,
                    partition,
                    offset,
                    "this server decides none of Kafka's commands any more: start the newer program in its place"
                );
                is_too_old = true;
                break;
            }
            ends.insert(partition, offset);
            let position = self.position(&message, stopping)?;
            match taken {
                Ok(Taken { inventory, reply_to, command }) => {
                    open.push(Open { position, reply_to, inventory, command, message });
                }
                Err(error) => self.put_aside(&message, &error.to_string(), stopping)?,
            }
        }
        while !open.is_empty() {
            open = self.decide_open(open, stopping)?;
            if !open.is_empty() {
                pause(stopping)?;
            }
        }
        for (partition, offset) in ends {
            // Somebody else may have the partition by now, and finds out where it is by itself.
            if let Err(error) = self.member.store_offset(&self.router.topics.commands, partition, offset) {
                tracing::debug!(%error, partition, "how far it came is not noted");
            }
        }
        if is_too_old {
            // It was taken for good, perhaps answered 202: whoever can read it decides it, once this one has left the group.
            self.router.health.give_up();
            return Err(Stopped);
        }
        Ok(())
    }

    /// Returns the commands that were not taken and have to be tried again.
    fn decide_open(&self, open: Vec<Open>, stopping: &AtomicBool) -> Result<Vec<Open>, Stopped> {
        let numbers: Vec<InventoryNumber> = open.iter().map(|open| open.inventory).collect();
        if let Err(error) = self.engine.look_for(&numbers) {
            tracing::warn!(%error, "new inventories cannot be looked for");
            return Ok(open);
        }
        let positions: Vec<Position> = open.iter().map(|open| open.position).collect();
        let commands = open.iter().map(|open| (open.inventory, open.command.clone())).collect();
        let answers = wait(self.engine.submit_from_log(commands, &positions));
        let mut again = Vec::new();
        for (open, answer) in open.into_iter().zip(answers) {
            let not_done = match answer {
                Ok(answer) => {
                    self.tell(&open, Ok(answer));
                    continue;
                }
                Err(SubmitError::AlreadyDecided) => {
                    // Whoever decided it has replied.
                    measure::redelivered();
                    continue;
                }
                Err(SubmitError::Overloaded { .. } | SubmitError::Unavailable { .. }) => {
                    // None of its inventory that came after it was taken either.
                    again.push(open);
                    continue;
                }
                Err(SubmitError::NoSuchInventory) => NotDone::NoSuchInventory,
                Err(SubmitError::Damaged(problem)) => NotDone::Damaged(problem.to_string()),
                Err(SubmitError::OutcomeUnknown | SubmitError::Stopped) => return Err(Stopped),
            };
            self.put_aside(&open.message, &not_done.to_string(), stopping)?;
            self.tell(&open, Err(not_done));
        }
        Ok(again)
    }

    /// Replies to the caller, or counts what became of a command whose caller does not wait.
    fn tell(&self, open: &Open, result: Result<Answer, NotDone>) {
        match open.reply_to {
            Some(to) => self.reply(to, result),
            None => {
                self.async_bookings.note(open.inventory, &open.command, open.message.headers(), result.ok());
            }
        }
    }

    /// A reply that is lost makes an outcome unknown, and nothing worse.
    fn reply(&self, to: ReplyTo, result: Result<Answer, NotDone>) {
        let reply = Reply::new(to, result);
        if to.node == self.router.node.id {
            self.router.waiting.answer(reply);
            return;
        }
        let payload = reply.encode();
        let topic = &self.router.topics.replies;
        let record = FutureRecord::<[u8], [u8]>::to(topic).partition(to.partition).payload(&payload);
        if let Err((error, _)) = self.router.producer.send_result(record) {
            tracing::warn!(%error, "a reply is lost");
        }
    }

    /// Keeps a command that cannot be decided where somebody can look at it, so that the others go on.
    fn put_aside(&self, message: &OwnedMessage, reason: &str, stopping: &AtomicBool) -> Result<(), Stopped> {
        tracing::error!(partition = message.partition(), offset = message.offset(), reason, "a dead letter");
        let (partition, offset) = (message.partition().to_string(), message.offset().to_string());
        let headers =
            [("reason", reason), ("topic", message.topic()), ("partition", &partition), ("offset", &offset)];
        loop {
            let headers = headers.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
                headers.insert(Header { key, value: Some(*value) })
            });
            let record = FutureRecord::to(&self.router.topics.dead_letters)
                .key(message.key().unwrap_or_default())
                .payload(message.payload().unwrap_or_default())
                .headers(headers);
            let sent = self.router.producer.send_result(record).map_err(|(error, _)| error);
            let kept = sent.map(wait).and_then(|delivery| match delivery {
                Ok(Ok(_)) => Ok(()),
                Ok(Err((error, _))) => Err(error),
                Err(_) => Err(rdkafka::error::KafkaError::Canceled),
            });
            match kept {
                Ok(()) => {
                    measure::dead_letter();
                    return Ok(());
                }
                Err(error) => tracing::warn!(%error, "a dead letter cannot be kept yet"),
            }
            pause(stopping)?;
        }
    }
}

/// Waits a little, unless the node stops.
fn pause(stopping: &AtomicBool) -> Result<(), Stopped> {
    if stopping.load(Ordering::Relaxed) {
        return Err(Stopped);
    }
    std::thread::sleep(RETRY_AFTER);
    Ok(())
}
