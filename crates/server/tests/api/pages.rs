//! The web pages as files, and who may use the API from other sites' pages.

use serde_json::json;

use crate::server::Server;
use crate::venue::Venue;

/// What a browser says that it reads.
const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

fn title_of(page: &str) -> &str {
    let (_, rest) = page.split_once("<title>").expect("a title");
    rest.split_once("</title>").expect("an end of it").0
}

#[test]
fn every_page_and_every_file_it_names_is_served_with_a_strict_policy() {
    let venues = [Venue::hall(1, 1), Venue::museum(&json!({})), Venue::bakery(&json!({}))];
    let server = Server::shared();
    let mut paths =
        ["/", "/bookings/019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a", "/desk", "/docs"].map(str::to_owned).to_vec();
    paths.extend(venues.iter().map(|venue| format!("/{}s/{}", venue.kind, venue.id)));
    for path in paths.iter().map(String::as_str).chain(["/nothing"]) {
        let page = server.call("GET", path).header(BROWSER.0, BROWSER.1).send();
        assert_eq!(page.status, if path == "/nothing" { 404 } else { 200 }, "{path}");
        let text = page.text();
        let files: Vec<&str> = text.split(['"']).filter(|part| part.starts_with("/web/")).collect();
        assert!(files.len() >= 2, "{path} names {files:?}");
        for file in files {
            let part = server.get(file);
            assert_eq!(part.status, 200, "{file} of {path}");
            let policy = part.header("content-security-policy").expect("a policy");
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
                "{policy}"
            );
            assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        }
    }
    for wrong in [
        "/web/tsconfig.json",
        "/web/types.d.ts",
        "/web/../Cargo.toml",
        "/web/nothing.js",
        "/events",
        "/desk/",
    ] {
        server.get(wrong).expect_problem(404, "ROUTE_NOT_FOUND");
    }
}

#[test]
fn an_unknown_address_is_a_page_for_browsers_and_a_problem_for_programs() {
    let server = Server::shared();
    let table = [
        ("/nothing", "ROUTE_NOT_FOUND"),
        ("/desk/", "ROUTE_NOT_FOUND"),
        ("/events/nope", "EVENT_NOT_FOUND"),
        ("/events/No%20Slug", "EVENT_NOT_FOUND"),
        ("/schedules/nope", "SCHEDULE_NOT_FOUND"),
        ("/shops/nope", "SHOP_NOT_FOUND"),
        ("/bookings/nope", "BOOKING_NOT_FOUND"),
    ];
    for (path, code) in table {
        server.get(path).expect_problem(404, code);
        let page = server.call("GET", path).header(BROWSER.0, BROWSER.1).send();
        assert_eq!(page.status, 404, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert_eq!(title_of(page.text()), "Page not found · Boxoffice", "{path}");
    }
    let api = server.call("GET", "/v1/nothing").header(BROWSER.0, BROWSER.1).send();
    api.expect_problem(404, "ROUTE_NOT_FOUND");
    let post = server.call("POST", "/nothing").header(BROWSER.0, BROWSER.1).send();
    post.expect_problem(404, "ROUTE_NOT_FOUND");
}

#[test]
fn the_title_of_a_page_names_what_it_shows_as_text() {
    let name = "Tom & \"Jerry\" </title><script>";
    let hall = Venue::event(&crate::venue::with(crate::venue::section(1, 1), &json!({ "name": name })));
    let page = hall.server.get(&format!("/events/{}", hall.id));
    assert_eq!(page.status, 200);
    assert_eq!(title_of(page.text()), "Tom &amp; &quot;Jerry&quot; &lt;/title&gt;&lt;script&gt; · Boxoffice");
    for (path, title) in [("/", "What is on sale · Boxoffice"), ("/desk", "Desk · Boxoffice")] {
        assert_eq!(title_of(hall.server.get(path).text()), title, "{path}");
    }
}

#[test]
fn the_icon_is_where_browsers_look_for_it() {
    let icon = Server::shared().get("/favicon.ico");
    assert_eq!((icon.status, icon.header("content-type")), (200, Some("image/svg+xml")));
}

#[test]
fn with_keys_a_page_tells_of_an_event_only_what_the_pages_key_may_see() {
    let server = Server::start(&[]);
    server.post("/v1/events", &crate::venue::event_body("gala", &crate::venue::section(1, 1))).expect(201);
    let admin = server.post("/v1/keys", &json!({ "role": "admin", "name": "a" })).expect(201);
    let admin = format!("Bearer {}", admin["key"].as_str().expect("a key"));
    let new = json!({ "role": "public", "name": "pages" });
    let key = server.call("POST", "/v1/keys").header("Authorization", &admin).json(&new).send().expect(201);
    let page = |server: &Server, path: &str| {
        let page = server.call("GET", path).header(BROWSER.0, BROWSER.1).send();
        (page.status, title_of(page.text()).to_owned())
    };
    // Without a key of their own the pages can see nothing, so they tell nothing apart.
    for path in ["/events/gala", "/events/nope"] {
        assert_eq!(page(&server, path), (200, "Event · Boxoffice".to_owned()), "{path}");
    }
    let store = server.kill();
    let server = store.serve(&["--pages-key", key["key"].as_str().expect("a key")]);
    assert_eq!(page(&server, "/events/gala"), (200, "Gala · Boxoffice".to_owned()));
    assert_eq!(page(&server, "/events/nope").0, 404);
}

#[test]
fn a_browser_that_has_a_file_is_not_sent_it_again() {
    let server = Server::shared();
    let first = server.get("/web/base.css");
    let tag = first.header("etag").expect("a tag");
    let again = server.call("GET", "/web/base.css").header("If-None-Match", tag).send();
    assert_eq!((again.status, again.body.len()), (304, 0));
    let other = server.call("GET", "/web/base.css").header("If-None-Match", "\"0\"").send();
    assert_eq!((other.status, &other.body), (200, &first.body));
}

#[test]
fn pages_of_other_sites_may_use_the_api_with_a_key_and_not_without() {
    let server = Server::start(&[]);
    let asks = |names: &str| {
        let call = server.call("OPTIONS", "/v1/bookings").header("Origin", "https://shop.example");
        call.header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", names)
            .send()
    };
    let allowed = asks("authorization,content-type,idempotency-key,hold-token");
    assert_eq!(allowed.status, 204);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("*"));
    let headers = allowed.header("access-control-allow-headers").expect("headers").to_ascii_lowercase();
    for name in ["authorization", "content-type", "idempotency-key", "hold-token", "last-event-id"] {
        assert!(headers.contains(name), "{name} in {headers}");
    }
    assert_eq!(asks("content-type").header("access-control-allow-origin"), None);
    // Without keys the browser keeps every answer from the page.
    let open = server.call("GET", "/v1/events").header("Origin", "https://shop.example").send();
    assert_eq!((open.status, open.header("access-control-allow-origin")), (200, None));
    let key = server.post("/v1/keys", &json!({ "role": "admin", "name": "site" })).expect(201)["key"].clone();
    let bearer = format!("Bearer {}", key.as_str().expect("a key"));
    let with_key = |bearer: &str| {
        let call = server.call("GET", "/v1/events").header("Origin", "https://shop.example");
        call.header("Authorization", bearer).send()
    };
    assert_eq!(
        (with_key(&bearer).status, with_key(&bearer).header("access-control-allow-origin")),
        (200, Some("*"))
    );
    let wrong = with_key("Bearer wrong");
    assert_eq!(
        (wrong.status, wrong.header("access-control-allow-origin")),
        (401, Some("*")),
        "the page can say why"
    );
    let own = server.call("GET", "/v1/events").header("Authorization", &bearer).send();
    assert_eq!(own.header("access-control-allow-origin"), None);
}

#[test]
fn the_pages_get_the_key_that_they_were_given_and_nothing_otherwise() {
    let hall = Venue::hall(1, 1);
    assert_eq!(hall.server.get("/web/settings.js").text(), "export const key = null;\n");
}
