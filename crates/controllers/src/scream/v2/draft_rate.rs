//! The target and the pacing rate of the draft: what the window carries in a round trip, minus some headroom,
//! minus the recent oversize and waiting time of frames. [draft-johansson-ccwg-rfc8298bis-screamv2] §4.3.2
//! and §4.4.

use super::draft_window::MSS_BYTES;
use legato_units::{DataSize, TimeDelta, Timestamp};

/// rate_adjust_factor and frame_size_dev.
#[derive(Clone, Copy, Debug)]
pub struct FrameWatch {
    rate_adjust: f64,
    size_deviation: f64,
    period_s: f64,
    picture: Option<Timestamp>,
}

impl Default for FrameWatch {
    fn default() -> Self {
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4: frame_period (0.02).
        Self { rate_adjust: 0.0, size_deviation: 0.0, period_s: 0.02, picture: None }
    }
}

impl FrameWatch {
    /// A picture was taken while the oldest frame before the pacer had waited for `queued`.
    pub fn picture(&mut self, now: Timestamp, queued: TimeDelta) {
        if let Some(previous) = self.picture.replace(now) {
            let period_s = (now - previous).as_secs_f64().clamp(0.005, 0.2);
            // The draft leaves the estimate of the period open; an eighth of the latest.
            self.period_s += (period_s - self.period_s) / 8.0;
        }
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4: error = (media_qdelay - frame_period / 4) /
        // frame_period; rate_adjust_factor += error × RATE_ADJUST_GAIN, within [0, 0.5].
        let error = (queued.as_secs_f64() - self.period_s / 4.0) / self.period_s;
        self.rate_adjust = (self.rate_adjust + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
    }

    /// A frame was coded.
    pub fn coded(&mut self, size: DataSize, target_bps: f64) {
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4: nominal = target × frame_period / 8;
        // frame_size_dev = average of max(0, (size - nominal) / nominal), at most 0.2.
        let nominal = target_bps * self.period_s / 8.0;
        let deviation = ((size.as_bytes_f64() - nominal) / nominal.max(1.0)).max(0.0);
        let gain = FRAME_SIZE_DEV_GAIN;
        self.size_deviation = ((1.0 - gain) * self.size_deviation + gain * deviation).min(0.2);
    }

    /// The divisor of the window's rate: 1.2 to 1.9.
    pub fn divisor(&self) -> f64 {
        1.2 + self.rate_adjust + self.size_deviation
    }

    /// The frame period in seconds.
    pub fn period_s(&self) -> f64 {
        self.period_s
    }
}

/// target_bitrate in bit/s, not bounded.
pub fn target_bps(ref_wnd_bytes: f64, round_trip: TimeDelta, frames: &FrameWatch) -> f64 {
    // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4: 8 × ref_wnd / s_rtt
    // × (1 - min(0.2, max(0, MSS / ref_wnd - 0.1))) × MSS / (MSS + PACKET_OVERHEAD)
    // / (1.2 + rate_adjust_factor + frame_size_dev).
    let small = 1.0 - ((MSS_BYTES / ref_wnd_bytes).min(1.0) - 0.1).clamp(0.0, 0.2);
    let overhead = MSS_BYTES / (MSS_BYTES + PACKET_OVERHEAD_BYTES);
    8.0 * ref_wnd_bytes / round_trip.as_secs_f64() * small * overhead / frames.divisor()
}

/// pace_bitrate in bit/s.
pub fn pacing_bps(target_bps: f64, target_max_bps: f64) -> f64 {
    // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.3.2: max(RATE_PACE_MIN, target) ×
    // PACKET_PACING_HEADROOM, over a scale of 1 - (target / max - 0.8) / 0.2, within [1/4, 1].
    let pace_bps = target_bps.max(RATE_PACE_MIN_BPS) * PACING_HEADROOM;
    let low = RELAXED_PACING_LIMIT_LOW;
    let relaxed = ((target_bps / target_max_bps.max(1.0) - low) / (1.0 - low)).min(1.0);
    pace_bps / (1.0 - relaxed).clamp(1.0 / MAX_RELAXED_PACING, 1.0)
}

// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.3.2.
/// RATE_PACE_MIN: the minimum rate that pacing is computed from.
const RATE_PACE_MIN_BPS: f64 = 50_000.0;
/// PACKET_PACING_HEADROOM: the pacing rate over the target.
const PACING_HEADROOM: f64 = 1.5;
/// The pacing factor rises from this share of the maximum target on.
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// MAX_RELAXED_PACING_FACTOR: the pacing factor at the maximum target.
const MAX_RELAXED_PACING: f64 = 4.0;
// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4.
/// PACKET_OVERHEAD: the headers that come with each packet.
const PACKET_OVERHEAD_BYTES: f64 = 20.0;
/// Of the delay in the media queue.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
/// FRAME_SIZE_DEV_ALPHA: of frames larger than requested.
const FRAME_SIZE_DEV_GAIN: f64 = 1.0 / 64.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6 * expected.max(1.0), "{value} is not {expected}");
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4, worked by hand: 20,000 bytes in 100 ms are
    /// 1.6 Mbit/s; / 1.02 / 1.2. With 4,000 bytes MSS / ref_wnd is 0.25: × 0.85.
    #[test]
    fn the_target_is_the_windows_rate_minus_headroom() {
        let (frames, rtt) = (FrameWatch::default(), TimeDelta::from_millis(100));
        assert_close(target_bps(20_000.0, rtt, &frames), 1.6e6 / 1.02 / 1.2);
        assert_close(target_bps(4_000.0, rtt, &frames), 0.32e6 * 0.85 / 1.02 / 1.2);
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.4, worked by hand at 50 ms per frame: waiting 50 ms is an
    /// error of 0.75, / 16; a frame twice as large as requested is 1 / 64.
    #[test]
    fn frames_that_wait_or_are_too_large_lower_the_target() {
        let mut frames = FrameWatch { period_s: 0.05, ..FrameWatch::default() };
        frames.picture(Timestamp::ZERO, TimeDelta::from_millis(50));
        assert_close(frames.divisor(), 1.2 + 0.75 / 16.0);
        frames.picture(Timestamp::from_millis(50), TimeDelta::from_millis(0));
        assert_close(frames.divisor(), 1.2 + 0.5 / 16.0);
        // 800 kbit/s × 50 ms = 5,000 bytes.
        frames.coded(DataSize::from_bytes(10_000), 8e5);
        assert_close(frames.divisor(), 1.2 + 0.5 / 16.0 + 1.0 / 64.0);
        frames.coded(DataSize::from_bytes(1_000), 8e5);
        assert_close(frames.divisor(), 1.2 + 0.5 / 16.0 + 1.0 / 64.0 * 63.0 / 64.0);
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.3.2, worked by hand: 1.5 targets; at 0.9 of the maximum
    /// half of the way: × 2; at the maximum × 4; never below 75 kbit/s.
    #[test]
    fn pacing_is_relaxed_towards_the_maximum_target() {
        assert_close(pacing_bps(1e6, 6e6), 1.5e6);
        assert_close(pacing_bps(5.4e6, 6e6), 16.2e6);
        assert_close(pacing_bps(6e6, 6e6), 36e6);
        assert_close(pacing_bps(1e4, 6e6), 7.5e4);
    }
}
