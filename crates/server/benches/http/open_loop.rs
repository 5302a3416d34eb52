//! Callers who come at a steady rate, whether or not earlier ones were answered.
//!
//! One thread and one queue of events for all of them: whatever the generator takes of the processors, it takes from the server it
//! measures, and what it is late with would be counted as waiting.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use crate::load::{Measured, read_head};

/// Requests are due in groups, so long after each other.
const TICK: Duration = Duration::from_micros(100);
/// A server that has answered nothing for so long is not late, but broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Connections that are open and have been answered once.
pub(crate) struct OpenLoop {
    events: OwnedFd,
    connections: Vec<Paced>,
}

impl OpenLoop {
    /// Opens connections to a server that answers with this status.
    pub(crate) fn open(
        address: SocketAddr,
        connections: usize,
        status: u16,
        request: impl Fn(u64) -> Vec<u8>,
    ) -> OpenLoop {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC).expect("events");
        let open = |index| Paced::open(address, status, &request(index)).expect("it listens and answers");
        let connections: Vec<Paced> = (0..connections as u64).map(open).collect();
        for (index, connection) in (0..).zip(&connections) {
            let data = epoll::EventData::new_u64(index);
            epoll::add(&events, &connection.stream, data, epoll::EventFlags::IN).expect("a socket");
        }
        OpenLoop { events, connections }
    }

    /// Sends requests at a rate for a while, to one connection after the other, and waits until all are answered. Waiting counts from
    /// when the group of a request was due, also if its connection is still busy then.
    pub(crate) fn drive(
        &mut self,
        per_second: f64,
        lasting: Duration,
        request: impl Fn(u64) -> Vec<u8>,
    ) -> Measured {
        let mut measured = Measured::default();
        let (start, mut tick, mut sent) = (Instant::now(), 0, 0);
        let in_all = (lasting.as_secs_f64() * per_second) as usize;
        while measured.latencies.len() < in_all {
            let next = start + TICK * tick;
            let mut wait = SILENCE_MAX;
            if sent < in_all {
                wait = next.saturating_duration_since(Instant::now());
                if wait.is_zero() {
                    let due = ((next - start).as_secs_f64() * per_second) as usize;
                    for number in sent..due.min(in_all) {
                        let request = request(number as u64);
                        let connection = number % self.connections.len();
                        self.connections[connection].send(next, request).expect("it takes requests");
                    }
                    (sent, tick) = (due.min(in_all), tick + 1);
                }
            }
            self.receive(wait, &mut measured.latencies);
        }
        measured.took = start.elapsed();
        measured
    }

    /// Waits for answers, not longer than that; notes how long those took that came.
    fn receive(&mut self, wait: Duration, latencies: &mut Vec<Duration>) {
        let mut ready = Vec::with_capacity(self.connections.len());
        let until = Timespec::try_from(wait).expect("a short time");
        match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut ready), Some(&until)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("no events: {error}"),
        }
        assert!(wait < SILENCE_MAX || !ready.is_empty(), "it answers no more");
        for event in &ready {
            let connection = &mut self.connections[event.data.u64() as usize];
            latencies.extend(connection.receive().expect("it answers"));
        }
    }
}

/// A connection, and what is due on it.
struct Paced {
    /// What answers have.
    status: u16,
    stream: TcpStream,
    buffer: Vec<u8>,
    /// When the request that is under way was due.
    under_way: Option<Instant>,
    /// What is due and waits for the answer to it.
    waiting: VecDeque<(Instant, Vec<u8>)>,
}

impl Paced {
    fn open(address: SocketAddr, status: u16, first: &[u8]) -> io::Result<Paced> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut paced = Paced {
            status,
            stream,
            buffer: Vec::new(),
            under_way: Some(Instant::now()),
            waiting: VecDeque::new(),
        };
        paced.stream.write_all(first)?;
        while paced.receive()?.is_none() {}
        paced.stream.set_nonblocking(true)?;
        Ok(paced)
    }

    fn send(&mut self, due: Instant, request: Vec<u8>) -> io::Result<()> {
        if self.under_way.is_some() {
            self.waiting.push_back((due, request));
            return Ok(());
        }
        self.under_way = Some(due);
        // Far less than what a socket takes at once.
        self.stream.write_all(&request)
    }

    /// Reads what is there. If an answer is whole: how long it took. Then the next request is sent.
    fn receive(&mut self) -> io::Result<Option<Duration>> {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => self.buffer.extend_from_slice(&piece[..read]),
        }
        let Some((status, body_at, length)) = read_head(&self.buffer) else { return Ok(None) };
        if self.buffer.len() < body_at + length {
            return Ok(None);
        }
        assert_eq!(status, self.status, "{}", String::from_utf8_lossy(&self.buffer));
        let due = self.under_way.take().expect("it was asked for");
        self.buffer.clear();
        let took = due.elapsed();
        if let Some((due, request)) = self.waiting.pop_front() {
            self.send(due, request)?;
        }
        Ok(Some(took))
    }
}
