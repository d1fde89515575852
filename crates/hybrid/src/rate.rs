//! Finds the quantiser whose frame has the budget's bytes: a false position on the logarithm of the size.

/// Octaves of size per octave of step, before two sizes are known.
const SLOPE: f32 = 1.2;
/// A frame this close to its budget is not coded again, as a share of it.
const CLOSE: f32 = 0.02;
/// Codings of a frame.
const TRIES: usize = 8;

/// The search of one frame's quantiser.
#[derive(Clone, Debug)]
pub(crate) struct RateSearch {
    budget: usize,
    tried: Vec<(u8, usize)>,
}

impl RateSearch {
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget: budget.max(1), tried: Vec::with_capacity(TRIES) }
    }

    /// A frame at this quantiser had this size. The next quantiser to try, if it is worth it.
    pub(crate) fn next(&mut self, quantiser: u8, bytes: usize) -> Option<u8> {
        self.tried.push((quantiser, bytes));
        let far = bytes.abs_diff(self.budget) as f32 / self.budget as f32;
        if far <= CLOSE || self.tried.len() >= TRIES {
            return None;
        }
        let wanted = log2(self.budget);
        let finer = self.tried.iter().filter(|(_, bytes)| *bytes > self.budget).max_by_key(|(quantiser, _)| *quantiser);
        let coarser =
            self.tried.iter().filter(|(_, bytes)| *bytes <= self.budget).min_by_key(|(quantiser, _)| *quantiser);
        let next = match (finer, coarser) {
            (Some(&(low, large)), Some(&(high, small))) => {
                if high <= low.saturating_add(1) {
                    return None;
                }
                let share = (log2(large) - wanted) / (log2(large) - log2(small)).max(1e-3);
                let place = f32::from(low) + share * f32::from(high - low);
                (place + 0.5).clamp(f32::from(low) + 1.0, f32::from(high) - 1.0)
            }
            _ => {
                let slope = self.slope();
                f32::from(quantiser) + (32.0 * (log2(bytes) - wanted) / slope).clamp(-64.0, 64.0) + 0.5
            }
        };
        let next = next.clamp(0.0, 255.0) as u8;
        (!self.tried.iter().any(|(tried, _)| *tried == next)).then_some(next)
    }

    fn slope(&self) -> f32 {
        match self.tried[..] {
            [.., (a, large), (b, small)] if a != b => {
                (32.0 * (log2(large) - log2(small)) / (f32::from(b) - f32::from(a))).clamp(0.4, 3.0)
            }
            _ => SLOPE,
        }
    }

    /// The quantiser among those tried whose size is nearest to the budget.
    pub(crate) fn best(&self) -> u8 {
        self.tried.iter().min_by_key(|(_, bytes)| bytes.abs_diff(self.budget)).map_or(0, |(quantiser, _)| *quantiser)
    }
}

/// The logarithm to base 2, linear between powers of two: at most 0.09 too low, never falling.
pub(crate) fn log2(value: usize) -> f32 {
    let value = value.max(1);
    let whole = value.ilog2();
    whole as f32 + (value as f32 / (1_u64 << whole) as f32 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that halve every 24 quantisers, with steps in between.
    fn bytes(quantiser: u8) -> usize {
        let octave = usize::from(quantiser) / 24;
        (40_000 >> octave) - (20_000 >> octave) * (usize::from(quantiser) % 24) / 24
    }

    #[test]
    fn the_budget_is_met_from_any_start() {
        for budget in [300, 1_000, 5_000, 20_000] {
            for start in [0, 60, 128, 200, 255] {
                let mut search = RateSearch::new(budget);
                let mut quantiser = start;
                while let Some(next) = search.next(quantiser, bytes(quantiser)) {
                    quantiser = next;
                }
                let found = bytes(search.best());
                assert!(found.abs_diff(budget) * 100 <= budget * 5, "{budget} from {start}: {found}");
            }
        }
    }
}
