//! Finds how finely a frame is coded so that it has the budget's bytes: a false position on the logarithm of the size.
//!
//! What is searched is a *grade*: a quantiser and, between it and the next, how much a bit weighs when coefficients are
//! rounded. Where most coefficients of a frame are about as large as the step, one quantiser more is a tenth less of bytes;
//! grades between them keep to the budget.

/// Grades from one quantiser to the next.
const GRADES: u16 = 4;
/// The coarsest grade.
const COARSEST: u16 = 255 * GRADES;

/// How finely a frame is coded; larger is coarser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Grade(u16);

impl Grade {
    pub(crate) fn of(quantiser: u8) -> Self {
        Self(u16::from(quantiser) * GRADES)
    }
    pub(crate) const fn quantiser(self) -> u8 {
        (self.0 / GRADES) as u8
    }
    /// How much more a bit weighs than at the quantiser alone: a fourth of what the next quantiser's larger step makes of
    /// it. With more, a grade could be coarser than the next quantiser.
    pub(crate) fn bit_weight(self) -> f32 {
        1.0 + 0.011 * f32::from(self.0 % GRADES)
    }
}

/// Octaves of size per octave of step, before two sizes are known.
pub(crate) const SLOPE: f32 = 1.2;
/// A frame this close to its budget is not coded again, as a share of it.
const CLOSE: f32 = 0.045;
/// Codings of a frame.
const TRIES: usize = 8;

/// The search of one frame's grade.
#[derive(Clone, Debug)]
pub(crate) struct RateSearch {
    budget: usize,
    slope: f32,
    tried: Vec<(Grade, usize)>,
}

impl RateSearch {
    /// `slope` is the last frame's.
    pub(crate) fn new(budget: usize, slope: f32) -> Self {
        Self { budget: budget.max(1), slope, tried: Vec::with_capacity(TRIES) }
    }

    /// A frame at this grade had this size. The next grade to try, if it is worth it.
    pub(crate) fn next(&mut self, grade: Grade, bytes: usize) -> Option<Grade> {
        self.tried.push((grade, bytes));
        let far = bytes.abs_diff(self.budget) as f32 / self.budget as f32;
        if far <= CLOSE || self.tried.len() >= TRIES {
            return None;
        }
        let wanted = log2(self.budget);
        let finer = self.tried.iter().filter(|(_, bytes)| *bytes > self.budget).max_by_key(|(grade, _)| *grade);
        let coarser = self.tried.iter().filter(|(_, bytes)| *bytes <= self.budget).min_by_key(|(grade, _)| *grade);
        let next = match (finer, coarser) {
            (Some(&(low, large)), Some(&(high, small))) => {
                if high.0 <= low.0 + 1 {
                    return None;
                }
                let share = (log2(large) - wanted) / (log2(large) - log2(small)).max(1e-3);
                let place = f32::from(low.0) + share * f32::from(high.0 - low.0);
                (place + 0.5).clamp(f32::from(low.0) + 1.0, f32::from(high.0) - 1.0)
            }
            _ => {
                let step = OCTAVE * (log2(bytes) - wanted) / self.slope();
                // A little further, so that the budget lies between two tries.
                let least = f32::from(GRADES).copysign(step);
                f32::from(grade.0) + (1.1 * step).clamp(-2.0 * OCTAVE, 2.0 * OCTAVE) + 0.25 * least + 0.5
            }
        };
        let next = Grade(next.clamp(0.0, f32::from(COARSEST)) as u16);
        (!self.tried.iter().any(|(tried, _)| *tried == next)).then_some(next)
    }

    /// How fast the size falls, from the last two tries far enough apart.
    pub(crate) fn slope(&self) -> f32 {
        let far = |pair: &&[(Grade, usize)]| pair[0].0.0.abs_diff(pair[1].0.0) >= GRADES;
        match self.tried.windows(2).rfind(far) {
            Some(&[(a, large), (b, small)]) => {
                let fall = log2(large) - log2(small);
                (OCTAVE * fall / (f32::from(b.0) - f32::from(a.0))).clamp(0.4, 12.0)
            }
            _ => self.slope,
        }
    }

    /// The grade among those tried whose size is nearest to the budget.
    pub(crate) fn best(&self) -> Grade {
        self.tried.iter().min_by_key(|(_, bytes)| bytes.abs_diff(self.budget)).map_or(Grade(0), |(grade, _)| *grade)
    }
}

/// Grades that double the step.
const OCTAVE: f32 = 32.0 * GRADES as f32;

/// The logarithm to base 2, linear between powers of two: at most 0.09 too low, never falling.
pub(crate) fn log2(value: usize) -> f32 {
    let value = value.max(1);
    let whole = value.ilog2();
    whole as f32 + (value as f32 / (1_u64 << whole) as f32 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that halve every `half` quantisers, straight in between.
    fn bytes(grade: Grade, half: usize) -> usize {
        let place = usize::from(grade.0);
        let (octave, part) = (place / (4 * half), place % (4 * half));
        ((40_000 >> octave.min(20)) - (20_000 >> octave.min(20)) * part / (4 * half)).max(30)
    }

    #[test]
    fn the_budget_is_met_from_any_start() {
        for half in [6, 12, 24] {
            for budget in [300, 1_000, 5_000, 20_000] {
                for start in [0, 20, 60, 128] {
                    let mut search = RateSearch::new(budget, SLOPE);
                    let mut grade = Grade::of(start);
                    while let Some(next) = search.next(grade, bytes(grade, half)) {
                        grade = next;
                    }
                    let found = bytes(search.best(), half);
                    assert!(found.abs_diff(budget) * 100 <= budget * 5, "{budget} from {start}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_grade_between_quantisers_keeps_the_finer_one() {
        assert_eq!((Grade(403).quantiser(), Grade::of(100)), (100, Grade(400)));
        assert!(Grade(403).bit_weight() > Grade(401).bit_weight() && Grade(400).bit_weight() == 1.0);
    }
}
