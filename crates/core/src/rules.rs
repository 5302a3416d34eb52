//! The terms every inventory sells under: its name, its sales window and the rules it carries.

use serde::{Deserialize, Serialize};

use crate::ids::{InventoryKind, check_name, check_slug, check_text};
use crate::limits::{
    HOLD_SECONDS_MAX, NAME_CHARACTERS_MAX, UNITS_PER_BOOKING_DEFAULT, UNITS_PER_BOOKING_MAX,
};
use crate::money::Currency;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// What all three kinds of inventory have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The id of the inventory, unique among those of its kind and tenant.
    pub id: String,
    /// For people.
    pub name: String,
    /// All prices of the inventory are in it.
    pub currency: Currency,
    /// Whether it sells.
    pub status: InventoryStatus,
    /// When bookings can be made.
    pub sales: SalesWindow,
    /// How bookings can be made.
    pub rules: Rules,
}

/// Whether the operator lets the inventory sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InventoryStatus {
    /// It sells.
    Open,
    /// No new bookings; those that exist live on.
    Closed,
    /// The event does not take place. No new bookings, for good.
    Cancelled,
    /// The event is gone for callers.
    Deleted,
}

impl InventoryStatus {
    /// The status as people and other programs read it.
    pub fn word(self) -> &'static str {
        match self {
            InventoryStatus::Open => "open",
            InventoryStatus::Closed => "closed",
            InventoryStatus::Cancelled => "cancelled",
            InventoryStatus::Deleted => "deleted",
        }
    }
}

/// When bookings can be made; open at both ends if nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SalesWindow {
    /// The first moment.
    pub opens_at: Option<Timestamp>,
    /// The first moment after.
    pub closes_at: Option<Timestamp>,
}

/// The rules of one inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// How long a hold lasts if the booking does not say.
    pub hold_ttl_seconds: u32,
    /// Shortest hold that a booking may ask for.
    pub min_hold_seconds: u32,
    /// How long a hold may last from its creation, extensions included.
    pub max_hold_seconds: u32,
    /// Most units in one booking.
    pub max_units_per_booking: u32,
    /// Most units one customer may have, redeemed ones included.
    pub max_units_per_customer: Option<u32>,
    /// Most bookings on hold or confirmed one customer may have.
    pub max_active_bookings_per_customer: Option<u32>,
    /// What to do about single seats left between taken ones.
    pub orphans: Orphans,
    /// Which run of a row to take.
    pub prefer: Prefer,
    /// What a payment does that comes after the hold ended.
    pub late_payment: LatePayment,
    /// Which tickets may book a slot.
    pub tickets: TicketRule,
    /// Whether commands on bookings must carry an idempotency key.
    pub require_idempotency_key: bool,
}

/// What to do about single seats left between taken ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Orphans {
    /// Nothing.
    Allow,
    /// Best available prefers runs that leave none.
    Avoid,
    /// As `Avoid`, and manual picks that leave one are refused if another pick of that size would not.
    Forbid,
}

/// Which run of the first row that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Prefer {
    /// The leftmost.
    Front,
    /// The one nearest the middle of the row.
    Center,
}

/// What a payment does that comes after the hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatePayment {
    /// It is refused.
    Fail,
    /// The same units are taken again, if they are free.
    SameUnits,
    /// The same units, or others of the same section and number.
    Equivalent,
}

/// Which tickets may book a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TicketRule {
    /// Any.
    Any,
    /// Those that were imported, active and unexpired.
    Registered,
}

/// A change of some rules; `None` leaves a rule as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RulesPatch {
    /// See [`Rules::hold_ttl_seconds`].
    pub hold_ttl_seconds: Option<u32>,
    /// See [`Rules::min_hold_seconds`].
    pub min_hold_seconds: Option<u32>,
    /// See [`Rules::max_hold_seconds`].
    pub max_hold_seconds: Option<u32>,
    /// See [`Rules::max_units_per_booking`].
    pub max_units_per_booking: Option<u32>,
    /// See [`Rules::max_units_per_customer`]; `Some(None)` lifts the limit.
    pub max_units_per_customer: Option<Option<u32>>,
    /// See [`Rules::max_active_bookings_per_customer`]; `Some(None)` lifts the limit.
    pub max_active_bookings_per_customer: Option<Option<u32>>,
    /// See [`Rules::orphans`].
    pub orphans: Option<Orphans>,
    /// See [`Rules::prefer`].
    pub prefer: Option<Prefer>,
    /// See [`Rules::late_payment`].
    pub late_payment: Option<LatePayment>,
    /// See [`Rules::tickets`].
    pub tickets: Option<TicketRule>,
    /// See [`Rules::require_idempotency_key`].
    pub require_idempotency_key: Option<bool>,
}

/// A change of the sales window. The order is part of the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SalesPatch {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is this from now on.
    Window(SalesWindow),
    /// Its beginning is this, and its end stays.
    OpensAt(Option<Timestamp>),
    /// Its end is this, and its beginning stays.
    ClosesAt(Option<Timestamp>),
}

impl SalesPatch {
    fn of(self, standing: SalesWindow) -> SalesWindow {
        match self {
            SalesPatch::Keep => standing,
            SalesPatch::Window(window) => window,
            SalesPatch::OpensAt(opens_at) => SalesWindow { opens_at, ..standing },
            SalesPatch::ClosesAt(closes_at) => SalesWindow { closes_at, ..standing },
        }
    }
}

/// A change of some terms; what is not named stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TermsPatch {
    /// See [`Terms::name`].
    pub name: Option<String>,
    /// Whether it sells: [`InventoryStatus::Open`] or [`InventoryStatus::Closed`].
    pub open: Option<bool>,
    /// See [`Terms::sales`].
    pub sales: SalesPatch,
    /// See [`Terms::rules`].
    pub rules: RulesPatch,
}

impl Terms {
    /// Checks and completes the terms of a new inventory.
    pub(crate) fn new(
        kind: InventoryKind,
        id: &str,
        name: &str,
        currency: Currency,
        sales: SalesWindow,
        rules: RulesPatch,
    ) -> Result<Terms, Refusal> {
        check_slug(id, "/id")?;
        currency.check("/currency")?;
        let blank = Terms {
            id: id.to_owned(),
            name: String::new(),
            currency,
            status: InventoryStatus::Open,
            sales,
            rules: Rules::default_of(kind),
        };
        blank.patched(&TermsPatch { name: Some(name.to_owned()), rules, ..TermsPatch::default() })
    }

    /// The terms after a patch, checked.
    pub(crate) fn patched(&self, patch: &TermsPatch) -> Result<Terms, Refusal> {
        let terms = Terms {
            id: self.id.clone(),
            name: patch.name.clone().unwrap_or_else(|| self.name.clone()),
            currency: self.currency,
            status: match patch.open {
                None => self.status,
                Some(true) => InventoryStatus::Open,
                Some(false) => InventoryStatus::Closed,
            },
            sales: patch.sales.of(self.sales),
            rules: self.rules.patched(&patch.rules)?,
        };
        if let Some(name) = &patch.name {
            check_name(name, NAME_CHARACTERS_MAX, "/name")?;
        }
        if let Some(opens_at) = terms.sales.opens_at {
            opens_at.check("/sales/opens_at")?;
        }
        if let Some(closes_at) = terms.sales.closes_at {
            closes_at.check("/sales/closes_at")?;
            if terms.sales.opens_at.is_some_and(|opens_at| opens_at >= closes_at) {
                return Err(Refusal::invalid("/sales/closes_at", "must be later than opens_at"));
            }
        }
        Ok(terms)
    }

    /// Refuses terms that no creation or patch could have left.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        check_slug(&self.id, "/id")?;
        self.currency.check("/currency")?;
        check_text(&self.name, NAME_CHARACTERS_MAX, "/name")?;
        if self.patched(&TermsPatch::default())? == *self {
            return Ok(());
        }
        Err(Refusal::invalid("/rules/max_hold_seconds", "must not be shorter than hold_ttl_seconds"))
    }

    /// Refuses a new booking while the inventory is closed.
    pub(crate) fn check_open(&self) -> Result<(), Refusal> {
        match self.status {
            InventoryStatus::Open => Ok(()),
            InventoryStatus::Closed | InventoryStatus::Cancelled => Err(Refusal::InventoryClosed),
            // Only events are deleted.
            InventoryStatus::Deleted => Err(Refusal::EventNotFound),
        }
    }

    /// Refuses a new booking outside the sales window.
    pub(crate) fn check_sales(&self, now: Timestamp) -> Result<(), Refusal> {
        if let Some(opens_at) = self.sales.opens_at
            && now < opens_at
        {
            return Err(Refusal::SalesNotOpen { opens_at });
        }
        if let Some(closed_at) = self.sales.closes_at
            && now >= closed_at
        {
            return Err(Refusal::SalesClosed { closed_at });
        }
        Ok(())
    }
}

impl Rules {
    /// The rules of an inventory that says nothing.
    pub fn default_of(kind: InventoryKind) -> Rules {
        let (hold_ttl_seconds, max_active_bookings_per_customer) = match kind {
            InventoryKind::Event => (15 * 60, None),
            InventoryKind::Schedule => (10 * 60, None),
            InventoryKind::Shop => (20 * 60, Some(1)),
        };
        Rules {
            hold_ttl_seconds,
            min_hold_seconds: 1,
            max_hold_seconds: 60 * 60,
            max_units_per_booking: UNITS_PER_BOOKING_DEFAULT,
            max_units_per_customer: None,
            max_active_bookings_per_customer,
            orphans: Orphans::Allow,
            prefer: Prefer::Front,
            late_payment: LatePayment::Fail,
            tickets: TicketRule::Any,
            require_idempotency_key: false,
        }
    }

    fn patched(&self, patch: &RulesPatch) -> Result<Rules, Refusal> {
        // A lower cap shortens holds with it, and a longer hold lifts the cap, unless both are named. A cap of nothing is refused
        // for itself.
        let capped = self.hold_ttl_seconds.min(patch.max_hold_seconds.unwrap_or(u32::MAX).max(1));
        let hold_ttl_seconds = patch.hold_ttl_seconds.unwrap_or(capped);
        let rules = Rules {
            hold_ttl_seconds,
            min_hold_seconds: patch.min_hold_seconds.unwrap_or(self.min_hold_seconds),
            max_hold_seconds: patch.max_hold_seconds.unwrap_or(self.max_hold_seconds.max(hold_ttl_seconds)),
            max_units_per_booking: patch.max_units_per_booking.unwrap_or(self.max_units_per_booking),
            max_units_per_customer: patch.max_units_per_customer.unwrap_or(self.max_units_per_customer),
            max_active_bookings_per_customer: patch
                .max_active_bookings_per_customer
                .unwrap_or(self.max_active_bookings_per_customer),
            orphans: patch.orphans.unwrap_or(self.orphans),
            prefer: patch.prefer.unwrap_or(self.prefer),
            late_payment: patch.late_payment.unwrap_or(self.late_payment),
            tickets: patch.tickets.unwrap_or(self.tickets),
            require_idempotency_key: patch.require_idempotency_key.unwrap_or(self.require_idempotency_key),
        };
        check_within(rules.hold_ttl_seconds, HOLD_SECONDS_MAX, "/rules/hold_ttl_seconds")?;
        check_within(rules.min_hold_seconds, HOLD_SECONDS_MAX, "/rules/min_hold_seconds")?;
        check_within(rules.max_hold_seconds, HOLD_SECONDS_MAX, "/rules/max_hold_seconds")?;
        if rules.min_hold_seconds > rules.hold_ttl_seconds {
            let message = format!(
                "must be at most hold_ttl_seconds, which is {}; got {}",
                rules.hold_ttl_seconds, rules.min_hold_seconds
            );
            return Err(Refusal::invalid("/rules/min_hold_seconds", message));
        }
        if rules.max_hold_seconds < rules.hold_ttl_seconds {
            return Err(Refusal::invalid(
                "/rules/max_hold_seconds",
                "must not be shorter than hold_ttl_seconds",
            ));
        }
        check_within(rules.max_units_per_booking, UNITS_PER_BOOKING_MAX, "/rules/max_units_per_booking")?;
        if rules.max_units_per_customer == Some(0) {
            return Err(Refusal::invalid("/rules/max_units_per_customer", "must be at least 1, or null"));
        }
        if rules.max_active_bookings_per_customer == Some(0) {
            return Err(Refusal::invalid(
                "/rules/max_active_bookings_per_customer",
                "must be at least 1, or null",
            ));
        }
        Ok(rules)
    }
}

/// Refuses a number outside 1 to `most`.
pub(crate) fn check_within(number: u32, most: u32, pointer: impl std::fmt::Display) -> Result<(), Refusal> {
    if (1..=most).contains(&number) {
        return Ok(());
    }
    Err(Refusal::invalid(pointer, format!("must be an integer between 1 and {most}, got {number}")))
}

/// Refuses to let a list grow past its limit.
pub(crate) fn check_room(used: usize, most: usize) -> Result<(), Refusal> {
    if used < most { Ok(()) } else { Err(Refusal::Overloaded) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_have_bounds() {
        assert_eq!(
            [0, 1, 5, 6].map(|number| check_within(number, 5, "/n").is_ok()),
            [false, true, true, false]
        );
        assert_eq!([0, 4, 5, 6].map(|used| check_room(used, 5).is_ok()), [true, true, false, false]);
    }

    #[test]
    fn rules_nobody_names_are_the_defaults_of_the_kind() {
        let rows = [
            (InventoryKind::Event, 900, None),
            (InventoryKind::Schedule, 600, None),
            (InventoryKind::Shop, 1_200, Some(1)),
        ];
        for (kind, hold_ttl_seconds, max_active_bookings_per_customer) in rows {
            let expected = Rules {
                hold_ttl_seconds,
                min_hold_seconds: 1,
                max_hold_seconds: 3_600,
                max_units_per_booking: 10,
                max_units_per_customer: None,
                max_active_bookings_per_customer,
                orphans: Orphans::Allow,
                prefer: Prefer::Front,
                late_payment: LatePayment::Fail,
                tickets: TicketRule::Any,
                require_idempotency_key: false,
            };
            assert_eq!(Rules::default_of(kind), expected);
            assert_eq!(expected.patched(&RulesPatch::default()), Ok(expected));
        }
    }

    #[test]
    fn a_patch_changes_what_it_names() {
        let patch = RulesPatch {
            hold_ttl_seconds: Some(60),
            min_hold_seconds: Some(30),
            max_hold_seconds: Some(120),
            max_units_per_booking: Some(3),
            max_units_per_customer: Some(Some(4)),
            max_active_bookings_per_customer: Some(Some(5)),
            orphans: Some(Orphans::Forbid),
            prefer: Some(Prefer::Center),
            late_payment: Some(LatePayment::Equivalent),
            tickets: Some(TicketRule::Registered),
            require_idempotency_key: Some(true),
        };
        let expected = Rules {
            hold_ttl_seconds: 60,
            min_hold_seconds: 30,
            max_hold_seconds: 120,
            max_units_per_booking: 3,
            max_units_per_customer: Some(4),
            max_active_bookings_per_customer: Some(5),
            orphans: Orphans::Forbid,
            prefer: Prefer::Center,
            late_payment: LatePayment::Equivalent,
            tickets: TicketRule::Registered,
            require_idempotency_key: true,
        };
        assert_eq!(Rules::default_of(InventoryKind::Event).patched(&patch), Ok(expected));
    }

    #[test]
    fn hold_bounds_must_be_in_order_on_creation_and_patch() {
        let rules = Rules::default_of(InventoryKind::Event);
        let patch = |hold_ttl_seconds, min_hold_seconds, max_hold_seconds| RulesPatch {
            hold_ttl_seconds,
            min_hold_seconds,
            max_hold_seconds,
            ..RulesPatch::default()
        };
        let refused = |rules: &Rules, patch: RulesPatch| match rules.patched(&patch) {
            Err(Refusal::InvalidRequest { pointer, .. }) => pointer,
            other => panic!("{other:?}"),
        };
        for (hold, min, max, pointer) in [
            (None, Some(0), None, "/rules/min_hold_seconds"),
            (None, Some(901), None, "/rules/min_hold_seconds"),
            (Some(60), Some(61), None, "/rules/min_hold_seconds"),
            (Some(60), Some(60), Some(59), "/rules/max_hold_seconds"),
            (None, Some(86_401), None, "/rules/min_hold_seconds"),
        ] {
            assert_eq!(refused(&rules, patch(hold, min, max)), pointer, "{hold:?} {min:?} {max:?}");
        }
        let bounded = rules.patched(&patch(None, Some(900), None)).unwrap();
        assert_eq!(bounded.min_hold_seconds, 900);
        // A shorter hold, or a lower cap that shortens it, passes the minimum.
        assert_eq!(refused(&bounded, patch(Some(899), None, None)), "/rules/min_hold_seconds");
        assert_eq!(refused(&bounded, patch(None, None, Some(899))), "/rules/min_hold_seconds");
        assert_eq!(bounded.patched(&patch(Some(899), Some(1), None)).unwrap().hold_ttl_seconds, 899);
    }
}
