//! Where each request of a connection begins and ends, checked before hyper reads it.
//!
//! hyper accepts heads that a proxy in front of this server may read differently: two `Host` headers, lines that end without a carriage
//! return, a `Content-Length` beside a `Transfer-Encoding`. Where two servers disagree about what a request says or where it ends, a client can
//! hide a second request from the first of them. Such a head gets 400, and the connection ends.
//!
//! Bytes are approved request by request, so that a request that follows another one in the same packet is checked like the first.

use axum::http::StatusCode;

use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

/// A chunk's size, and extensions that this server ignores.
const CHUNK_LINE_BYTES_MAX: usize = 1024;

/// How far a connection has come.
#[derive(Debug)]
pub(crate) struct Framing {
    position: FramePosition,
    /// How much of the part that is not complete was searched for its end.
    searched_bytes: usize,
    violation: Option<Violation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FramePosition {
    Head,
    /// With the bytes that are left of it.
    Body(u64),
    ChunkSize,
    /// With the bytes that are left of it and of the line end behind it.
    Chunk(u64),
    /// Lines behind the last chunk, with their bytes so far.
    Trailers(usize),
}

/// Why a request cannot be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) status: StatusCode,
    pub(crate) detail: &'static str,
}

impl Violation {
    const fn bad(detail: &'static str) -> Violation {
        Violation { status: StatusCode::BAD_REQUEST, detail }
    }
}

const NOT_HTTP: Violation = Violation::bad("The head of the request cannot be understood.");
const BARE_LINE_FEED: Violation =
    Violation::bad("Each line of the head must end with a carriage return and a line feed.");
const NO_HOST: Violation = Violation::bad("The request has no `Host` header.");
const TWO_HOSTS: Violation = Violation::bad("The request has more than one `Host` header.");
const BAD_LENGTH: Violation = Violation::bad("`Content-Length` must be one number of bytes.");
const LENGTH_AND_CODING: Violation =
    Violation::bad("The request has both a `Content-Length` and a `Transfer-Encoding`.");
const UNKNOWN_CODING: Violation = Violation::bad("The only `Transfer-Encoding` is `chunked`, in HTTP/1.1.");
const BAD_CHUNK: Violation = Violation::bad("The body is not made of chunks.");
const HEAD_TOO_LARGE: Violation = Violation {
    status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    detail: "The head of the request is too large, or has too many headers.",
};

impl Framing {
    pub(crate) fn new() -> Framing {
        Framing { position: FramePosition::Head, searched_bytes: 0, violation: None }
    }

    /// Whether the next byte belongs to a head.
    pub(crate) fn is_in_head(&self) -> bool {
        self.position == FramePosition::Head
    }

    /// What is wrong with the byte that follows the approved ones. Nothing is approved after it.
    pub(crate) fn violation(&self) -> Option<Violation> {
        self.violation
    }

    /// How many of these bytes can be passed on. They follow what was approved before; the rest comes again, with more behind it.
    pub(crate) fn approve(&mut self, bytes: &[u8]) -> usize {
        let mut approved = 0;
        while self.violation.is_none() && approved < bytes.len() {
            match self.approve_part(&bytes[approved..]) {
                Ok(0) => break,
                Ok(more) => approved += more,
                Err(violation) => self.violation = Some(violation),
            }
        }
        approved
    }

    /// Bytes of the current part, or none if it takes more to tell.
    fn approve_part(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let (approved, next) = match self.position {
            FramePosition::Head => match self.read_head(bytes)? {
                Some((head_bytes, body)) => (head_bytes, body),
                None => (0, FramePosition::Head),
            },
            FramePosition::Body(left) => match take(left, bytes) {
                (taken, 0) => (taken, FramePosition::Head),
                (taken, left) => (taken, FramePosition::Body(left)),
            },
            FramePosition::ChunkSize => match line(bytes)? {
                Some(text) => (text.len() + 2, after_chunk_size(text)?),
                None => (0, FramePosition::ChunkSize),
            },
            FramePosition::Chunk(left) => match take(left, bytes) {
                (taken, 0) => (taken, FramePosition::ChunkSize),
                (taken, left) => (taken, FramePosition::Chunk(left)),
            },
            FramePosition::Trailers(before) => match line(bytes)? {
                Some([]) => (2, FramePosition::Head),
                Some(text) if before + text.len() > HEAD_BYTES_MAX => return Err(BAD_CHUNK),
                Some(text) => (text.len() + 2, FramePosition::Trailers(before + text.len() + 2)),
                None => (0, FramePosition::Trailers(before)),
            },
        };
        self.position = next;
        Ok(approved)
    }

    fn read_head(&mut self, bytes: &[u8]) -> Result<Option<(usize, FramePosition)>, Violation> {
        // Bytes that trickle in are not parsed again from the beginning unless the end of the head is among them.
        let new = &bytes[self.searched_bytes.saturating_sub(3)..];
        let may_be_complete =
            new.windows(2).any(|pair| pair == b"\n\n") || new.windows(3).any(|end| end == b"\n\r\n");
        if self.searched_bytes > 0 && !may_be_complete && bytes.len() < HEAD_BYTES_MAX {
            self.searched_bytes = bytes.len();
            return Ok(None);
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        let head_bytes = match head.parse(bytes) {
            Ok(httparse::Status::Complete(head_bytes)) if head_bytes <= HEAD_BYTES_MAX => head_bytes,
            Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => {
                self.searched_bytes = bytes.len();
                return Ok(None);
            }
            Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(HEAD_TOO_LARGE),
            Err(_) => return Err(NOT_HTTP),
        };
        self.searched_bytes = 0;
        if has_bare_line_feed(&bytes[..head_bytes]) {
            return Err(BARE_LINE_FEED);
        }
        let body = body_after(&head)?;
        Ok(Some((head_bytes, body)))
    }
}

/// Whether a line of the head ends without a carriage return.
pub(crate) fn has_bare_line_feed(head: &[u8]) -> bool {
    let mut before = 0;
    head.iter().any(|&byte| std::mem::replace(&mut before, byte) != b'\r' && byte == b'\n')
}

fn take(left: u64, bytes: &[u8]) -> (usize, u64) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (taken, left - taken as u64)
}

/// What follows this head.
fn body_after(head: &httparse::Request<'_, '_>) -> Result<FramePosition, Violation> {
    let named = |name: &'static str| {
        let headers = head.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        headers.map(|header| header.value)
    };
    match named("host").count() {
        // HTTP/1.0 has none.
        0 if head.version == Some(1) => return Err(NO_HOST),
        0 | 1 => {}
        _ => return Err(TWO_HOSTS),
    }
    let mut lengths = named("content-length");
    let mut codings = named("transfer-encoding");
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(FramePosition::Head),
        (Some(_), Some(_)) => Err(LENGTH_AND_CODING),
        (Some(length), None) => match content_length(length) {
            Some(_) if lengths.next().is_some() => Err(BAD_LENGTH),
            Some(0) => Ok(FramePosition::Head),
            Some(bytes) => Ok(FramePosition::Body(bytes)),
            None => Err(BAD_LENGTH),
        },
        (None, Some(coding)) => {
            let is_chunked = head.version == Some(1) && coding.eq_ignore_ascii_case(b"chunked");
            if is_chunked && codings.next().is_none() {
                Ok(FramePosition::ChunkSize)
            } else {
                Err(UNKNOWN_CODING)
            }
        }
    }
}

fn content_length(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit).then_some(value)?;
    // hyper keeps the greatest numbers for other meanings.
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|bytes| *bytes < u64::MAX - 2)
}

/// The first line without its end; `None` if it is not complete.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, Violation> {
    let Some(end) = bytes.iter().take(CHUNK_LINE_BYTES_MAX).position(|byte| *byte == b'\n') else {
        return if bytes.len() < CHUNK_LINE_BYTES_MAX { Ok(None) } else { Err(BAD_CHUNK) };
    };
    match bytes[..end].split_last() {
        Some((b'\r', text)) if !text.contains(&b'\r') => Ok(Some(text)),
        _ => Err(BAD_CHUNK),
    }
}

fn after_chunk_size(line: &[u8]) -> Result<FramePosition, Violation> {
    let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let is_hexadecimal = (1..=15).contains(&size.len()) && size.iter().all(u8::is_ascii_hexdigit);
    let size = std::str::from_utf8(size).ok().filter(|_| is_hexadecimal);
    match size.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(0) => Ok(FramePosition::Trailers(0)),
        Some(bytes) => Ok(FramePosition::Chunk(bytes + 2)),
        None => Err(BAD_CHUNK),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Approves a connection's bytes in pieces of this size, as a reader does.
    fn approve_all(bytes: &[u8], piece_bytes: usize) -> (Vec<u8>, Framing) {
        let (mut framing, mut ahead, mut approved) = (Framing::new(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece_bytes) {
            ahead.extend_from_slice(piece);
            let bytes = framing.approve(&ahead);
            approved.extend(ahead.drain(..bytes));
        }
        (approved, framing)
    }

    const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    #[test]
    fn requests_are_approved_up_to_the_first_that_is_ambiguous() {
        let post = |headers: &str, body: &str| format!("POST / HTTP/1.1\r\nhost: a\r\n{headers}\r\n{body}");
        let chunked = |body: &str| post("Transfer-Encoding: Chunked\r\n", body);
        let many = "a: b\r\n".repeat(HEADERS_MAX);
        let long = format!("a: {}\r\n", "b".repeat(HEAD_BYTES_MAX));
        let rows: Vec<(String, Option<Violation>)> = vec![
            (GET.to_owned(), None),
            (format!("\r\n{GET}"), None),
            ("GET / HTTP/1.0\r\n\r\n".to_owned(), None),
            (post("content-length: 5\r\n", "12345"), None),
            (post("content-length: 5\r\n", "\n\n\n\r\n"), None),
            (post("content-length: 0\r\n", ""), None),
            (chunked("5\r\n12345\r\n0\r\n\r\n"), None),
            (chunked("A;name=value\r\n1234567890\r\n00\r\ntrailer: yes\r\nother: no\r\n\r\n"), None),
            ("GET / HTTP/1.1\nhost: a\r\n\r\n".to_owned(), Some(BARE_LINE_FEED)),
            ("GET / HTTP/1.1\r\nhost: a\n\r\n".to_owned(), Some(BARE_LINE_FEED)),
            ("GET / HTTP/1.1\r\nhost: a\r\n\n".to_owned(), Some(BARE_LINE_FEED)),
            ("GET / HTTP/1.1\nhost: a\n\n".to_owned(), Some(BARE_LINE_FEED)),
            (format!("\n{GET}"), Some(BARE_LINE_FEED)),
            (post("HOST: a\r\n", ""), Some(TWO_HOSTS)),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), Some(NO_HOST)),
            ("GET http://a/ HTTP/1.1\r\nx-host: a\r\n\r\n".to_owned(), Some(NO_HOST)),
            ("GET / HTTP/1.1\r\nhost:\r\n\r\n".to_owned(), None),
            (post("folded: a\r\n b\r\n", ""), Some(NOT_HTTP)),
            (post("name : a\r\n", ""), Some(NOT_HTTP)),
            ("GET / HTTP/2.0\r\n\r\n".to_owned(), Some(NOT_HTTP)),
            ("\0\r\n\r\n".to_owned(), Some(NOT_HTTP)),
            (post(&many, ""), Some(HEAD_TOO_LARGE)),
            (post(&long, ""), Some(HEAD_TOO_LARGE)),
            (post("content-length: 5\r\ncontent-length: 5\r\n", "12345"), Some(BAD_LENGTH)),
            (post("content-length: 5, 5\r\n", "12345"), Some(BAD_LENGTH)),
            (post("content-length: +5\r\n", "12345"), Some(BAD_LENGTH)),
            (post("content-length:\r\n", ""), Some(BAD_LENGTH)),
            (post("content-length: 99999999999999999999\r\n", ""), Some(BAD_LENGTH)),
            (
                post("content-length: 5\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n"),
                Some(LENGTH_AND_CODING),
            ),
            (
                post("transfer-encoding: chunked\r\ncontent-length: 5\r\n", "0\r\n\r\n"),
                Some(LENGTH_AND_CODING),
            ),
            (post("transfer-encoding: gzip, chunked\r\n", ""), Some(UNKNOWN_CODING)),
            (post("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", ""), Some(UNKNOWN_CODING)),
            ("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(), Some(UNKNOWN_CODING)),
            (chunked("5\n12345\r\n0\r\n\r\n"), Some(BAD_CHUNK)),
            (chunked("x\r\n"), Some(BAD_CHUNK)),
            (chunked("\r\n"), Some(BAD_CHUNK)),
            (chunked("-1\r\n"), Some(BAD_CHUNK)),
            (chunked("ffffffffffffffff\r\n"), Some(BAD_CHUNK)),
            (chunked(&"0".repeat(CHUNK_LINE_BYTES_MAX)), Some(BAD_CHUNK)),
            (chunked("0\r\ntrailer: a\n\r\n"), Some(BAD_CHUNK)),
        ];
        for (text, expected) in rows {
            // Alone, and behind and before another request, in pieces that end anywhere.
            for (before, after) in [("", ""), (GET, GET)] {
                let bytes = [before, &text, after].concat();
                for piece_bytes in [1, 2, 3, 7, usize::MAX] {
                    let (approved, framing) = approve_all(bytes.as_bytes(), piece_bytes);
                    assert_eq!(framing.violation(), expected, "{text:?} in pieces of {piece_bytes}");
                    if expected.is_none() {
                        assert_eq!(approved, bytes.as_bytes(), "{text:?} in pieces of {piece_bytes}");
                        assert!(framing.is_in_head());
                    } else {
                        assert!(
                            approved.starts_with(before.as_bytes())
                                && approved.len() < before.len() + text.len()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn incomplete_head_is_not_approved() {
        for cut in 1..GET.len() {
            let (approved, framing) = approve_all(&GET.as_bytes()[..cut], usize::MAX);
            assert!(approved.is_empty() && framing.is_in_head() && framing.violation().is_none());
        }
    }
}
