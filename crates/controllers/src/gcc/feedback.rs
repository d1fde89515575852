//! A feedback with the sums of one walk over its reports, for all estimators.

use legato_control::{PacketReports, ReportRun, RunFate};
use legato_units::{PeerTimestamp, Timestamp};

/// Reports and sums over them.
#[derive(Clone, Debug)]
pub struct Feedback<'a> {
    /// In send order.
    pub reports: &'a PacketReports,
    /// All bytes reported on.
    pub bytes: u64,
    /// Packets that did not arrive.
    pub lost: u64,
    /// Over all packets.
    pub first_departure: Timestamp,
    /// Over all packets.
    pub last_departure: Timestamp,
    /// Over the packets whose arrival time is reported, if there are any.
    pub arrivals: Option<Arrivals>,
}

/// Over the packets whose arrival time is reported.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    /// They arrived in the order they left.
    pub in_order: bool,
    /// The earliest departure among them.
    pub first_departure: Timestamp,
    /// The latest arrival.
    pub last: PeerTimestamp,
    /// Minimum of arrival minus departure in nanoseconds. The clocks differ, so only its sum with a
    /// departure minus an arrival is meaningful.
    pub min_transit_ns: i64,
}

impl<'a> Feedback<'a> {
    /// Walk over `reports`.
    pub fn of(reports: &'a PacketReports) -> Self {
        let (mut bytes, mut lost, mut in_order) = (0_u64, 0, true);
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        let (mut arrived_first, mut last_arrival, mut min_transit_ns) = (i64::MAX, i64::MIN, i64::MAX);
        for ReportRun { burst, fate, .. } in reports.runs() {
            let departure = burst.first.departure.as_nanos();
            (first, last) = (first.min(departure), last.max(departure));
            bytes = bytes.wrapping_add(burst.bytes());
            match fate {
                RunFate::Missing => lost += u64::from(burst.packets),
                RunFate::ArrivedUntimed => {}
                RunFate::Arrived(times) => {
                    let mut earliest = i64::MAX;
                    for arrival in times.iter().map(|at| at.as_nanos()) {
                        in_order &= arrival >= last_arrival;
                        last_arrival = last_arrival.max(arrival);
                        earliest = earliest.min(arrival);
                    }
                    arrived_first = arrived_first.min(departure);
                    min_transit_ns = min_transit_ns.min(earliest.wrapping_sub(departure));
                }
            }
        }
        let arrivals = Arrivals {
            in_order,
            first_departure: Timestamp::from_nanos(arrived_first),
            last: PeerTimestamp::from_nanos(last_arrival),
            min_transit_ns,
        };
        Self {
            reports,
            bytes,
            lost,
            first_departure: Timestamp::from_nanos(first),
            last_departure: Timestamp::from_nanos(last),
            arrivals: (arrived_first < i64::MAX).then_some(arrivals),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Fate, PacketKind, PacketReport};
    use legato_units::DataSize;

    fn report(departure_ms: i64, fate: Fate) -> PacketReport {
        let departure = Timestamp::from_millis(departure_ms);
        let (size, kind) = (DataSize::from_bytes(100), PacketKind::Video);
        PacketReport {
            transport_seq: 0,
            ssrc: 0,
            size,
            departure,
            fate,
            ce: false,
            kind,
            probe_cluster: None,
            place: None,
        }
    }

    #[test]
    fn sums_distinguish_lost_packets_from_those_of_unknown_arrival() {
        let arrived = |ms: i64| Fate::Arrived(Some(PeerTimestamp::from_nanos(ms * 1_000_000)));
        let reports = [
            report(10, Fate::Missing),
            report(20, arrived(95)),
            report(30, arrived(90)),
            report(40, Fate::Arrived(None)),
        ];
        let all = PacketReports::from_iter(reports);
        let feedback = Feedback::of(&all);
        assert_eq!((feedback.bytes, feedback.lost), (400, 1));
        assert_eq!(feedback.first_departure, Timestamp::from_millis(10));
        assert_eq!(feedback.last_departure, Timestamp::from_millis(40));
        let arrivals = feedback.arrivals.unwrap();
        assert!(!arrivals.in_order);
        assert_eq!(arrivals.first_departure, Timestamp::from_millis(20));
        assert_eq!(arrivals.last.as_nanos(), 95_000_000);
        assert_eq!(arrivals.min_transit_ns, 60_000_000);
        assert!(Feedback::of(&PacketReports::from_iter([reports[0]])).arrivals.is_none());
    }
}
