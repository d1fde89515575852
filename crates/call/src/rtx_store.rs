//! Keeps packets for retransmission, as long as a NACK may name them.

use legato_control::PacketKind;
use legato_media::packet::{MediaPacket, RTX_SSRC};
use legato_units::{Burst, Ecn, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The last packets of the video stream.
#[derive(Clone, Debug)]
pub struct RtxStore {
    /// In departure order, which is that of their numbers.
    bursts: VecDeque<Burst<MediaPacket>>,
    /// Packets before this number are forgotten.
    oldest: u32,
    /// One past the newest number.
    next: u32,
    /// The number of packets kept; grows to [`MOST`] if the bitrate requires it.
    capacity: u32,
    /// The retransmitted packets and the latest time of each, by number.
    repeated: Vec<(u32, Timestamp)>,
}

/// About 4 s of 2.5 Mbit/s initially …
const FEWEST: u32 = 1_024;
/// … and 3 s of 50 Mbit/s at most.
const MOST: u32 = 16_384;
/// A packet younger than this is not forgotten while there is room to grow.
const WANTED_TIME: TimeDelta = TimeDelta::from_secs(3);
/// The original sequence number before the payload (RFC 4588 section 4).
const OSN_BYTES: u16 = 2;

impl Default for RtxStore {
    fn default() -> Self {
        Self { bursts: VecDeque::new(), oldest: 0, next: 0, capacity: FEWEST, repeated: Vec::new() }
    }
}

impl RtxStore {
    /// Packets of the video stream left.
    #[inline]
    pub fn push(&mut self, burst: &Burst<MediaPacket>) {
        self.next = end_of(burst);
        while self.oldest + self.capacity < self.next
            && let Some(front) = self.bursts.front()
        {
            if self.capacity < MOST && burst.first.departure - front.first.departure < WANTED_TIME {
                self.capacity *= 2;
                continue;
            }
            self.oldest = end_of(front).min(self.next - self.capacity);
            if end_of(front) == self.oldest {
                self.bursts.pop_front();
            }
        }
        self.bursts.push_back(*burst);
    }

    /// The packet to retransmit for the 16-bit number in a NACK, and how long ago it first left; `None` if it is forgotten
    /// or was already retransmitted less than `holdoff` ago.
    pub fn repeat(&mut self, now: Timestamp, wrapped: u16, holdoff: TimeDelta) -> Option<(MediaPacket, TimeDelta)> {
        let newest = self.next.checked_sub(1)?;
        let seq = newest.checked_sub(u32::from((newest as u16).wrapping_sub(wrapped)))?;
        if seq < self.oldest {
            return None;
        }
        let burst = self.bursts.get(self.bursts.partition_point(|burst| end_of(burst) <= seq))?;
        let packet = burst.get(u16::try_from(seq.checked_sub(burst.first.rtp_seq)?).ok()?);
        let forgotten = self.repeated.partition_point(|&(repeated, _)| repeated < self.oldest);
        self.repeated.drain(..forgotten);
        match self.repeated.binary_search_by_key(&seq, |&(repeated, _)| repeated) {
            Ok(place) if now - self.repeated[place].1 < holdoff => return None,
            Ok(place) => self.repeated[place].1 = now,
            Err(place) => self.repeated.insert(place, (seq, now)),
        }
        let repair = MediaPacket {
            transport_seq: 0,
            enqueued: now,
            departure: now,
            ssrc: RTX_SSRC,
            size_bytes: packet.size_bytes + OSN_BYTES,
            kind: PacketKind::Retransmission,
            ecn: Ecn::NotEct,
            probe_cluster: None,
            ..packet
        };
        Some((repair, now - packet.departure))
    }
}

/// One past the last number of a burst.
#[inline]
fn end_of(burst: &Burst<MediaPacket>) -> u32 {
    burst.first.rtp_seq + u32::from(burst.packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_media::packet::VIDEO_SSRC;

    fn store(packets: u32) -> RtxStore {
        let mut store = RtxStore::default();
        for rtp_seq in 0..packets {
            store.push(&Burst::single(MediaPacket {
                transport_seq: 0,
                enqueued: Timestamp::ZERO,
                departure: Timestamp::ZERO,
                rtp_seq,
                rtx_seq: 0,
                ssrc: VIDEO_SSRC,
                frame: rtp_seq / 3,
                index: 0,
                count: 3,
                size_bytes: 1_000,
                payload_bytes: 900,
                kind: PacketKind::Video,
                ecn: Ecn::NotEct,
                probe_cluster: None,
            }));
        }
        store
    }

    #[test]
    fn a_packet_is_repeated_at_once_and_then_once_per_round_trip() {
        let mut store = store(10);
        let (now, rtt) = (Timestamp::from_millis(1), TimeDelta::from_millis(100));
        let (packet, age) = store.repeat(now, 7, rtt).unwrap();
        assert_eq!(age, TimeDelta::from_millis(1));
        assert_eq!((packet.rtp_seq, packet.frame, packet.size_bytes), (7, 2, 1_002));
        assert_eq!(store.repeat(now, 7, rtt), None);
        assert!(store.repeat(now + rtt, 7, rtt).is_some());
    }

    #[test]
    fn unsent_or_forgotten_packets_are_not_repeated() {
        let mut store = store(70_000);
        let now = Timestamp::from_secs(9);
        assert_eq!(store.repeat(now, 70_000u32 as u16, TimeDelta::ZERO), None);
        assert_eq!(store.repeat(now, (70_000u32 - 1 - MOST) as u16, TimeDelta::ZERO), None);
        let oldest = 70_000 - MOST;
        assert_eq!(store.repeat(now, oldest as u16, TimeDelta::ZERO).unwrap().0.rtp_seq, oldest);
        assert_eq!(RtxStore::default().repeat(now, 0, TimeDelta::ZERO), None);
    }
}
