//! A receiver's requests: generic NACK (RFC 4585 section 6.2.1), PLI (6.3.1) and FIR (RFC 5104
//! section 4.3.1).

use super::{Message, PAYLOAD_FEEDBACK, Packet, TRANSPORT_FEEDBACK, write_packet};
use crate::Error;
use crate::reader::Reader;

/// The maximum number of items (of up to 17 packets each) written into one NACK: about 1 kB.
pub const MAX_NACK_ITEMS: usize = 253;

pub(super) const NACK_FORMAT: u8 = 1;
pub(super) const PLI_FORMAT: u8 = 1;
pub(super) const FIR_FORMAT: u8 = 4;

/// A generic NACK: packets requested again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack<'a> {
    /// The requesting end.
    pub sender_ssrc: u32,
    /// The requested stream.
    pub media_ssrc: u32,
    items: &'a [u8],
}

impl<'a> Nack<'a> {
    /// Reads a NACK found in a compound.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(TRANSPORT_FEEDBACK, NACK_FORMAT)?;
        let (sender_ssrc, media_ssrc, items) = split(packet)?;
        whole_items(items, 4, "nack.items")?;
        Ok(Self { sender_ssrc, media_ssrc, items })
    }

    /// The requested sequence numbers, item by item.
    pub fn seqs(&self) -> impl Iterator<Item = u16> + use<'a> {
        self.items.as_chunks().0.iter().flat_map(|&[p0, p1, b0, b1]| {
            let (pid, blp) = (u16::from_be_bytes([p0, p1]), u16::from_be_bytes([b0, b1]));
            // [rfc4585] §6.2.1: bit i of the BLP, from the lowest, is the packet i + 1 after the PID.
            let followers = (0..16u16).filter(move |i| blp >> i & 1 == 1).map(move |i| pid.wrapping_add(i + 1));
            core::iter::once(pid).chain(followers)
        })
    }
}

/// A full intra request: each stream named is to send a key frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fir<'a> {
    /// The requesting end.
    pub sender_ssrc: u32,
    items: &'a [u8],
}

impl<'a> Fir<'a> {
    /// Reads a FIR found in a compound. The media SSRC of its header means nothing and is ignored.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(PAYLOAD_FEEDBACK, FIR_FORMAT)?;
        let (sender_ssrc, _, items) = split(packet)?;
        whole_items(items, 8, "fir.items")?;
        Ok(Self { sender_ssrc, items })
    }

    /// Each requested stream and the number of the request; a repeated number is a repetition.
    pub fn requests(&self) -> impl Iterator<Item = (u32, u8)> + use<'a> {
        self.items
            .as_chunks()
            .0
            .iter()
            .map(|&[s0, s1, s2, s3, number, ..]: &[u8; 8]| (u32::from_be_bytes([s0, s1, s2, s3]), number))
    }
}

pub(super) fn read_pli<'a>(packet: &Packet<'a>) -> Result<Message<'a>, Error> {
    let (sender_ssrc, media_ssrc, rest) = split(packet)?;
    match rest.len() {
        0 => Ok(Message::Pli { sender_ssrc, media_ssrc }),
        bytes => Err(Error::Trailing { field: "pli", bytes }),
    }
}

/// Appends a NACK for ascending (modulo wrap) `seqs`. Returns how many of them it holds: all, or
/// what fits [`MAX_NACK_ITEMS`]. Writes nothing if there are none.
pub fn write_nack(out: &mut Vec<u8>, sender_ssrc: u32, media_ssrc: u32, seqs: impl IntoIterator<Item = u16>) -> usize {
    let mut seqs = seqs.into_iter().peekable();
    if seqs.peek().is_none() {
        return 0;
    }
    let mut written = 0;
    write_packet(out, TRANSPORT_FEEDBACK, NACK_FORMAT, |out| {
        write_ssrcs(out, sender_ssrc, media_ssrc);
        for _ in 0..MAX_NACK_ITEMS {
            let Some(pid) = seqs.next() else { break };
            let mut blp = 0u16;
            written += 1;
            while let Some(seq) = seqs.next_if(|seq| (1..=16).contains(&seq.wrapping_sub(pid))) {
                blp |= 1 << (seq.wrapping_sub(pid) - 1);
                written += 1;
            }
            out.extend_from_slice(&pid.to_be_bytes());
            out.extend_from_slice(&blp.to_be_bytes());
        }
    });
    written
}

/// Appends a picture loss indication.
pub fn write_pli(out: &mut Vec<u8>, sender_ssrc: u32, media_ssrc: u32) {
    write_packet(out, PAYLOAD_FEEDBACK, PLI_FORMAT, |out| write_ssrcs(out, sender_ssrc, media_ssrc));
}

/// Appends a full intra request for one stream; `number` counts requests to it.
pub fn write_fir(out: &mut Vec<u8>, sender_ssrc: u32, media_ssrc: u32, number: u8) {
    write_packet(out, PAYLOAD_FEEDBACK, FIR_FORMAT, |out| {
        write_ssrcs(out, sender_ssrc, 0);
        out.extend_from_slice(&media_ssrc.to_be_bytes());
        out.extend_from_slice(&[number, 0, 0, 0]);
    });
}

/// Sender SSRC, media SSRC and the feedback control information after them.
fn split<'a>(packet: &Packet<'a>) -> Result<(u32, u32, &'a [u8]), Error> {
    let mut reader = Reader::new(packet.body());
    Ok((reader.u32("feedback.sender_ssrc")?, reader.u32("feedback.media_ssrc")?, reader.rest()))
}

fn write_ssrcs(out: &mut Vec<u8>, sender_ssrc: u32, media_ssrc: u32) {
    out.extend_from_slice(&sender_ssrc.to_be_bytes());
    out.extend_from_slice(&media_ssrc.to_be_bytes());
}

/// At least one item, and no partial one.
fn whole_items(items: &[u8], item_bytes: usize, field: &'static str) -> Result<(), Error> {
    if items.len() < item_bytes {
        return Err(Error::Truncated { field, needed: item_bytes, available: items.len() });
    }
    match items.len() % item_bytes {
        0 => Ok(()),
        bytes => Err(Error::Trailing { field, bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nacked(bytes: &[u8]) -> Vec<u16> {
        Nack::from_packet(&Packet::parse(bytes).unwrap()).unwrap().seqs().collect()
    }

    #[test]
    fn packets_up_to_16_after_the_first_share_an_item() {
        let mut bytes = Vec::new();
        assert_eq!(write_nack(&mut bytes, 1, 2, [65_530, 65_535, 10, 11]), 4);
        // [rfc4585] §6.2.1, worked by hand: PID 65530 with +5 and +16 (= 10 after the wrap), then PID 11 alone.
        assert_eq!(bytes[12..], [0xff, 0xfa, 0x80, 0x10, 0, 11, 0, 0]);
        assert_eq!(nacked(&bytes), [65_530, 65_535, 10, 11]);
    }

    #[test]
    fn a_nack_stops_at_its_item_limit_and_an_empty_one_is_not_written() {
        let mut bytes = Vec::new();
        assert_eq!(write_nack(&mut bytes, 1, 2, (0..1000u16).map(|i| i * 20)), MAX_NACK_ITEMS);
        assert_eq!(bytes.len(), 12 + 4 * MAX_NACK_ITEMS);
        bytes.clear();
        assert_eq!(write_nack(&mut bytes, 1, 2, []), 0);
        assert!(bytes.is_empty());
    }

    #[test]
    fn requests_for_key_frames_read_back_as_written() {
        let mut bytes = Vec::new();
        write_fir(&mut bytes, 1, 2, 3);
        let fir = Fir::from_packet(&Packet::parse(&bytes).unwrap()).unwrap();
        assert_eq!((fir.sender_ssrc, fir.requests().collect::<Vec<_>>()), (1, vec![(2, 3)]));
    }

    #[test]
    fn requests_without_or_with_part_of_an_item_are_refused() {
        let nack = |words: &[u8]| {
            let mut bytes = Vec::new();
            write_packet(&mut bytes, TRANSPORT_FEEDBACK, NACK_FORMAT, |out| out.extend_from_slice(words));
            Packet::parse(&bytes).unwrap().message().map(|_| ())
        };
        assert!(nack(&[0; 4]).is_err());
        assert!(nack(&[0; 8]).is_err());
        assert!(nack(&[0; 12]).is_ok());
        let fir = [0x84, PAYLOAD_FEEDBACK, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
        assert!(Packet::parse(&fir).unwrap().message().is_err());
        let long_pli = [0x81, PAYLOAD_FEEDBACK, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0];
        assert!(Packet::parse(&long_pli).unwrap().message().is_err());
    }

    proptest! {
        #[test]
        fn nacks_read_back_as_written(first: u16, gaps in prop::collection::vec(1u16..40, 0..200)) {
            let seqs: Vec<u16> = core::iter::once(first)
                .chain(gaps.iter().scan(first, |seq, gap| { *seq = seq.wrapping_add(*gap); Some(*seq) }))
                .collect();
            let mut bytes = Vec::new();
            prop_assert_eq!(write_nack(&mut bytes, 1, 2, seqs.iter().copied()), seqs.len());
            prop_assert_eq!(nacked(&bytes), seqs);
        }
    }
}
