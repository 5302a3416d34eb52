//! Under which keys the mirror shows what.

use boxoffice_core::ids::{BookingId, InventoryKind, parts_of_name};

/// Whose events are called by their id alone.
const DEFAULT_TENANT: &str = "default";

/// The keys of one inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) kind: InventoryKind,
    /// What ids of inventories and bookings begin with in keys: the name of a tenant other than `default`, and a slash.
    prefix: String,
    /// The inventory's id as it stands in keys.
    id: String,
    is_cluster: bool,
}

impl Keys {
    /// The keys of an inventory, from the name that the engine knows it by; `None` for what this program did not name. A cluster
    /// wants all of them in one place: then the id stands in braces, which is what a cluster goes by.
    pub(super) fn of(name: &str, is_cluster: bool) -> Option<Keys> {
        let (tenant, kind, id) = parts_of_name(name)?;
        let prefix = if tenant == DEFAULT_TENANT { String::new() } else { format!("{tenant}/") };
        let id = format!("{prefix}{id}");
        Some(Keys { kind, prefix, id: if is_cluster { format!("{{{id}}}") } else { id }, is_cluster })
    }

    /// The sequence that everything else is as of.
    pub(super) fn sequence(&self) -> String {
        format!("{}_sequence:{}", self.kind.word(), self.id)
    }

    /// A JSON document: totals, and the sections of an event.
    pub(super) fn state(&self) -> String {
        format!("{}_state:{}", self.kind.word(), self.id)
    }

    /// Two bits a seat.
    pub(super) fn seats(&self, address: &str) -> String {
        format!("seats_bf:{}:{address}", self.id)
    }

    /// How many seats of a subsection are available.
    pub(super) fn available(&self, address: &str) -> String {
        format!("seats_avail:{}:{address}", self.id)
    }

    /// Followed by a colon and the row: how many of its seats are available.
    pub(super) fn available_in_rows(&self, address: &str) -> String {
        format!("seats_avail_row:{}:{address}", self.id)
    }

    /// A hash: when an event began to sell, and when it was sold out.
    pub(super) fn sellout(&self) -> String {
        format!("event_sellout_timer:{}", self.id)
    }

    /// A hash: how many places each slot of a schedule has left.
    pub(super) fn slots_available(&self) -> String {
        format!("slots_avail:{}", self.id)
    }

    /// Followed by a colon and a box's id: how many of it are left.
    pub(super) fn quantity(&self) -> String {
        format!("inventory:quantity:{}", self.id)
    }

    /// A set: a customer's active bookings in a shop. The shop's id has no colon, so the last one ends the customer's reference,
    /// whatever is in it. `None` of other kinds, and in a cluster, where a customer's bookings are not in one place.
    pub(super) fn reservations(&self, customer: &str) -> Option<String> {
        let is_shop = match self.kind {
            InventoryKind::Shop => true,
            InventoryKind::Event | InventoryKind::Schedule => false,
        };
        (is_shop && !self.is_cluster).then(|| format!("user:reservations:{customer}:{}", self.id))
    }

    /// A hash: one booking.
    pub(super) fn booking(&self, id: BookingId) -> String {
        format!("booking:{}", self.id_in_key(id))
    }

    /// A JSON text that lasts as long as the booking's hold.
    pub(super) fn hold(&self, id: BookingId) -> String {
        format!("reservation:ttl:{}", self.id_in_key(id))
    }

    /// Behind the tenant, as two tenants may have bookings of the same id; in a cluster in braces, so that all keys of a booking are in
    /// one slot.
    fn id_in_key(&self, id: BookingId) -> String {
        let id = format!("{}{}", self.prefix, id_text(id));
        if self.is_cluster { format!("{{{id}}}") } else { id }
    }

    /// Under which name the holds of a box speak of it: what follows `inventory:quantity:`.
    pub(super) fn box_inventory(&self, boxed: &str) -> String {
        format!("{}:{boxed}", self.id.trim_start_matches('{').trim_end_matches('}'))
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.is_cluster
    }

    /// A hash of pools by their names: areas, slots or boxes.
    pub(super) fn pools(&self) -> String {
        let pools = match self.kind {
            InventoryKind::Event => "areas",
            InventoryKind::Schedule => "slots",
            InventoryKind::Shop => "boxes",
        };
        format!("{pools}:{}", self.id)
    }
}

/// A booking's id, as clients know it.
pub(super) fn id_text(id: BookingId) -> String {
    uuid::Uuid::from_bytes(id.to_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_the_patterns_say() {
        let hall = Keys::of("default/event:gala", false).expect("an event");
        assert_eq!(hall.seats("A-1"), "seats_bf:gala:A-1");
        assert_eq!(hall.available("A-1"), "seats_avail:gala:A-1");
        assert_eq!(hall.available_in_rows("A-1"), "seats_avail_row:gala:A-1");
        assert_eq!(hall.state(), "event_state:gala");
        assert_eq!(hall.sellout(), "event_sellout_timer:gala");
        assert_eq!(hall.sequence(), "event_sequence:gala");
        assert_eq!(
            Keys::of("acme/event:gala", false).expect("an event").seats("A-1"),
            "seats_bf:acme/gala:A-1"
        );
        assert_eq!(Keys::of("acme/event:gala", true).expect("an event").state(), "event_state:{acme/gala}");
        assert_eq!(Keys::of("default/schedule:museum", false).expect("a schedule").pools(), "slots:museum");
        assert_eq!(Keys::of("default/shop:bakery", true).expect("a shop").pools(), "boxes:{bakery}");
        for unknown in ["hall", "default/hall", "default/raffle:hall"] {
            assert_eq!(Keys::of(unknown, false), None, "{unknown}");
        }
        let id = BookingId::from_bytes([0x11; 16]);
        let bakery = Keys::of("acme/shop:bakery", false).expect("a shop");
        assert_eq!(bakery.quantity(), "inventory:quantity:acme/bakery");
        assert_eq!(hall.booking(id), "booking:11111111-1111-1111-1111-111111111111");
        assert_eq!(hall.hold(id), "reservation:ttl:11111111-1111-1111-1111-111111111111");
        assert_eq!(bakery.booking(id), "booking:acme/11111111-1111-1111-1111-111111111111");
        assert_eq!(bakery.hold(id), "reservation:ttl:acme/11111111-1111-1111-1111-111111111111");
        assert_eq!(bakery.reservations("a:b c").as_deref(), Some("user:reservations:a:b c:acme/bakery"));
        assert_eq!(hall.reservations("ann"), None);
        let spread = Keys::of("default/shop:bakery", true).expect("a shop");
        assert_eq!(spread.quantity(), "inventory:quantity:{bakery}");
        assert_eq!(spread.booking(id), "booking:{11111111-1111-1111-1111-111111111111}");
        assert_eq!(spread.hold(id), "reservation:ttl:{11111111-1111-1111-1111-111111111111}");
        assert_eq!(spread.reservations("ann"), None);
        let museum = Keys::of("default/schedule:museum", false).expect("a schedule");
        assert_eq!(museum.slots_available(), "slots_avail:museum");
    }
}
