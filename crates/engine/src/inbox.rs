//! A bounded queue that is emptied in one go, with a second lane for messages that must not be refused.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Many put in, one takes all: offers `O`, which are bounded and may be refused, and news `N`, which are not.
#[derive(Debug)]
pub(crate) struct Inbox<O, N> {
    state: Mutex<State<O, N>>,
    wake: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct State<O, N> {
    offered: VecDeque<O>,
    told: VecDeque<N>,
    /// The taker is woken when so many offers are there.
    wake_at: usize,
    closed: bool,
    ended: bool,
}

/// Why something was not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejected<T> {
    /// As much as may wait is waiting.
    Full(T),
    /// No more is taken.
    Closed(T),
}

impl<O, N> Inbox<O, N> {
    pub(crate) fn new(limit: usize) -> Inbox<O, N> {
        let state = State {
            offered: VecDeque::new(),
            told: VecDeque::new(),
            wake_at: 1,
            closed: false,
            ended: false,
        };
        Inbox { state: Mutex::new(state), wake: Condvar::new(), limit }
    }

    /// Puts something in if there is room.
    pub(crate) fn offer(&self, item: O) -> Result<(), Rejected<O>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Rejected::Closed(item));
        }
        if state.offered.len() >= self.limit {
            return Err(Rejected::Full(item));
        }
        state.offered.push_back(item);
        self.wake_for_offers(state);
        Ok(())
    }

    /// Puts many in, all or none, if there is room.
    pub(crate) fn offer_all(&self, items: Vec<O>) -> Result<(), Rejected<Vec<O>>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Rejected::Closed(items));
        }
        if state.offered.len() + items.len() > self.limit {
            return Err(Rejected::Full(items));
        }
        state.offered.extend(items);
        self.wake_for_offers(state);
        Ok(())
    }

    fn wake_for_offers(&self, state: MutexGuard<'_, State<O, N>>) {
        let enough = state.offered.len() >= state.wake_at;
        drop(state);
        if enough {
            self.wake.notify_one();
        }
    }

    /// Puts something in whether there is room or not: for messages whose number is bounded elsewhere.
    /// Gives it back if the taker has ended.
    pub(crate) fn tell(&self, item: N) -> Result<(), N> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(item);
        }
        state.told.push_back(item);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Moves what was told into `told`, and what was offered into `offered` if that is empty and wanted. Waits until something
    /// was told, so many offers are there as are wanted at least, the time has come, or the inbox is closed.
    pub(crate) fn take(
        &self,
        told: &mut Vec<N>,
        offered: &mut VecDeque<O>,
        offers_wanted: Option<usize>,
        until: Option<Instant>,
    ) {
        let mut state = self.state.lock();
        state.wake_at = offers_wanted.unwrap_or(usize::MAX);
        while state.told.is_empty()
            && state.offered.len() < state.wake_at
            && !(offers_wanted.is_some() && state.closed)
        {
            match until {
                Some(until) => {
                    if self.wake.wait_until(&mut state, until).timed_out() {
                        break;
                    }
                }
                None => self.wake.wait(&mut state),
            }
        }
        told.extend(state.told.drain(..));
        if offers_wanted.is_some() {
            debug_assert!(offered.is_empty());
            std::mem::swap(&mut state.offered, offered);
        }
    }

    /// Takes no more offers. What is there can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_all();
    }

    /// The taker has ended: nothing more is taken in, and what is left is given out, for somebody to answer.
    pub(crate) fn end(&self) -> (VecDeque<O>, VecDeque<N>) {
        let mut state = self.state.lock();
        (state.closed, state.ended) = (true, true);
        (std::mem::take(&mut state.offered), std::mem::take(&mut state.told))
    }

    /// Whether no more offers are taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// How many offers are waiting.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().offered.len()
    }
}

impl<T> Inbox<T, T> {
    /// Waits for one message, first of those that were told; `None` once the inbox is closed and empty.
    pub(crate) fn take_one(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(item) = state.told.pop_front() {
                return Some(item);
            }
            if let Some(item) = state.offered.pop_front() {
                return Some(item);
            }
            if state.closed {
                return None;
            }
            self.wake.wait(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(inbox: &Inbox<u32, u32>, offers_wanted: Option<usize>) -> Vec<u32> {
        let (mut told, mut offered) = (Vec::new(), VecDeque::new());
        inbox.take(&mut told, &mut offered, offers_wanted, Some(Instant::now()));
        told.extend(offered);
        told
    }

    #[test]
    fn a_full_inbox_refuses_offers_and_takes_what_it_is_told() {
        let inbox = Inbox::new(2);
        assert_eq!(inbox.offer(1), Ok(()));
        assert_eq!(inbox.offer_all(vec![2, 3]), Err(Rejected::Full(vec![2, 3])), "all or none");
        assert_eq!(inbox.offer(2), Ok(()));
        assert_eq!(inbox.offer(3), Err(Rejected::Full(3)));
        assert_eq!(inbox.tell(4), Ok(()));
        assert_eq!(taken(&inbox, None), [4], "what was offered can wait");
        assert_eq!(taken(&inbox, Some(1)), [1, 2]);
        assert_eq!(inbox.offer(3), Ok(()), "there is room again");
    }

    #[test]
    fn a_closed_inbox_takes_no_offers_and_keeps_what_it_has() {
        let inbox = Inbox::new(2);
        assert_eq!(inbox.offer(1), Ok(()));
        inbox.close();
        assert_eq!(inbox.offer(2), Err(Rejected::Closed(2)));
        assert_eq!(inbox.offer_all(vec![2]), Err(Rejected::Closed(vec![2])));
        assert_eq!(inbox.tell(3), Ok(()));
        assert_eq!(inbox.take_one(), Some(3));
        assert_eq!(inbox.take_one(), Some(1));
        assert_eq!(inbox.take_one(), None);
    }

    #[test]
    fn a_taker_that_wants_many_sleeps_through_few_and_is_woken_by_what_it_is_told() {
        let inbox = std::sync::Arc::new(Inbox::<u32, u32>::new(8));
        let take = |wanted: usize| {
            let inbox = std::sync::Arc::clone(&inbox);
            std::thread::spawn(move || {
                let (mut told, mut offered) = (Vec::new(), VecDeque::new());
                inbox.take(&mut told, &mut offered, Some(wanted), None);
                (told, offered)
            })
        };
        let taker = take(3);
        assert_eq!(inbox.offer_all(vec![1, 2]), Ok(()));
        assert_eq!(inbox.offer(3), Ok(()));
        assert_eq!(taker.join().unwrap(), (vec![], [1, 2, 3].into()));
        let taker = take(3);
        assert_eq!(inbox.offer(4), Ok(()));
        assert_eq!(inbox.tell(5), Ok(()));
        assert_eq!(taker.join().unwrap(), (vec![5], [4].into()));
    }

    #[test]
    fn an_inbox_that_ended_gives_everything_back() {
        let inbox = Inbox::new(2);
        assert_eq!((inbox.offer(1), inbox.tell(2)), (Ok(()), Ok(())));
        assert_eq!(inbox.end(), ([1].into(), [2].into()));
        assert_eq!(inbox.offer(3), Err(Rejected::Closed(3)));
        assert_eq!(inbox.tell(4), Err(4));
    }
}
