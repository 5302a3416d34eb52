//! One booking request, and the ways in which it is damaged.

use super::random::Random;

/// A request that is being damaged: lines with their ends, the empty line last, and the body.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    lines: Vec<(Vec<u8>, &'static [u8])>,
    body: Vec<u8>,
    /// Sent after the body as it is.
    rest: Vec<u8>,
    /// Bytes that are left out at the end.
    cut: usize,
}

/// A damage, drawn from its own stream of choices, so that leaving one out leaves the others as they are.
pub(super) type Mutation = (&'static str, fn(&mut Draft, &mut Random));

const CRLF: &[u8] = b"\r\n";

impl Draft {
    /// A booking that a server takes. The id comes back in the answer.
    pub(super) fn new(key: &str, id: &str, event: &str) -> Draft {
        let body =
            format!(r#"{{"customer":"{id}","event":"{event}","areas":[{{"name":"floor","quantity":1}}]}}"#);
        let lines = [
            "POST /v1/bookings HTTP/1.1".to_owned(),
            "Host: 127.0.0.1".to_owned(),
            format!("Authorization: Bearer {key}"),
            format!("X-Request-Id: {id}"),
            "Content-Type: application/json".to_owned(),
            format!("Content-Length: {}", body.len()),
            String::new(),
        ];
        let lines = lines.map(|line| (line.into_bytes(), CRLF)).to_vec();
        Draft { lines, body: body.into_bytes(), rest: Vec::new(), cut: 0 }
    }

    /// The last request on its connection.
    pub(super) fn closing(mut self) -> Draft {
        self.insert(b"Connection: close");
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (line, end) in &self.lines {
            bytes.extend_from_slice(line);
            bytes.extend_from_slice(end);
        }
        bytes.extend_from_slice(&self.body);
        bytes.extend_from_slice(&self.rest);
        bytes.truncate(bytes.len().saturating_sub(self.cut));
        bytes
    }

    /// The places of the header lines.
    fn headers(&self) -> std::ops::Range<usize> {
        1..self.lines.len() - 1
    }

    fn any_header(&self, random: &mut Random) -> usize {
        let headers = self.headers();
        headers.start + random.below(headers.len().max(1))
    }

    fn insert(&mut self, line: &[u8]) {
        let end = self.headers().end;
        self.lines.insert(end, (line.to_vec(), CRLF));
    }

    fn insert_anywhere(&mut self, line: &[u8], random: &mut Random) {
        let place = 1 + random.below(self.lines.len() - 1);
        self.lines.insert(place, (line.to_vec(), CRLF));
    }

    fn remove(&mut self, name: &str) {
        let prefix = format!("{name}:").to_ascii_lowercase();
        let headers = self.headers();
        let mut place = 0;
        self.lines.retain(|(line, _)| {
            let is_header = headers.contains(&place);
            place += 1;
            !(is_header && line.to_ascii_lowercase().starts_with(prefix.as_bytes()))
        });
    }

    /// Puts another line in the place of a header.
    fn replace(&mut self, name: &str, line: &str) {
        self.remove(name);
        self.insert(line.as_bytes());
    }

    /// Sends the body in chunks of two.
    fn chunk(&mut self, sizes: [&str; 2], last: &str) {
        let body = std::mem::take(&mut self.body);
        let middle = body.len() / 2;
        for (piece, size) in [&body[..middle], &body[middle..]].into_iter().zip(sizes) {
            let size = size.replace("{}", &format!("{:x}", piece.len()));
            self.body.extend_from_slice(format!("{size}\r\n").as_bytes());
            self.body.extend_from_slice(piece);
            self.body.extend_from_slice(CRLF);
        }
        self.body.extend_from_slice(last.as_bytes());
        self.remove("content-length");
    }
}

/// How a value is written that a parser must not take for another.
const LENGTHS: [&str; 14] = [
    "+{}",
    "-{}",
    "0x{}",
    "{}, {}",
    "{},{}",
    "{} {}",
    " {} ",
    "{}.0",
    "{}e0",
    "0{}",
    "",
    "٣",
    "99999999999",
    "{};",
];
const CODINGS: [&str; 12] = [
    "chunked",
    "Chunked",
    "chunked, chunked",
    "gzip, chunked",
    "chunked, gzip",
    "identity",
    "xchunked",
    "\tchunked",
    "chunked ",
    "\"chunked\"",
    "chunked;q=1",
    "",
];
const TARGETS: [&str; 13] = [
    "http://127.0.0.1/v1/bookings",
    "http://other.example/v1/bookings",
    "https://127.0.0.1/v1/bookings",
    "127.0.0.1:80",
    "*",
    "//v1/bookings",
    "/v1/bookings?x=1",
    "/v1/./bookings",
    "/v1/../v1/bookings",
    "/v1/%62ookings",
    "/v1/bookings#x",
    "/v1/bookings\u{e9}",
    "",
];
const METHODS: [&str; 10] =
    ["GET", "HEAD", "DELETE", "PUT", "OPTIONS", "PATCH", "post", "PO ST", "PRI", "P\u{e9}ST"];
const VERSIONS: [&str; 8] =
    ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.1 ", "HTTP/11", "HTTP/1.1.1", "HTTPS/1.1"];

pub(super) const MUTATIONS: &[Mutation] = &[
    ("header twice", |draft, random| {
        let line = draft.lines[draft.any_header(random)].0.clone();
        draft.insert_anywhere(&line, random);
    }),
    ("two Host headers", |draft, random| draft.insert_anywhere(b"Host: other.example", random)),
    ("no Host header", |draft, _| draft.remove("host")),
    ("names in other case", |draft, random| {
        let header = draft.any_header(random);
        for letter in draft.lines[header].0.iter_mut().take_while(|letter| **letter != b':') {
            *letter =
                if random.is_one_in(2) { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        }
    }),
    ("white space in a header", |draft, random| {
        let header = draft.any_header(random);
        let line = &mut draft.lines[header].0;
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(0);
        let space = *random.pick(&[" ", "\t", "  ", "\u{b}", "\r"]);
        let place = *random.pick(&[0, colon, colon + 1, line.len()]);
        let place = place.min(line.len());
        line.splice(place..place, space.bytes());
    }),
    ("bare LF", |draft, random| {
        let line = random.below(draft.lines.len());
        draft.lines[line].1 = b"\n";
    }),
    ("bare LF everywhere", |draft, _| draft.lines.iter_mut().for_each(|(_, end)| *end = b"\n")),
    ("bare CR", |draft, random| {
        let line = random.below(draft.lines.len());
        draft.lines[line].1 = b"\r";
    }),
    ("folded header", |draft, random| {
        let place = draft.any_header(random) + 1;
        let place = place.min(draft.lines.len() - 1);
        draft.lines.insert(place, (random.pick(&[" folded", "\tfolded", " "]).as_bytes().to_vec(), CRLF));
    }),
    ("length and chunks", |draft, random| {
        let coding = *random.pick(&CODINGS);
        draft.insert_anywhere(format!("Transfer-Encoding: {coding}").as_bytes(), random);
    }),
    ("chunked and length", |draft, random| {
        let length = draft.body.len();
        draft.chunk(["{}"; 2], "0\r\n\r\n");
        draft.insert_anywhere(b"Transfer-Encoding: chunked", random);
        draft.insert_anywhere(format!("Content-Length: {length}").as_bytes(), random);
    }),
    ("two lengths", |draft, random| {
        let length = draft.body.len() + random.below(3);
        draft.insert_anywhere(format!("Content-Length: {length}").as_bytes(), random);
    }),
    ("odd length", |draft, random| {
        let length = random.pick(&LENGTHS).replace("{}", &draft.body.len().to_string());
        draft.replace("content-length", &format!("Content-Length: {length}"));
    }),
    ("no length", |draft, _| draft.remove("content-length")),
    ("wrong length", |draft, random| {
        let length = (draft.body.len() + random.below(64)).saturating_sub(random.below(64));
        draft.replace("content-length", &format!("Content-Length: {length}"));
    }),
    ("chunks", |draft, _| {
        draft.chunk(["{}"; 2], "0\r\n\r\n");
        draft.insert(b"Transfer-Encoding: chunked");
    }),
    ("odd coding", |draft, random| {
        draft.chunk(["{}"; 2], "0\r\n\r\n");
        draft.insert(format!("Transfer-Encoding: {}", random.pick(&CODINGS)).as_bytes());
    }),
    ("two codings", |draft, random| {
        draft.chunk(["{}"; 2], "0\r\n\r\n");
        draft.insert(b"Transfer-Encoding: chunked");
        draft.insert(format!("Transfer-Encoding: {}", random.pick(&CODINGS)).as_bytes());
    }),
    ("chunk extensions", |draft, random| {
        let extension = *random.pick(&["{};a=b", "{};a=\"b;c\"", "{} ;a", "{};", "{};\u{1}", "{};a=\"\n\""]);
        draft.chunk([extension, "{}"], "0;last\r\n\r\n");
        draft.insert(b"Transfer-Encoding: chunked");
    }),
    ("odd chunk sizes", |draft, random| {
        let size = *random
            .pick(&["0x{}", "+{}", "-{}", " {}", "{} ", "000{}", "{}g", "", "{}\n", "1{}", "٣", "_{}"]);
        draft.chunk(["{}", size], "0\r\n\r\n");
        draft.insert(b"Transfer-Encoding: chunked");
    }),
    ("odd last chunk", |draft, random| {
        let last = *random.pick(&[
            "00\r\n\r\n",
            "0\n\n",
            "0\r\nX: y\r\n\r\n",
            "0\r\nContent-Length: 9\r\n\r\n",
            "0\r\n",
            "",
        ]);
        draft.chunk(["{}"; 2], last);
        draft.insert(b"Transfer-Encoding: chunked");
    }),
    ("expectation", |draft, random| {
        let expected = *random.pick(&["100-continue", "100-Continue", "200-ok", "", "100-continue, x"]);
        draft.insert(format!("Expect: {expected}").as_bytes());
    }),
    ("long header", |draft, random| {
        let length = *random.pick(&[100, 4_000, 9_000, 20_000, 70_000]);
        draft.insert_anywhere(&[b"X: ".as_slice(), &vec![b'x'; length]].concat(), random);
    }),
    ("many headers", |draft, random| {
        let count = *random.pick(&[20, 90, 100, 200]);
        (0..count).for_each(|number| draft.insert(format!("X-{number}: y").as_bytes()));
    }),
    ("odd byte in the head", |draft, random| {
        let line = random.below(draft.lines.len() - 1);
        let line = &mut draft.lines[line].0;
        let place = random.below(line.len() + 1);
        let byte = if random.is_one_in(2) {
            *random.pick(&[0, 1, 0x7f, 0x80, 0xff, b'\r', b'"'])
        } else {
            random.byte()
        };
        line.insert(place, byte);
    }),
    ("another byte in the head", |draft, random| {
        let line = random.below(draft.lines.len() - 1);
        let line = &mut draft.lines[line].0;
        let place = random.below(line.len().max(1));
        line[place] = random.byte();
    }),
    ("odd byte in the body", |draft, random| {
        let place = random.below(draft.body.len() + 1);
        let place = place.saturating_sub(1).min(draft.body.len().saturating_sub(1));
        if let Some(byte) = draft.body.get_mut(place) {
            *byte = random.byte();
        }
    }),
    ("another method", |draft, random| {
        let line = format!("{} /v1/bookings HTTP/1.1", random.pick(&METHODS));
        draft.lines[0].0 = line.into_bytes();
    }),
    ("another target", |draft, random| {
        draft.lines[0].0 = format!("POST {} HTTP/1.1", random.pick(&TARGETS)).into_bytes();
    }),
    ("another version", |draft, random| {
        draft.lines[0].0 = format!("POST /v1/bookings {}", random.pick(&VERSIONS)).into_bytes();
    }),
    ("cut", |draft, random| draft.cut = 1 + random.below(draft.bytes().len() - 1)),
    ("two requests", |draft, _| draft.rest = draft.bytes()),
    ("bytes behind the body", |draft, random| {
        draft
            .rest
            .extend_from_slice(random.pick(&["\r\n", "\n", "\r\n\r\n", "x", "\0", "0\r\n\r\n"]).as_bytes());
    }),
    ("bytes before the request", |draft, random| {
        let bytes = random.pick(&["\r\n", "\n", "\r\n\r\n", " ", "\0", "\u{feff}"]);
        draft.lines[0].0.splice(0..0, bytes.bytes());
    }),
    ("connection", |draft, random| {
        let options =
            ["close", "keep-alive", "Close", "upgrade", "close, keep-alive", "x", "", "content-length"];
        draft.insert(format!("Connection: {}", random.pick(&options)).as_bytes());
    }),
    ("upgrade", |draft, random| {
        draft.insert(b"Connection: Upgrade");
        draft.insert(format!("Upgrade: {}", random.pick(&["h2c", "websocket", "HTTP/2.0"])).as_bytes());
    }),
    ("another kind of body", |draft, random| {
        let kinds =
            ["text/plain", "application/json; charset=latin1", "application/x+json", "", "application/jsonx"];
        draft.replace("content-type", &format!("Content-Type: {}", random.pick(&kinds)));
    }),
    ("packed body", |draft, random| {
        draft.insert(format!("Content-Encoding: {}", random.pick(&["gzip", "identity", ""])).as_bytes());
    }),
    ("wrong key", |draft, random| {
        let keys = ["Bearer wrong", "Bearer", "Basic eA==", "", "bearer  x y"];
        draft.replace("authorization", &format!("Authorization: {}", random.pick(&keys)));
    }),
    ("odd request id", |draft, random| {
        let long = "x".repeat(300);
        let ids = ["a b", "\u{e9}", "", long.as_str(), "a\tb"];
        draft.replace("x-request-id", &format!("X-Request-Id: {}", random.pick(&ids)));
    }),
    ("idempotency key", |draft, random| {
        let keys = ["{}", "\"{}\"", "", "\u{e9}", " ", "{} {}"];
        let key = random.pick(&keys).replace("{}", &random.below(usize::MAX).to_string());
        draft.insert(format!("Idempotency-Key: {key}").as_bytes());
    }),
];
