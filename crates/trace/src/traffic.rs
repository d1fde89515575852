//! The records of competing TCP and UDP flows.

use legato_units::{DataSize, TimeDelta, Timestamp};

/// A cross-traffic flow's bytes over time and in total.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficFigures {
    /// The name in reports.
    pub name: String,
    /// `tcp-reno`, `udp`, …
    pub kind: &'static str,
    /// When it began, from the session's start …
    pub start_s: f64,
    /// … and when it ended.
    pub stop_s: f64,
    /// Data of the application that arrived, each byte once.
    pub goodput_bytes: u64,
    /// Packets that left.
    pub packets_sent: u64,
    /// Packets that arrived before the flow's end.
    pub packets_received: u64,
    /// Packets lost on the way.
    pub packets_lost: u64,
    /// Packets sent a second time; absent if the flow never retransmits.
    pub retransmissions: Option<u64>,
    sent_bytes: u64,
    received_bytes: u64,
    delay_sum_us: u64,
    delay_squares_us2: u128,
    bins: Vec<Bin>,
    start: Timestamp,
    stop: Timestamp,
}

/// The bins of the time series.
pub const TRAFFIC_INTERVAL: TimeDelta = TimeDelta::from_millis(100);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bin {
    sent_bytes: u64,
    received_bytes: u64,
    packets_lost: u32,
}

/// 100 ms of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficRow {
    /// On the wire, headers and repeats included.
    pub sending_rate_bps: f32,
    /// On the wire, at the sink.
    pub receiver_rate_bps: f32,
    /// Lost on the way.
    pub packets_lost: u32,
}

impl TrafficFigures {
    /// Nothing yet, for a flow that lives from `start` to `stop`.
    pub fn new(name: String, kind: &'static str, start: Timestamp, stop: Timestamp) -> Self {
        let bins = ((stop - start).as_nanos() - 1).max(0) / TRAFFIC_INTERVAL.as_nanos() + 1;
        Self {
            name,
            kind,
            start_s: start.as_secs_f64(),
            stop_s: stop.as_secs_f64(),
            goodput_bytes: 0,
            packets_sent: 0,
            packets_received: 0,
            packets_lost: 0,
            retransmissions: None,
            sent_bytes: 0,
            received_bytes: 0,
            delay_sum_us: 0,
            delay_squares_us2: 0,
            bins: vec![Bin::default(); bins as usize],
            start,
            stop,
        }
    }

    fn bin(&mut self, now: Timestamp) -> &mut Bin {
        let place = ((now - self.start).as_nanos().max(0) / TRAFFIC_INTERVAL.as_nanos()) as usize;
        let last = self.bins.len() - 1;
        &mut self.bins[place.min(last)]
    }

    /// A packet left.
    pub fn sent(&mut self, now: Timestamp, bytes: u64) {
        self.sent_bytes += bytes;
        self.packets_sent += 1;
        self.bin(now).sent_bytes += bytes;
    }

    /// A packet arrived that left at `departure`. Arrivals after the flow's end are not counted.
    pub fn received(&mut self, now: Timestamp, bytes: u64, departure: Timestamp) {
        if now >= self.stop {
            return;
        }
        self.received_bytes += bytes;
        self.packets_received += 1;
        let delay_us = ((now - departure).as_nanos() / 1_000) as u64;
        self.delay_sum_us += delay_us;
        self.delay_squares_us2 += u128::from(delay_us) * u128::from(delay_us);
        self.bin(now).received_bytes += bytes;
    }

    /// A packet was lost.
    pub fn lost(&mut self, now: Timestamp) {
        self.packets_lost += 1;
        self.bin(now).packets_lost += 1;
    }

    /// Count all arrived bytes as data: for flows whose packets are their data.
    pub fn all_is_data(&mut self) {
        self.goodput_bytes = self.received_bytes;
    }

    /// Mean one-way delay of arrived packets.
    pub fn one_way_delay_mean_ms(&self) -> Option<f64> {
        (self.packets_received > 0).then(|| self.delay_sum_us as f64 / 1e3 / self.packets_received as f64)
    }

    /// Standard deviation of the one-way delay of arrived packets.
    pub fn one_way_delay_std_ms(&self) -> Option<f64> {
        let count = u128::from(self.packets_received);
        let sum = u128::from(self.delay_sum_us);
        let spread = count * self.delay_squares_us2 - sum * sum;
        (count > 0).then(|| (spread as f64).sqrt() / 1e3 / self.packets_received as f64)
    }

    /// Bits that left, over the flow's life.
    pub fn sending_rate_bps(&self) -> f64 {
        self.mean(self.sent_bytes)
    }

    /// Bits that arrived, over the flow's life.
    pub fn receiver_rate_bps(&self) -> f64 {
        self.mean(self.received_bytes)
    }

    /// Bits of data that arrived, over the flow's life.
    pub fn goodput_bps(&self) -> f64 {
        self.mean(self.goodput_bytes)
    }

    fn mean(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / (self.stop - self.start).as_secs_f64()
    }

    /// Every 100 ms from the flow's start; the last may be shorter.
    pub fn bins(&self) -> impl Iterator<Item = TrafficRow> + '_ {
        self.bins.iter().enumerate().map(|(n, bin)| {
            let from = self.start + TRAFFIC_INTERVAL * n as i64;
            let length = TRAFFIC_INTERVAL.min(self.stop - from);
            let rate = |bytes: u64| (DataSize::from_bytes(bytes) / length).as_bps() as f32;
            TrafficRow {
                sending_rate_bps: rate(bin.sent_bytes),
                receiver_rate_bps: rate(bin.received_bytes),
                packets_lost: bin.packets_lost,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_fall_into_their_bins_and_late_ones_are_not_counted() {
        let ms = Timestamp::from_millis;
        let mut figures = TrafficFigures::new("udp 1".to_owned(), "udp", ms(1_000), ms(1_250));
        figures.sent(ms(1_000), 1_250);
        figures.sent(ms(1_240), 1_250);
        figures.received(ms(1_110), 1_250, ms(1_000));
        figures.received(ms(1_250), 1_250, ms(1_240));
        figures.lost(ms(1_249));
        let rows: Vec<_> = figures.bins().collect();
        let sent: Vec<_> = rows.iter().map(|row| row.sending_rate_bps).collect();
        // 10,000 bits in 100 ms; the last bin has 50.
        assert_eq!(sent, [100_000.0, 0.0, 200_000.0]);
        assert_eq!(rows[1].receiver_rate_bps, 100_000.0);
        assert_eq!((rows[2].packets_lost, figures.packets_received), (1, 1));
        assert_eq!((figures.one_way_delay_mean_ms(), figures.one_way_delay_std_ms()), (Some(110.0), Some(0.0)));
        assert_eq!(figures.receiver_rate_bps(), 40_000.0);
        figures.received(ms(1_240), 1_250, ms(1_100));
        // 110 and 140 ms.
        assert_eq!((figures.one_way_delay_mean_ms(), figures.one_way_delay_std_ms()), (Some(125.0), Some(15.0)));
    }
}
