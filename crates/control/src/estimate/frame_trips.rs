//! The trip of each frame: the reports of its packets put together, for controllers that measure the path by frames. A
//! frame is over when the report of a later one comes, or when all its packets have been reported as received. A late
//! packet is no loss as long as no packet of a later frame was reported before it.

use crate::{PacketKind, PacketReport};
use legato_units::{PeerTimestamp, TimeDelta, Timestamp};

/// The packets of a frame, without parity and retransmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTrip {
    /// The sender's count of frames.
    pub frame: u32,
    /// The number of its packets.
    pub packets: u16,
    /// How many of them arrived, and how many of those with a mark.
    pub arrived: u16,
    /// See `arrived`.
    pub marked: u16,
    /// How many are missing.
    pub lost: u16,
    /// Bytes that arrived, headers included.
    pub bytes: u64,
    /// Bytes of the first packet and the last that arrived.
    pub first_bytes: u64,
    /// See `first_bytes`.
    pub last_bytes: u64,
    /// When its first packet left, and its last.
    pub first_departure: Timestamp,
    /// See `first_departure`.
    pub last_departure: Timestamp,
    /// When its first packet to arrive came, and its last.
    pub first_arrival: Option<PeerTimestamp>,
    /// See `first_arrival`.
    pub last_arrival: Option<PeerTimestamp>,
}

impl FrameTrip {
    fn of(report: &PacketReport, frame: u32, packets: u16) -> Self {
        Self {
            frame,
            packets,
            arrived: 0,
            marked: 0,
            lost: 0,
            bytes: 0,
            first_bytes: 0,
            last_bytes: 0,
            first_departure: report.departure,
            last_departure: report.departure,
            first_arrival: None,
            last_arrival: None,
        }
    }

    fn add(&mut self, report: &PacketReport) {
        self.first_departure = self.first_departure.min(report.departure);
        self.last_departure = self.last_departure.max(report.departure);
        let Some(arrival) = report.arrival() else {
            self.lost += u16::from(!report.arrived());
            return;
        };
        let bytes = report.size.as_bytes();
        self.arrived += 1;
        self.marked += u16::from(report.ce);
        self.bytes += bytes;
        if self.first_arrival.is_none_or(|first| arrival < first) {
            (self.first_arrival, self.first_bytes) = (Some(arrival), bytes);
        }
        if self.last_arrival.is_none_or(|last| arrival >= last) {
            (self.last_arrival, self.last_bytes) = (Some(arrival), bytes);
        }
    }

    /// From its first departure to its last.
    pub fn send_time(&self) -> TimeDelta {
        self.last_departure - self.first_departure
    }

    /// From its first arrival to its last.
    pub fn receive_time(&self) -> Option<TimeDelta> {
        Some(self.last_arrival? - self.first_arrival?)
    }
}

/// Collects reports in the order of departures.
#[derive(Clone, Debug, Default)]
pub struct FrameTrips {
    open: Option<FrameTrip>,
    /// The frame that is open, or was last.
    newest: Option<u32>,
}

impl FrameTrips {
    /// Take a report; returns the frame that it ends.
    pub fn on_report(&mut self, report: &PacketReport) -> Option<FrameTrip> {
        let place = report.place.filter(|_| report.kind == PacketKind::Video)?;
        let ahead = self.newest.map_or(1, |newest| place.frame.wrapping_sub(newest).cast_signed());
        if ahead < 0 || (ahead == 0 && self.open.is_none()) {
            // A later report on a frame that is over.
            return None;
        }
        let mut ended = None;
        match &mut self.open {
            Some(open) if ahead == 0 => open.add(report),
            open => {
                let mut next = FrameTrip::of(report, place.frame, place.packets);
                next.add(report);
                ended = open.replace(next);
                self.newest = Some(place.frame);
            }
        }
        // Two frames cannot end at one report: the second of them, a lone packet, waits for the next.
        ended.or_else(|| self.open.take_if(|open| open.arrived >= open.packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::frame_reports::report;

    const MS: fn(i64) -> TimeDelta = TimeDelta::from_millis;

    #[test]
    fn a_frame_is_over_when_all_of_it_arrived_or_a_later_one_is_reported() {
        let mut trips = FrameTrips::default();
        assert_eq!(trips.on_report(&report((7, 0, 2), MS(0), Some(MS(30)))), None);
        let trip = trips.on_report(&report((7, 1, 2), MS(4), Some(MS(42)))).unwrap();
        assert_eq!([trip.packets, trip.arrived, trip.lost], [2, 2, 0]);
        assert_eq!((trip.bytes, trip.send_time(), trip.receive_time()), (2_000, MS(4), Some(MS(12))));
        // The second of three is lost: known when frame 9 comes.
        for (index, arrival) in [(0, Some(MS(80))), (1, None), (2, Some(MS(95)))] {
            assert_eq!(trips.on_report(&report((8, index, 3), MS(50), arrival)), None);
        }
        let trip = trips.on_report(&report((9, 0, 2), MS(90), Some(MS(130)))).unwrap();
        assert_eq!([trip.frame, trip.arrived.into(), trip.lost.into()], [8, 2, 1]);
        assert_eq!(trip.receive_time(), Some(MS(15)));
        // It arrived after all, too late to count.
        assert_eq!(trips.on_report(&report((8, 1, 3), MS(50), Some(MS(120)))), None);
    }

    #[test]
    fn a_lone_packet_is_a_frame_and_parity_is_none() {
        let mut trips = FrameTrips::default();
        let parity = PacketReport { kind: PacketKind::Fec, ..report((1, 1, 1), MS(0), Some(MS(5))) };
        assert_eq!(trips.on_report(&parity), None);
        let trip = trips.on_report(&report((1, 0, 1), MS(0), Some(MS(5)))).unwrap();
        assert_eq!((trip.receive_time(), trip.first_bytes), (Some(MS(0)), 1_000));
        let unplaced = PacketReport { place: None, ..report((2, 0, 1), MS(0), Some(MS(5))) };
        assert_eq!(trips.on_report(&unplaced), None);
    }
}
