//! The tables of a profile in the form used per frame: f32, on a fine quantiser grid, so that a
//! look-up is one multiplication and one interpolation between neighbours in memory.

use crate::Quality;
use crate::quality::{PSNR_DB_MAX, SSIM_DB_MAX};
use legato_units::elementary::{exp2, log2};

/// Quantiser steps between columns of a [`LevelTable`].
const GRID_QP: f32 = 2.0;

/// One frame at one quantiser.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// log2 of the coded size in bytes.
    pub log2_bytes: f32,
    /// Luma PSNR at the coded size.
    pub psnr_db: f32,
    /// SSIM at the clip's full size.
    pub shown_ssim_db: f32,
    /// Luma PSNR at the clip's full size.
    pub shown_psnr_db: f32,
}

impl Cell {
    /// What the viewer sees.
    #[inline]
    pub fn quality(&self) -> Quality {
        Quality { ssim_db: self.shown_ssim_db, psnr_db: self.shown_psnr_db }
    }
    #[inline]
    fn between(a: &Self, b: &Self, share: f32) -> Self {
        let mix = |a: f32, b: f32| a + (b - a) * share;
        Self {
            log2_bytes: mix(a.log2_bytes, b.log2_bytes),
            psnr_db: mix(a.psnr_db, b.psnr_db),
            shown_ssim_db: mix(a.shown_ssim_db, b.shown_ssim_db),
            shown_psnr_db: mix(a.shown_psnr_db, b.shown_psnr_db),
        }
    }
}

/// Frames by quantisers.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTable {
    first_qp: f32,
    columns: usize,
    cells: Box<[Cell]>,
    /// log2 of the mean size in bytes of all frames, by column.
    typical: Box<[f32]>,
}

impl LevelTable {
    /// From rows of cells at ascending `levels` (at least two), interpolated to the fine grid by
    /// monotone cubics: sizes never rise with the quantiser where the measured ones fall.
    pub(super) fn new(levels: &[f32], measured: &[Cell]) -> Self {
        let (first_qp, last_qp) = (levels[0], levels[levels.len() - 1]);
        let columns = ((last_qp - first_qp) / GRID_QP) as usize + 1;
        let mut cells = Vec::with_capacity(measured.len() / levels.len() * columns);
        for row in measured.chunks_exact(levels.len()) {
            let curves = [
                Monotone::new(levels, |i| row[i].log2_bytes),
                Monotone::new(levels, |i| row[i].psnr_db),
                Monotone::new(levels, |i| row[i].shown_ssim_db),
                Monotone::new(levels, |i| row[i].shown_psnr_db),
            ];
            cells.extend((0..columns).map(|column| {
                let [log2_bytes, psnr_db, shown_ssim_db, shown_psnr_db] =
                    curves.each_ref().map(|curve| curve.at(levels, first_qp + column as f32 * GRID_QP));
                Cell { log2_bytes, psnr_db, shown_ssim_db, shown_psnr_db }
            }));
        }
        let typical = (0..columns)
            .map(|column| {
                let rows = cells[column..].iter().step_by(columns);
                let bytes: f32 = rows.map(|cell| exp2(cell.log2_bytes)).sum();
                log2(bytes * columns as f32 / cells.len() as f32)
            })
            .collect();
        Self { first_qp, columns, cells: cells.into(), typical }
    }

    /// The grid column below `qp` and the distance to the next in columns, beyond the ends by [`BEYOND_QP`].
    #[inline]
    fn position(&self, qp: f32) -> (usize, f32) {
        let last = (self.columns - 1) as f32;
        let x = ((qp - self.first_qp) * (1.0 / GRID_QP)).clamp(-BEYOND_QP / GRID_QP, last + BEYOND_QP / GRID_QP);
        let column = (x.max(0.0) as usize).min(self.columns - 2);
        (column, x - column as f32)
    }

    /// log2 of the mean size in bytes of all frames at a quantiser.
    #[inline]
    pub fn log2_typical(&self, qp: f32) -> f32 {
        let (column, share) = self.position(qp);
        self.typical[column] + (self.typical[column + 1] - self.typical[column]) * share
    }

    /// log2 of the size in bytes of a frame: [`LevelTable::at`] without the rest.
    #[inline]
    pub fn log2_bytes(&self, row: usize, qp: f32) -> f32 {
        let (column, share) = self.position(qp);
        let cells = &self.cells[row * self.columns + column..][..2];
        cells[0].log2_bytes + (cells[1].log2_bytes - cells[0].log2_bytes) * share
    }

    /// Mean coded size of all rows at a quantiser, in bytes.
    pub fn mean_bytes(&self, qp: f32) -> f64 {
        let sizes = (0..self.rows()).map(|row| libm::exp2(f64::from(self.at(row, qp).log2_bytes)));
        sizes.sum::<f64>() / self.rows().max(1) as f64
    }
    /// Frames.
    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns
    }
    /// The lowest and highest quantiser that were measured.
    pub fn qp_range(&self) -> (f32, f32) {
        (self.first_qp, self.first_qp + (self.columns - 1) as f32 * GRID_QP)
    }

    /// A frame at any quantiser; up to `BEYOND_QP` outside the measured range the last slope continues.
    #[inline]
    pub fn at(&self, row: usize, qp: f32) -> Cell {
        let (column, share) = self.position(qp);
        let cells = &self.cells[row * self.columns + column..][..2];
        Cell::between(&cells[0], &cells[1], share)
    }
}

/// How far outside the measured quantisers a table is valid.
pub const BEYOND_QP: f32 = 4.0;

/// Monotone cubic interpolation: [fritsch1980]'s limit on the slopes keeps each piece between its ends.
struct Monotone {
    values: Vec<f32>,
    slopes: Vec<f32>,
}

impl Monotone {
    fn new(x: &[f32], value: impl Fn(usize) -> f32) -> Self {
        let values: Vec<f32> = (0..x.len()).map(value).collect();
        let secants: Vec<f32> = (1..x.len()).map(|i| (values[i] - values[i - 1]) / (x[i] - x[i - 1])).collect();
        let last = secants.len() - 1;
        let slopes = (0..x.len())
            .map(|i| {
                let (before, after) = (secants[i.saturating_sub(1)], secants[i.min(last)]);
                // The harmonic mean of both sides, zero at a turning point.
                if before * after <= 0.0 { 0.0 } else { 2.0 * before * after / (before + after) }
            })
            .collect();
        Self { values, slopes }
    }

    fn at(&self, x: &[f32], at: f32) -> f32 {
        let i = x.partition_point(|&knot| knot <= at).clamp(1, x.len() - 1) - 1;
        let width = x[i + 1] - x[i];
        let t = (at - x[i]) / width;
        let (t2, t3) = (t * t, t * t * t);
        self.values[i] * (2.0 * t3 - 3.0 * t2 + 1.0)
            + self.slopes[i] * width * (t3 - 2.0 * t2 + t)
            + self.values[i + 1] * (3.0 * t2 - 2.0 * t3)
            + self.slopes[i + 1] * width * (t3 - t2)
    }
}

/// Damage to a picture, in measures that add up from frame to frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Damage {
    /// Rise of 1 - SSIM.
    pub dissimilarity: f32,
    /// Rise of the mean squared luma error.
    pub mse: f32,
}

impl Damage {
    /// The damage, scaled by `share`.
    #[inline]
    pub fn scaled(self, share: Self) -> Self {
        Self { dissimilarity: self.dissimilarity * share.dissimilarity, mse: self.mse * share.mse }
    }
    /// The sum of both; total damage cannot grow further.
    #[inline]
    pub fn plus(self, other: Self) -> Self {
        Self {
            dissimilarity: (self.dissimilarity + other.dissimilarity).min(1.0),
            mse: (self.mse + other.mse).min(65_025.0),
        }
    }
    /// The remaining quality of `clean`.
    #[inline]
    pub fn applied_to(self, clean: Quality) -> Quality {
        // 10 log10(2) dB per doubling.
        const DB: f32 = 3.010_3;
        let dissimilarity = exp2(clean.ssim_db * (-1.0 / DB)) + self.dissimilarity;
        let mse = 65_025.0 * exp2(clean.psnr_db * (-1.0 / DB)) + self.mse;
        Quality {
            ssim_db: (-DB * log2(dissimilarity.clamp(1e-4, 1.0))).min(SSIM_DB_MAX),
            psnr_db: (DB * log2((65_025.0 / mse.max(1e-3)).max(1.0))).min(PSNR_DB_MAX),
        }
    }
}

/// The effect of losing a share of a frame, with an intact picture before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HitTable {
    /// Ascending shares lost; the last is 1.
    pub(super) ratios: Vec<f32>,
    /// Ascending quantisers.
    pub(super) levels: Vec<f32>,
    /// Pictures between rows.
    pub(super) stride: u32,
    /// [rows, levels, ratios].
    pub(super) hits: Box<[Damage]>,
}

/// The effect of losing parts of frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossTable {
    /// On a frame after an intact one.
    pub(super) hits: HitTable,
    /// The share of the damage the next frame inherits when it is hit itself.
    pub(super) while_lossy: Damage,
    /// The share of the damage the next frame inherits when it is whole.
    pub(super) while_whole: Damage,
}

impl HitTable {
    /// The damage of losing `ratio` of the frame of `content` coded at `qp`; none in a table without rows.
    #[inline]
    pub fn hit(&self, content: u32, qp: f32, ratio: f32) -> Damage {
        if ratio <= 0.0 || self.hits.is_empty() {
            return Damage::default();
        }
        let (columns, levels) = (self.ratios.len(), self.levels.len());
        let rows = self.hits.len() / (columns * levels);
        let row = ((content / self.stride) as usize).min(rows - 1);
        let (level, up) = position(&self.levels, qp);
        let at = |level: usize| {
            let cells = &self.hits[(row * levels + level) * columns..][..columns];
            let Some(next) = self.ratios.iter().position(|&known| known >= ratio) else {
                return cells[columns - 1];
            };
            // Below the smallest measured share the damage falls to zero in proportion.
            let (from, low) =
                if next == 0 { (0.0, Damage::default()) } else { (self.ratios[next - 1], cells[next - 1]) };
            mix(low, cells[next], (ratio - from) / (self.ratios[next] - from))
        };
        mix(at(level), at(level + 1), up)
    }
}

impl LossTable {
    /// The damage of losing `ratio` of the frame of `content` coded at `qp`.
    #[inline]
    pub fn hit(&self, content: u32, qp: f32, ratio: f32) -> Damage {
        self.hits.hit(content, qp, ratio)
    }

    /// The share the next frame inherits, after a frame with (`lossy`) or without loss.
    #[inline]
    pub fn persistence(&self, lossy: bool) -> Damage {
        if lossy { self.while_lossy } else { self.while_whole }
    }
}

pub(super) fn mix(a: Damage, b: Damage, share: f32) -> Damage {
    Damage {
        dissimilarity: a.dissimilarity + (b.dissimilarity - a.dissimilarity) * share,
        mse: a.mse + (b.mse - a.mse) * share,
    }
}

/// The column below `x` and the share of the way to the next, within the table.
pub(super) fn position(knots: &[f32], x: f32) -> (usize, f32) {
    let next = knots.iter().position(|&knot| knot >= x).unwrap_or(knots.len() - 1).clamp(1, knots.len() - 1);
    let share = (x - knots[next - 1]) / (knots[next] - knots[next - 1]);
    (next - 1, share.clamp(0.0, 1.0))
}

/// A picture that stays, compared with later pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct FreezeTable {
    /// Ascending ages in frames, from 1.
    pub(super) lags: Vec<f32>,
    /// Pictures between rows.
    pub(super) stride: u32,
    /// [rows, lags].
    pub(super) values: Box<[Quality]>,
}

impl FreezeTable {
    /// The uncoded picture of `age` frames ago against the current picture `content`; `None` for age 0 and in a table
    /// without rows.
    #[inline]
    pub fn at(&self, content: u32, age: u64) -> Option<Quality> {
        if age == 0 || self.values.is_empty() {
            return None;
        }
        let columns = self.lags.len();
        let rows = self.values.len() / columns;
        let row = &self.values[((content / self.stride) as usize).min(rows - 1) * columns..][..columns];
        let (column, share) = position(&self.lags, age.min(1 << 20) as f32);
        let (a, b) = (row[column], row[column + 1]);
        Some(Quality {
            ssim_db: a.ssim_db + (b.ssim_db - a.ssim_db) * share,
            psnr_db: a.psnr_db + (b.psnr_db - a.psnr_db) * share,
        })
    }

    /// What age alone costs a picture, where [`FreezeTable::at`] knows it.
    pub fn loss(&self, content: u32, age: u64) -> Option<Damage> {
        const DB: f32 = 3.010_3;
        self.at(content, age).map(|uncoded| Damage {
            dissimilarity: exp2(uncoded.ssim_db * (-1.0 / DB)),
            mse: 65_025.0 * exp2(uncoded.psnr_db * (-1.0 / DB)),
        })
    }

    /// The quality of a coded picture (`shown` when it was new) that is `age` frames old: the losses
    /// of coding and of age, 1 - SSIM and squared error, added.
    pub fn aged(&self, shown: Quality, content: u32, age: u64) -> Quality {
        self.loss(content, age).map_or(shown, |loss| loss.applied_to(shown))
    }
}

#[cfg(test)]
impl FreezeTable {
    /// A picture of any age looks like this.
    pub(crate) fn constant(quality: Quality) -> Self {
        Self { lags: vec![1.0, 3.0], stride: 4, values: [quality; 2].into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(log2_bytes: f32) -> Cell {
        Cell { log2_bytes, psnr_db: 40.0 - log2_bytes, shown_ssim_db: 10.0, shown_psnr_db: 30.0 }
    }

    #[test]
    fn a_table_returns_measured_values_and_straight_lines_between() {
        let table = LevelTable::new(&[14.0, 18.0, 22.0], &[cell(12.0), cell(11.0), cell(10.0)]);
        assert_eq!(table.rows(), 1);
        for (qp, log2) in [(14.0, 12.0), (18.0, 11.0), (20.0, 10.5), (17.0, 11.25), (26.0, 9.0)] {
            assert!((table.at(0, qp).log2_bytes - log2).abs() < 1e-5, "{qp}: {:?}", table.at(0, qp));
        }
    }

    #[test]
    fn a_table_is_bounded_outside_the_measured_range() {
        let table = LevelTable::new(&[14.0, 18.0], &[cell(12.0), cell(11.0)]);
        assert_eq!(table.at(0, 100.0), table.at(0, 22.0));
        assert_eq!(table.at(0, -100.0), table.at(0, 10.0));
    }

    /// 1 - SSIM: 10 dB is 0.1; 0.1 more makes 0.2, 6.99 dB. 30 dB PSNR is an error of 65.025; as
    /// much again costs 3.01 dB.
    #[test]
    fn damage_adds_to_the_losses_of_coding() {
        let clean = Quality { ssim_db: 10.0, psnr_db: 30.0 };
        let hurt = Damage { dissimilarity: 0.1, mse: 65.025 }.applied_to(clean);
        assert!((hurt.ssim_db - 6.9897).abs() < 1e-3 && (hurt.psnr_db - 26.9897).abs() < 1e-3, "{hurt:?}");
        let none = Damage::default().applied_to(clean);
        assert!((none.ssim_db - 10.0).abs() < 1e-3 && (none.psnr_db - 30.0).abs() < 1e-3, "{none:?}");
    }

    #[test]
    fn loss_below_the_smallest_measured_share_hurts_in_proportion() {
        let hit = |d| Damage { dissimilarity: d, mse: 100.0 * d };
        let whole = Damage { dissimilarity: 0.9, mse: 0.9 };
        let hits = HitTable {
            ratios: vec![0.1, 1.0],
            levels: vec![20.0, 30.0],
            stride: 5,
            hits: [hit(0.02), hit(0.2), hit(0.04), hit(0.4)].into(),
        };
        let table = LossTable { hits, while_lossy: whole, while_whole: whole };
        assert_eq!(table.hit(99, 20.0, 0.0), Damage::default());
        assert!((table.hit(0, 20.0, 0.05).dissimilarity - 0.01).abs() < 1e-6);
        assert!((table.hit(0, 25.0, 0.1).dissimilarity - 0.03).abs() < 1e-6);
        assert!((table.hit(0, 60.0, 1.0).dissimilarity - 0.4).abs() < 1e-6);
    }

    #[test]
    fn a_frozen_picture_loses_quality_with_every_frame() {
        let quality = |db| Quality { ssim_db: db, psnr_db: 2.0 * db };
        let table = FreezeTable { lags: vec![1.0, 3.0], stride: 4, values: [quality(20.0), quality(10.0)].into() };
        assert_eq!(table.at(0, 0), None);
        assert_eq!(table.at(7, 2), Some(quality(15.0)));
        assert_eq!(table.at(7, 500), Some(quality(10.0)));
        assert!((table.loss(7, 500).unwrap().dissimilarity - 0.1).abs() < 1e-6);
        assert_eq!(FreezeTable { values: Box::default(), ..table.clone() }.at(7, 2), None);
        let shown = quality(20.0);
        assert_eq!(table.aged(shown, 0, 0), shown);
        // 0.01 + 0.01 = 0.02: 16.99 dB.
        assert!((table.aged(shown, 0, 1).ssim_db - 16.9897).abs() < 1e-3);
    }
}
