//! The whole API on one screen.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{MethodRouter, delete, get, patch, post};
use boxoffice_core::ids::InventoryKind;

use crate::app::App;
use crate::openapi;
use crate::outer::{method_not_allowed, outer};
use crate::pages::{booking_page, fallback, inventory_page};
use crate::routes::{
    attempts, audit, backup, batch, bookings, customers, erasures, events, export, health, journal, keys,
    schedules, shops, webhooks,
};
use crate::web;

pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::serve))
        .route("/", page("home.html"))
        .route("/events/{id}", inventory_page(InventoryKind::Event, "event.html"))
        .route("/schedules/{id}", inventory_page(InventoryKind::Schedule, "schedule.html"))
        .route("/shops/{id}", inventory_page(InventoryKind::Shop, "shop.html"))
        .route("/bookings/{id}", booking_page("booking.html"))
        .route("/desk", page("desk.html"))
        .route("/docs", page("docs.html"))
        .route("/embed.js", page("embed.js"))
        .route("/favicon.ico", page("icon.svg"))
        .route("/web/settings.js", get(web::settings))
        .route("/web/{*file}", get(web::part))
        .route("/v1/events", get(events::list::list).post(events::create::create))
        .route(
            "/v1/events/{id}",
            get(events::show::show).patch(events::patch::patch).delete(events::delete::delete),
        )
        .route("/v1/events/{id}/block", post(events::block::block))
        .route("/v1/events/{id}/unblock", post(events::block::unblock))
        .route("/v1/events/{id}/cancel", post(events::cancel::cancel))
        .route("/v1/events/{id}/seats", get(events::seats::seats))
        .route("/v1/events/{id}/seats/{section}/{seat}", get(events::seat::seat))
        .route("/v1/events/{id}/stream", get(events::stream::stream))
        .route("/v1/schedules", get(schedules::list::list).post(schedules::create::create))
        .route("/v1/schedules/{id}", get(schedules::show::show).patch(schedules::patch::patch))
        .route("/v1/schedules/{id}/slots", get(schedules::slots::list).post(schedules::slots::add))
        .route(
            "/v1/schedules/{id}/slots/{slot}",
            patch(schedules::slots::patch).delete(schedules::slots::delete),
        )
        .route("/v1/schedules/{id}/tickets", get(schedules::tickets::list).put(schedules::tickets::import))
        .route("/v1/schedules/{id}/tickets/{ticket}", get(schedules::tickets::show))
        .route("/v1/schedules/{id}/tickets/{ticket}/cancel", post(schedules::tickets::cancel))
        .route("/v1/schedules/{id}/tickets/{ticket}/move", post(schedules::tickets::move_ticket))
        .route("/v1/schedules/{id}/analytics", get(schedules::analytics::analytics))
        .route("/v1/schedules/{id}/stream", get(schedules::stream::stream))
        .route("/v1/shops", get(shops::list::list).post(shops::create::create))
        .route("/v1/shops/{id}", get(shops::show::show).patch(shops::patch::patch))
        .route("/v1/shops/{id}/boxes", get(shops::boxes::list).post(shops::boxes::add))
        .route("/v1/shops/{id}/boxes/{box}", patch(shops::boxes::patch))
        .route("/v1/shops/{id}/stream", get(shops::stream::stream))
        .route("/v1/bookings", get(bookings::list::list).post(bookings::create::create))
        .route("/v1/bookings/{id}", get(bookings::show::show))
        .route("/v1/bookings/{id}/confirm", post(bookings::confirm::confirm))
        .route("/v1/bookings/{id}/extend", post(bookings::extend::extend))
        .route("/v1/bookings/{id}/cancel", post(bookings::cancel::cancel))
        .route("/v1/bookings/{id}/move", post(bookings::move_booking::move_booking))
        .route("/v1/bookings/{id}/redeem", post(bookings::redeem::redeem))
        .route("/v1/bookings/{id}/unredeem", post(bookings::unredeem::unredeem))
        .route("/v1/bookings/{id}/stream", get(bookings::stream::stream))
        .route("/v1/backup", get(backup::backup))
        .route("/v1/erasures", get(erasures::list))
        .route("/v1/batch", post(batch::batch))
        .route("/v1/export", get(export::export))
        .route("/v1/customers/{customer}/contact", delete(customers::forget_contact))
        .route("/v1/keys", get(keys::list::list).post(keys::create::create))
        .route("/v1/keys/{id}", delete(keys::revoke::revoke))
        .route("/v1/webhooks", get(webhooks::list::list).post(webhooks::create::create))
        .route("/v1/webhooks/{id}", get(webhooks::show::show).delete(webhooks::delete::delete))
        .route("/v1/webhooks/{id}/deliveries", get(webhooks::deliveries::list))
        .route("/v1/webhooks/{id}/deliveries/{delivery}/replay", post(webhooks::deliveries::replay))
        .route("/v1/journal", get(journal::journal))
        .route("/v1/audit", get(audit::audit))
        .route("/v1/attempts", get(attempts::attempts))
        .fallback(fallback)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), outer))
        .with_state(app)
}

fn page(file: &'static str) -> MethodRouter<Arc<App>> {
    get(move |headers: HeaderMap| async move { web::file(file, &headers) })
}
