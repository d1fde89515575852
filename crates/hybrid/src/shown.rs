//! A decoder's knowledge of a picture in addition to its pixels: where each macroblock came from and how it moved.
//!
//! For stages behind the decoder, which restore or conceal further. Nothing here is coded or predicted from.

use crate::macroblock::Macroblock;
use crate::motion::Field;
use crate::motion_copy::Parts;
use crate::step::with_offset;

/// Where a macroblock of a shown frame came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Its packet arrived.
    Received,
    /// Its packet is missing, and another repeated its motion.
    MotionCopied,
    /// Nothing of it arrived: its motion, or its pixels in a key frame, are guessed.
    Concealed,
}

/// A macroblock of 16x16 luma pixels as it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownMacroblock {
    /// Where it came from.
    pub origin: Origin,
    /// A bit for each block with coefficients: four of luma in raster order from bit 0, then U and V.
    pub coded: u8,
    /// The quantiser, 0 to 255: that of the frame with the macroblock's own offset.
    pub quantiser: u8,
    /// The motion (x, y) of its four blocks of 8x8 in raster order, in quarters of a luma pixel; `None` for a block that
    /// is not predicted from another frame.
    pub motion: [Option<(i16, i16)>; 4],
}

impl ShownMacroblock {
    /// A macroblock of a frame of which nothing arrived: the previous picture, at rest.
    pub(crate) const REPEATED: Self =
        Self { origin: Origin::Concealed, coded: 0, quantiser: 255, motion: [Some((0, 0)); 4] };
}

/// All macroblocks of a frame in raster order.
pub(crate) fn shown(
    macroblocks: &[Option<Macroblock>],
    copied: &[Option<Parts>],
    field: &Field,
    quantiser: u8,
) -> Vec<ShownMacroblock> {
    let columns = field.columns / 2;
    let of = |(index, macroblock): (usize, &Option<Macroblock>)| {
        let block =
            |part: usize| 4 * columns * (index / columns) + 2 * columns * (part / 2) + 2 * (index % columns) + part % 2;
        ShownMacroblock {
            origin: match (macroblock, copied[index]) {
                (Some(_), _) => Origin::Received,
                (None, Some(_)) => Origin::MotionCopied,
                (None, None) => Origin::Concealed,
            },
            coded: macroblock.map_or(0, |macroblock| macroblock.coded),
            quantiser: with_offset(quantiser, macroblock.map_or(0, |macroblock| macroblock.offset)),
            motion: [0, 1, 2, 3].map(|part| field.vectors[block(part)].map(|vector| (vector.x, vector.y))),
        }
    };
    macroblocks.iter().enumerate().map(of).collect()
}
