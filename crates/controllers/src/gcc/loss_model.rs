//! How likely is the observed loss if the path carries a given rate and loses a given share of
//! everything anyway? The likelihood that LossBasedBweV2 maximises [libwebrtc-m150].
//!
//! A packet is lost with P = inherent + (1 − inherent) · (sent − bandwidth) / sent if more is sent
//! than the bandwidth, else with P = inherent. Over a window of observations, each weighted by its
//! age, a candidate scores Σ w · (lost ln P + got ln(1 − P) + bias · sent).
//!
//! Logarithms dominate the cost, so they are shared. Observations sent below the candidate's bandwidth all have the
//! same P. Above it ln(1 − P) = ln(1 − inherent) + ln bandwidth − ln sent, of which the last is computed once per
//! observation. Only lossy observations sent above the candidate need a separate one. The tests compare this with the
//! plain formula.

use legato_units::DataRate;

/// A hypothesis about the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channel {
    /// The share that is lost at any rate.
    pub inherent_loss: f64,
    /// The path's capacity.
    pub bandwidth: DataRate,
}

/// Packets sent and lost over at least a quarter of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Mean over the observation.
    pub sending_rate: DataRate,
    /// Total bytes.
    pub bytes: u64,
    /// Those lost.
    pub lost_bytes: u64,
}

/// The window of observations, newest first, as columns.
#[derive(Clone, Debug)]
pub struct LossModel {
    window: usize,
    temporal_weight: f64,
    len: usize,
    sent_bps: [f64; MAX_WINDOW],
    ln_sent: [f64; MAX_WINDOW],
    lost_kb: [f64; MAX_WINDOW],
    got_kb: [f64; MAX_WINDOW],
    /// `temporal_weight` to the power of the age.
    weight: [f64; MAX_WINDOW],
    /// The weighted columns, recomputed with every observation.
    weighted_lost: [f64; MAX_WINDOW],
    weighted_got: [f64; MAX_WINDOW],
    weighted_total: f64,
    lossy: usize,
    max_sent_bps: f64,
    /// The place of the newest observation in a ring of `window`.
    newest: usize,
}

/// To whole numbers, halves to even: above 2^52 a double has no fraction, so adding that much
/// rounds, and subtracting it again keeps the rest. Not every 64-bit processor has an instruction
/// for this, and without it this would be a call. For 0 up to 2^51.
#[inline]
fn round_ties_even(value: f64) -> f64 {
    const WHOLE: f64 = (1u64 << 52) as f64;
    if value < WHOLE { (value + WHOLE) - WHOLE } else { value }
}

impl LossModel {
    /// At most `window` observations, each older one weighted by another factor of `temporal_weight`.
    pub fn new(window: usize, temporal_weight: f64) -> Self {
        let window = window.clamp(2, MAX_WINDOW);
        let mut weight = [1.0; MAX_WINDOW];
        for age in 1..window {
            weight[age] = weight[age - 1] * temporal_weight;
        }
        let zero = [0.0; MAX_WINDOW];
        Self {
            window,
            temporal_weight,
            len: 0,
            sent_bps: zero,
            ln_sent: zero,
            lost_kb: zero,
            got_kb: zero,
            weight,
            weighted_lost: zero,
            weighted_got: zero,
            weighted_total: 0.0,
            lossy: 0,
            max_sent_bps: 0.0,
            newest: window - 1,
        }
    }

    /// Forget all observations.
    pub fn clear(&mut self) {
        *self = Self::new(self.window, self.temporal_weight);
    }

    /// Take the newest observation.
    pub fn push(&mut self, observation: Observation) {
        self.len = (self.len + 1).min(self.window);
        self.newest = (self.newest + 1) % self.window;
        let sent_bps = observation.sending_rate.as_bps_f64();
        let lost_kb = observation.lost_bytes as f64 / 1e3;
        let got_kb = observation.bytes.saturating_sub(observation.lost_bytes) as f64 / 1e3;
        let ln_sent = if sent_bps > 0.0 { libm::log(sent_bps) } else { 0.0 };
        let columns = [&mut self.sent_bps, &mut self.ln_sent, &mut self.lost_kb, &mut self.got_kb];
        for (column, value) in columns.into_iter().zip([sent_bps, ln_sent, lost_kb, got_kb]) {
            column.copy_within(..self.len - 1, 1);
            column[0] = value;
        }
        self.weighted_total = 0.0;
        self.lossy = 0;
        self.max_sent_bps = 0.0;
        for age in 0..self.len {
            self.weighted_lost[age] = self.weight[age] * self.lost_kb[age];
            self.weighted_got[age] = self.weight[age] * self.got_kb[age];
            self.weighted_total += self.weighted_lost[age] + self.weighted_got[age];
            self.lossy += usize::from(self.lost_kb[age] > 0.0);
            self.max_sent_bps = self.max_sent_bps.max(self.sent_bps[age]);
        }
    }

    /// The share of bytes lost, weighted by age. From the fourth observation on the best and the worst are left out as
    /// spikes. The worst stays if it was sent at `spike_ratio` times the median rate or more: then a high rate explains
    /// the high loss.
    pub fn average_loss(&self, enough: bool, spike_ratio: f64) -> f64 {
        if self.lossy == 0 {
            return 0.0;
        }
        // Weighted sizes are whole bytes there. It matters: the average is compared with an inherent
        // loss that is nearly equal to it.
        let weighted = |age: usize| {
            let whole = |kb: f64| round_ties_even(self.weight[age] * kb * 1e3);
            (whole(self.lost_kb[age] + self.got_kb[age]), whole(self.lost_kb[age]))
        };
        let (mut total, mut lost) = (0.0, 0.0);
        let (mut min, mut min_at) = (1.0, None);
        let (mut max, mut max_at) = (0.0, None);
        // Of equally good or bad observations the first of the ring counts, in libwebrtc's order.
        let ring = (0..=self.newest).rev().chain((self.newest + 1..self.window).rev());
        for age in ring.filter(|age| *age < self.len) {
            let (bytes, lost_bytes) = weighted(age);
            total += bytes;
            lost += lost_bytes;
            let kb = self.lost_kb[age] + self.got_kb[age];
            let loss = if kb > 0.0 { self.lost_kb[age] / kb } else { 0.0 };
            if loss > max {
                (max, max_at) = (loss, Some(age));
            }
            if loss < min {
                (min, min_at) = (loss, Some(age));
            }
        }
        if enough {
            let worst_rate = max_at.map_or(0.0, |age| self.sent_bps[age]);
            if self.is_median_above(worst_rate, spike_ratio) {
                for (bytes, lost_bytes) in [min_at, max_at].into_iter().flatten().map(weighted) {
                    total -= bytes;
                    lost -= lost_bytes;
                }
            }
        }
        if total > 0.0 { (lost / total).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether `ratio` times the median of the rates is above `rate`.
    fn is_median_above(&self, rate: f64, ratio: f64) -> bool {
        let positive = self.sent_bps[..self.len].iter().copied().filter(|&sent| sent > 0.0);
        let min = positive.fold(f64::INFINITY, f64::min);
        // The median is at least the minimum: usually no sorting is needed.
        (min < f64::INFINITY && ratio >= 0.0 && min * ratio > rate) || self.median_sent_bps() * ratio > rate
    }

    fn median_sent_bps(&self) -> f64 {
        let mut rates = [0.0; MAX_WINDOW];
        let mut count = 0;
        for &rate in self.sent_bps[..self.len].iter().filter(|rate| **rate > 0.0) {
            rates[count] = rate;
            count += 1;
        }
        let rates = &mut rates[..count];
        rates.sort_unstable_by(f64::total_cmp);
        match count {
            0 => 0.0,
            odd if odd % 2 == 1 => rates[odd / 2],
            even => (rates[even / 2 - 1] + rates[even / 2]) / 2.0,
        }
    }

    /// A lower bound of `newton_step` if nothing was lost: Σ w got / Q over Σ w got / Q² is at least
    /// the smallest Q = 1 − P. If that takes the inherent loss below its minimum anyway, the sums are
    /// not needed. `None` if anything was lost.
    pub fn min_newton_step(&self, channel: Channel) -> Option<f64> {
        if self.lossy > 0 || self.weighted_total <= 0.0 {
            return None;
        }
        let shape = Shape::of(channel);
        let passed = if self.max_sent_bps > shape.bandwidth_bps { shape.passed_bps / self.max_sent_bps } else { 1.0 };
        Some(passed.min(1.0 - shape.below))
    }

    /// First over second derivative of the likelihood by the inherent loss: what Newton's method
    /// subtracts.
    pub fn newton_step(&self, channel: Channel) -> f64 {
        let shape = Shape::of(channel);
        let (mut first, mut second) = (0.0, 0.0);
        let (mut below_lost, mut below_got) = (0.0, 0.0);
        for age in 0..self.len {
            let (lost, got) = (self.weighted_lost[age], self.weighted_got[age]);
            if self.sent_bps[age] <= shape.bandwidth_bps {
                below_lost += lost;
                below_got += got;
                continue;
            }
            let per_got = (self.sent_bps[age] * shape.per_passed).min(1.0 / MIN_PROBABILITY);
            first -= got * per_got;
            second -= got * per_got * per_got;
            if lost > 0.0 {
                let per_lost = 1.0 / probability(1.0 - shape.passed_bps / self.sent_bps[age]);
                first += lost * per_lost;
                second -= lost * per_lost * per_lost;
            }
        }
        let (per_lost, per_got) = (1.0 / shape.below, 1.0 / (1.0 - shape.below));
        first += below_lost * per_lost - below_got * per_got;
        second -= below_lost * per_lost * per_lost + below_got * per_got * per_got;
        // Negative for any data; without data there is no step.
        if second < 0.0 { first / second } else { 0.0 }
    }

    /// The score of a candidate; `bias` per kilobyte.
    pub fn objective(&self, channel: Channel, bias: f64) -> f64 {
        let shape = Shape::of(channel);
        let (mut below_lost, mut below_got) = (0.0, 0.0);
        let (mut above_got, mut above) = (0.0, 0.0);
        for age in 0..self.len {
            let (lost, got) = (self.weighted_lost[age], self.weighted_got[age]);
            let sent_bps = self.sent_bps[age];
            if sent_bps <= shape.bandwidth_bps {
                below_lost += lost;
                below_got += got;
                continue;
            }
            if sent_bps * shape.per_passed > 1.0 / MIN_PROBABILITY {
                above += got * LN_MIN_PROBABILITY;
            } else {
                above_got += got;
                above -= got * self.ln_sent[age];
            }
            if lost > 0.0 {
                above += lost * libm::log(probability(1.0 - shape.passed_bps / sent_bps));
            }
        }
        let mut objective = bias * self.weighted_total + above;
        if above_got > 0.0 {
            objective += above_got * libm::log(shape.passed_bps);
        }
        if below_got > 0.0 {
            objective += below_got * libm::log(1.0 - shape.below);
        }
        if below_lost > 0.0 {
            objective += below_lost * libm::log(shape.below);
        }
        objective
    }
}

/// The terms that all observations share for a candidate.
struct Shape {
    bandwidth_bps: f64,
    /// P if no more is sent than the bandwidth.
    below: f64,
    /// (1 − inherent) · bandwidth: the delivered rate if more is sent.
    passed_bps: f64,
    per_passed: f64,
}

impl Shape {
    fn of(channel: Channel) -> Self {
        let inherent = channel.inherent_loss.clamp(0.0, 1.0);
        let bandwidth_bps = channel.bandwidth.as_bps_f64();
        let passed_bps = (1.0 - inherent) * bandwidth_bps;
        Self { bandwidth_bps, below: probability(inherent), passed_bps, per_passed: 1.0 / passed_bps }
    }
}

fn probability(p: f64) -> f64 {
    p.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
}

/// More observations than any configuration uses.
pub const MAX_WINDOW: usize = 32;
// [libwebrtc-m150] loss_based_bwe_v2: GetLossProbability.
const MIN_PROBABILITY: f64 = 1e-6;
/// ln 10⁻⁶.
const LN_MIN_PROBABILITY: f64 = -13.815510557964274;

#[cfg(test)]
#[path = "loss_model_tests.rs"]
mod tests;
