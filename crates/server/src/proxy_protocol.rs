//! The PROXY protocol, versions 1 and 2: before the first byte of a connection, a proxy says whose connection it carries.
//!
//! Specification: <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>. A header is read to its last byte and
//! not beyond, so that what follows (TLS or HTTP) is still in the socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::limits::HEAD_READ_TIMEOUT;

/// How a header of version 2 begins.
const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Of a version 2 header after its first 16 bytes: addresses and extensions (TLS names, ids). HAProxy's are below 1 KiB.
const V2_BODY_BYTES_MAX: usize = 2_048;
/// A whole header of version 1, as the specification bounds it.
const V1_BYTES_MAX: usize = 107;

/// Reads the header. Returns the client's address; `None` if the proxy speaks for itself, as in a health check.
pub(crate) async fn read_source(stream: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    match tokio::time::timeout(HEAD_READ_TIMEOUT, read_header(stream)).await {
        Ok(source) => source,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the PROXY header took too long")),
    }
}

async fn read_header(stream: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    let mut start = [0; V2_SIGNATURE.len()];
    stream.read_exact(&mut start).await?;
    if start == *V2_SIGNATURE { read_v2(stream).await } else { read_v1(stream, &start).await }
}

async fn read_v1(stream: &mut TcpStream, start: &[u8]) -> io::Result<Option<SocketAddr>> {
    if !start.starts_with(b"PROXY ") {
        return Err(malformed("the connection does not begin with a PROXY header"));
    }
    let mut line = start.to_vec();
    while !line.ends_with(b"\n") {
        let mut ahead = [0; V1_BYTES_MAX];
        let room = V1_BYTES_MAX - line.len();
        let seen = stream.peek(&mut ahead[..room]).await?;
        if seen == 0 {
            return Err(malformed("the line of the PROXY header has no end"));
        }
        let to_newline = ahead[..seen].iter().position(|byte| *byte == b'\n').map_or(seen, |at| at + 1);
        stream.read_exact(&mut ahead[..to_newline]).await?;
        line.extend_from_slice(&ahead[..to_newline]);
    }
    parse_v1(&line)
}

/// `PROXY TCP4 192.0.2.1 198.51.100.1 4711 443`, and the end of the line.
fn parse_v1(line: &[u8]) -> io::Result<Option<SocketAddr>> {
    let wrong = || malformed("the PROXY header is not one of version 1");
    let line =
        line.strip_suffix(b"\r\n").and_then(|line| std::str::from_utf8(line).ok()).ok_or_else(wrong)?;
    let words: Vec<&str> = line.split(' ').collect();
    let source: IpAddr = match words[..] {
        ["PROXY", "UNKNOWN", ..] => return Ok(None),
        ["PROXY", "TCP4", source, target, _, _] => {
            target.parse::<Ipv4Addr>().map_err(|_| wrong())?;
            source.parse::<Ipv4Addr>().map_err(|_| wrong())?.into()
        }
        ["PROXY", "TCP6", source, target, _, _] => {
            target.parse::<Ipv6Addr>().map_err(|_| wrong())?;
            source.parse::<Ipv6Addr>().map_err(|_| wrong())?.into()
        }
        _ => return Err(wrong()),
    };
    let port = |word: &str| word.parse::<u16>().map_err(|_| wrong());
    port(words[5])?;
    Ok(Some(SocketAddr::new(source, port(words[4])?)))
}

async fn read_v2(stream: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    let mut fixed = [0; 4];
    stream.read_exact(&mut fixed).await?;
    let [version_and_command, family, length @ ..] = fixed;
    let length = usize::from(u16::from_be_bytes(length));
    if length > V2_BODY_BYTES_MAX {
        return Err(malformed("the PROXY header is larger than 2 KiB"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    parse_v2(version_and_command, family, &body)
}

fn parse_v2(version_and_command: u8, family: u8, body: &[u8]) -> io::Result<Option<SocketAddr>> {
    const LOCAL: u8 = 0x20;
    const PROXY: u8 = 0x21;
    const TCP_OVER_IPV4: u8 = 0x11;
    const TCP_OVER_IPV6: u8 = 0x21;
    match version_and_command {
        LOCAL => return Ok(None),
        PROXY => {}
        _ => return Err(malformed("the PROXY header has an unknown version or command")),
    }
    let short = || malformed("the PROXY header is too short for its addresses");
    // Source address, target address, source port, target port.
    let (source, ports): (IpAddr, &[u8]) = match family {
        TCP_OVER_IPV4 => {
            let source: [u8; 4] = *body.first_chunk().ok_or_else(short)?;
            (source.into(), body.get(8..12).ok_or_else(short)?)
        }
        TCP_OVER_IPV6 => {
            let source: [u8; 16] = *body.first_chunk().ok_or_else(short)?;
            (source.into(), body.get(32..36).ok_or_else(short)?)
        }
        // Unix sockets and what is not specified have no address that could be used: the specification says to go on with
        // the connection's own.
        _ => return Ok(None),
    };
    Ok(Some(SocketAddr::new(source, u16::from_be_bytes([ports[0], ports[1]]))))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    const FOLLOWS: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    /// What is read of a connection that sends this header and a request: `refused`, or the source and what is left.
    async fn read(header: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut server = listener.accept().await.unwrap().0;
        client.write_all(&[header, FOLLOWS].concat()).await.unwrap();
        client.shutdown().await.unwrap();
        let Ok(source) = read_source(&mut server).await else { return "refused".to_owned() };
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, FOLLOWS, "nothing but the header is read");
        source.map_or_else(|| "none".to_owned(), |source| source.to_string())
    }

    fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&V2_SIGNATURE[..], &[command, family], &length, body].concat()
    }

    #[tokio::test]
    async fn a_header_names_the_client_and_only_its_bytes_are_read() {
        let ipv4 = [192, 0, 2, 1, 198, 51, 100, 1, 0x12, 0x67, 0x01, 0xBB];
        let mut ipv6 = [0; 36];
        ipv6[..4].copy_from_slice(&[0x20, 0x01, 0x0D, 0xB8]);
        (ipv6[15], ipv6[33]) = (1, 80);
        let extension = [&ipv4[..], &[0x04, 0x00, 0x01, 0x00]].concat();
        let largest = [&ipv4[..], &vec![0; V2_BODY_BYTES_MAX - ipv4.len()]].concat();
        let too_large = [&largest[..], &[0]].concat();
        let long_line = format!("PROXY UNKNOWN {}\r\n", "f".repeat(V1_BYTES_MAX - 16));
        let too_long = format!("PROXY UNKNOWN {}\r\n", "f".repeat(V1_BYTES_MAX - 15));
        let rows: &[(&[u8], &str)] = &[
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n", "192.0.2.1:4711"),
            (b"PROXY TCP6 2001:db8::1 2001:db8::2 4711 443\r\n", "[2001:db8::1]:4711"),
            (b"PROXY UNKNOWN\r\n", "none"),
            (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "none"),
            (long_line.as_bytes(), "none"),
            (too_long.as_bytes(), "refused"),
            (b"PROXY TCP4 2001:db8::1 2001:db8::2 4711 443\r\n", "refused"),
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 4711\r\n", "refused"),
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 65536\r\n", "refused"),
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\n", "refused"),
            (b"PROXY UDP4 192.0.2.1 198.51.100.1 4711 443\r\n", "refused"),
            (b"", "refused"),
            (&v2(0x21, 0x11, &ipv4), "192.0.2.1:4711"),
            (&v2(0x21, 0x21, &ipv6), "[2001:db8::1]:80"),
            (&v2(0x21, 0x11, &extension), "192.0.2.1:4711"),
            (&v2(0x21, 0x11, &largest), "192.0.2.1:4711"),
            (&v2(0x21, 0x11, &too_large), "refused"),
            (&v2(0x21, 0x11, &ipv4[..11]), "refused"),
            (&v2(0x21, 0x31, &[7; 216]), "none"),
            (&v2(0x21, 0x00, &[]), "none"),
            (&v2(0x20, 0x00, &[]), "none"),
            (&v2(0x20, 0x11, &ipv4), "none"),
            (&v2(0x22, 0x11, &ipv4), "refused"),
            (&v2(0x11, 0x11, &ipv4), "refused"),
        ];
        for (header, expected) in rows {
            assert_eq!(read(header).await, *expected, "{:?}", String::from_utf8_lossy(header));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_header_that_never_comes_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut server = listener.accept().await.unwrap().0;
        client.write_all(b"PROXY TCP4 ").await.unwrap();
        assert_eq!(read_source(&mut server).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
