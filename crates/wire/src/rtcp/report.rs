//! Sender and receiver reports (RFC 3550 section 6.4). Profile-specific extensions after the report
//! blocks are skipped.

use super::{Packet, RECEIVER_REPORT, SENDER_REPORT, write_packet};
use crate::Error;
use crate::ntp::{CompactNtp, Ntp};
use crate::reader::{Reader, be_u24};

/// The maximum number of report blocks a packet can count.
pub const MAX_REPORT_BLOCKS: usize = 31;

/// A sender's report on itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// The stream.
    pub ssrc: u32,
    /// When the report was sent, by the sender's clock.
    pub ntp: Ntp,
    /// The same instant on the stream's RTP clock.
    pub rtp_timestamp: u32,
    /// Packets sent so far, modulo 2^32.
    pub packet_count: u32,
    /// Payload bytes sent so far, modulo 2^32.
    pub octet_count: u32,
}

/// A receiver's report on one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The stream reported on.
    pub ssrc: u32,
    /// Share of packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost in total; negative if duplicates outnumber losses. −2^23..2^23; writing
    /// saturates.
    pub cumulative_lost: i32,
    /// Highest sequence number received, 16 bits of wraps above it.
    pub highest_seq: u32,
    /// Interarrival jitter, in units of the RTP clock.
    pub interarrival_jitter: u32,
    /// The compact time of the last sender report received; zero if there was none.
    pub last_sr: CompactNtp,
    /// Between receiving that and sending this, in 1/65536 s.
    pub delay_since_last_sr: u32,
}

/// A sender report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderReport<'a> {
    /// The report on itself.
    pub info: SenderInfo,
    blocks: &'a [u8],
}

/// A receiver report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverReport<'a> {
    /// The reporting end.
    pub ssrc: u32,
    blocks: &'a [u8],
}

impl<'a> SenderReport<'a> {
    /// Reads a sender report found in a compound.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(SENDER_REPORT, packet.format())?;
        let mut reader = Reader::new(packet.body());
        let info = SenderInfo {
            ssrc: reader.u32("sr.ssrc")?,
            ntp: Ntp(u64::from_be_bytes(reader.array("sr.ntp")?)),
            rtp_timestamp: reader.u32("sr.rtp_timestamp")?,
            packet_count: reader.u32("sr.packet_count")?,
            octet_count: reader.u32("sr.octet_count")?,
        };
        Ok(Self { info, blocks: reader.bytes(BLOCK_BYTES * usize::from(packet.format()), "sr.report_blocks")? })
    }

    /// Its reports on the streams it receives.
    pub fn blocks(&self) -> impl Iterator<Item = ReportBlock> + use<'a> {
        read_blocks(self.blocks)
    }
}

impl<'a> ReceiverReport<'a> {
    /// Reads a receiver report found in a compound.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(RECEIVER_REPORT, packet.format())?;
        let mut reader = Reader::new(packet.body());
        let ssrc = reader.u32("rr.ssrc")?;
        Ok(Self { ssrc, blocks: reader.bytes(BLOCK_BYTES * usize::from(packet.format()), "rr.report_blocks")? })
    }

    /// Its reports on the streams it receives.
    pub fn blocks(&self) -> impl Iterator<Item = ReportBlock> + use<'a> {
        read_blocks(self.blocks)
    }
}

/// Appends a sender report. At most [`MAX_REPORT_BLOCKS`] of the blocks are written.
pub fn write_sender_report(out: &mut Vec<u8>, info: &SenderInfo, blocks: &[ReportBlock]) {
    let blocks = &blocks[..blocks.len().min(MAX_REPORT_BLOCKS)];
    write_packet(out, SENDER_REPORT, blocks.len() as u8, |out| {
        out.extend_from_slice(&info.ssrc.to_be_bytes());
        out.extend_from_slice(&info.ntp.0.to_be_bytes());
        out.extend_from_slice(&info.rtp_timestamp.to_be_bytes());
        out.extend_from_slice(&info.packet_count.to_be_bytes());
        out.extend_from_slice(&info.octet_count.to_be_bytes());
        write_blocks(out, blocks);
    });
}

/// Appends a receiver report. At most [`MAX_REPORT_BLOCKS`] of the blocks are written.
pub fn write_receiver_report(out: &mut Vec<u8>, ssrc: u32, blocks: &[ReportBlock]) {
    let blocks = &blocks[..blocks.len().min(MAX_REPORT_BLOCKS)];
    write_packet(out, RECEIVER_REPORT, blocks.len() as u8, |out| {
        out.extend_from_slice(&ssrc.to_be_bytes());
        write_blocks(out, blocks);
    });
}

fn read_blocks(blocks: &[u8]) -> impl Iterator<Item = ReportBlock> {
    blocks.as_chunks::<BLOCK_BYTES>().0.iter().map(|block| {
        let word = |i: usize| u32::from_be_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]]);
        ReportBlock {
            ssrc: word(0),
            fraction_lost: block[4],
            cumulative_lost: (be_u24([block[5], block[6], block[7]]) << 8).cast_signed() >> 8,
            highest_seq: word(2),
            interarrival_jitter: word(3),
            last_sr: CompactNtp(word(4)),
            delay_since_last_sr: word(5),
        }
    })
}

fn write_blocks(out: &mut Vec<u8>, blocks: &[ReportBlock]) {
    for block in blocks {
        let lost = block.cumulative_lost.clamp(-(1 << 23), (1 << 23) - 1).cast_unsigned() & 0x00ff_ffff;
        let words = [
            block.ssrc,
            (u32::from(block.fraction_lost) << 24) | lost,
            block.highest_seq,
            block.interarrival_jitter,
            block.last_sr.0,
            block.delay_since_last_sr,
        ];
        for word in words {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

const BLOCK_BYTES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block() -> impl Strategy<Value = ReportBlock> {
        (any::<[u32; 5]>(), any::<u8>(), -(1 << 23)..(1 << 23)).prop_map(|(words, fraction_lost, cumulative_lost)| {
            ReportBlock {
                ssrc: words[0],
                fraction_lost,
                cumulative_lost,
                highest_seq: words[1],
                interarrival_jitter: words[2],
                last_sr: CompactNtp(words[3]),
                delay_since_last_sr: words[4],
            }
        })
    }

    proptest! {
        #[test]
        fn reports_read_back_as_written(
            blocks in prop::collection::vec(block(), 0..=MAX_REPORT_BLOCKS), words in any::<[u32; 4]>(), ntp: u64,
        ) {
            let info = SenderInfo {
                ssrc: words[0], ntp: Ntp(ntp), rtp_timestamp: words[1], packet_count: words[2], octet_count: words[3],
            };
            let mut bytes = Vec::new();
            write_sender_report(&mut bytes, &info, &blocks);
            let report = SenderReport::from_packet(&Packet::parse(&bytes).unwrap()).unwrap();
            prop_assert_eq!(report.info, info);
            prop_assert_eq!(report.blocks().collect::<Vec<_>>(), blocks.clone());

            bytes.clear();
            write_receiver_report(&mut bytes, 5, &blocks);
            let report = ReceiverReport::from_packet(&Packet::parse(&bytes).unwrap()).unwrap();
            prop_assert_eq!(report.ssrc, 5);
            prop_assert_eq!(report.blocks().collect::<Vec<_>>(), blocks);
        }
    }

    #[test]
    fn a_block_count_larger_than_the_packet_is_refused() {
        let mut bytes = Vec::new();
        write_receiver_report(&mut bytes, 1, &[ReportBlock::default()]);
        bytes[0] |= 2;
        let error = ReceiverReport::from_packet(&Packet::parse(&bytes).unwrap()).unwrap_err();
        assert_eq!(error, Error::Truncated { field: "rr.report_blocks", needed: 72, available: 24 });
    }

    #[test]
    fn cumulative_loss_is_signed_24_bits_and_saturates() {
        for (lost, read) in [(-1, -1), (i32::MAX, 0x7f_ffff), (i32::MIN, -0x80_0000)] {
            let mut bytes = Vec::new();
            write_receiver_report(&mut bytes, 1, &[ReportBlock { cumulative_lost: lost, ..Default::default() }]);
            let packet = Packet::parse(&bytes).unwrap();
            let block = ReceiverReport::from_packet(&packet).unwrap().blocks().next().unwrap();
            assert_eq!((block.cumulative_lost, block.fraction_lost), (read, 0));
        }
    }
}
