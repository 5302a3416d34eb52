//! Limits on callers, all off unless configured: requests a second by key and by address, and holds that are alive.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::Instant;

use boxoffice_core::ids::{Actor, BookingId};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use parking_lot::Mutex;

use crate::caller::Caller;
use crate::client_network::ClientNetwork;
use crate::problem::Problem;

/// Callers that are remembered at one time. Whoever is forgotten starts with a full bucket.
const CALLERS_MAX: usize = 100_000;

/// What callers may do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateSettings {
    pub(crate) requests_per_second_per_key: Option<u32>,
    pub(crate) requests_per_second_per_address: Option<u32>,
    pub(crate) live_holds_per_caller: Option<u32>,
}

pub(crate) struct Rates {
    settings: RateSettings,
    by_key: Mutex<HashMap<Actor, Bucket>>,
    by_network: Mutex<HashMap<ClientNetwork, Bucket>>,
    holds: Mutex<HashMap<Holder, Vec<Hold>>>,
}

/// A hold of a caller, from when it is asked for.
struct Hold {
    id: BookingId,
    until: Timestamp,
    /// Whether it was granted; before that, it takes a place all the same.
    is_made: bool,
    /// The idempotency key it was asked for with, and where.
    key: Option<(InventoryNumber, String)>,
}

/// Callers who went away before their hold was decided give its place back after this time.
pub(crate) const DECIDED_WITHIN_SECONDS: u32 = 30;

/// Tokens that come back at a steady rate; a second's worth at most.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(settings: RateSettings) -> Rates {
        Rates { settings, by_key: Mutex::default(), by_network: Mutex::default(), holds: Mutex::default() }
    }

    /// Counts a request, or refuses it.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), Problem> {
        if let Some(rate) = self.settings.requests_per_second_per_key {
            take(&self.by_key, caller.actor, rate)?;
        }
        Ok(())
    }

    /// Counts a request against the limit of its client's network, or refuses it.
    pub(crate) fn admit_network(&self, network: ClientNetwork) -> Result<(), Problem> {
        match self.settings.requests_per_second_per_address {
            Some(rate) => take(&self.by_network, network, rate),
            None => Ok(()),
        }
    }

    /// Counts what a request asks for beyond one thing: those that come after it wait for it.
    pub(crate) fn charge(&self, caller: &Caller, commands: usize) {
        if self.settings.requests_per_second_per_key.is_some()
            && let Some(bucket) = self.by_key.lock().get_mut(&caller.actor)
        {
            bucket.tokens -= commands as f64;
        }
    }

    /// The holds of a caller who has as many as allowed, with their deadlines: some of them may have ended otherwise than by time.
    pub(crate) fn holds_of(&self, caller: &Caller) -> Vec<(BookingId, Timestamp)> {
        let most = self.settings.live_holds_per_caller.map_or(usize::MAX, |most| most as usize);
        let holds = self.holds.lock();
        let own = holds.get(&holder(caller)).filter(|own| own.len() >= most);
        own.into_iter().flatten().filter(|hold| hold.is_made).map(|hold| (hold.id, hold.until)).collect()
    }

    /// Counts a new hold, or refuses it to whoever has too many; `ended` are those that are known to be none any more.
    /// A key under which a hold was asked for is let through: its answer is there, or will be.
    pub(crate) fn admit_hold(
        &self,
        caller: &Caller,
        now: Timestamp,
        ended: &HashSet<BookingId>,
        id: BookingId,
        key: Option<(InventoryNumber, String)>,
    ) -> Result<(), Problem> {
        let Some(most) = self.settings.live_holds_per_caller else { return Ok(()) };
        let mut holds = self.holds.lock();
        if holds.len() >= CALLERS_MAX {
            holds.retain(|_, own| own.iter().any(|hold| hold.until > now));
        }
        let own = holds.entry(holder(caller)).or_default();
        // A hold that was made may have got more time: only `ended` says that it is over.
        own.retain(|hold| (hold.is_made || hold.until > now) && !ended.contains(&hold.id));
        if key.is_some() && own.iter().any(|hold| hold.key == key) {
            return Ok(());
        }
        if own.len() < most as usize {
            own.push(Hold { id, until: now.plus_seconds(DECIDED_WITHIN_SECONDS), is_made: false, key });
            return Ok(());
        }
        // Those that are not decided yet will be in a moment.
        let left = |hold: &Hold| if hold.is_made { hold.until.0 - now.0 } else { 0 };
        let next = own.iter().map(left).min().unwrap_or(0);
        let seconds = u64::try_from(next).unwrap_or(0).div_ceil(1_000).max(1);
        let detail = format!("At most {most} holds may be alive at one time. Pay or cancel some.");
        Err(Problem::rate_limited(detail, seconds))
    }

    /// What became of a hold that was admitted: the one that was made, with its deadline, or none.
    pub(crate) fn settle_hold(
        &self,
        caller: &Caller,
        admitted: BookingId,
        made: Option<(BookingId, Timestamp)>,
    ) {
        if self.settings.live_holds_per_caller.is_none() {
            return;
        }
        let mut holds = self.holds.lock();
        let Some(own) = holds.get_mut(&holder(caller)) else { return };
        let place = own.iter().position(|hold| hold.id == admitted && !hold.is_made);
        let key = place.and_then(|place| own.swap_remove(place).key);
        if let Some((id, until)) = made
            && !own.iter().any(|hold| hold.is_made && hold.id == id)
        {
            own.push(Hold { id, until, is_made: true, key });
        }
    }
}

/// The owner of holds: a key; where browsers share the key, the key and the client's network.
type Holder = (Actor, Option<ClientNetwork>);

fn holder(caller: &Caller) -> Holder {
    (caller.actor, if caller.may_take_money() { None } else { caller.address.map(ClientNetwork::from) })
}

fn take<K: Hash + Eq>(buckets: &Mutex<HashMap<K, Bucket>>, key: K, rate: u32) -> Result<(), Problem> {
    let rate = f64::from(rate);
    let now = Instant::now();
    let mut buckets = buckets.lock();
    if buckets.len() >= CALLERS_MAX {
        // Most are full again after a second: little is lost by forgetting all, and looking for them would cost every caller.
        buckets.clear();
    }
    let bucket = buckets.entry(key).or_insert(Bucket { tokens: rate, at: now });
    bucket.tokens = (bucket.tokens + now.duration_since(bucket.at).as_secs_f64() * rate).min(rate);
    bucket.at = now;
    if bucket.tokens < 1.0 {
        // Whoever sent a large batch owes for all of it.
        let seconds = ((1.0 - bucket.tokens) / rate).ceil() as u64;
        return Err(Problem::rate_limited(format!("More than {rate} requests a second."), seconds));
    }
    bucket.tokens -= 1.0;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::keys::Role;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn two_at_most() -> Rates {
        Rates::new(RateSettings { live_holds_per_caller: Some(2), ..RateSettings::default() })
    }

    fn caller() -> Caller {
        Caller {
            tenant: "default".into(),
            role: Role::Seller,
            actor: Actor(7),
            key: None,
            hold_token: None,
            address: None,
        }
    }

    fn id(number: u8) -> BookingId {
        BookingId::from_bytes([number; 16])
    }

    fn asks(rates: &Rates, now: Timestamp, ended: &[BookingId], number: u8) -> bool {
        rates.admit_hold(&caller(), now, &ended.iter().copied().collect(), id(number), None).is_ok()
    }

    #[test]
    fn whoever_sends_many_at_once_is_told_how_long_that_takes() {
        let rates =
            Rates::new(RateSettings { requests_per_second_per_key: Some(10), ..RateSettings::default() });
        assert!(rates.admit(&caller()).is_ok());
        rates.charge(&caller(), 1_008);
        let refused = rates.admit(&caller()).unwrap_err();
        assert_eq!((refused.code, refused.retry_after), ("RATE_LIMITED", Some(100)));
        let one_short =
            Rates::new(RateSettings { requests_per_second_per_key: Some(1), ..RateSettings::default() });
        assert!(one_short.admit(&caller()).is_ok());
        assert_eq!(one_short.admit(&caller()).unwrap_err().retry_after, Some(1));
    }

    #[test]
    fn addresses_of_one_ipv6_client_share_limits() {
        let per_second = RateSettings { requests_per_second_per_address: Some(1), ..RateSettings::default() };
        for (other, is_shared) in [("2001:db8:0:1::2", true), ("2001:db8:0:2::1", false)] {
            let [first, other] = ["2001:db8:0:1::1", other].map(|text| text.parse::<IpAddr>().unwrap());
            let rates = Rates::new(per_second);
            assert!(rates.admit_network(first.into()).is_ok());
            assert_eq!(rates.admit_network(other.into()).is_err(), is_shared, "requests of {other}");
            let rates = two_at_most();
            let visitor = |address| Caller { role: Role::Public, address: Some(address), ..caller() };
            let nothing_ended = HashSet::new();
            for (number, address, admitted) in [(1, first, true), (2, first, true), (3, other, !is_shared)] {
                let hold = rates.admit_hold(&visitor(address), NOW, &nothing_ended, id(number), None);
                assert_eq!(hold.is_ok(), admitted, "hold {number} of {address}");
            }
        }
    }

    #[test]
    fn a_hold_that_was_asked_for_twice_counts() {
        let rates = two_at_most();
        for number in 1..=2 {
            assert!(asks(&rates, NOW, &[], number));
            // The same id again, while the first is not decided: it takes a place too, and gives it back.
            let again = asks(&rates, NOW, &[], number);
            rates.settle_hold(&caller(), id(number), Some((id(number), NOW.plus_seconds(60))));
            if again {
                rates.settle_hold(&caller(), id(number), None);
            }
        }
        let held: Vec<BookingId> = rates.holds_of(&caller()).into_iter().map(|(id, _)| id).collect();
        assert_eq!(held, [id(1), id(2)]);
        assert!(!asks(&rates, NOW, &[], 3));
        assert!(asks(&rates, NOW, &[id(1)], 3));
    }

    #[test]
    fn a_hold_with_more_time_counts_until_it_has_ended() {
        let rates = two_at_most();
        for number in 1..=2 {
            assert!(asks(&rates, NOW, &[], number));
            rates.settle_hold(&caller(), id(number), Some((id(number), NOW.plus_seconds(60))));
        }
        let later = NOW.plus_seconds(600);
        assert!(!asks(&rates, later, &[], 3), "nobody says that they have ended");
        assert!(asks(&rates, later, &[id(2)], 3));
    }
}
