//! The body of `POST /v1/bookings`, and the command that it stands for.

use std::sync::Arc;

use boxoffice_core::commands::{AreaWish, BestAvailable, Book, Places, SeatWish, SectionSeats, Want};
use boxoffice_core::event::SeatName;
use boxoffice_core::ids::{BookingId, InventoryKind, is_customer};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::ids::{booking_id, inventory_of};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::body::{string, value};
use super::create::booking_id_taken;
use crate::app::App;
use crate::caller::Caller;
use crate::contacts::{Contact, UnsavedKey};
use crate::fault::shown;
use crate::idempotency::Understood;
use crate::ids::{CustomerReference, TicketId, chosen_id, find_inventory};
use crate::input::{Object, null_as_default};
use crate::problem::Problem;

/// Who wants what.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBooking {
    /// A UUID of the caller's own, unique within the tenant. Without an `Idempotency-Key` it works as one: the same id with the same request gets the first answer
    /// again, with another request `BOOKING_ID_TAKEN`.
    #[serde(default, deserialize_with = "chosen_id")]
    pub(crate) id: Option<Uuid>,
    #[schema(value_type = CustomerReference)]
    pub(crate) customer: String,
    /// How to reach the customer about this booking. Stored encrypted, and erasable; shown to `admin` and `operator` only.
    #[serde(default)]
    pub(crate) contact: Option<Contact>,
    /// The caller's own number or name for the booking. Stored in the clear for good: put no contact details here, use `contact`.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 64, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    pub(crate) reference: Option<String>,
    /// Exactly one of `event`, `schedule` and `shop`.
    #[serde(default)]
    pub(crate) event: Option<String>,
    #[serde(default)]
    pub(crate) schedule: Option<String>,
    #[serde(default)]
    pub(crate) shop: Option<String>,
    #[serde(default)]
    pub(crate) seats: Option<Vec<SeatsInSection>>,
    #[serde(default)]
    pub(crate) best_available: Option<Best>,
    #[serde(default)]
    pub(crate) areas: Option<Vec<PlacesInArea>>,
    #[serde(default)]
    pub(crate) slot: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<TicketId>>)]
    pub(crate) tickets: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) r#box: Option<String>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) quantity: Option<u32>,
    /// Between the rules `min_hold_seconds` and `max_hold_seconds`; for `public` keys at most the rule `hold_ttl_seconds`.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    pub(crate) hold_ttl_seconds: Option<u32>,
    /// Sold at once, without a hold.
    #[serde(default)]
    pub(crate) confirm: Option<bool>,
    /// The caller's own data, at most 4 KiB. Stored in the clear for good: put no contact details here, use `contact`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Object>,
}

/// As JSON in which what is not there is left out, and so is what it would mean. By hand: every booking has a fingerprint, and most are a
/// customer, an event and a few seats. Without the contact: the journal keeps fingerprints after a contact was erased. Replays compare it
/// with the sealed one ([`check_contact`](super::create::check_contact)).
impl Understood for NewBooking {
    fn write(&self, text: &mut Vec<u8>) {
        fn field<T: Serialize>(text: &mut Vec<u8>, name: &str, contents: Option<&T>) {
            if let Some(contents) = contents {
                text.extend_from_slice(name.as_bytes());
                value(text, contents);
            }
        }
        fn words(text: &mut Vec<u8>, name: &str, contents: Option<&String>) {
            if let Some(contents) = contents {
                text.extend_from_slice(name.as_bytes());
                string(text, contents);
            }
        }
        let NewBooking {
            id,
            customer,
            contact: _,
            reference,
            event,
            schedule,
            shop,
            seats,
            best_available,
            areas,
            slot,
            tickets,
            r#box,
            quantity,
            hold_ttl_seconds,
            confirm,
            metadata,
        } = self;
        text.push(b'{');
        if let Some(id) = id {
            field(text, "\"id\":", Some(id));
            text.push(b',');
        }
        words(text, "\"customer\":", Some(customer));
        words(text, ",\"reference\":", reference.as_ref());
        words(text, ",\"event\":", event.as_ref());
        words(text, ",\"schedule\":", schedule.as_ref());
        words(text, ",\"shop\":", shop.as_ref());
        field(text, ",\"seats\":", seats.as_ref());
        match best_available {
            Some(Best { quantity, section: None, adjacent: Adjacent::Preferred }) => {
                field(text, ",\"best_available\":{\"quantity\":", Some(quantity));
                text.extend_from_slice(b",\"adjacent\":\"preferred\"}");
            }
            _ => field(text, ",\"best_available\":", best_available.as_ref()),
        }
        field(text, ",\"areas\":", areas.as_ref());
        words(text, ",\"slot\":", slot.as_ref());
        field(text, ",\"tickets\":", tickets.as_ref());
        words(text, ",\"box\":", r#box.as_ref());
        field(text, ",\"quantity\":", quantity.as_ref().filter(|&&quantity| quantity != 1));
        field(text, ",\"hold_ttl_seconds\":", hold_ttl_seconds.as_ref());
        field(text, ",\"confirm\":", confirm.as_ref().filter(|&&confirm| confirm));
        field(text, ",\"metadata\":", metadata.as_ref());
        text.push(b'}');
    }
}

/// Seats of one subsection, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeatsInSection {
    #[schema(example = "A-1")]
    section: String,
    #[schema(example = json!(["1-1", "1-2"]))]
    ids: Vec<String>,
}

/// The best seats that are left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BestAvailable)]
pub(crate) struct Best {
    #[schema(minimum = 1, maximum = 1000)]
    quantity: u32,
    /// A section or subsection [default: any section].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Option<Adjacent>)]
    adjacent: Adjacent,
}

/// Whether the seats must be side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Adjacent {
    /// If possible.
    #[default]
    Preferred,
    /// Or not at all.
    Required,
}

/// Places in a standing area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlacesInArea {
    name: String,
    #[schema(minimum = 1, maximum = 1000)]
    quantity: u32,
}

impl NewBooking {
    /// Kind and id of the inventory it is for.
    pub(crate) fn inventory_id(&self) -> Result<(InventoryKind, &str), Problem> {
        match (&self.event, &self.schedule, &self.shop) {
            (Some(id), None, None) => Ok((InventoryKind::Event, id)),
            (None, Some(id), None) => Ok((InventoryKind::Schedule, id)),
            (None, None, Some(id)) => Ok((InventoryKind::Shop, id)),
            _ => Err(Problem::invalid("", "must name one of event, schedule and shop")),
        }
    }

    /// The contact in the answer to this request. It is the request's own: so it need not be opened, and the first answer is repeated as it
    /// was.
    pub(crate) fn contact_for(&self, caller: &Caller) -> Option<Box<Contact>> {
        self.contact.as_ref().filter(|_| caller.reads_contacts()).cloned().map(Box::new)
    }

    /// The inventory it is for.
    pub(crate) async fn inventory(&self, app: &App, caller: &Caller) -> Result<InventoryNumber, Problem> {
        let (kind, id) = self.inventory_id()?;
        find_inventory(&app.engine, &caller.tenant, kind, id).await
    }

    /// The command that makes it, and the key of its contact, which must be kept before the command is submitted. The id of one who
    /// chose none says when it was asked for.
    pub(crate) fn command(
        &self,
        app: &App,
        caller: &Caller,
        inventory: InventoryNumber,
        asked_at: Timestamp,
    ) -> Result<(Book, Option<UnsavedKey>), Problem> {
        let confirm = self.confirm.unwrap_or(false);
        if confirm && !caller.may_take_money() {
            return Err(Problem::forbidden("This key makes holds only."));
        }
        let want = self.want()?;
        let chosen = self.id.map(|uuid| BookingId::from_bytes(uuid.into_bytes()));
        // Ids that name an inventory are given by us; one that was booked elsewhere before the inventory existed would be two.
        if chosen.is_some_and(|id| inventory_of(id) == Some(inventory)) {
            return Err(booking_id_taken("Ids of this form are given by the server. Choose another one."));
        }
        let (contact, key) = match &self.contact {
            // A customer who cannot be one is refused below, and leaves nothing behind.
            Some(contact) if is_customer(&self.customer) => {
                let (sealed, key) = app.contacts.seal(&caller.tenant, &self.customer, contact)?;
                (Some(sealed), Some(key))
            }
            Some(_) | None => (None, None),
        };
        let metadata = self.metadata.as_ref().map(|object| {
            let bytes = serde_json::to_vec(object).expect("an object is plain data");
            Arc::from(bytes)
        });
        let book = Book {
            id: chosen.unwrap_or_else(|| booking_id(inventory, asked_at, rand::random())),
            customer: self.customer.as_str().into(),
            contact,
            reference: self.reference.as_deref().map(Arc::from),
            want,
            hold_ttl_seconds: self.hold_ttl_seconds,
            hold_at_most_default: !caller.may_take_money(),
            confirm,
            metadata,
            redeem_code: app.engine.new_redeem_code(),
        };
        Ok((book, key))
    }

    fn want(&self) -> Result<Want, Problem> {
        if self.event.is_some() {
            self.refuse_others(
                "an event",
                &[
                    ("slot", self.slot.is_some()),
                    ("tickets", self.tickets.is_some()),
                    ("box", self.r#box.is_some()),
                    ("quantity", self.quantity.is_some()),
                ],
            )?;
            return self.want_of_event();
        }
        let of_event = [
            ("seats", self.seats.is_some()),
            ("best_available", self.best_available.is_some()),
            ("areas", self.areas.is_some()),
        ];
        if self.schedule.is_some() {
            self.refuse_others("a schedule", &of_event)?;
            self.refuse_others("a schedule", &[("box", self.r#box.is_some())])?;
            let slot = self.slot.as_ref().ok_or_else(|| Problem::invalid("/slot", "is missing"))?;
            let slot = parse_slot(slot, "/slot")?;
            let places = match (&self.tickets, self.quantity) {
                (Some(_), Some(_)) => {
                    return Err(Problem::invalid("/quantity", "must not stand beside tickets"));
                }
                (Some(tickets), None) => {
                    Places::Tickets(tickets.iter().map(|ticket| ticket.as_str().into()).collect())
                }
                (None, Some(quantity)) => Places::Quantity(quantity),
                (None, None) => return Err(Problem::invalid("/quantity", "is missing, and so are tickets")),
            };
            return Ok(Want::Slot { slot, places });
        }
        self.refuse_others("a shop", &of_event)?;
        self.refuse_others("a shop", &[("slot", self.slot.is_some()), ("tickets", self.tickets.is_some())])?;
        let id = self.r#box.as_ref().ok_or_else(|| Problem::invalid("/box", "is missing"))?;
        let quantity = self.quantity.unwrap_or(1);
        Ok(Want::Box { id: id.as_str().into(), quantity })
    }

    fn refuse_others(&self, kind: &str, fields: &[(&str, bool)]) -> Result<(), Problem> {
        match fields.iter().find(|(_, given)| *given) {
            Some((field, _)) => Err(Problem::invalid(&format!("/{field}"), format!("is not for {kind}"))),
            None => Ok(()),
        }
    }

    fn want_of_event(&self) -> Result<Want, Problem> {
        let areas = self.areas.as_deref().unwrap_or_default();
        let seats = match (&self.seats, &self.best_available) {
            (Some(_), Some(_)) => {
                return Err(Problem::invalid("/best_available", "must not stand beside seats"));
            }
            (Some(seats), None) => SeatWish::Named(named(seats, "/seats")?),
            (None, Some(best)) => SeatWish::Best(best.wish()),
            (None, None) if areas.is_empty() => {
                return Err(Problem::invalid("", "must ask for seats, best_available or areas"));
            }
            (None, None) => SeatWish::None,
        };
        let areas =
            areas.iter().map(|area| AreaWish { name: area.name.as_str().into(), quantity: area.quantity });
        Ok(Want::Event { seats, areas: areas.collect() })
    }
}

impl Best {
    pub(crate) fn wish(&self) -> BestAvailable {
        BestAvailable {
            quantity: self.quantity,
            section: self.section.clone(),
            adjacent_required: self.adjacent == Adjacent::Required,
        }
    }
}

/// Seats by name; a name that is not `row-seat` is told by its place.
pub(crate) fn named(sections: &[SeatsInSection], pointer: &str) -> Result<Vec<SectionSeats>, Problem> {
    let section = |(index, of): (usize, &SeatsInSection)| {
        let seats = parse_seats(&of.ids, &format!("{pointer}/{index}/ids"))?;
        Ok(SectionSeats { section: of.section.clone(), seats })
    };
    sections.iter().enumerate().map(section).collect()
}

pub(crate) fn parse_seats(names: &[String], pointer: &str) -> Result<Vec<SeatName>, Problem> {
    let seat = |(index, name): (usize, &String)| {
        name.parse().map_err(|()| not_a_seat(&format!("{pointer}/{index}"), name))
    };
    names.iter().enumerate().map(seat).collect()
}

pub(crate) fn parse_slot(text: &str, pointer: &str) -> Result<boxoffice_core::time::SlotId, Problem> {
    let message = || format!("must be a slot like 2026-12-01T09:00, got {}", shown(text));
    text.parse().map_err(|()| Problem::invalid(pointer, message()))
}

/// A name in the place of a seat's that is none.
pub(crate) fn not_a_seat(pointer: &str, name: &str) -> Problem {
    Problem::invalid(pointer, format!("must be row-seat, like 4-12, got {}", shown(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::parse;

    fn understood(body: &str) -> String {
        let mut text = Vec::new();
        parse::<NewBooking>(body.as_bytes()).unwrap().write(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_booking_is_understood_in_the_bytes_that_keys_remember() {
        for (sent, kept) in [
            (
                r#"{ "best_available": {"quantity": 1}, "event": "gala", "customer": "ann" }"#,
                r#"{"customer":"ann","event":"gala","best_available":{"quantity":1,"adjacent":"preferred"}}"#,
            ),
            (
                r#"{"customer":"a\"\\\n\u00e9","event":"gala","best_available":{"adjacent":"required","quantity":2,"section":"A"}}"#,
                r#"{"customer":"a\"\\\né","event":"gala","best_available":{"quantity":2,"section":"A","adjacent":"required"}}"#,
            ),
            (
                r#"{"id":"019ADA5E-0B5C-7C3A-9A42-6F1E2D3C4B5A","customer":"ann","contact":{"email":"a@example.com"},"event":"gala",
                    "seats":[{"section":"A-1","ids":["1-1","1-2"]}],"areas":[{"name":"standing","quantity":2}],"confirm":true}"#,
                r#"{"id":"019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a","customer":"ann","event":"gala","seats":[{"section":"A-1","ids":["1-1","1-2"]}],"areas":[{"name":"standing","quantity":2}],"confirm":true}"#,
            ),
            (
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","tickets":["T-1"],"hold_ttl_seconds":60,"confirm":false}"#,
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","tickets":["T-1"],"hold_ttl_seconds":60}"#,
            ),
            (
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","quantity":3,"metadata":{"b":1,"a":[null]}}"#,
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","quantity":3,"metadata":{"a":[null],"b":1}}"#,
            ),
            (
                r#"{"customer":"ann","event":"gala","best_available":{"quantity":2,"section":"A"}}"#,
                r#"{"customer":"ann","event":"gala","best_available":{"quantity":2,"section":"A","adjacent":"preferred"}}"#,
            ),
            (
                r#"{"customer":"\u007f\u001f\b/","event":"gala","best_available":{"quantity":2,"adjacent":"required"},"areas":[]}"#,
                "{\"customer\":\"\u{7f}\\u001f\\b/\",\"event\":\"gala\",\"best_available\":{\"quantity\":2,\"adjacent\":\"required\"},\"areas\":[]}",
            ),
            (
                r#"{"customer":"ann","contact":{"phone":"+1"},"event":"gala","seats":[],"metadata":{"n":-1.50,"t":"\t","o":{"y":{},"x":1e3}}}"#,
                r#"{"customer":"ann","event":"gala","seats":[],"metadata":{"n":-1.5,"o":{"x":1000.0,"y":{}},"t":"\t"}}"#,
            ),
            (
                r#"{"customer":"ann","shop":"bakery","box":"evening","quantity":1,"event":null}"#,
                r#"{"customer":"ann","shop":"bakery","box":"evening"}"#,
            ),
        ] {
            assert_eq!(understood(sent), kept);
        }
    }
}
