//! Packet delay variation by RFC 8868 section 4.5.2: non-reordering (NR-BPDV).
//!
//! A packet n gets z(n) = |clamp(N(0, std²), ±N_STD·std)| (section 4.5.3), or the same shifted to be at least zero, and
//! never passes its predecessor. So j(n) = max(s(n) + z(n), j(n−1) + serial(n−1)), where serial is the time of the
//! previous packet on the slowest link.

use super::Lost;
use super::burst::{by_size, is_whole, pass_each};
use super::{DropReason, Eager, Stage};
use crate::Ecn;
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::sync::OnceLock;

/// Parameters of the variation; the defaults are RFC 8868's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JitterConfig {
    /// Standard deviation.
    pub std: TimeDelta,
    /// Where the distribution is cut, in standard deviations; 0 to 3.25.
    pub n_std: f64,
    /// How the cut Gaussian becomes a delay.
    pub distribution: Distribution,
    /// The slowest link after it, whose serialisation keeps packets apart; `None`: no such link.
    pub serial: Option<DataRate>,
}

impl Default for JitterConfig {
    fn default() -> Self {
        Self { std: TimeDelta::from_millis(5), n_std: 3.0, distribution: Distribution::default(), serial: None }
    }
}

/// How the cut Gaussian, which has both signs, becomes a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Its absolute value, as [rfc8868] recommends: 0 to 15 ms by the defaults, mean 4.
    #[default]
    Folded,
    /// Shifted by N_STD·std: 0 to 30 ms by the defaults, mean 15.
    Shifted,
}

/// The stage; see the module.
#[derive(Clone, Debug)]
pub struct Jitter {
    config: JitterConfig,
    rng: ChaCha8Rng,
    quantiles: &'static Quantiles,
    std_ns: f64,
    n_std: f32,
    /// Variations drawn ahead, in ns: in a block they cost half as much as one by one.
    ahead: [i64; BLOCK],
    used: usize,
    /// No packet may leave before this: the last exit and its serialisation.
    free_at: Timestamp,
    /// The last size and its serialization.
    serial: (DataSize, TimeDelta),
}

impl Jitter {
    /// A variation with its own random stream. `n_std` is clamped to its range.
    pub fn new(config: JitterConfig, rng: ChaCha8Rng) -> Self {
        let n_std = if config.n_std.is_nan() { 0.0 } else { config.n_std.clamp(0.0, MAX_N_STD) };
        Self {
            config,
            rng,
            quantiles: Quantiles::shared(),
            std_ns: config.std.as_nanos().max(0) as f64,
            n_std: n_std as f32,
            ahead: [0; BLOCK],
            used: BLOCK,
            free_at: Timestamp::ZERO,
            serial: (DataSize::ZERO, TimeDelta::ZERO),
        }
    }

    /// [rfc8868] §4.5.3: z(n) = |clamp(N(0, std²), −N_STD·std, +N_STD·std)|
    #[inline(never)]
    fn draw(&mut self) {
        let mut words = [0; BLOCK * 2];
        self.rng.fill_bytes(&mut words);
        for (z, word) in self.ahead.iter_mut().zip(words.chunks_exact(2)) {
            let normal = self.quantiles.at(u16::from_le_bytes([word[0], word[1]]));
            let cut = normal.clamp(-self.n_std, self.n_std);
            let delay = match self.config.distribution {
                Distribution::Folded => cut.abs(),
                Distribution::Shifted => cut + self.n_std,
            };
            *z = (f64::from(delay) * self.std_ns) as i64;
        }
        self.used = 0;
    }

    /// The serialization of a packet.
    #[inline]
    fn serial_of(&mut self, size: DataSize) -> TimeDelta {
        let Some(rate) = self.config.serial else { return TimeDelta::ZERO };
        // Consecutive packets are mostly of one size, and a division costs more than everything else.
        if size != self.serial.0 {
            self.serial = (size, size / rate);
        }
        self.serial.1
    }

    /// Delay packets of one size.
    #[inline]
    fn delay(&mut self, at: &mut [Timestamp], serial: TimeDelta) {
        let mut rest = at;
        let mut free_at = self.free_at;
        while !rest.is_empty() {
            if self.used == BLOCK {
                self.draw();
            }
            let ahead = &self.ahead[self.used.min(BLOCK)..];
            let drawn = ahead.len().min(rest.len());
            let (run, behind) = rest.split_at_mut(drawn);
            for (at, &z) in run.iter_mut().zip(ahead) {
                // [rfc8868] §4.5.2: j(n) = max(j(n), j(n−1) + serial(n−1))
                *at = at.saturating_add(TimeDelta::from_nanos(z)).max(free_at);
                free_at = at.saturating_add(serial);
            }
            self.used += drawn;
            rest = behind;
        }
        self.free_at = free_at;
    }
}

impl Stage for Jitter {}

impl Eager for Jitter {
    #[inline]
    fn transit(&mut self, now: Timestamp, size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        if self.used == BLOCK {
            self.draw();
        }
        let z = TimeDelta::from_nanos(self.ahead[self.used % BLOCK]);
        self.used += 1;
        // [rfc8868] §4.5.2: j(n) = max(j(n), j(n−1) + serial(n−1))
        let exit = now.saturating_add(z).max(self.free_at);
        self.free_at = exit.saturating_add(self.serial_of(size));
        Ok(exit)
    }

    #[inline]
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        if !is_whole(at, lost) {
            return pass_each(self, burst, at, lost);
        }
        let mut rest = at;
        for (packets, size) in by_size(burst) {
            if packets == 0 {
                continue;
            }
            let serial = self.serial_of(size);
            let (run, behind) = rest.split_at_mut(packets);
            self.delay(run, serial);
            rest = behind;
        }
    }
}

/// The standard normal's quantiles at 2,048 equal steps of probability, read by interpolation: a
/// tenth of the cost of a logarithm and a cosine. Exact to 0.005 standard deviations within ±3.
#[derive(Debug)]
struct Quantiles([f32; CELLS + 1]);

impl Quantiles {
    fn shared() -> &'static Self {
        static TABLE: OnceLock<Quantiles> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut table = [0.0; CELLS + 1];
            for (index, value) in table.iter_mut().enumerate() {
                *value = match index {
                    0 => -TAIL,
                    CELLS => TAIL,
                    _ => normal_quantile(index as f64 / CELLS as f64) as f32,
                };
            }
            Self(table)
        })
    }

    #[inline]
    fn at(&self, uniform: u16) -> f32 {
        let cell = usize::from(uniform >> FRACTION_BITS);
        let within = (f32::from(uniform & ((1 << FRACTION_BITS) - 1)) + 0.5) * (1.0 / (1u16 << FRACTION_BITS) as f32);
        let (low, high) = (self.0[cell], self.0[cell + 1]);
        low + (high - low) * within
    }
}

/// The z below which the standard normal has probability `p`, by bisection of Φ(z) = erfc(−z/√2)/2;
/// once per process, so simplicity beats speed.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if libm::erfc(-middle * core::f64::consts::FRAC_1_SQRT_2) / 2.0 < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Half a refill of the generator.
const BLOCK: usize = 64;
const CELLS: usize = 2_048;
/// Sixteen bits per packet are enough: at 5 ms of deviation neighbouring values are 0.2 µs apart in the middle.
const FRACTION_BITS: u32 = 16 - CELLS.ilog2();
/// The outermost cells hold what lies beyond ±3.297; below that any cut is exact.
const TAIL: f32 = 4.0;
const MAX_N_STD: f64 = 3.25;

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn delays(config: JitterConfig, packets: i64, apart: TimeDelta) -> Vec<f64> {
        let mut stage = Jitter::new(config, ChaCha8Rng::seed_from_u64(5));
        let mut last = Timestamp::ZERO;
        (0..packets)
            .map(|n| {
                let now = Timestamp::ZERO + apart * n;
                let Ok(at) = stage.transit(now, DataSize::from_bytes(1_250), &mut Ecn::NotEct) else {
                    panic!("jitter drops nothing");
                };
                assert!(at >= last, "reordered");
                last = at;
                (at - now).as_millis_f64()
            })
            .collect()
    }

    /// Mean and variance, and the shares of `at` exactly and of `from` to `to`.
    fn moments(delays: &[f64], at: &[f64], (from, to): (f64, f64)) -> [f64; 4] {
        let n = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / n;
        let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n;
        let edges = delays.iter().filter(|delay| at.contains(delay)).count() as f64 / n;
        let within = delays.iter().filter(|&&d| (from..to).contains(&d)).count() as f64 / n;
        [mean, variance, edges, within]
    }

    /// [rfc8868] §4.5.3, by hand: |N(0, 5 ms)|, cut at 3 standard deviations, has the mean 5 · 0.79712 = 3.986 ms (4.0 without
    /// the cut) and the variance 24.875 − 3.986² = 8.99, within 0 to 15 ms.
    #[test]
    fn packets_far_apart_vary_like_the_folded_gaussian() {
        let delays = delays(JitterConfig::default(), 400_000, TimeDelta::from_millis(100));
        assert!(delays.iter().all(|&d| (0.0..=15.0).contains(&d)));
        let [mean, variance, edges, within_one] = moments(&delays, &[15.0], (0.0, 5.0));
        assert!((mean - 3.986).abs() < 0.02, "{mean}");
        assert!((variance - 8.99).abs() < 0.1, "{variance}");
        // Clamped, not cut out: 0.27 % sit on the edge.
        assert!((edges - 0.0027).abs() < 0.0004, "{edges}");
        assert!((within_one - 0.6827).abs() < 0.004, "{within_one}");
    }

    /// Worked by hand: N(0, 5 ms), cut at 3 standard deviations and shifted by them: mean 15 ms within 0 to 30 ms.
    #[test]
    fn shifted_delays_vary_like_the_cut_gaussian() {
        let config = JitterConfig { distribution: Distribution::Shifted, ..JitterConfig::default() };
        let delays = delays(config, 400_000, TimeDelta::from_millis(100));
        assert!(delays.iter().all(|&d| (0.0..=30.0).contains(&d)));
        let [mean, variance, edges, within_one] = moments(&delays, &[0.0, 30.0], (10.0, 20.0));
        assert!((mean - 15.0).abs() < 0.03, "{mean}");
        // The clamp takes 0.5 % off the variance: 25 − 0.12.
        assert!((variance - 24.88).abs() < 0.25, "{variance}");
        // Clamped, not cut out: 2 × 0.135 % sit on the edges.
        assert!((edges - 0.0027).abs() < 0.0004, "{edges}");
        assert!((within_one - 0.6827).abs() < 0.004, "{within_one}");
    }

    /// [rfc8868] §4.5.2: no packet leaves before its predecessor and that one's serialisation.
    #[test]
    fn packets_close_together_stay_in_order_and_serial_apart() {
        let config = JitterConfig { serial: Some(DataRate::from_mbps(10)), ..JitterConfig::default() };
        let apart = TimeDelta::from_millis(2);
        let delays = delays(config, 10_000, apart);
        // 1,250 bytes at 10 Mbit/s = 1 ms; consecutive exits are at least that apart.
        for pair in delays.windows(2) {
            assert!(pair[1] + 2.0 - pair[0] >= 1.0 - 1e-6, "{pair:?}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_standard_normal() {
        for (p, z) in [(0.5, 0.0), (0.841_344_746, 1.0), (0.022_750_132, -2.0), (0.998_650_102, 3.0)] {
            assert!((normal_quantile(p) - z).abs() < 1e-6, "{p}");
            let read = Quantiles::shared().at((p * 65_536.0) as u16);
            assert!((f64::from(read) - z).abs() < 0.005, "{p}: {read}");
        }
    }

    #[test]
    fn no_deviation_means_no_delay() {
        let config = JitterConfig { std: TimeDelta::ZERO, ..JitterConfig::default() };
        assert!(delays(config, 100, TimeDelta::from_millis(1)).iter().all(|&d| d == 0.0));
    }
}
