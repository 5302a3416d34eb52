//! (d) Boxoffice: the binary as it is shipped, over HTTP, one booking a request or thousands.
//!
//! Best available over the whole hall, a hold with a deadline, an idempotency key each, answered when the journal is
//! on disk. Unlike the others it is asked over TCP and HTTP, and does the work of the application server too.
//!
//! One booking a request is asked for in two ways: by clients with a connection each, as strangers have it, and by clients who
//! share as many connections as those of Redis do and send on without waiting for each other, as behind a gateway.
//!
//! After a power cut: what was acknowledged is there, once; the same key gets the same bytes again.
//!
//! Where it fails: a single process is a single machine; while it restarts, nobody books.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use boxoffice_services::{Server, directory};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, oneshot};

use super::redis_lua::CONNECTIONS;
use crate::drive::{Client, Design, Recorded};
use crate::error::{Error, Result};

/// 400 subsections of 50 rows of 50 seats: the largest hall there is.
const SUBSECTIONS: u64 = 400;
const ROWS: u64 = 50;
const COLUMNS: u64 = 50;
/// Bookings in one request to `/v1/batch`.
pub(crate) const BATCH: u64 = 5_000;

/// A running server with an empty hall.
pub(crate) struct Boxoffice<C> {
    server: Server,
    program: PathBuf,
    directory: tempfile::TempDir,
    address: SocketAddr,
    client: fn(Way) -> C,
    /// What clients share; if there is nothing, each has a connection of its own.
    lines: Vec<Rc<Line>>,
}

/// How clients reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A connection each.
    Own,
    /// As many connections as the clients of Redis share.
    Shared,
}

impl<C> Boxoffice<C> {
    /// With clients of a kind: [`Single::new`] or [`Batches::new`].
    pub(crate) async fn start(program: &Path, reach: Reach, client: fn(Way) -> C) -> Result<Boxoffice<C>> {
        let directory = directory()?;
        let (store, log) = (directory.path().join("store"), directory.path().join("boxoffice.log"));
        let store = store.to_str().ok_or_else(|| Error::Wrong("a directory without a name".to_owned()))?;
        let (server, address) = serve(program, &["--data", store], log).await?;
        let program = program.to_path_buf();
        let mut boxoffice = Boxoffice { server, program, directory, address, client, lines: Vec::new() };
        open_hall(boxoffice.address).await?;
        if reach == Reach::Shared {
            for _ in 0..CONNECTIONS {
                boxoffice.lines.push(Line::open(address).await?);
            }
        }
        Ok(boxoffice)
    }
}

/// Starts a server, and says where it is.
pub(crate) async fn serve(program: &Path, arguments: &[&str], log: PathBuf) -> Result<(Server, SocketAddr)> {
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
    let mut server = Server::start(&mut command, Signal::KILL, log)?;
    let address = server
        .ready(async |server| {
            let said = server.said();
            let (_, after) = said.split_once("listening on http://").ok_or("it does not say where it is")?;
            let (address, _) = after.split_once(char::is_whitespace).ok_or("it is still speaking")?;
            address.parse().map_err(|_| "it says no address")
        })
        .await?;
    Ok((server, address))
}

/// Makes the hall at a server.
pub(crate) async fn open_hall(address: SocketAddr) -> Result<()> {
    let subsections: Vec<String> = (1..=SUBSECTIONS)
        .map(|number| format!(r#"{{"number":{number},"rows":{ROWS},"cols":{COLUMNS}}}"#))
        .collect();
    let hall = format!(
        r#"{{"id":"hall","name":"Hall","currency":"TWD","sections":[{{"name":"A","price":3000,"subsections":[{}]}}]}}"#,
        subsections.join(",")
    );
    Connection::open(address).await?.expect(&post("/v1/events", "", &hall), 201).await?;
    Ok(())
}

impl<C: Client + 'static> Design for Boxoffice<C> {
    type Client = C;

    async fn client(&self, index: usize, _clients: usize) -> Result<C> {
        let way = match self.lines.as_slice() {
            [] => Way::Own(Connection::open(self.address).await?),
            lines => Way::Shared(Rc::clone(&lines[index % lines.len()])),
        };
        Ok((self.client)(way))
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.server.id()]
    }

    /// Taken is what the running server says; bookings are what the journal has after the process was killed. A key is
    /// part of the change that made its booking.
    async fn recorded(self) -> Result<Recorded> {
        let mut connection = Connection::open(self.address).await?;
        let event =
            connection.expect(b"GET /v1/events/hall HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 200).await?;
        let event = String::from_utf8_lossy(event);
        // The last numbers are those of the whole event.
        let taken = event.rsplit_once(r#""held":"#).and_then(|(_, after)| number_before(after, ','));
        let taken = taken.ok_or_else(|| Error::Wrong(format!("an event of another form: {event}")))?;
        let Boxoffice { server, program, directory, .. } = self;
        drop(server);
        let verified = Command::new(program)
            .args(["verify", "--data"])
            .arg(directory.path().join("store"))
            .output()
            .map_err(Error::io("cannot run boxoffice verify"))?;
        let said = String::from_utf8_lossy(&verified.stdout).into_owned()
            + &String::from_utf8_lossy(&verified.stderr);
        let bookings = said.rsplit_once(" changes, ").and_then(|(_, after)| number_before(after, ' '));
        match bookings {
            Some(bookings) if verified.status.success() => Ok(Recorded { bookings, taken, keys: bookings }),
            _ => Err(Error::Wrong(format!("boxoffice verify: {said}"))),
        }
    }
}

fn number_before(text: &str, end: char) -> Option<u64> {
    text.split(end).next()?.parse().ok()
}

/// A client's way to the server.
pub(crate) enum Way {
    Own(Connection),
    Shared(Rc<Line>),
}

impl Way {
    /// The body of the answer, which must have that status.
    async fn expect(&mut self, request: &[u8], status: u16) -> Result<Cow<'_, [u8]>> {
        match self {
            Way::Own(connection) => connection.expect(request, status).await.map(Cow::Borrowed),
            Way::Shared(line) => line.expect(request, status).await.map(Cow::Owned),
        }
    }
}

/// Its status and its body.
type Answer = (u16, Vec<u8>);

/// A connection that many send on without waiting for each other. What gathers goes out in one write; answers come in order.
pub(crate) struct Line {
    outgoing: RefCell<Vec<u8>>,
    has_some: Notify,
    /// Until the connection is closed.
    waiting: RefCell<Option<VecDeque<oneshot::Sender<Answer>>>>,
}

impl Line {
    async fn open(address: SocketAddr) -> Result<Rc<Line>> {
        let (reader, writer) = connect(address).await?.into_split();
        let line = Rc::new(Line {
            outgoing: RefCell::default(),
            has_some: Notify::new(),
            waiting: RefCell::new(Some(VecDeque::new())),
        });
        tokio::task::spawn_local(Rc::clone(&line).send_all(writer));
        tokio::task::spawn_local(Rc::clone(&line).read_all(reader));
        Ok(line)
    }

    async fn expect(&self, request: &[u8], status: u16) -> Result<Vec<u8>> {
        let (sender, answer) = oneshot::channel();
        self.outgoing.borrow_mut().extend_from_slice(request);
        if let Some(waiting) = &mut *self.waiting.borrow_mut() {
            waiting.push_back(sender);
        }
        self.has_some.notify_one();
        match answer.await {
            Ok((found, body)) if found == status => Ok(body),
            Ok((found, body)) => Err(unexpected(found, &body)),
            Err(_) => Err(Error::Wrong("boxoffice closed a connection".to_owned())),
        }
    }

    async fn send_all(self: Rc<Line>, mut writer: OwnedWriteHalf) {
        loop {
            self.has_some.notified().await;
            // Whoever is ready to send now gets onto the same write.
            tokio::task::yield_now().await;
            let gathered = self.outgoing.take();
            if writer.write_all(&gathered).await.is_err() {
                drop(self.waiting.take());
                return;
            }
        }
    }

    /// When it ends, all who wait are told by the end of their channels.
    async fn read_all(self: Rc<Line>, mut reader: OwnedReadHalf) {
        let mut buffer = Vec::with_capacity(64 * 1024);
        while let Ok(1..) = reader.read_buf(&mut buffer).await {
            let mut used = 0;
            while let Some((status, body_at, length)) = read_head(&buffer[used..])
                && let Some(body) = buffer[used..].get(body_at..body_at + length)
                && let Some(sender) = self.waiting.borrow_mut().as_mut().and_then(VecDeque::pop_front)
            {
                // Who no longer waits was stopped.
                drop(sender.send((status, body.to_vec())));
                used += body_at + length;
            }
            buffer.drain(..used);
        }
        drop(self.waiting.take());
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await.map_err(Error::io("cannot connect to boxoffice"))?;
    stream.set_nodelay(true).map_err(Error::io("cannot set up a socket"))?;
    Ok(stream)
}

fn unexpected(status: u16, body: &[u8]) -> Error {
    Error::Wrong(format!("boxoffice answered {status}: {}", String::from_utf8_lossy(body)))
}

/// A connection that is kept, with one request at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Connection> {
        Ok(Connection { stream: connect(address).await?, buffer: Vec::with_capacity(4 * 1024) })
    }

    /// Sends a whole request and reads the whole answer, which must have that status; its body.
    pub(crate) async fn expect(&mut self, request: &[u8], status: u16) -> Result<&[u8]> {
        self.stream.write_all(request).await.map_err(Error::io("cannot send to boxoffice"))?;
        self.buffer.clear();
        let mut head = None;
        let (found, body) = loop {
            match head {
                Some((found, body, length)) if self.buffer.len() >= body + length => break (found, body),
                _ => {}
            }
            let read = self.stream.read_buf(&mut self.buffer).await;
            if read.map_err(Error::io("cannot read from boxoffice"))? == 0 {
                return Err(Error::Wrong("boxoffice closed a connection".to_owned()));
            }
            if head.is_none() {
                head = read_head(&self.buffer);
            }
        };
        let body = &self.buffer[body..];
        if found != status {
            return Err(unexpected(found, body));
        }
        Ok(body)
    }
}

/// Status, where the body begins, and how long it is.
fn read_head(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Some((status, end + 4, length.unwrap_or(0)))
}

fn post(path: &str, header: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{header}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

const SECTION: &str = r#"{"section":"A-"#;

/// The seat of a booking of one, as a number. Nothing after it is looked at: the generator is not what is measured.
fn seat_in(body: &[u8]) -> Option<u64> {
    let body = std::str::from_utf8(body).ok()?;
    let (_, seats) = body.split_once(r#""seats":["#)?;
    let (seat, after) = seats.strip_prefix(SECTION)?.split_once('}')?;
    if after.starts_with(']') { seat_number(seat) } else { None }
}

/// `{"section":"A-3","seat":"1-2",..` of each booking in an answer, as numbers of seats.
fn seats_in(body: &[u8]) -> Option<Vec<u64>> {
    std::str::from_utf8(body).ok()?.split(SECTION).skip(1).map(seat_number).collect()
}

/// Of `3","seat":"1-2",..`.
fn seat_number(text: &str) -> Option<u64> {
    let subsection = number_before(text, '"')?;
    let (row, column) = text.split_once(r#""seat":""#)?.1.split('"').next()?.split_once('-')?;
    let (row, column) = (row.parse::<u64>().ok()?, column.parse::<u64>().ok()?);
    Some(((subsection - 1) * ROWS + row - 1) * COLUMNS + column - 1)
}

/// One booking a request.
pub(crate) struct Single {
    way: Way,
    seats: Vec<u64>,
}

impl Single {
    pub(crate) fn new(way: Way) -> Single {
        Single { way, seats: Vec::new() }
    }
}

impl Client for Single {
    async fn book(&mut self, number: u64) -> Result<()> {
        let customer = format!("customer-{number}");
        let length =
            r#"{"customer":"","event":"hall","best_available":{"quantity":1}}"#.len() + customer.len();
        let request = format!(
            "POST /v1/bookings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nidempotency-key: key-{number}\r\n\
             content-length: {length}\r\n\r\n{{\"customer\":\"{customer}\",\"event\":\"hall\",\"best_available\":{{\"quantity\":1}}}}"
        );
        let answer = self.way.expect(request.as_bytes(), 201).await?;
        match seat_in(&answer) {
            Some(seat) => self.seats.push(seat),
            None => return Err(Error::Wrong(format!("not one seat: {}", String::from_utf8_lossy(&answer)))),
        }
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.seats
    }
}

/// [`BATCH`] bookings a request.
pub(crate) struct Batches {
    way: Way,
    /// Read when the clock no longer runs.
    answers: Vec<Vec<u8>>,
}

impl Batches {
    pub(crate) fn new(way: Way) -> Batches {
        Batches { way, answers: Vec::new() }
    }
}

impl Client for Batches {
    const BOOKINGS: u64 = BATCH;

    async fn book(&mut self, number: u64) -> Result<()> {
        use std::fmt::Write;
        let mut body = String::with_capacity(128 * BATCH as usize);
        body.push_str(r#"{"commands":["#);
        for booking in number * BATCH..(number + 1) * BATCH {
            let comma = if booking == number * BATCH { "" } else { "," };
            let written = write!(
                body,
                r#"{comma}{{"op":"book","idempotency_key":"key-{booking}","customer":"customer-{booking}","event":"hall","best_available":{{"quantity":1}}}}"#
            );
            written.expect("a string takes everything");
        }
        body.push_str("]}");
        let answer = self.way.expect(&post("/v1/batch", "", &body), 200).await?.into_owned();
        self.answers.push(answer);
        Ok(())
    }

    /// An answer that is not all bookings gives fewer seats than the servers have, or than were asked for.
    fn seats(self) -> Vec<u64> {
        self.answers.iter().flat_map(|answer| seats_in(answer).unwrap_or_default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_read_from_answers() {
        let answer = br#"{"seats":[{"section":"A-1","seat":"1-1","price":3}]},{"seats":[{"section":"A-2","seat":"3-4","price":3}]}"#;
        assert_eq!(seats_in(answer), Some(vec![0, 2_500 + 103]));
        assert_eq!(seats_in(br#"{"code":"SEAT_UNAVAILABLE"}"#), Some(vec![]));
        assert_eq!(seats_in(br#"{"section":"A-x","seat":"3-4"}"#), None);
        let one = br#"{"id":"x","seats":[{"section":"A-2","seat":"3-4","price":3}],"areas":[]}"#;
        assert_eq!(seat_in(one), Some(2_500 + 103));
        let two = br#"{"seats":[{"section":"A-2","seat":"3-4"},{"section":"A-2","seat":"3-5"}]}"#;
        assert_eq!(seat_in(two), None);
        assert_eq!(seat_in(br#"{"seats":[]}"#), None);
    }
}
