//! How much the link will pass, and how sure that is: a probability for each rate.
//!
//! The rates are cells, equally far apart as logarithms. Between two pieces of evidence the link may move, and how much
//! it moves differs: hardly over a wire, all the time over a radio. So four models of it, from still to wild, run side
//! by side, each with a probability for each cell. Evidence favours the model that foresaw it (the interacting multiple
//! models of [blom1988], over a grid as in Sprout [winstein2013]).

use super::models::{
    FALLS_BY_FAR, FALLS_BY_MID, FALLS_TO_NOTHING, FAR, LOWER_BOUND_RATIO, MID, MODELS, Motion, NEAR, NOISE_RATIO,
    OUTLIER_RATIO, SHORT_RATIO, SHORT_SPAN, UPPER_BOUND_RATIO,
};
use legato_units::{ByteRate, Seconds, Timestamp};

/// Probabilities by model and cell.
type Mass = [[f32; CELLS]; MODELS];

/// A distribution over the rate that the link passes.
#[derive(Clone, Debug)]
pub struct Belief {
    /// By model and cell; together they are 1.
    mass: Mass,
    /// When it was so.
    at: Timestamp,
    /// The rate that got through while the application asked for no more; zero while it asked for all.
    got_through: ByteRate,
}

impl Belief {
    /// At `start` about this rate is guessed.
    pub fn new(start: Timestamp, rate: ByteRate) -> Self {
        let mut belief = Self { mass: [[1.0; CELLS]; MODELS], at: start, got_through: ByteRate::ZERO };
        belief.weigh(&distances(rate).map(|from| {
            let far = from / START_RATIO;
            1.0 / (1.0 + far * far)
        }));
        belief
    }

    /// Time passed: the link may have moved.
    pub fn advance(&mut self, now: Timestamp) {
        let since = self.since(now);
        self.at = now;
        let steps = libm::ceil(since / LONGEST_STEP);
        if steps < 1.0 {
            return;
        }
        let motion = Motion::over((since / steps).get() as f32);
        for _ in 0..steps as u32 {
            self.mass = moved(&self.mass, &motion);
        }
    }

    /// The link passed packets that waited for it at this rate.
    pub fn measured(&mut self, rate: ByteRate, span: Seconds) {
        self.got_through = ByteRate::ZERO;
        let short = SHORT_RATIO * (SHORT_SPAN / span.max(SHORTEST_SPAN)).min(1.0) as f32;
        let precision = NOISE_RATIO.map(|noise| 1.0 / libm::sqrtf(noise * noise + short * short));
        let distances = distances(rate);
        for (mass, precision) in self.mass.iter_mut().zip(precision) {
            for (mass, from) in mass.iter_mut().zip(&distances) {
                let far = from * precision;
                let near = 1.0 / (1.0 + 0.4 * far * far);
                *mass *= precision * (near * near * near + OUTLIER_RATIO);
            }
        }
        self.normalise();
    }

    /// Packets that did not wait for each other got through at this rate, and show no more.
    pub fn at_least(&mut self, rate: ByteRate) {
        self.weigh(&distances(rate).map(|from| above(from / LOWER_BOUND_RATIO)));
    }

    /// The link was asked for this rate and passed less.
    pub fn at_most(&mut self, rate: ByteRate) {
        self.got_through = ByteRate::ZERO;
        self.weigh(&distances(rate).map(|from| above(-from / UPPER_BOUND_RATIO)));
    }

    /// The application asked for no more than this rate, and it got through; until other evidence comes no quantile is
    /// below it.
    pub fn got_through(&mut self, rate: ByteRate) {
        self.got_through = if rate < ByteRate::INFINITY { rate } else { ByteRate::ZERO };
    }

    /// Quantiles of the mean rate over the 100 ms that begin at `now`. `parts` are probabilities.
    pub fn quantiles<const N: usize>(&self, now: Timestamp, parts: [f32; N]) -> [ByteRate; N] {
        let ahead = fallen(&moved(&self.mass, &Motion::ahead(self.since(now).get() as f32)));
        parts_of(&ahead, parts).map(|rate| rate.max(self.got_through))
    }

    fn since(&self, now: Timestamp) -> Seconds {
        Seconds::from(now - self.at).clamp(Seconds::ZERO, LONGEST_STEP * MOST_STEPS)
    }

    /// What evidence says of each cell, whatever the model.
    fn weigh(&mut self, likelihood: &[f32; CELLS]) {
        for mass in &mut self.mass {
            mass.iter_mut().zip(likelihood).for_each(|(mass, likelihood)| *mass *= likelihood);
        }
        self.normalise();
    }

    fn normalise(&mut self) {
        let sum: f32 = self.mass.iter().map(sum_of).sum();
        // Evidence that every model thought impossible leaves nothing; then the distribution starts anew.
        if sum.is_nan() || sum < MIN_SUM {
            self.mass = [[1.0 / (CELLS * MODELS) as f32; CELLS]; MODELS];
            return;
        }
        let scale = 1.0 / sum;
        self.mass.iter_mut().flatten().for_each(|mass| *mass *= scale);
    }
}

/// From a rate to each cell's middle, as logarithms.
fn distances(rate: ByteRate) -> [f32; CELLS] {
    let at = libm::log(rate.clamp(LOWEST, HIGHEST) / LOWEST) as f32;
    MIDDLES.map(|middle| middle - at)
}

/// In eight parts, since each addition waits for the one before.
fn sum_of(mass: &[f32; CELLS]) -> f32 {
    let mut parts = [0.0; 8];
    for eight in mass.chunks_exact(8) {
        for (part, mass) in parts.iter_mut().zip(eight) {
            *part += mass;
        }
    }
    parts.iter().sum()
}

/// Quantiles of a distribution over the cells; within a cell all logarithms are as probable.
fn parts_of<const N: usize>(mass: &Mass, parts: [f32; N]) -> [ByteRate; N] {
    let (mut sums, mut sum) = ([0.0; CELLS], 0.0);
    for (cell, sums) in sums.iter_mut().enumerate() {
        sum += mass.iter().map(|mass| mass[cell]).sum::<f32>();
        *sums = sum;
    }
    parts.map(|part| {
        let cell = sums.partition_point(|sum| *sum < part).min(CELLS - 1);
        let below = if cell == 0 { 0.0 } else { sums[cell - 1] };
        let within = ((part - below) / (sums[cell] - below).max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
        LOWEST * libm::exp((cell as f64 + f64::from(within)) * CELL_RATIO)
    })
}

/// The probability of each cell after the link has moved; at the ends it stays.
fn moved(mass: &Mass, motion: &Motion) -> Mass {
    let mut next = [[0.0; CELLS]; MODELS];
    for model in 0..MODELS {
        let mut wide = [0.0; FAR + CELLS + FAR];
        wide[..FAR].fill(mass[model][0]);
        wide[FAR..FAR + CELLS].copy_from_slice(&mass[model]);
        wide[FAR + CELLS..].fill(mass[model][CELLS - 1]);
        // As arrays of fixed length, so that the loop below works on several cells at once.
        let by = |cells: isize| -> &[f32; CELLS] {
            wide[FAR.wrapping_add_signed(cells)..].first_chunk().expect("as far as FAR on both sides")
        };
        let sides = |cells: usize| (by(-(cells as isize)), by(cells as isize));
        let ((near_below, near_above), (mid_below, mid_above), (far_below, far_above)) =
            (sides(NEAR), sides(MID), sides(FAR));
        for (cell, next) in next[model].iter_mut().enumerate() {
            *next = motion.stay[model] * mass[model][cell]
                + motion.near[model] * (near_below[cell] + near_above[cell])
                + motion.mid[model] * (mid_below[cell] + mid_above[cell])
                + motion.far[model] * (far_below[cell] + far_above[cell]);
        }
    }
    let keep = (1.0 - motion.switch) * (1.0 - motion.reset);
    let other = motion.switch * (1.0 - motion.reset) / MODELS as f32;
    let any = motion.reset / (CELLS * MODELS) as f32;
    let mut gained = [any; CELLS];
    for mass in &next {
        gained.iter_mut().zip(mass).for_each(|(gained, mass)| *gained += other * mass);
    }
    for mass in &mut next {
        mass.iter_mut().zip(&gained).for_each(|(mass, gained)| *mass = keep * *mass + gained);
    }
    next
}

/// The probability of each cell once a moment's rate has become the mean of some time: clumps come early and gaps
/// later, so the mean is more often below the measurement than above.
fn fallen(mass: &Mass) -> Mass {
    let mut next = *mass;
    for (model, (next, mass)) in next.iter_mut().zip(mass).enumerate() {
        let dead: f32 = FALLS_TO_NOTHING[model];
        let (by_mid, by_far) = (FALLS_BY_MID[model], FALLS_BY_FAR[model]);
        next[1..].iter_mut().for_each(|next| *next -= dead * *next);
        next[0] += dead * (sum_of(mass) - mass[0]);
        for (by, part) in [(MID, by_mid), (FAR, by_far)] {
            next.iter_mut().zip(&mass[by..]).for_each(|(next, above)| *next += part * above);
            next[by..].iter_mut().zip(&mass[by..]).for_each(|(next, own)| *next -= part * own);
        }
    }
    next
}

/// From 0.01 far below to 1 far above.
fn above(far: f32) -> f32 {
    0.505 + 0.495 * far / libm::sqrtf(1.0 + far * far)
}

/// From 30 kbit/s to 60 Mbit/s: a cell is 8 % wide.
const CELLS: usize = 96;
/// The lower end of the first cell.
const LOWEST: ByteRate = ByteRate::new(30e3 / 8.0);
/// The upper end of the last.
const HIGHEST: ByteRate = ByteRate::new(60e6 / 8.0);
/// The width of a cell as a logarithm: ln 2,000 over the number of cells.
const CELL_RATIO: f64 = 7.600_902_459_542_082 / CELLS as f64;
/// The logarithm of each cell's middle over the lowest rate.
const MIDDLES: [f32; CELLS] = {
    let (mut middles, mut cell) = ([0.0; CELLS], 0);
    while cell < CELLS {
        middles[cell] = (cell as f32 + 0.5) * CELL_RATIO as f32;
        cell += 1;
    }
    middles
};
/// Over a longer time more than one move is likely.
const LONGEST_STEP: Seconds = Seconds::from_millis(50.0);
/// After half a second without news the distribution is almost flat.
const MOST_STEPS: f64 = 10.0;
/// No measurement is sharper.
const SHORTEST_SPAN: Seconds = Seconds::from_millis(1.0);
/// Far above the smallest number that keeps its precision.
const MIN_SUM: f32 = 1e-20;
/// The start rate is the application's guess: a rate 1.6 times as high is half as probable.
const START_RATIO: f32 = 0.5;

#[cfg(test)]
#[path = "belief_tests.rs"]
mod tests;
