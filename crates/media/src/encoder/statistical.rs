//! The statistical source of RFC 8593, section 5: frame sizes with Laplacian noise around the
//! budget, a burst with every reaction to a new one, and deafness to others for a while after it. It has no pixels, so
//! its frames carry no quality. That the intervals vary too is the camera's part: [`crate::Source::varying`].

use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::{FrameRate, SourceFrame, laplace};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The parameters of [rfc8593] figure 2, with its example values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// tau_v: after a reaction other targets are ignored for this time, in ms.
    pub reaction_ms: u32,
    /// K_d: frames a transient lasts, at least 1.
    pub transient_frames: u32,
    /// K_B over the reference frame B0 of the target: the size of the first frame of a transient.
    // Deviates from [rfc8593] §5.2: K_B is a size there, 13.5 KB where B0 is 4.17 KB; as a size it is
    // three seconds of a call at 36 kbit/s. The ratio of the two is the same at the RFC's own rate.
    pub transient_burst_ratio: f64,
    /// Changes of the target up to this are followed without a transient.
    // Deviates from [rfc8593] §5.2, follows §7: the hybrid model has transients above 10 % only; a
    // controller that moves its target with every feedback would otherwise never leave the transient.
    pub transient_above_ratio: f64,
    /// SCALE_B: Laplace scale of the relative size error (not its deviation, which is sqrt 2 times larger).
    pub size_scale_ratio: f64,
    /// R_min, in bit/s.
    pub min_bitrate_bps: u64,
    /// R_max, in bit/s.
    pub max_bitrate_bps: u64,
    /// Reported in the frames; nothing else depends on it.
    pub height: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reaction_ms: 200,
            transient_frames: 8,
            transient_burst_ratio: 3.24,
            transient_above_ratio: 0.1,
            size_scale_ratio: 0.15,
            min_bitrate_bps: 150_000,
            max_bitrate_bps: 1_500_000,
            height: 720,
        }
    }
}

/// An encoder without pixels.
#[derive(Clone, Debug)]
pub struct Statistical {
    config: Config,
    frame_rate: f64,
    rng: ChaCha8Rng,
    /// R_v as the encoder obeys it.
    current: DataRate,
    hold_off: HoldOff,
    transient: Transient,
    /// Bytes of the last version of a frame, without noise; `None`: the bitrate sized it.
    last_version_bytes: Option<f64>,
    sequence: u64,
}

impl Statistical {
    /// An encoder that draws from `rng`.
    pub fn new(config: Config, frame_rate: FrameRate, rng: ChaCha8Rng) -> Self {
        Self {
            config,
            frame_rate: frame_rate.as_f64(),
            rng,
            current: DataRate::ZERO,
            hold_off: HoldOff::default(),
            transient: Transient::default(),
            last_version_bytes: None,
            sequence: 0,
        }
    }

    /// B0, the reference frame, in bytes.
    fn frame_bytes(&self, bitrate: DataRate) -> f64 {
        bitrate.as_bps_f64() / 8.0 / self.frame_rate
    }

    fn follow(&mut self, now: Timestamp, target: DataRate) {
        // [rfc8593] §5.4: the output is clipped to [R_min, R_max]: its mean, by which a single frame may exceed it.
        let target = target
            .max(DataRate::from_bps(self.config.min_bitrate_bps))
            .min(DataRate::from_bps(self.config.max_bitrate_bps));
        let first = self.sequence == 0;
        if !first && (target == self.current || !self.hold_off.permits(now, &self.config)) {
            return;
        }
        let change = (target.as_bps_f64() - self.current.as_bps_f64()).abs();
        let jumps = first || change > self.config.transient_above_ratio * self.current.as_bps_f64();
        self.current = target;
        self.hold_off.reacted(now);
        if jumps {
            self.start_transient();
        }
    }

    fn start_transient(&mut self) {
        self.transient = Transient::of(&self.config, self.frame_bytes(self.current));
    }

    /// [rfc8593] §5.3: (B - B0) / B0 is Laplacian with mean 0 and scale SCALE_B.
    fn noisy(&mut self, bytes: f64) -> f64 {
        bytes * (1.0 + self.config.size_scale_ratio * laplace::deviate(&mut self.rng))
    }

    /// A version is a size: the RFC has neither quantisers nor encoders that react at once.
    fn version_bytes(&mut self, log2_step: f32) -> f64 {
        let last = self.last_version_bytes.unwrap_or_else(|| self.frame_bytes(self.current));
        let [min, maximum] = [self.config.min_bitrate_bps, self.config.max_bitrate_bps]
            .map(|bps| self.frame_bytes(DataRate::from_bps(bps)));
        // Limits in the wrong order leave the smaller size.
        let bytes = (last * libm::exp2(f64::from(log2_step))).max(min).min(maximum);
        self.last_version_bytes = Some(bytes);
        self.noisy(bytes)
    }
}

impl Encoder for Statistical {
    fn encode(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        self.follow(now, budget.bitrate);
        if budget.keyframe && self.sequence > 0 {
            // The RFC has no key frames; a forced one is a transient, its burst the key frame.
            self.start_transient();
        }
        let bytes = match budget.version.log2_size_step() {
            Some(step) => self.version_bytes(step),
            None => {
                self.last_version_bytes = None;
                self.transient.next().unwrap_or_else(|| self.noisy(self.frame_bytes(self.current)))
            }
        };
        let sequence = self.sequence;
        self.sequence += 1;
        // A Laplacian has no bounds: one size in some 1,600 would fall below zero.
        let mut size = DataSize::from_bytes(bytes.clamp(10.0, 1e6) as u64);
        if let Some(max) = budget.max_frame_size {
            size = size.min(max);
        }
        let keyframe = sequence == 0 || budget.keyframe;
        without_pixels(&frame, sequence, size, keyframe, self.config.height, budget.bitrate)
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }
}

/// A frame of a source without pixels.
pub(super) fn without_pixels(
    frame: &SourceFrame,
    sequence: u64,
    size: DataSize,
    keyframe: bool,
    height: u16,
    bitrate: DataRate,
) -> EncodedFrame {
    EncodedFrame {
        acknowledged: None,
        frame: frame.frame,
        sequence,
        content: frame.content,
        rung: 0,
        qp: 0.0,
        size,
        head_bytes: 0,
        keyframe,
        width: (u32::from(height) * 16 / 9) as u16 & !1,
        height,
        psnr_db: None,
        quality: None,
        bitrate,
    }
}

/// When the encoder last reacted: others are ignored for tau_v after that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HoldOff {
    reacted: Option<Timestamp>,
}

impl HoldOff {
    /// [rfc8593] §5.1: "when the encoder has reacted to a rate-change request at time t, it will simply ignore all
    /// subsequent rate-change requests until time t+tau_v". The target at that time counts; the source makes up for
    /// nothing.
    pub(super) fn permits(&self, now: Timestamp, config: &Config) -> bool {
        let tau_v = TimeDelta::from_millis(i64::from(config.reaction_ms));
        self.reacted.is_none_or(|at| now >= at + tau_v)
    }

    /// The encoder reacted.
    pub(super) fn reacted(&mut self, now: Timestamp) {
        self.reacted = Some(now);
    }
}

/// [rfc8593] §5.2: one frame of K_B, then K_d - 1 smaller ones, so that the K_d together keep the bitrate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Transient {
    burst_bytes: Option<f64>,
    left: u32,
    rest_bytes: f64,
}

impl Transient {
    /// A transient at a bitrate whose frames have `frame_bytes`.
    pub(super) fn of(config: &Config, frame_bytes: f64) -> Self {
        let rest = config.transient_frames.max(1) - 1;
        let burst = config.transient_burst_ratio * frame_bytes;
        let total = frame_bytes * f64::from(rest + 1);
        let rest_bytes = (total - burst).max(0.0) / f64::from(rest.max(1));
        Self { burst_bytes: Some(burst), left: rest, rest_bytes }
    }
}

/// The sizes of its frames, in bytes.
impl Iterator for Transient {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        if let Some(burst) = self.burst_bytes.take() {
            return Some(burst);
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.rest_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Source};
    use rand_core::SeedableRng;

    fn sizes(targets: &[(u32, u64)]) -> Vec<u64> {
        let rng = ChaCha8Rng::seed_from_u64(1);
        let mut encoder = Statistical::new(Config::default(), FrameRate::THIRTY, rng);
        let mut source = Source::new(Content::unmeasured(FrameRate::THIRTY), Timestamp::ZERO, 0);
        let mut sizes = Vec::new();
        for &(frames, kbps) in targets {
            for _ in 0..frames {
                let picture = source.capture();
                let budget = EncoderBudget::of_bitrate(DataRate::from_kbps(kbps));
                sizes.push(encoder.encode(picture.capture, picture, budget).size.as_bytes());
            }
        }
        sizes
    }

    /// [rfc8593] §5.2, worked by hand: at 960 kbit/s and 30 fps a frame is 4,000 bytes. A transient of 8 frames is
    /// 32,000 bytes, of which 3.24 x 4,000 come first and 7 x 2,720 after.
    #[test]
    fn a_transient_keeps_the_bitrate_over_its_frames() {
        let sizes = sizes(&[(8, 960)]);
        assert_eq!(sizes[0], 12_960);
        assert!(sizes[1..].iter().all(|&size| size == 2_720), "{sizes:?}");
    }

    /// [rfc8593] §5.1, worked by hand: tau_v = 200 ms and 30 fps. The target falls at 1.0 s after a long calm, and the
    /// frame of 1.0 s is the burst of the new rate, 3.24 · 2,000 B. A second change at 1.1 s (frame 33) is heard by the
    /// frame of
    /// 1.2 s (frame 36) with the value it has then: 240 kbit/s, 3.24 · 1,000 B.
    #[test]
    fn a_reaction_comes_at_once_and_others_are_ignored_for_a_while() {
        let sizes = sizes(&[(30, 960), (3, 480), (2, 720), (7, 240)]);
        assert_eq!(sizes[30], 6_480);
        assert!(sizes[31..36].iter().all(|&size| size == (16_000 - 6_480) / 7), "{sizes:?}");
        assert_eq!(sizes[36], 3_240);
    }

    /// [rfc8593] §5.4, worked by hand: 3 Mbit/s are clipped to R_max, 1.5, whose frames have 6,250 bytes, and 50 kbit/s to
    /// R_min, 150: 625.
    #[test]
    fn the_rate_is_clipped_to_its_range() {
        assert_eq!(sizes(&[(1, 3_000)]), [20_250]);
        assert_eq!(sizes(&[(1, 50)]), [2_025]);
    }

    /// A target that is asked for and withdrawn while others are ignored is never obeyed.
    #[test]
    fn nothing_that_was_ignored_is_made_up_for() {
        let sizes = sizes(&[(30, 960), (2, 480), (3, 960), (60, 480)]);
        assert!(sizes[38..].iter().all(|&size| size < 4_000), "{sizes:?}");
        assert_eq!(sizes.iter().filter(|&&size| size == 6_480).count(), 1);
    }

    /// 960 to 1,056 kbit/s is no more than a tenth: obeyed at once, without a burst.
    #[test]
    fn a_small_change_is_obeyed_without_a_transient() {
        let sizes = sizes(&[(30, 960), (600, 1_056)]);
        assert!(sizes[30..].iter().all(|&size| size != (3.24 * 4_400.0) as u64));
        let mean = sizes[30..].iter().sum::<u64>() as f64 / 600.0;
        assert!((mean / 4_400.0 - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn steady_sizes_have_the_mean_and_the_laplacian_spread_of_the_budget() {
        let sizes = sizes(&[(20_008, 960)]);
        let steady = &sizes[8..];
        let n = steady.len() as f64;
        let mean = steady.iter().sum::<u64>() as f64 / n;
        let variance = steady.iter().map(|&s| (s as f64 - mean) * (s as f64 - mean)).sum::<f64>() / n;
        assert!((mean / 4_000.0 - 1.0).abs() < 0.01, "{mean}");
        // The standard deviation of a Laplacian is sqrt 2 times its scale: 0.15 x 4000 x 1.414 = 849.
        assert!((variance.sqrt() / 849.0 - 1.0).abs() < 0.05, "{}", variance.sqrt());
    }
}
