//! Retransmission: packets that a NACK asks for, if they may be sent and come in time.

use crate::rtx_allowance::RtxAllowance;
use crate::rtx_store::RtxStore;
use legato_control::Decision;
use legato_media::packet::MediaPacket;
use legato_units::{Burst, TimeDelta, Timestamp};

/// Packets sent lately, and those to repeat.
pub(super) struct Repair {
    store: RtxStore,
    allowance: RtxAllowance,
    /// Retransmissions that are sent again behind the next frame.
    repeats: Vec<MediaPacket>,
    round_trip_time: TimeDelta,
}

/// Until a report gives it.
const INITIAL_ROUND_TRIP_TIME: TimeDelta = TimeDelta::from_millis(100);

impl Repair {
    /// Nothing has left.
    pub fn new() -> Self {
        let (store, allowance) = (RtxStore::default(), RtxAllowance::default());
        Self { store, allowance, repeats: Vec::new(), round_trip_time: INITIAL_ROUND_TRIP_TIME }
    }

    /// Packets of the video left.
    #[inline]
    pub fn sent(&mut self, burst: &Burst<MediaPacket>) {
        self.store.push(burst);
    }

    /// A report gave the round-trip time.
    pub fn learn(&mut self, round_trip_time: TimeDelta) {
        self.round_trip_time = round_trip_time;
    }

    /// The packets to send now for the numbers of a NACK.
    pub fn answer(
        &mut self,
        now: Timestamp,
        numbers: impl Iterator<Item = u16>,
        decision: &Decision,
    ) -> Vec<MediaPacket> {
        let mut answer = Vec::new();
        for number in numbers {
            // Repair that may not be sent now is requested again.
            if !self.allowance.permits(now, decision.target_bitrate) {
                break;
            }
            if let Some((packet, age)) = self.store.repeat(now, number, self.round_trip_time) {
                self.allowance.spend(u64::from(packet.size_bytes));
                answer.push(packet);
                if decision.sending.repair_deadline.is_some_and(|deadline| self.next_repair(age) > deadline) {
                    self.repeats.push(packet);
                }
            }
        }
        answer
    }

    /// When an answer to another request would come, for a packet that left so long ago: that takes a round trip and the
    /// way to the receiver.
    fn next_repair(&self, age: TimeDelta) -> TimeDelta {
        age + self.round_trip_time + self.round_trip_time / 2
    }

    /// The packets to send again behind a frame: what lost a packet has often lost its retransmission, too, a moment
    /// later. After a round trip the receiver has asked again.
    pub fn behind_frame(&mut self, now: Timestamp) -> impl Iterator<Item = MediaPacket> {
        let Self { allowance, repeats, round_trip_time, .. } = self;
        let round_trip_time = *round_trip_time;
        repeats.drain(..).filter(move |packet| now - packet.enqueued <= round_trip_time).map(move |packet| {
            allowance.spend(u64::from(packet.size_bytes));
            MediaPacket { enqueued: now, departure: now, ..packet }
        })
    }
}
