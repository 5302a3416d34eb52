//! The OpenAPI document: what the handlers say of themselves, and what is true of all of them.
//!
//! A handler names its route, its parameters, its bodies and the refusals of its own. Everything that follows from those is
//! added here, once: keys, rates, sizes, the form of errors. To add a route, annotate its handler with `#[utoipa::path]`, name
//! it in [`Handlers`], and run `cargo xtask openapi`.

use std::sync::LazyLock;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Required, Response as Answer, ResponseBuilder, Schema};

use crate::codes::CODES;
use crate::problem::ProblemBody;
use crate::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Boxoffice",
        description = "Sells seats, time slots and boxes, none of them twice.\n\nEvery error has the same form, `application/problem+json`, with a `code` for programs. Prices and totals are integers in minor units of the currency, as ISO 4217 counts them: `300000` with `\"currency\":\"TWD\"` is NT$3,000.00, and `3000` with `\"JPY\"` is ¥3,000. Times are RFC 3339 in UTC. Send an `Idempotency-Key` with whatever changes something: a retry then has one effect and one answer.\n\nOn a database that several servers share, what is read while the database is away is shown as it was, with `Warning: 110 boxoffice \"Response is Stale\"` and `Age` in seconds; commands are refused with 503 `UNAVAILABLE`."
    ),
    paths(
        routes::events::create::create,
        routes::events::list::list,
        routes::events::show::show,
        routes::events::patch::patch,
        routes::events::cancel::cancel,
        routes::events::delete::delete,
        routes::events::block::block,
        routes::events::block::unblock,
        routes::events::seats::seats,
        routes::events::seat::seat,
        routes::events::stream::stream,
        routes::schedules::create::create,
        routes::schedules::list::list,
        routes::schedules::show::show,
        routes::schedules::patch::patch,
        routes::schedules::slots::list,
        routes::schedules::slots::add,
        routes::schedules::slots::patch,
        routes::schedules::slots::delete,
        routes::schedules::tickets::import,
        routes::schedules::tickets::list,
        routes::schedules::tickets::show,
        routes::schedules::tickets::cancel,
        routes::schedules::tickets::move_ticket,
        routes::schedules::analytics::analytics,
        routes::schedules::stream::stream,
        routes::shops::create::create,
        routes::shops::list::list,
        routes::shops::show::show,
        routes::shops::patch::patch,
        routes::shops::boxes::list,
        routes::shops::boxes::add,
        routes::shops::boxes::patch,
        routes::shops::stream::stream,
        routes::bookings::create::create,
        routes::bookings::list::list,
        routes::bookings::show::show,
        routes::bookings::confirm::confirm,
        routes::bookings::extend::extend,
        routes::bookings::cancel::cancel,
        routes::bookings::move_booking::move_booking,
        routes::bookings::redeem::redeem,
        routes::bookings::unredeem::unredeem,
        routes::bookings::stream::stream,
        routes::batch::batch,
        routes::customers::forget_contact,
        routes::keys::create::create,
        routes::keys::list::list,
        routes::keys::revoke::revoke,
        routes::webhooks::create::create,
        routes::webhooks::list::list,
        routes::webhooks::show::show,
        routes::webhooks::delete::delete,
        routes::webhooks::deliveries::list,
        routes::webhooks::deliveries::replay,
        routes::journal::journal,
        routes::audit::audit,
        routes::attempts::attempts,
        routes::backup::backup,
        routes::erasures::list,
        routes::export::export,
        routes::health::healthz,
        routes::health::readyz,
        routes::health::metrics,
        serve,
    ),
    components(schemas(ProblemBody)),
    tags(
        (name = "events", description = "Shows with seated sections and standing areas."),
        (name = "schedules", description = "Time slots, made ahead for a rolling number of days."),
        (name = "shops", description = "Merchants whose boxes are picked up, at a price that may fall."),
        (name = "bookings", description = "One customer's claim: on hold, confirmed, redeemed, or cancelled, or expired."),
        (name = "customers", description = "What is known of customers besides their bookings."),
        (name = "keys", description = "Who may do what."),
        (name = "webhooks", description = "Addresses that are told what happens."),
        (name = "operations", description = "How the server is."),
    ),
)]
struct Handlers;

const PROBLEM: &str = "application/problem+json";
const BEARER: &str = "bearer";

/// Answers that any request of some sort may get: the name among the components, the status, and when.
const COMMON: &[(&str, &str, &str)] = &[
    ("Invalid", "400", "`INVALID_REQUEST`, `MALFORMED_JSON`: `errors` names the place."),
    ("Unauthenticated", "401", "`UNAUTHENTICATED`: there is no key, or one that is not known."),
    ("Forbidden", "403", "`FORBIDDEN`: the role of the key does not allow it."),
    ("NotFound", "404", "`ROUTE_NOT_FOUND`: there is nothing at this address."),
    ("TooSlow", "408", "`REQUEST_TIMEOUT`: the body took too long to arrive."),
    ("TooLarge", "413", "`PAYLOAD_TOO_LARGE`: the body is larger than this address takes."),
    ("NotJson", "415", "`UNSUPPORTED_MEDIA_TYPE`: bodies are sent as `application/json`."),
    ("KeyReused", "422", "`IDEMPOTENCY_KEY_REUSED`: the key was used for another request."),
    ("RateLimited", "429", "`RATE_LIMITED`: too many requests or holds."),
    ("Unavailable", "503", "`OVERLOADED`, `OUTCOME_UNKNOWN`, `UNAVAILABLE`: not now."),
];

/// The document.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let mut document = Handlers::openapi();
    let components = document.components.get_or_insert_default();
    let key = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key. Not needed on loopback while no key exists."));
    components.add_security_scheme(BEARER, SecurityScheme::Http(key.build()));
    for (name, status, description) in COMMON {
        components.responses.insert((*name).to_owned(), problem(status, description).into());
    }
    let schemas = components.schemas.clone();
    let takes_nothing = |body: &RequestBody| {
        let content = body.content.values().filter_map(|content| match content {
            RefOr::T(content) => content.schema.as_ref(),
            RefOr::Ref(_) => None,
        });
        let required = content.map(|schema| match schema {
            RefOr::Ref(named) => named.ref_location.rsplit('/').next().and_then(|name| schemas.get(name)),
            schema @ RefOr::T(_) => Some(schema),
        });
        required.flatten().all(|schema| match schema {
            RefOr::T(Schema::Object(object)) => object.required.is_empty(),
            RefOr::T(_) | RefOr::Ref(_) => false,
        })
    };
    for (name, schema) in &mut components.schemas {
        // Items are written out where a page is made of them; a reference is easier to read.
        if let (Some(item), RefOr::T(Schema::Object(page))) = (name.strip_prefix("Page_"), schema) {
            let items = ArrayBuilder::new().items(Ref::from_schema_name(item));
            page.properties.insert("items".to_owned(), items.into());
        }
    }
    for (path, item) in &mut document.paths.paths {
        for operation in operations(item) {
            if let Some(RefOr::T(body)) = &mut operation.request_body {
                // An empty body counts as `{}`.
                body.required = Some(if takes_nothing(body) { Required::False } else { Required::True });
            }
            complete(path, operation);
        }
    }
    let codes = serde_json::to_value(CODES).expect("a table is plain data");
    document.extensions = Some(Extensions::builder().add("x-error-codes", codes).build());
    document
}

/// The document as it is served and kept in `docs/openapi.json`.
pub(crate) fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document()).expect("the document is plain data");
    text.push('\n');
    text
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let methods = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
    methods.into_iter().flatten()
}

/// Adds what follows from the route, the parameters and the body.
fn complete(path: &str, operation: &mut Operation) {
    let parameters = operation.parameters.get_or_insert_default();
    for parameter in &mut *parameters {
        // A header that is not there is not `null`.
        if let RefOr::T(Parameter { schema: Some(RefOr::T(Schema::Object(object))), .. }) = parameter
            && object.schema_type == SchemaType::from_iter([Type::String, Type::Null])
        {
            object.schema_type = Type::String.into();
        }
    }
    let mut common = Vec::new();
    let has_key = parameters.iter().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.name == "Idempotency-Key",
        RefOr::Ref(_) => false,
    });
    let takes = |wanted: fn(&ParameterIn) -> bool| {
        parameters.iter().any(|parameter| match parameter {
            RefOr::T(parameter) => wanted(&parameter.parameter_in),
            RefOr::Ref(_) => false,
        })
    };
    if has_key || operation.request_body.is_some() || takes(|place| matches!(place, ParameterIn::Query)) {
        common.push("Invalid");
    }
    if takes(|place| matches!(place, ParameterIn::Path)) {
        common.push("NotFound");
    }
    if operation.request_body.is_some() {
        common.extend(["TooSlow", "TooLarge", "NotJson"]);
    }
    if has_key {
        common.push("KeyReused");
    }
    if path.starts_with("/v1/") || path == "/metrics" {
        common.extend(["Unauthenticated", "Forbidden", "RateLimited", "Unavailable"]);
        let bearer = SecurityRequirement::new(BEARER, [] as [&str; 0]);
        operation.security = Some(vec![SecurityRequirement::default(), bearer]);
    }
    let answers = &mut operation.responses.responses;
    for (status, answer) in &mut *answers {
        let RefOr::T(answer) = answer else { continue };
        if status.starts_with(['4', '5']) {
            if answer.content.is_empty() {
                let description = std::mem::take(&mut answer.description);
                *answer = problem(status, &description);
            }
        } else if has_key {
            let replayed = header("`true` if this is the first answer again.", Type::String);
            answer.headers.insert("Idempotent-Replayed".to_owned(), replayed.into());
        }
    }
    for (name, status, _) in COMMON.iter().filter(|(name, ..)| common.contains(name)) {
        let shared = || RefOr::Ref(Ref::new(format!("#/components/responses/{name}")));
        answers.entry((*status).to_owned()).or_insert_with(shared);
    }
}

fn problem(status: &str, description: &str) -> Answer {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let answer = ResponseBuilder::new().description(description).content(PROBLEM, content);
    match status {
        "429" | "503" => answer.header("Retry-After", header("Seconds.", Type::Integer)).build(),
        _ => answer.build(),
    }
}

fn header(description: &str, kind: Type) -> utoipa::openapi::Header {
    let schema = ObjectBuilder::new().schema_type(kind);
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

static SERVED: LazyLock<String> = LazyLock::new(text);

/// This document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "operations",
    operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object, content_type = "application/json")),
)]
pub(crate) async fn serve() -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], SERVED.as_str()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Pages for people are not part of the API.
    const PAGES: &[&str] = &["/web/settings.js", "/web/{*file}"];

    /// `GET /v1/events` and so on, read off the one screen that has all routes.
    fn routes() -> BTreeSet<String> {
        let source = include_str!("router.rs");
        let mut routes = BTreeSet::new();
        for part in source.split(".route(").skip(1) {
            let path = part.split('"').nth(1).expect("a route has an address");
            let handlers = part.split(".fallback(").next().expect("there is a first part");
            for method in ["get", "post", "put", "patch", "delete"] {
                let begins = |at: usize| {
                    !handlers[..at]
                        .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
                };
                let call = format!("{method}(");
                if handlers.match_indices(&call).any(|(at, _)| begins(at)) && !PAGES.contains(&path) {
                    routes.insert(format!("{method} {path}"));
                }
            }
        }
        routes
    }

    #[test]
    fn every_route_is_in_the_document_and_every_operation_is_a_route() {
        let mut document = document();
        let mut documented = BTreeSet::new();
        for (path, item) in &mut document.paths.paths {
            let methods = [
                ("get", &item.get),
                ("put", &item.put),
                ("post", &item.post),
                ("delete", &item.delete),
                ("patch", &item.patch),
            ];
            documented.extend(
                methods.iter().filter(|(_, it)| it.is_some()).map(|(name, _)| format!("{name} {path}")),
            );
        }
        assert_eq!(documented, routes());
    }

    #[test]
    fn operations_and_references_are_sound() {
        let text = text();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for reference in text.split("\"$ref\": \"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(value.pointer(pointer).is_some(), "{pointer} leads nowhere");
        }
        let mut ids = BTreeSet::new();
        for (path, item) in &mut document().paths.paths {
            for operation in operations(item) {
                let id = operation.operation_id.clone().unwrap();
                assert!(ids.insert(id.clone()), "{id} is there twice");
                assert!(operation.summary.is_some(), "{id} says nothing about itself");
                let declared =
                    operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
                        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Path => {
                            Some(parameter.name.as_str())
                        }
                        RefOr::T(_) | RefOr::Ref(_) => None,
                    });
                let declared: Vec<&str> = declared.collect();
                let named: Vec<&str> =
                    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
                assert_eq!(declared, named, "{id}");
            }
        }
        for link in text.split("\"operationId\": \"").skip(1) {
            let id = link.split('"').next().unwrap();
            assert!(ids.contains(id), "no operation is called {id}");
        }
    }

    #[test]
    fn the_kept_document_is_the_generated_one() {
        let kept = include_str!("../../../docs/openapi.json");
        assert!(
            kept == text(),
            "docs/openapi.json is not what the code says: run `cargo xtask openapi` and look at the difference"
        );
    }
}
