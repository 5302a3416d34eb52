//! `POST /v1/batch`.

use serde_json::{Value, json};

use crate::client::Reply;
use crate::venue::{Venue, best, boxes, counts, seats, with};

fn batch(hall: &Venue, commands: &[Value]) -> Reply {
    hall.server.post("/v1/batch", &json!({ "commands": commands }))
}

fn results(hall: &Venue, commands: &[Value]) -> Vec<(u64, Value)> {
    let answer = batch(hall, commands).expect(200);
    let results = answer["results"].as_array().expect("results").iter();
    results.map(|result| (result["status"].as_u64().expect("a status"), result["body"].clone())).collect()
}

fn book(hall: &Venue, want: &Value) -> Value {
    with(json!({ "op": "book" }), &hall.wanted(want))
}

#[test]
fn commands_are_answered_in_order_each_for_itself_and_share_sequences() {
    let hall = Venue::hall(1, 5);
    let id = "0199bbbb-0000-7000-8000-0000c0de0001";
    let commands = [
        book(&hall, &with(seats(&["1-1"]), &json!({ "id": id }))),
        book(&hall, &with(seats(&["1-1"]), &json!({ "customer": "bob" }))),
        json!({ "op": "extend", "id": id, "seconds": 1_000 }),
        json!({ "op": "move", "id": id, "seats": [{ "section": "A-1", "ids": ["1-2"] }] }),
        json!({ "op": "confirm", "id": id, "payment_reference": "p" }),
        json!({ "op": "redeem", "id": id, "redeem_code": "?" }),
        json!({ "op": "cancel", "id": id, "reason": "rain" }),
        json!({ "op": "confirm", "id": "0199bbbb-0000-7000-8000-0000c0dedead" }),
        with(json!({ "op": "book", "customer": "ann", "event": "none" }), &best(1)),
        book(&hall, &best(0)),
    ];
    let results = results(&hall, &commands);
    let told: Vec<String> = results
        .iter()
        .map(|(status, body)| match body["code"].as_str() {
            Some(code) => format!("{status} {code}"),
            None => format!("{status} {}", crate::client::told(body)),
        })
        .collect();
    let expected = [
        "201 on_hold A-1 1-1 for 1000",
        "409 SEAT_UNAVAILABLE",
        "200 on_hold A-1 1-1 for 1000",
        "200 on_hold A-1 1-2 for 1000",
        "200 confirmed A-1 1-2 for 1000",
        "409 WRONG_CODE",
        "200 cancelled A-1 1-2 for 1000",
        "404 BOOKING_NOT_FOUND",
        "404 EVENT_NOT_FOUND",
        "400 INVALID_REQUEST",
    ];
    assert_eq!(told, expected);
    assert!(results[0].1["hold_token"].is_string() && results[2].1["hold_token"].is_null());
    assert_eq!(results[3].1["price_difference"], 0);
    // What acts on a booking of the same batch is decided after it.
    for (index, sequence) in [(0, 2), (2, 3), (3, 3), (4, 3), (6, 3)] {
        assert_eq!(results[index].1["sequence"], sequence, "{index}");
    }
    let problem = &results[1].1;
    for field in ["type", "title", "status", "code", "detail", "request_id", "conflicts", "alternatives"] {
        assert!(!problem[field].is_null(), "{field} in {problem}");
    }
    assert_eq!(counts(&hall.show()["stats"]), [5, 0, 0, 0]);
}

#[test]
fn a_batch_may_be_for_several_inventories() {
    let (hall, bakery) = (Venue::hall(1, 3), Venue::bakery(&json!({})));
    bakery.add_box(&json!({}));
    let (of_hall, of_bakery) = (book(&hall, &seats(&["1-2"])), book(&bakery, &boxes(1)));
    let commands = [&of_hall, &of_bakery, &of_hall, &of_hall, &of_bakery, &json!(7), &of_bakery];
    let results = results(&hall, &commands.map(Value::clone));
    let told = results.iter().map(|(status, body)| (*status, body["event"].as_str(), body["shop"].as_str()));
    let (sold, boxed) = ((201, Some(hall.id.as_str()), None), (201, None, Some(bakery.id.as_str())));
    let refused = |status| (status, None, None);
    let expected = [sold, boxed, refused(409), refused(409), boxed, refused(400), boxed];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    for refused in [2, 3] {
        assert_eq!(results[refused].1["conflicts"][0]["section"], "A-1");
    }
}

#[test]
fn a_command_that_is_nested_too_deep_is_refused_alone() {
    let hall = Venue::hall(1, 3);
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let wanted = hall.wanted(&best(1)).to_string();
    let with_metadata = |depth: usize| {
        format!(r#"{{"metadata":{{"a":{}}},{},"op":"book"}}"#, nested(depth), &wanted[1..wanted.len() - 1])
    };
    let commands = [nested(60_000), with_metadata(60_000), with_metadata(31), with_metadata(30)].join(",");
    let body = format!(r#"{{"commands":[{commands}]}}"#);
    let call = hall.server.call("POST", "/v1/batch").raw("application/json", body.as_bytes());
    let answer = call.send().expect(200);
    let told = answer["results"].as_array().expect("results").iter();
    let told = told.map(|result| (result["status"].as_u64(), result["body"]["detail"].as_str()));
    let too_deep = (Some(400), Some("must not be nested deeper than 32"));
    let expected =
        [(Some(400), Some("must be an object, got an array")), too_deep, too_deep, (Some(201), None)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn a_command_may_have_a_key_of_its_own() {
    let hall = Venue::hall(1, 5);
    let commands = [
        book(&hall, &with(best(1), &json!({ "idempotency_key": "one" }))),
        book(&hall, &with(best(9), &json!({ "idempotency_key": "two" }))),
        book(&hall, &with(best(2), &json!({ "idempotency_key": "one" }))),
        book(&hall, &with(best(1), &json!({ "idempotency_key": "" }))),
        book(&hall, &with(best(1), &json!({ "idempotency_key": "one" }))),
    ];
    let first = results(&hall, &commands);
    let statuses: Vec<u64> = first.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [201, 409, 422, 400, 201]);
    assert_eq!(first[0], first[4], "the same key, the same booking");
    let again = results(&hall, &commands);
    assert_eq!((&again[..2], &again[4]), (&first[..2], &first[4]));
    assert_eq!(hall.seats(), ["h...."]);
    // A key is the same one alone and in a batch.
    let alone = hall.booking_call(&best(1)).key("one").send();
    assert_eq!((alone.is_replay(), alone.expect(201)), (true, first[0].1.clone()));
}

#[test]
fn fields_may_come_in_any_order_and_what_is_wrong_is_refused_alone() {
    let hall = Venue::hall(1, 5);
    let id = &hall.id;
    let one_more = r#"{"op":"cancel","id":"0199bbbb-0000-7000-8000-0000c0dedead"}"#;
    let send = |command: &str| {
        let body = format!(r#"{{"commands":[{one_more},{command},{one_more}]}}"#);
        hall.server.call("POST", "/v1/batch").raw("application/json", body.as_bytes()).send()
    };
    let last =
        format!(r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1}},"op":"book"}}"#);
    assert_eq!(send(&last).expect(200)["results"][1]["status"], 201);
    let wrong = [
        r#"{}"#.to_owned(),
        r#"{"op":"steal"}"#.to_owned(),
        r#"{"op":7}"#.to_owned(),
        r#"{"op":"cancel"}"#.to_owned(),
        r#"{"op":"cancel","id":7}"#.to_owned(),
        r#"[]"#.to_owned(),
        r#"null"#.to_owned(),
        format!(r#"{{"op":"book","customer":"ann","event":"{id}","best_available":[1]}}"#),
        format!(r#"{{"customer":"ann","event":"{id}","best_available":[1],"op":"book"}}"#),
        r#"{"op":"cancel","id":"0199bbbb-0000-7000-8000-0000c0dedead","colour":"red"}"#.to_owned(),
        r#"{"op":"cancel","op":"cancel","id":"0199bbbb-0000-7000-8000-0000c0dedead"}"#.to_owned(),
        r#"{"op":"cancel","id":"0199bbbb-0000-7000-8000-0000c0dedead","id":"0199bbbb-0000-7000-8000-0000c0dedead"}"#.to_owned(),
        r#"{"op":"cancel","id":"0199bbbb-0000-7000-8000-0000c0dedead","idempotency_key":"a","idempotency_key":"b"}"#.to_owned(),
        format!(r#"{{"op":"book","customer":"ann","event":"{id}","best_available":{{"quantity":1,"quantity":2}}}}"#),
        format!(r#"{{"op":"book","customer":"ann","event":"{id}","best_available":{{"quantity":1}},"metadata":{{"a":1,"a":2}}}}"#),
        format!(r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1,"quantity":2}},"op":"book"}}"#),
        format!(r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1}},"metadata":{{"a":1,"a":2}},"op":"book"}}"#),
        format!(r#"{{"op":"book","customer":"ann","event":"{id}","metadata":{}1{}}}"#, r#"{"a":"#.repeat(32), "}".repeat(32)),
        r#"{"op":"book","id":"none"}"#.to_owned(),
    ];
    for command in wrong {
        let answer = send(&command).expect(200);
        let statuses: Vec<&Value> =
            answer["results"].as_array().expect("results").iter().map(|result| &result["status"]).collect();
        assert_eq!(statuses, [404, 400, 404], "{command}");
        let problem = &answer["results"][1]["body"];
        assert_eq!(problem["code"], "INVALID_REQUEST", "{command}");
        assert!(problem["errors"][0]["pointer"].is_string(), "{problem}");
    }
    let unknown = &send(r#"{"op":"cancel","id":"none"}"#).expect(200)["results"][1];
    assert_eq!((&unknown["status"], &unknown["body"]["code"]), (&json!(404), &json!("BOOKING_NOT_FOUND")));
    let told = &send(&format!(
        r#"{{"op":"book","customer":"ann","event":"{id}","best_available":{{"quantity":"two"}}}}"#
    ));
    let told = &told.expect(200)["results"][1]["body"]["errors"][0]["pointer"];
    assert_eq!(told, "/best_available/quantity", "a place in the command, as on its own route");
    assert_eq!(hall.seats(), ["h...."]);
}

#[test]
fn a_batch_is_refused_whole_if_it_is_no_list_of_commands() {
    let hall = Venue::hall(1, 5);
    let good = book(&hall, &best(1));
    let rows = [
        (format!(r#"{{"commands":[{good},{{"op":]}}"#), "MALFORMED_JSON"),
        (format!(r#"{{"commands":[{good},{{"op":"steal"}}]"#), "MALFORMED_JSON"),
        (format!(r#"{{"commands":[{good},{{"op":"steal"}}]}} x"#), "MALFORMED_JSON"),
        (format!(r#"{{"commands":{good}}}"#), "INVALID_REQUEST"),
        (format!(r#"[[{good}]]"#), "INVALID_REQUEST"),
        (format!(r#"{{"commands":[{good}],"commands":[{{"op":"steal"}}]}}"#), "INVALID_REQUEST"),
        (format!(r#"{{"commands":[{good},{{"op":"steal"}}],"more":1}}"#), "INVALID_REQUEST"),
        (
            format!(r#"{{"commands":[{}{{"op":"steal"}}]}}"#, r#"{"op":"steal"},"#.repeat(10_000)),
            "INVALID_REQUEST",
        ),
        (r#"{}"#.to_owned(), "INVALID_REQUEST"),
        (r#"{"commands":[]}"#.to_owned(), "INVALID_REQUEST"),
    ];
    for (body, code) in rows {
        let answer = hall.server.call("POST", "/v1/batch").raw("application/json", body.as_bytes()).send();
        answer.expect_problem(400, code);
    }
    assert_eq!(hall.seats(), ["....."]);
}

#[test]
fn a_batch_has_1_to_10_000_commands() {
    let hall = Venue::event(&json!({ "areas": [{ "name": "all", "price": 0, "capacity": 100_000 }] }));
    let one = book(&hall, &json!({ "areas": [{ "name": "all", "quantity": 1 }] }));
    assert_eq!(batch(&hall, &[]).pointer(), "/commands");
    assert_eq!(hall.server.post("/v1/batch", &json!({})).pointer(), "/commands");
    assert_eq!(hall.server.post("/v1/batch", &json!({ "commands": 7 })).pointer(), "/commands");
    assert_eq!(batch(&hall, &vec![one.clone(); 10_001]).pointer(), "/commands");
    assert_eq!(hall.server.post("/v1/batch", &json!({ "commands": [one], "more": 1 })).pointer(), "/more");
    let results = results(&hall, &vec![one; 10_000]);
    assert!(results.iter().all(|(status, _)| *status == 201));
    assert_eq!(hall.show()["stats"]["held"], 10_000);
}

#[test]
fn a_booking_that_a_batch_failed_to_make_is_not_acted_on_as_if_it_were_its_own() {
    let hall = Venue::hall(1, 5);
    let theirs = hall.booked(&best(1));
    let commands = [
        book(&hall, &with(best(1), &json!({ "id": theirs["id"] }))),
        json!({ "op": "extend", "id": theirs["id"], "seconds": 1_000 }),
    ];
    let statuses: Vec<u64> = results(&hall, &commands).iter().map(|(status, _)| *status).collect();
    assert_eq!(
        statuses,
        [409, 200],
        "an admin may act on it; whoever may not is told so as on its own route"
    );
}

#[test]
fn the_key_of_the_header_makes_a_whole_batch_safe_to_send_again() {
    let hall = Venue::hall(1, 5);
    let commands =
        json!({ "commands": [book(&hall, &best(1)), book(&hall, &best(2)), book(&hall, &best(9))] });
    let send = || hall.server.call("POST", "/v1/batch").key("all-of-it").json(&commands).send();
    let (first, again) = (send(), send());
    assert_eq!(first.expect(200)["results"][1]["status"], 201);
    assert!(!first.is_replay() && again.is_replay());
    assert_eq!(first.text(), again.text());
    assert_eq!(hall.seats(), ["hhh.."]);
}

#[test]
fn what_no_key_remembers_is_said_the_same_again_too() {
    let hall = Venue::hall(1, 5);
    let none = with(json!({ "op": "book", "customer": "ann", "event": "none" }), &best(1));
    let commands = json!({ "commands": [
        { "op": "steal" }, book(&hall, &best(0)), none, { "op": "cancel", "id": "none" }, book(&hall, &best(11)),
        book(&hall, &best(1)), book(&hall, &best(9)),
    ] });
    let send = || hall.server.call("POST", "/v1/batch").key("again").json(&commands).send();
    let (first, again) = (send(), send());
    let answer = first.expect(200);
    let statuses: Vec<&Value> =
        answer["results"].as_array().expect("results").iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses, [400, 400, 404, 404, 400, 201, 409]);
    assert_eq!(first.text(), again.text());
    assert!(!first.is_replay() && again.is_replay());
}

#[test]
fn another_batch_under_the_same_key_is_refused_whole() {
    let hall = Venue::hall(1, 5);
    let send = |commands: &[Value]| {
        let batch = json!({ "commands": commands });
        hall.server.call("POST", "/v1/batch").key("one-batch").json(&batch).send()
    };
    let (one, two) = (book(&hall, &best(1)), book(&hall, &with(best(1), &json!({ "customer": "bob" }))));
    let first = send(&[one.clone(), two.clone()]);
    first.expect(200);
    let others = [
        vec![one.clone()],
        vec![one.clone(), two.clone(), two.clone()],
        vec![two.clone(), one.clone()],
        vec![one.clone(), json!({ "op": "steal" })],
    ];
    for other in others {
        send(&other).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(hall.seats(), ["hh..."]);
    assert_eq!(send(&[one, two]).text(), first.text());
}

#[test]
fn another_batch_is_found_out_behind_commands_with_keys_of_their_own() {
    let hall = Venue::hall(1, 5);
    let send = |commands: &[Value]| {
        let batch = json!({ "commands": commands });
        hall.server.call("POST", "/v1/batch").key("one-batch").json(&batch).send()
    };
    let own = with(book(&hall, &best(1)), &json!({ "idempotency_key": "own" }));
    let plain = book(&hall, &best(1));
    let first = send(&[own.clone(), plain.clone()]);
    first.expect(200);
    assert_eq!(hall.seats(), ["hh..."]);
    let other = book(&hall, &with(best(1), &json!({ "customer": "bob" })));
    send(&[own.clone(), other.clone(), other]).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(hall.seats(), ["hh..."], "nothing of it is done");
    assert_eq!(send(&[own, plain]).text(), first.text());
}

#[test]
fn nothing_of_another_batch_is_done_wherever_the_first_was_decided() {
    let (hall, other_hall) = (Venue::hall(1, 9), Venue::hall(1, 9));
    let (one, elsewhere) = (book(&hall, &best(1)), book(&other_hall, &best(1)));
    let many = |quantity: u32| book(&hall, &best(quantity));
    let own = |key: &str| with(one.clone(), &json!({ "idempotency_key": key }));
    let steal = json!({ "op": "steal" });
    let rows = [
        // What cannot be understood, or could never be accepted, is not remembered, and hides nothing.
        (vec![steal.clone(), one.clone()], vec![one.clone()]),
        (vec![many(11), one.clone()], vec![many(12), one.clone(), one.clone()]),
        // Neither does another inventory, nor a key of its own.
        (vec![one.clone()], vec![elsewhere.clone(), one.clone()]),
        (vec![one.clone()], vec![own("first of all"), one.clone(), steal]),
    ];
    for (number, (first, second)) in rows.into_iter().enumerate() {
        let key = format!("batch-{number}");
        let send = |commands: &[Value]| {
            let batch = json!({ "commands": commands });
            hall.server.call("POST", "/v1/batch").key(&key).json(&batch).send()
        };
        let answer = send(&first);
        answer.expect(200);
        let before = (hall.seats(), other_hall.seats());
        send(&second).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
        assert_eq!((hall.seats(), other_hall.seats()), before, "row {number}: nothing of it is done");
        assert_eq!(send(&first).text(), answer.text());
    }
}

#[test]
fn a_key_is_the_same_one_for_a_batch_and_for_a_single_booking() {
    let hall = Venue::hall(1, 9);
    let send = |key: &str| {
        let batch = json!({ "commands": [book(&hall, &best(1))] });
        hall.server.call("POST", "/v1/batch").key(key).json(&batch).send()
    };
    hall.booking_call(&best(1)).key("alone first").send().expect(201);
    send("alone first").expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    send("batch first").expect(200);
    hall.booking_call(&best(1)).key("batch first").send().expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(hall.seats(), ["hh......."]);
}

#[test]
fn actions_on_bookings_belong_to_their_batch_too() {
    let hall = Venue::hall(1, 9);
    let (ann, bob) = (hall.booked(&best(1)), hall.booked(&best(1)));
    let send = |commands: &[Value]| {
        let batch = json!({ "commands": commands });
        hall.server.call("POST", "/v1/batch").key("actions").json(&batch).send()
    };
    let confirm = |booking: &Value| json!({ "op": "confirm", "id": booking["id"] });
    // A booking of the same batch, made under a key of its own, is acted on under that of the header.
    let id = "0199bbbb-0000-7000-8000-0000c0de0042";
    let named =
        with(book(&hall, &best(1)), &json!({ "id": id, "idempotency_key": "named", "customer": "cy" }));
    let commands = [confirm(&ann), named, json!({ "op": "confirm", "id": id })];
    let first = send(&commands);
    let answer = first.expect(200);
    let statuses: Vec<&Value> =
        answer["results"].as_array().expect("results").iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses, [200, 201, 200]);
    send(&[confirm(&bob)]).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(hall.seats(), ["shs......"]);
    let again = send(&commands);
    assert_eq!((again.text(), again.is_replay()), (first.text(), true));
}

#[test]
fn a_booking_whose_id_a_batch_could_not_have_is_acted_on_where_it_is() {
    let (hall, other_hall) = (Venue::hall(1, 9), Venue::hall(1, 9));
    let id = "0199bbbb-0000-7000-8000-0000c0de0043";
    let theirs = hall.booked(&with(best(1), &json!({ "id": id })));
    let send = |commands: &[Value]| {
        let batch = json!({ "commands": commands });
        hall.server.call("POST", "/v1/batch").key("taken").json(&batch).send()
    };
    let taken = book(&other_hall, &with(best(1), &json!({ "id": id })));
    let answer = send(&[taken, json!({ "op": "confirm", "id": id })]).expect(200);
    let statuses: Vec<&Value> =
        answer["results"].as_array().expect("results").iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses, [409, 200]);
    // So the key stands for that batch there, too.
    let cancel = json!({ "op": "cancel", "id": theirs["id"] });
    send(&[cancel]).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(hall.seats(), ["s........"]);

    // Of two of the same name in one batch, the one that is made.
    let id = "0199bbbb-0000-7000-8000-0000c0de0044";
    let named =
        |hall: &Venue, key: &str| book(hall, &with(best(1), &json!({ "id": id, "idempotency_key": key })));
    let commands = [named(&hall, "one"), named(&other_hall, "two"), json!({ "op": "confirm", "id": id })];
    let batch = json!({ "commands": commands });
    let answer = hall.server.call("POST", "/v1/batch").key("twice").json(&batch).send().expect(200);
    let statuses = answer["results"].as_array().expect("results").iter().map(|result| &result["status"]);
    let mut statuses: Vec<u64> = statuses.map(|status| status.as_u64().expect("a status")).collect();
    assert_eq!(statuses.pop(), Some(200));
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409], "whichever was first");
}

#[test]
fn a_key_that_stands_there_twice_is_refused_whatever_it_says() {
    let hall = Venue::hall(1, 5);
    let text = book(&hall, &best(1)).to_string();
    let twice = text.replacen('{', r#"{"op":"book","idempotency_key":null,"idempotency_key":"k","#, 1);
    let twice = twice.replacen(r#","op":"book""#, "", 1);
    let body = format!(r#"{{"commands":[{twice}]}}"#);
    let answer = hall.server.call("POST", "/v1/batch").raw("application/json", body.as_bytes()).send();
    assert_eq!(answer.expect(200)["results"][0]["status"], 400);
    assert_eq!(hall.seats(), ["....."]);
}
