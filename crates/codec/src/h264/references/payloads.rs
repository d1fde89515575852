//! A coded H.264 picture in slices as RTP payloads (RFC 6184, packetization mode 1): parameter sets in a separate
//! aggregation, then each slice in a packet alone. A slice too large for one goes in fragments (FU-A).

use crate::h264::payloads::{FRAMING_BYTES, UnitKind, aggregate, fragment, unit_kind, units};
use crate::{Error, payloads::OwnPackets};
use legato_media::packetizer::MAX_PAYLOAD_BYTES;

/// From NAL units with start codes (Annex B). Each packet leaves `room` bytes empty.
pub fn packets(annex_b: &[u8], room: u16) -> Result<OwnPackets, Error> {
    let (mut parameters, mut slices) = (Vec::new(), Vec::new());
    for unit in units(annex_b) {
        match unit_kind(unit) {
            UnitKind::Parameters => parameters.push(unit),
            UnitKind::Slice => slices.push(unit),
            UnitKind::Other => {}
        }
    }
    if slices.is_empty() {
        return Err(Error("the encoder made a picture without a slice".to_owned()));
    }
    let head = (!parameters.is_empty()).then(|| aggregate(&parameters));
    let most = usize::from(MAX_PAYLOAD_BYTES - room);
    let payloads = head.into_iter().chain(slices.into_iter().flat_map(|slice| cut(slice, most))).collect();
    Ok(OwnPackets::new(payloads, room))
}

/// A slice in payloads of at most two bytes more than `most`.
fn cut(slice: &[u8], most: usize) -> Vec<Vec<u8>> {
    if slice.len() <= most + usize::from(FRAMING_BYTES) {
        return vec![slice.to_vec()];
    }
    let (header, bytes) = (slice[0], &slice[1..]);
    let pieces = bytes.chunks(bytes.len().div_ceil(bytes.len().div_ceil(most)));
    let last = pieces.len() - 1;
    pieces.enumerate().map(|(place, piece)| fragment(header, place == 0, place == last, piece)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Payloads;

    fn slice(header: u8, length: usize) -> Vec<u8> {
        let body = (1..length).map(|n| (n % 250 + 1) as u8);
        std::iter::once(header).chain(body).collect()
    }

    fn annex_b(units: &[&[u8]]) -> Vec<u8> {
        units.iter().flat_map(|unit| [&[0, 0, 0, 1][..], unit].concat()).collect()
    }

    #[test]
    fn each_slice_is_a_packet_and_two_bytes_longer_than_counted() {
        let slices = [slice(0x41, 300), slice(0x41, 200)];
        let frame = packets(&annex_b(&[&slices[0], &slices[1]]), 8).unwrap();
        assert_eq!((frame.pieces(), frame.size_bytes(), frame.head_bytes()), (Some(vec![306, 206]), 512, 0));
        assert_eq!(
            [frame.payload(0), frame.payload(1), frame.payload(2)],
            [Some(slices[0].clone()), Some(slices[1].clone()), None]
        );
        assert!(packets(&annex_b(&[&[0x67, 1]]), 0).is_err());
    }

    /// [rfc6184] §5.8: indicator, fragment header with start and end bits, then the unit without its first byte.
    #[test]
    fn parameters_go_ahead_and_a_large_slice_in_fragments() {
        for room in [0, 8] {
            let large = slice(0x65, 3_000);
            let frame = packets(&annex_b(&[&[0x67, 1, 2], &[0x68, 9], &large, &slice(0x65, 90)]), room).unwrap();
            let payloads: Vec<_> = (0..).map_while(|index| frame.payload(index)).collect();
            assert_eq!(payloads[0], [0x78, 0, 3, 0x67, 1, 2, 0, 2, 0x68, 9]);
            assert_eq!(payloads.len(), 5);
            let heads: Vec<_> = payloads[1..4].iter().map(|payload| [payload[0], payload[1]]).collect();
            assert_eq!(heads, [[0x7c, 0x85], [0x7c, 0x05], [0x7c, 0x45]]);
            let body: Vec<u8> = payloads[1..4].iter().flat_map(|payload| payload[2..].to_vec()).collect();
            assert_eq!([&[0x65], &body[..]].concat(), large);
            assert!(frame.pieces().unwrap().iter().all(|&piece| piece <= MAX_PAYLOAD_BYTES));
            let largest = slice(0x41, usize::from(MAX_PAYLOAD_BYTES - room) + 2);
            let frame = packets(&annex_b(&[&largest]), room).unwrap();
            assert_eq!(frame.pieces(), Some(vec![MAX_PAYLOAD_BYTES]));
        }
    }
}
