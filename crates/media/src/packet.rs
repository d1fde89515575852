//! A media packet as sender and receiver know it. In a real call `wire` turns it into RTP bytes; in
//! the simulator it travels as it is.

use legato_control::PacketKind;
use legato_units::{Ecn, Timestamp};

/// One packet of a media stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPacket {
    /// Transport-wide sequence number, unwrapped. Given when the packet leaves the pacer.
    pub transport_seq: u64,
    /// When it was put into the pacer, sender's clock.
    pub enqueued: Timestamp,
    /// When it left the pacer, sender's clock (the absolute send time extension).
    pub departure: Timestamp,
    /// Sequence number within its stream, unwrapped. A retransmission carries that of the packet it
    /// repeats (RFC 4588's original sequence number).
    pub rtp_seq: u32,
    /// Sequence number within the retransmission stream, for packets of that one, which have another
    /// above. Given when the packet leaves.
    pub rtx_seq: u16,
    /// The stream.
    pub ssrc: u32,
    /// The captured frame it belongs to; meaningless for padding and audio.
    pub frame: u32,
    /// Its place among the frame's packets; parity counts on from the last one.
    pub index: u16,
    /// How many media packets the frame has.
    pub count: u16,
    /// Bytes on the wire, IP and UDP headers included.
    pub size_bytes: u16,
    /// Coded bytes it carries.
    pub payload_bytes: u16,
    /// What it carries.
    pub kind: PacketKind,
    /// The ECN field of its IP header: as it left, and at the receiver as it came.
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
}

/// Packets of one frame that follow each other: the index, the number within the stream and the
/// transport-wide number count on from `first`. What leaves at one instant travels as one of these,
/// so that a burst costs little more than a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// The first of them.
    pub first: MediaPacket,
    /// How many; at least one.
    pub packets: u16,
    /// How many still carry one byte more than the last; none where all are of one size.
    pub larger: u16,
}

impl Train {
    /// A packet on its own.
    #[inline]
    pub const fn single(packet: MediaPacket) -> Self {
        Self { first: packet, packets: 1, larger: 0 }
    }

    /// Whether the packet at `place` is one byte smaller than the first.
    #[inline]
    const fn is_smaller(&self, place: u16) -> bool {
        self.larger > 0 && place >= self.larger
    }

    /// Bytes on the wire of the packet at `place`.
    #[inline]
    pub const fn size_bytes(&self, place: u16) -> u16 {
        self.first.size_bytes - self.is_smaller(place) as u16
    }

    /// How many of the first `packets` are one byte smaller than the first.
    #[inline]
    pub fn smaller_among(&self, packets: u16) -> u16 {
        if self.larger == 0 { 0 } else { packets.saturating_sub(self.larger) }
    }

    /// Bytes on the wire of all of them.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.packets) * u64::from(self.first.size_bytes) - u64::from(self.smaller_among(self.packets))
    }

    /// The packet at `place`, counted from 0.
    #[inline]
    pub const fn get(&self, place: u16) -> MediaPacket {
        let smaller = self.is_smaller(place) as u16;
        MediaPacket {
            transport_seq: self.first.transport_seq.wrapping_add(place as u64),
            index: self.first.index.wrapping_add(place),
            rtp_seq: self.first.rtp_seq.wrapping_add(place as u32),
            size_bytes: self.first.size_bytes - smaller,
            payload_bytes: self.first.payload_bytes - smaller,
            ..self.first
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = MediaPacket> + '_ {
        (0..self.packets).map(|place| self.get(place))
    }

    /// Cut off the first `packets`, at least one and fewer than all; the rest stays.
    #[inline]
    pub fn cut_off(&mut self, packets: u16) -> Self {
        debug_assert!(0 < packets && packets < self.packets, "both parts have packets");
        let front = Self { packets, larger: if self.larger < packets { self.larger } else { 0 }, ..*self };
        *self = Self {
            first: self.get(packets),
            packets: self.packets - packets,
            larger: self.larger.saturating_sub(packets),
        };
        front
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

    fn train(packets: u16, larger: u16) -> Train {
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
        Train { first, packets, larger }
    }

    #[test]
    fn numbers_count_on_and_the_larger_packets_come_first() {
        let packets: Vec<_> = train(4, 3).iter().collect();
        assert_eq!(packets.iter().map(|packet| packet.size_bytes).collect::<Vec<_>>(), [1_066, 1_066, 1_066, 1_065]);
        assert_eq!((packets[3].transport_seq, packets[3].rtp_seq, packets[3].index), (13, 23, 3));
        assert_eq!((packets[3].payload_bytes, train(4, 3).bytes()), (999, 4 * 1_066 - 1));
        assert_eq!(train(4, 0).bytes(), 4 * 1_066);
    }

    #[test]
    fn a_train_cut_anywhere_is_the_same_packets() {
        for larger in 0..5 {
            let whole: Vec<_> = train(5, larger).iter().collect();
            for at in 1..5 {
                let mut rest = train(5, larger);
                let front = rest.cut_off(at);
                assert_eq!(front.iter().chain(rest.iter()).collect::<Vec<_>>(), whole, "{larger} {at}");
                assert_eq!(front.bytes() + rest.bytes(), train(5, larger).bytes());
            }
        }
    }

    #[test]
    fn a_packet_is_no_larger_than_it_was_without_its_mark_and_its_second_number() {
        assert_eq!(size_of::<MediaPacket>(), 56);
        let packet = train(1, 0).get(0);
        let repeated = MediaPacket { ssrc: RTX_SSRC, rtx_seq: 7, ..packet };
        assert_eq!((packet.stream_seq(), repeated.stream_seq()), (20, 7));
    }
}
