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
    /// The quantiles `ranks` (each in (0, 1], ascending) of `values`; `None` of nothing.
    pub fn of<const N: usize>(&mut self, values: &[u32], ranks: [f64; N]) -> Option<[u32; N]> {
        let (&first, rest) = values.split_first()?;
        let (least, most) = rest.iter().fold((first, first), |(least, most), &v| (least.min(v), most.max(v)));
        // Buckets of equal width, a power of two.
        let shift = (32 - (most - least).leading_zeros()).saturating_sub(BUCKETS_LOG2);
        self.counts.fill(0);
        for &value in values {
            self.counts[((value - least) >> shift) as usize % (1 << BUCKETS_LOG2)] += 1;
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
            return Some(places.map(|(place, _)| least + place as u32));
        }
        // One more pass for all ranks: what is in their buckets.
        let mut is_wanted = [false; 1 << BUCKETS_LOG2];
        places.iter().for_each(|&(place, _)| is_wanted[place] = true);
        self.bucket.clear();
        let inside = |value: &&u32| is_wanted[((**value - least) >> shift) as usize % (1 << BUCKETS_LOG2)];
        self.bucket.extend(values.iter().filter(inside));
        let mut before = 0;
        let mut last = places[0].0;
        Some(places.map(|(place, within)| {
            if place != last {
                // Buckets ascend, so all of the one before are smaller.
                before += self.counts[last] as usize;
                last = place;
            }
            *self.bucket.select_nth_unstable(before + within).1
        }))
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

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Quantiles::default().of(&[], [0.5]), None);
    }
}
