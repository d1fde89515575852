//! The trace-driven source of RFC 8593, section 6: frame sizes logged from a real encoder at a ladder of bitrates,
//! interpolated between its rungs. Also the hybrid of section 7, which responds to a large change of target as the
//! statistical model does. It has no pixels, so its frames carry no quality.

use super::statistical::{self, HoldOff, Transient};
use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::{FrameRate, SourceFrame};
use legato_units::{DataRate, DataSize, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Logged frame sizes at ascending bitrates, one clip.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameTraces {
    /// Bitrate in bit/s and the bytes of each frame; the same number of frames at every bitrate.
    ladder: Vec<(u64, Box<[u32]>)>,
}

/// Why logs do not form a ladder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FrameTraceError(String);

impl FrameTraces {
    /// From logs of one clip: (name for errors, bitrate in bit/s, text). A log has one line per frame, `number
    /// type unused seconds bytes`; lines that start with `%` are comments. Longer logs are cut to the
    /// shortest. Bounded: at most 16 logs of 64 MiB and a million frames.
    pub fn parse(logs: &[(&str, u64, &str)]) -> Result<Self, FrameTraceError> {
        if !(1..=16).contains(&logs.len()) {
            return Err(FrameTraceError(format!("{} logs of frame sizes: must be 1 … 16", logs.len())));
        }
        let mut ladder = Vec::new();
        for &(name, bitrate_bps, text) in logs {
            if bitrate_bps == 0 {
                return Err(FrameTraceError(format!("{name}: bitrate 0")));
            }
            ladder.push((bitrate_bps, parse_log(name, text)?));
        }
        ladder.sort_by_key(|&(bitrate_bps, _)| bitrate_bps);
        if let Some(pair) = ladder.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(FrameTraceError(format!("two logs of {} bit/s", pair[0].0)));
        }
        let shortest = ladder.iter().map(|(_, sizes)| sizes.len()).min().unwrap_or(0);
        let ladder = ladder.into_iter().map(|(bps, sizes)| (bps, sizes[..shortest].into())).collect();
        Ok(Self { ladder })
    }

    fn frames(&self) -> usize {
        self.ladder[0].1.len()
    }

    /// [rfc8593] §6.2.1: between two rungs sizes are interpolated by the target (by the local step
    /// of the ladder, which need not be even); outside the ladder the nearest rung is scaled.
    fn bytes(&self, frame: usize, target_bps: f64) -> f64 {
        let size = |rung: usize| f64::from(self.ladder[rung].1[frame]);
        let rate = |rung: usize| self.ladder[rung].0 as f64;
        let above = self.ladder.iter().position(|&(bps, _)| bps as f64 >= target_bps);
        match above {
            Some(0) => size(0) * target_bps / rate(0),
            None => size(self.ladder.len() - 1) * target_bps / rate(self.ladder.len() - 1),
            Some(high) => {
                let share = (target_bps - rate(high - 1)) / (rate(high) - rate(high - 1));
                size(high) * share + size(high - 1) * (1.0 - share)
            }
        }
    }
}

fn parse_log(name: &str, text: &str) -> Result<Vec<u32>, FrameTraceError> {
    if text.len() > 64 << 20 {
        return Err(FrameTraceError(format!("{name}: {} bytes, more than 64 MiB are not read", text.len())));
    }
    let mut sizes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        let bytes = line.split_ascii_whitespace().nth(4).and_then(|field| field.parse::<u32>().ok());
        let Some(bytes @ ..=16_777_216) = bytes else {
            return Err(FrameTraceError(format!("{name}: line {}: no size in bytes in {line:.40?}", number + 1)));
        };
        if sizes.len() == 1_000_000 {
            return Err(FrameTraceError(format!("{name}: more than 1,000,000 frames")));
        }
        sizes.push(bytes);
    }
    if sizes.len() <= SKIPPED_ON_WRAP {
        return Err(FrameTraceError(format!("{name}: {} frames, must be more than {SKIPPED_ON_WRAP}", sizes.len())));
    }
    Ok(sizes)
}

/// How the source responds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// [rfc8593] §7: a change of target by more than this share causes a transient, and after it others as large are
    /// ignored for tau_v; absent: never, the pure trace model.
    pub transient_above_ratio: Option<f64>,
    /// The transient.
    pub transient: statistical::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self { transient_above_ratio: Some(0.1), transient: statistical::Config::default() }
    }
}

/// An encoder that replays logs.
#[derive(Clone, Debug)]
pub struct FrameTrace {
    traces: Arc<FrameTraces>,
    config: Config,
    frame_rate: f64,
    target: DataRate,
    hold_off: HoldOff,
    transient: Transient,
    at: usize,
    /// The bitrate of the last version of a frame; `None`: the target determined its size.
    last_version_bps: Option<f64>,
    sequence: u64,
}

impl FrameTrace {
    /// A source that starts at the first logged frame.
    pub fn new(traces: Arc<FrameTraces>, config: Config, frame_rate: FrameRate) -> Self {
        Self {
            traces,
            config,
            frame_rate: frame_rate.as_f64(),
            target: DataRate::ZERO,
            hold_off: HoldOff::default(),
            transient: Transient::default(),
            at: 0,
            last_version_bps: None,
            sequence: 0,
        }
    }
}

impl FrameTrace {
    /// Take the target, unless the change is substantial and too soon after the last such.
    fn follow(&mut self, now: Timestamp, target: DataRate) {
        let before = self.target.as_bps_f64();
        let change = (target.as_bps_f64() - before).abs();
        let large = self.sequence > 0 && self.config.transient_above_ratio.is_some_and(|ratio| change > ratio * before);
        if large {
            // [rfc8593] §7: "upon a substantial rate change, the model will follow the time-damping mechanism as defined in
            // Section 5.1".
            if !self.hold_off.permits(now, &self.config.transient) {
                return;
            }
            self.hold_off.reacted(now);
            self.transient = Transient::of(&self.config.transient, target.as_bps_f64() / 8.0 / self.frame_rate);
        }
        self.target = target;
    }

    /// A version is the clip at another bitrate, within the range the application allows.
    fn version_bps(&self, log2_step: f32) -> f64 {
        let last = self.last_version_bps.unwrap_or(self.target.as_bps_f64());
        let range = &self.config.transient;
        (last * libm::exp2(f64::from(log2_step))).max(range.min_bitrate_bps as f64).min(range.max_bitrate_bps as f64)
    }
}

impl Encoder for FrameTrace {
    fn encode(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        self.follow(now, budget.bitrate);
        // A key frame is frame 0 of the logs.
        let keyframe = budget.keyframe || self.sequence == 0;
        if keyframe {
            self.at = 0;
        }
        let version_bps = budget.version.log2_size_step().map(|step| self.version_bps(step));
        self.last_version_bps = version_bps;
        let traced = self.traces.bytes(self.at, version_bps.unwrap_or(self.target.as_bps_f64()));
        let follows = keyframe || version_bps.is_some();
        let bytes = if follows { traced } else { self.transient.next().unwrap_or(traced) };
        // The first frames of a log are a start-up, and are skipped when it wraps.
        self.at = if self.at + 1 == self.traces.frames() { SKIPPED_ON_WRAP } else { self.at + 1 };
        let sequence = self.sequence;
        self.sequence += 1;
        let mut size = DataSize::from_bytes(bytes.clamp(10.0, 1e6) as u64);
        if let Some(max) = budget.max_frame_size {
            size = size.min(max);
        }
        statistical::without_pixels(&frame, sequence, size, keyframe, self.config.transient.height, budget.bitrate)
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }
}

/// [rfc8593] §6.2.1: SkipFrames, skipped when the log wraps.
const SKIPPED_ON_WRAP: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn log(sizes: impl Iterator<Item = u32>) -> String {
        sizes.enumerate().map(|(n, size)| format!("{n} U 0. {}.0 {size}\n", n)).collect()
    }
    fn ladder() -> FrameTraces {
        let (low, high) = (log((0..25).map(|n| 1_000 + n)), log((0..30).map(|n| 3_000 + n)));
        let remarks = format!("% frame type\n{low}");
        FrameTraces::parse(&[("high", 600_000, &high), ("low", 200_000, &remarks)]).unwrap()
    }

    /// [rfc8593] §6.2.1, worked by hand: 300 kbit/s lies a quarter of the way from 200 to 600, so frame 5 has 1005 +
    /// (3005 - 1005) / 4 = 1505 bytes. At 100 kbit/s it has half of 1005, at 1200 twice 3005.
    #[test]
    fn sizes_are_interpolated_within_the_ladder_and_scaled_outside() {
        let traces = ladder();
        for (kbps, bytes) in [(300.0, 1_505.0), (100.0, 502.5), (1_200.0, 6_010.0), (200.0, 1_005.0), (600.0, 3_005.0)]
        {
            assert!((traces.bytes(5, kbps * 1e3) - bytes).abs() < 1e-9, "{kbps}");
        }
    }

    #[test]
    fn the_start_of_a_log_is_skipped_when_it_wraps() {
        let config = Config { transient_above_ratio: None, ..Config::default() };
        let mut source = FrameTrace::new(Arc::new(ladder()), config, FrameRate::THIRTY);
        let picture = SourceFrame { frame: 0, capture: Timestamp::ZERO, content: 0, complexity: None };
        let budget = EncoderBudget::of_bitrate(DataRate::from_kbps(200));
        let sizes: Vec<_> = (0..28).map(|_| source.encode(Timestamp::ZERO, picture, budget).size.as_bytes()).collect();
        assert_eq!(sizes[23..], [1_023, 1_024, 1_020, 1_021, 1_022]);
        let key = EncoderBudget { keyframe: true, ..budget };
        assert_eq!(source.encode(Timestamp::ZERO, picture, key).size.as_bytes(), 1_000);
    }

    /// [rfc8593] §7, worked by hand: 200 to 600 kbit/s is a change above 10 %: a burst of 3.24 x 2,500 bytes, then 7 frames
    /// that bring 8 frames to 8 x 2,500 bytes. Until 200 ms later another such change is ignored, a small one followed.
    #[test]
    fn a_large_change_is_a_transient() {
        let mut source = FrameTrace::new(Arc::new(ladder()), Config::default(), FrameRate::THIRTY);
        let picture = SourceFrame { frame: 0, capture: Timestamp::ZERO, content: 0, complexity: None };
        let mut size = |ms, kbps| {
            let budget = EncoderBudget::of_bitrate(DataRate::from_kbps(kbps));
            source.encode(Timestamp::from_millis(ms), picture, budget).size.as_bytes()
        };
        assert_eq!((size(0, 200), size(33, 210)), (1_000, 1_051));
        assert_eq!((size(66, 600), size(100, 600)), (8_100, (20_000 - 8_100) / 7));
        // 7 frames of the transient, in which 300 kbit/s is not heard, before the trace goes on at 600.
        let rest: Vec<_> = (0..6).map(|n| size(130 + 10 * n, 300)).collect();
        assert!(rest.iter().all(|&bytes| bytes == 1_700), "{rest:?}");
        assert_eq!((size(200, 300), size(230, 620)), (3_010, 3_111));
        assert_eq!(size(266, 300), 4_050);
    }

    #[test]
    fn invalid_logs_are_refused_by_name_and_line() {
        let refused = |text: &str| FrameTraces::parse(&[("a.txt", 1, text)]).unwrap_err().to_string();
        assert_eq!(refused("0 U 0. 0.0 x"), "a.txt: line 1: no size in bytes in \"0 U 0. 0.0 x\"");
        assert_eq!(refused("% nothing"), "a.txt: 0 frames, must be more than 20");
        assert!(FrameTraces::parse(&[]).is_err());
    }
}
