//! How much losses vary by chance: as much as ones that come one by one, or more.
//!
//! Packets are counted in blocks. Let x of a block's n packets be lost, and p of all: the index of dispersion is the sum
//! of (x - p n)² over the sum of x. It is about one for independent losses and more where losses come in a row; what a
//! policer drops of each frame varies less.

use legato_units::Seconds;

/// Counts losses in blocks, in the look that goes on and in those before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossDispersion {
    block: Block,
    look: Sums,
    /// Of looks whose losses were the link's own: squared deviations and losses.
    own: (f64, f64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    lost: f64,
    sent: f64,
}

/// Sums over blocks of a look.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    lost: f64,
    sent: f64,
    lost_squared: f64,
    lost_sent: f64,
    sent_squared: f64,
}

impl Sums {
    fn add(&mut self, block: Block) {
        self.lost += block.lost;
        self.sent += block.sent;
        self.lost_squared += block.lost * block.lost;
        self.lost_sent += block.lost * block.sent;
        self.sent_squared += block.sent * block.sent;
    }

    /// The sum of (x - p n)².
    fn squared_deviations(&self) -> f64 {
        let ratio = if self.sent > 0.0 { self.lost / self.sent } else { 0.0 };
        self.lost_squared - 2.0 * ratio * self.lost_sent + ratio * ratio * self.sent_squared
    }
}

/// Blocks of fewer packets hold no two losses in a row.
const MIN_BLOCK_PACKETS: f64 = 8.0;
const OWN_MEMORY: Seconds = Seconds::new(20.0);

impl LossDispersion {
    /// Count a packet.
    pub fn count(&mut self, lost: bool) {
        self.block.lost += f64::from(u8::from(lost));
        self.block.sent += 1.0;
    }

    /// Once per feedback, so long after the one before: a block ends where it is long enough.
    pub fn end_block(&mut self, since: Seconds) {
        let kept = libm::exp(-(since / OWN_MEMORY));
        self.own.0 *= kept;
        self.own.1 *= kept;
        if self.block.sent >= MIN_BLOCK_PACKETS {
            self.look.add(std::mem::take(&mut self.block));
        }
    }

    /// The losses of this look are the link's own: they show how those vary.
    pub fn learn(&mut self) {
        self.own.0 += self.look.squared_deviations();
        self.own.1 += self.look.lost;
    }

    /// Begin another look.
    pub fn look_anew(&mut self) {
        self.look = Sums::default();
    }

    /// By how many standard deviations `lost` packets are more than `expected`. The square root of a count is nearly
    /// normal, where the count itself is skewed.
    pub fn excess_deviations(&self, lost: f64, expected: f64) -> f64 {
        2.0 * (libm::sqrt(lost) - libm::sqrt(expected)) / libm::sqrt(self.index())
    }

    /// The higher of this look's and the link's earlier one; one at least.
    fn index(&self) -> f64 {
        let of = |squared: f64, lost: f64| if lost > 0.0 { squared / lost } else { 1.0 };
        of(self.look.squared_deviations(), self.look.lost).max(of(self.own.0, self.own.1)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of ten packets, so many lost in each.
    fn after(lost: &[u32]) -> LossDispersion {
        let mut losses = LossDispersion::default();
        for &lost in lost {
            (0..10).for_each(|n| losses.count(n < lost));
            losses.end_block(Seconds::ZERO);
        }
        losses
    }

    /// 2 (√16 - √4) = 4 standard deviations of a Poisson process.
    #[test]
    fn losses_that_vary_little_are_taken_for_independent_ones() {
        assert_eq!(after(&[3, 3, 3, 3]).excess_deviations(16.0, 4.0), 4.0);
        assert_eq!(LossDispersion::default().excess_deviations(16.0, 4.0), 4.0);
    }

    /// A mean of two: 36 + 4 + 4 + 4 are the squares, over eight losses.
    #[test]
    fn losses_in_a_row_vary_more() {
        let deviations = after(&[8, 0, 0, 0]).excess_deviations(16.0, 4.0);
        assert!((deviations - 4.0 / libm::sqrt(6.0)).abs() < 1e-12, "{deviations}");
    }

    #[test]
    fn what_a_look_shows_is_kept_only_if_its_losses_are_the_link_s_own() {
        let mut known = after(&[8, 0, 0, 0]);
        known.learn();
        known.look_anew();
        assert!(known.excess_deviations(16.0, 4.0) < 1.7);
        let mut unknown = after(&[8, 0, 0, 0]);
        unknown.look_anew();
        assert_eq!(unknown.excess_deviations(16.0, 4.0), 4.0);
    }

    /// Five packets per feedback: ten are one block.
    #[test]
    fn short_feedback_is_put_together() {
        let mut losses = LossDispersion::default();
        for half in 0..8 {
            (0..5).for_each(|_| losses.count(half < 2));
            losses.end_block(Seconds::ZERO);
        }
        // Ten, none, none, none; a mean of 2.5: 56.25 + 3 x 6.25, over ten.
        let deviations = losses.excess_deviations(16.0, 4.0);
        assert!((deviations - 4.0 / libm::sqrt(7.5)).abs() < 1e-12, "{deviations}");
    }
}
