//! Somebody who is told: takes messages, answers as the test says.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::server::wait_for;

/// A message that came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) id: String,
    timestamp: String,
    signature: String,
    pub(crate) text: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("messages are JSON")
    }

    pub(crate) fn topic(&self) -> String {
        self.json()["type"].as_str().expect("messages have a type").to_owned()
    }

    /// By the specification, with the secret as it was handed out.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let secret = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret).expect("any length");
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.text).as_bytes());
        self.signature == format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Listens until the test is over.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    answers: Arc<Mutex<VecDeque<u16>>>,
}

impl Receiver {
    /// Answers with these statuses, and with 204 to all that come after.
    pub(crate) fn start(answers: &[u16]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("bound"));
        let received = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(answers.iter().copied().collect::<VecDeque<u16>>()));
        let receiver = Receiver { url, received: Arc::clone(&received), answers: Arc::clone(&answers) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Whoever sends may die meanwhile.
                if let Some(message) = read(&stream) {
                    let status = answers.lock().unwrap().pop_front().unwrap_or(204);
                    received.lock().unwrap().push(message);
                    let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
                    drop((&stream).write_all(answer.as_bytes()));
                }
            }
        });
        receiver
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until so many came.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Received> {
        wait_for(&format!("{count} messages"), || Some(self.received()).filter(|all| all.len() >= count))
    }

    /// Whatever was not asked for yet is answered with 204.
    pub(crate) fn be_well(&self) {
        self.answers.lock().unwrap().clear();
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let mut body = vec![0; header("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Received {
        id: header("webhook-id")?,
        timestamp: header("webhook-timestamp")?,
        signature: header("webhook-signature")?,
        text: String::from_utf8(body).ok()?,
    })
}
