//! `GET /v1/bookings/{id}/stream`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use boxoffice_core::booking::{Booking, Status};
use boxoffice_core::ids::BookingId;
use boxoffice_engine::view::StockView;
use boxoffice_engine::{InventoryNumber, Subscription, SubscriptionError};
use futures_util::stream;

use super::{AsOf, BookingBody, kind_of};
use crate::app::App;
use crate::caller::{Caller, find_booking};
use crate::contacts::Contact;
use crate::ids::booking_id;
use crate::path::Path;
use crate::problem::Problem;
use crate::stream::{Counted, HEARTBEAT_MESSAGE, event_stream, heartbeat, message};

struct Watcher {
    app: Arc<App>,
    caller: Caller,
    inventory: InventoryNumber,
    id: BookingId,
    subscription: Subscription,
    /// The version that was sent last.
    sent: Option<u32>,
    ended: bool,
    _counted: Counted,
}

/// Streams a booking, as server-sent events.
///
/// Each message `booking` is the booking as it is then; the first comes at once. Ends after it was cancelled, expired or redeemed.
#[utoipa::path(
    get,
    path = "/v1/bookings/{id}/stream",
    tag = "bookings",
    operation_id = "stream_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a"),
        Caller,
    ),
    responses(
        (status = 200, description = "Messages, until the booking ends.", body = String, content_type = "text/event-stream"),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
    ),
)]
pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let (inventory, _) = find_booking(&app, &caller, id).await?;
    let sequence = app.engine.view(inventory).await?.sequence;
    let subscription = app.engine.subscribe(inventory, sequence).await?;
    let (watched, watching) = (Arc::clone(&app), caller.clone());
    let watcher = Watcher {
        app,
        caller,
        inventory,
        id,
        subscription,
        sent: None,
        ended: false,
        _counted: Counted::new(),
    };
    let messages = stream::unfold(watcher, |mut watcher| async {
        let message = watcher.next().await?;
        Some((Ok::<Bytes, Infallible>(message), watcher))
    });
    Ok(event_stream(&watched, &watching, messages))
}

impl Watcher {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        loop {
            let (booking, stock) =
                self.app.engine.booking_and_stock(self.inventory, self.id).await.ok()??;
            if self.sent != Some(booking.version) {
                let keys = self.app.contacts.keys_for(&self.caller, [&*booking]).await.ok()?;
                return Some(self.show(&booking, &stock, keys.open(&booking).as_deref()));
            }
            match tokio::time::timeout(heartbeat(), self.subscription.next()).await {
                Err(_) => return Some(HEARTBEAT_MESSAGE),
                Ok(Ok(_)) => {}
                Ok(Err(SubscriptionError::Overloaded)) => tokio::time::sleep(heartbeat() / 15).await,
                Ok(Err(SubscriptionError::Gone { .. })) => {
                    let sequence = self.app.engine.view(self.inventory).await.ok()?.sequence;
                    self.subscription = self.app.engine.subscribe(self.inventory, sequence).await.ok()?;
                }
                Ok(Err(
                    SubscriptionError::Store(_) | SubscriptionError::Damaged(_) | SubscriptionError::Stopped,
                )) => return None,
            }
        }
    }

    fn show(&mut self, booking: &Booking, stock: &StockView, contact: Option<&Contact>) -> Bytes {
        let as_of = AsOf { sequence: stock.sequence, at: self.app.engine.now() };
        let mut body = BookingBody::new(booking, kind_of(stock), stock, as_of, None);
        body.contact = contact;
        let data = serde_json::to_vec(&body).expect("a booking is plain data");
        self.sent = Some(booking.version);
        self.ended = match booking.status {
            Status::OnHold { .. } | Status::Confirmed { .. } => false,
            Status::Redeemed { .. } | Status::Cancelled { .. } | Status::Expired { .. } => true,
        };
        message("booking", Some(u64::from(booking.version)), &data)
    }
}
