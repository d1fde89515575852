//! `grace-standin`: a stand-in for a loss-tolerant neural codec, fitted to published figures.
//!
//! It is not a codec and was not measured here: it is a fit to the quality by rate and loss that
//! [cheng2024] publishes, means over 57 clips at 25 fps of about 720 rows. Like the real codec: any
//! part of a frame decodes, quality falls slowly with loss and has no cliff. Unlike it: the clip's
//! own difficulty (all clips cost the same per pixel) and frame-to-frame variation of size are
//! missing.

use crate::Quality;
use crate::profile::{Damage, Profile};
use crate::quality::SSIM_DB_MAX;
use legato_units::elementary::{exp2, log2};

/// Video bitrates of the rows of [`SSIM`], at 25 fps and [`PIXELS`], in kbit/s.
const KBPS: [f32; 7] = [343.0, 712.0, 1_157.0, 1_903.0, 2_537.0, 3_821.0, 6_502.0];
/// Shares of a frame that are lost.
const LOSS: [f32; 6] = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9];
/// Mean SSIM by bitrate and loss.
const SSIM: [[f32; 6]; 7] = [
    [0.909, 0.907, 0.903, 0.897, 0.888, 0.872],
    [0.946, 0.944, 0.939, 0.933, 0.923, 0.900],
    [0.961, 0.957, 0.950, 0.944, 0.934, 0.908],
    [0.972, 0.969, 0.964, 0.960, 0.950, 0.922],
    [0.977, 0.974, 0.970, 0.965, 0.955, 0.924],
    [0.982, 0.980, 0.975, 0.970, 0.959, 0.927],
    [0.986, 0.983, 0.977, 0.972, 0.961, 0.928],
];
/// Pixels of the pictures behind the figures.
const PIXELS: f32 = 1_280.0 * 720.0;
/// The first frame, which is coded on its own: bytes and SSIM in dB (of 0.978).
const FIRST_BYTES: f32 = 16_000.0;
const FIRST_SSIM_DB: f32 = 16.576;
/// Half the pixels need half the bytes: "360 rows need about a quarter".
const FRAMES_PER_S: f32 = 25.0;

/// Levels are positions in the table, 0 … 6, fractions between rows.
pub(crate) const LEVEL_MAX: f32 = (KBPS.len() - 1) as f32;

/// The table, prepared for one clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standin {
    /// Bits per frame of each row at the clip's size, as log2.
    log2_bits: [f32; KBPS.len()],
    first_bits: f32,
    /// PSNR as a line over SSIM in dB, from the clip's own x264 tables: the figures hold no PSNR.
    psnr_at_zero: f32,
    psnr_slope: f32,
}

impl Standin {
    /// For a clip at `rows` rows; absent: the largest size of its ladder.
    pub(crate) fn of_clip(profile: &Profile, rows: Option<u16>) -> Self {
        let (width, height) = size_of(profile, rows);
        let size = f32::from(width) * f32::from(height) / PIXELS;
        let (psnr_at_zero, psnr_slope) = *profile.psnr_line.get_or_init(|| psnr_line(profile));
        Self {
            log2_bits: KBPS.map(|kbps| log2(kbps * 1e3 / FRAMES_PER_S * size)),
            first_bits: FIRST_BYTES * 8.0 * size,
            psnr_at_zero,
            psnr_slope,
        }
    }

    /// The level whose frames have this many bits (as log2), within the table.
    #[inline]
    pub(crate) fn level_for(&self, log2_bits: f32) -> f32 {
        let next = self.log2_bits.iter().position(|&bits| bits >= log2_bits).unwrap_or(KBPS.len() - 1).max(1);
        let (low, high) = (self.log2_bits[next - 1], self.log2_bits[next]);
        ((next - 1) as f32 + (log2_bits - low) / (high - low)).clamp(0.0, LEVEL_MAX)
    }
    /// log2 of the bits of a frame at a level.
    #[inline]
    pub(crate) fn log2_bits(&self, level: f32) -> f32 {
        let (row, share) = split(level);
        self.log2_bits[row] + (self.log2_bits[row + 1] - self.log2_bits[row]) * share
    }
    /// Bits of a frame coded on its own.
    pub(crate) fn first_bits(&self) -> f32 {
        self.first_bits
    }
    /// A whole frame at a level.
    #[inline]
    pub(crate) fn quality(&self, level: f32) -> Quality {
        self.of_ssim_db(-10.0 / LOG2_10 * log2(1.0 - ssim(level, 0.0)))
    }
    /// The first frame.
    pub(crate) fn first_quality(&self) -> Quality {
        self.of_ssim_db(FIRST_SSIM_DB)
    }
    /// The cost of losing a share of a frame, including losses before it.
    #[inline]
    pub(crate) fn damage(&self, level: f32, ratio: f32) -> Damage {
        let (clean, hurt) = (ssim(level, 0.0), ssim(level, ratio));
        let mse = |ssim: f32| {
            let psnr_db = self.of_ssim_db(-10.0 / LOG2_10 * log2(1.0 - ssim)).psnr_db;
            65_025.0 * exp2(-psnr_db * LOG2_10 / 10.0)
        };
        Damage { dissimilarity: clean - hurt, mse: (mse(hurt) - mse(clean)).max(0.0) }
    }

    fn of_ssim_db(&self, ssim_db: f32) -> Quality {
        Quality { ssim_db: ssim_db.min(SSIM_DB_MAX), psnr_db: self.psnr_at_zero + self.psnr_slope * ssim_db }
    }
}

/// A clip's width and height at `rows` rows: the figures are per pixel, not per picture, so any size will do.
pub(crate) fn size_of(profile: &Profile, rows: Option<u16>) -> (u16, u16) {
    let rung = &profile.rungs[profile.rungs.len() - 1];
    let Some(rows) = rows else { return (rung.width, rung.height) };
    let width = u32::from(rung.width) * u32::from(rows) / u32::from(rung.height.max(1));
    (u16::try_from(width.next_multiple_of(2)).unwrap_or(u16::MAX), rows)
}

const LOG2_10: f32 = core::f32::consts::LOG2_10;

fn split(level: f32) -> (usize, f32) {
    let level = level.clamp(0.0, LEVEL_MAX);
    let row = (level as usize).min(KBPS.len() - 2);
    (row, level - row as f32)
}

fn ssim(level: f32, ratio: f32) -> f32 {
    let (row, up) = split(level);
    let ratio = ratio.clamp(0.0, LOSS[LOSS.len() - 1]);
    let next = LOSS.iter().position(|&loss| loss >= ratio).unwrap_or(LOSS.len() - 1).max(1);
    let share = (ratio - LOSS[next - 1]) / (LOSS[next] - LOSS[next - 1]);
    let at = |row: usize| SSIM[row][next - 1] + (SSIM[row][next] - SSIM[row][next - 1]) * share;
    at(row) + (at(row + 1) - at(row)) * up
}

/// PSNR over SSIM in dB through the means of the clip's frames at a fine and a coarse quantiser.
fn psnr_line(profile: &Profile) -> (f32, f32) {
    let largest = &profile.rungs[profile.rungs.len() - 1];
    let measured = largest.encoders.first().map(|tables| &tables.inter);
    let Some(table) = measured.or(largest.hybrid.as_ref().map(|tables| &tables.inter)) else { return (0.0, 1.0) };
    let (low, high) = table.qp_range();
    let mean = |qp: f32| {
        let rows = table.rows() as f32;
        let sum = (0..table.rows())
            .map(|row| table.at(row, qp))
            .fold((0.0, 0.0), |sum, cell| (sum.0 + cell.shown_ssim_db, sum.1 + cell.shown_psnr_db));
        (sum.0 / rows, sum.1 / rows)
    };
    let (fine, coarse) = (mean(low + 0.25 * (high - low)), mean(low + 0.75 * (high - low)));
    let slope = (fine.1 - coarse.1) / (fine.0 - coarse.0).max(0.1);
    (fine.1 - slope * fine.0, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standin() -> Standin {
        Standin {
            log2_bits: KBPS.map(|kbps| log2(kbps * 40.0)),
            first_bits: 128_000.0,
            psnr_at_zero: 20.0,
            psnr_slope: 1.0,
        }
    }

    /// 1 - 0.972 is 15.53 dB; 1903 kbit/s at 25 fps is 76,120 bits per frame.
    #[test]
    fn the_published_points_come_back() {
        let level = standin().level_for(log2(76_120.0));
        assert!((level - 3.0).abs() < 1e-3, "{level}");
        assert!((standin().quality(level).ssim_db - 15.528).abs() < 1e-2);
        assert!((standin().damage(level, 0.3).dissimilarity - 0.008).abs() < 1e-5);
        assert!((standin().damage(level, 0.9).dissimilarity - 0.050).abs() < 1e-5);
    }

    /// [cheng2024], as the NVC-CC paper uses it: a high rate with 10 % loss beats a low one
    /// without. 1903 kbit/s: 0.969 at 10 %; 1157 kbit/s: 0.961 whole.
    #[test]
    fn a_high_rate_with_loss_beats_a_low_rate_without() {
        let hurt = standin().damage(3.0, 0.1).applied_to(standin().quality(3.0));
        assert!(hurt.ssim_db > standin().quality(2.0).ssim_db + 0.9);
    }

    #[test]
    fn quality_never_rises_with_loss() {
        for level in 0..=60 {
            let mut last = -1.0;
            for ratio in 0..=100 {
                let damage = standin().damage(level as f32 / 10.0, ratio as f32 / 100.0).dissimilarity;
                assert!(damage >= last - 1e-6);
                last = damage;
            }
        }
    }
}
