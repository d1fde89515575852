//! The references of a frame.

/// Bits of the last frame (1), the golden frame (2) and the alternate one (4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffers {
    /// The frame may be predicted from these.
    pub(crate) used: u32,
    /// It takes the place of these.
    pub(crate) replaced: u32,
}
