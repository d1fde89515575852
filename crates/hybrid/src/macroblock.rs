//! A macroblock: 16x16 pixels of luma and 8x8 of each chroma plane, and how it is coded.

use crate::coefficients;
use crate::contexts::{
    CODED_CHROMA, CODED_LUMA, INTRA, MEAN, MEAN_LENGTHS, MOTION, MOTION_LENGTHS, MOTION_MODELS, OFFSET, OFFSET_LENGTHS,
    SKIP, SPLIT, SPLIT_MOTION,
};
use crate::motion::{REACH, Vector, median};
use crate::range_coder::BitCoder;
use crate::step::OFFSET_LIMIT;
use crate::transform::Block;

/// Four luma blocks in raster order, then U and V.
pub(crate) const BLOCKS: usize = 6;
/// The quantised coefficients of a macroblock.
pub(crate) type Levels = [Block; BLOCKS];

/// Where the prediction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A displaced block of the reference, whole or in four.
    Moved([Vector; 4]),
    /// A flat area: the mean of each plane in steps of [`MEAN_STEP`].
    Flat([u8; 3]),
}

/// Steps of the means of flat areas, in grey levels.
pub(crate) const MEAN_STEP: u8 = 4;

/// All of a macroblock but its coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Macroblock {
    pub(crate) source: Source,
    /// The quantiser's distance from the frame's; as the neighbour's where nothing is coded.
    pub(crate) offset: i8,
    /// A bit for each block that has coefficients.
    pub(crate) coded: u8,
    /// It was not skipped.
    pub(crate) present: bool,
}

impl Macroblock {
    pub(crate) const AT_REST: Self =
        Self { source: Source::Moved([Vector { x: 0, y: 0 }; 4]), offset: 0, coded: 0, present: false };

    pub(crate) fn vectors(&self) -> [Option<Vector>; 4] {
        match self.source {
            Source::Moved(vectors) => vectors.map(Some),
            Source::Flat(_) => [None; 4],
        }
    }
    pub(crate) const fn is_flat(&self) -> bool {
        matches!(self.source, Source::Flat(_))
    }
    /// The kind of a block's coefficients.
    pub(crate) const fn kind(&self, block: usize) -> usize {
        match (block, self.is_flat()) {
            (0..4, false) => 0,
            (0..4, true) => 1,
            _ => 2,
        }
    }
}

/// What the nearest macroblocks of the same packet say about this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) vector: Vector,
    means: [u8; 3],
    offset: i8,
    skip_model: usize,
    disagreement: usize,
    activity: usize,
    key: bool,
}

impl Expected {
    /// `near` are the nearest earlier macroblocks of the packet, nearest first.
    pub(crate) fn of(near: [Option<&Macroblock>; 3], key: bool) -> Self {
        let present: [Option<&Macroblock>; 3] = near;
        let count = present.iter().flatten().count();
        let vector_of = |mb: &Macroblock| match mb.source {
            Source::Moved(vectors) => Some(vectors[3]),
            Source::Flat(_) => None,
        };
        let vectors: Vec3 = present.map(|mb| mb.and_then(vector_of));
        let known = vectors.iter().flatten().count();
        let vector = match known {
            3 => median(vectors[0].unwrap_or_default(), vectors[1].unwrap_or_default(), vectors[2].unwrap_or_default()),
            0 => Vector::default(),
            _ => vectors.iter().flatten().next().copied().unwrap_or_default(),
        };
        let spread = vectors.iter().flatten().map(|other| other.distance(vector)).max().unwrap_or(0);
        let disagreement = if known < 2 { 3 } else { usize::from(spread > 0) + usize::from(spread > 6) };
        let skipped = present.iter().flatten().filter(|mb| !mb.present).count();
        let coded: u32 = present.iter().flatten().take(2).map(|mb| (mb.coded & 15).count_ones()).sum();
        let first = present.iter().flatten().next();
        let means = present.iter().flatten().find_map(|mb| match mb.source {
            Source::Flat(means) => Some(means),
            Source::Moved(_) => None,
        });
        Self {
            vector,
            means: means.unwrap_or([128 / MEAN_STEP; 3]),
            offset: first.map_or(0, |mb| mb.offset),
            skip_model: if count == 0 { 4 } else { skipped },
            disagreement,
            activity: if count == 0 { 1 } else { (coded as usize).div_ceil(2).min(2) },
            key,
        }
    }
}

type Vec3 = [Option<Vector>; 3];

/// Code a macroblock; a reader's `macroblock` and `levels` are overwritten.
pub(crate) fn code<C: BitCoder>(coder: &mut C, expected: &Expected, macroblock: &mut Macroblock, levels: &mut Levels) {
    if !expected.key {
        let skipped = coder.bit(SKIP + expected.skip_model, !macroblock.present);
        if skipped {
            let source = Source::Moved([expected.vector; 4]);
            *macroblock = Macroblock { source, offset: expected.offset, coded: 0, present: false };
            return;
        }
    }
    macroblock.present = true;
    let flat = expected.key || coder.bit(INTRA, macroblock.is_flat());
    macroblock.source = if flat {
        let means = if let Source::Flat(means) = macroblock.source { means } else { expected.means };
        Source::Flat(code_means(coder, expected.means, means))
    } else {
        let vectors = if let Source::Moved(vectors) = macroblock.source { vectors } else { Default::default() };
        Source::Moved(code_vectors(coder, expected, vectors))
    };
    macroblock.coded = code_coded(coder, expected, *macroblock);
    macroblock.offset =
        if macroblock.coded == 0 { expected.offset } else { code_offset(coder, expected.offset, macroblock.offset) };
    for (block, levels) in levels.iter_mut().enumerate() {
        if macroblock.coded >> block & 1 == 1 {
            coefficients::code(coder, macroblock.kind(block), levels);
        }
    }
}

fn code_means<C: BitCoder>(coder: &mut C, expected: [u8; 3], means: [u8; 3]) -> [u8; 3] {
    std::array::from_fn(|plane| {
        let model = MEAN + plane.min(1) * (2 + MEAN_LENGTHS);
        let difference = i32::from(means[plane]) - i32::from(expected[plane]);
        let difference = signed(coder, model, MEAN_LENGTHS, difference);
        (i32::from(expected[plane]) + difference).clamp(0, i32::from(255 / MEAN_STEP)) as u8
    })
}

fn code_vectors<C: BitCoder>(coder: &mut C, expected: &Expected, vectors: [Vector; 4]) -> [Vector; 4] {
    let model = |side: usize| MOTION + (side * 4 + expected.disagreement) * MOTION_MODELS;
    let split = coder.bit(SPLIT + expected.disagreement.min(2), vectors != [vectors[0]; 4]);
    let first = code_vector(coder, model, expected.vector, vectors[0]);
    if split { code_rest(coder, first, vectors) } else { [first; 4] }
}

/// The vectors of the second to fourth part.
pub(crate) fn code_rest<C: BitCoder>(coder: &mut C, first: Vector, vectors: [Vector; 4]) -> [Vector; 4] {
    let model = |side: usize| SPLIT_MOTION + side * MOTION_MODELS;
    let second = code_vector(coder, model, first, vectors[1]);
    let third = code_vector(coder, model, first, vectors[2]);
    let fourth = code_vector(coder, model, median(first, second, third), vectors[3]);
    [first, second, third, fourth]
}

pub(crate) fn code_vector<C: BitCoder>(
    coder: &mut C,
    model: impl Fn(usize) -> usize,
    expected: Vector,
    vector: Vector,
) -> Vector {
    let mut side = |side: usize, expected: i16, value: i16| {
        let difference = signed(coder, model(side), MOTION_LENGTHS, i32::from(value) - i32::from(expected));
        (i32::from(expected) + difference).clamp(-i32::from(REACH), i32::from(REACH)) as i16
    };
    Vector { x: side(0, expected.x, vector.x), y: side(1, expected.y, vector.y) }
}

fn code_coded<C: BitCoder>(coder: &mut C, expected: &Expected, macroblock: Macroblock) -> u8 {
    let intra = usize::from(macroblock.is_flat());
    let mut coded = 0_u8;
    for block in 0..4 {
        let model = CODED_LUMA
            + (intra * 3 + expected.activity) * 5
            + coded.count_ones() as usize
            + usize::from(block > 1 && coded == 0) * 4;
        coded |= u8::from(coder.bit(model, macroblock.coded >> block & 1 == 1)) << block;
    }
    let luma = (coded.count_ones() as usize).div_ceil(2);
    for plane in 0..2_usize {
        let other = usize::from(plane == 1 && coded >> 4 & 1 == 1);
        let model = CODED_CHROMA + ((intra * 2 + plane) * 3 + luma) * 2 + other;
        coded |= u8::from(coder.bit(model, macroblock.coded >> (4 + plane) & 1 == 1)) << (4 + plane);
    }
    coded
}

fn code_offset<C: BitCoder>(coder: &mut C, expected: i8, offset: i8) -> i8 {
    let difference = signed(coder, OFFSET, OFFSET_LENGTHS, i32::from(offset) - i32::from(expected));
    (i32::from(expected) + difference).clamp(-i32::from(OFFSET_LIMIT), i32::from(OFFSET_LIMIT)) as i8
}

/// A signed number: whether it is zero, its sign, then an exponential Golomb code whose lengths have models.
fn signed<C: BitCoder>(coder: &mut C, model: usize, lengths: usize, value: i32) -> i32 {
    if !coder.bit(model, value != 0) {
        return 0;
    }
    let negative = coder.bit(model + 1, value < 0);
    let wanted = value.unsigned_abs().max(1);
    let mut length = 0;
    while length < lengths.min(10) && coder.bit(model + 2 + length.min(lengths - 1), (length as u32) < wanted.ilog2()) {
        length += 1;
    }
    let mut size = 1;
    for place in (0..length).rev() {
        size = 2 * size + (i32::from(coder.even(wanted >> place & 1 == 1)));
    }
    if negative { -size } else { size }
}

/// Bits of a vector's difference, as a search weighs them: no model, the shape of their mean.
#[inline(always)]
pub(crate) fn vector_bits(expected: Vector, vector: Vector) -> u32 {
    let side = |a: i16, b: i16| {
        let distance = u32::from(a.abs_diff(b));
        if distance == 0 { 1 } else { 2 * distance.ilog2() + 4 }
    };
    side(expected.x, vector.x) + side(expected.y, vector.y)
}
