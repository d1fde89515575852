//! Pictures as they come in and go out: planar 4:2:0, 8 bits, any even size.

use crate::Error;

/// Width and height in luma pixels, both even and within [`Size::SMALLEST`] to [`Size::LARGEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    width: u16,
    height: u16,
}

impl Size {
    /// The shortest side, in pixels.
    pub const SMALLEST: u16 = 16;
    /// The longest side, in pixels.
    pub const LARGEST: u16 = 4096;

    /// A size; odd, smaller and larger sides are refused.
    pub fn new(width: u16, height: u16) -> Result<Self, Error> {
        let fits = |side: u16| side.is_multiple_of(2) && (Self::SMALLEST..=Self::LARGEST).contains(&side);
        if fits(width) && fits(height) { Ok(Self { width, height }) } else { Err(Error::Size { width, height }) }
    }
    /// In luma pixels.
    pub const fn width(self) -> usize {
        self.width as usize
    }
    /// In luma pixels.
    pub const fn height(self) -> usize {
        self.height as usize
    }
    /// Macroblocks of 16x16 pixels in a row; the last may reach beyond the picture.
    pub(crate) const fn columns(self) -> usize {
        self.width().div_ceil(16)
    }
    /// Rows of macroblocks.
    pub(crate) const fn rows(self) -> usize {
        self.height().div_ceil(16)
    }
    /// Macroblocks of a picture.
    pub(crate) const fn macroblocks(self) -> usize {
        self.columns() * self.rows()
    }
}

/// A picture. Planes have no gaps between rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    size: Size,
    planes: [Vec<u8>; 3],
}

impl Picture {
    /// From luma (`width * height` bytes) and two chroma planes of half its sides.
    pub fn new(size: Size, luma: Vec<u8>, u: Vec<u8>, v: Vec<u8>) -> Result<Self, Error> {
        let pixels = size.width() * size.height();
        for (plane, wanted) in [(&luma, pixels), (&u, pixels / 4), (&v, pixels / 4)] {
            if plane.len() != wanted {
                return Err(Error::PlaneLength { bytes: plane.len(), wanted });
            }
        }
        Ok(Self { size, planes: [luma, u, v] })
    }
    /// From one block of bytes: luma, then both chroma planes.
    pub fn from_planar(size: Size, bytes: &[u8]) -> Result<Self, Error> {
        let pixels = size.width() * size.height();
        if bytes.len() != pixels * 3 / 2 {
            return Err(Error::PlaneLength { bytes: bytes.len(), wanted: pixels * 3 / 2 });
        }
        let (luma, chroma) = bytes.split_at(pixels);
        let (u, v) = chroma.split_at(pixels / 4);
        Ok(Self { size, planes: [luma.to_vec(), u.to_vec(), v.to_vec()] })
    }
    /// Its size.
    pub const fn size(&self) -> Size {
        self.size
    }
    /// Brightness, `width * height` bytes.
    pub fn luma(&self) -> &[u8] {
        &self.planes[0]
    }
    /// Plane 0 is luma, 1 and 2 are chroma of half the sides.
    pub fn plane(&self, plane: usize) -> &[u8] {
        &self.planes[plane]
    }
}
