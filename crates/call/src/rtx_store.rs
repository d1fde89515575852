//! What is needed to send a packet again, for the packets a NACK may still name.

use legato_control::PacketKind;
use legato_media::packet::{MediaPacket, RTX_SSRC, Train};
use legato_units::{TimeDelta, Timestamp};

/// The last packets of the video stream.
#[derive(Clone, Debug)]
pub struct RtxStore {
    /// Grows to [`MOST`] where the bitrate asks for it: a power of two.
    ring: Vec<Stored>,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    sent: Timestamp,
    /// When it was sent again.
    repeated: Option<Timestamp>,
    rtp_seq: u32,
    frame: u32,
    index: u16,
    count: u16,
    size_bytes: u16,
    payload_bytes: u16,
}

/// About 4 s of 2.5 Mbit/s to begin with …
const FEWEST: usize = 1_024;
/// … and 3 s of 50 Mbit/s at most.
const MOST: usize = 16_384;
/// A packet younger than this is not forgotten while there is room to grow.
const WANTED_TIME: TimeDelta = TimeDelta::from_secs(3);
/// The original sequence number in front of the payload (RFC 4588 section 4).
const OSN_BYTES: u16 = 2;

impl Default for RtxStore {
    fn default() -> Self {
        Self { ring: vec![NONE; FEWEST], next: 0 }
    }
}

const NONE: Stored = Stored {
    sent: Timestamp::ZERO,
    repeated: None,
    rtp_seq: u32::MAX,
    frame: 0,
    index: 0,
    count: 0,
    size_bytes: 0,
    payload_bytes: 0,
};

impl RtxStore {
    /// Packets of the video stream left.
    #[inline]
    pub fn push(&mut self, train: &Train) {
        for place in 0..train.packets {
            let packet = train.get(place);
            self.next = packet.rtp_seq + 1;
            let place = packet.rtp_seq as usize & (self.ring.len() - 1);
            if packet.departure - self.ring[place].sent < WANTED_TIME && self.ring[place].rtp_seq != u32::MAX {
                self.grow();
            }
            let place = packet.rtp_seq as usize & (self.ring.len() - 1);
            self.ring[place] = Stored {
                sent: packet.departure,
                repeated: None,
                rtp_seq: packet.rtp_seq,
                frame: packet.frame,
                index: packet.index,
                count: packet.count,
                size_bytes: packet.size_bytes,
                payload_bytes: packet.payload_bytes,
            };
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = 2 * self.ring.len();
        if length > MOST {
            return;
        }
        let old = std::mem::replace(&mut self.ring, vec![NONE; length]);
        for stored in old.into_iter().filter(|stored| stored.rtp_seq != u32::MAX) {
            self.ring[stored.rtp_seq as usize & (length - 1)] = stored;
        }
    }

    /// The packet to send again for the 16-bit number a NACK names; `None` where it is forgotten or
    /// was already sent again less than `holdoff` ago.
    pub fn repeat(&mut self, now: Timestamp, wrapped: u16, holdoff: TimeDelta) -> Option<MediaPacket> {
        let newest = self.next.checked_sub(1)?;
        let seq = newest.checked_sub(u32::from((newest as u16).wrapping_sub(wrapped)))?;
        let place = seq as usize & (self.ring.len() - 1);
        let stored = &mut self.ring[place];
        if stored.rtp_seq != seq || stored.repeated.is_some_and(|at| now - at < holdoff) {
            return None;
        }
        stored.repeated = Some(now);
        Some(MediaPacket {
            transport_seq: 0,
            enqueued: now,
            departure: now,
            rtp_seq: seq,
            ssrc: RTX_SSRC,
            frame: stored.frame,
            index: stored.index,
            count: stored.count,
            size_bytes: stored.size_bytes + OSN_BYTES,
            payload_bytes: stored.payload_bytes,
            kind: PacketKind::Retransmission,
            probe_cluster: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_media::packet::VIDEO_SSRC;

    fn store(packets: u32) -> RtxStore {
        let mut store = RtxStore::default();
        for rtp_seq in 0..packets {
            store.push(&Train::single(MediaPacket {
                transport_seq: 0,
                enqueued: Timestamp::ZERO,
                departure: Timestamp::ZERO,
                rtp_seq,
                ssrc: VIDEO_SSRC,
                frame: rtp_seq / 3,
                index: 0,
                count: 3,
                size_bytes: 1_000,
                payload_bytes: 900,
                kind: PacketKind::Video,
                probe_cluster: None,
            }));
        }
        store
    }

    #[test]
    fn a_packet_is_repeated_at_once_and_then_once_a_round_trip() {
        let mut store = store(10);
        let (now, rtt) = (Timestamp::from_millis(1), TimeDelta::from_millis(100));
        let packet = store.repeat(now, 7, rtt).unwrap();
        assert_eq!((packet.rtp_seq, packet.frame, packet.size_bytes), (7, 2, 1_002));
        assert_eq!(store.repeat(now, 7, rtt), None);
        assert!(store.repeat(now + rtt, 7, rtt).is_some());
    }

    #[test]
    fn what_was_never_sent_or_is_forgotten_is_not_repeated() {
        let mut store = store(70_000);
        let now = Timestamp::from_secs(9);
        assert_eq!(store.repeat(now, 70_000u32 as u16, TimeDelta::ZERO), None);
        assert_eq!(store.repeat(now, (70_000u32 - 1 - MOST as u32) as u16, TimeDelta::ZERO), None);
        let oldest = 70_000 - MOST as u32;
        assert_eq!(store.repeat(now, oldest as u16, TimeDelta::ZERO).unwrap().rtp_seq, oldest);
        assert_eq!(RtxStore::default().repeat(now, 0, TimeDelta::ZERO), None);
    }
}
