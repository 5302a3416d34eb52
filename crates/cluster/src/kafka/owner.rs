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
use rdkafka::consumer::Consumer;
use rdkafka::message::{Header, Message, OwnedHeaders, OwnedMessage};
use rdkafka::producer::FutureRecord;

use super::broker::Member;
use super::log::Log;
use super::measure;
use super::message::{self, NotDone, Reply, ReplyTo, Taken};
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

/// The node stops, or its engine has: what was not answered is left to others.
struct Stopped;

impl Owner {
    pub(super) fn new(
        member: Member,
        router: Arc<KafkaRouter>,
        engine: Engine,
        store: Arc<PostgresStore>,
        log: Log,
    ) -> Owner {
        Owner { member, router, engine, store, log }
    }

    /// Decides until the node stops; then leaves the group.
    pub(super) fn run(mut self, stopping: &AtomicBool) {
        if let Err(error) = self.member.subscribe(&[&self.router.topics.commands]) {
            tracing::error!(%error, "this server decides none of Kafka's commands");
            return;
        }
        while !stopping.load(Ordering::Relaxed) {
            let round = self.take();
            if self.member.context().was_assigned() && self.find_log(stopping).is_err() {
                return;
            }
            if !round.is_empty() && self.decide(round, stopping).is_err() {
                return;
            }
        }
    }

    /// What is there, at most so many; waits for the first for a moment.
    fn take(&self) -> Vec<OwnedMessage> {
        let mut round = Vec::new();
        let mut patience = POLL;
        while round.len() < ROUND_COMMANDS_MAX {
            match self.member.poll(patience) {
                None => break,
                Some(Ok(message)) => round.push(message.detach()),
                Some(Err(error)) => tracing::debug!(%error, "Kafka's commands cannot be read"),
            }
            patience = Duration::ZERO;
        }
        round
    }

    /// Whoever is given partitions makes sure that the log is still the one it knows.
    fn find_log(&mut self, stopping: &AtomicBool) -> Result<(), Stopped> {
        loop {
            match Log::find(&self.store, &self.member, &self.router.topics) {
                Ok(log) => {
                    self.log = log;
                    self.router.follow(log);
                    return Ok(());
                }
                Err(error) => tracing::warn!(%error, "which log Kafka's commands are in is not known yet"),
            }
            pause(stopping)?;
        }
    }

    /// Has commands decided, replies, and notes how far this came.
    fn decide(&self, round: Vec<OwnedMessage>, stopping: &AtomicBool) -> Result<(), Stopped> {
        let mut ends: BTreeMap<i32, i64> = BTreeMap::new();
        let mut open = Vec::with_capacity(round.len());
        for message in round {
            let (partition, offset) = (message.partition(), message.offset());
            ends.insert(partition, offset);
            match message::decode_command(message.payload().unwrap_or_default()) {
                Ok(Taken { inventory, reply_to, command }) => {
                    let position = Position { epoch: self.log.epoch, partition, offset };
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
                    self.reply(open.reply_to, Ok(answer));
                    continue;
                }
                Err(SubmitError::AlreadyDecided) => {
                    // Whoever decided it has replied.
                    measure::redelivered();
                    continue;
                }
                Err(SubmitError::Overloaded { .. } | SubmitError::Unavailable { .. }) => {
                    again.push(open);
                    continue;
                }
                Err(SubmitError::NoSuchInventory) => NotDone::NoSuchInventory,
                Err(SubmitError::Damaged(problem)) => NotDone::Damaged(problem.to_string()),
                Err(SubmitError::OutcomeUnknown | SubmitError::Stopped) => return Err(Stopped),
            };
            self.put_aside(&open.message, &not_done.to_string(), stopping)?;
            self.reply(open.reply_to, Err(not_done));
        }
        Ok(again)
    }

    /// Tells whoever waits. A reply that is lost makes an outcome unknown, and nothing worse.
    fn reply(&self, to: Option<ReplyTo>, result: Result<Answer, NotDone>) {
        let Some(to) = to else { return };
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
