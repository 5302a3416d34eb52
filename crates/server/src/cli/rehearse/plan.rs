//! Who comes when, and what they will do: a function of the seed, so that a rehearsal can be repeated.

use std::str::FromStr;
use std::time::Duration;

use boxoffice_core::limits::UNITS_PER_BOOKING_MAX;
use clap::ValueEnum;
use serde::Serialize;

/// How buyers arrive. Nobody waits for an earlier buyer's answer before coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Arrivals {
    /// All at the same moment.
    Spike,
    /// More and more, from none a second on.
    Ramp,
    /// The same number every second.
    Steady,
}

/// How many seats buyers want together: any number between two, each as often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct GroupSizes {
    pub(super) least: u32,
    pub(super) most: u32,
}

impl FromStr for GroupSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<GroupSizes, String> {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        let sizes = least.parse().ok().zip(most.parse().ok());
        match sizes {
            Some((least, most)) if 1 <= least && least <= most && most <= UNITS_PER_BOOKING_MAX => {
                Ok(GroupSizes { least, most })
            }
            _ => {
                Err(format!("must be a number such as 2, or two such as 1-4, up to {UNITS_PER_BOOKING_MAX}"))
            }
        }
    }
}

impl std::fmt::Display for GroupSizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.least == self.most {
            return write!(f, "{}", self.least);
        }
        write!(f, "{}-{}", self.least, self.most)
    }
}

/// What all buyers of a rehearsal have in common. Shares are percentages of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) buyers: u32,
    pub(super) arrivals: Arrivals,
    #[serde(serialize_with = "seconds")]
    pub(super) over: Duration,
    pub(super) group: GroupSizes,
    pub(super) look_percent: u32,
    pub(super) pick_percent: u32,
    pub(super) repeat_percent: u32,
    /// Whether buyers hold their seats and pay later, instead of at once.
    pub(super) hold: bool,
    pub(super) think_ms: u32,
    pub(super) abandon_percent: u32,
}

fn seconds<S: serde::Serializer>(over: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(over.as_secs_f64())
}

/// What one buyer will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buyer {
    pub(super) seats: u32,
    /// Whether they look at the map before they ask for anything.
    pub(super) looks: bool,
    /// Whether they choose their seats on the map, instead of taking the best.
    pub(super) picks: bool,
    /// Whether they send their request twice, as impatient people do.
    pub(super) repeats: bool,
    /// How long they think before they pay; `None` if they walk away from their hold.
    pub(super) pays_after: Option<Duration>,
}

impl Plan {
    /// When a buyer is due, counted from the beginning; later for higher numbers.
    pub(super) fn arrival(&self, number: u32) -> Duration {
        let part = (f64::from(number) + Dice::of(self.seed, number, ARRIVAL).part()) / f64::from(self.buyers);
        match self.arrivals {
            Arrivals::Spike => Duration::ZERO,
            Arrivals::Ramp => self.over.mul_f64(part.sqrt()),
            Arrivals::Steady => self.over.mul_f64(part),
        }
    }

    pub(super) fn buyer(&self, number: u32) -> Buyer {
        let mut dice = Dice::of(self.seed, number, BEHAVIOUR);
        let seats = self.group.least + dice.below(self.group.most - self.group.least + 1);
        let picks = dice.percent(self.pick_percent);
        let looks = dice.percent(self.look_percent) || picks;
        let repeats = dice.percent(self.repeat_percent);
        let abandons = self.hold && dice.percent(self.abandon_percent);
        // People differ: between half of it and half as much again.
        let think = Duration::from_millis(self.think_ms.into()).mul_f64(0.5 + dice.part());
        Buyer { seats, looks, picks, repeats, pays_after: (!abandons).then_some(think) }
    }

    /// Where on the map a buyer looks first.
    pub(super) fn glance(&self, number: u32, attempt: u8, seats: u32) -> u32 {
        Dice::of(self.seed, number, GLANCE + u64::from(attempt)).below(seats)
    }

    /// How the buyer is called at the server.
    pub(super) fn customer(&self, number: u32) -> String {
        format!("rehearsal-{:x}-{number}", self.seed)
    }

    /// The number of the buyer who is called so.
    pub(super) fn number_of(&self, customer: &str) -> Option<u32> {
        let number = customer.strip_prefix(&format!("rehearsal-{:x}-", self.seed))?.parse().ok()?;
        (number < self.buyers).then_some(number)
    }
}

// Each question has dice of its own, so that a new one does not change the answers to the others.
const ARRIVAL: u64 = 1;
const BEHAVIOUR: u64 = 2;
const GLANCE: u64 = 1_000;

/// Random numbers that are the same for the same seed on every machine: SplitMix64.
struct Dice(u64);

impl Dice {
    fn of(seed: u64, buyer: u32, question: u64) -> Dice {
        let mut dice = Dice(seed ^ (question << 32 | u64::from(buyer)));
        Dice(dice.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to just below 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(bound) * (self.next() >> 32)) >> 32) as u32
    }

    fn percent(&mut self, share: u32) -> bool {
        self.below(100) < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64, arrivals: Arrivals) -> Plan {
        Plan {
            seed,
            buyers: 10_000,
            arrivals,
            over: Duration::from_secs(10),
            group: GroupSizes { least: 1, most: 4 },
            look_percent: 50,
            pick_percent: 20,
            repeat_percent: 5,
            hold: true,
            think_ms: 1_000,
            abandon_percent: 10,
        }
    }

    #[test]
    fn the_same_seed_is_the_same_plan_and_another_seed_is_another() {
        let all = |plan: Plan| -> Vec<(Duration, Buyer, u32)> {
            (0..100)
                .map(|number| (plan.arrival(number), plan.buyer(number), plan.glance(number, 0, 500)))
                .collect()
        };
        assert_eq!(all(plan(7, Arrivals::Steady)), all(plan(7, Arrivals::Steady)));
        assert_ne!(all(plan(7, Arrivals::Steady)), all(plan(8, Arrivals::Steady)));
    }

    #[test]
    fn buyers_come_in_order_as_their_curve_says() {
        for (arrivals, within_half) in
            [(Arrivals::Spike, 10_000), (Arrivals::Ramp, 2_500), (Arrivals::Steady, 5_000)]
        {
            let plan = plan(7, arrivals);
            let due: Vec<Duration> = (0..plan.buyers).map(|number| plan.arrival(number)).collect();
            assert!(due.is_sorted(), "{arrivals:?}");
            assert!(due.iter().all(|due| *due <= plan.over), "{arrivals:?}");
            let early = due.iter().filter(|due| **due < Duration::from_secs(5)).count();
            assert!(early.abs_diff(within_half) <= 1, "{arrivals:?}: {early}");
        }
    }

    #[test]
    fn shares_are_what_was_asked_for() {
        let plan = plan(7, Arrivals::Spike);
        let buyers: Vec<Buyer> = (0..plan.buyers).map(|number| plan.buyer(number)).collect();
        let percent = |fits: fn(&Buyer) -> bool| buyers.iter().filter(|buyer| fits(buyer)).count() / 100;
        assert!((18..=22).contains(&percent(|buyer| buyer.picks)));
        // Who picks has to look.
        assert!((58..=62).contains(&percent(|buyer| buyer.looks)));
        assert!((9..=11).contains(&percent(|buyer| buyer.pays_after.is_none())));
        for size in 1..=4 {
            let wanting = buyers.iter().filter(|buyer| buyer.seats == size).count();
            assert!((2_350..=2_650).contains(&wanting), "{size}: {wanting}");
        }
    }

    #[test]
    fn group_sizes_are_a_number_or_two() {
        assert_eq!("2".parse(), Ok(GroupSizes { least: 2, most: 2 }));
        assert_eq!("1-4".parse(), Ok(GroupSizes { least: 1, most: 4 }));
        for wrong in ["", "0", "4-1", "1-1001", "1-2-3", "two"] {
            assert!(wrong.parse::<GroupSizes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn customers_are_known_by_their_names() {
        let plan = plan(7, Arrivals::Spike);
        assert_eq!(plan.number_of(&plan.customer(42)), Some(42));
        assert_eq!(plan.number_of("rehearsal-8-42"), None);
        assert_eq!(plan.number_of("rehearsal-7-10000"), None);
        assert_eq!(plan.number_of("ann"), None);
    }
}
