//! Text that many are sent at the same time, packed once for all of them.
//!
//! A stream comes packed in one of two ways. With zstd each piece of text is a frame of its own, and frames follow each other. With gzip it is
//! a head, blocks, and a trailer over all of them: each piece becomes blocks that end at a whole byte and look back at nothing before them. So
//! in both the same bytes fit into every stream that has come to that piece; only what a gzip stream ends with is its own, and follows from what
//! its pieces end with.

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use flate2::{Compress, Compression, Crc, FlushCompress};

/// Its fastest usual level. For what a busy hall tells, 28 seats a message: 1.8 bytes a seat and 0.7 ms a megabyte, where gzip has 3.6 and 2.4.
/// Each seat differs from the one before in a digit or two, and to say "go on copying from as far back as before" takes zstd next to nothing.
const ZSTD_LEVEL: i32 = 1;
/// The fastest level of gzip that fits its codes to the text: a third fewer bytes than the one below it, which does not, for a quarter of a
/// millisecond more a megabyte. Every byte is sent to all who watch, and packed once.
const GZIP_LEVEL: Compression = Compression::new(2);
/// What every gzip stream begins with: packed with deflate, at no known time, on no known system, no name.
const GZIP_HEAD: Bytes = Bytes::from_static(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/// A last block without anything in it.
const GZIP_LAST_BLOCK: [u8; 2] = [3, 0];

/// How one stream is packed, and how far it has come.
pub(crate) enum Packing {
    Plain,
    Gzip(Crc),
    Zstd,
}

impl Packing {
    /// What the client says that it unpacks.
    pub(crate) fn asked(headers: &HeaderMap) -> Packing {
        let (zstd, gzip) = (weight(headers, "zstd"), weight(headers, "gzip"));
        // Some libraries that ask for zstd stop at the end of the first frame, without a word. Browsers go on, and libraries do not say this,
        // unless they pass on what a browser said.
        let is_browser = headers.contains_key("sec-fetch-site");
        if is_browser && zstd > 0.0 && zstd >= gzip {
            Packing::Zstd
        } else if gzip > 0.0 {
            Packing::Gzip(Crc::new())
        } else {
            Packing::Plain
        }
    }

    /// As `Content-Encoding` names it.
    pub(crate) fn name(&self) -> Option<HeaderValue> {
        match self {
            Packing::Plain => None,
            Packing::Gzip(_) => Some(HeaderValue::from_static("gzip")),
            Packing::Zstd => Some(HeaderValue::from_static("zstd")),
        }
    }

    /// What is sent before all text.
    pub(crate) fn head(&self) -> Option<Bytes> {
        match self {
            Packing::Gzip(_) => Some(GZIP_HEAD),
            Packing::Plain | Packing::Zstd => None,
        }
    }

    /// What is sent of the next piece.
    pub(crate) fn next(&mut self, text: &Text) -> Bytes {
        match self {
            Packing::Plain => text.plain.clone(),
            Packing::Gzip(sum) => {
                let blocks = text.gzip.get_or_init(|| gzip(&text.plain));
                sum.combine(&blocks.sum);
                blocks.bytes.clone()
            }
            Packing::Zstd => text.zstd.get_or_init(|| zstd(&text.plain)).clone(),
        }
    }

    /// What is sent at last. The length starts again from 0 at 4 GiB, as gzip has it.
    pub(crate) fn end(&self) -> Option<Bytes> {
        match self {
            Packing::Gzip(sum) => {
                let (sum, amount) = (sum.sum().to_le_bytes(), sum.amount().to_le_bytes());
                Some([&GZIP_LAST_BLOCK[..], &sum, &amount].concat().into())
            }
            Packing::Plain | Packing::Zstd => None,
        }
    }
}

/// How much a coding is wanted: not at all if it is not named, or refused, or if that cannot be read.
fn weight(headers: &HeaderMap, coding: &str) -> f32 {
    let lines = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    let weights = lines.flat_map(|line| line.split(',')).filter_map(|asked| {
        let mut parts = asked.split(';').map(str::trim);
        parts.next().filter(|name| name.eq_ignore_ascii_case(coding))?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        Some(weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)))
    });
    weights.reduce(f32::min).unwrap_or(0.0)
}

/// A piece of text. Packed when the first who wants it so comes.
pub(crate) struct Text {
    pub(crate) plain: Bytes,
    gzip: OnceLock<Blocks>,
    zstd: OnceLock<Bytes>,
}

struct Blocks {
    bytes: Bytes,
    sum: Crc,
}

impl Text {
    pub(crate) fn new(plain: Bytes) -> Text {
        Text { plain, gzip: OnceLock::new(), zstd: OnceLock::new() }
    }
}

fn gzip(text: &[u8]) -> Blocks {
    let mut packer = Compress::new(GZIP_LEVEL, false);
    let mut bytes = Vec::with_capacity(text.len() / 4 + 64);
    loop {
        let rest = &text[usize::try_from(packer.total_in()).expect("no longer than the text")..];
        packer.compress_vec(rest, &mut bytes, FlushCompress::Full).expect("packing has no wrong input");
        // As long as there is no room left, there may be more to come.
        if bytes.len() < bytes.capacity() {
            break;
        }
        bytes.reserve(bytes.capacity());
    }
    let mut sum = Crc::new();
    sum.update(text);
    Blocks { bytes: kept(bytes), sum }
}

fn zstd(text: &[u8]) -> Bytes {
    kept(zstd::bulk::compress(text, ZSTD_LEVEL).expect("packing has no wrong input"))
}

/// Without the room that was left for what cannot be packed, which is as much as the text: feeds keep what they have sent.
fn kept(bytes: Vec<u8>) -> Bytes {
    bytes.into_boxed_slice().into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn pieces_fit_together_in_any_order() {
        let long = "{\"section\":\"A-1\",\"seat\":\"1-1\",\"state\":\"held\"}".repeat(5_000);
        let noise = (0..70_000_u32)
            .map(|n| char::from((n.wrapping_mul(2_654_435_769) >> 25) as u8))
            .collect::<String>();
        let pieces = [&long, "", "short", &noise, "short"].map(|text| Text::new(text.to_owned().into()));
        let unpack_gzip = |bytes: &[u8], text: &mut String| GzDecoder::new(bytes).read_to_string(text);
        let unpack_zstd =
            |bytes: &[u8], text: &mut String| zstd::Decoder::new(bytes).unwrap().read_to_string(text);
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 0, 3, 1]] {
            let told = |mut packing: Packing| {
                let mut stream = packing.head().unwrap_or_default().to_vec();
                order.iter().for_each(|&place| stream.extend_from_slice(&packing.next(&pieces[place])));
                stream.extend_from_slice(&packing.end().unwrap_or_default());
                stream
            };
            let plain = String::from_utf8(told(Packing::Plain)).unwrap();
            assert_eq!(plain, order.map(|place| std::str::from_utf8(&pieces[place].plain).unwrap()).concat());
            let (mut by_gzip, mut by_zstd) = (String::new(), String::new());
            unpack_gzip(&told(Packing::Gzip(Crc::new())), &mut by_gzip).expect("it ends as it should");
            unpack_zstd(&told(Packing::Zstd), &mut by_zstd).expect("it ends as it should");
            assert!(by_gzip == plain && by_zstd == plain);
        }
        assert!(gzip(long.as_bytes()).bytes.len() < long.len() / 20);
        assert!(zstd(long.as_bytes()).len() < long.len() / 20);
    }

    #[test]
    fn who_asks_gets_it_packed_and_only_browsers_with_zstd() {
        let table = [
            // Asked for, by a library, by a browser.
            ("gzip", Some("gzip"), Some("gzip")),
            ("gzip, deflate, br, zstd", Some("gzip"), Some("zstd")),
            ("zstd;q=0.5, gzip", Some("gzip"), Some("gzip")),
            ("zstd, gzip;q=0", None, Some("zstd")),
            ("zstd", None, Some("zstd")),
            ("zstd;q=0, gzip", Some("gzip"), Some("gzip")),
            ("deflate, GZIP;q=0.5, br", Some("gzip"), Some("gzip")),
            ("gzip ; q=1.0", Some("gzip"), Some("gzip")),
            ("gzip;q=0", None, None),
            ("gzip; q=0.000", None, None),
            ("gzip;Q=0", None, None),
            ("gzip; q=0; x", None, None),
            ("gzip;q=nonsense", None, None),
            ("gzip, gzip;q=0", None, None),
            ("br, deflate", None, None),
            ("*", None, None),
            ("", None, None),
        ];
        for (asked, to_library, to_browser) in table {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(asked));
            let name = |headers: &HeaderMap| {
                Packing::asked(headers).name().map(|name| name.to_str().unwrap().to_owned())
            };
            assert_eq!(name(&headers).as_deref(), to_library, "{asked:?}");
            headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
            assert_eq!(name(&headers).as_deref(), to_browser, "{asked:?} of a browser");
        }
        assert_eq!(Packing::asked(&HeaderMap::new()).name(), None);
    }
}
