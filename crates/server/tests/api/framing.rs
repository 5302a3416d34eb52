//! Requests that two servers could read differently are refused in both lanes, alone and behind other requests.

use std::io::{BufReader, Read, Write};

use crate::client::{connect, read_reply};
use crate::venue::{Venue, best};

#[test]
fn ambiguous_request_gets_400_and_ends_the_connection_in_both_lanes() {
    let hall = Venue::hall(40, 10);
    let host = format!("Host: {}\r\n", hall.server.address);
    let body = hall.wanted(&best(1)).to_string();
    let length = format!("Content-Length: {}\r\n", body.len());
    let kind = "Content-Type: application/json\r\n";
    let book = format!("POST /v1/bookings HTTP/1.1\r\n{host}{kind}");
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let good = format!("{book}{length}\r\n{body}");
    let by_framework = format!("{book}{length}TE: trailers\r\n\r\n{body}");
    let in_chunks = format!("{book}Transfer-Encoding: chunked\r\n\r\n{chunks}");
    let list = format!("GET /v1/events HTTP/1.1\r\n{host}\r\n");
    let rows = [
        ("no host", format!("POST /v1/bookings HTTP/1.1\r\n{kind}{length}\r\n{body}")),
        ("no host of a list", "GET /v1/events HTTP/1.1\r\n\r\n".to_owned()),
        ("two hosts", format!("{book}{host}{length}\r\n{body}")),
        ("another host", format!("{book}{length}Host: evil.example\r\n\r\n{body}")),
        ("two hosts of a list", format!("GET /v1/events HTTP/1.1\r\n{host}{host}\r\n")),
        ("bare line feed behind a header", format!("{book}{length}A: b\n\r\n{body}")),
        ("bare line feed at the end of the head", format!("{book}{length}\n{body}")),
        ("bare line feed behind the first line", format!("GET /v1/events HTTP/1.1\n{host}\r\n")),
        ("folded header", format!("{book}{length}A: b\r\n c\r\n\r\n{body}")),
        ("two lengths", format!("{book}{length}{length}\r\n{body}")),
        ("length with a sign", format!("{book}Content-Length: +{}\r\n\r\n{body}", body.len())),
        ("length and coding", format!("{book}{length}Transfer-Encoding: chunked\r\n\r\n{chunks}")),
        ("coding and length", format!("{book}Transfer-Encoding: chunked\r\n{length}\r\n{chunks}")),
        ("unknown coding", format!("{book}Transfer-Encoding: gzip, chunked\r\n\r\n{chunks}")),
        ("second protocol version", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
    ];
    for (name, bad) in rows {
        for before in
            [vec![], vec![&good], vec![&by_framework], vec![&in_chunks], vec![&list, &good, &in_chunks]]
        {
            let mut bytes: String = before.iter().map(|text| text.as_str()).collect();
            // What follows is never answered.
            bytes += &format!("{bad}{good}");
            let mut reader = BufReader::new(connect(hall.server.address).expect("a connection"));
            reader.get_mut().write_all(bytes.as_bytes()).expect("the server reads");
            for _ in &before {
                let status = read_reply(&mut reader, false).expect("a response").status;
                assert!([200, 201].contains(&status), "before {name}: {status}");
            }
            let refused = read_reply(&mut reader, false).unwrap_or_else(|error| panic!("{name}: {error}"));
            refused.expect_problem(400, "REQUEST_REFUSED");
            assert_eq!(refused.header("connection"), Some("close"), "{name}");
            assert_eq!(reader.read_to_end(&mut Vec::new()).expect("no reset"), 0, "{name}");
        }
    }
}
