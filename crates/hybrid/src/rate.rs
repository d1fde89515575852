//! Finds how finely a frame is coded so that it has the budget's bytes: a false position on the logarithm of the size,
//! along the curve that its coefficients promise (`size_curve.rs`).
//!
//! The search is for a *grade*: a quantiser and, between it and the next, how much a bit weighs when coefficients are
//! rounded. Where most coefficients of a frame are about as large as the step, one quantiser more is a tenth less of
//! bytes; grades between them keep to the budget.

use crate::logarithm::log2;
use crate::size_curve::SizeCurve;

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

/// A frame this close to its budget is not coded again, as a share of it.
const CLOSE: f32 = 0.045;
/// Codings of a frame.
const TRIES: usize = 8;

/// The search of one frame's grade: along the curve of its size, moved to where the sizes are that it had.
#[derive(Clone, Debug)]
pub(crate) struct RateSearch {
    budget: usize,
    curve: SizeCurve,
    tried: Vec<(Grade, usize)>,
}

impl RateSearch {
    pub(crate) fn new(budget: usize, curve: SizeCurve) -> Self {
        Self { budget: budget.max(1), curve, tried: Vec::with_capacity(TRIES) }
    }

    /// Where to begin. `factor` is the last frame's.
    pub(crate) fn first(&self, factor: f32) -> Grade {
        self.curve.grade_of(log2(self.budget) - factor)
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
                let (from, to) = (self.curve.at(low), self.curve.at(high));
                self.curve.grade_of(from + share * (to - from)).0.clamp(low.0 + 1, high.0 - 1)
            }
            _ => {
                // A little further, so that the budget lies between two tries.
                let next = self.curve.grade_of(self.curve.at(grade) + 1.1 * (wanted - log2(bytes)));
                if bytes > self.budget { next.0.max(grade.0 + 1) } else { next.0.min(grade.0.saturating_sub(1)) }
            }
        };
        let next = Grade(next.min(COARSEST));
        (!self.tried.iter().any(|(tried, _)| *tried == next)).then_some(next)
    }

    /// Octaves of size per octave of the step at a grade.
    pub(crate) fn slope(&self, grade: Grade) -> f32 {
        let next = Grade((grade.0 + GRADES).min(COARSEST));
        (32.0 * (self.curve.at(grade) - self.curve.at(next))).clamp(0.8, 20.0)
    }

    /// A size over the curve's, as a logarithm; `shift` is by how many octaves a bit weighed more than the grade says.
    pub(crate) fn factor(&self, grade: Grade, bytes: usize, shift: f32) -> f32 {
        log2(bytes) - self.curve.at(grade) + 0.5 * shift * self.slope(grade)
    }
}

impl SizeCurve {
    /// The logarithm of the size at a grade.
    fn at(&self, grade: Grade) -> f32 {
        let quantiser = usize::from(grade.quantiser());
        let (here, next) = (self.log2_bytes[quantiser], self.log2_bytes[(quantiser + 1).min(255)]);
        here + (next - here) * f32::from(grade.0 % GRADES) / f32::from(GRADES)
    }
    /// The grade of a size.
    fn grade_of(&self, log2_bytes: f32) -> Grade {
        let Some(below) = self.log2_bytes.iter().position(|&at| at <= log2_bytes) else { return Grade(COARSEST) };
        let Some(quantiser) = below.checked_sub(1) else { return Grade(0) };
        let (above, below) = (self.log2_bytes[quantiser], self.log2_bytes[below]);
        let share = (above - log2_bytes) / (above - below);
        Grade(quantiser as u16 * GRADES + (share * f32::from(GRADES) + 0.5) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logarithm::exp2;

    /// Sizes that halve every `half` quantisers, straight in between.
    fn bytes(grade: Grade, half: usize) -> usize {
        let place = usize::from(grade.0);
        let (octave, part) = (place / (4 * half), place % (4 * half));
        ((40_000 >> octave.min(20)) - (20_000 >> octave.min(20)) * part / (4 * half)).max(30)
    }

    /// A curve that halves every 16 quantisers, whatever the frame does.
    fn curve() -> SizeCurve {
        SizeCurve { log2_bytes: std::array::from_fn(|quantiser| 14.0 - quantiser as f32 / 16.0) }
    }

    #[test]
    fn the_budget_is_met_from_any_start() {
        for half in [6, 12, 24] {
            for budget in [300, 1_000, 5_000, 20_000] {
                for factor in [-3.0, 0.0, 3.0] {
                    let mut search = RateSearch::new(budget, curve());
                    let mut grade = search.first(factor);
                    let mut found = bytes(grade, half);
                    while let Some(next) = search.next(grade, bytes(grade, half)) {
                        grade = next;
                        if bytes(grade, half).abs_diff(budget) < found.abs_diff(budget) {
                            found = bytes(grade, half);
                        }
                    }
                    assert!(found.abs_diff(budget) * 100 <= budget * 5, "{budget} with {factor}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_curve_with_the_right_factor_needs_one_try() {
        let size = |grade: Grade| exp2(curve().at(grade) + 0.5) as usize;
        let mut search = RateSearch::new(2_000, curve());
        let grade = search.first(0.5);
        assert_eq!(search.next(grade, size(grade)), None);
        assert!((search.factor(grade, size(grade), 0.0) - 0.5).abs() < 0.1);
    }

    #[test]
    fn a_grade_between_quantisers_keeps_the_finer_one() {
        assert_eq!((Grade(403).quantiser(), Grade::of(100)), (100, Grade(400)));
        assert!(Grade(403).bit_weight() > Grade(401).bit_weight() && Grade(400).bit_weight() == 1.0);
    }
}
