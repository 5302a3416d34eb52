//! The terms of inventories as the API writes them.

use boxoffice_core::money::Currency;
use boxoffice_core::rules::{
    self, InventoryStatus, Orphans, Prefer, Rules, RulesPatch, SalesWindow, TermsPatch, TicketRule,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::input::{nullable, told_apart};
use crate::problem::Problem;
use crate::routes::bookings::confirm::IfExpired;
use crate::time::Moment;

/// The rules of an inventory; what is not named stays as it is, or as its kind has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RulesPatch)]
pub(crate) struct RulesInput {
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    hold_ttl_seconds: Option<u32>,
    /// Shortest hold that a booking may ask for; at most `hold_ttl_seconds`.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    min_hold_seconds: Option<u32>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    max_hold_seconds: Option<u32>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    max_units_per_booking: Option<u32>,
    /// `null`: no limit.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<u32>, format = Int64, minimum = 1, maximum = 4_294_967_295_i64)]
    max_units_per_customer: Option<Option<u32>>,
    /// `null`: no limit.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<u32>, format = Int64, minimum = 1, maximum = 4_294_967_295_i64)]
    max_active_bookings_per_customer: Option<Option<u32>>,
    #[serde(default)]
    orphans: Option<OrphansWord>,
    #[serde(default)]
    prefer: Option<PreferWord>,
    #[serde(default)]
    late_payment: Option<IfExpired>,
    #[serde(default)]
    tickets: Option<TicketsWord>,
    #[serde(default)]
    require_idempotency_key: Option<bool>,
}

/// The rules of an inventory.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Rules)]
pub(crate) struct RulesBody {
    hold_ttl_seconds: u32,
    min_hold_seconds: u32,
    max_hold_seconds: u32,
    max_units_per_booking: u32,
    #[schema(required)]
    max_units_per_customer: Option<u32>,
    #[schema(required)]
    max_active_bookings_per_customer: Option<u32>,
    orphans: OrphansWord,
    prefer: PreferWord,
    late_payment: IfExpired,
    tickets: TicketsWord,
    require_idempotency_key: bool,
}

/// What to do about single seats left between taken ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Orphans)]
pub(crate) enum OrphansWord {
    Allow,
    Avoid,
    Forbid,
}

/// Which run of a row is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Prefer)]
pub(crate) enum PreferWord {
    Front,
    Center,
}

/// Which tickets may book. If only `registered` ones may, a booking must name `tickets` and cannot ask for a `quantity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TicketRule)]
pub(crate) enum TicketsWord {
    Any,
    Registered,
}

/// When bookings can be made; open at both ends if nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Sales)]
pub(crate) struct SalesBody {
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    opens_at: Option<Moment>,
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    closes_at: Option<Moment>,
}

/// What is to be different about the sales window; `null` opens an end, what is not named stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SalesPatch {
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, format = DateTime)]
    opens_at: Option<Option<Moment>>,
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, format = DateTime)]
    closes_at: Option<Option<Moment>>,
}

impl SalesPatch {
    fn patch(self) -> rules::SalesPatch {
        let end = |moment: Option<Moment>| moment.map(|moment| moment.0);
        match (self.opens_at.map(end), self.closes_at.map(end)) {
            (None, None) => rules::SalesPatch::Keep,
            (Some(opens_at), None) => rules::SalesPatch::OpensAt(opens_at),
            (None, Some(closes_at)) => rules::SalesPatch::ClosesAt(closes_at),
            (Some(opens_at), Some(closes_at)) => {
                rules::SalesPatch::Window(SalesWindow { opens_at, closes_at })
            }
        }
    }
}

/// Whether the inventory sells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = InventoryStatus)]
pub(crate) enum StatusWord {
    Open,
    Closed,
    /// Of events: for good.
    Cancelled,
    /// Of events. No answer shows a deleted event.
    Deleted,
}

/// The status that an operator gives an inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = InventoryStatusPatch)]
pub(crate) enum StatusPatch {
    Open,
    Closed,
}

impl RulesInput {
    /// The rules of a new inventory. Its holds last as long as the server says if it does not, within its own bounds.
    pub(crate) fn patch_of_new(rules: Option<&RulesInput>, hold_ttl_seconds: Option<u32>) -> RulesPatch {
        let mut patch = rules.map(RulesInput::patch).unwrap_or_default();
        let capped = |seconds: u32| {
            let at_least = patch.min_hold_seconds.unwrap_or(1);
            seconds.max(at_least).min(patch.max_hold_seconds.unwrap_or(u32::MAX).max(1))
        };
        patch.hold_ttl_seconds = patch.hold_ttl_seconds.or(hold_ttl_seconds.map(capped));
        patch
    }

    pub(crate) fn patch(&self) -> RulesPatch {
        RulesPatch {
            hold_ttl_seconds: self.hold_ttl_seconds,
            min_hold_seconds: self.min_hold_seconds,
            max_hold_seconds: self.max_hold_seconds,
            max_units_per_booking: self.max_units_per_booking,
            max_units_per_customer: self.max_units_per_customer,
            max_active_bookings_per_customer: self.max_active_bookings_per_customer,
            orphans: self.orphans.map(|word| match word {
                OrphansWord::Allow => Orphans::Allow,
                OrphansWord::Avoid => Orphans::Avoid,
                OrphansWord::Forbid => Orphans::Forbid,
            }),
            prefer: self.prefer.map(|word| match word {
                PreferWord::Front => Prefer::Front,
                PreferWord::Center => Prefer::Center,
            }),
            late_payment: self.late_payment.map(IfExpired::rule),
            tickets: self.tickets.map(|word| match word {
                TicketsWord::Any => TicketRule::Any,
                TicketsWord::Registered => TicketRule::Registered,
            }),
            require_idempotency_key: self.require_idempotency_key,
        }
    }
}

impl RulesBody {
    pub(crate) fn of(rules: &Rules) -> RulesBody {
        RulesBody {
            hold_ttl_seconds: rules.hold_ttl_seconds,
            min_hold_seconds: rules.min_hold_seconds,
            max_hold_seconds: rules.max_hold_seconds,
            max_units_per_booking: rules.max_units_per_booking,
            max_units_per_customer: rules.max_units_per_customer,
            max_active_bookings_per_customer: rules.max_active_bookings_per_customer,
            orphans: match rules.orphans {
                Orphans::Allow => OrphansWord::Allow,
                Orphans::Avoid => OrphansWord::Avoid,
                Orphans::Forbid => OrphansWord::Forbid,
            },
            prefer: match rules.prefer {
                Prefer::Front => PreferWord::Front,
                Prefer::Center => PreferWord::Center,
            },
            late_payment: IfExpired::of(rules.late_payment),
            tickets: match rules.tickets {
                TicketRule::Any => TicketsWord::Any,
                TicketRule::Registered => TicketsWord::Registered,
            },
            require_idempotency_key: rules.require_idempotency_key,
        }
    }
}

impl SalesBody {
    pub(crate) fn window(self) -> SalesWindow {
        SalesWindow {
            opens_at: self.opens_at.map(|moment| moment.0),
            closes_at: self.closes_at.map(|moment| moment.0),
        }
    }

    pub(crate) fn of(window: SalesWindow) -> SalesBody {
        SalesBody { opens_at: window.opens_at.map(Moment), closes_at: window.closes_at.map(Moment) }
    }
}

impl StatusWord {
    pub(crate) fn of(status: InventoryStatus) -> StatusWord {
        match status {
            InventoryStatus::Open => StatusWord::Open,
            InventoryStatus::Closed => StatusWord::Closed,
            InventoryStatus::Cancelled => StatusWord::Cancelled,
            InventoryStatus::Deleted => StatusWord::Deleted,
        }
    }
}

/// What all three kinds of PATCH have in common.
pub(crate) fn terms_patch(
    name: Option<&String>,
    status: Option<StatusPatch>,
    sales: Option<SalesPatch>,
    rules: Option<&RulesInput>,
) -> TermsPatch {
    TermsPatch {
        name: name.cloned(),
        open: status.map(|status| status == StatusPatch::Open),
        sales: sales.map(SalesPatch::patch).unwrap_or_default(),
        rules: rules.map(RulesInput::patch).unwrap_or_default(),
    }
}

/// A currency's code.
pub(crate) fn currency(text: &str) -> Result<Currency, Problem> {
    let code = text.as_bytes().try_into().ok().filter(|code: &[u8; 3]| code.is_ascii());
    code.map(Currency).ok_or_else(|| Problem::invalid("/currency", "must be three capital letters, like TWD"))
}
