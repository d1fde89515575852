//! Independent random loss whose ratio changes over the call.
//!
//! The probability that n packets in a row survive is ∏(1 − pᵢ) = exp(−Σ hᵢ), where hᵢ = −ln(1 − pᵢ): the sum up to the
//! next loss is exponentially distributed, whatever the ratios are. So one draw lasts until the next loss, as in
//! [`super::Loss`], and packets lose nothing but their own share of it. Sums are of integers, so that packets taken
//! together and one by one have the same fate.

use super::Lost;
use super::burst::{is_whole, pass_each};
use super::{DropReason, Eager, LossError, Stage};
use crate::Ecn;
use crate::over_time::{Current, OverTime};
use crate::random::unit;
use legato_units::{Burst, DataSize, Timestamp};
use rand_chacha::ChaCha8Rng;

/// Independent loss with a ratio over time: a packet has the ratio of the time at which it enters.
#[derive(Clone, Debug)]
pub struct VaryingLoss {
    rng: ChaCha8Rng,
    /// −ln(1 − p) of each packet, in [`NAT`]ths; [`u64::MAX`] where p is 1.
    hazard: Current<u64>,
    /// The rest of the draw.
    left: u64,
}

impl VaryingLoss {
    /// Each packet is lost with the probability of its time.
    ///
    /// # Errors
    /// A ratio outside `[0, 1]`.
    pub fn new(loss_ratio: OverTime<f64>, rng: ChaCha8Rng) -> Result<Self, LossError> {
        if let Some(&(_, value)) = loss_ratio.steps().iter().find(|(_, ratio)| !(0.0..=1.0).contains(ratio)) {
            return Err(LossError { key: "loss_ratio", value });
        }
        let hazard = loss_ratio.map(|ratio| if ratio == 1.0 { u64::MAX } else { (-libm::log1p(-ratio) * NAT) as u64 });
        let mut stage = Self { rng, hazard: Current::new(hazard), left: 0 };
        stage.draw();
        Ok(stage)
    }

    #[cold]
    fn draw(&mut self) {
        // At most ln 2⁵³ = 36.7, so that p = 1 always exceeds it.
        self.left = (-libm::log(1.0 - unit(&mut self.rng)) * NAT) as u64;
    }
}

impl Stage for VaryingLoss {}

impl Eager for VaryingLoss {
    #[inline]
    fn transit(&mut self, now: Timestamp, _size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        self.hazard.advance(now);
        if let Some(left) = self.left.checked_sub(self.hazard.value) {
            self.left = left;
            return Ok(now);
        }
        self.draw();
        Err(DropReason::Random)
    }

    #[inline]
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return };
        if !is_whole(at, lost) {
            return pass_each(self, burst, at, lost);
        }
        self.hazard.advance(first);
        let all = self.hazard.value.saturating_mul(u64::from(burst.packets));
        match self.left.checked_sub(all) {
            Some(left) if last < self.hazard.until => self.left = left,
            _ => pass_each(self, burst, at, lost),
        }
    }
}

/// One unit of −ln in a draw: the smallest ratio above zero is 2⁻⁴⁸.
const NAT: f64 = (1u64 << 48) as f64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Loss;
    use legato_units::TimeDelta;
    use rand_core::SeedableRng;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }
    fn is_lost(stage: &mut impl Eager, now: Timestamp) -> bool {
        stage.transit(now, DataSize::from_bytes(1), &mut Ecn::NotEct) != Ok(now)
    }

    #[test]
    fn a_ratio_that_never_changes_loses_the_packets_that_constant_loss_does() {
        for ratio in [0.0, 0.001, 0.03, 0.4, 1.0] {
            let mut constant = Loss::new(ratio, rng(5)).expect("valid");
            let mut varying = VaryingLoss::new(OverTime::constant(ratio), rng(5)).expect("valid");
            for n in 0..200_000 {
                let now = Timestamp::from_millis(n);
                assert_eq!(is_lost(&mut varying, now), is_lost(&mut constant, now), "packet {n} at {ratio}");
            }
        }
    }

    #[test]
    fn each_part_of_the_period_has_its_own_ratio() {
        let ms = TimeDelta::from_millis;
        let ratios = [(0, 0.05), (100, 0.0), (200, 1.0), (210, 0.5)];
        let over_time = OverTime::new(ratios.map(|(at, ratio)| (ms(at), ratio)), Some(ms(310))).expect("valid");
        let mut stage = VaryingLoss::new(over_time, rng(8)).expect("valid");
        let (mut lost, mut all) = ([0_u32; 4], [0_u32; 4]);
        for n in 0..3_100_000_i64 {
            let place = ratios.iter().rposition(|&(at, _)| at <= n % 310).expect("the first is at 0");
            all[place] += 1;
            lost[place] += u32::from(is_lost(&mut stage, Timestamp::from_millis(n)));
        }
        for ((&(_, ratio), lost), all) in ratios.iter().zip(lost).zip(all) {
            let (measured, all) = (f64::from(lost) / f64::from(all), f64::from(all));
            // Five standard deviations of a binomial share; none where the ratio is 0 or 1.
            let band = 5.0 * (ratio * (1.0 - ratio) / all).sqrt();
            assert!((measured - ratio).abs() <= band, "{measured} instead of {ratio}");
        }
    }

    #[test]
    fn ratios_outside_their_range_are_refused() {
        for ratio in [-0.1, 1.1, f64::NAN] {
            let error = VaryingLoss::new(OverTime::constant(ratio), rng(1)).expect_err("refused");
            assert_eq!(error.key, "loss_ratio");
        }
    }
}
