//! A media packet as sender and receiver know it. In a real call `wire` turns it into RTP bytes; in
//! the simulator it travels as it is.

use legato_control::{FramePlace, PacketKind};
use legato_units::{BurstPacket, Ecn, Timestamp};

/// One packet of a media stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPacket {
    /// Transport-wide sequence number, unwrapped. Given when the packet leaves the pacer.
    pub transport_seq: u64,
    /// When it was passed to the pacer, sender's clock.
    pub enqueued: Timestamp,
    /// When it left the pacer, sender's clock (the absolute send time extension).
    pub departure: Timestamp,
    /// Sequence number within its stream, unwrapped. A retransmission carries that of the packet it
    /// repeats (RFC 4588's original sequence number).
    pub rtp_seq: u32,
    /// Sequence number within the retransmission stream, for packets of that stream, which have
    /// another above. Assigned when the packet leaves.
    pub rtx_seq: u16,
    /// The stream.
    pub ssrc: u32,
    /// The captured frame it belongs to; meaningless for padding and audio.
    pub frame: u32,
    /// Its place among the frame's packets; parity counts on from the last one.
    pub index: u16,
    /// The frame's number of media packets.
    pub count: u16,
    /// Bytes on the wire, IP and UDP headers included.
    pub size_bytes: u16,
    /// Coded bytes it carries.
    pub payload_bytes: u16,
    /// Its contents.
    pub kind: PacketKind,
    /// The ECN field of its IP header: as sent, and at the receiver as received.
    pub ecn: Ecn,
    /// The probe cluster it was sent in. Given when the packet leaves the pacer.
    pub probe_cluster: Option<u32>,
}

impl MediaPacket {
    /// The sequence number of its RTP header.
    #[inline]
    pub const fn stream_seq(&self) -> u16 {
        if self.ssrc == RTX_SSRC { self.rtx_seq } else { self.rtp_seq as u16 }
    }

    /// Its place in its frame, if it carries a piece of one or parity.
    #[inline]
    pub fn place(&self) -> Option<FramePlace> {
        match self.kind {
            PacketKind::Fec | PacketKind::Retransmission | PacketKind::Video => {
                Some(FramePlace { frame: self.frame, index: self.index, packets: self.count })
            }
            PacketKind::Audio | PacketKind::Padding => None,
        }
    }
}

impl BurstPacket for MediaPacket {
    #[inline]
    fn size_bytes(&self) -> u64 {
        u64::from(self.size_bytes)
    }

    /// Index, number within the stream and transport-wide number count on.
    #[inline]
    fn behind(&self, place: u16, smaller: u16) -> Self {
        let smaller = u16::from(smaller > 0);
        Self {
            transport_seq: self.transport_seq.wrapping_add(u64::from(place)),
            index: self.index.wrapping_add(place),
            rtp_seq: self.rtp_seq.wrapping_add(u32::from(place)),
            size_bytes: self.size_bytes - smaller,
            payload_bytes: self.payload_bytes - smaller,
            ..*self
        }
    }
}

/// SSRC of the video stream.
pub const VIDEO_SSRC: u32 = 0x1e6a_0001;
/// SSRC of the retransmission stream (RFC 4588), which carries padding too.
pub const RTX_SSRC: u32 = 0x1e6a_0002;
/// SSRC of the parity stream.
pub const FEC_SSRC: u32 = 0x1e6a_0003;
/// SSRC of the audio stream.
pub const AUDIO_SSRC: u32 = 0x1e6a_0004;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::Burst;

    fn burst(packets: u16, smaller: u16) -> Burst<MediaPacket> {
        let first = MediaPacket {
            transport_seq: 10,
            enqueued: Timestamp::ZERO,
            departure: Timestamp::ZERO,
            rtp_seq: 20,
            rtx_seq: 0,
            ssrc: VIDEO_SSRC,
            frame: 1,
            index: 0,
            count: packets,
            size_bytes: 1_066,
            payload_bytes: 1_000,
            kind: PacketKind::Video,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        };
        Burst { first, packets, smaller }
    }

    #[test]
    fn numbers_count_on_and_the_larger_packets_come_first() {
        let packets: Vec<_> = burst(4, 1).iter().collect();
        assert_eq!(packets.iter().map(|packet| packet.size_bytes).collect::<Vec<_>>(), [1_066, 1_066, 1_066, 1_065]);
        assert_eq!((packets[3].transport_seq, packets[3].rtp_seq, packets[3].index), (13, 23, 3));
        assert_eq!((packets[3].payload_bytes, burst(4, 1).bytes()), (999, 4 * 1_066 - 1));
        assert_eq!(burst(4, 0).bytes(), 4 * 1_066);
    }

    #[test]
    fn a_packet_is_no_larger_than_it_was_without_its_mark_and_its_second_number() {
        assert_eq!(size_of::<MediaPacket>(), 56);
        let packet = burst(1, 0).get(0);
        let repeated = MediaPacket { ssrc: RTX_SSRC, rtx_seq: 7, ..packet };
        assert_eq!((packet.stream_seq(), repeated.stream_seq()), (20, 7));
    }
}
