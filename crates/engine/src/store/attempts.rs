//! The table of attempts in the embedded store. It is not truth: a store without it has had no attempts, and a row that is
//! damaged is left out.

use redb::{
    ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, TableError, WriteTransaction,
};

use super::tables::ReadError;
use crate::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage, surplus};
use crate::limits::ATTEMPTS_LOOKED_AT_MAX;
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

pub(super) fn find(
    transaction: &ReadTransaction,
    filter: &AttemptFilter,
    before: AttemptId,
    limit: usize,
) -> Result<AttemptPage, ReadError> {
    let table = match transaction.open_table(ATTEMPTS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(AttemptPage::default()),
        Err(error) => return Err(error.into()),
    };
    let mut page = AttemptPage::default();
    for (row, looked_at) in table.range(..before.0)?.rev().zip(1..) {
        if page.found.len() == limit {
            break;
        }
        let (id, bytes) = row?;
        let attempt = record::unseal::<Attempt>(bytes.value()).ok();
        page.found.extend(attempt.filter(|attempt| filter.matches(attempt)));
        if looked_at == ATTEMPTS_LOOKED_AT_MAX {
            page.searched_to = Some(AttemptId(id.value()));
            break;
        }
    }
    Ok(page)
}
