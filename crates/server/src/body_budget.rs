//! One budget for the bytes of all request bodies in memory.
//!
//! Each body is bounded, but many clients can leave one unfinished at the same time. Bytes are reserved as a buffer grows, so a length that is
//! only announced costs nothing. A request that finds the budget used up gets 503 with `Retry-After`. Batches of `public` keys have a
//! smaller budget of their own: visitors cannot use up that of the house.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first reservation of a body: most are smaller.
const FIRST_BYTES: usize = 1024;

#[derive(Debug)]
pub(crate) struct BodyBudget {
    bytes_max: usize,
    reserved: AtomicUsize,
}

/// The budget is used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl BodyBudget {
    pub(crate) fn new(bytes_max: usize) -> Arc<BodyBudget> {
        Arc::new(BodyBudget { bytes_max, reserved: AtomicUsize::new(0) })
    }

    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> Result<(), OutOfBudget> {
        let add = |reserved: usize| reserved.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        match self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(()),
            Err(_) => Err(OutOfBudget),
        }
    }
}

/// A buffer whose capacity is reserved.
#[derive(Debug)]
pub(crate) struct BodyBuffer {
    budget: Arc<BodyBudget>,
    reserved_bytes: usize,
    bytes: Vec<u8>,
}

impl BodyBuffer {
    /// Puts a body into this memory. It must be empty.
    pub(crate) fn new(budget: &Arc<BodyBudget>, memory: Vec<u8>) -> Result<BodyBuffer, OutOfBudget> {
        debug_assert!(memory.is_empty(), "of another body");
        budget.reserve(memory.capacity())?;
        Ok(BodyBuffer { budget: Arc::clone(budget), reserved_bytes: memory.capacity(), bytes: memory })
    }

    /// Appends a piece. The buffer never grows beyond `bytes_max`, which the whole body must fit.
    pub(crate) fn append(&mut self, piece: &[u8], bytes_max: usize) -> Result<(), OutOfBudget> {
        let needed = self.bytes.len() + piece.len();
        if needed > self.reserved_bytes {
            let capacity = needed.max((2 * self.reserved_bytes).clamp(FIRST_BYTES, bytes_max));
            self.budget.reserve(capacity - self.reserved_bytes)?;
            self.reserved_bytes = capacity;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The memory, to be used again.
    pub(crate) fn take_memory(&mut self) -> Vec<u8> {
        let mut memory = std::mem::take(&mut self.bytes);
        memory.clear();
        memory
    }
}

impl Drop for BodyBuffer {
    fn drop(&mut self) {
        self.budget.reserved.fetch_sub(self.reserved_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn unfinished_bodies_reserve_no_more_than_the_budget() {
        let budget = BodyBudget::new(256 * MIB);
        let mut unfinished = Vec::new();
        for _ in 0..60 {
            let mut body = BodyBuffer::new(&budget, Vec::new()).unwrap();
            // Almost all of 8 MiB, in pieces as a connection delivers them. The pages are never touched by the test's zeros alone.
            let whole = (0..511).all(|_| body.append(&[0; 16 * 1024], 8 * MIB).is_ok());
            unfinished.push((body, whole));
            assert!(budget.reserved_bytes() <= 256 * MIB);
        }
        assert_eq!(unfinished.iter().filter(|(_, whole)| *whole).count(), 32);
        unfinished.truncate(10);
        assert_eq!(budget.reserved_bytes(), 80 * MIB, "a buffer grows to the limit of a body and not beyond");
        unfinished.clear();
        assert_eq!(budget.reserved_bytes(), 0);
    }

    #[test]
    fn body_that_does_not_fit_keeps_what_it_has_until_it_is_dropped() {
        let budget = BodyBudget::new(4 * 1024);
        let mut body = BodyBuffer::new(&budget, Vec::new()).unwrap();
        assert_eq!(body.append(&[1; 3_000], 64 * 1024), Ok(()));
        assert_eq!(body.append(&[2; 3_000], 64 * 1024), Err(OutOfBudget));
        assert_eq!((body.bytes().len(), budget.reserved_bytes()), (3_000, 3_000));
        let memory = body.take_memory();
        drop(body);
        assert_eq!(budget.reserved_bytes(), 0);
        let again = BodyBuffer::new(&budget, memory).unwrap();
        assert!(budget.reserved_bytes() >= 3_000, "memory that is used again counts");
        assert!(BodyBuffer::new(&budget, Vec::with_capacity(2_000)).is_err());
        drop(again);
    }
}
