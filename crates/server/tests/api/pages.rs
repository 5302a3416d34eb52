//! The web pages as files, and who may use the API from other sites' pages.

use serde_json::json;

use crate::server::Server;
use crate::venue::Venue;

const PAGES: [&str; 7] =
    ["/", "/events/gala", "/schedules/museum", "/shops/bakery", "/bookings/any", "/desk", "/docs"];

#[test]
fn every_page_and_every_file_it_names_is_served_with_a_strict_policy() {
    let server = Server::shared();
    for path in PAGES {
        let page = server.get(path);
        assert_eq!(page.status, 200, "{path}");
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
