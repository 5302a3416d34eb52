//! Which tenant may begin another attempt: an equal share for each tenant with something to send.
//!
//! A tenant below its share may always begin, even while the attempts of others hang and hold more than theirs. What is
//! left of the attempts at once goes to tenants that can use it.

use std::collections::HashMap;
use std::sync::Arc;

/// Attempts under way, of all webhooks, while no tenant claims its share.
const ATTEMPTS_AT_ONCE: usize = 64;
/// Attempts under way, also while tenants claim their shares of what others still hold. It is reached by more than 30
/// tenants whose receivers all hang.
const ATTEMPTS_AT_ONCE_MAX: usize = 256;

/// The attempts under way.
#[derive(Default)]
pub(super) struct AttemptSlots {
    /// The other owners of each are its attempts.
    by_tenant: HashMap<Arc<str>, Arc<()>>,
}

/// Held by an attempt for as long as it lasts.
pub(super) struct AttemptSlot(#[expect(dead_code, reason = "only its count of owners matters")] Arc<()>);

impl AttemptSlots {
    /// The tenants with attempts under way.
    pub(super) fn tenants(&mut self) -> impl Iterator<Item = &Arc<str>> {
        self.by_tenant.retain(|_, slots| attempts_of(slots) > 0);
        self.by_tenant.keys()
    }

    /// A slot for a tenant, if it may have another one while so many tenants have something to send or under way.
    pub(super) fn try_acquire(&mut self, tenant: &Arc<str>, tenants: usize) -> Option<AttemptSlot> {
        let share = (ATTEMPTS_AT_ONCE / tenants.max(1)).max(1);
        let all: usize = self.by_tenant.values().map(attempts_of).sum();
        let slots = self.by_tenant.entry(Arc::clone(tenant)).or_default();
        let may_begin = all < ATTEMPTS_AT_ONCE || attempts_of(slots) < share && all < ATTEMPTS_AT_ONCE_MAX;
        may_begin.then(|| AttemptSlot(Arc::clone(slots)))
    }
}

fn attempts_of(slots: &Arc<()>) -> usize {
    Arc::strong_count(slots) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as many as a tenant gets.
    fn take_all(slots: &mut AttemptSlots, tenant: &str, tenants: usize) -> Vec<AttemptSlot> {
        std::iter::from_fn(|| slots.try_acquire(&tenant.into(), tenants)).collect()
    }

    #[test]
    fn tenant_gets_its_share_at_once_whatever_others_hold() {
        let mut slots = AttemptSlots::default();
        let first = take_all(&mut slots, "a", 1);
        assert_eq!(first.len(), 64, "all of them while no other tenant has work");
        let second = take_all(&mut slots, "b", 2);
        assert_eq!(second.len(), 32, "half of them, although none is free");
        assert_eq!(take_all(&mut slots, "a", 2).len(), 0, "more than its share already");
        assert_eq!(take_all(&mut slots, "c", 100).len(), 1, "one for each at least");
        drop(first);
        assert_eq!(slots.tenants().count(), 1, "one of them is over");
        assert_eq!(take_all(&mut slots, "a", 2).len(), 32);
        drop(second);
    }

    #[test]
    fn attempts_of_any_number_of_tenants_are_bounded() {
        let mut slots = AttemptSlots::default();
        let all: Vec<AttemptSlot> =
            (1..=400).flat_map(|count| take_all(&mut slots, &format!("t-{count}"), count)).collect();
        assert_eq!(all.len(), ATTEMPTS_AT_ONCE_MAX);
    }
}
