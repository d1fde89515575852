//! A coded frame of the hybrid codec as RTP payloads: each is one of the codec's packets behind five bytes
//! (`legato_wire::hybrid`), of which the sender counts three.

use super::bundle::Bundle;
use crate::payloads::OwnPackets;
use crate::{Error, PacketCost};
use legato_wire::hybrid::{Confirmed, HEAD_BYTES, head};

/// From the encoder's bytes. Each packet leaves `room` bytes empty.
pub fn packets(bytes: &[u8], keyframe: bool, room: u16) -> Result<OwnPackets, Error> {
    let Bundle { stream, confirmed, packets } = Bundle::parse(bytes)?;
    let confirmed = confirmed.map(|(behind, sum)| Confirmed { behind, sum });
    let payload = |packet: &Vec<u8>| [&head(keyframe, stream, confirmed), &packet[..]].concat();
    Ok(OwnPackets::new(packets.iter().map(payload).collect(), room))
}

/// What packets cost the encoder, where each leaves `room` bytes empty.
pub fn packet_cost(room: u16) -> PacketCost {
    OwnPackets::cost(HEAD_BYTES as u16 - 2, room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Payloads;
    use legato_wire::hybrid::Payload;

    #[test]
    fn payloads_are_the_packets_behind_five_bytes_and_two_longer_than_counted() {
        let coded = vec![vec![0x20, 0, 9, 0, 2, 80, 1, 5], vec![0x20, 0, 9, 1, 2, 80, 1, 5, 6]];
        let bundle = Bundle { stream: 3, confirmed: Some((4, 0xabcd)), packets: coded.clone() };
        let frame = packets(&bundle.to_bytes(), false, 8).unwrap();
        assert_eq!((frame.pieces(), frame.size_bytes(), frame.head_bytes()), (Some(vec![19, 20]), 39, 0));
        for (index, packet) in (0..2).zip(&coded) {
            let payload = frame.payload(index).unwrap();
            assert_eq!(payload.len() + 8, usize::from(frame.pieces().unwrap()[usize::from(index)]) + 2);
            let read = Payload::parse(&payload).unwrap();
            assert_eq!((read.stream, read.confirmed), (3, Some(Confirmed { behind: 4, sum: 0xabcd })));
            assert_eq!((read.frame, u16::from(read.packet), read.bytes), (9, index, &packet[..]));
        }
        assert_eq!(frame.payload(2), None);
        assert!(packets(&[], false, 0).is_err());
    }
}
