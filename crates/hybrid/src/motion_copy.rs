//! Copies of motion: a packet also says how the macroblocks of a few other packets move.
//!
//! A macroblock with lost coefficients but exact motion looks nearly right; with guessed motion it does not. So every
//! packet repeats the motion of the packets that lie N / (copies + 1) further. It is coded against the packet's own
//! macroblocks, which lie on all sides of those, so it takes few bits where motion is even.

use crate::contexts::{COPY, COPY_MODELS, MOTION_MODELS};
use crate::interleave::Interleave;
use crate::macroblock::{Macroblock, Source, code_rest, code_vector};
use crate::motion::{Vector, median};
use crate::range_coder::BitCoder;

/// The most packets whose motion a packet repeats.
pub(crate) const MOST_COPIES: u8 = 3;

/// The vectors of a macroblock's four parts.
pub(crate) type Parts = [Vector; 4];

/// Code the copies that a packet carries. `own` gives the vectors of its macroblocks; `vectors` holds every macroblock's
/// for a writer and gets the copied ones from a reader.
pub(crate) fn code<C: BitCoder>(
    coder: &mut C,
    order: &Interleave,
    packet: usize,
    copies: u8,
    own: impl Fn(usize) -> Option<Parts>,
    vectors: &mut [Option<Parts>],
) {
    for shift in order.shifts(copies) {
        let beside = order.beside(shift);
        for (x, y) in order.of_packet((packet + shift) % order.packets()) {
            let near = beside.map(|(dx, dy)| order.index(x, y, dx, dy).and_then(&own).map(|parts| parts[3]));
            let (expected, disagreement) = expected(near);
            let index = order.index(x, y, 0, 0).unwrap_or(0);
            let wanted = vectors[index].unwrap_or([expected; 4]);
            vectors[index] = Some(code_parts(coder, expected, disagreement, wanted));
        }
    }
}

fn code_parts<C: BitCoder>(coder: &mut C, expected: Vector, disagreement: usize, wanted: Parts) -> Parts {
    let model = COPY + disagreement * COPY_MODELS;
    if !coder.bit(model, wanted != [expected; 4]) {
        return [expected; 4];
    }
    let split = coder.bit(model + 1, wanted != [wanted[0]; 4]);
    let first = code_vector(coder, |side| model + 2 + side * MOTION_MODELS, expected, wanted[0]);
    if split { code_rest(coder, first, wanted) } else { [first; 4] }
}

/// What the packet's own macroblocks around suggest, and how much they differ.
fn expected(near: [Option<Vector>; 3]) -> (Vector, usize) {
    let mut known = near.into_iter().flatten();
    let (first, second, third) = (known.next(), known.next(), known.next());
    let vector = match (first, second, third) {
        (Some(a), Some(b), Some(c)) => median(a, b, c),
        (first, ..) => first.unwrap_or_default(),
    };
    let spread = near.iter().flatten().map(|other| other.distance(vector)).max().unwrap_or(0);
    (vector, usize::from(spread > 0) + usize::from(spread > 8))
}

/// The vectors of a macroblock; `None` if it is flat.
pub(crate) fn of(macroblock: &Macroblock) -> Option<Parts> {
    match macroblock.source {
        Source::Moved(parts) => Some(parts),
        Source::Flat(_) => None,
    }
}
