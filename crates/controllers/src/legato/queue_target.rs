//! The queue up to which a flow in company does not give way.
//!
//! The slower flow tolerates the longer queue, so that the faster gives way first ([kumar2020]'s flow scaling). Among
//! flows that all give way, a few cuts drain the queue. If it persists after more of them, another flow holds it there,
//! as `gcc` does with a few tens of milliseconds. Then the target rises until the queue fits below it, and falls again
//! in time.

use legato_units::{ByteRate, Seconds};
use libm::{exp, sqrt};

/// A target for the queue, by the rate of the flow.
#[derive(Clone, Copy, Debug)]
pub struct QueueTarget {
    /// Multiplies the target, 1 and above.
    tolerance_ratio: f64,
    /// Cuts since the queue was last below the target.
    cuts: u32,
}

/// Flow scaling of [kumar2020], with constants for calls.
const BASE: Seconds = Seconds::from_millis(8.0);
const SCALED: Seconds = Seconds::from_millis(35.0);
const SCALE: ByteRate = ByteRate::new(100e3 / 8.0);
const LEAST: ByteRate = ByteRate::new(1_000.0);
/// Four cuts by 15 % halve the rate: flows that all did so have long drained their queue.
const CUTS_IN_VAIN: u32 = 4;
const GROWTH_RATIO: f64 = 1.5;
const MEMORY: Seconds = Seconds::new(20.0);
/// The target is never above this, unless the flow's rate alone puts it there.
const MOST: Seconds = Seconds::from_millis(70.0);
const RAISED_RATIO: f64 = 1.2;

impl Default for QueueTarget {
    fn default() -> Self {
        Self { tolerance_ratio: 1.0, cuts: 0 }
    }
}

impl QueueTarget {
    /// For a flow of this rate.
    pub fn of(&self, rate: ByteRate) -> Seconds {
        unraised(rate) * self.tolerance_ratio
    }

    /// The rate of a flow was cut because of a queue.
    pub fn on_cut(&mut self, rate: ByteRate) {
        self.cuts += 1;
        if self.cuts > CUTS_IN_VAIN {
            let most = (MOST / unraised(rate)).max(1.0);
            self.tolerance_ratio = (self.tolerance_ratio * GROWTH_RATIO).min(most);
        }
    }

    /// The queue is below the target.
    pub fn on_met(&mut self) {
        self.cuts = 0;
    }

    /// So much time went by.
    pub fn relax(&mut self, time: Seconds) {
        self.tolerance_ratio = 1.0 + (self.tolerance_ratio - 1.0) * exp(-(time / MEMORY));
    }

    /// Others hold a queue however much is given way.
    pub fn is_raised(&self) -> bool {
        self.tolerance_ratio > RAISED_RATIO
    }
}

fn unraised(rate: ByteRate) -> Seconds {
    BASE + SCALED / sqrt(rate.max(LEAST) / SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: ByteRate = ByteRate::new(125e3);

    /// 8 + 35 / sqrt(10) = 19.07 ms at 1 Mbit/s.
    #[test]
    fn the_slower_of_two_flows_tolerates_the_longer_queue() {
        let target = QueueTarget::default();
        assert!((target.of(RATE).get() - 0.01907).abs() < 1e-5);
        assert!(target.of(ByteRate::new(25e3)) > target.of(ByteRate::new(250e3)) * 1.3);
    }

    /// The fifth cut in a row raises it by half, and e^-1 of that is left after 20 s.
    #[test]
    fn it_rises_when_the_queue_stands_after_four_cuts() {
        let mut target = QueueTarget::default();
        (0..4).for_each(|_| target.on_cut(RATE));
        assert!((target.of(RATE).get() - 0.01907).abs() < 1e-5 && !target.is_raised());
        target.on_cut(RATE);
        assert!((target.of(RATE).get() - 0.02860).abs() < 1e-5 && target.is_raised());
        target.relax(Seconds::new(20.0));
        assert!((target.of(RATE).get() - 0.01907 * 1.18394).abs() < 1e-5 && !target.is_raised());
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
        assert!((target.of(RATE).get() - 0.07).abs() < 1e-9);
    }
}
