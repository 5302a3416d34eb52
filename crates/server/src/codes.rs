//! Every error code, with its status and what it means to a caller: the table behind `/docs#CODE`.

/// An error code of the API.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Code {
    pub(crate) code: &'static str,
    pub(crate) status: u16,
    pub(crate) meaning: &'static str,
}

const fn of(status: u16, code: &'static str, meaning: &'static str) -> Code {
    Code { code, status, meaning }
}

/// By status, and by name within one.
pub(crate) const CODES: &[Code] = &[
    of(400, "DUPLICATE_SEAT", "A seat is asked for twice in one booking."),
    of(400, "IDEMPOTENCY_KEY_REQUIRED", "The rules of this inventory demand an `Idempotency-Key`."),
    of(
        400,
        "INVALID_REQUEST",
        "A value that could never be accepted; `errors` names its place as a JSON pointer.",
    ),
    of(400, "MALFORMED_JSON", "The body is not JSON, or ended early."),
    of(
        400,
        "REQUEST_REFUSED",
        "The request cannot be understood as HTTP, or its forwarding headers contradict each other; some have another status.",
    ),
    of(400, "TOO_MANY_UNITS", "More units than a booking may have here; `most` is the limit."),
    of(401, "UNAUTHENTICATED", "There is no key, or one that is not known."),
    of(403, "FORBIDDEN", "The role of the key does not allow it."),
    of(403, "HOLD_TOKEN_REQUIRED", "A `public` key needs the booking's `Hold-Token`."),
    of(404, "AREA_NOT_FOUND", "The event has no such area."),
    of(404, "BOOKING_NOT_FOUND", "There is no such booking, or it is not yours."),
    of(404, "BOX_NOT_FOUND", "The shop has no such box."),
    of(404, "DELIVERY_NOT_FOUND", "The webhook has no such delivery."),
    of(404, "EVENT_NOT_FOUND", "There is no such event."),
    of(
        404,
        "JOURNAL_CUT",
        "The journal no longer reaches back that far (`--journal-retention`); it begins at `first_sequence`.",
    ),
    of(404, "KEY_NOT_FOUND", "There is no such key."),
    of(404, "ROUTE_NOT_FOUND", "There is nothing at this address."),
    of(404, "SCHEDULE_NOT_FOUND", "There is no such schedule."),
    of(404, "SEAT_NOT_FOUND", "The section has no such seat."),
    of(404, "SECTION_NOT_FOUND", "The event has no such section."),
    of(404, "SHOP_NOT_FOUND", "There is no such shop."),
    of(404, "SLOT_NOT_FOUND", "The schedule has no such slot."),
    of(404, "WEBHOOK_NOT_FOUND", "There is no such webhook."),
    of(405, "METHOD_NOT_ALLOWED", "The address does not take this method; `Allow` says which it takes."),
    of(408, "REQUEST_TIMEOUT", "The body took too long to arrive."),
    of(
        409,
        "ACTIVE_RESERVATION_EXISTS",
        "The customer may have one active booking here, and has it: `booking`.",
    ),
    of(409, "ALREADY_CONFIRMED", "It was confirmed with another payment reference."),
    of(409, "ALREADY_EXISTS", "The id is taken, also if the event that had it was deleted."),
    of(409, "ALREADY_REDEEMED", "It, or a unit named, was redeemed before, at `redeemed_at`."),
    of(409, "AREA_FULL", "The area has fewer places than asked for; `available` are left."),
    of(409, "BOOKING_ID_TAKEN", "A booking of this id exists."),
    of(
        409,
        "BOX_UNAVAILABLE",
        "The box is sold out, or its sales are closed: `reason` is `sold_out` or `closed`.",
    ),
    of(409, "CANNOT_CREATE_PAST_SLOT", "The slot would be over already."),
    of(409, "CAPACITY_BELOW_BOOKED_COUNT", "More places are booked than it would have: `booked_count`."),
    of(409, "CUSTOMER_LIMIT_REACHED", "The customer has as many units or bookings as the rules allow."),
    of(
        409,
        "EVENT_HAS_BOOKINGS",
        "The event has bookings, also if they ended: cancel it instead of deleting it.",
    ),
    of(409, "HOLD_LIMIT_REACHED", "A hold may not last that long after its creation."),
    of(409, "INSUFFICIENT_INVENTORY", "Fewer are left than asked for: `available`."),
    of(409, "INVENTORY_CLOSED", "The event, schedule or shop is closed, or the event was cancelled."),
    of(409, "NEW_SLOT_FULL", "The slot to move to has too few places; `alternatives` have enough."),
    of(409, "NOT_ADJACENT", "Enough seats are free, but not side by side."),
    of(409, "NOT_CANCELLABLE", "A booking that is redeemed, even in part, or expired cannot be cancelled."),
    of(409, "NOT_CONFIRMABLE", "Only a hold can be confirmed."),
    of(409, "NOT_ENOUGH_SEATS", "Fewer seats are free than asked for: `available`."),
    of(409, "NOT_EXTENDABLE", "Only a hold can be extended."),
    of(409, "NOT_IN_BOOKING", "The booking does not have this seat or ticket."),
    of(409, "NOT_MOVABLE", "This booking cannot be moved, or not there."),
    of(409, "NOT_REDEEMABLE", "Only a confirmed booking can be redeemed."),
    of(409, "NOT_REDEEMED", "Nothing to undo: the booking, or a unit named, was not redeemed."),
    of(
        409,
        "ORPHAN_SEAT",
        "It would leave a single seat that nobody buys: `orphans`; `alternatives` would not.",
    ),
    of(409, "PICKUP_WINDOW_CLOSED", "It can no longer be collected."),
    of(409, "SALES_CLOSED", "Sales ended at `closed_at`."),
    of(409, "SALES_NOT_OPEN", "Sales begin at `opens_at`."),
    of(
        409,
        "SEAT_UNAVAILABLE",
        "Some of the seats are not free: `conflicts`; `alternatives` are, in the same number.",
    ),
    of(
        409,
        "SECRET_NO_LONGER_SHOWN",
        "A repeated request for a key or webhook whose secret was used or revoked since. Create another one.",
    ),
    of(409, "SLOT_ALREADY_EXISTS", "A slot with this start time already exists."),
    of(409, "SLOT_CLOSED", "The slot is closed."),
    of(409, "SLOT_FULL", "The slot has too few places; `alternatives` are the nearest that have enough."),
    of(409, "SLOT_HAS_BOOKINGS", "Places in the slot are booked."),
    of(409, "SLOT_PAST", "The slot is over."),
    of(
        409,
        "TICKET_ALREADY_RESERVED",
        "The ticket is in another live booking: `booking`, for callers who may see it.",
    ),
    of(409, "TICKET_ALREADY_USED", "The ticket was redeemed."),
    of(409, "TICKET_EXPIRED", "The ticket may no longer book."),
    of(409, "TICKET_NOT_ACTIVE", "The ticket is registered, and not active."),
    of(
        409,
        "TICKET_NOT_FOUND",
        "Only registered tickets may book here, and it is not one. 404 for an address that names an unknown ticket.",
    ),
    of(409, "TICKET_NOT_RESERVED", "The ticket is in no booking that is on hold or confirmed."),
    of(409, "WEBHOOK_DISABLED", "The webhook answered 410 once; nothing more is sent."),
    of(409, "WEBHOOK_LIMIT_REACHED", "There are as many webhooks as a tenant may have."),
    of(409, "WRONG_CODE", "This is not the booking's redeem code."),
    of(409, "WRONG_DATE", "The slot is on another day."),
    of(409, "WRONG_TIME", "It can be redeemed from `opens_at` until `closes_at`; `null` is no bound."),
    of(410, "HOLD_EXPIRED", "The hold is over, and its units went back on sale."),
    of(413, "PAYLOAD_TOO_LARGE", "The body is larger than this address takes."),
    of(415, "UNSUPPORTED_MEDIA_TYPE", "Bodies are sent as `application/json`."),
    of(422, "IDEMPOTENCY_KEY_REUSED", "The `Idempotency-Key` was used for another request."),
    of(429, "RATE_LIMITED", "Too many requests or holds; try again after `Retry-After` seconds."),
    of(500, "INTERNAL_ERROR", "A mistake of ours. Whether it was done is not known."),
    of(
        503,
        "OUTCOME_UNKNOWN",
        "Nobody can say whether it was done: send it again with the same `Idempotency-Key`.",
    ),
    of(503, "OVERLOADED", "Too much is waiting. Nothing was done; try again after `Retry-After` seconds."),
    of(
        503,
        "UNAVAILABLE",
        "The server cannot answer now. Nothing was done; try again after `Retry-After` seconds.",
    ),
];

pub(crate) fn is_listed(code: &str) -> bool {
    CODES.iter().any(|listed| listed.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxoffice_core::refusal::RefusalCode;
    use strum::IntoEnumIterator;

    #[test]
    fn codes_are_listed_once_in_order() {
        assert!(CODES.is_sorted_by_key(|code| (code.status, code.code)));
        let mut names: Vec<&str> = CODES.iter().map(|code| code.code).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CODES.len());
    }

    #[test]
    fn every_refusal_of_the_rules_is_listed_with_its_status() {
        for refusal in RefusalCode::iter() {
            let status = crate::answer::status_of(refusal.kind()).as_u16();
            let code: &str = refusal.into();
            let listed = CODES.iter().find(|listed| listed.code == code);
            assert_eq!(listed.map(|listed| listed.status), Some(status), "{code}");
        }
    }
}
