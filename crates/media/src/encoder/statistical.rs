//! The statistical source of RFC 8593, section 4.1: frame sizes with Laplacian noise around the
//! budget, a delayed reaction, and a burst with every reaction. It has no pixels, so its frames
//! carry no quality.

use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::{FrameRate, SourceFrame};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use serde::{Deserialize, Serialize};

/// The parameters of [rfc8593] table 1, with its example values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// tau_v: a new target takes effect after this time, in ms.
    pub reaction_ms: u32,
    /// K_d: frames a transient lasts, at least 1.
    pub transient_frames: u32,
    /// K_B over the reference frame B0 of the target: the size of the first frame of a transient.
    // Deviates from [rfc8593] §4.1: K_B is a size there, 13.5 KB where B0 is 4.17 KB; as a size it is
    // three seconds of a call at 36 kbit/s. The ratio of the two is the same at the RFC's own rate.
    pub transient_burst_ratio: f64,
    /// Changes of the target up to this are followed without a transient.
    // Deviates from [rfc8593] §4.1, follows §4.3: the hybrid model has transients above 10 % only; a
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
    /// A target received and not yet applied, with the time it will be.
    pending: Option<(Timestamp, DataRate)>,
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
            pending: None,
            transient: Transient::default(),
            last_version_bytes: None,
            sequence: 0,
        }
    }

    /// B0, the reference frame, in bytes.
    fn frame_bytes(&self, bitrate: DataRate) -> f64 {
        bitrate.as_bps_f64() / 8.0 / self.frame_rate
    }

    /// [rfc8593] section 4.1: react `reaction_ms` after a change, and ignore others until then.
    fn follow(&mut self, now: Timestamp, target: DataRate) {
        let target = target
            .max(DataRate::from_bps(self.config.min_bitrate_bps))
            .min(DataRate::from_bps(self.config.max_bitrate_bps));
        if self.sequence == 0 {
            self.current = target;
            self.start_transient();
            return;
        }
        match self.pending {
            Some((due, next)) if now >= due => {
                self.pending = None;
                let change = (next.as_bps_f64() - self.current.as_bps_f64()).abs();
                let jumps = change > self.config.transient_above_ratio * self.current.as_bps_f64();
                self.current = next;
                if jumps {
                    self.start_transient();
                }
            }
            Some(_) => {}
            None if target != self.current => {
                self.pending = Some((now + TimeDelta::from_millis(i64::from(self.config.reaction_ms)), target));
            }
            None => {}
        }
    }

    fn start_transient(&mut self) {
        self.transient = Transient::of(&self.config, self.frame_bytes(self.current));
    }

    /// [rfc8593] section 4.1: a size with Laplacian noise.
    fn noisy(&mut self, bytes: f64) -> f64 {
        bytes * (1.0 + self.config.size_scale_ratio * self.laplace())
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

    /// A Laplace deviate of scale 1, by inversion.
    fn laplace(&mut self) -> f64 {
        // 53 bits, centred so that neither end is reached.
        let u = ((self.rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64 - 0.5;
        -u.signum() * libm::log(1.0 - 2.0 * u.abs())
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

/// [rfc8593] section 4.1: one frame of K_B, then K_d - 1 smaller ones, so that the K_d together keep the bitrate.
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

    /// [rfc8593] section 4.1, worked by hand: at 960 kbit/s and 30 fps a frame is 4,000 bytes; a
    /// transient of 8 frames is 32,000 bytes, of which 3.24 x 4,000 come first and 7 x 2,720 after.
    #[test]
    fn a_transient_keeps_the_bitrate_over_its_frames() {
        let sizes = sizes(&[(8, 960)]);
        assert_eq!(sizes[0], 12_960);
        assert!(sizes[1..].iter().all(|&size| size == 2_720), "{sizes:?}");
    }

    /// A change is obeyed 200 ms (6 frames) after it is set; the frame at 200 ms is the burst.
    #[test]
    fn a_new_target_is_obeyed_after_the_reaction_time() {
        let sizes = sizes(&[(30, 960), (12, 480)]);
        assert!(sizes[30..36].iter().all(|&size| size != 6_480));
        assert_eq!(sizes[36], 6_480);
        assert_eq!(sizes[37], (16_000 - 6_480) / 7);
    }

    /// 960 to 1,056 kbit/s is no more than a tenth: obeyed, without a burst.
    #[test]
    fn a_small_change_is_obeyed_without_a_transient() {
        let sizes = sizes(&[(30, 960), (606, 1_056)]);
        assert!(sizes[36..].iter().all(|&size| size != (3.24 * 4_400.0) as u64));
        let mean = sizes[36..].iter().sum::<u64>() as f64 / 600.0;
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
