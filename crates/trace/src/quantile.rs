//! Exact quantiles of many integers in three linear passes.
//!
//! The q-quantile here is the nearest-rank one: the smallest value with at least q of all values at
//! or below it. Nothing is interpolated, so a quantile is always a value that occurred.

/// Scratch space, reused from call to call.
#[derive(Clone, Debug)]
pub struct Quantiles {
    counts: Box<[u32; 1 << BUCKETS_LOG2]>,
    bucket: Vec<u32>,
}

const BUCKETS_LOG2: u32 = 10;

impl Default for Quantiles {
    fn default() -> Self {
        Self { counts: Box::new([0; 1 << BUCKETS_LOG2]), bucket: Vec::new() }
    }
}

impl Quantiles {
    /// The quantiles `ranks` (each in (0, 1], ascending) of `values`; `None` if there are none.
    pub fn of<const N: usize>(&mut self, values: &[u32], ranks: [f64; N]) -> Option<[u32; N]> {
        Some(self.within(values, &Spread::of(values)?, ranks))
    }

    /// The same for a given spread of `values`.
    pub(crate) fn within<const N: usize>(&mut self, values: &[u32], spread: &Spread, ranks: [f64; N]) -> [u32; N] {
        let (min, max) = (spread.min, spread.max);
        // Buckets of equal width, a power of two.
        let shift = (32 - (max - min).leading_zeros()).saturating_sub(BUCKETS_LOG2);
        self.counts.fill(0);
        for &value in values {
            self.counts[((value - min) >> shift) as usize % (1 << BUCKETS_LOG2)] += 1;
        }
        let (mut place, mut below) = (0, 0u32);
        let places = ranks.map(|rank| {
            let wanted = ((rank * values.len() as f64).ceil() as u32).clamp(1, values.len() as u32);
            while below + self.counts[place] < wanted {
                below += self.counts[place];
                place += 1;
            }
            (place, (wanted - below - 1) as usize)
        });
        if shift == 0 {
            return places.map(|(place, _)| min + place as u32);
        }
        // One more pass for all ranks: the values in their buckets.
        let mut is_wanted = [false; 1 << BUCKETS_LOG2];
        places.iter().for_each(|&(place, _)| is_wanted[place] = true);
        self.bucket.clear();
        let inside = |value: &&u32| is_wanted[((**value - min) >> shift) as usize % (1 << BUCKETS_LOG2)];
        self.bucket.extend(values.iter().filter(inside));
        let mut before = 0;
        let mut last = places[0].0;
        places.map(|(place, within)| {
            if place != last {
                // Buckets ascend, so all of the one before are smaller.
                before += self.counts[last] as usize;
                last = place;
            }
            *self.bucket.select_nth_unstable(before + within).1
        })
    }
}

/// Sums over values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    pub min: u32,
    pub max: u32,
    pub sum: u64,
    pub count: usize,
}

impl Spread {
    /// Of `values`; `None` if there are none.
    pub fn of(values: &[u32]) -> Option<Self> {
        // Each a separate loop, which compilers turn into vector instructions.
        let min = values.iter().copied().fold(u32::MAX, u32::min);
        let max = values.iter().copied().fold(0, u32::max);
        let sum = values.iter().map(|&value| u64::from(value)).sum();
        (!values.is_empty()).then_some(Self { min, max, sum, count: values.len() })
    }

    /// The standard deviation of `values`, whose spread this is: exact until the root.
    pub fn deviation(&self, values: &[u32]) -> f64 {
        // n Σx² − (Σx)², of the values minus the minimum so that the squares stay small.
        let above = |value: u32| u64::from(value - self.min);
        let squares: u128 = if self.max - self.min < 1 << 28 {
            // The sum of 256 squares below 2^56 is in range.
            let sums =
                values.chunks(256).map(|values| values.iter().map(|&value| above(value) * above(value)).sum::<u64>());
            sums.map(u128::from).sum()
        } else {
            values.iter().map(|&value| u128::from(above(value) * above(value))).sum()
        };
        let count = self.count as u128;
        let sum = u128::from(self.sum) - count * u128::from(self.min);
        ((count * squares - sum * sum) as f64).sqrt() / self.count as f64
    }
}

/// Values that come in runs of equal ones: each with its count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    runs: Vec<(u32, u32)>,
}

impl Runs {
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// `count` more of `value`.
    #[inline]
    pub fn push(&mut self, value: u32, count: u32) {
        match self.runs.last_mut() {
            Some((last, counted)) if *last == value => *counted += count,
            _ => self.runs.push((value, count)),
        }
    }

    /// Sum and number of all of them.
    pub fn sum(&self) -> (u64, u64) {
        let add = |(sum, count), &(value, times): &(u32, u32)| {
            (sum + u64::from(value) * u64::from(times), count + u64::from(times))
        };
        self.runs.iter().fold((0, 0), add)
    }

    /// The `rank`-quantile, `None` if there are no values. Sorts the runs: nothing may be pushed afterwards.
    pub fn quantile(&mut self, rank: f64) -> Option<u32> {
        let count = self.sum().1;
        self.runs.sort_unstable();
        let mut wanted = ((rank * count as f64).ceil() as u64).clamp(1, count.max(1));
        for &(value, times) in &self.runs {
            if wanted <= u64::from(times) {
                return Some(value);
            }
            wanted -= u64::from(times);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut quantiles = Quantiles::default();
        let mut state = 1u32;
        for length in [1usize, 2, 7, 100, 5_000] {
            for scale in [1u32, 100, 4_000_000_000] {
                let values: Vec<u32> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (state >> 3) % scale
                    })
                    .collect();
                let mut sorted = values.clone();
                sorted.sort_unstable();
                let expected =
                    [0.05, 0.5, 0.95, 0.98, 1.0].map(|q: f64| sorted[(q * length as f64).ceil() as usize - 1]);
                assert_eq!(quantiles.of(&values, [0.05, 0.5, 0.95, 0.98, 1.0]), Some(expected), "{length} {scale}");
            }
        }
    }

    /// 10, 20, 30 and 60: mean 30, squares of the differences 400, 100, 0 and 900, a quarter of which is 350.
    #[test]
    fn a_deviation_worked_by_hand() {
        let values = [10, 20, 30, 60];
        assert_eq!(Spread::of(&values).unwrap().deviation(&values), 350.0_f64.sqrt());
        let far = values.map(|value| value + 4_000_000_000);
        assert_eq!(Spread::of(&far).unwrap().deviation(&far), 350.0_f64.sqrt());
        assert_eq!(Spread::of(&[7]).unwrap().deviation(&[7]), 0.0);
        let ends = [0, u32::MAX];
        assert_eq!(Spread::of(&ends).unwrap().deviation(&ends), f64::from(u32::MAX) / 2.0);
    }

    #[test]
    fn runs_have_the_quantiles_of_what_they_stand_for() {
        let (mut runs, mut values) = (Runs::default(), Vec::new());
        for n in 0..300_u32 {
            let (value, times) = (n * 7 % 13 * (n % 3), n % 5 + 1);
            runs.push(value, times);
            values.extend(std::iter::repeat_n(value, times as usize));
        }
        let spread = Spread::of(&values).unwrap();
        assert_eq!(runs.sum(), (spread.sum, spread.count as u64));
        for rank in [0.05, 0.5, 0.95, 1.0] {
            assert_eq!(runs.quantile(rank), Quantiles::default().of(&values, [rank]).map(|[value]| value), "{rank}");
        }
        assert_eq!(Runs::default().quantile(0.5), None);
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Quantiles::default().of(&[], [0.5]), None);
    }
}
