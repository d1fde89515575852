//! The hybrid codec on a clip: by budget, not by quantiser, since its encoder meets each frame's budget
//! (docs/reference/profile-format.md).

use super::arrays::{Arrays, Parsed, ascending, within};
use super::table::{mix, position};
use super::{Cell, Damage, HitTable, LevelTable};
use legato_units::elementary::log2;
use serde::Deserialize;

/// Levels are this far apart on the axis of the tables, where quantisers are.
pub(crate) const LEVEL_STEP: f32 = 4.0;
const MAX_LEVELS: usize = 16;

/// One size of a clip in the hybrid codec.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridTables {
    /// log2 of the bytes of a frame at each level, all packets of the codec together.
    log2_budgets: Vec<f32>,
    /// The same of key frames.
    log2_key_budgets: Vec<f32>,
    /// Frames at constant budgets; levels, `LEVEL_STEP` apart, replace quantisers.
    pub inter: LevelTable,
    /// Key frames, a row every `key_stride` pictures.
    pub key: LevelTable,
    /// Pictures between rows of `key`.
    pub key_stride: u32,
    /// Damage of a frame of which a share of the packets is lost, the picture before being whole.
    pub hits: HitTable,
    /// The same of a stream's first key frame.
    pub key_hits: HitTable,
    /// By level.
    inherited: Vec<Inherited>,
    /// How many levels a frame is worth less that is predicted from one so many frames before; by level.
    distances: Vec<f32>,
    distance_levels: Vec<f32>,
}

/// The shares of its damage that a picture leaves to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inherited {
    /// Unreported, and the next frame is hit itself.
    pub lossy: Damage,
    /// Unreported, and the next frame is whole.
    pub whole: Damage,
    /// The next frame is the first that was coded after the report of the loss.
    pub reported: Damage,
}

/// The part of the file's JSON text that describes it.
#[derive(Deserialize)]
pub(super) struct AboutHybrid {
    levels: usize,
    key_stride: u32,
    loss_ratios: Vec<f32>,
    loss_stride: u32,
    distances: Vec<f32>,
}

impl AboutHybrid {
    pub(super) fn check(&self) -> Parsed<()> {
        within("hybrid.levels", self.levels, 2, MAX_LEVELS)?;
        ascending("hybrid.loss_ratios", &self.loss_ratios, 2, 1e-3, 1.0)?;
        ascending("hybrid.distances", &self.distances, 2, 1.0, 64.0)?;
        for (key, stride) in [("hybrid.key_stride", self.key_stride), ("hybrid.loss_stride", self.loss_stride)] {
            if stride == 0 {
                return Err(format!("{key} 0: must be at least 1"));
            }
        }
        Ok(())
    }
}

impl HybridTables {
    pub(super) fn read(about: &AboutHybrid, frames: usize, height: u16, arrays: &Arrays<'_>) -> Parsed<Self> {
        let levels: Vec<f32> = (0..about.levels).map(|level| level as f32 * LEVEL_STEP).collect();
        let key = |quantity: &str| format!("{height}/hybrid/{quantity}");
        let budgets = |quantity: &str| {
            let bytes = arrays.integers(&key(quantity), &[about.levels], 1, 1 << 28)?;
            if bytes.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(format!("{}: must ascend", key(quantity)));
            }
            Ok(bytes.into_iter().map(|bytes| log2(bytes as f32)).collect())
        };
        let table = |prefix: &str, rows: usize| {
            let (shape, key) = ([rows, about.levels], |quantity: &str| key(&format!("{prefix}{quantity}")));
            let sizes = arrays.integers(&key("size_bytes"), &shape, 1, 1 << 28)?;
            let psnr = arrays.floats(&key("psnr_db"), &shape, 0.0, 100.0)?;
            let shown_ssim = arrays.floats(&key("shown_ssim_db"), &shape, -1.0, 60.0)?;
            let shown_psnr = arrays.floats(&key("shown_psnr_db"), &shape, 0.0, 100.0)?;
            let cells: Vec<Cell> = (0..sizes.len())
                .map(|i| Cell {
                    log2_bytes: log2(sizes[i] as f32),
                    psnr_db: psnr[i],
                    shown_ssim_db: shown_ssim[i],
                    shown_psnr_db: shown_psnr[i],
                })
                .collect();
            Ok::<_, String>(LevelTable::new(&levels, &cells))
        };
        let hits = |prefix: &str, rows: usize, stride: u32| {
            let shape = [rows, about.levels, about.loss_ratios.len()];
            let dissimilarity = arrays.floats(&key(&format!("{prefix}loss_dissimilarity")), &shape, 0.0, 2.0)?;
            let mse = arrays.floats(&key(&format!("{prefix}loss_mse")), &shape, 0.0, 65_025.0)?;
            let hits = dissimilarity.into_iter().zip(mse).map(|(dissimilarity, mse)| Damage { dissimilarity, mse });
            let (ratios, levels) = (about.loss_ratios.clone(), levels.clone());
            Ok::<_, String>(HitTable { ratios, levels, stride, hits: hits.collect() })
        };
        let shares = arrays.floats(&key("persistence"), &[about.levels, 4, 2], 0.0, 1.0)?;
        let inherited = shares.as_chunks::<8>().0.iter().map(|row| {
            let damage = |i: usize| Damage { dissimilarity: row[2 * i], mse: row[2 * i + 1] };
            // The fourth, from each frame to the next after that, is of streams that are intact otherwise.
            Inherited { lossy: damage(0), whole: damage(1), reported: damage(2) }
        });
        let shape = [about.levels, about.distances.len()];
        Ok(Self {
            log2_budgets: budgets("budget_bytes")?,
            log2_key_budgets: budgets("key_budget_bytes")?,
            inter: table("", frames)?,
            key: table("key_", frames.div_ceil(about.key_stride as usize))?,
            key_stride: about.key_stride,
            hits: hits("", (frames / about.loss_stride as usize).max(1), about.loss_stride)?,
            key_hits: hits("key_", 1, u32::MAX)?,
            inherited: inherited.collect(),
            distances: about.distances.clone(),
            distance_levels: arrays.floats(&key("distance_levels"), &shape, 0.0, 64.0)?,
        })
    }

    /// The level whose frames are measured with this budget in bytes; one step beyond the ends at most.
    pub fn level_of(&self, bytes: f32, keyframe: bool) -> f32 {
        let budgets = if keyframe { &self.log2_key_budgets } else { &self.log2_budgets };
        let log2_bytes = log2(bytes.max(1.0));
        let above = budgets.partition_point(|&known| known < log2_bytes).clamp(1, budgets.len() - 1);
        let share = (log2_bytes - budgets[above - 1]) / (budgets[above] - budgets[above - 1]);
        ((above - 1) as f32 + share).clamp(-1.0, budgets.len() as f32) * LEVEL_STEP
    }

    /// The level at which the predicted frame of a row looks as it is given, in dB of SSIM.
    pub fn level_that_shows(&self, row: usize, ssim_db: f32) -> f32 {
        let (mut low, mut high) = (-LEVEL_STEP, self.log2_budgets.len() as f32 * LEVEL_STEP);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let side = if self.inter.at(row, middle).shown_ssim_db < ssim_db { &mut low } else { &mut high };
            *side = middle;
        }
        low
    }

    /// The shares of damage that pictures of a level leave to the next.
    #[inline]
    pub fn inherited(&self, level: f32) -> Inherited {
        let at = (level / LEVEL_STEP).clamp(0.0, (self.inherited.len() - 1) as f32);
        let below = (at as usize).min(self.inherited.len() - 2);
        let (a, b, share) = (self.inherited[below], self.inherited[below + 1], at - below as f32);
        Inherited {
            lossy: mix(a.lossy, b.lossy, share),
            whole: mix(a.whole, b.whole, share),
            reported: mix(a.reported, b.reported, share),
        }
    }

    /// How many levels a frame of a level is worth less if it is predicted from `distance` frames before.
    pub fn distance_cost(&self, level: f32, distance: u8) -> f32 {
        if distance <= 1 {
            return 0.0;
        }
        let columns = self.distances.len();
        let row = ((level / LEVEL_STEP).clamp(0.0, (self.inherited.len() - 1) as f32) + 0.5) as usize;
        let row = &self.distance_levels[row * columns..][..columns];
        let (column, share) = position(&self.distances, f32::from(distance));
        row[column] + (row[column + 1] - row[column]) * share
    }
}

/// A level to 1/256 of a step.
const HALVINGS: usize = 12;

#[cfg(test)]
impl HybridTables {
    /// One picture at two levels, 1000 and 2000 bytes, 10 and 20 dB; half a frame lost costs 0.1 of SSIM, all 0.2.
    pub(crate) fn example() -> Self {
        let cell = |bytes: f32, db: f32| Cell {
            log2_bytes: log2(bytes),
            psnr_db: 2.0 * db,
            shown_ssim_db: db,
            shown_psnr_db: 2.0 * db,
        };
        let levels = vec![0.0, LEVEL_STEP];
        let hit = |dissimilarity: f32| Damage { dissimilarity, mse: 100.0 * dissimilarity };
        let hits = [hit(0.1), hit(0.2), hit(0.1), hit(0.2)].into();
        let hits = HitTable { ratios: vec![0.5, 1.0], levels: levels.clone(), stride: 15, hits };
        let share = |share| Damage { dissimilarity: share, mse: share };
        let inherited = Inherited { lossy: share(0.5), whole: share(0.8), reported: share(0.4) };
        Self {
            log2_budgets: vec![log2(1_000.0), log2(2_000.0)],
            log2_key_budgets: vec![log2(4_000.0), log2(8_000.0)],
            inter: LevelTable::new(&levels, &[cell(1_000.0, 10.0), cell(2_000.0, 20.0)]),
            key: LevelTable::new(&levels, &[cell(4_000.0, 12.0), cell(8_000.0, 18.0)]),
            key_stride: 16,
            key_hits: hits.clone(),
            hits,
            inherited: vec![inherited; 2],
            distances: vec![1.0, 4.0],
            distance_levels: vec![0.0, 1.5, 0.0, 3.0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half an octave is half a step of four.
    #[test]
    fn a_budget_has_its_level() {
        let tables = HybridTables::example();
        for (bytes, level) in
            [(1_000.0, 0.0), (1_414.2, 2.0), (2_000.0, 4.0), (4_000.0, 8.0), (9_000.0, 8.0), (1.0, -4.0)]
        {
            assert!((tables.level_of(bytes, false) - level).abs() < 1e-3, "{bytes}: {}", tables.level_of(bytes, false));
        }
        assert!((tables.level_of(8_000.0, true) - 4.0).abs() < 1e-3);
        assert!((tables.level_that_shows(0, 15.0) - 2.0).abs() < 0.01);
    }

    /// Two frames back lies a third of the way from one to four.
    #[test]
    fn a_frame_predicted_from_further_back_is_worth_less() {
        let tables = HybridTables::example();
        assert_eq!((tables.distance_cost(0.0, 1), tables.distance_cost(0.0, 4)), (0.0, 1.5));
        assert!((tables.distance_cost(4.0, 2) - 1.0).abs() < 1e-6);
        assert_eq!(tables.distance_cost(4.0, 30), 3.0);
    }
}
