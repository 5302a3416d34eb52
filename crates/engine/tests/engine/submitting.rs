//! Commands and their answers.

use std::collections::BTreeMap;

use boxoffice_core::change::Change;
use boxoffice_core::command::Action;
use boxoffice_core::outcome::Outcome;
use boxoffice_engine::limits::BATCH_UNITS_MAX;
use boxoffice_engine::{InventoryNumber, SubmitError};

use crate::scene::{Scene, booking_of, cancel, chosen, create_hall, hold, nth, refusal_code};

#[tokio::test]
async fn a_seat_is_booked_and_read_back() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    let answer = scene.grant(hall, hold(nth(hall, 1), 3)).await;
    assert_eq!((answer.sequence, answer.replayed), (2, false));
    let booking = booking_of(&answer);
    assert_eq!(booking.units.quantity(), 3);
    let found = scene.engine.booking("", nth(hall, 1)).await.unwrap();
    assert_eq!(found, Some((hall, booking)));
    assert_eq!(scene.engine.booking("", nth(hall, 2)).await.unwrap(), None);
    assert_eq!(scene.engine.booking("", chosen(9)).await.unwrap(), None, "of no inventory at all");
}

#[tokio::test]
async fn an_inventory_that_is_refused_leaves_nothing() {
    let scene = Scene::new();
    let refused = scene.engine.submit_to("hall", create_hall("Not a slug!", 2, 4)).await.unwrap();
    assert_eq!(refusal_code(&refused), "INVALID_REQUEST");
    assert_eq!(scene.engine.number("hall"), None);
    assert_eq!(scene.engine.inventories(), []);
    let missing = scene.engine.submit_to("hall", cancel(chosen(1))).await.unwrap();
    assert_eq!(refusal_code(&missing), "BOOKING_NOT_FOUND");
    let hall = scene.hall("hall", 2, 4).await;
    assert_eq!(hall, InventoryNumber(1), "numbers are given to what exists");
}

#[tokio::test]
async fn two_who_create_the_same_inventory_get_one() {
    let scene = Scene::new();
    let (one, other) = tokio::join!(
        scene.engine.submit_to("hall", create_hall("hall", 2, 4)),
        scene.engine.submit_to("hall", create_hall("hall", 3, 5)),
    );
    assert!(matches!(one.unwrap().outcome, Outcome::Granted(_)));
    assert_eq!(refusal_code(&other.unwrap()), "ALREADY_EXISTS");
    assert_eq!(scene.engine.inventories().len(), 1);
}

#[tokio::test]
async fn unknown_inventories_are_told_apart() {
    let scene = Scene::new();
    let answer = scene.engine.submit(InventoryNumber(7), cancel(chosen(1))).await;
    assert_eq!(answer, Err(SubmitError::NoSuchInventory));
    assert!(matches!(scene.engine.view(InventoryNumber(7)).await, Err(SubmitError::NoSuchInventory)));
}

#[tokio::test]
async fn many_commands_are_answered_in_their_order() {
    let scene = Scene::new();
    let one = scene.hall("one", 1, 4).await;
    let other = scene.hall("other", 1, 4).await;
    let commands = vec![
        (one, hold(nth(one, 1), 2)),
        (other, hold(nth(other, 2), 3)),
        (InventoryNumber(99), cancel(chosen(1))),
        (one, cancel(nth(one, 1))),
        (one, hold(nth(one, 3), 4)),
        (other, hold(nth(other, 4), 2)),
    ];
    let answers = scene.engine.submit_all(commands).await;
    assert_eq!(booking_of(answers[0].as_ref().unwrap()).units.quantity(), 2);
    assert_eq!(booking_of(answers[1].as_ref().unwrap()).units.quantity(), 3);
    assert_eq!(answers[2], Err(SubmitError::NoSuchInventory));
    assert!(answers[3].is_ok());
    assert_eq!(booking_of(answers[4].as_ref().unwrap()).units.quantity(), 4, "after the cancellation");
    assert_eq!(refusal_code(answers[5].as_ref().unwrap()), "NOT_ENOUGH_SEATS");
    assert_eq!(scene.engine.submit_all(Vec::new()).await, []);
}

#[tokio::test]
async fn the_same_key_gives_the_same_answer_also_after_a_crash() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    let first = scene.grant(hall, hold(nth(hall, 1), 3)).await;
    scene.grant(hall, cancel(nth(hall, 1))).await;
    let again = scene.engine.submit(hall, hold(nth(hall, 1), 3)).await.unwrap();
    assert_eq!(again.outcome, first.outcome);
    assert_eq!((again.sequence, again.decided_at, again.replayed), (first.sequence, first.decided_at, true));
    let scene = scene.after_crash();
    let after = scene.engine.submit(hall, hold(nth(hall, 1), 3)).await.unwrap();
    assert_eq!(after, again);
}

#[tokio::test]
async fn chosen_id_is_one_booking_in_all_inventories_of_its_tenant() {
    let scene = Scene::new();
    let one = scene.hall("one", 1, 8).await;
    let other = scene.hall("other", 1, 8).await;
    let (first, second) = tokio::join!(
        scene.engine.submit(one, hold(chosen(1), 1)),
        scene.engine.submit(other, hold(chosen(1), 1)),
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    let winner = if matches!(first.outcome, Outcome::Granted(_)) {
        assert_eq!(refusal_code(&second), "BOOKING_ID_TAKEN");
        one
    } else {
        assert_eq!(refusal_code(&first), "BOOKING_ID_TAKEN");
        other
    };
    let loser = if winner == one { other } else { one };
    assert_eq!(scene.engine.booking("", chosen(1)).await.unwrap().unwrap().0, winner);
    let again = scene.engine.submit(winner, hold(chosen(1), 1)).await.unwrap();
    assert!(again.replayed, "its own inventory knows it");
    let refused = scene.engine.submit(loser, hold(chosen(1), 1)).await.unwrap();
    assert_eq!(refusal_code(&refused), "BOOKING_ID_TAKEN", "also when it is only in the store");
    let scene = scene.after_crash();
    assert_eq!(scene.engine.booking("", chosen(1)).await.unwrap().unwrap().0, winner);
}

#[tokio::test]
async fn booking_ids_of_one_tenant_are_free_for_another() {
    const ACME: &str = "acme/event:hall";
    const ACME_TOO: &str = "acme/event:club";
    const ZETA: &str = "zeta/event:hall";
    let scene = Scene::new();
    let mut halls = BTreeMap::new();
    for name in [ACME, ACME_TOO, ZETA] {
        halls.insert(name, scene.hall(name, 1, 8).await);
    }
    let named = nth(halls[ACME], 9);
    let rows = [
        (ACME, chosen(1), "booked"),
        (ZETA, chosen(1), "booked"),
        (ACME_TOO, chosen(1), "BOOKING_ID_TAKEN"),
        (ZETA, chosen(2), "booked"),
        (ACME_TOO, chosen(2), "booked"),
        (ACME, chosen(2), "BOOKING_ID_TAKEN"),
        (ACME_TOO, named, "BOOKING_ID_TAKEN"),
        (ZETA, named, "booked"),
        (ACME, named, "booked"),
    ];
    for (name, id, expected) in rows {
        let answer = scene.engine.submit(halls[name], hold(id, 1)).await.unwrap();
        let outcome = match &answer.outcome {
            Outcome::Granted(_) => "booked".to_owned(),
            Outcome::Refused(_) => refusal_code(&answer),
        };
        assert_eq!(outcome, expected, "{name} {id:?}");
    }
    let expected = [
        ("acme", chosen(1), Some(ACME)),
        ("zeta", chosen(1), Some(ZETA)),
        ("acme", chosen(2), Some(ACME_TOO)),
        ("zeta", chosen(2), Some(ZETA)),
        ("acme", named, Some(ACME)),
        ("zeta", named, Some(ZETA)),
        ("other", chosen(1), None),
        ("other", named, None),
    ];
    for scene in [&scene, &scene.after_crash()] {
        for (tenant, id, name) in expected {
            let found = scene.engine.booking(tenant, id).await.unwrap();
            assert_eq!(found.map(|(number, _)| number), name.map(|name| halls[name]), "{tenant} {id:?}");
        }
    }
}

#[tokio::test]
async fn two_tenants_claim_one_id_at_once() {
    let scene = Scene::new();
    let one = scene.hall("acme/event:hall", 1, 8).await;
    let other = scene.hall("zeta/event:hall", 1, 8).await;
    for number in 1..=100 {
        let (first, second) = tokio::join!(
            scene.engine.submit(one, hold(chosen(number), 1)),
            scene.engine.submit(other, hold(chosen(number), 1)),
        );
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((booking_of(&first).id, booking_of(&second).id), (chosen(number), chosen(number)));
        for (hall, id) in [(one, chosen(number)), (other, chosen(number))] {
            scene.grant(hall, cancel(id)).await;
        }
    }
}

#[tokio::test]
async fn an_id_that_names_another_inventory_is_not_given_here() {
    let scene = Scene::new();
    let one = scene.hall("one", 1, 8).await;
    let other = scene.hall("other", 1, 8).await;
    let refused = scene.engine.submit(one, hold(nth(other, 1), 1)).await.unwrap();
    assert_eq!(refusal_code(&refused), "BOOKING_ID_TAKEN");
    scene.grant(other, hold(nth(other, 1), 1)).await;
    assert_eq!(scene.engine.booking("", nth(other, 1)).await.unwrap().unwrap().0, other);
}

#[tokio::test]
async fn what_is_sent_together_is_committed_in_batches_of_a_bounded_size() {
    const EACH: u32 = 1_000;
    let scene = Scene::new();
    let mut create = create_hall("hall", 300, 400);
    let Action::CreateEvent(event) = &mut create.action else { unreachable!() };
    event.rules.max_units_per_booking = Some(EACH);
    scene.engine.submit_to("hall", create).await.unwrap();
    let hall = scene.engine.number("hall").unwrap();
    let holds = (1..=100).map(|number| (hall, hold(nth(hall, number), EACH))).collect();
    let answers = scene.engine.submit_all(holds).await;
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    let mut subscription = scene.engine.subscribe(hall, 1).await.unwrap();
    let (mut booked, mut largest) = (0, 0);
    while booked < answers.len() {
        let batch = subscription.next().await.unwrap();
        let bookings = batch.changes.iter().filter(|change| matches!(change, Change::Booked(_))).count();
        booked += bookings;
        largest = largest.max(bookings * EACH as usize);
    }
    assert!(answers.iter().all(|answer| booking_of(answer).units.quantity() == EACH));
    assert!(largest < BATCH_UNITS_MAX + EACH as usize, "{largest} seats in one batch");
}
