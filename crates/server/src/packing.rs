//! Text that many are sent at the same time, packed once for all of them.
//!
//! What comes packed (gzip) is a head, blocks, and a trailer over all of them. Each piece of text becomes blocks that end at a whole byte
//! and look back at nothing before them, so the same bytes fit into every stream that has come to that piece. Only what a stream ends
//! with is its own, and follows from what its pieces end with.

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use flate2::{Compress, Compression, Crc, FlushCompress};

/// What every packed stream begins with: packed with deflate, at no known time, on no known system, no name.
pub(crate) const HEAD: Bytes = Bytes::from_static(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/// The fastest level that fits its codes to the text: a third fewer bytes than the one below it, which does not, for a quarter of a
/// millisecond more a megabyte. Every byte is sent to all who watch, and packed once.
const LEVEL: Compression = Compression::new(2);
/// A last block without anything in it.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Whether the client says that it unpacks.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    let mut asked = lines.flat_map(|line| line.split(',')).filter_map(weight_of_gzip).peekable();
    asked.peek().is_some() && asked.all(|weight| weight > 0.0)
}

/// How much it is wanted, if it is what is named; not at all if that cannot be read.
fn weight_of_gzip(coding: &str) -> Option<f32> {
    let mut parts = coding.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("gzip") {
        return None;
    }
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some(weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)))
}

/// A piece of text as blocks.
pub(crate) struct Packed {
    blocks: Bytes,
    sum: Crc,
}

pub(crate) fn pack(text: &[u8]) -> Packed {
    let mut packer = Compress::new(LEVEL, false);
    let mut blocks = Vec::with_capacity(text.len() / 4 + 64);
    loop {
        let rest = &text[usize::try_from(packer.total_in()).expect("no longer than the text")..];
        packer.compress_vec(rest, &mut blocks, FlushCompress::Full).expect("packing has no wrong input");
        // As long as there is no room left, there may be more to come.
        if blocks.len() < blocks.capacity() {
            break;
        }
        blocks.reserve(blocks.capacity());
    }
    let mut sum = Crc::new();
    sum.update(text);
    Packed { blocks: blocks.into(), sum }
}

/// One stream of pieces.
#[derive(Default)]
pub(crate) struct Packing {
    sum: Crc,
}

impl Packing {
    /// What is sent of the next piece.
    pub(crate) fn next(&mut self, piece: &Packed) -> Bytes {
        self.sum.combine(&piece.sum);
        piece.blocks.clone()
    }

    /// What is sent at last. The length starts again from 0 at 4 GiB, as gzip has it.
    pub(crate) fn end(&self) -> Bytes {
        [&LAST_BLOCK[..], &self.sum.sum().to_le_bytes(), &self.sum.amount().to_le_bytes()].concat().into()
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
            let mut packing = Packing::default();
            let mut wanted = String::new();
            for piece in order.map(|place| pieces[place]) {
                stream.extend_from_slice(&packing.next(&pack(piece.as_bytes())));
                wanted.push_str(piece);
            }
            stream.extend_from_slice(&packing.end());
            let mut unpacked = String::new();
            GzDecoder::new(&stream[..]).read_to_string(&mut unpacked).expect("it ends as it should");
            assert_eq!(unpacked, wanted);
        }
        assert!(pack(long.as_bytes()).blocks.len() < long.len() / 20);
    }

    #[test]
    fn only_who_asks_for_gzip_gets_it() {
        let table = [
            ("gzip", true),
            ("deflate, GZIP;q=0.5, br", true),
            ("gzip ; q=1.0", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("gzip;Q=0", false),
            ("gzip; q=0; x", false),
            ("gzip;q=nonsense", false),
            ("gzip, gzip;q=0", false),
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
