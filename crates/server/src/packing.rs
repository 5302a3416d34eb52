//! Text that many are sent at the same time, packed once for all of them.
//!
//! What comes packed (gzip) is a head and then blocks. Each piece of text becomes blocks that end at a whole byte and look back at nothing
//! before them, so the same bytes fit into every stream that has come to that piece. The trailer, which would be another one for every
//! stream, is left out: such a stream has no end, it is cut.

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use flate2::{Compress, Compression, FlushCompress};

/// What every packed stream begins with: packed with deflate, at no known time, on no known system, no name.
pub(crate) const HEAD: Bytes = Bytes::from_static(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/// Whether the client says that it unpacks.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// A piece of text as blocks.
pub(crate) fn pack(text: &[u8]) -> Bytes {
    let mut packer = Compress::new(Compression::fast(), false);
    let mut packed = Vec::with_capacity(text.len() / 4 + 64);
    loop {
        let rest = &text[usize::try_from(packer.total_in()).expect("no longer than the text")..];
        packer.compress_vec(rest, &mut packed, FlushCompress::Full).expect("packing has no wrong input");
        // As long as there is no room left, there may be more to come.
        if packed.len() < packed.capacity() {
            return packed.into();
        }
        packed.reserve(packed.capacity());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::http::HeaderValue;
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn pieces_fit_together_in_any_order() {
        let long = "{\"section\":\"A-1\",\"seat\":\"1-1\",\"state\":\"held\"}".repeat(5_000);
        let noise = (0..70_000_u32)
            .map(|n| char::from((n.wrapping_mul(2_654_435_769) >> 25) as u8))
            .collect::<String>();
        let pieces = [long.as_str(), "", "short", &noise, "short"];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 0, 3, 1]] {
            let mut stream = HEAD.to_vec();
            let mut wanted = String::new();
            for piece in order.map(|place| pieces[place]) {
                stream.extend_from_slice(&pack(piece.as_bytes()));
                wanted.push_str(piece);
            }
            let mut unpacked = vec![0; wanted.len()];
            GzDecoder::new(&stream[..]).read_exact(&mut unpacked).expect("everything is there");
            assert_eq!(String::from_utf8(unpacked).expect("text"), wanted);
        }
        assert!(pack(long.as_bytes()).len() < long.len() / 20);
    }

    #[test]
    fn only_who_asks_for_gzip_gets_it() {
        let table = [
            ("gzip", true),
            ("deflate, GZIP;q=0.5, br", true),
            ("gzip ; q=1.0", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("br, deflate", false),
            ("*", false),
            ("", false),
        ];
        for (asked, accepted) in table {
            let headers = [(header::ACCEPT_ENCODING, HeaderValue::from_static(asked))].into_iter().collect();
            assert_eq!(is_accepted(&headers), accepted, "{asked:?}");
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }
}
