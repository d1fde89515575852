//! The input of HRCC's network: the last ten rows of 200 ms, six numbers each, stored feature by feature
//! as its convolution takes them.

use legato_control::ReceivedPacket;
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// Rows in the input.
pub const ROWS: usize = 10;
/// Numbers per row.
pub const FEATURES: usize = 6;
/// [hrcc] §"RL-Agent": the last 10 decision-making intervals; of 200 ms in the authors' public code.
pub const ROW: TimeDelta = TimeDelta::from_millis(200);

/// The closed rows, and the open one.
#[derive(Clone)]
pub struct Rows {
    seen: [[f32; ROWS]; FEATURES],
    open: Open,
    /// When the open one ends.
    end: Timestamp,
    min_delay_ns: Option<i64>,
    /// The last row's mean, for rows without packets.
    last_delay_ns: Option<i64>,
    highest_seq: Option<u64>,
    /// Rows since the last over-use.
    since_overuse: u16,
    /// The arrival count when queues last grew.
    overuse_rate: DataRate,
}

#[derive(Clone, Copy, Default)]
struct Open {
    bytes: u64,
    packets: u32,
    lost: u32,
    delay_sum_ns: i64,
    delays: u32,
    overused: bool,
}

impl Rows {
    /// The first row begins at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self {
            seen: [[0.0; ROWS]; FEATURES],
            open: Open::default(),
            end: start + ROW,
            min_delay_ns: None,
            last_delay_ns: None,
            highest_seq: None,
            since_overuse: FIRST_DISTANCE,
            overuse_rate: FIRST_OVERUSE_RATE,
        }
    }

    /// Delays of another path are not comparable.
    pub fn on_route_change(&mut self) {
        (self.min_delay_ns, self.last_delay_ns) = (None, None);
        (self.open.delay_sum_ns, self.open.delays) = (0, 0);
    }

    /// Count a packet of the open row; `overuses`: the heuristic detects growing queues.
    pub fn on_packet(&mut self, now: Timestamp, packet: &ReceivedPacket, overuses: bool) {
        let open = &mut self.open;
        open.bytes += packet.size.as_bytes();
        open.packets += 1;
        open.overused |= overuses;
        if let Some(departure) = packet.departure {
            let delay_ns = now.as_nanos() - departure.as_nanos();
            open.delay_sum_ns += delay_ns;
            open.delays += 1;
            self.min_delay_ns = Some(self.min_delay_ns.map_or(delay_ns, |min| min.min(delay_ns)));
        }
        // A gap counts as loss until the missing packet arrives late.
        match self.highest_seq {
            Some(highest) if packet.transport_seq > highest => {
                let missing = packet.transport_seq - highest - 1;
                open.lost = open.lost.saturating_add(missing.min(MAX_GAP) as u32);
                self.highest_seq = Some(packet.transport_seq);
            }
            Some(_) => open.lost = open.lost.saturating_sub(1),
            None => self.highest_seq = Some(packet.transport_seq),
        }
    }

    /// Close every row that has ended by `now`; `estimate` is the bandwidth in force.
    pub fn close_until(&mut self, now: Timestamp, estimate: DataRate) {
        // More than the input holds would only push zeros through.
        let mut left = ROWS;
        while now >= self.end && left > 0 {
            self.close(estimate);
            self.end += ROW;
            left -= 1;
        }
        if now >= self.end {
            self.end += ROW * ((now - self.end).as_nanos() / ROW.as_nanos() + 1);
        }
    }

    fn close(&mut self, estimate: DataRate) {
        let open = std::mem::take(&mut self.open);
        let rate = DataSize::from_bytes(open.bytes) / ROW;
        if open.delays > 0 {
            self.last_delay_ns = Some(open.delay_sum_ns / i64::from(open.delays));
        }
        let delay_ns = self.last_delay_ns.zip(self.min_delay_ns).map_or(0, |(mean, min)| mean - min);
        if open.overused {
            (self.since_overuse, self.overuse_rate) = (0, rate);
        } else {
            self.since_overuse = self.since_overuse.saturating_add(1);
        }
        let reported = open.packets + open.lost;
        let share = |rate: DataRate| (rate.as_bps_f64() / FULL_RATE_BPS) as f32;
        // The scales are those of [hrcc]'s public code: 6 Mbit/s, a second, a ratio, a hundred rows.
        let row = [
            share(rate),
            ((delay_ns as f64 * 1e-9) as f32).min(5.0),
            if reported == 0 { 0.0 } else { open.lost as f32 / reported as f32 },
            share(estimate),
            f32::from(self.since_overuse.min(MAX_DISTANCE)) / 100.0,
            share(self.overuse_rate),
        ];
        for (numbers, newest) in self.seen.iter_mut().zip(row) {
            numbers.copy_within(1.., 0);
            numbers[ROWS - 1] = newest;
        }
    }

    /// All numbers, the oldest row's first, feature by feature.
    pub fn write(&self, out: &mut [f32]) {
        out.copy_from_slice(self.seen.as_flattened());
    }
}

/// [hrcc]'s public code divides rates by this.
const FULL_RATE_BPS: f64 = 6e6;
/// The initial value of [hrcc]'s public code.
const FIRST_DISTANCE: u16 = 5;
const FIRST_OVERUSE_RATE: DataRate = DataRate::from_mbps(1);
/// Ours: beyond a minute the exact time does not matter, so the number stays about one.
const MAX_DISTANCE: u16 = 300;
/// A number that jumps further belongs to another stream.
const MAX_GAP: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::PacketKind;
    use legato_units::PeerTimestamp;

    fn packet(transport_seq: u64, departure_ms: i64) -> ReceivedPacket {
        ReceivedPacket {
            transport_seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_250),
            kind: PacketKind::Video,
            departure: Some(PeerTimestamp::from_nanos(departure_ms * 1_000_000)),
            ce: false,
        }
    }

    fn newest(rows: &Rows) -> [f32; FEATURES] {
        let mut out = [0.0; ROWS * FEATURES];
        rows.write(&mut out);
        std::array::from_fn(|feature| out[feature * ROWS + ROWS - 1])
    }

    const ESTIMATE: DataRate = DataRate::from_kbps(600);
    const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

    /// The six numbers that [hrcc] lists, worked by hand.
    #[test]
    fn a_row_has_rate_delay_loss_estimate_and_the_last_overuse() {
        let mut rows = Rows::new(MS(0));
        rows.on_packet(MS(30), &packet(1, 0), false);
        rows.on_packet(MS(90), &packet(4, 50), false);
        rows.on_packet(MS(120), &packet(3, 50), false);
        rows.close_until(MS(199), ESTIMATE);
        assert_eq!(newest(&rows), [0.0; FEATURES]);
        rows.close_until(MS(200), ESTIMATE);
        // 3,750 bytes in 0.2 s are 150 kbit/s; 30, 40 and 70 ms minus 30; one of four lost; six rows without over-use.
        let seen = newest(&rows);
        assert!((seen[1] - 0.016_666_7).abs() < 1e-6, "{seen:?}");
        assert_eq!([seen[0], seen[2], seen[3], seen[4], seen[5]], [0.025, 0.25, 0.1, 0.06, 1.0 / 6.0]);

        rows.on_packet(MS(230), &packet(5, 200), true);
        rows.close_until(MS(400), ESTIMATE);
        assert_eq!(newest(&rows)[4..], [0.0, (50_000.0 / 6e6) as f32]);
        // No packets: the delay stays.
        rows.close_until(MS(600), ESTIMATE);
        assert_eq!(newest(&rows), [0.0, 0.0, 0.0, 0.1, 0.01, (50_000.0 / 6e6) as f32]);
    }

    #[test]
    fn numbers_are_stored_feature_by_feature_with_the_newest_row_last() {
        let mut rows = Rows::new(MS(0));
        for turn in 1..=3 {
            rows.close_until(MS(200 * turn), DataRate::from_kbps(600 * turn as u64));
        }
        let mut out = [0.0; ROWS * FEATURES];
        rows.write(&mut out);
        assert_eq!(out[3 * ROWS + 6..4 * ROWS], [0.0, 0.1, 0.2, 0.3]);
    }

    #[test]
    fn a_long_pause_closes_all_rows_and_continues_in_step() {
        let mut rows = Rows::new(MS(0));
        rows.close_until(MS(3_600_050), ESTIMATE);
        assert_eq!(rows.end, MS(3_600_200));
        rows.on_route_change();
        assert_eq!(rows.last_delay_ns, None);
    }
}
