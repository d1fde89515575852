//! A feedback with the sums of one walk over its reports, for all estimators.

use crate::{Fate, PacketReport};
use legato_units::{PeerTimestamp, Timestamp};

/// Reports and sums over them.
#[derive(Clone, Debug)]
pub struct Feedback<'a> {
    /// In send order.
    pub reports: &'a [PacketReport],
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

/// Consecutive reports whose packets left at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of packets.
    pub packets: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// All arrived, at known times, and none belongs to a probe.
    pub plain: bool,
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
    pub fn of(reports: &'a [PacketReport]) -> Self {
        Self::by_runs(reports, &mut Vec::new())
    }

    /// Walk over `reports`; `runs` receives the packets that left together.
    #[inline]
    pub fn by_runs(reports: &'a [PacketReport], runs: &mut Vec<Run>) -> Self {
        runs.clear();
        // Plain integers: this loop runs over every packet of the call.
        let (mut bytes, mut lost, mut in_order) = (0_u64, 0, true);
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        let (mut arrived_first, mut last_arrival, mut min_transit_ns) = (i64::MAX, i64::MIN, i64::MAX);
        let mut rest = reports;
        while let Some(head) = rest.first() {
            let departure = head.departure;
            let mut run = Run { packets: 0, bytes: 0, plain: true };
            let mut earliest = None;
            for report in rest.iter().take_while(|report| report.departure == departure) {
                run.packets += 1;
                run.bytes = run.bytes.wrapping_add(report.size.as_bytes());
                run.plain &= report.probe_cluster.is_none();
                let Fate::Arrived(Some(arrival)) = report.fate else {
                    run.plain = false;
                    lost += u64::from(report.fate == Fate::Missing);
                    continue;
                };
                let arrival = arrival.as_nanos();
                if arrival < last_arrival {
                    in_order = false;
                    earliest = earliest.map(|earliest: i64| earliest.min(arrival)).or(Some(arrival));
                } else {
                    last_arrival = arrival;
                    earliest = earliest.or(Some(arrival));
                }
            }
            let departure = departure.as_nanos();
            (first, last) = (first.min(departure), last.max(departure));
            if let Some(earliest) = earliest {
                arrived_first = arrived_first.min(departure);
                min_transit_ns = min_transit_ns.min(earliest.wrapping_sub(departure));
            }
            bytes = bytes.wrapping_add(run.bytes);
            rest = &rest[run.packets..];
            runs.push(run);
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
    use crate::PacketKind;
    use legato_units::DataSize;

    fn report(departure_ms: i64, fate: Fate) -> PacketReport {
        let departure = Timestamp::from_millis(departure_ms);
        let (size, kind) = (DataSize::from_bytes(100), PacketKind::Video);
        PacketReport { transport_seq: 0, ssrc: 0, size, departure, fate, ce: false, kind, probe_cluster: None }
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
        let feedback = Feedback::of(&reports);
        assert_eq!((feedback.bytes, feedback.lost), (400, 1));
        assert_eq!(feedback.first_departure, Timestamp::from_millis(10));
        assert_eq!(feedback.last_departure, Timestamp::from_millis(40));
        let arrivals = feedback.arrivals.unwrap();
        assert!(!arrivals.in_order);
        assert_eq!(arrivals.first_departure, Timestamp::from_millis(20));
        assert_eq!(arrivals.last.as_nanos(), 95_000_000);
        assert_eq!(arrivals.min_transit_ns, 60_000_000);
        assert!(Feedback::of(&reports[..1]).arrivals.is_none());
    }

    #[test]
    fn packets_that_left_together_and_arrived_are_a_plain_run() {
        let arrived = |ms: i64| Fate::Arrived(Some(PeerTimestamp::from_nanos(ms * 1_000_000)));
        let probe = PacketReport { probe_cluster: Some(1), ..report(30, arrived(60)) };
        let reports = [
            report(10, arrived(40)),
            report(10, arrived(41)),
            report(20, arrived(50)),
            report(20, Fate::Missing),
            probe,
        ];
        let mut runs = Vec::new();
        Feedback::by_runs(&reports, &mut runs);
        let run = |packets: usize, plain| Run { packets, bytes: 100 * packets as u64, plain };
        assert_eq!(runs, [run(2, true), run(2, false), run(1, false)]);
    }
}
