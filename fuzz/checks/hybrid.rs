//! Properties that hold for every byte string given to the decoder of `legato-hybrid`: it gives a picture of the
//! stream's size or says why not, and goes on with the next frame.

use legato_hybrid::{Decoder, Encoder, Header, Picture, Settings, Size};
use std::sync::OnceLock;

const WIDTH: u16 = 48;
const HEIGHT: u16 = 34;
/// A key frame may ask for a large picture; those take long and show nothing new.
const MOST_PIXELS: usize = 256 * 256;

/// Two frames of a small stream that every input follows.
fn stream() -> &'static [Vec<Vec<u8>>] {
    static STREAM: OnceLock<Vec<Vec<Vec<u8>>>> = OnceLock::new();
    STREAM.get_or_init(|| frames(0..2))
}

/// The frames of a moving texture, as packets.
pub fn frames(range: std::ops::Range<usize>) -> Vec<Vec<Vec<u8>>> {
    let size = Size::new(WIDTH, HEIGHT).expect("even sides");
    let settings = Settings { min_packets: 3, motion_copies: 1, ..Settings::default() };
    let mut encoder = Encoder::new(size, settings);
    let pixels = usize::from(WIDTH) * usize::from(HEIGHT);
    range
        .map(|frame| {
            let bytes: Vec<u8> = (0..pixels * 3 / 2)
                .map(|at| {
                    let (x, y) = ((at % usize::from(WIDTH)) + 2 * frame, at / usize::from(WIDTH));
                    (x * x / 3 + y * 5 + (x * y) / 7) as u8
                })
                .collect();
            let picture = Picture::from_planar(size, &bytes).expect("bytes of the size");
            encoder.encode(&picture, 400).expect("the encoder's size").packets
        })
        .collect()
}

/// Packets, each behind a length of two bytes; the remaining bytes are one more.
pub fn packets(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while let [high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (packet, after) = rest.split_at(length);
        packets.push(packet);
        bytes = after;
    }
    packets
}

/// The same with checksums that match, or mutations would hardly come past them.
pub fn sealed(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut sealed: Vec<Vec<u8>> = packets(bytes).into_iter().map(<[u8]>::to_vec).collect();
    sealed.iter_mut().for_each(|packet| Header::seal(packet));
    sealed
}

pub fn hybrid_decode(bytes: &[u8]) {
    for packets in [packets(bytes).into_iter().map(<[u8]>::to_vec).collect(), sealed(bytes)] {
        decode(&packets);
    }
}

fn decode(packets: &[Vec<u8>]) -> Option<usize> {
    let mut decoder = Decoder::new();
    for frame in stream() {
        let whole: Vec<&[u8]> = frame.iter().map(Vec::as_slice).collect();
        decoder.decode(&whole).expect("a whole frame of the stream");
    }
    let asked = packets.iter().filter_map(|packet| Header::parse(packet).ok()).filter_map(|(header, _)| header.size);
    if asked.map(|size| size.width() * size.height()).max().unwrap_or(0) > MOST_PIXELS {
        return None;
    }
    let given: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let before = decoder.picture().map(|picture| picture.size());
    let received = match decoder.decode(&given) {
        Ok(decoded) => {
            assert!(decoded.received.received() >= 1, "a picture out of nothing");
            assert!(decoded.received.received() as usize + decoded.refused <= given.len().max(1));
            assert_eq!(decoder.picture().as_ref(), Some(&decoded.picture));
            Some(usize::from(decoded.received.received()))
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(decoder.picture().map(|picture| picture.size()), before, "a refusal changes nothing");
            None
        }
    };
    decoder.miss();
    assert!(decoder.picture().is_some());
    received
}

/// How an input behaves, in few words.
pub fn outline(bytes: &[u8]) -> String {
    let sealed = sealed(bytes);
    let headers: Vec<String> = sealed
        .iter()
        .take(3)
        .map(|packet| match Header::parse(packet) {
            Ok((header, rest)) => format!(
                "{:?} {} {} {}",
                header.distance,
                header.packets.ilog2(),
                header.quantiser / 64,
                usize::BITS - rest.len().leading_zeros()
            ),
            Err(error) => format!("{error:?}").chars().take_while(|letter| letter.is_alphabetic()).collect(),
        })
        .collect();
    format!("{headers:?} {:?}", decode(&sealed))
}
