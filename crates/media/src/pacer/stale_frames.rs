//! Frames that have waited too long in the pacer are thrown away whole, before their first packet has left.

use super::Pacer;
use legato_control::PacketKind;
use legato_units::{DataSize, TimeDelta, Timestamp};

/// The packets thrown away, and the numbers that are free again: no other end has seen them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedFrames {
    /// The number of the first video packet that was dropped.
    pub rtp_seq: u32,
    /// The same of parity, if any was.
    pub parity_seq: Option<u32>,
    /// Bytes in all, headers included.
    pub size: DataSize,
}

impl Pacer {
    /// Throw away every frame that has not begun to leave, and its parity, if the oldest of them has waited longer than
    /// `longest`: those behind it are predicted from it. Retransmissions stay.
    pub fn drop_frames(&mut self, now: Timestamp, longest: TimeDelta) -> Option<DroppedFrames> {
        let begins =
            self.media.iter().position(|burst| burst.first.kind == PacketKind::Video && burst.first.index == 0)?;
        let oldest = self.media[begins].first;
        if now - oldest.enqueued <= longest {
            return None;
        }
        let mut dropped = DroppedFrames { rtp_seq: oldest.rtp_seq, parity_seq: None, size: DataSize::ZERO };
        for burst in self.media.split_off(begins) {
            match burst.first.kind {
                PacketKind::Video => {}
                PacketKind::Fec => {
                    dropped.parity_seq.get_or_insert(burst.first.rtp_seq);
                }
                _ => {
                    self.media.push_back(burst);
                    continue;
                }
            }
            let size = DataSize::from_bytes(burst.bytes());
            dropped.size += size;
            self.queued -= size;
            self.packets -= u32::from(burst.packets);
            self.enqueued_us -= (burst.first.enqueued - self.start).as_micros() * i64::from(burst.packets);
        }
        self.pace(now);
        Some(dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PacerConfig;
    use super::*;
    use crate::packet::{FEC_SSRC, MediaPacket, RTX_SSRC, VIDEO_SSRC};
    use legato_control::Decision;
    use legato_units::{DataRate, Ecn};

    fn packet(kind: PacketKind, (frame, index): (u32, u16), rtp_seq: u32, enqueued_ms: i64) -> MediaPacket {
        let ssrc = match kind {
            PacketKind::Fec => FEC_SSRC,
            PacketKind::Retransmission => RTX_SSRC,
            _ => VIDEO_SSRC,
        };
        MediaPacket {
            transport_seq: 0,
            enqueued: Timestamp::from_millis(enqueued_ms),
            departure: Timestamp::from_millis(enqueued_ms),
            rtp_seq,
            rtx_seq: 0,
            ssrc,
            frame,
            index,
            count: 2,
            size_bytes: 1_000,
            payload_bytes: 900,
            kind,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        }
    }

    /// At 80 kbit/s a packet of 1,000 bytes takes 100 ms. Of three frames of two packets, the first of which has sent one,
    /// with parity behind each and a repeat behind the second, the last two have waited 90 and 50 ms.
    fn waiting() -> (Pacer, Timestamp) {
        let config = PacerConfig { burst_interval: TimeDelta::from_millis(1), ..PacerConfig::default() };
        let mut pacer = Pacer::new(config, Timestamp::ZERO);
        pacer.obey(Timestamp::ZERO, &Decision { ..Decision::of_target(DataRate::from_kbps(32)) }, DataSize::ZERO);
        for frame in 0..3 {
            for index in 0..2 {
                let seq = 2 * frame + u32::from(index);
                pacer.push(packet(PacketKind::Video, (frame, index), seq, 40 * i64::from(frame)));
            }
            pacer.push(packet(PacketKind::Fec, (frame, 2), frame, 40 * i64::from(frame)));
            if frame == 1 {
                pacer.push_behind(packet(PacketKind::Retransmission, (0, 0), 0, 40));
            }
            if frame == 0 {
                assert_eq!(pacer.pop(Timestamp::ZERO).unwrap().rtp_seq, 0);
            }
        }
        (pacer, Timestamp::from_millis(130))
    }

    #[test]
    fn frames_that_have_not_begun_are_dropped_with_their_parity() {
        let (mut pacer, now) = waiting();
        let dropped = pacer.drop_frames(now, TimeDelta::from_millis(80)).unwrap();
        let size = DataSize::from_bytes(6_000);
        assert_eq!(dropped, DroppedFrames { rtp_seq: 2, parity_seq: Some(1), size });
        assert_eq!(pacer.queued(), DataSize::from_bytes(3_000));
        let mut left = Vec::new();
        for ms in (200..1_000).step_by(100) {
            left.extend(pacer.pop(Timestamp::from_millis(ms)).map(|packet| (packet.kind, packet.frame)));
        }
        assert_eq!(left, [(PacketKind::Video, 0), (PacketKind::Fec, 0), (PacketKind::Retransmission, 0)]);
        assert_eq!((pacer.queued(), pacer.packets, pacer.enqueued_us), (DataSize::ZERO, 0, 0));
    }

    #[test]
    fn a_frame_that_is_not_too_old_or_has_begun_is_kept() {
        let (mut pacer, now) = waiting();
        assert_eq!(pacer.drop_frames(now, TimeDelta::from_millis(90)), None);
        assert!(pacer.drop_frames(now, TimeDelta::ZERO).is_some());
        assert_eq!(pacer.drop_frames(now, TimeDelta::ZERO), None, "a frame that has begun goes on");
    }
}
