//! Random loss of the medium: independent, or in bursts (Gilbert-Elliott).
//!
//! Neither draws per packet. The number of packets up to the next event of probability p is
//! geometric, so one draw covers 1/p packets on average; the distribution is the same.

use super::Lost;
use super::burst::{is_whole, pass_each};
use super::{DropReason, Eager, Stage};
use crate::Ecn;
use crate::random::unit;
use legato_units::{Burst, DataSize, Timestamp};
use rand_chacha::ChaCha8Rng;

/// A probability outside `[0, 1]`, with its name.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value} is no probability")]
pub struct LossError {
    /// Which one.
    pub key: &'static str,
    /// Its value.
    pub value: f64,
}

/// Independent loss.
#[derive(Clone, Debug)]
pub struct Loss {
    rng: ChaCha8Rng,
    wait: Wait,
}

impl Loss {
    /// Each packet is lost with probability `loss_ratio`, whatever happens to the others.
    ///
    /// # Errors
    /// A ratio outside `[0, 1]`.
    pub fn new(loss_ratio: f64, mut rng: ChaCha8Rng) -> Result<Self, LossError> {
        let wait = Wait::new("loss_ratio", loss_ratio, &mut rng)?;
        Ok(Self { rng, wait })
    }
}

impl Stage for Loss {}

impl Eager for Loss {
    #[inline]
    fn transit(&mut self, now: Timestamp, _size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        if self.wait.is_over(&mut self.rng) { Err(DropReason::Random) } else { Ok(now) }
    }

    #[inline]
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        // The next loss is drawn ahead: most bursts come before it.
        if !is_whole(at, lost) || !self.wait.skip(u64::from(burst.packets)) {
            pass_each(self, burst, at, lost);
        }
    }
}

/// Loss in bursts: a chain of a good and a bad state that takes a step after each packet (Gilbert
/// 1960, Elliott 1963). It starts in the good one.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    rng: ChaCha8Rng,
    states: [LossState; 2],
    bad: usize,
}

#[derive(Clone, Debug)]
struct LossState {
    /// Packets up to the one after which the state is left.
    leave: Wait,
    /// Packets up to the next that is lost.
    lose: Wait,
}

impl GilbertElliott {
    /// * `p`: from good to bad, per packet. `r`: from bad to good; a bad run lasts 1/r packets.
    /// * `loss_good`, `loss_bad`: loss ratio in each state.
    ///
    /// The mean loss ratio is `(r·loss_good + p·loss_bad) / (p + r)`.
    ///
    /// # Errors
    /// A ratio outside `[0, 1]`.
    pub fn new(p: f64, r: f64, loss_good: f64, loss_bad: f64, mut rng: ChaCha8Rng) -> Result<Self, LossError> {
        let good =
            LossState { leave: Wait::new("p", p, &mut rng)?, lose: Wait::new("loss_good", loss_good, &mut rng)? };
        let bad = LossState { leave: Wait::new("r", r, &mut rng)?, lose: Wait::new("loss_bad", loss_bad, &mut rng)? };
        Ok(Self { rng, states: [good, bad], bad: 0 })
    }
}

impl Stage for GilbertElliott {}

impl Eager for GilbertElliott {
    #[inline]
    fn transit(&mut self, now: Timestamp, _size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        let state = &mut self.states[self.bad];
        // A wait that is interrupted by the other state resumes later: it has no memory.
        let lost = state.lose.is_over(&mut self.rng);
        if state.leave.is_over(&mut self.rng) {
            self.bad ^= 1;
        }
        if lost { Err(DropReason::Random) } else { Ok(now) }
    }
}

/// Trials up to an event that has the same probability in each.
#[derive(Clone, Debug)]
struct Wait {
    remaining: u64,
    /// 1 / ln(1 − p); zero if p is 1. Never read if p is 0.
    scale: f64,
}

impl Wait {
    fn new(key: &'static str, p: f64, rng: &mut ChaCha8Rng) -> Result<Self, LossError> {
        if !(0.0..=1.0).contains(&p) {
            return Err(LossError { key, value: p });
        }
        // log1p(−1) is −∞, and its inverse the −0 we want: every trial hits.
        let mut wait = Self { remaining: u64::MAX, scale: 1.0 / libm::log1p(-p) };
        if p > 0.0 {
            wait.draw(rng);
        }
        Ok(wait)
    }

    /// How many trials fail first: `⌊ln U / ln(1 − p)⌋`, U in (0, 1].
    #[cold]
    fn draw(&mut self, rng: &mut ChaCha8Rng) {
        // 1 − u is in (0, 1] if u is in [0, 1).
        self.remaining = (libm::log(1.0 - unit(rng)) * self.scale) as u64;
    }

    /// Let `trials` trials fail, if that many do; otherwise nothing changes.
    #[inline]
    fn skip(&mut self, trials: u64) -> bool {
        let fail = self.remaining >= trials;
        if fail {
            self.remaining -= trials;
        }
        fail
    }

    #[inline]
    fn is_over(&mut self, rng: &mut ChaCha8Rng) -> bool {
        if self.remaining > 0 {
            // u64::MAX trials are as good as never: 60,000 years of packets.
            self.remaining -= 1;
            return false;
        }
        self.draw(rng);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn losses(stage: &mut impl Eager, packets: usize) -> Vec<bool> {
        let mut ecn = Ecn::NotEct;
        let mut lost = |_| stage.transit(Timestamp::ZERO, DataSize::from_bytes(1), &mut ecn) != Ok(Timestamp::ZERO);
        (0..packets).map(&mut lost).collect()
    }
    fn ratio(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&l| l).count() as f64 / lost.len() as f64
    }
    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    #[test]
    fn no_loss_and_total_loss_are_exact() {
        assert_eq!(ratio(&losses(&mut Loss::new(0.0, rng(1)).expect("valid"), 10_000)), 0.0);
        assert_eq!(ratio(&losses(&mut Loss::new(1.0, rng(1)).expect("valid"), 10_000)), 1.0);
    }

    #[test]
    fn independent_loss_has_its_ratio_and_no_memory() {
        for p in [0.001, 0.01, 0.05, 0.2, 0.9] {
            let n = 2_000_000;
            let lost = losses(&mut Loss::new(p, rng(7)).expect("valid"), n);
            // Five standard deviations of a binomial share.
            let band = 5.0 * (p * (1.0 - p) / n as f64).sqrt();
            assert!((ratio(&lost) - p).abs() < band, "{p}: {}", ratio(&lost));
            // P(lost | previous lost) = p as well.
            let after: Vec<bool> = lost.windows(2).filter(|w| w[0]).map(|w| w[1]).collect();
            let band = 5.0 * (p * (1.0 - p) / after.len() as f64).sqrt();
            assert!((ratio(&after) - p).abs() < band, "{p} after a loss: {}", ratio(&after));
        }
    }

    /// Stationary share of the bad state p/(p+r), mean burst 1/r, worked from the chain.
    #[test]
    fn bursts_have_the_share_and_the_length_of_the_chain() {
        let lost = losses(&mut GilbertElliott::new(0.01, 0.25, 0.0, 1.0, rng(3)).expect("valid"), 4_000_000);
        assert!((ratio(&lost) - 0.01 / 0.26).abs() < 0.001, "{}", ratio(&lost));
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count();
        let mean_burst = lost.iter().filter(|&&l| l).count() as f64 / bursts as f64;
        assert!((mean_burst - 4.0).abs() < 0.05, "{mean_burst}");
        // (r·good + p·bad) / (p + r) = (0.2·0.01 + 0.05·0.5) / 0.25 = 0.108.
        let lost = losses(&mut GilbertElliott::new(0.05, 0.2, 0.01, 0.5, rng(4)).expect("valid"), 4_000_000);
        assert!((ratio(&lost) - 0.108).abs() < 0.001, "{}", ratio(&lost));
    }

    #[test]
    fn ratios_outside_their_range_are_refused_by_name() {
        let error = Loss::new(1.5, rng(1)).expect_err("refused");
        assert_eq!(error.to_string(), "loss_ratio = 1.5 is no probability");
        let error = GilbertElliott::new(0.1, f64::NAN, 0.0, 1.0, rng(1)).expect_err("refused");
        assert_eq!(error.key, "r");
    }

    #[test]
    fn one_seed_loses_the_same_packets() {
        let run = || losses(&mut Loss::new(0.1, rng(9)).expect("valid"), 1_000);
        assert_eq!(run(), run());
    }
}
