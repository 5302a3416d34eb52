//! Best available: the fine print, row by row.

use serde_json::{Value, json};

use crate::venue::{Venue, best, seats, with};

/// A section's name, its price, and the rows and columns of its subsections.
type SectionSketch<'a> = (&'a str, u32, &'a [(u16, u16)]);

/// A hall of these sections, without the seats that are gone.
fn hall(sections: &[SectionSketch<'_>], taken: &[(&str, &[&str])], rules: &Value) -> Venue {
    let sections: Vec<Value> = sections
        .iter()
        .map(|(name, price, sizes)| {
            let subsections: Vec<Value> = (1..)
                .zip(*sizes)
                .map(|(number, (rows, cols)): (u16, _)| json!({ "number": number, "rows": rows, "cols": cols }))
                .collect();
            json!({ "name": name, "price": price, "subsections": subsections })
        })
        .collect();
    let hall = Venue::event(&json!({ "sections": sections, "rules": rules }));
    for (section, seats) in taken {
        hall.server.post(&hall.at("/block"), &json!({ "section": section, "seats": seats })).expect(200);
    }
    hall
}

#[test]
fn whether_they_must_sit_together_may_be_null() {
    let hall = Venue::hall(1, 3);
    let wish = json!({ "best_available": { "quantity": 2, "section": null, "adjacent": null } });
    assert_eq!(hall.book(&wish).told(), "on_hold A-1 1-1 1-2 for 2000");
}

#[test]
fn the_first_row_that_fits_is_taken_from_the_left() {
    let taken: &[(&str, &[&str])] = &[("A-1", &["1-3"])];
    let rows = [
        (1, "on_hold A-1 1-1 for 10"),
        (2, "on_hold A-1 1-1 1-2 for 20"),
        (3, "on_hold A-1 2-1 2-2 2-3 for 30"),
        (5, "on_hold A-1 2-1 2-2 2-3 2-4 2-5 for 50"),
    ];
    for (quantity, told) in rows {
        let hall = hall(&[("A", 10, &[(2, 5)])], taken, &json!({}));
        let reply = hall.book(&best(quantity));
        assert_eq!((reply.told().as_str(), &reply.json()["adjacent"]), (told, &json!(true)), "{quantity}");
    }
}

#[test]
fn without_a_row_that_fits_the_largest_runs_are_taken_first() {
    // Row 1 has runs of 2 and 1, row 2 of 3: six are asked for.
    let taken: &[(&str, &[&str])] = &[("A-1", &["1-3", "1-5", "2-1", "2-5"])];
    let rows = [
        (4, "on_hold A-1 1-1 2-2 2-3 2-4 for 40"),
        (5, "on_hold A-1 1-1 1-2 2-2 2-3 2-4 for 50"),
        (6, "on_hold A-1 1-1 1-2 1-4 2-2 2-3 2-4 for 60"),
        (7, "409 NOT_ENOUGH_SEATS"),
    ];
    for (quantity, told) in rows {
        let hall = hall(&[("A", 10, &[(2, 5)])], taken, &json!({}));
        assert_eq!(hall.book(&best(quantity)).told(), told);
    }
    let hall = hall(&[("A", 10, &[(2, 5)])], taken, &json!({}));
    assert_eq!(
        hall.book(&json!({ "best_available": { "quantity": 4, "adjacent": "required" } })).told(),
        "409 NOT_ADJACENT"
    );
}

#[test]
fn sections_are_tried_in_the_order_they_were_declared() {
    let sections: &[SectionSketch<'_>] = &[("B", 30, &[(2, 3)]), ("A", 20, &[(1, 4)]), ("C", 10, &[(1, 2)])];
    let rows = [
        (json!({ "quantity": 2 }), "on_hold B-1 1-1 1-2 for 60"),
        // Together in A wins over apart in B.
        (json!({ "quantity": 4 }), "on_hold A-1 1-1 1-2 1-3 1-4 for 80"),
        // Nowhere together: the first section with five free seats.
        (json!({ "quantity": 5 }), "on_hold B-1 1-1 1-2 1-3 2-1 2-2 for 150"),
        // Over all sections the largest runs first; what is listed is in order of section.
        (json!({ "quantity": 8 }), "on_hold B-1 1-1 1-2 1-3 2-1 A-1 1-1 1-2 1-3 1-4 for 200"),
        (json!({ "quantity": 2, "section": "A" }), "on_hold A-1 1-1 1-2 for 40"),
        (json!({ "quantity": 2, "section": "A-1" }), "on_hold A-1 1-1 1-2 for 40"),
        (json!({ "quantity": 4, "section": "B" }), "on_hold B-1 1-1 1-2 1-3 2-1 for 120"),
        (json!({ "quantity": 5, "section": "A-1" }), "409 NOT_ENOUGH_SEATS"),
    ];
    for (wish, told) in rows {
        let hall = hall(sections, &[], &json!({}));
        assert_eq!(hall.book(&json!({ "best_available": wish })).told(), told, "{wish}");
    }
}

#[test]
fn the_middle_of_the_row_is_nearest_and_ties_go_left() {
    let rows = [
        (7, 1, "on_hold A-1 1-4 for 10"),
        (7, 2, "on_hold A-1 1-3 1-4 for 20"),
        (8, 2, "on_hold A-1 1-4 1-5 for 20"),
        (8, 3, "on_hold A-1 1-3 1-4 1-5 for 30"),
    ];
    for (cols, quantity, told) in rows {
        let hall = hall(&[("A", 10, &[(1, cols)])], &[], &json!({ "prefer": "center" }));
        assert_eq!(hall.book(&best(quantity)).told(), told);
    }
}

#[test]
fn ten_buyers_at_once_get_ten_different_seats() {
    let hall = Venue::hall(2, 5);
    let told: std::collections::BTreeSet<String> = std::thread::scope(|scope| {
        let buyers: Vec<_> = (0..10)
            .map(|buyer| {
                let hall = &hall;
                scope.spawn(move || {
                    hall.book(&with(best(1), &json!({ "customer": format!("buyer-{buyer}") }))).told()
                })
            })
            .collect();
        buyers.into_iter().map(|buyer| buyer.join().expect("no buyer panics")).collect()
    });
    assert_eq!(told.len(), 10, "{told:?}");
    assert_eq!(hall.book(&seats(&["1-1"])).told(), "409 SEAT_UNAVAILABLE");
}
