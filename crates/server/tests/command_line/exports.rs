//! `export`.

use serde_json::json;

use crate::process::{Server, path, run};

#[test]
fn bookings_and_utilization_are_tables() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Server::on(&data);
    server.create_hall(2);
    let booking = json!({ "customer": "O'Hara, \"Ann\"", "event": "hall", "confirm": true,
        "seats": [{ "section": "A-1", "ids": ["1-1", "1-2"] }],
        "contact": { "email": "ann@example.com", "phone": "+12025551234" } });
    let (status, made) = server.post("/v1/bookings", &booking);
    assert_eq!(status, 201, "{made}");
    let erased = json!({ "customer": "ben", "event": "hall", "best_available": { "quantity": 1 },
        "contact": { "email": "ben@example.com" } });
    assert_eq!(server.post("/v1/bookings", &erased).0, 201);
    assert_eq!(server.ask("DELETE", "/v1/customers/ben/contact", None).0, 204);
    let formula = json!({ "customer": "=cmd()", "event": "hall", "best_available": { "quantity": 1 } });
    assert_eq!(server.post("/v1/bookings", &formula).0, 201);
    let running = |what: &str| run(&["export", "--server", &server.url(), "--what", what]).well();
    let (running_bookings, running_utilization) = (running("bookings"), running("utilization"));
    server.stop();

    let bookings = run(&["export", "--data", path(&data), "--what", "bookings"]).well();
    let lines: Vec<&str> = bookings.lines().collect();
    assert_eq!(lines.len(), 4, "{bookings}");
    assert!(lines[0].starts_with("id,tenant,kind,inventory,customer,status,units,quantity,total,currency,"));
    let id = made["id"].as_str().unwrap();
    let ann =
        format!("{id},default,event,hall,\"O'Hara, \"\"Ann\"\"\",confirmed,A-1 1-1; A-1 1-2,2,200,TWD,");
    assert!(lines[1].starts_with(&ann), "{}", lines[1]);
    assert!(lines[1].contains(",ann@example.com,+12025551234,"), "{}", lines[1]);
    assert!(
        lines[2].contains(",ben,on_hold,A-1 1-3,1,100,TWD,") && !lines[2].contains("example"),
        "{}",
        lines[2]
    );
    assert!(
        lines[3].contains(",'=cmd(),on_hold,"),
        "no spreadsheet runs what a customer made up: {}",
        lines[3]
    );

    assert_eq!(run(&["export", "--data", path(&data)]).well(), bookings, "if nothing is said");
    assert_eq!(running_bookings, bookings, "a running server exports the same");

    let file = home.path().join("utilization.csv");
    run(&["export", "--data", path(&data), "--what", "utilization", "--out", path(&file)]).well();
    let expected = "tenant,kind,inventory,part,capacity,held,sold,available,blocked,rate\n\
                    default,event,hall,A-1,20,2,2,16,0,20.0\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(running_utilization, expected);
    let none = run(&["export", "--data", path(&data), "--what", "utilization", "--tenant", "other"]).well();
    assert_eq!(none.lines().count(), 1);
    run(&["export", "--data", path(&data), "--what", "money"]).badly(2, &["money"]);
}

#[test]
fn running_server_exports_the_rows_of_the_stopped_store_as_far_as_the_key_may_see_them() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let create_key = |tenant: &str, role: &str| {
        let words = ["keys", "create", "--data", path(&data), "--tenant", tenant, "--role", role];
        run(&words).well().lines().last().unwrap().to_owned()
    };
    let [admin, operator, seller] = ["admin", "operator", "seller"].map(|role| create_key("default", role));
    let other = create_key("other", "admin");
    let mut server = Server::on(&data);
    for (key, customer) in [(&admin, "ann"), (&other, "otto")] {
        server.key = Some(key.clone());
        server.create_hall(1);
        let booking = json!({ "customer": customer, "event": "hall", "best_available": { "quantity": 2 },
            "contact": { "email": format!("{customer}@example.com") } });
        assert_eq!(server.post("/v1/bookings", &booking).0, 201);
    }
    server.key = Some(admin.clone());
    let gone = json!({ "id": "gone", "name": "Gone", "currency": "TWD",
        "sections": [{ "name": "A", "price": 1, "subsections": [{ "number": 1, "rows": 1, "cols": 1 }] }] });
    assert_eq!(server.post("/v1/events", &gone).0, 201);
    let url = server.url();
    let export = |key: &str, what: &str| run(&["export", "--server", &url, "--key", key, "--what", what]);
    assert!(export(&admin, "utilization").well().contains(",gone,"), "until it is deleted");
    assert_eq!(server.ask("DELETE", "/v1/events/gone", None).0, 204);

    let tables = ["bookings", "utilization"];
    let by = |key: &str| tables.map(|what| export(key, what).well());
    let (of_admin, of_operator, of_other) = (by(&admin), by(&operator), by(&other));
    for what in tables {
        export(&seller, what).badly(1, &["403"]);
        export("bo_wrong", what).badly(1, &["401"]);
    }
    let (status, answer) = server.send("GET", "/v1/export?what=utilization", None);
    let row = of_admin[1].lines().nth(1).expect("a row");
    assert!(status == 200 && String::from_utf8(answer).unwrap().contains(row));
    assert_eq!(server.get("/v1/export?what=money").0, 400);
    server.stop();

    let stopped = |tenant: &str| {
        tables.map(|what| run(&["export", "--data", path(&data), "--what", what, "--tenant", tenant]).well())
    };
    assert_eq!((&of_admin, &of_other), (&stopped("default"), &stopped("other")));
    assert_eq!(of_operator[0], of_admin[0].replace("ann@example.com", ""), "an operator gets no contacts");
    assert_eq!(of_operator[1], of_admin[1]);
    assert!(
        of_admin[0].contains(",default,event,hall,ann,on_hold,") && of_admin[0].contains(",ann@example.com,")
    );
    assert!(of_other[0].contains(",other,event,hall,otto,"));
    for table in of_admin.iter().chain(&of_operator) {
        assert!(!table.contains("other"), "{table}");
        assert_eq!(
            table.lines().count(),
            2,
            "one booking, one section, and nothing of the deleted event: {table}"
        );
    }
}
