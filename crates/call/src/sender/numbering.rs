//! The numbers of the sender's packets, stream by stream.

use legato_control::PacketKind;
use legato_media::EncodedFrame;
use legato_media::pacer::DroppedFrames;
use legato_media::packet::{FEC_SSRC, MediaPacket, VIDEO_SSRC};
use legato_media::packetizer::PACKET_OVERHEAD_BYTES;
use legato_units::{Ecn, Timestamp};

/// The next number of each stream.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    video: u32,
    parity: u32,
    retransmission: u16,
}

impl Numbering {
    /// Packet `index` of the `count` of a frame, with the video's next number.
    pub fn video(&self, now: Timestamp, frame: &EncodedFrame, (index, count): (u16, u16), bytes: u16) -> MediaPacket {
        let packet = unplaced(now, (VIDEO_SSRC, PacketKind::Video), self.video, bytes);
        MediaPacket { frame: frame.sequence as u32, index, count, ..packet }
    }

    /// So many packets have numbers of the video.
    pub fn take_video(&mut self, packets: u16) {
        self.video += u32::from(packets);
    }

    /// Parity packet `place` of a frame of `count` packets.
    pub fn parity(
        &mut self,
        now: Timestamp,
        frame: &EncodedFrame,
        (place, count): (u16, u16),
        bytes: u16,
    ) -> MediaPacket {
        let packet = unplaced(now, (FEC_SSRC, PacketKind::Fec), self.parity, bytes);
        self.parity += 1;
        MediaPacket { frame: frame.sequence as u32, index: count + place, count, ..packet }
    }

    /// The number of the first of so many retransmissions.
    #[inline]
    pub fn retransmissions(&mut self, packets: u16) -> u16 {
        let first = self.retransmission;
        self.retransmission = first.wrapping_add(packets);
        first
    }

    /// Frames that never left give their numbers back.
    pub fn give_back(&mut self, dropped: &DroppedFrames) {
        self.video = dropped.rtp_seq;
        self.parity = dropped.parity_seq.unwrap_or(self.parity);
    }
}

/// A packet of `bytes` of payload, of no frame.
pub(super) fn unplaced(now: Timestamp, (ssrc, kind): (u32, PacketKind), rtp_seq: u32, bytes: u16) -> MediaPacket {
    MediaPacket {
        transport_seq: 0,
        enqueued: now,
        departure: now,
        rtp_seq,
        rtx_seq: 0,
        ssrc,
        frame: 0,
        index: 0,
        count: 0,
        size_bytes: bytes + PACKET_OVERHEAD_BYTES,
        payload_bytes: bytes,
        kind,
        ecn: Ecn::NotEct,
        probe_cluster: None,
    }
}
