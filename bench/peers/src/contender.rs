//! Who is compared, what each is called, and what it promises.

use std::path::Path;

use crate::designs::boxoffice::{Batches, Boxoffice, Reach, Single};
use crate::designs::redis_lua::RedisLua;
use crate::designs::redis_script::RedisScript;
use crate::designs::redlock::{Locked, Redlock};
use crate::designs::slot_row::SlotRow;
use crate::drive::{Sample, Span, drive};
use crate::error::Result;
use crate::redis_server::Durability;

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    RedisLuaEverySecond,
    RedisLuaAlways,
    RedisScriptEverySecond,
    RedisScriptAlways,
    SlotRow,
    RedlockEvent,
    RedlockSeat,
    BoxofficeSingle,
    BoxofficeShared,
    BoxofficeBatch,
}

use Contender::{
    BoxofficeBatch, BoxofficeShared, BoxofficeSingle, RedisLuaAlways, RedisLuaEverySecond, RedisScriptAlways,
    RedisScriptEverySecond, RedlockEvent, RedlockSeat, SlotRow as SlotRowLocked,
};

impl Contender {
    /// In the order of the table, and in which they are measured in each round: those that are close to each other one after the other,
    /// because the machine is not the same from one minute to the next.
    pub(crate) const ALL: [Contender; 10] = [
        RedlockSeat,
        RedlockEvent,
        SlotRowLocked,
        RedisScriptEverySecond,
        RedisScriptAlways,
        RedisLuaEverySecond,
        RedisLuaAlways,
        BoxofficeShared,
        BoxofficeSingle,
        BoxofficeBatch,
    ];

    pub(crate) const OURS: [Contender; 3] = [BoxofficeShared, BoxofficeSingle, BoxofficeBatch];

    pub(crate) fn name(self) -> &'static str {
        match self {
            RedisLuaEverySecond => "(a)  Redis, Lua find + MULTI/EXEC, everysec",
            RedisLuaAlways => "(a)  Redis, Lua find + MULTI/EXEC, always",
            RedisScriptEverySecond => "(a') Redis, all in one script, everysec",
            RedisScriptAlways => "(a') Redis, all in one script, always",
            SlotRowLocked => "(b)  PostgreSQL, SELECT .. FOR UPDATE",
            RedlockEvent => "(c)  Redlock + PostgreSQL, first free seat",
            RedlockSeat => "(c') Redlock + PostgreSQL, seats named",
            BoxofficeSingle => "(d)  Boxoffice, POST /v1/bookings",
            BoxofficeShared => "(d') Boxoffice, on shared connections",
            BoxofficeBatch => "(d)  Boxoffice, POST /v1/batch of 5,000",
        }
    }

    pub(crate) fn after_a_power_cut(self) -> &'static str {
        match self {
            RedisLuaEverySecond | RedisScriptEverySecond => {
                "up to two seconds of acknowledged bookings are gone; their seats are sold again"
            }
            RedisLuaAlways => {
                "all that was acknowledged is there; safe from selling twice with one consumer only"
            }
            RedisScriptAlways => "all that was acknowledged is there, once",
            SlotRowLocked => "all that was acknowledged is there, once (places are counted, not seats)",
            RedlockEvent | RedlockSeat => {
                "all that was acknowledged is there, once; keys caught between two commits answer 409, then \"failed\""
            }
            BoxofficeSingle | BoxofficeShared => {
                "all that was acknowledged is there, once; the same key gets the same answer"
            }
            BoxofficeBatch => "the same, for each booking of a batch",
        }
    }

    /// How many clients are tried; each contender is measured with what suits it best.
    pub(crate) fn clients(self) -> &'static [usize] {
        match self {
            BoxofficeBatch => &[1, 2, 4],
            // More gain nothing, and may take minutes to end: votes are split when many want one lock.
            RedlockEvent => &[1, 4, 16],
            // Each has a connection of its own, and PostgreSQL a process for each.
            SlotRowLocked | RedlockSeat => &[1, 4, 16, 64, 256],
            RedisLuaEverySecond
            | RedisLuaAlways
            | RedisScriptEverySecond
            | RedisScriptAlways
            | BoxofficeSingle
            | BoxofficeShared => &[1, 4, 16, 64, 256, 1_024],
        }
    }

    /// Starts its servers, drives them, checks what they did, and stops them.
    pub(crate) async fn measure(self, boxoffice: &Path, clients: usize, span: Span) -> Result<Sample> {
        match self {
            RedisLuaEverySecond => {
                drive(RedisLua::start(Durability::EverySecond).await?, clients, span).await
            }
            RedisLuaAlways => drive(RedisLua::start(Durability::Always).await?, clients, span).await,
            RedisScriptEverySecond => {
                drive(RedisScript::start(Durability::EverySecond).await?, clients, span).await
            }
            RedisScriptAlways => drive(RedisScript::start(Durability::Always).await?, clients, span).await,
            SlotRowLocked => drive(SlotRow::start().await?, clients, span).await,
            RedlockEvent => drive(Redlock::start(Locked::Event).await?, clients, span).await,
            RedlockSeat => drive(Redlock::start(Locked::Seat).await?, clients, span).await,
            BoxofficeSingle => {
                drive(Boxoffice::start(boxoffice, Reach::Own, Single::new).await?, clients, span).await
            }
            BoxofficeShared => {
                drive(Boxoffice::start(boxoffice, Reach::Shared, Single::new).await?, clients, span).await
            }
            BoxofficeBatch => {
                drive(Boxoffice::start(boxoffice, Reach::Own, Batches::maker()).await?, clients, span).await
            }
        }
    }
}
