//! The maximum delivery rate of the last ten round trips.

use legato_units::DataRate;

/// One slot per round, the latest ten.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    slots: [DataRate; ROUNDS as usize],
    round: u64,
    max: DataRate,
}

impl MaxFilter {
    /// Whatever came before, the maximum is `rate`, in this round.
    #[inline]
    pub fn update(&mut self, round: u64, rate: DataRate) {
        if round != self.round {
            // Rounds in between without a sample are empty.
            for empty in (self.round + 1..=round).take(ROUNDS as usize) {
                self.slots[(empty % ROUNDS) as usize] = DataRate::ZERO;
            }
            if round - self.round >= ROUNDS {
                self.slots = [DataRate::ZERO; ROUNDS as usize];
            }
            self.round = round;
            self.max = self.slots.iter().copied().max().unwrap_or(DataRate::ZERO);
        }
        let slot = &mut self.slots[(round % ROUNDS) as usize];
        *slot = (*slot).max(rate);
        self.max = self.max.max(rate);
    }

    /// The maximum of the ten rounds that end with the last one sampled.
    #[inline]
    pub fn max(&self) -> DataRate {
        self.max
    }
}

// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.1.2: BtlBwFilterLen.
const ROUNDS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.1.2: a rate counts for its round and the nine after it.
    #[test]
    fn a_rate_is_remembered_for_ten_rounds() {
        let mut filter = MaxFilter::default();
        let rate = DataRate::from_kbps;
        filter.update(0, rate(500));
        filter.update(0, rate(400));
        (1..10).for_each(|round| filter.update(round, rate(100 + round)));
        assert_eq!(filter.max(), rate(500));
        filter.update(10, rate(50));
        assert_eq!(filter.max(), rate(109));
        // Rounds 11 to 17 have no sample: 108 and 109 are ten rounds old and less.
        filter.update(18, rate(60));
        assert_eq!(filter.max(), rate(109));
        filter.update(19, rate(60));
        assert_eq!(filter.max(), rate(60));
        filter.update(1_000, rate(7));
        assert_eq!(filter.max(), rate(7));
    }
}
