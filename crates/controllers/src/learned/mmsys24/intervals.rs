//! The 150 numbers of the challenge's estimators: 15 features, each over the latest five intervals of 60 ms and then
//! the latest five of 600 ms, the newest first.
//!
//! A long interval is ten short ones, so sums over short ones are all that is kept. Within a call the features are
//! those of [khairy2024]'s data set, which publishes names, order and definitions. The newest comes first, as the input
//! ranges of the networks show: only the first of each five is never empty.

use legato_control::{PacketKind, ReceivedPacket};
use legato_units::{TimeDelta, Timestamp};

/// The observations, in the order of the challenge. Rates are in Mbit/s and bytes in kB here, so that all values are
/// near one; the policies' first layer takes that into account.
pub const FEATURES: &[&str] = &[
    "receiver_rate",
    "packets",
    "bytes",
    "queuing_delay",
    "delay",
    "min_delay",
    "delay_ratio",
    "delay_above_min",
    "packet_interval",
    "packet_jitter",
    "loss_ratio",
    "loss_run",
    "video_share",
    "audio_share",
    "probing_share",
];
/// Values of a feature.
pub const WIDTH: usize = 2 * LATEST;
/// A short interval, and the time between two decisions.
pub const SHORT: TimeDelta = TimeDelta::from_millis(60);

// [khairy2024]: five of 60 ms and five of 600 ms.
const LATEST: usize = 5;
const SHORT_IN_LONG: usize = 10;
/// Closed short intervals that matter; the open one is the newest.
const CLOSED: usize = LATEST * SHORT_IN_LONG - 1;
/// The challenge's delays are given less this.
const OFFSET_MS: f64 = 200.0;
/// Ours: the delay of the fastest packet where no round trip has been measured. Clocks have an offset, so the delay
/// itself is unknown; half the minimum round trip replaces it as soon as there is one.
const FIRST_BASE_MS: f64 = 50.0;
/// A number that jumps further belongs to another stream.
const MAX_GAP: u64 = 1_000;

/// The sums of one interval. Delays are in ms after the first packet's.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u32,
    bytes: u64,
    delays: u32,
    delay_ms: f64,
    /// Of this interval.
    min_ms: Option<f64>,
    /// Of the call, at the end of this interval.
    min_seen_ms: Option<f64>,
    gaps: u32,
    gap_ms: f64,
    gap_squared: f64,
    lost: u32,
    losses: u32,
    video: u32,
    audio: u32,
    probing: u32,
}

/// All that an observation needs.
#[derive(Clone, Debug)]
pub struct Intervals {
    open: Sums,
    /// The newest first.
    closed: [Sums; CLOSED],
    /// The first packet's departure and arrival differ by this, the clocks' offset included.
    origin_ns: Option<i64>,
    last_arrival: Option<Timestamp>,
    highest_seq: Option<u64>,
    min_round_trip: Option<TimeDelta>,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            open: Sums::default(),
            closed: [Sums::default(); CLOSED],
            origin_ns: None,
            last_arrival: None,
            highest_seq: None,
            min_round_trip: None,
        }
    }
}

impl Intervals {
    /// Count a packet of the open interval.
    pub fn on_packet(&mut self, now: Timestamp, packet: &ReceivedPacket) {
        let open = &mut self.open;
        open.packets += 1;
        open.bytes += packet.size.as_bytes();
        match packet.kind {
            PacketKind::Audio => open.audio += 1,
            PacketKind::Padding => open.probing += 1,
            _ => open.video += 1,
        }
        if let Some(last) = self.last_arrival.replace(now) {
            let gap_ms = (now - last).as_secs_f64() * 1e3;
            open.gaps += 1;
            open.gap_ms += gap_ms;
            open.gap_squared += gap_ms * gap_ms;
        }
        if let Some(departure) = packet.departure {
            let raw_ns = now.as_nanos() - departure.as_nanos();
            let origin_ns = *self.origin_ns.get_or_insert(raw_ns);
            let delay_ms = (raw_ns - origin_ns) as f64 / 1e6;
            open.delays += 1;
            open.delay_ms += delay_ms;
            open.min_ms = lower(open.min_ms, delay_ms);
            open.min_seen_ms = lower(open.min_seen_ms, delay_ms);
        }
        match self.highest_seq {
            Some(highest) if packet.transport_seq > highest => {
                let missing = packet.transport_seq - highest - 1;
                if (1..MAX_GAP).contains(&missing) {
                    open.lost += missing as u32;
                    open.losses += 1;
                }
                self.highest_seq = Some(packet.transport_seq);
            }
            // It was counted as lost and is only late.
            Some(_) => open.lost = open.lost.saturating_sub(1),
            None => self.highest_seq = Some(packet.transport_seq),
        }
    }

    /// A round-trip time was measured.
    pub fn on_round_trip(&mut self, round_trip: TimeDelta) {
        if round_trip > TimeDelta::ZERO {
            self.min_round_trip = Some(self.min_round_trip.map_or(round_trip, |min| min.min(round_trip)));
        }
    }

    /// Delays of another path are not comparable.
    pub fn on_route_change(&mut self) {
        *self = Self { highest_seq: self.highest_seq, ..Self::default() };
    }

    /// The open interval is over.
    pub fn close(&mut self) {
        self.closed.copy_within(..CLOSED - 1, 1);
        let min_seen_ms = self.open.min_seen_ms;
        self.closed[0] = std::mem::replace(&mut self.open, Sums { min_seen_ms, ..Sums::default() });
    }

    /// The observation if the open interval ended now.
    pub fn write(&self, out: &mut [f32]) {
        let short = |age: usize| if age == 0 { self.open } else { self.closed[age - 1] };
        let base_ms = self.min_round_trip.map_or(FIRST_BASE_MS, |rtt| rtt.as_secs_f64() * 500.0);
        // The fastest packet of the call took `base_ms`.
        let to_ms = self.open.min_seen_ms.map_or(0.0, |min| base_ms - min);
        for at in 0..LATEST {
            let newest = at * SHORT_IN_LONG;
            let long = (newest + 1..newest + SHORT_IN_LONG).fold(short(newest), |sums, age| sums.and(&short(age)));
            let (short_s, long_s) = (SHORT.as_secs_f64(), (SHORT * SHORT_IN_LONG as i64).as_secs_f64());
            for (place, sums, length_s) in [(at, short(at), short_s), (LATEST + at, long, long_s)] {
                for (feature, value) in sums.features(length_s, to_ms).into_iter().enumerate() {
                    out[feature * WIDTH + place] = value as f32;
                }
            }
        }
    }
}

fn lower(min: Option<f64>, value: f64) -> Option<f64> {
    Some(min.map_or(value, |min| min.min(value)))
}

impl Sums {
    /// Together with those of an earlier interval.
    fn and(self, earlier: &Self) -> Self {
        Self {
            packets: self.packets + earlier.packets,
            bytes: self.bytes + earlier.bytes,
            delays: self.delays + earlier.delays,
            delay_ms: self.delay_ms + earlier.delay_ms,
            min_ms: earlier.min_ms.map_or(self.min_ms, |min| lower(self.min_ms, min)),
            min_seen_ms: self.min_seen_ms,
            gaps: self.gaps + earlier.gaps,
            gap_ms: self.gap_ms + earlier.gap_ms,
            gap_squared: self.gap_squared + earlier.gap_squared,
            lost: self.lost + earlier.lost,
            losses: self.losses + earlier.losses,
            video: self.video + earlier.video,
            audio: self.audio + earlier.audio,
            probing: self.probing + earlier.probing,
        }
    }

    /// The 15 numbers; `to_ms` turns delays after the first packet's into delays. An interval without packets has
    /// zeros, and the minimum seen before.
    fn features(&self, length_s: f64, to_ms: f64) -> [f64; 15] {
        let min_seen_ms = self.min_seen_ms.map_or(0.0, |min| min + to_ms);
        let mut features = [0.0; 15];
        features[5] = min_seen_ms;
        if self.packets == 0 {
            return features;
        }
        let share = |count: u32| f64::from(count) / f64::from(self.packets);
        let bytes = self.bytes as f64;
        features[0] = bytes * 8.0 / length_s / 1e6;
        features[1] = f64::from(self.packets);
        features[2] = bytes / 1e3;
        if let Some(min) = self.min_ms {
            let (delay_ms, min_ms) = (self.delay_ms / f64::from(self.delays) + to_ms, min + to_ms);
            features[3] = delay_ms - min_seen_ms;
            features[4] = delay_ms - OFFSET_MS;
            features[6] = if min_ms > 0.0 { delay_ms / min_ms } else { 1.0 };
            features[7] = delay_ms - min_ms;
        }
        if self.gaps > 0 {
            let mean_ms = self.gap_ms / f64::from(self.gaps);
            features[8] = mean_ms;
            features[9] = (self.gap_squared / f64::from(self.gaps) - mean_ms * mean_ms).max(0.0).sqrt();
        }
        features[10] = f64::from(self.lost) / f64::from(self.lost + self.packets);
        features[11] = if self.losses > 0 { f64::from(self.lost) / f64::from(self.losses) } else { 0.0 };
        features[12..].copy_from_slice(&[share(self.video), share(self.audio), share(self.probing)]);
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{DataSize, PeerTimestamp};

    fn packet(transport_seq: u64, departure_ms: i64, kind: PacketKind) -> ReceivedPacket {
        ReceivedPacket {
            transport_seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            kind,
            departure: Some(PeerTimestamp::from_nanos(departure_ms * 1_000_000)),
            ce: false,
        }
    }

    fn column(intervals: &Intervals, place: usize) -> Vec<f32> {
        let mut out = [f32::NAN; 150];
        intervals.write(&mut out);
        (0..15).map(|feature| out[feature * WIDTH + place]).collect()
    }

    const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

    /// [khairy2024]'s 15 features, worked by hand: three packets of 1,000 bytes in 60 ms are 0.4 Mbit/s. They take 30,
    /// 50 and 40 ms by clocks that differ. The fastest gets half the round trip of 40 ms, so they took 20, 40 and 30:
    /// mean 30, 10 above the minimum, 170 below the offset. Gaps of 20 and 10 ms: mean 15, deviation 5. Two of five
    /// packets were lost at one place.
    #[test]
    fn the_features_of_an_interval() {
        let mut intervals = Intervals::default();
        intervals.on_round_trip(TimeDelta::from_millis(90));
        intervals.on_round_trip(TimeDelta::from_millis(40));
        intervals.on_packet(MS(30), &packet(1, 0, PacketKind::Video));
        intervals.on_packet(MS(50), &packet(4, 0, PacketKind::Audio));
        intervals.on_packet(MS(60), &packet(5, 20, PacketKind::Padding));
        let third = 1.0 / 3.0;
        let expected = [0.4, 3.0, 3.0, 10.0, -170.0, 20.0, 1.5, 10.0, 15.0, 5.0, 0.4, 2.0, third, third, third];
        let near = |seen: Vec<f32>, expected: [f32; 15]| {
            assert!(seen.iter().zip(expected).all(|(seen, expected)| (seen - expected).abs() < 1e-5), "{seen:?}");
        };
        near(column(&intervals, 0), expected);
        // The long interval is ten times as long and has the same packets.
        let mut long = expected;
        long[0] = 0.04;
        near(column(&intervals, LATEST), long);
        // Next: one packet, 10 ms after the last; it came late and was counted as lost.
        intervals.close();
        intervals.on_packet(MS(70), &packet(3, 60, PacketKind::Video));
        near(column(&intervals, 1), {
            // The fastest packet now is this one, which took 10 ms less than the one that had 20 before.
            let mut before = expected;
            (before[4], before[5], before[6]) = (-150.0, 40.0, 1.25);
            before
        });
        let newest = column(&intervals, 0);
        assert_eq!(
            [newest[1], newest[3], newest[5], newest[8], newest[9], newest[10]],
            [1.0, 0.0, 20.0, 10.0, 0.0, 0.0]
        );
    }

    #[test]
    fn intervals_move_from_the_newest_to_the_oldest_and_out() {
        let mut intervals = Intervals::default();
        intervals.on_packet(MS(0), &packet(1, 0, PacketKind::Video));
        let mut seen = Vec::new();
        for _ in 0..=50 {
            let mut out = [0.0; 150];
            intervals.write(&mut out);
            seen.push((1..3).flat_map(|feature| out[feature * WIDTH..][..WIDTH].to_vec()).collect::<Vec<_>>());
            intervals.close();
        }
        let places: Vec<Vec<usize>> =
            seen.iter().map(|row| (0..WIDTH).filter(|place| row[*place] > 0.0).collect()).collect();
        assert_eq!([&places[0][..], &places[4], &places[5], &places[9]], [&[0, 5][..], &[4, 5], &[5], &[5]]);
        assert_eq!([&places[10][..], &places[49], &places[50]], [&[6][..], &[9], &[]]);
    }
}
