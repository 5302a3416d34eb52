//! Compares what the core answered with what the model expects.

use std::collections::BTreeSet;

use boxoffice_core::change::Change;
use boxoffice_core::outcome::{Applied, Outcome};
use boxoffice_core::refusal::{Refusal, SeatAlternative};
use boxoffice_core::seats::Seat;

use crate::ensure;
use crate::naive::{Answer, Asked, Prediction};

pub(crate) fn check_answer(prediction: &Prediction, applied: &Applied) -> Result<(), String> {
    let expired: Vec<_> = applied
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Expired { booking } => Some(*booking),
            _ => None,
        })
        .collect();
    ensure!(expired == prediction.expired, "{expired:?} expired instead of {:?}", prediction.expired);
    let remembered = applied.changes.iter().any(|change| matches!(change, Change::Remembered { .. }));
    ensure!(remembered == prediction.remembered, "remembered: {remembered}");
    let replayed = matches!(prediction.answer, Answer::Replayed(_));
    ensure!(applied.replayed == replayed, "replayed: {}, expected {replayed}", applied.replayed);
    match (&prediction.answer, &applied.outcome) {
        (Answer::Replayed(kept), outcome) => {
            ensure!(*outcome == kept.outcome, "replayed {outcome:?} instead of {:?}", kept.outcome);
            ensure!(applied.decided_at == kept.decided_at, "replayed with another time");
        }
        (Answer::Granted(expected), Outcome::Granted(grant)) => {
            ensure!(grant == expected, "granted {grant:?}\ninstead of {expected:?}");
        }
        (Answer::Refused(no), Outcome::Refused(refusal)) => {
            let plain = without_alternatives(refusal);
            ensure!(plain == no.refusal, "refused with {plain:?}\ninstead of {:?}", no.refusal);
            check_alternatives(refusal, no.asked.as_deref())?;
        }
        (Answer::Granted(expected), Outcome::Refused(refusal)) => {
            return Err(format!("refused with {refusal:?}\ninstead of granting {expected:?}"));
        }
        (Answer::Refused(no), Outcome::Granted(grant)) => {
            return Err(format!("granted {grant:?}\ninstead of refusing with {:?}", no.refusal));
        }
    }
    if !replayed {
        ensure!(applied.decided_at == prediction.now, "decided at {:?}", applied.decided_at);
    }
    Ok(())
}

/// A refusal without what the model does not predict: free seats offered instead, and the words about a bad request.
fn without_alternatives(refusal: &Refusal) -> Refusal {
    let mut plain = refusal.clone();
    match &mut plain {
        Refusal::InvalidRequest { pointer, message } => {
            pointer.clear();
            message.clear();
        }
        Refusal::SeatUnavailable { alternatives, .. } | Refusal::OrphanSeat { alternatives, .. } => {
            alternatives.clear();
        }
        _ => {}
    }
    plain
}

fn check_alternatives(refusal: &Refusal, asked: Option<&Asked>) -> Result<(), String> {
    let (alternatives, orphans_forbidden) = match refusal {
        Refusal::SeatUnavailable { alternatives, .. } => (alternatives, false),
        Refusal::OrphanSeat { alternatives, .. } => (alternatives, true),
        _ => return Ok(()),
    };
    let asked = asked.ok_or("the model did not say which seats were asked for")?;
    check_offers(alternatives, asked, orphans_forbidden)
        .map_err(|problem| format!("{problem}: {alternatives:?}"))
}

fn check_offers(
    alternatives: &[SeatAlternative],
    asked: &Asked,
    orphans_forbidden: bool,
) -> Result<(), String> {
    ensure!(alternatives.len() <= 3, "too many alternatives");
    let mut sets: BTreeSet<&[Seat]> = BTreeSet::from([&asked.seats[..]]);
    for alternative in alternatives {
        let seats = &alternative.seats[..];
        ensure!(seats.len() == asked.seats.len(), "an alternative of another size");
        ensure!(seats.is_sorted_by(|one, next| one < next), "an alternative out of order");
        ensure!(seats.iter().all(|seat| asked.hall.is_free(*seat)), "an alternative that is not free");
        ensure!(sets.insert(seats), "an alternative that is offered twice, or was asked for");
        let follows = |one: &Seat, next: &Seat| {
            (one.subsection, one.row, one.number + 1) == (next.subsection, next.row, next.number)
        };
        ensure!(
            alternative.adjacent == seats.is_sorted_by(follows),
            "an alternative says wrongly whether it is together"
        );
        let price: i64 = seats.iter().map(|seat| asked.hall.price(*seat).0).sum();
        ensure!(alternative.total_price.0 == price, "an alternative at a wrong price");
    }
    let (together, without_orphan) = asked.hall.can_seat(asked.seats[0].subsection, asked.seats.len());
    ensure!(!together || !alternatives.is_empty(), "no alternative, though there is one");
    if orphans_forbidden && without_orphan {
        let orphans = |offer: &SeatAlternative| !asked.hall.orphans_of(&offer.seats).is_empty();
        ensure!(
            !alternatives.iter().any(orphans),
            "an alternative that leaves a single seat, though others do not"
        );
    }
    Ok(())
}
