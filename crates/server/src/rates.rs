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

/// Callers that are remembered at one time. A caller that is forgotten starts with a full bucket.
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

/// Tokens that come back at a steady rate; a second's worth at most. A large batch leaves a debt.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: f64, now: Instant) -> Bucket {
        Bucket { tokens: rate, at: now }
    }

    fn refill(&mut self, rate: f64, now: Instant) {
        self.tokens = (self.tokens + now.duration_since(self.at).as_secs_f64() * rate).min(rate);
        self.at = now;
    }

    /// Seconds until it has so many tokens; `None` if it has them.
    fn seconds_until(&self, tokens: f64, rate: f64) -> Option<u64> {
        (self.tokens < tokens).then(|| ((tokens - self.tokens) / rate).ceil() as u64)
    }

    /// Refuses a batch, whose request has taken one token, if there are not as many as it has commands. A batch of more
    /// than a second's worth needs a second's worth: it could never be sent otherwise.
    fn check_batch(&self, commands: f64, rate: f64) -> Result<(), Problem> {
        let needed = commands.min(rate);
        if self.tokens >= needed - 1.0 {
            return Ok(());
        }
        // The next attempt takes a token of its own.
        let seconds = self.seconds_until(needed, rate).unwrap_or(1);
        let detail = format!(
            "A batch of {commands} commands counts as {commands} requests, and {rate} a second are allowed. Nothing was done. Wait \
             without sending anything else, then send it again."
        );
        Err(Problem::rate_limited(detail, seconds))
    }
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

    /// Counts each command of a batch as a request, or refuses the batch; its request was counted as one. What a batch costs beyond a
    /// second's worth is a debt: the requests after it wait.
    pub(crate) fn admit_batch(&self, caller: &Caller, commands: usize) -> Result<(), Problem> {
        let RateSettings { requests_per_second_per_key, requests_per_second_per_address, .. } = self.settings;
        let is_limited = requests_per_second_per_key.is_some() || requests_per_second_per_address.is_some();
        if commands <= 1 || !is_limited {
            return Ok(());
        }
        let (commands, now) = (commands as f64, Instant::now());
        let (mut by_key, mut by_network) = (self.by_key.lock(), self.by_network.lock());
        let network = caller.address.map(ClientNetwork::from);
        let limits = [
            requests_per_second_per_key.map(|rate| refilled(&mut by_key, caller.actor, rate, now)),
            requests_per_second_per_address
                .zip(network)
                .map(|(rate, network)| refilled(&mut by_network, network, rate, now)),
        ];
        // Neither limit is charged if the other one refuses.
        for (bucket, rate) in limits.iter().flatten() {
            bucket.check_batch(commands, *rate)?;
        }
        for (bucket, _) in limits.into_iter().flatten() {
            bucket.tokens -= commands - 1.0;
        }
        Ok(())
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
    let mut buckets = buckets.lock();
    let (bucket, rate) = refilled(&mut buckets, key, rate, Instant::now());
    if let Some(seconds) = bucket.seconds_until(1.0, rate) {
        return Err(Problem::rate_limited(format!("More than {rate} requests a second."), seconds));
    }
    bucket.tokens -= 1.0;
    Ok(())
}

/// A caller's bucket as of now, with its rate.
fn refilled<K: Hash + Eq>(
    buckets: &mut HashMap<K, Bucket>,
    key: K,
    rate: u32,
    now: Instant,
) -> (&mut Bucket, f64) {
    let rate = f64::from(rate);
    if buckets.len() >= CALLERS_MAX {
        // To forget a full bucket changes nothing for its caller. Most are full again after a second.
        buckets.retain(|_, bucket| {
            bucket.refill(rate, now);
            bucket.tokens < rate
        });
        // Where that leaves little room, every request would look through all of them again.
        if buckets.len() > CALLERS_MAX / 2 {
            buckets.clear();
        }
    }
    let bucket = buckets.entry(key).or_insert_with(|| Bucket::full(rate, now));
    bucket.refill(rate, now);
    (bucket, rate)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

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
    fn a_batch_costs_as_many_requests_as_it_has_commands() {
        let limited = |per_key, per_address| {
            Rates::new(RateSettings {
                requests_per_second_per_key: per_key,
                requests_per_second_per_address: per_address,
                ..RateSettings::default()
            })
        };
        let caller = Caller { address: Some([192, 0, 2, 1].into()), ..caller() };
        for (per_key, per_address) in [(Some(10), None), (None, Some(10)), (Some(10), Some(9_999))] {
            let rates = limited(per_key, per_address);
            let admit = || rates.admit_network(caller.address.unwrap().into()).and(rates.admit(&caller));
            assert!(admit().is_ok());
            assert!(
                rates.admit_batch(&caller, 1_009).is_ok(),
                "more than a second's worth, out of a full bucket"
            );
            let refused = admit().unwrap_err();
            assert_eq!((refused.code, refused.retry_after), ("RATE_LIMITED", Some(100)));
            let wait = rates.admit_batch(&caller, 2).unwrap_err().retry_after;
            assert!((Some(99)..=Some(101)).contains(&wait), "{wait:?}");
        }
        let one_short = limited(Some(1), None);
        assert!(one_short.admit(&caller).is_ok());
        assert_eq!(one_short.admit(&caller).unwrap_err().retry_after, Some(1));
    }

    #[test]
    fn a_batch_is_refused_without_enough_budget() {
        let (rate, begun) = (10.0, Instant::now());
        // Tokens that are left after the batch's own request took one; the answer's `Retry-After`.
        for (tokens, commands, refused) in [
            (9.0, 10.0, None),
            (9.0, 10_000.0, None),
            (8.9, 10.0, Some(1)),
            (8.9, 10_000.0, Some(1)),
            (4.0, 5.0, None),
            (3.0, 5.0, Some(1)),
            (0.0, 2.0, Some(1)),
            (-25.0, 2.0, Some(3)),
            (-25.0, 10_000.0, Some(4)),
        ] {
            let mut bucket = Bucket { tokens, at: begun };
            let answer = bucket.check_batch(commands, rate).map_err(|problem| problem.retry_after);
            assert_eq!(answer.err(), refused.map(Some), "{commands} commands with {tokens} tokens");
            let Some(seconds) = refused else { continue };
            bucket.refill(rate, begun + Duration::from_secs(seconds.into()));
            bucket.tokens -= 1.0;
            assert!(bucket.check_batch(commands, rate).is_ok(), "{commands} commands after {seconds} s");
        }
    }

    #[test]
    fn debts_are_kept_when_callers_with_nothing_used_are_forgotten() {
        let (mut buckets, now) = (HashMap::new(), Instant::now());
        refilled(&mut buckets, 0, 10, now).0.tokens = -100.0;
        for caller in 1..=CALLERS_MAX {
            refilled(&mut buckets, caller, 10, now);
        }
        assert_eq!(refilled(&mut buckets, 0, 10, now).0.tokens, -100.0);
        for caller in 0..=CALLERS_MAX {
            refilled(&mut buckets, caller, 10, now).0.tokens = 0.0;
        }
        assert!(buckets.len() <= CALLERS_MAX / 2, "{} with debts", buckets.len());
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
