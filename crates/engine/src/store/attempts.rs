//! The table of attempts in the embedded store. It is not truth: a store without it has had no attempts, and a row that is
//! damaged is left out.

use redb::{
    ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, TableError, WriteTransaction,
};

use super::tables::ReadError;
use crate::attempt::{Attempt, AttemptFilter, AttemptId, surplus};
use crate::record;

const ATTEMPTS: TableDefinition<u64, &[u8]> = TableDefinition::new("attempts");

pub(super) fn keep(transaction: &WriteTransaction, attempts: &[Attempt]) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(ATTEMPTS)?;
    for attempt in attempts {
        table.insert(attempt.id.0, record::seal(attempt).as_slice())?;
    }
    Ok(())
}

/// Removes at most so many of those that are too old or too many; says whether there may be more.
pub(super) fn prune(
    transaction: &WriteTransaction,
    oldest: AttemptId,
    rows_max: usize,
) -> Result<bool, redb::Error> {
    let mut table = transaction.open_table(ATTEMPTS)?;
    for _ in 0..rows_max {
        let is_old = table.first()?.is_some_and(|(id, _)| id.value() < oldest.0);
        if !is_old && surplus(table.len()?) == 0 {
            return Ok(false);
        }
        table.pop_first()?;
    }
    Ok(true)
}

/// The newest first.
pub(super) fn find(
    transaction: &ReadTransaction,
    filter: &AttemptFilter,
    before: AttemptId,
    limit: usize,
) -> Result<Vec<Attempt>, ReadError> {
    let table = match transaction.open_table(ATTEMPTS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for row in table.range(..before.0)?.rev() {
        if found.len() == limit {
            break;
        }
        let (_, bytes) = row?;
        found.extend(record::unseal::<Attempt>(bytes.value()).ok().filter(|attempt| filter.matches(attempt)));
    }
    Ok(found)
}
