//! Reports of the packets of frames, for tests here and in `legato-controllers`.

use legato_control::{Fate, FramePlace, PacketKind, PacketReport};
use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};

/// A packet of 1,000 bytes at a place (frame, index, packets); it arrives by a clock that is an hour ahead.
pub fn report(place: (u32, u16, u16), departure: TimeDelta, arrival: Option<TimeDelta>) -> PacketReport {
    let (frame, index, packets) = place;
    let arrived = |at: TimeDelta| Fate::Arrived(Some(PeerTimestamp::from_nanos(3_600_000_000_000 + at.as_nanos())));
    PacketReport {
        transport_seq: u64::from(frame) * 100 + u64::from(index),
        ssrc: 1,
        size: DataSize::from_bytes(1_000),
        departure: Timestamp::ZERO + departure,
        fate: arrival.map_or(Fate::Missing, arrived),
        ce: false,
        kind: PacketKind::Video,
        probe_cluster: None,
        place: Some(FramePlace { frame, index, packets }),
    }
}
