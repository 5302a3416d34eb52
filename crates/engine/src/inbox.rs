//! A bounded queue that is emptied in one go, with a second lane for messages that must not be refused.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// Many put in, one takes all.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct State<T> {
    offered: Vec<T>,
    told: Vec<T>,
    closed: bool,
}

/// Why something was not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejected<T> {
    /// As much as may wait is waiting.
    Full(T),
    /// No more is taken.
    Closed(T),
}

impl<T> Inbox<T> {
    pub(crate) fn new(limit: usize) -> Inbox<T> {
        let state = State { offered: Vec::new(), told: Vec::new(), closed: false };
        Inbox { state: Mutex::new(state), wake: Condvar::new(), limit }
    }

    /// Puts something in if there is room.
    pub(crate) fn offer(&self, item: T) -> Result<(), Rejected<T>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Rejected::Closed(item));
        }
        if state.offered.len() >= self.limit {
            return Err(Rejected::Full(item));
        }
        state.offered.push(item);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Puts many in, all or none, if there is room.
    pub(crate) fn offer_all(&self, items: Vec<T>) -> Result<(), Rejected<Vec<T>>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Rejected::Closed(items));
        }
        if state.offered.len() + items.len() > self.limit {
            return Err(Rejected::Full(items));
        }
        state.offered.extend(items);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Puts something in whether there is room or not: for messages whose number is bounded elsewhere.
    /// Nothing may wait for an answer to one: the taker may have ended.
    pub(crate) fn tell(&self, item: T) {
        self.state.lock().told.push(item);
        self.wake.notify_one();
    }

    /// Moves what was told, and what was offered if that is wanted, into `taken`, which must be empty. Waits until there
    /// is something, the time has come, or the inbox is closed.
    pub(crate) fn take(&self, taken: &mut Vec<T>, offers_wanted: bool, until: Option<Instant>) {
        debug_assert!(taken.is_empty());
        let mut state = self.state.lock();
        while state.told.is_empty() && !(offers_wanted && (!state.offered.is_empty() || state.closed)) {
            match until {
                Some(until) => {
                    if self.wake.wait_until(&mut state, until).timed_out() {
                        break;
                    }
                }
                None => self.wake.wait(&mut state),
            }
        }
        std::mem::swap(&mut state.told, taken);
        if offers_wanted {
            taken.append(&mut state.offered);
        }
    }

    /// Waits for one message, first of those that were told; `None` once the inbox is closed and empty.
    pub(crate) fn take_one(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if !state.told.is_empty() {
                return Some(state.told.remove(0));
            }
            if !state.offered.is_empty() {
                return Some(state.offered.remove(0));
            }
            if state.closed {
                return None;
            }
            self.wake.wait(&mut state);
        }
    }

    /// Takes no more offers. What is there can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_all();
    }

    /// How many offers are waiting.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().offered.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(inbox: &Inbox<u32>, offers_wanted: bool) -> Vec<u32> {
        let mut taken = Vec::new();
        inbox.take(&mut taken, offers_wanted, Some(Instant::now()));
        taken
    }

    #[test]
    fn a_full_inbox_refuses_offers_and_takes_what_it_is_told() {
        let inbox = Inbox::new(2);
        assert_eq!(inbox.offer(1), Ok(()));
        assert_eq!(inbox.offer_all(vec![2, 3]), Err(Rejected::Full(vec![2, 3])), "all or none");
        assert_eq!(inbox.offer(2), Ok(()));
        assert_eq!(inbox.offer(3), Err(Rejected::Full(3)));
        inbox.tell(4);
        assert_eq!(taken(&inbox, false), [4], "what was offered can wait");
        assert_eq!(taken(&inbox, true), [1, 2]);
        assert_eq!(inbox.offer(3), Ok(()), "there is room again");
    }

    #[test]
    fn a_closed_inbox_takes_no_offers_and_keeps_what_it_has() {
        let inbox = Inbox::new(2);
        assert_eq!(inbox.offer(1), Ok(()));
        inbox.close();
        assert_eq!(inbox.offer(2), Err(Rejected::Closed(2)));
        assert_eq!(inbox.offer_all(vec![2]), Err(Rejected::Closed(vec![2])));
        inbox.tell(3);
        assert_eq!(inbox.take_one(), Some(3));
        assert_eq!(inbox.take_one(), Some(1));
        assert_eq!(inbox.take_one(), None);
    }
}
