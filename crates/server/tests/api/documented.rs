//! Whatever the server answers, its own document must know: the answer to every [`crate::client::Call`] is looked up in it.

use std::sync::LazyLock;

use serde_json::Value;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../../docs/openapi.json");
    serde_json::from_str(text).expect("the document is JSON")
});

/// Fails if the document has the operation, and not this answer to it.
pub(crate) fn check(method: &str, target: &str, status: u16) {
    let path = target.split('?').next().unwrap_or(target);
    let Some(answers) = answers_to(method, path) else { return };
    assert!(
        answers.get(status.to_string()).is_some(),
        "{method} {path} was answered with {status}, which docs/openapi.json does not have"
    );
}

/// The answers of the operation at an address; `None` if there is none.
fn answers_to(method: &str, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object().expect("the document has paths");
    let (_, item) = paths.iter().find(|(template, _)| is_at(template, path))?;
    Some(&item.get(method.to_ascii_lowercase())?["responses"])
}

fn is_at(template: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    let fits = template.split('/').all(|wanted| match parts.next() {
        Some(part) if wanted.starts_with('{') => !part.is_empty(),
        Some(part) => part == wanted,
        None => false,
    });
    fits && parts.next().is_none()
}

#[test]
fn operations_are_found_by_their_addresses() {
    for (method, path, status, is_known) in [
        ("GET", "/v1/events/gala", "200", Some(true)),
        ("GET", "/v1/events/gala", "418", Some(false)),
        ("PUT", "/v1/events/gala", "200", None),
        ("GET", "/v1/events/", "200", None),
        ("GET", "/v1/events/gala/seats/more", "200", None),
        ("POST", "/v1/webhooks/a/deliveries/b/replay", "404", Some(true)),
    ] {
        let found = answers_to(method, path).map(|answers| answers.get(status).is_some());
        assert_eq!(found, is_known, "{method} {path} {status}");
    }
}

#[test]
fn every_price_in_the_document_says_that_it_is_in_minor_units() {
    let schemas = DOCUMENT["components"]["schemas"].as_object().expect("the document has schemas");
    let mut prices = 0;
    for (schema, value) in schemas {
        let Some(properties) = value["properties"].as_object() else { continue };
        for (name, field) in properties.iter().filter(|(name, _)| name.contains("price")) {
            // A step of a price curve says so in its own field.
            if field.to_string().contains("#/components/schemas/PriceStep") {
                continue;
            }
            let description = field["description"].as_str().unwrap_or_default();
            assert!(description.contains("minor units of the currency"), "{schema}.{name}: {field}");
            prices += 1;
        }
    }
    assert!(prices >= 20, "{prices} prices were found");
}
