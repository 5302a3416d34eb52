//! Live streams: one feed per inventory that somebody watches, rendered once for all of them.
//!
//! A feed follows the inventory and keeps the newest `change` messages, ready to send. Watchers who keep up get each of them;
//! whoever falls behind what is kept starts again with a snapshot. Nobody slows the feed, and the feed does not slow the
//! writer.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use boxoffice_engine::view::StockView;
use boxoffice_engine::{InventoryNumber, SubscriptionError};
use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::app::App;
use crate::problem::Problem;
use crate::render;

/// Messages that a feed keeps for watchers who are late or come back.
const KEPT_MESSAGES_MAX: usize = 4_096;
/// Their bytes.
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A busy inventory changes hundreds of times a second: a watcher gets what gathered in this time in one write.
const GATHER: Duration = Duration::from_millis(100);
/// A comment that keeps proxies from cutting a quiet stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The feeds of all inventories that are watched.
#[derive(Default)]
pub(crate) struct Feeds {
    feeds: Mutex<HashMap<InventoryNumber, Weak<Feed>>>,
}

struct Feed {
    kept: Mutex<Kept>,
    /// How far the feed is; closed when it ends.
    sequence: watch::Receiver<u64>,
}

#[derive(Default)]
struct Kept {
    /// In order of sequence, without a gap.
    messages: VecDeque<(u64, Bytes)>,
    bytes: usize,
}

impl Kept {
    fn push(&mut self, sequence: u64, message: Bytes) {
        self.bytes += message.len();
        self.messages.push_back((sequence, message));
        while self.messages.len() > KEPT_MESSAGES_MAX
            || (self.bytes > KEPT_BYTES_MAX && self.messages.len() > 1)
        {
            let (_, oldest) = self.messages.pop_front().expect("more than one");
            self.bytes -= oldest.len();
        }
    }

    /// All messages after a sequence, as one piece; `None` if some of them are not here.
    fn after(&self, sequence: u64) -> Option<(u64, Bytes)> {
        let first = self.messages.front()?.0;
        let skip = usize::try_from((sequence + 1).checked_sub(first)?).ok()?;
        let mut wanted = self.messages.iter().skip(skip);
        let (mut last, first) = wanted.next().map(|(sequence, message)| (*sequence, message.clone()))?;
        let mut all = Vec::new();
        for (sequence, message) in wanted {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(message);
            last = *sequence;
        }
        Some((last, if all.is_empty() { first } else { all.into() }))
    }
}

/// Answers with the stream of an inventory.
pub(crate) async fn watch(
    app: &Arc<App>,
    inventory: InventoryNumber,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let reached = app.engine.view(inventory).await?.sequence;
    let resume = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    // An id that this inventory has not reached is none of ours.
    let resume = resume.filter(|&id: &u64| id <= reached);
    let feed = Feed::of(app, inventory).await?;
    let watcher = Watcher {
        app: Arc::clone(app),
        inventory,
        sequence: feed.sequence.clone(),
        feed,
        at: resume,
        sent: None,
        _counted: Counted::new(),
    };
    let messages = stream::unfold(watcher, |mut watcher| async {
        let message = watcher.next().await?;
        Some((Ok::<Bytes, Infallible>(message), watcher))
    });
    Ok(event_stream(app, messages))
}

/// A response that stays open until its messages end or the server stops.
pub(crate) fn event_stream(
    app: &App,
    messages: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut stopping = app.stopping.subscribe();
    let stopped = async move { drop(stopping.wait_for(|&stopping| stopping).await) };
    let mut response = Response::new(Body::from_stream(messages.take_until(stopped)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One message of a stream. The data is one line of JSON.
pub(crate) fn message(event: &str, id: Option<u64>, data: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(data.len() + 48);
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(event.as_bytes());
    if let Some(id) = id {
        text.extend_from_slice(format!("\nid: {id}").as_bytes());
    }
    text.extend_from_slice(b"\ndata: ");
    text.extend_from_slice(data);
    text.extend_from_slice(b"\n\n");
    text.into()
}

pub(crate) const HEARTBEAT_MESSAGE: Bytes = Bytes::from_static(b": still here\n\n");

pub(crate) fn heartbeat() -> Duration {
    HEARTBEAT
}

/// Counts an open stream for as long as it lives.
pub(crate) struct Counted;

impl Counted {
    pub(crate) fn new() -> Counted {
        crate::measure::count_streams(1.0);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        crate::measure::count_streams(-1.0);
    }
}

struct Watcher {
    app: Arc<App>,
    inventory: InventoryNumber,
    feed: Arc<Feed>,
    sequence: watch::Receiver<u64>,
    /// The last sequence that was sent, or that the client says it has.
    at: Option<u64>,
    sent: Option<Instant>,
    _counted: Counted,
}

impl Watcher {
    /// What to send next; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        let Some(at) = self.at else { return self.snapshot().await };
        if let Some(sent) = self.sent {
            tokio::time::sleep_until(sent + GATHER).await;
        }
        let news = tokio::time::timeout(HEARTBEAT, self.sequence.wait_for(|&sequence| sequence > at)).await;
        match news.map(|news| news.is_ok()) {
            Err(_) => return Some(HEARTBEAT_MESSAGE),
            Ok(false) => return None,
            Ok(true) => {}
        }
        let kept = self.feed.kept.lock().after(at);
        match kept {
            Some((last, messages)) => {
                self.at = Some(last);
                self.sent = Some(Instant::now());
                Some(messages)
            }
            None => match self.catch_up(at).await {
                Some(messages) => Some(messages),
                None => self.snapshot().await,
            },
        }
    }

    /// What was missed, if the engine still has it: one `change` for each batch. Others may have begun to watch later
    /// than this one left off.
    async fn catch_up(&mut self, at: u64) -> Option<Bytes> {
        let engine = &self.app.engine;
        let reached = engine.view(self.inventory).await.ok()?.sequence;
        // One batch earlier, for the stock that the first message is compared with.
        let mut missed = engine.subscribe(self.inventory, at.checked_sub(1)?).await.ok()?;
        let mut before = missed.next().await.ok()?.stock.clone()?;
        let mut messages = Vec::new();
        while before.sequence < reached {
            let after = missed.next().await.ok()?.stock.clone()?;
            let change = render::change(&before, &after, engine.now());
            messages.extend_from_slice(&message("change", Some(after.sequence), &change));
            before = after;
        }
        self.at = Some(before.sequence);
        self.sent = Some(Instant::now());
        Some(messages.into())
    }

    async fn snapshot(&mut self) -> Option<Bytes> {
        let stock = self.app.engine.view(self.inventory).await.ok()?;
        self.at = Some(stock.sequence);
        self.sent = Some(Instant::now());
        Some(message("snapshot", Some(stock.sequence), &render::snapshot(&stock, self.app.engine.now())))
    }
}

impl Feed {
    /// The feed of an inventory; begun if nobody watches it yet.
    async fn of(app: &Arc<App>, inventory: InventoryNumber) -> Result<Arc<Feed>, Problem> {
        let stock = app.engine.view(inventory).await?;
        let mut feeds = app.feeds.feeds.lock();
        let running = feeds.get(&inventory).and_then(Weak::upgrade);
        if let Some(feed) = running.filter(|feed| feed.sequence.has_changed().is_ok()) {
            return Ok(feed);
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let (sender, sequence) = watch::channel(stock.sequence);
        let feed = Arc::new(Feed { kept: Mutex::default(), sequence });
        feeds.insert(inventory, Arc::downgrade(&feed));
        tokio::spawn(follow(Arc::clone(app), inventory, Arc::downgrade(&feed), stock, sender));
        Ok(feed)
    }
}

/// Renders what is committed for as long as somebody watches.
///
/// Watchers learn that it ended from the end of `reached`.
async fn follow(
    app: Arc<App>,
    inventory: InventoryNumber,
    feed: Weak<Feed>,
    now: Arc<StockView>,
    reached: watch::Sender<u64>,
) {
    let Ok(mut subscription) = app.engine.subscribe(inventory, now.sequence).await else { return };
    let mut last = Some(now);
    loop {
        let next = tokio::time::timeout(HEARTBEAT, subscription.next()).await;
        let Some(feed) = feed.upgrade() else { return };
        let batch = match next {
            Err(_) => continue,
            Ok(Ok(batch)) => batch,
            Ok(Err(SubscriptionError::Overloaded)) => {
                tokio::time::sleep(GATHER).await;
                continue;
            }
            Ok(Err(SubscriptionError::Gone { .. })) => {
                // The journal was cut: go on from what is there. Watchers find the gap and take a snapshot.
                let Ok(stock) = app.engine.view(inventory).await else { return };
                let Ok(again) = app.engine.subscribe(inventory, stock.sequence).await else { return };
                (subscription, last) = (again, Some(stock));
                continue;
            }
            Ok(Err(
                SubscriptionError::Store(_) | SubscriptionError::Damaged(_) | SubscriptionError::Stopped,
            )) => return,
        };
        // Without both there is nothing to compare, and a gap in what is kept.
        match (&last, &batch.stock) {
            (Some(before), Some(after)) if before.sequence + 1 == after.sequence => {
                let change = render::change(before, after, app.engine.now());
                feed.kept.lock().push(batch.sequence, message("change", Some(batch.sequence), &change));
            }
            _ => *feed.kept.lock() = Kept::default(),
        }
        last = batch.stock.clone();
        reached.send_if_modified(|sequence| {
            let further = batch.sequence > *sequence;
            *sequence = batch.sequence.max(*sequence);
            further
        });
    }
}
