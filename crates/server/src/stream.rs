//! Live streams: one feed per inventory that somebody watches, rendered once for all of them.
//!
//! A feed follows the inventory and keeps the newest `change` messages, ready to send. Watchers who keep up get each of them;
//! for whoever comes back with an older id they are made again from the journal, and who is further behind than that is worth
//! starts again with a snapshot. Nobody slows the feed, and the feed does not slow the writer. Whoever can unpack gets it packed, and what all are sent is packed once, in each of two ways that somebody asks for.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::load::LoadError;
use boxoffice_engine::view::StockView;
use boxoffice_engine::{InventoryNumber, SubscriptionError};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::app::App;
use crate::caller::Caller;
use crate::ids::inventory_not_found;
use crate::limits::KEYS_REFRESHED_EVERY;
use crate::listen;
use crate::packing::{Packing, Text};
use crate::problem::Problem;
use crate::render;
use crate::routes::bookings::kind_of;

/// Frames that a feed keeps for watchers who are late or come back, however large they are: one who is a frame or two late must find what is
/// missing.
const KEPT_FRAMES_MIN: usize = 3;
/// More of them are kept as long as they have no more messages together, ..
const KEPT_MESSAGES_MAX: usize = 4_096;
/// .. and no more bytes before they are packed; packed they are a tenth of that, once for each way.
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What has gathered until it is so much goes out before its time.
const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A busy inventory changes hundreds of times a second: watchers get what gathered in this time in one write.
const GATHER: Duration = Duration::from_millis(100);
/// Every write to every watcher takes its time, some tens of microseconds of a processor. What many watch gathers longer, so that buyers keep
/// the processors: from a hundred to a thousand watchers together take a few per cent of one.
const GATHER_FOR_EACH: Duration = Duration::from_millis(1);
/// Changes gather no longer than that.
const GATHER_MAX: Duration = Duration::from_secs(1);
/// How often a feed that gathers looks at what was committed. To be woken for every batch would cost more than the look, and whoever
/// commits pays for the waking; each look, too, takes a processor from somebody. Often enough that the engine still has what came since: its newest
/// 16,384 changes, of which a booking is three, are more than come in so short a time, also of those who book in batches.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A comment that keeps proxies from cutting a quiet stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The feeds of all inventories that are watched.
#[derive(Default)]
pub(crate) struct Feeds {
    feeds: Mutex<HashMap<InventoryNumber, Weak<Feed>>>,
}

struct Feed {
    kept: Mutex<Kept>,
    /// The last snapshot and its sequence. Locked while one is rendered: whoever comes meanwhile takes that one.
    snapshot: tokio::sync::Mutex<Option<(u64, Arc<Text>)>>,
    /// Messages from before those that are kept. Locked while they are made: after a restart everybody comes back at once.
    past: tokio::sync::Mutex<Past>,
    /// How far the feed is; closed when it ends.
    sequence: watch::Receiver<u64>,
}

/// What goes out in one write: the messages of some batches in a row.
struct Frame {
    /// The sequence of the first message.
    first: u64,
    /// Where each message begins.
    starts: Vec<usize>,
    text: Text,
}

impl Frame {
    fn last(&self) -> u64 {
        self.first + self.starts.len() as u64 - 1
    }

    /// Its messages after a sequence; `None` if there is a gap before them.
    fn after(&self, sequence: u64, packing: &mut Packing) -> Option<Bytes> {
        match usize::try_from((sequence + 1).checked_sub(self.first)?).ok()? {
            0 => Some(packing.next(&self.text)),
            skip => Some(packing.next(&Text::new(self.text.plain.slice(self.starts[skip]..)))),
        }
    }
}

/// A frame that still gathers.
#[derive(Default)]
struct Gathering {
    first: u64,
    starts: Vec<usize>,
    text: Vec<u8>,
    /// Of the frame before; 0 after a time in which nothing came.
    last_bytes: usize,
}

impl Gathering {
    /// Has the message of a sequence written behind those before it.
    fn push(&mut self, sequence: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if self.starts.is_empty() {
            self.first = sequence;
            // As much as the last time, in one piece: to grow to it step by step would take fresh memory at every step.
            self.text.reserve(self.last_bytes + self.last_bytes / 4);
        }
        self.starts.push(self.text.len());
        write(&mut self.text);
    }

    /// Whether it has gathered for long enough, or is large enough.
    fn is_due(&self, gathered_for: Duration, gather: Duration) -> bool {
        gathered_for >= gather || self.text.len() >= FRAME_BYTES_MAX
    }

    fn take(&mut self) -> Option<Frame> {
        let Gathering { first, starts, mut text, .. } = std::mem::take(self);
        self.last_bytes = text.len();
        // Feeds keep what they have sent, and count only what it says: the room beside it is no more than that.
        if text.capacity() / 2 > text.len() {
            text.shrink_to_fit();
        }
        (!starts.is_empty()).then(|| Frame { first, starts, text: Text::new(text.into()) })
    }
}

#[derive(Default)]
struct Past {
    /// What the last one was told for whom the journal was read.
    frame: Option<Frame>,
    /// Whoever left off here or before cannot be told what was missed.
    gone: Option<u64>,
}

#[derive(Default)]
struct Kept {
    /// In order of sequence, without a gap.
    frames: VecDeque<Arc<Frame>>,
    messages: usize,
    bytes: usize,
}

impl Kept {
    fn push(&mut self, frame: Frame) {
        self.messages += frame.starts.len();
        self.bytes += frame.text.plain.len();
        self.frames.push_back(Arc::new(frame));
        while self.frames.len() > KEPT_FRAMES_MIN
            && (self.messages > KEPT_MESSAGES_MAX || self.bytes > KEPT_BYTES_MAX)
        {
            let oldest = self.frames.pop_front().expect("more than one");
            self.messages -= oldest.starts.len();
            self.bytes -= oldest.text.plain.len();
        }
    }

    /// The frame with the message after a sequence, or with the first one that is still here.
    fn after(&self, sequence: u64) -> Option<Arc<Frame>> {
        let place = self.frames.partition_point(|frame| frame.last() <= sequence);
        self.frames.get(place).map(Arc::clone)
    }
}

/// Answers with the stream of an inventory.
pub(crate) async fn watch(
    app: &Arc<App>,
    caller: &Caller,
    inventory: InventoryNumber,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let stock = app.engine.view(inventory).await?;
    if stock.is_deleted() {
        return Err(inventory_not_found(kind_of(&stock), &stock.terms.id));
    }
    let reached = stock.sequence;
    let resume = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    // An id that this inventory has not reached is none of ours.
    let resume = resume.filter(|&id: &u64| id <= reached);
    let feed = Feed::of(app, inventory).await?;
    let packing = Packing::asked(headers);
    let (head, name) = (packing.head(), packing.name());
    let watcher = Watcher {
        app: Arc::clone(app),
        inventory,
        sequence: feed.sequence.clone(),
        feed,
        at: resume,
        packing,
        _counted: Counted::new(),
    };
    let end = Box::pin(end_of_stream(app, caller));
    let messages = stream::unfold(Some((watcher, end)), |watching| async {
        let (mut watcher, mut end) = watching?;
        let message = tokio::select! {
            biased;
            () = &mut end => None,
            message = watcher.next() => message,
        };
        match message {
            Some(message) => Some((Ok::<Bytes, Infallible>(message), Some((watcher, end)))),
            None => watcher.packing.end().map(|end| (Ok(end), None)),
        }
    });
    let mut response = endless(stream::iter(head.map(Ok)).chain(messages));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding, sec-fetch-site"));
    if let Some(name) = name {
        response.headers_mut().insert(header::CONTENT_ENCODING, name);
    }
    Ok(response)
}

/// A response that stays open until its messages end, the server stops or the caller's key is revoked.
pub(crate) fn event_stream(
    app: &Arc<App>,
    caller: &Caller,
    messages: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    endless(messages.take_until(Box::pin(end_of_stream(app, caller))))
}

/// Waits until the server stops, or the key that a stream was opened with is revoked; without a key, until the first one exists.
/// What another server did to a key is known [`KEYS_REFRESHED_EVERY`] later.
fn end_of_stream(app: &Arc<App>, caller: &Caller) -> impl Future<Output = ()> + Send + use<> {
    let (app, key) = (Arc::clone(app), caller.key.clone());
    async move {
        let revocation = async {
            match &key {
                Some(key) => app.keys.revocation(key).await,
                None => {
                    while app.keys.is_empty() {
                        tokio::time::sleep(KEYS_REFRESHED_EVERY).await;
                    }
                }
            }
        };
        let mut stopping = app.stopping.subscribe();
        tokio::select! {
            () = revocation => {}
            _ = stopping.wait_for(|&stopping| stopping) => {}
        }
    }
}

fn endless(messages: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(messages));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One message of a stream. The data is one line of JSON.
pub(crate) fn message(event: &str, id: Option<u64>, data: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(data.len() + 48);
    write_message(&mut text, event, id, |text| text.extend_from_slice(data));
    text.into()
}

fn write_message(text: &mut Vec<u8>, event: &str, id: Option<u64>, write_data: impl FnOnce(&mut Vec<u8>)) {
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(event.as_bytes());
    if let Some(id) = id {
        text.extend_from_slice(format!("\nid: {id}").as_bytes());
    }
    text.extend_from_slice(b"\ndata: ");
    write_data(text);
    text.extend_from_slice(b"\n\n");
}

/// What lies between two views, one batch apart, as a message.
fn write_change(text: &mut Vec<u8>, before: &StockView, after: &StockView, now: Timestamp) {
    write_message(text, "change", Some(after.sequence), |text| {
        render::write_change(text, before, after, now);
    });
}

pub(crate) const HEARTBEAT_MESSAGE: Bytes = Bytes::from_static(b": still here\n\n");
static HEARTBEAT_TEXT: LazyLock<Text> = LazyLock::new(|| Text::new(HEARTBEAT_MESSAGE));

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
    packing: Packing,
    _counted: Counted,
}

impl Watcher {
    /// What to send next; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        let Some(at) = self.at else { return self.snapshot().await };
        let news = tokio::time::timeout(HEARTBEAT, self.sequence.wait_for(|&sequence| sequence > at)).await;
        match news.map(|news| news.is_ok()) {
            Err(_) => return Some(self.packing.next(&HEARTBEAT_TEXT)),
            Ok(false) => return None,
            Ok(true) => {}
        }
        let kept = self.feed.kept.lock().after(at);
        if let Some(frame) = kept
            && let Some(messages) = frame.after(at, &mut self.packing)
        {
            self.at = Some(frame.last());
            return Some(messages);
        }
        if let Some(messages) = self.catch_up(at).await {
            return Some(self.packing.next(&Text::new(messages)));
        }
        match self.look_back(at).await {
            Some(messages) => Some(messages),
            None => self.snapshot().await,
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
            write_change(&mut messages, &before, &after, engine.now());
            before = after;
        }
        self.at = Some(before.sequence);
        Some(messages.into())
    }

    /// What was missed, from the journal: after a restart, or if nobody watched for long.
    async fn look_back(&mut self, at: u64) -> Option<Bytes> {
        let reached = self.app.engine.view(self.inventory).await.ok()?.sequence;
        if at == 0 || reached - at > KEPT_MESSAGES_MAX as u64 {
            return None;
        }
        let mut past = self.feed.past.lock().await;
        if past.gone.is_some_and(|gone| at <= gone) {
            return None;
        }
        if past.frame.as_ref().is_none_or(|frame| at + 1 < frame.first || frame.last() <= at) {
            let (app, inventory) = (Arc::clone(&self.app), self.inventory);
            let _turn = JOURNAL_READERS.acquire().await.expect("never closed");
            let read = move || frame_of_journal(&app, inventory, at, reached);
            match tokio::task::spawn_blocking(read).await.expect("reading does not panic") {
                Ok(Some(frame)) => past.frame = Some(frame),
                Ok(None) => {
                    // Whoever saw a little more is not worth another look.
                    past.gone = Some(reached - 1);
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%error, "the journal cannot be read for a stream");
                    return None;
                }
            }
        }
        let frame = past.frame.as_ref().expect("made above");
        let messages = frame.after(at, &mut self.packing)?;
        self.at = Some(frame.last());
        Some(messages)
    }

    /// A snapshot that is at least as new as what was committed when it was asked for.
    async fn snapshot(&mut self) -> Option<Bytes> {
        let engine = &self.app.engine;
        let asked_at = engine.view(self.inventory).await.ok()?.sequence;
        let mut last = self.feed.snapshot.lock().await;
        let (sequence, text) = match last.as_ref().filter(|(sequence, _)| *sequence >= asked_at) {
            Some(last) => last.clone(),
            None => {
                let stock = engine.view(self.inventory).await.ok()?;
                let text = render::snapshot(&stock, engine.now());
                let text = Text::new(message("snapshot", Some(stock.sequence), &text));
                last.insert((stock.sequence, Arc::new(text))).clone()
            }
        };
        self.at = Some(sequence);
        // While `last` is locked: who wants it packed too waits here without a thread.
        Some(self.packing.next(&text))
    }
}

/// Journals that are read again for those who come back, over all inventories: each is a whole inventory in memory for a moment.
static JOURNAL_READERS: Semaphore = Semaphore::const_new(2);

/// The messages after one sequence up to another; `None` if the journal cannot tell, or if they are too many bytes.
fn frame_of_journal(
    app: &App,
    inventory: InventoryNumber,
    after: u64,
    last: u64,
) -> Result<Option<Frame>, LoadError> {
    let Some(stocks) = app.engine.stocks(inventory, after, last)? else { return Ok(None) };
    let mut gathering = Gathering::default();
    for pair in stocks.windows(2) {
        let now = app.engine.now();
        gathering.push(pair[1].sequence, |text| write_change(text, &pair[0], &pair[1], now));
        if gathering.text.len() > KEPT_BYTES_MAX {
            return Ok(None);
        }
    }
    Ok(gathering.take())
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
        let feed = Arc::new(Feed {
            kept: Mutex::default(),
            snapshot: tokio::sync::Mutex::default(),
            past: tokio::sync::Mutex::default(),
            sequence,
        });
        feeds.insert(inventory, Arc::downgrade(&feed));
        let follow = follow(Arc::clone(app), inventory, Arc::downgrade(&feed), stock, sender);
        listen::watchers().spawn(follow);
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
    let mut gathering = Gathering::default();
    // The first change after a quiet time goes out at once, those that follow it gather.
    let mut sent_at = Instant::now() - GATHER_MAX;
    loop {
        let gather = gathering_time(feed.strong_count());
        let next = match subscription.next().now_or_never() {
            None if gathering.starts.is_empty() => {
                tokio::time::timeout(HEARTBEAT, subscription.next()).await.ok()
            }
            None => {
                tokio::time::sleep_until((sent_at + gather).min(Instant::now() + LOOK_EVERY)).await;
                None
            }
            ready => ready,
        };
        let Some(feed) = feed.upgrade() else { return };
        match next {
            None => {}
            Some(Ok(batch)) => {
                match (&last, &batch.stock) {
                    (Some(before), Some(after)) if before.sequence + 1 == after.sequence => {
                        let now = app.engine.now();
                        gathering.push(batch.sequence, |text| write_change(text, before, after, now));
                    }
                    // Nothing to compare with: there is a gap, and watchers who find it take a snapshot.
                    _ => {
                        gathering = Gathering::default();
                        *feed.kept.lock() = Kept::default();
                        reached.send_replace(batch.sequence);
                    }
                }
                last = batch.stock.clone();
                if last.as_ref().is_some_and(|stock| stock.is_deleted()) {
                    return;
                }
            }
            Some(Err(SubscriptionError::Overloaded)) => tokio::time::sleep(GATHER).await,
            Some(Err(SubscriptionError::Gone { .. })) => {
                // The journal was cut: go on from what is there.
                let Ok(stock) = app.engine.view(inventory).await else { return };
                let Ok(again) = app.engine.subscribe(inventory, stock.sequence).await else { return };
                gathering = Gathering::default();
                *feed.kept.lock() = Kept::default();
                reached.send_replace(stock.sequence);
                (subscription, last) = (again, Some(stock));
            }
            Some(Err(
                SubscriptionError::Store(_) | SubscriptionError::Damaged(_) | SubscriptionError::Stopped,
            )) => return,
        }
        if gathering.is_due(sent_at.elapsed(), gather)
            && let Some(frame) = gathering.take()
        {
            sent_at = Instant::now();
            let sequence = frame.last();
            feed.kept.lock().push(frame);
            reached.send_replace(sequence);
        }
    }
}

fn gathering_time(watchers: usize) -> Duration {
    let watchers = u32::try_from(watchers).unwrap_or(u32::MAX);
    GATHER_FOR_EACH.saturating_mul(watchers).clamp(GATHER, GATHER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_watch_gathers_longer_and_never_too_long() {
        let milliseconds = |watchers| gathering_time(watchers).as_millis();
        assert_eq!([0, 1, 100, 400, 1_000, usize::MAX].map(milliseconds), [100, 100, 100, 400, 1_000, 1_000]);
    }

    fn frame(sequences: std::ops::RangeInclusive<u64>) -> Frame {
        let mut gathering = Gathering::default();
        for sequence in sequences {
            gathering.push(sequence, |text| text.extend_from_slice(format!("<{sequence}>").as_bytes()));
        }
        gathering.take().expect("some messages")
    }

    #[test]
    fn a_frame_goes_out_when_it_is_time_or_when_it_is_large() {
        let mut gathering = Gathering::default();
        let second = Duration::from_secs(1);
        gathering.push(5, |text| text.resize(FRAME_BYTES_MAX - 1, b'x'));
        assert!(!gathering.is_due(second / 2, second));
        assert!(gathering.is_due(second, second));
        gathering.push(6, |text| text.push(b'y'));
        assert!(gathering.is_due(Duration::ZERO, second));
    }

    #[test]
    fn a_frame_has_room_for_as_much_as_the_last_one_until_nothing_comes() {
        let mut gathering = Gathering::default();
        gathering.push(5, |text| text.resize(1_000_000, b'x'));
        assert_eq!(gathering.take().map(|frame| frame.text.plain.len()), Some(1_000_000));
        gathering.push(6, |text| text.push(b'y'));
        assert!(gathering.text.capacity() >= 1_000_000);
        let frame = gathering.take().expect("a message");
        assert_eq!(frame.text.plain.len(), 1);
        assert!(Vec::from(frame.text.plain).capacity() < 1_000, "what is kept has no room for more");
        gathering.push(7, |text| text.push(b'z'));
        assert!(gathering.text.capacity() < 1_000);
        gathering.take();
        assert!(gathering.take().is_none());
        assert_eq!(gathering.last_bytes, 0);
    }

    #[test]
    fn whoever_is_late_gets_what_is_missing_frame_by_frame_and_not_a_message_twice() {
        let mut kept = Kept::default();
        kept.push(frame(5..=5));
        kept.push(frame(6..=8));
        let after = |sequence| {
            let frame = kept.after(sequence)?;
            let text = frame.after(sequence, &mut Packing::Plain)?;
            Some((frame.last(), String::from_utf8(text.to_vec()).unwrap()))
        };
        assert_eq!(after(4), Some((5, "<5>".to_owned())));
        assert_eq!(after(5), Some((8, "<6><7><8>".to_owned())));
        assert_eq!(after(7), Some((8, "<8>".to_owned())), "in the middle of a frame");
        assert_eq!(after(8), None, "nothing is missing");
        assert_eq!(after(3), None, "message 4 is gone");
    }

    #[test]
    fn the_newest_frames_are_kept_however_large_they_are() {
        let mut kept = Kept::default();
        let each = KEPT_MESSAGES_MAX as u64;
        for number in 0..5 {
            kept.push(frame(number * each + 1..=(number + 1) * each));
        }
        assert_eq!(kept.after(0).map(|oldest| oldest.first), Some(2 * each + 1), "three of five");
        assert_eq!(kept.messages, 3 * KEPT_MESSAGES_MAX);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut kept = Kept::default();
        let each = 100;
        for number in 0..=KEPT_MESSAGES_MAX as u64 / each + 1 {
            kept.push(frame(number * each..=number * each + each - 1));
        }
        assert!(kept.messages <= KEPT_MESSAGES_MAX);
        assert_eq!(kept.messages, kept.frames.iter().map(|frame| frame.starts.len()).sum::<usize>());
        assert_eq!(kept.bytes, kept.frames.iter().map(|frame| frame.text.plain.len()).sum::<usize>());
        assert!(
            kept.after(0).and_then(|frame| frame.after(0, &mut Packing::Plain)).is_none(),
            "message 1 is gone"
        );
    }
}
