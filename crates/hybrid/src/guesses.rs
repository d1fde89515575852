//! The motion of macroblocks that did not arrive, judged by the picture that it would give.
//!
//! The vectors of the blocks around are candidates. A candidate is good if the reference, displaced by it, matches the
//! pixels decoded next to the hole, and if the area that it points to had moved like that before. Where several are
//! about as good, the mean of their pictures is nearer than any one of them.

use crate::conceal::AROUND;
use crate::macroblock::Macroblock;
use crate::motion::{Field, Vector};
use crate::motion_copy::Parts;
use crate::plane::Frame;
use crate::prediction::predict_mean;
use crate::reference::Reference;
use std::array::from_fn;

/// The most vectors for a block.
pub(crate) const GUESSES: usize = 4;

/// What guesses are judged by.
pub(crate) struct Evidence<'a> {
    /// What the frame is predicted from.
    pub(crate) reference: &'a Reference,
    /// The motion of that frame.
    pub(crate) before: &'a Field,
    /// The frame, decoded where it arrived.
    pub(crate) decoded: &'a Frame,
}

/// The vectors of a frame, with up to [`GUESSES`] for each block that did not arrive: the likeliest is in the first field,
/// and those there are come round again in the fields behind.
pub(crate) struct Guesses {
    fields: [Field; GUESSES],
    missing: Vec<usize>,
}

impl Evidence<'_> {
    /// Judge the vectors around each macroblock of which neither pixels nor motion arrived; `field` has a first guess.
    pub(crate) fn guesses(
        &self,
        field: &Field,
        macroblocks: &[Option<Macroblock>],
        copied: &[Option<Parts>],
    ) -> Guesses {
        let (columns, rows) = (field.columns / 2, field.rows / 2);
        let arrived = |bx: isize, by: isize| {
            let (x, y) = (bx.div_euclid(2), by.div_euclid(2));
            let inside = (0..columns as isize).contains(&x) && (0..rows as isize).contains(&y);
            inside && macroblocks[y as usize * columns + x as usize].is_some()
        };
        let is_missing = |&index: &usize| macroblocks[index].is_none() && copied[index].is_none();
        let missing: Vec<usize> = (0..macroblocks.len()).filter(is_missing).collect();
        let mut fields = [(); GUESSES].map(|()| field.clone());
        for &index in &missing {
            let (x, y) = (2 * (index % columns), 2 * (index / columns));
            let candidates = candidates(field, x, y);
            if candidates.len() == 1 {
                continue;
            }
            let beside = self.beside(x, y, arrived);
            let fits: Vec<[u32; 8]> = candidates.iter().map(|&vector| self.misfit(vector, &beside)).collect();
            for (part, weights) in WEIGHTS.iter().enumerate() {
                let (bx, by) = (x + part % 2, y + part / 2);
                let doubt = |(&vector, misfit): (&Vector, &[u32; 8])| {
                    let weighted = misfit.iter().zip(weights).map(|(misfit, weight)| misfit * weight);
                    (weighted.sum::<u32>() + self.turn(vector, bx, by), vector)
                };
                let best = likeliest(candidates.iter().zip(&fits).map(doubt).collect());
                for (field, vector) in fields.iter_mut().zip(best) {
                    field.vectors[by * field.columns + bx] = Some(vector);
                }
            }
        }
        Guesses { fields, missing }
    }

    /// The pixels decoded next to the macroblock whose first block is (`x`, `y`).
    fn beside(&self, x: usize, y: usize, arrived: impl Fn(isize, isize) -> bool) -> [Option<Strip>; 8] {
        BESIDE.map(|(dx, dy)| {
            let (bx, by) = (x as isize + dx, y as isize + dy);
            if !arrived(bx, by) {
                return None;
            }
            let (left, top) = (8 * bx, 8 * by);
            let row = |left, top| self.decoded.planes[0].row(left, top, 8).try_into().expect("eight pixels");
            let column =
                |left, top| self.decoded.planes[0].row(left, top, DEPTH).try_into().expect("a row of the strip");
            let far = (8 - DEPTH) as isize;
            let (left, top, pixels) = match (dx, dy) {
                (_, -1) => (left, top + far, Pixels::Across(from_fn(|i| row(left, top + far + i as isize)))),
                (_, 2) => (left, top, Pixels::Across(from_fn(|i| row(left, top + i as isize)))),
                (-1, _) => (left + far, top, Pixels::Down(from_fn(|i| column(left + far, top + i as isize)))),
                _ => (left, top, Pixels::Down(from_fn(|i| column(left, top + i as isize)))),
            };
            Some(Strip { left: left as usize, top: top as usize, pixels })
        })
    }

    /// The distance of the displaced reference from the pixels decoded next to a macroblock.
    fn misfit(&self, vector: Vector, beside: &[Option<Strip>; 8]) -> [u32; 8] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(|side| match &beside[side] {
            Some(Strip { left, top, pixels: Pixels::Across(rows) }) => {
                self.reference.difference(rows, *left, *top, vector)
            }
            Some(Strip { left, top, pixels: Pixels::Down(rows) }) => {
                self.reference.difference(rows, *left, *top, vector)
            }
            None => 0,
        })
    }

    /// The distance of a vector from the earlier motion of the area that it points to.
    fn turn(&self, vector: Vector, bx: usize, by: usize) -> u32 {
        // The block that contains the middle of that area.
        let block = |at: usize, side: i16| (8 * at as isize + 4 + isize::from((side + 2) >> 2)).div_euclid(8);
        let before = self.before.at(block(bx, vector.x), block(by, vector.y)).unwrap_or_default();
        MOTION_WORTH * u32::from(before.distance(vector)).min(FARTHEST)
    }
}

impl Guesses {
    /// The likeliest vectors.
    pub(crate) fn first(&self) -> &Field {
        &self.fields[0]
    }

    /// Predict the missing part, where there are several vectors for a block.
    pub(crate) fn predict(&self, reference: &Reference, out: &mut Frame) {
        let columns = self.fields[0].columns;
        for index in &self.missing {
            for part in 0..4 {
                let (x, y) = (2 * (index % (columns / 2)) + part % 2, 2 * (index / (columns / 2)) + part / 2);
                let at = |field: &Field| field.vectors[y * columns + x];
                if self.fields.iter().any(|field| at(field) != at(&self.fields[0])) {
                    predict_mean(reference, &self.fields, x, y, out);
                }
            }
        }
    }
}

/// The different vectors of the blocks of and around a macroblock, and rest.
fn candidates(field: &Field, x: usize, y: usize) -> Vec<Vector> {
    let mut candidates = Vec::with_capacity(2 + AROUND.len());
    let of = |(dx, dy): (isize, isize)| field.at(x as isize + dx, y as isize + dy);
    for vector in [of((0, 0)), Some(Vector::default())].into_iter().chain(AROUND.map(of)).flatten() {
        if !candidates.contains(&vector) {
            candidates.push(vector);
        }
    }
    candidates
}

/// Of doubts and their vectors, those with at most twice the smallest doubt, from the likeliest on, and again from there.
fn likeliest(mut doubts: Vec<(u32, Vector)>) -> [Vector; GUESSES] {
    doubts.sort_by_key(|&(doubt, _)| doubt);
    let most = 2 * doubts[0].0;
    let count = doubts.iter().take(GUESSES).take_while(|&&(doubt, _)| doubt <= most).count();
    from_fn(|guess| doubts[guess % count].1)
}

/// Decoded pixels, and where they are.
struct Strip {
    left: usize,
    top: usize,
    pixels: Pixels,
}

/// Above and below the hole in rows of a block's width, left and right in its height.
enum Pixels {
    Across([[u8; 8]; DEPTH]),
    Down([[u8; DEPTH]; 8]),
}

/// Pixels of a neighbour that are compared, from the seam inwards. 2 and 8 were worse by 0.02 to 0.04 dB.
const DEPTH: usize = 5;

/// Steps from a macroblock's first block of 8x8 to the blocks that share a side with it: above, below, left, right.
const BESIDE: [(isize, isize); 8] = [(0, -1), (1, -1), (0, 2), (1, 2), (-1, 0), (-1, 1), (2, 0), (2, 1)];

/// What of [`BESIDE`] counts for each block of the macroblock: what touches it counts twice.
const WEIGHTS: [[u32; 8]; 4] =
    [[2, 1, 1, 1, 2, 1, 1, 1], [1, 2, 1, 1, 1, 1, 2, 1], [1, 1, 2, 1, 1, 2, 1, 1], [1, 1, 1, 2, 1, 1, 1, 2]];

/// What a quarter of a pixel counts by which the motion in the reference was another, and the most that is counted.
const MOTION_WORTH: u32 = 16;
const FARTHEST: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Size;
    use crate::plane::Plane;
    use crate::prediction::predict;

    const TRUE: Vector = Vector::new(8, -4);

    /// A texture that has moved `steps` times by [`TRUE`]: two pixels to the left and one down.
    fn moved(steps: isize) -> Frame {
        let mut frame = Frame::grey(Size::new(48, 48).expect("a valid size"));
        for y in 0..48 {
            let noise = |x: isize| {
                let (x, y) = ((x + 2 * steps) as u32, (y - steps) as u32);
                let mixed = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
                ((mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae3d) >> 24) as u8
            };
            frame.planes[0].row_mut(0, y, 48).iter_mut().zip(0..).for_each(|(pixel, x)| *pixel = noise(x));
        }
        frame.planes.iter_mut().for_each(Plane::extend);
        frame
    }

    /// Nine macroblocks, of which the middle one is missing; those above, below and on the right are said to rest.
    fn holed() -> (Field, Vec<Option<Macroblock>>) {
        let mut field = Field::at_rest(3, 3);
        field.set(0, 1, [Some(TRUE); 4]);
        let mut macroblocks = vec![Some(Macroblock::AT_REST); 9];
        macroblocks[4] = None;
        (field, macroblocks)
    }

    fn middle(guesses: &Guesses) -> [Option<Vector>; 4] {
        [(2, 2), (3, 2), (2, 3), (3, 3)].map(|(x, y)| guesses.first().at(x, y))
    }

    #[test]
    fn the_vector_that_shows_what_was_decoded_beside_the_hole_is_chosen() {
        let (field, macroblocks) = holed();
        let (reference, decoded, rest) = (Reference::of(&moved(0)), moved(1), Field::at_rest(3, 3));
        let evidence = Evidence { reference: &reference, before: &rest, decoded: &decoded };
        let guesses = evidence.guesses(&field, &macroblocks, &[None; 9]);
        assert_eq!(middle(&guesses), [Some(TRUE); 4]);
        // Nothing else comes near: the block is what the one vector shows.
        let mut shown = Frame::grey(decoded.size);
        predict(&reference, guesses.first(), &mut shown);
        let before = shown.clone();
        guesses.predict(&reference, &mut shown);
        assert_eq!(shown, before);
        assert_eq!(shown.planes[0].row(20, 24, 8), decoded.planes[0].row(20, 24, 8));
    }

    /// Nothing was decoded around: the vector by which the reference had moved at the place that it points to is chosen.
    #[test]
    fn motion_goes_on_where_nothing_else_is_known() {
        let (field, _) = holed();
        let (reference, decoded, mut before) = (Reference::of(&moved(0)), moved(9), Field::at_rest(3, 3));
        let chosen = |before: &Field| {
            let evidence = Evidence { reference: &reference, before, decoded: &decoded };
            middle(&evidence.guesses(&field, &[None; 9], &[None; 9]))
        };
        assert_eq!(chosen(&before), [Some(Vector::default()); 4]);
        // Two pixels to the right and one up of the middle of a block is the same block.
        before.set(1, 1, [Some(TRUE); 4]);
        assert_eq!(chosen(&before), [Some(TRUE); 4]);
    }

    #[test]
    fn motion_that_another_packet_repeats_stays() {
        let (mut field, macroblocks) = holed();
        let copied = Vector::new(-9, 3);
        field.set(1, 1, [Some(copied); 4]);
        let mut copies = [None; 9];
        copies[4] = Some([copied; 4]);
        let (reference, decoded) = (Reference::of(&moved(0)), moved(1));
        let evidence = Evidence { reference: &reference, before: &field, decoded: &decoded };
        assert_eq!(middle(&evidence.guesses(&field, &macroblocks, &copies)), [Some(copied); 4]);
    }

    #[test]
    fn guesses_with_at_most_twice_the_smallest_doubt_come_round() {
        let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|x| Vector::new(x, 0));
        assert_eq!(likeliest(vec![(21, c), (10, a), (20, b)]), [a, b, a, b]);
        assert_eq!(likeliest(vec![(1, a), (0, b)]), [b; 4]);
        assert_eq!(likeliest(vec![(5, a), (6, b), (7, c), (8, d), (9, e)]), [a, b, c, d]);
        assert_eq!(likeliest(vec![(5, a), (5, b), (5, c)]), [a, b, c, a]);
    }
}
