//! A coded H.264 frame as RTP payloads (RFC 6184, packetization mode 1), cut where the sender's packetizer cuts.
//!
//! The packetizer distributes a frame's bytes in pieces that differ by at most one byte, and counts 38 bytes of RTP per
//! packet. On the wire those are 12 of RTP header, 8 of header extension, and 16 of SRTP's tag. The other two bytes are
//! the header of a fragment (FU-A), by which every payload here is longer than its piece. A frame that fits one packet
//! goes as an aggregation (STAP-A) of one unit, so that it has the same two extra bytes. The parameter sets of a key
//! frame go ahead in a separate aggregation, the frame's head. If a packet carries more header extensions than those 8
//! bytes, each piece leaves as many bytes empty for them, which count as the frame's.

use crate::{Error, Payloads};
use legato_media::packetizer::{self, MAX_PAYLOAD_BYTES};

/// What each payload holds beyond its piece.
pub const FRAMING_BYTES: u16 = 2;

/// A frame, ready to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct H264Frame {
    /// Payload of the packet with the parameter sets.
    head: Option<Vec<u8>>,
    body: Body,
    /// Bytes of each piece that are not filled.
    room: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    /// Payload of the only packet.
    Whole(Vec<u8>),
    /// The slice without its header byte, which each fragment repeats in its own two.
    Slice { header: u8, bytes: Vec<u8> },
}

const TYPE_BITS: u8 = 0x1f;
const IMPORTANCE_BITS: u8 = 0xe0;
const SEQUENCE_PARAMETERS: u8 = 7;
const PICTURE_PARAMETERS: u8 = 8;
const STAP_A: u8 = 24;
const FU_A: u8 = 28;
const FIRST_FRAGMENT: u8 = 0x80;
const LAST_FRAGMENT: u8 = 0x40;

impl H264Frame {
    /// From NAL units with start codes (Annex B): at most one slice, as the encoder is configured. Each piece leaves
    /// `room` bytes empty.
    pub fn new(annex_b: &[u8], room: u16) -> Result<Self, Error> {
        let (mut parameters, mut slice) = (Vec::new(), None);
        for unit in units(annex_b) {
            match unit_kind(unit) {
                UnitKind::Parameters => parameters.push(unit),
                UnitKind::Slice if slice.is_some() => {
                    return Err(Error("the encoder made a picture of several slices".to_owned()));
                }
                UnitKind::Slice => slice = Some(unit),
                UnitKind::Other => {}
            }
        }
        let slice = slice.ok_or_else(|| Error("the encoder made a picture without a slice".to_owned()))?;
        let head = (!parameters.is_empty()).then(|| aggregate(&parameters));
        let (whole, most) = (slice.len() + 1, usize::from(MAX_PAYLOAD_BYTES - room));
        let body = if whole <= most {
            Body::Whole(aggregate(&[slice]))
        } else {
            let mut bytes = slice[1..].to_vec();
            // One byte too long for an aggregation and too short for two fragments: H.264 allows trailing zeros.
            bytes.resize(bytes.len().max(most + 1), 0);
            Body::Slice { header: slice[0], bytes }
        };
        Ok(Self { head, body, room })
    }

    fn rest_bytes(&self) -> u32 {
        match &self.body {
            Body::Whole(payload) => payload.len() as u32 - u32::from(FRAMING_BYTES) + u32::from(self.room),
            Body::Slice { bytes, .. } => {
                let bytes = bytes.len() as u32;
                bytes + bytes.div_ceil(u32::from(MAX_PAYLOAD_BYTES - self.room)) * u32::from(self.room)
            }
        }
    }
}

impl Payloads for H264Frame {
    fn size_bytes(&self) -> u32 {
        u32::from(self.head_bytes()) + self.rest_bytes()
    }

    fn head_bytes(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.len() as u16 - FRAMING_BYTES + self.room)
    }

    fn payload(&self, index: u16) -> Option<Vec<u8>> {
        let index = match (&self.head, index) {
            (Some(head), 0) => return Some(head.clone()),
            (Some(_), index) => index - 1,
            (None, index) => index,
        };
        match &self.body {
            Body::Whole(payload) => (index == 0).then(|| payload.clone()),
            Body::Slice { header, bytes } => {
                let pieces = packetizer::pieces(self.rest_bytes());
                let last = pieces.packets() - 1;
                let filled = |piece: u16| usize::from(piece - self.room);
                let start: usize = pieces.clone().take(usize::from(index)).map(filled).sum();
                let length = filled(pieces.clone().nth(usize::from(index))?);
                Some(fragment(*header, index == 0, index == last, &bytes[start..start + length]))
            }
        }
    }
}

/// What a NAL unit is to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    Parameters,
    Slice,
    /// Supplements and delimiters do not change the picture.
    Other,
}

/// By the unit's first byte.
pub fn unit_kind(unit: &[u8]) -> UnitKind {
    match unit.first().map(|header| header & TYPE_BITS) {
        Some(SEQUENCE_PARAMETERS | PICTURE_PARAMETERS) => UnitKind::Parameters,
        Some(1..=5) => UnitKind::Slice,
        _ => UnitKind::Other,
    }
}

/// [rfc6184] §5.8: a FU-A, a piece of a unit of this header; the first one takes precedence over the last.
pub fn fragment(header: u8, first: bool, last: bool, bytes: &[u8]) -> Vec<u8> {
    let place = match (first, last) {
        (true, _) => FIRST_FRAGMENT,
        (_, true) => LAST_FRAGMENT,
        _ => 0,
    };
    let mut payload = Vec::with_capacity(bytes.len() + usize::from(FRAMING_BYTES));
    payload.extend([header & IMPORTANCE_BITS | FU_A, header & TYPE_BITS | place]);
    payload.extend_from_slice(bytes);
    payload
}

/// [rfc6184] §5.7.1: a STAP-A, each unit after its length.
pub fn aggregate(units: &[&[u8]]) -> Vec<u8> {
    let importance = units.iter().map(|unit| unit[0] & IMPORTANCE_BITS & 0x7f).max().unwrap_or(0);
    let mut payload = vec![importance | STAP_A];
    for unit in units {
        payload.extend((unit.len() as u16).to_be_bytes());
        payload.extend_from_slice(unit);
    }
    payload
}

/// The units between start codes of three or four bytes.
pub fn units(annex_b: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = annex_b;
    std::iter::from_fn(move || {
        let start = find_start_code(rest)? + 3;
        let after = &rest[start..];
        let end = find_start_code(after).unwrap_or(after.len());
        rest = &after[end..];
        let mut unit = &after[..end];
        // The fourth byte of a long start code, or trailing zeros.
        while let [front @ .., 0] = unit {
            unit = front;
        }
        Some(unit)
    })
    .filter(|unit| !unit.is_empty())
}

fn find_start_code(bytes: &[u8]) -> Option<usize> {
    bytes.windows(3).position(|window| window == [0, 0, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annex_b(units: &[&[u8]]) -> Vec<u8> {
        units.iter().flat_map(|unit| [&[0, 0, 0, 1][..], unit].concat()).collect()
    }

    fn slice(header: u8, length: usize) -> Vec<u8> {
        let body = (1..length).map(|n| (n % 250 + 1) as u8);
        std::iter::once(header).chain(body).collect()
    }

    fn payloads(frame: &H264Frame) -> Vec<Vec<u8>> {
        (0..).map_while(|index| frame.payload(index)).collect()
    }

    #[test]
    fn payloads_are_the_packetizers_pieces_plus_two_minus_the_room() {
        for (length, room) in [2, 500, 1_157, 1_158, 1_161, 1_162, 1_163, 1_164, 5_000, 40_000]
            .into_iter()
            .flat_map(|length| [(length, 0), (length, 4)])
        {
            let frame = H264Frame::new(&annex_b(&[&slice(0x41, length)]), room).unwrap();
            let sizes: Vec<_> = payloads(&frame).iter().map(|payload| payload.len() as u16 - 2 + room).collect();
            let pieces: Vec<_> = packetizer::pieces(frame.size_bytes()).collect();
            assert_eq!(sizes, pieces, "a slice of {length} bytes, {room} left");
            assert_eq!(frame.head_bytes(), 0);
        }
    }

    /// [rfc6184] §5.8: indicator, fragment header with start and end bits, then the unit without its first byte.
    #[test]
    fn fragments_put_together_are_the_slice() {
        let unit = slice(0x65, 3_000);
        let frame = H264Frame::new(&annex_b(&[&unit]), 0).unwrap();
        let all = payloads(&frame);
        assert_eq!(all.len(), 3);
        assert_eq!(all.iter().map(|payload| payload[0]).collect::<Vec<_>>(), [0x7c; 3]);
        assert_eq!(all.iter().map(|payload| payload[1]).collect::<Vec<_>>(), [0x85, 0x05, 0x45]);
        let body: Vec<u8> = all.iter().flat_map(|payload| payload[2..].to_vec()).collect();
        assert_eq!([&[0x65], &body[..]].concat(), unit);
    }

    /// [rfc6184] §5.7.1: 24, then each unit after its 16-bit length.
    #[test]
    fn parameter_sets_go_ahead_in_a_packet_of_their_own() {
        let (sps, pps) = ([0x67, 1, 2, 3], [0x68, 9]);
        let frame = H264Frame::new(&annex_b(&[&sps, &pps, &slice(0x65, 2_000)]), 0).unwrap();
        let all = payloads(&frame);
        assert_eq!(all[0], [0x78, 0, 4, 0x67, 1, 2, 3, 0, 2, 0x68, 9]);
        assert_eq!(frame.head_bytes(), 9);
        assert_eq!(all.len(), 3);
        assert_eq!(frame.size_bytes(), 9 + 1_999);
        let small = H264Frame::new(&annex_b(&[&slice(0x41, 10)]), 0).unwrap();
        assert_eq!(small.payload(0).unwrap()[..3], [0x58, 0, 10]);
        let roomy = H264Frame::new(&annex_b(&[&sps, &pps, &slice(0x65, 2_000)]), 4).unwrap();
        assert_eq!((roomy.head_bytes(), roomy.payload(0).unwrap().len()), (13, 11));
    }

    #[test]
    fn anything_but_a_single_slice_is_refused() {
        assert!(H264Frame::new(&annex_b(&[&slice(0x41, 9), &slice(0x41, 9)]), 0).is_err());
        assert!(H264Frame::new(&annex_b(&[&[0x67, 1]]), 0).is_err());
    }
}
