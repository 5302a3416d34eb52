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
use crate::drive::{BOOKINGS_MAX, Client, Design, Recorded};
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
    client: Box<dyn Fn(Way) -> C>,
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
    /// With clients of a kind: [`Single::new`] or [`Batches::maker`].
    pub(crate) async fn start(
        program: &Path,
        reach: Reach,
        client: impl Fn(Way) -> C + 'static,
    ) -> Result<Boxoffice<C>> {
        let directory = directory()?;
        let (store, log) = (directory.path().join("store"), directory.path().join("boxoffice.log"));
        let store = store.to_str().ok_or_else(|| Error::Wrong("a directory without a name".to_owned()))?;
        let (server, address) = serve(program, &["--data", store], log).await?;
        let program = program.to_path_buf();
        let client = Box::new(client);
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

/// The seat of a booking, or what was said instead.
type Answer = Result<u64>;

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

    async fn book(&self, number: u64) -> Answer {
        let (sender, answer) = oneshot::channel();
        write_booking(&mut self.outgoing.borrow_mut(), number);
        if let Some(waiting) = &mut *self.waiting.borrow_mut() {
            waiting.push_back(sender);
        }
        self.has_some.notify_one();
        answer.await.unwrap_or_else(|_| Err(Error::Wrong("boxoffice closed a connection".to_owned())))
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
            let Ok(used) = self.hand_out(&buffer) else { break };
            buffer.drain(..used);
        }
        drop(self.waiting.take());
    }

    /// Gives those who wait longest what is whole; how many bytes that was.
    fn hand_out(&self, buffer: &[u8]) -> Result<usize> {
        let mut used = 0;
        while let Some((status, body_at, length)) = read_head(&buffer[used..])?
            && let Some(body) = buffer[used..].get(body_at..body_at + length)
            && let Some(sender) = self.waiting.borrow_mut().as_mut().and_then(VecDeque::pop_front)
        {
            // Who no longer waits was stopped.
            drop(sender.send(booked(status, body)));
            used += body_at + length;
        }
        Ok(used)
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
                head = read_head(&self.buffer)?;
            }
        };
        let body = &self.buffer[body..];
        if found != status {
            return Err(unexpected(found, body));
        }
        Ok(body)
    }
}

/// Status, where the body begins, and how long it is; `None` if there is more to come of the head.
fn read_head(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let other = || Error::Wrong(format!("a head of another form: {}", String::from_utf8_lossy(bytes)));
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(body_at) = head.parse(bytes).map_err(|_| other())? else {
        return Ok(None);
    };
    let length = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok());
    match (head.code, length) {
        (Some(status), Some(length)) => Ok(Some((status, body_at, length))),
        _ => Err(other()),
    }
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

fn booked(status: u16, body: &[u8]) -> Answer {
    match seat_in(body) {
        Some(seat) if status == 201 => Ok(seat),
        _ => Err(unexpected(status, body)),
    }
}

/// `{"section":"A-3","seat":"1-2",..` of each booking in an answer, as numbers of seats.
fn seats_in(body: &[u8]) -> Option<Vec<u64>> {
    let places = memchr::memmem::find_iter(body, SECTION);
    places
        .map(|at| {
            let seat = &body[at + SECTION.len()..];
            let end = memchr::memchr(b'}', seat)?;
            seat_number(std::str::from_utf8(&seat[..end]).ok()?)
        })
        .collect()
}

/// Of `3","seat":"1-2",..`.
fn seat_number(text: &str) -> Option<u64> {
    let subsection = number_before(text, '"')?;
    let (row, column) = text.split_once(r#""seat":""#)?.1.split('"').next()?.split_once('-')?;
    let (row, column) = (row.parse::<u64>().ok()?, column.parse::<u64>().ok()?);
    Some(((subsection - 1) * ROWS + row - 1) * COLUMNS + column - 1)
}

/// Appends the request for a booking.
fn write_booking(request: &mut Vec<u8>, number: u64) {
    use std::io::Write;
    let digits = number.checked_ilog10().map_or(1, |more| more as usize + 1);
    let length = r#"{"customer":"customer-","event":"hall","best_available":{"quantity":1}}"#.len() + digits;
    let written = write!(
        request,
        "POST /v1/bookings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nidempotency-key: key-{number}\r\n\
         content-length: {length}\r\n\r\n{{\"customer\":\"customer-{number}\",\"event\":\"hall\",\"best_available\":{{\"quantity\":1}}}}"
    );
    written.expect("a vector takes everything");
}

/// One booking a request.
pub(crate) struct Single {
    way: Way,
    request: Vec<u8>,
    seats: Vec<u64>,
}

impl Single {
    pub(crate) fn new(way: Way) -> Single {
        Single { way, request: Vec::new(), seats: Vec::new() }
    }
}

impl Client for Single {
    async fn book(&mut self, number: u64) -> Result<()> {
        let seat = match &mut self.way {
            Way::Shared(line) => line.book(number).await?,
            Way::Own(connection) => {
                self.request.clear();
                write_booking(&mut self.request, number);
                let answer = connection.expect(&self.request, 201).await?;
                seat_in(answer).ok_or_else(|| unexpected(201, answer))?
            }
        };
        self.seats.push(seat);
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.seats
    }
}

/// [`BATCH`] bookings a request, on a connection of its own.
pub(crate) struct Batches {
    connection: Connection,
    /// Those of all clients. Made before the clock runs, as buyers make theirs on their own machines.
    requests: Rc<[Vec<u8>]>,
    seats: Vec<u64>,
}

impl Batches {
    /// Makes clients that share their requests.
    pub(crate) fn maker() -> impl Fn(Way) -> Batches {
        let requests: Rc<[Vec<u8>]> = (0..BOOKINGS_MAX / BATCH).map(batch).collect();
        move |way| match way {
            Way::Own(connection) => Batches { connection, requests: Rc::clone(&requests), seats: Vec::new() },
            Way::Shared(_) => unreachable!("batches are not sent on shared connections"),
        }
    }
}

fn batch(number: u64) -> Vec<u8> {
    let commands: Vec<String> = (number * BATCH..(number + 1) * BATCH)
        .map(|booking| {
            format!(
                r#"{{"op":"book","idempotency_key":"key-{booking}","customer":"customer-{booking}","event":"hall","best_available":{{"quantity":1}}}}"#
            )
        })
        .collect();
    post("/v1/batch", "", &format!(r#"{{"commands":[{}]}}"#, commands.join(",")))
}

impl Client for Batches {
    const BOOKINGS: u64 = BATCH;

    async fn book(&mut self, number: u64) -> Result<()> {
        let request = &self.requests[usize::try_from(number).expect("no more than were made")];
        let answer = self.connection.expect(request, 200).await?;
        match seats_in(answer) {
            Some(seats) if seats.len() as u64 == BATCH => self.seats.extend(seats),
            _ => return Err(Error::Wrong("a batch was not answered with a seat each".to_owned())),
        }
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.seats
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
