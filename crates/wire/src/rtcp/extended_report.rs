//! Extended reports (RFC 3611), the two blocks by which an end that sends no media measures the round-trip
//! time: the receiver's reference time, and how long the sender has had the last one. Other blocks are skipped.

use super::{EXTENDED_REPORT, Packet, write_packet};
use crate::Error;
use crate::ntp::{CompactNtp, Ntp};
use crate::reader::Reader;

/// An extended report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedReport<'a> {
    /// The reporting end.
    pub ssrc: u32,
    blocks: &'a [u8],
}

/// The blocks about round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedBlock {
    /// When the report was sent, by its sender's clock.
    ReferenceTime(Ntp),
    /// The reply to one: the compact time of the last received, and how long ago, in 1/65536 s.
    DelaySinceLast {
        /// The end whose reference time this replies to.
        ssrc: u32,
        /// Zero: none has been received.
        last_rr: CompactNtp,
        /// Between receiving that and sending this.
        delay_since_last_rr: u32,
    },
}

impl<'a> ExtendedReport<'a> {
    /// Reads an extended report found in a compound; its blocks must fill it.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(EXTENDED_REPORT, packet.format())?;
        let mut reader = Reader::new(packet.body());
        let ssrc = reader.u32("xr.ssrc")?;
        let blocks = reader.rest();
        let mut rest = blocks;
        while !rest.is_empty() {
            rest = split_block(rest)?.1;
        }
        Ok(Self { ssrc, blocks })
    }

    /// Its blocks about round trips, in order.
    pub fn blocks(&self) -> impl Iterator<Item = ExtendedBlock> + use<'a> {
        let mut rest = self.blocks;
        let bodies = std::iter::from_fn(move || {
            let (block, after) = split_block(rest).ok()?;
            rest = after;
            Some(block)
        });
        bodies.flat_map(|(kind, body)| {
            let reference = match (kind, <[u8; 8]>::try_from(body)) {
                (REFERENCE_TIME, Ok(ntp)) => Some(ExtendedBlock::ReferenceTime(Ntp(u64::from_be_bytes(ntp)))),
                _ => None,
            };
            let answers = if kind == DELAY_SINCE_LAST { body.as_chunks::<12>().0 } else { &[] };
            reference.into_iter().chain(answers.iter().map(|answer| {
                let word = |i: usize| u32::from_be_bytes([answer[i], answer[i + 1], answer[i + 2], answer[i + 3]]);
                ExtendedBlock::DelaySinceLast {
                    ssrc: word(0),
                    last_rr: CompactNtp(word(4)),
                    delay_since_last_rr: word(8),
                }
            }))
        })
    }
}

/// A block's type and body.
type Block<'a> = (u8, &'a [u8]);

// [rfc3611] §3: a block type, a type-specific byte, and the length in words without that first one.
fn split_block(bytes: &[u8]) -> Result<(Block<'_>, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let [kind, _, l0, l1] = reader.array("xr.block")?;
    let body = reader.bytes(4 * usize::from(u16::from_be_bytes([l0, l1])), "xr.block")?;
    Ok(((kind, body), reader.rest()))
}

/// Appends an extended report of one block.
pub fn write_extended_report(out: &mut Vec<u8>, ssrc: u32, block: &ExtendedBlock) {
    write_packet(out, EXTENDED_REPORT, 0, |out| {
        out.extend_from_slice(&ssrc.to_be_bytes());
        match *block {
            ExtendedBlock::ReferenceTime(ntp) => {
                out.extend_from_slice(&[REFERENCE_TIME, 0, 0, 2]);
                out.extend_from_slice(&ntp.0.to_be_bytes());
            }
            ExtendedBlock::DelaySinceLast { ssrc, last_rr, delay_since_last_rr } => {
                out.extend_from_slice(&[DELAY_SINCE_LAST, 0, 0, 3]);
                for word in [ssrc, last_rr.0, delay_since_last_rr] {
                    out.extend_from_slice(&word.to_be_bytes());
                }
            }
        }
    });
}

/// [rfc3611] §4.4: receiver reference time report block.
const REFERENCE_TIME: u8 = 4;
/// [rfc3611] §4.5: DLRR report block.
const DELAY_SINCE_LAST: u8 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::Message;

    fn read(bytes: &[u8]) -> Result<Vec<ExtendedBlock>, Error> {
        match Packet::parse(bytes)?.message()? {
            Message::ExtendedReport(report) => Ok(report.blocks().collect()),
            other => panic!("{other:?}"),
        }
    }

    /// [rfc3611] §3, [rfc3611] §4.4 and [rfc3611] §4.5, bytes by hand.
    #[test]
    fn reports_are_written_as_in_the_rfc_and_read_back() {
        let reference = ExtendedBlock::ReferenceTime(Ntp(0x0102_0304_0506_0708));
        let answer =
            ExtendedBlock::DelaySinceLast { ssrc: 9, last_rr: CompactNtp(0x0304_0506), delay_since_last_rr: 655 };
        let mut bytes = Vec::new();
        write_extended_report(&mut bytes, 7, &reference);
        assert_eq!(bytes, [0x80, 207, 0, 4, 0, 0, 0, 7, 4, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(read(&bytes), Ok(vec![reference]));
        bytes.clear();
        write_extended_report(&mut bytes, 7, &answer);
        assert_eq!(bytes, [0x80, 207, 0, 5, 0, 0, 0, 7, 5, 0, 0, 3, 0, 0, 0, 9, 3, 4, 5, 6, 0, 0, 2, 143]);
        assert_eq!(read(&bytes), Ok(vec![answer]));
    }

    #[test]
    fn other_blocks_are_skipped_and_a_block_past_the_end_is_refused() {
        let other = [0x80, 207, 0, 3, 0, 0, 0, 7, 1, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(read(&other), Ok(vec![]));
        let long = [0x80, 207, 0, 2, 0, 0, 0, 7, 4, 0, 0, 2];
        assert!(matches!(read(&long), Err(Error::Truncated { .. })));
    }
}
