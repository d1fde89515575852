//! What a probe measured: the rate at which a cluster's packets arrived, compared with the rate at
//! which they left. libwebrtc's `ProbeBitrateEstimator` [libwebrtc-m150].

use legato_control::{PacketReport, ProbeCluster};
use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Requested clusters and their reports.
#[derive(Clone, Debug, Default)]
pub struct ProbeEstimator {
    issued: VecDeque<Issued>,
    clusters: Vec<Cluster>,
    estimate: Option<DataRate>,
}

#[derive(Clone, Copy, Debug)]
struct Issued {
    id: u32,
    min_packets: u32,
    min_size: DataSize,
}

#[derive(Clone, Copy, Debug)]
struct Cluster {
    id: u32,
    packets: u32,
    size: DataSize,
    first_departure: Timestamp,
    last_departure: Timestamp,
    first_arrival: PeerTimestamp,
    last_arrival: PeerTimestamp,
    last_sent_size: DataSize,
    first_received_size: DataSize,
}

impl ProbeEstimator {
    /// A cluster will be sent; its reports count from here on.
    pub fn on_issued(&mut self, cluster: &ProbeCluster) {
        if self.issued.len() == MAX_ISSUED {
            self.issued.pop_front();
        }
        let min_size = cluster.target_rate * cluster.min_duration;
        self.issued.push_back(Issued { id: cluster.id, min_packets: cluster.min_packets, min_size });
    }

    /// A packet of a cluster arrived.
    pub fn on_packet(&mut self, report: &PacketReport) {
        let (Some(id), Some(arrival)) = (report.probe_cluster, report.arrival()) else { return };
        let Some(&issued) = self.issued.iter().find(|issued| issued.id == id) else { return };
        self.clusters.retain(|cluster| arrival - cluster.last_arrival <= HISTORY);
        let size = report.size;
        let found = self.clusters.iter().position(|cluster| cluster.id == id);
        let index = found.unwrap_or_else(|| {
            self.clusters.push(Cluster {
                id,
                packets: 0,
                size: DataSize::ZERO,
                first_departure: report.departure,
                last_departure: report.departure,
                first_arrival: arrival,
                last_arrival: arrival,
                last_sent_size: size,
                first_received_size: size,
            });
            self.clusters.len() - 1
        });
        let cluster = &mut self.clusters[index];
        cluster.first_departure = cluster.first_departure.min(report.departure);
        if report.departure > cluster.last_departure {
            cluster.last_departure = report.departure;
            cluster.last_sent_size = size;
        }
        if arrival < cluster.first_arrival {
            cluster.first_arrival = arrival;
            cluster.first_received_size = size;
        }
        cluster.last_arrival = cluster.last_arrival.max(arrival);
        cluster.size = DataSize::from_bytes(cluster.size.as_bytes().saturating_add(size.as_bytes()));
        cluster.packets += 1;
        if let Some(rate) = cluster.rate(issued) {
            self.estimate = Some(rate);
        }
    }

    /// The latest measurement since the last call.
    #[inline]
    pub fn take(&mut self) -> Option<DataRate> {
        self.estimate.take()
    }
}

impl Cluster {
    fn rate(&self, issued: Issued) -> Option<DataRate> {
        let min_packets = (f64::from(issued.min_packets) * MIN_RECEIVED_RATIO) as u32;
        let min_bytes = issued.min_size.as_bytes_f64() * MIN_RECEIVED_RATIO;
        if self.packets < min_packets || self.size.as_bytes_f64() < min_bytes {
            return None;
        }
        let sent_in = self.last_departure - self.first_departure;
        let received_in = self.last_arrival - self.first_arrival;
        let valid = |span| TimeDelta::ZERO < span && span <= MAX_SPAN;
        if !valid(sent_in) || !valid(received_in) {
            return None;
        }
        // The span excludes the time to send the last packet and to receive the first.
        let sent = self.size.saturating_sub(self.last_sent_size) / sent_in;
        let received = self.size.saturating_sub(self.first_received_size) / received_in;
        if received > sent.scale(MAX_RATIO) {
            // Faster than it left: the packets were held somewhere and released at once.
            return None;
        }
        if received < sent.scale(UNSATURATED_RATIO) {
            // This is the capacity itself: stay a little below.
            return Some(received.scale(TARGET_UTILISATION));
        }
        Some(sent.min(received))
    }
}

// [libwebrtc-m150] probe_bitrate_estimator.
const MIN_RECEIVED_RATIO: f64 = 0.8;
const MAX_RATIO: f64 = 2.0;
const UNSATURATED_RATIO: f64 = 0.9;
const TARGET_UTILISATION: f64 = 0.95;
const HISTORY: TimeDelta = TimeDelta::from_secs(1);
const MAX_SPAN: TimeDelta = TimeDelta::from_secs(1);
/// More clusters than can be in flight at a time.
const MAX_ISSUED: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Fate, PacketKind};

    /// Clusters 0 and 1 want 5 packets and 4,000 bytes.
    fn estimator() -> ProbeEstimator {
        let mut estimator = ProbeEstimator::default();
        for id in 0..2 {
            estimator.on_issued(&ProbeCluster {
                id,
                target_rate: DataRate::from_kbps(800),
                min_duration: TimeDelta::from_millis(40),
                min_packets: 5,
                min_delta: TimeDelta::from_millis(2),
            });
        }
        estimator
    }

    fn feed(estimator: &mut ProbeEstimator, id: u32, bytes: u64, sent_ms: i64, arrived_ms: i64) -> Option<u64> {
        estimator.on_packet(&PacketReport {
            transport_seq: 0,
            ssrc: 0,
            size: DataSize::from_bytes(bytes),
            departure: Timestamp::from_millis(sent_ms),
            fate: Fate::Arrived(Some(PeerTimestamp::from_nanos(arrived_ms * 1_000_000))),
            ce: false,
            kind: PacketKind::Padding,
            probe_cluster: Some(id),
            place: None,
        });
        estimator.take().map(|rate| rate.as_bps())
    }

    /// Thousand-byte packets that leave every 10 ms and arrive at these times.
    fn measured(arrivals_ms: [i64; 4]) -> Option<u64> {
        let mut estimator = estimator();
        let rates = arrivals_ms.iter().enumerate().map(|(n, &ms)| feed(&mut estimator, 0, 1_000, n as i64 * 10, ms));
        rates.last().flatten()
    }

    #[test]
    fn an_unsaturated_path_gives_the_sending_rate() {
        assert_eq!(measured([10, 20, 30, 40]), Some(800_000));
        // A little faster than sent is still the sending rate.
        assert_eq!(measured([15, 30, 35, 40]), Some(800_000));
    }

    #[test]
    fn a_saturated_path_gives_95_percent_of_the_receiver_rate() {
        // 3,000 bytes in 75 ms are 320 kbit/s.
        assert_eq!(measured([10, 40, 70, 85]), Some(304_000));
    }

    #[test]
    fn arrivals_more_than_twice_as_fast_are_refused() {
        assert_eq!(measured([19, 22, 25, 27]), None);
        assert_eq!(measured([50, 50, 50, 50]), None);
    }

    #[test]
    fn too_few_packets_or_bytes_measure_nothing() {
        let mut few = estimator();
        for n in 0..3 {
            assert_eq!(feed(&mut few, 0, 2_000, n * 10, n * 10), None);
        }
        let mut small = estimator();
        for n in 0..6 {
            assert_eq!(feed(&mut small, 0, 500, n * 10, n * 10), None, "{n}: 80 % of 4,000 bytes are missing");
        }
    }

    #[test]
    fn later_packets_refine_the_measurement() {
        let mut estimator = estimator();
        for n in 0..3 {
            feed(&mut estimator, 0, 1_000, n * 10, 10 + n * 20);
        }
        // 0..30 ms and 10..60 ms: 3,000 bytes in 50 ms, 480 kbit/s.
        assert_eq!(feed(&mut estimator, 0, 1_000, 30, 60), Some(456_000));
        // 4,000 bytes in 50 ms.
        assert_eq!(feed(&mut estimator, 0, 1_000, 40, 60), Some(608_000));
    }

    #[test]
    fn the_last_sent_and_the_first_received_sizes_do_not_count() {
        let mut estimator = estimator();
        feed(&mut estimator, 0, 400, 0, 10);
        feed(&mut estimator, 0, 1_000, 10, 20);
        feed(&mut estimator, 0, 1_000, 20, 30);
        feed(&mut estimator, 0, 1_000, 30, 40);
        // 3,400 bytes sent and 4,500 received in 40 ms: 680 and 900 kbit/s.
        assert_eq!(feed(&mut estimator, 0, 1_500, 40, 50), Some(680_000));
    }

    #[test]
    fn clusters_do_not_mix_and_older_than_a_second_are_forgotten() {
        let mut both = estimator();
        for n in 0..4 {
            feed(&mut both, 1, 1_000, 500 + n * 5, 600 + n * 5);
            let rate = feed(&mut both, 0, 1_000, n * 10, 600 + n * 10);
            assert_eq!(rate, (n == 3).then_some(800_000));
        }
        let mut old = estimator();
        for n in 0..3 {
            feed(&mut old, 0, 1_000, n * 10, n * 10);
        }
        feed(&mut old, 1, 1_000, 1_100, 1_100);
        assert_eq!(feed(&mut old, 0, 1_000, 30, 1_101), None, "counted from one again");
    }

    #[test]
    fn an_unrequested_cluster_is_ignored() {
        let mut estimator = estimator();
        assert_eq!(feed(&mut estimator, 77, 1_000, 0, 0), None);
        assert!(estimator.clusters.is_empty());
    }
}
