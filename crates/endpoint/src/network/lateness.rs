//! How late packets left the emulated link: shows whether a run on a busy machine is valid.

use legato_units::TimeDelta;

/// Release times against those the link decided, one per packet.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    late_us: Vec<u32>,
}

/// Quantiles of [`Lateness`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatenessFigures {
    /// Packets released.
    pub packets: u64,
    /// Median, ms.
    pub p50_ms: f64,
    /// 99th percentile, ms.
    pub p99_ms: f64,
    /// 99.9th percentile, ms.
    pub p999_ms: f64,
    /// The worst, ms.
    pub max_ms: f64,
}

impl Lateness {
    /// A packet left this long after it should have.
    pub fn push(&mut self, late: TimeDelta) {
        self.late_us.push(u32::try_from(late.as_micros().max(0)).unwrap_or(u32::MAX));
    }

    /// All packets of both.
    pub fn append(&mut self, other: &mut Self) {
        self.late_us.append(&mut other.late_us);
    }

    /// The quantiles: the smallest lateness that at least that share of packets stays within.
    pub fn figures(&mut self) -> LatenessFigures {
        let packets = self.late_us.len();
        if packets == 0 {
            return LatenessFigures::default();
        }
        self.late_us.sort_unstable();
        let quantile = |permille: usize| {
            let place = (packets * permille).div_ceil(1_000).max(1) - 1;
            f64::from(self.late_us[place]) / 1e3
        };
        LatenessFigures {
            packets: packets as u64,
            p50_ms: quantile(500),
            p99_ms: quantile(990),
            p999_ms: quantile(999),
            max_ms: quantile(1_000),
        }
    }
}

impl LatenessFigures {
    /// Whether the link kept its times well enough for the run to count.
    pub fn valid(&self) -> bool {
        self.p999_ms <= MOST_P999_MS
    }
}

/// Beyond this the emulated link is no longer the one in the scenario.
const MOST_P999_MS: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_packets() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.figures(), LatenessFigures::default());
        (1..=1_000).rev().for_each(|us| lateness.push(TimeDelta::from_micros(us)));
        let figures = lateness.figures();
        assert_eq!((figures.p50_ms, figures.p99_ms, figures.p999_ms, figures.max_ms), (0.5, 0.99, 0.999, 1.0));
        assert!(figures.valid());
        (0..2).for_each(|_| lateness.push(TimeDelta::from_millis(9)));
        assert!(!lateness.figures().valid());
    }
}
