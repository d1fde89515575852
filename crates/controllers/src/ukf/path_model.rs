//! The filter's state of the path: capacity, queue and minimum delay, learned burst by burst.
//! docs/papers/ukf.md derives the model.

use super::bursts::Burst;
use super::config::FilterConfig;
use legato_control::estimate::unscented_kalman::{Scaling, UnscentedKalman, Update};
use legato_units::DataRate;

/// State: ln of the capacity in bit/s; queuing delay of the burst's first packet, s; the path's own
/// delay relative to the first packet's, s.
const CAPACITY: usize = 0;
const QUEUE: usize = 1;
const BASE: usize = 2;

/// The filter and what surrounds it.
#[derive(Clone)]
pub struct PathModel {
    config: FilterConfig,
    start: DataRate,
    filter: Option<UnscentedKalman<3>>,
    /// Bits of the previous burst, which join the queue before this one.
    bits_before: f64,
    /// Standard deviation of delays the model does not explain, s.
    jitter_s: f64,
    min: MinDelay,
    /// How often the model was widened because a measurement was impossible under it.
    pub surprises: u64,
}

impl PathModel {
    /// Knows only a rate to start with.
    pub fn new(config: FilterConfig, start: DataRate) -> Self {
        let jitter_s = 1e-3 * config.jitter_ms;
        let (filter, min) = (None, MinDelay::default());
        Self { config, start, filter, bits_before: 0.0, jitter_s, min, surprises: 0 }
    }

    /// The most likely capacity; `None` before the first burst.
    #[inline]
    pub fn capacity(&self) -> Option<DataRate> {
        self.filter.map(|filter| DataRate::from_bps_f64(libm::exp(filter.state()[CAPACITY])))
    }

    /// Standard deviation of the capacity as a share of it.
    #[inline]
    pub fn doubt_ratio(&self) -> f64 {
        self.filter.map_or(1.0, |filter| filter.covariance()[CAPACITY][CAPACITY].sqrt())
    }

    /// How long the last burst waited, s.
    #[inline]
    pub fn queue_s(&self) -> f64 {
        self.filter.map_or(0.0, |filter| filter.state()[QUEUE])
    }

    /// Standard deviation of that, s.
    #[inline]
    pub fn queue_doubt_s(&self) -> f64 {
        self.filter.map_or(0.0, |filter| filter.covariance()[QUEUE][QUEUE].sqrt())
    }

    /// Delay without a queue, relative to the first packet's, s.
    #[inline]
    pub fn base_s(&self) -> f64 {
        self.filter.map_or(0.0, |filter| filter.state()[BASE])
    }

    /// Standard deviation of delays the model does not explain, s.
    #[inline]
    pub fn jitter_s(&self) -> f64 {
        self.jitter_s
    }

    /// Learn from a burst.
    pub fn learn(&mut self, burst: &Burst) {
        let learned = match (self.filter, burst.gap_s) {
            (Some(filter), Some(gap_s)) => self.step(filter, burst, gap_s),
            _ => None,
        };
        self.filter = learned.or_else(|| self.begin(burst));
        self.bits_before = burst.total_bits;
        self.bound();
        self.anchor(burst);
    }

    /// The first burst is assumed to have met almost no queue; it is the only information about the base.
    fn begin(&mut self, burst: &Burst) -> Option<UnscentedKalman<3>> {
        self.min = MinDelay::default();
        let capacity = libm::log(self.start.as_bps_f64().clamp(MIN_BPS, MAX_BPS));
        let mut filter = UnscentedKalman::new([capacity, 0.0, burst.delay_s], FIRST_VARIANCES, Scaling::WIDE);
        self.measure(&mut filter, burst)?;
        Some(filter)
    }

    fn step(&mut self, mut filter: UnscentedKalman<3>, burst: &Burst, gap_s: f64) -> Option<UnscentedKalman<3>> {
        let elapsed_s = gap_s.clamp(1e-3, 1.0);
        let variance = |per_root_s: f64| per_root_s * per_root_s * elapsed_s;
        let noise = [
            variance(self.config.capacity_walk_ratio),
            variance(1e-3 * self.config.queue_walk_ms),
            variance(1e-3 * self.config.base_walk_ms),
        ];
        let bits_before = self.bits_before;
        filter.predict(|x| after(x, bits_before, gap_s), &noise)?;
        let predicted = filter;
        let innovation = self.measure(&mut filter, burst)?;
        let late_s = innovation.late_s;
        if innovation.surprise <= SURPRISE {
            self.learn_jitter(late_s, innovation.variance);
            return Some(filter);
        }
        // The model must have been wrong. Whatever could explain the difference is doubted: a queue
        // that came from elsewhere or went, and the capacity; and if packets came earlier than
        // possible, the path's own delay.
        self.surprises += 1;
        filter = predicted;
        filter.doubt(CAPACITY, SURPRISED_CAPACITY);
        filter.doubt(QUEUE, late_s * late_s);
        let early_s = (filter.state()[BASE] - burst.delay_s).max(0.0);
        filter.doubt(BASE, early_s * early_s);
        self.measure(&mut filter, burst)?;
        // It may have been mere jitter after all: then more will follow.
        self.learn_jitter(late_s, 0.0);
        Some(filter)
    }

    /// Update with the burst's measurements.
    fn measure(&self, filter: &mut UnscentedKalman<3>, burst: &Burst) -> Option<Innovation> {
        let variance = self.jitter_s * self.jitter_s;
        let rest_bits = burst.total_bits - burst.first_bits;
        if rest_bits > 0.0 {
            // Both values depend on the first arrival, so their errors are correlated.
            let noise = [[variance, -variance], [-variance, 2.0 * variance]];
            let seen = [burst.delay_s, burst.arrived_s];
            let expect = |x: &[f64; 3]| {
                let per_bit = libm::exp(-x[CAPACITY]);
                [delay(x, burst.first_bits, per_bit), span(x, rest_bits, burst.departed_s, per_bit)]
            };
            filter.update(expect, &seen, &noise).map(|update| Innovation::of(&update, variance))
        } else {
            let expect = |x: &[f64; 3]| [delay(x, burst.first_bits, libm::exp(-x[CAPACITY]))];
            filter.update(expect, &[burst.delay_s], &[[variance]]).map(|update| Innovation::of(&update, variance))
        }
    }

    /// The innovation's variance is the jitter's plus that of the prediction; what exceeds the
    /// latter belongs to the former. A single delay, however odd, shows little.
    fn learn_jitter(&mut self, late_s: f64, known: f64) {
        let late_s = late_s.clamp(-MAX_DEVIATIONS * self.jitter_s, MAX_DEVIATIONS * self.jitter_s);
        let unexplained = (late_s * late_s - known).max(0.0);
        let variance = self.jitter_s * self.jitter_s;
        let (min, max) = (1e-3 * self.config.jitter_ms, MAX_JITTER_S);
        self.jitter_s = (variance + JITTER_GAIN * (unexplained - variance)).max(0.0).sqrt().clamp(min, max);
    }

    /// Values stay possible, and no variance vanishes or grows without end.
    fn bound(&mut self) {
        let Some(filter) = &mut self.filter else { return };
        let x = *filter.state();
        filter.place(CAPACITY, x[CAPACITY].clamp(libm::log(MIN_BPS), libm::log(MAX_BPS)));
        filter.place(QUEUE, x[QUEUE].clamp(0.0, MAX_QUEUE_S));
        filter.bound(&MIN_VARIANCES, &MAX_VARIANCES);
    }

    /// A delay that never fell for two windows is the path's: the route changed, or others keep a queue that no
    /// restraint here will drain.
    fn anchor(&mut self, burst: &Burst) {
        let Some(filter) = &mut self.filter else { return };
        let sent_s = burst.first_bits * libm::exp(-filter.state()[CAPACITY]);
        let window_s = self.config.base_window_s;
        let Some(min_s) = self.min.push(burst.delay_s - sent_s, burst.gap_s.unwrap_or(0.0), window_s) else {
            return;
        };
        let base_s = filter.state()[BASE];
        if min_s > base_s + ANCHOR_S + 2.0 * self.jitter_s {
            filter.place(BASE, min_s);
            filter.place(QUEUE, (filter.state()[QUEUE] + base_s - min_s).max(0.0));
        }
    }
}

/// The innovation of an update.
struct Innovation {
    /// How much later than predicted the first packet came, s.
    late_s: f64,
    /// The variance of that prediction, without jitter.
    variance: f64,
    /// The squared innovation in units of the expected one, per value.
    surprise: f64,
}

impl Innovation {
    fn of<const M: usize>(update: &Update<M>, jitter: f64) -> Self {
        let (late_s, variance) = (update.innovation[0], update.variances[0] - jitter);
        Self { late_s, variance, surprise: update.surprise / M as f64 }
    }
}

/// The state when the next burst's first packet reaches the bottleneck: the bytes that joined the queue minus the bytes
/// sent since, at least zero.
fn after(x: &[f64; 3], bits_before: f64, gap_s: f64) -> [f64; 3] {
    let joined_s = bits_before * libm::exp(-x[CAPACITY]);
    [x[CAPACITY], (x[QUEUE].max(0.0) + joined_s - gap_s).max(0.0), x[BASE]]
}

/// The first packet's delay: the path's own, the queue's, and its own time on the link.
fn delay(x: &[f64; 3], first_bits: f64, per_bit: f64) -> f64 {
    x[BASE] + x[QUEUE].max(0.0) + first_bits * per_bit
}

/// How long the rest of the burst takes to arrive: at the link's rate, but no faster than it left
/// minus the first packet's wait.
fn span(x: &[f64; 3], rest_bits: f64, departed_s: f64, per_bit: f64) -> f64 {
    (rest_bits * per_bit).max(departed_s - x[QUEUE].max(0.0))
}

/// The minimum delay of the last one to two windows.
#[derive(Clone, Copy, Default)]
struct MinDelay {
    elapsed_s: f64,
    now: Option<f64>,
    before: Option<f64>,
}

impl MinDelay {
    /// Take a delay; at the end of a window, returns the minimum of this one and the one before.
    fn push(&mut self, delay_s: f64, gap_s: f64, window_s: f64) -> Option<f64> {
        let now = self.now.map_or(delay_s, |now| now.min(delay_s));
        self.now = Some(now);
        self.elapsed_s += gap_s;
        if self.elapsed_s < window_s {
            return None;
        }
        self.elapsed_s = 0.0;
        self.now = None;
        self.before.replace(now).map(|before| before.min(now))
    }
}

// All of these are ours; docs/papers/ukf.md says how they were found.
/// The range of capacities.
const MIN_BPS: f64 = 5e3;
const MAX_BPS: f64 = 10e9;
const MAX_QUEUE_S: f64 = 60.0;
/// A factor of e either way; 2 ms; 1 s.
const FIRST_VARIANCES: [f64; 3] = [1.0, 4e-6, 1.0];
/// 1 %; 0.1 ms; 0.05 ms.
const MIN_VARIANCES: [f64; 3] = [1e-4, 1e-8, 2.5e-9];
/// A factor of e; 1 s; 1 s.
const MAX_VARIANCES: [f64; 3] = [1.0, 1.0, 1.0];
/// Twice the mean occurs once in a dozen measurements, eight times once in thousands.
const SURPRISE: f64 = 8.0;
/// 30 %.
const SURPRISED_CAPACITY: f64 = 0.09;
const JITTER_GAIN: f64 = 0.03;
const MAX_DEVIATIONS: f64 = 4.0;
const MAX_JITTER_S: f64 = 0.03;
const ANCHOR_S: f64 = 0.005;

#[cfg(test)]
#[path = "path_model_tests.rs"]
mod tests;
