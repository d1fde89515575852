//! The queue up to which a flow in company does not give way.
//!
//! The slower flow tolerates the longer queue, so that the faster gives way first ([kumar2020]'s flow scaling). Among
//! flows that all give way, a few cuts drain the queue. Where it stands after more of them, somebody else holds it
//! there, as `gcc` does with a few tens of milliseconds: then the target rises until the queue fits below it, and falls
//! again in time.

use libm::{exp, sqrt};

/// A target for the standing queue, by the rate of the flow.
#[derive(Clone, Copy, Debug)]
pub struct QueueTarget {
    /// Multiplies the target, 1 and above.
    tolerance_ratio: f64,
    /// Cuts since the queue was last below the target.
    cuts: u32,
}

/// Flow scaling of [kumar2020], with constants for calls.
const BASE_S: f64 = 0.008;
const SCALED_S: f64 = 0.035;
const SCALE_BYTES_PER_S: f64 = 100e3 / 8.0;
const MIN_BYTES_PER_S: f64 = 1_000.0;
/// Four cuts by 15 % halve the rate: flows that all did so have long drained their queue.
const CUTS_IN_VAIN: u32 = 4;
const GROWTH_RATIO: f64 = 1.5;
const MEMORY_S: f64 = 20.0;
/// The target is never above this, unless the flow's rate alone puts it there.
const MAX_S: f64 = 0.07;
const RAISED_RATIO: f64 = 1.2;

impl Default for QueueTarget {
    fn default() -> Self {
        Self { tolerance_ratio: 1.0, cuts: 0 }
    }
}

impl QueueTarget {
    /// In seconds, for a flow of `bytes_per_s`.
    pub fn of_s(&self, bytes_per_s: f64) -> f64 {
        self.tolerance_ratio * unraised_s(bytes_per_s)
    }

    /// The rate of a flow of `bytes_per_s` was cut because of a queue.
    pub fn on_cut(&mut self, bytes_per_s: f64) {
        self.cuts += 1;
        if self.cuts > CUTS_IN_VAIN {
            let most = (MAX_S / unraised_s(bytes_per_s)).max(1.0);
            self.tolerance_ratio = (self.tolerance_ratio * GROWTH_RATIO).min(most);
        }
    }

    /// The queue is below the target.
    pub fn on_met(&mut self) {
        self.cuts = 0;
    }

    /// So many seconds went by.
    pub fn relax(&mut self, seconds: f64) {
        self.tolerance_ratio = 1.0 + (self.tolerance_ratio - 1.0) * exp(-seconds / MEMORY_S);
    }

    /// Others hold a queue however much is given way.
    pub fn is_raised(&self) -> bool {
        self.tolerance_ratio > RAISED_RATIO
    }
}

fn unraised_s(bytes_per_s: f64) -> f64 {
    BASE_S + SCALED_S / sqrt(bytes_per_s.max(MIN_BYTES_PER_S) / SCALE_BYTES_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 125e3;

    /// 8 + 35 / sqrt(10) = 19.07 ms at 1 Mbit/s.
    #[test]
    fn the_slower_of_two_flows_tolerates_the_longer_queue() {
        let target = QueueTarget::default();
        assert!((target.of_s(RATE) - 0.01907).abs() < 1e-5);
        assert!(target.of_s(25e3) > 1.3 * target.of_s(250e3));
    }

    /// The fifth cut in a row raises it by half, and e^-1 of that is left after 20 s.
    #[test]
    fn it_rises_when_the_queue_stands_after_four_cuts() {
        let mut target = QueueTarget::default();
        (0..4).for_each(|_| target.on_cut(RATE));
        assert!((target.of_s(RATE) - 0.01907).abs() < 1e-5 && !target.is_raised());
        target.on_cut(RATE);
        assert!((target.of_s(RATE) - 0.02860).abs() < 1e-5 && target.is_raised());
        target.relax(20.0);
        assert!((target.of_s(RATE) - 0.01907 * 1.18394).abs() < 1e-5 && !target.is_raised());
    }

    #[test]
    fn a_queue_that_drains_between_cuts_raises_nothing() {
        let mut target = QueueTarget::default();
        for _ in 0..20 {
            (0..4).for_each(|_| target.on_cut(RATE));
            target.on_met();
        }
        assert!(!target.is_raised());
    }

    #[test]
    fn it_never_exceeds_its_maximum_by_cuts() {
        let mut target = QueueTarget::default();
        (0..50).for_each(|_| target.on_cut(RATE));
        assert!((target.of_s(RATE) - 0.07).abs() < 1e-9);
    }
}
