//! Who asks, and whether they may.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Version, header};
use boxoffice_core::booking::Booking;
use boxoffice_core::ids::{Actor, BookingId, parts_of_name};
use boxoffice_engine::InventoryNumber;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::app::App;
use crate::ids::booking_not_found;
use crate::keys::{Key, Role};
use crate::problem::Problem;
use crate::trusted_proxies::ForwardingHeaders;

/// The tenant of callers without a key.
pub(crate) const OPEN_TENANT: &str = "default";

/// Where a request came from: the client's address, also behind trusted proxies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerAddress(pub(crate) IpAddr);

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: Arc<str>,
    pub(crate) role: Role,
    pub(crate) actor: Actor,
    /// `None` while the server is open to its own machine.
    pub(crate) key: Option<Arc<Key>>,
    pub(crate) hold_token: Option<String>,
    pub(crate) address: Option<IpAddr>,
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Caller, Problem> {
        let address = parts.extensions.get::<CallerAddress>().map(|address| address.0);
        Caller::identify(app, &parts.method, &Credentials::of(parts)?, address)
    }
}

/// What a request says about who sends it.
#[derive(Debug)]
pub(crate) struct Credentials<'a> {
    pub(crate) authorization: Option<&'a str>,
    pub(crate) hold_token: Option<&'a str>,
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) fetch_site: Option<&'a str>,
    /// What only a proxy does, if the request shows any of it.
    pub(crate) trace_of_proxy: Option<&'static str>,
}

impl Credentials<'_> {
    fn of(parts: &Parts) -> Result<Credentials<'_>, Problem> {
        let headers = &parts.headers;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let authorization = match headers.get(header::AUTHORIZATION) {
            Some(value) => Some(value.to_str().map_err(|_| not_bearer())?),
            None => None,
        };
        Ok(Credentials {
            authorization,
            hold_token: text("hold-token"),
            host: text("host"),
            origin: text("origin"),
            fetch_site: text("sec-fetch-site"),
            trace_of_proxy: trace_of_proxy(parts.version, headers),
        })
    }
}

impl Caller {
    pub(crate) fn identify(
        app: &App,
        method: &Method,
        credentials: &Credentials<'_>,
        address: Option<IpAddr>,
    ) -> Result<Caller, Problem> {
        if let Some(address) = address {
            app.rates.admit_network(address.into())?;
        }
        let (tenant, role, key) = match credentials.authorization.map(bearer).transpose()? {
            Some(text) => {
                let key = app.keys.check(text).ok_or_else(|| unauthenticated("The key is not known."))?;
                (Arc::clone(&key.tenant), key.role, Some(key))
            }
            None if app.is_open() => {
                check_local(method, credentials)?;
                (Arc::clone(&app.open_tenant), Role::Admin, None)
            }
            None => return Err(unauthenticated("Send your key as `Authorization: Bearer <key>`.")),
        };
        let hold_token = credentials.hold_token.map(str::to_owned);
        let actor = key.as_ref().map_or_else(Actor::default, |key| key.actor());
        let caller = Caller { tenant, role, actor, key, hold_token, address };
        app.rates.admit(&caller)?;
        Ok(caller)
    }
}

impl Caller {
    /// Who reads a page: the pages' key where there is one, else what a caller without a key is.
    pub(crate) fn of_page(app: &App, parts: &Parts, address: Option<IpAddr>) -> Result<Caller, Problem> {
        let key = app.settings.pages_key.as_ref().map(|key| format!("Bearer {key}"));
        let credentials = Credentials { authorization: key.as_deref(), ..Credentials::of(parts)? };
        Caller::identify(app, &Method::GET, &credentials, address)
    }
}

/// A caller who may change events, schedules, shops, keys and webhooks. Stands before the body in a handler's arguments: others are
/// told no before anything of theirs is read.
pub(crate) struct Admin(pub(crate) Caller);

impl FromRequestParts<Arc<App>> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Admin, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.must_be_admin()?;
        Ok(Admin(caller))
    }
}

/// A caller who may run sales; see [`Admin`].
pub(crate) struct RunsSales(pub(crate) Caller);

impl FromRequestParts<Arc<App>> for RunsSales {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<RunsSales, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.must_run_sales()?;
        Ok(RunsSales(caller))
    }
}

/// What a header other than the key tells about a caller.
impl IntoParams for Caller {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let token = ParameterBuilder::new()
            .name("Hold-Token")
            .parameter_in(ParameterIn::Header)
            .description(Some("The `hold_token` of the booking; `public` keys need it."))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        vec![token.build()]
    }
}

fn bearer(value: &str) -> Result<&str, Problem> {
    match value.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(key.trim()),
        _ => Err(not_bearer()),
    }
}

fn not_bearer() -> Problem {
    unauthenticated("Only `Authorization: Bearer <key>` is understood.")
}

fn unauthenticated(detail: &'static str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", detail)
}

/// A header that proxies add, or the version that nginx speaks to its upstream unless it is configured otherwise. Programs of this machine
/// have spoken HTTP/1.1 for decades.
fn trace_of_proxy(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    ForwardingHeaders::of(headers).name.or((version < Version::HTTP_11).then_some("HTTP/1.0"))
}

/// Without keys every client that reaches the port is admin. A proxy on this machine would lend that to all of its visitors, so what shows
/// the trace of a proxy is refused. A browser sends requests on behalf of any page it shows: pages of other sites must not write, and
/// a foreign name that resolves to this machine must not even read.
fn check_local(method: &Method, credentials: &Credentials<'_>) -> Result<(), Problem> {
    let refuse = |reason: &str| {
        Err(Problem::forbidden(format!(
            "This server has no API keys, so it serves only pages and programs of its own machine, and {reason}. Create a key: from \
             this machine `POST /v1/keys` with {{\"role\": \"admin\"}}, or stop the server and run `boxoffice keys create --role admin`. \
             Then send it as `Authorization: Bearer <key>`."
        )))
    };
    if let Some(trace) = credentials.trace_of_proxy {
        return refuse(&format!("this request came through a proxy (`{trace}`)"));
    }
    let host = credentials.host.unwrap_or_default();
    if !is_this_machine(host_name(host)) {
        return refuse("`Host` is not a name of this machine");
    }
    let other_site = "this request came from a page of another site";
    if method.is_safe() {
        return Ok(());
    }
    let same_origin =
        |origin: &str| origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(host));
    if credentials.origin.is_some_and(|origin| !same_origin(origin)) {
        return refuse(other_site);
    }
    match credentials.fetch_site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => refuse(other_site),
    }
}

fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default()
}

fn is_this_machine(name: &str) -> bool {
    name.is_empty()
        || name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Caller {
    /// For what changes events, schedules, shops, keys and webhooks, and for the journal.
    fn must_be_admin(&self) -> Result<(), Problem> {
        match self.role {
            Role::Admin => Ok(()),
            Role::Operator | Role::Seller | Role::Public => Err(not_with_this_role()),
        }
    }

    /// For running sales.
    pub(crate) fn must_run_sales(&self) -> Result<(), Problem> {
        match self.role {
            Role::Admin | Role::Operator => Ok(()),
            Role::Seller | Role::Public => Err(not_with_this_role()),
        }
    }

    /// For what shows all tenants: whoever runs the server, or the only tenant there is.
    pub(crate) fn must_be_of_the_house(&self, app: &App) -> Result<(), Problem> {
        let is_own = |tenant: &str| tenant == &*self.tenant;
        let is_alone = || {
            let inventories = app.engine.inventories();
            inventories
                .iter()
                .filter_map(|listed| parts_of_name(&listed.name))
                .all(|(tenant, _, _)| is_own(tenant))
                && app.keys.all().iter().all(|key| is_own(&key.tenant))
        };
        if is_own(OPEN_TENANT) || is_alone() {
            return Ok(());
        }
        Err(Problem::forbidden(format!("This shows all tenants. It is for the tenant {OPEN_TENANT:?}.")))
    }

    /// For everybody but browsers.
    pub(crate) fn must_be_trusted(&self) -> Result<(), Problem> {
        match self.role {
            Role::Admin | Role::Operator | Role::Seller => Ok(()),
            Role::Public => Err(not_with_this_role()),
        }
    }

    /// Whether the caller may know how to reach customers.
    pub(crate) fn reads_contacts(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Operator)
    }

    /// Browsers may not take money.
    pub(crate) fn may_take_money(&self) -> bool {
        self.role != Role::Public
    }

    /// Whether a booking is the caller's own business.
    pub(crate) fn sees(&self, booking: &Booking) -> bool {
        match self.role {
            Role::Admin | Role::Operator => true,
            Role::Seller => booking.created_by == self.actor,
            Role::Public => false,
        }
    }
}

fn not_with_this_role() -> Problem {
    Problem::forbidden("The role of this key does not allow it.")
}

/// Finds a booking that the caller may act on.
pub(crate) async fn find_booking(
    app: &App,
    caller: &Caller,
    id: BookingId,
) -> Result<(InventoryNumber, Arc<Booking>), Problem> {
    let found = app.engine.booking(&caller.tenant, id).await?;
    let (number, booking) = found.ok_or_else(booking_not_found)?;
    check_may_act(app, caller, &booking)?;
    Ok((number, booking))
}

/// Refuses a booking of the caller's tenant that the caller may not act on.
pub(crate) fn check_may_act(app: &App, caller: &Caller, booking: &Booking) -> Result<(), Problem> {
    match caller.role {
        Role::Admin | Role::Operator | Role::Seller if caller.sees(booking) => Ok(()),
        Role::Admin | Role::Operator | Role::Seller => Err(booking_not_found()),
        Role::Public => {
            let Some(token) = &caller.hold_token else {
                let detail = "Send the booking's token as `Hold-Token`.";
                return Err(Problem::new(StatusCode::FORBIDDEN, "HOLD_TOKEN_REQUIRED", detail));
            };
            if !app.secret.is_hold_token(&caller.tenant, booking.id, token) {
                return Err(Problem::forbidden("This is not the booking's hold token."));
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_keys_other_sites_neither_write_nor_read_through_a_name_of_theirs() {
        let check = |method: Method, headers: &[(&'static str, &str)]| {
            let (mut parts, ()) = axum::http::Request::new(()).into_parts();
            parts.headers.extend(headers.iter().map(|(name, value)| {
                (Some((*name).parse().unwrap()), axum::http::HeaderValue::from_str(value).unwrap())
            }));
            check_local(&method, &Credentials::of(&parts).unwrap()).is_ok()
        };
        const HERE: (&str, &str) = ("host", "127.0.0.1:8080");
        type Row = (Method, &'static [(&'static str, &'static str)], bool);
        let rows: [Row; 10] = [
            (Method::POST, &[HERE], true),
            (Method::POST, &[("host", "localhost:8080"), ("origin", "http://localhost:8080")], true),
            (Method::POST, &[("host", "[::1]:8080"), ("origin", "http://[::1]:8080")], true),
            (Method::POST, &[HERE, ("origin", "https://evil.example")], false),
            (Method::POST, &[HERE, ("origin", "http://127.0.0.1:9999")], false),
            (Method::POST, &[HERE, ("origin", "null")], false),
            (Method::POST, &[HERE, ("sec-fetch-site", "cross-site")], false),
            (Method::GET, &[HERE, ("origin", "https://evil.example")], true),
            (Method::GET, &[("host", "evil.example:8080")], false),
            (Method::GET, &[("host", "127.0.0.1.evil.example")], false),
        ];
        for (method, headers, allowed) in rows {
            assert_eq!(check(method.clone(), headers), allowed, "{method} {headers:?}");
        }
    }
}
