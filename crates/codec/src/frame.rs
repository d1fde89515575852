//! A frame as an encoder gives it, and a picture as a decoder does.

/// One coded frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Coded {
    /// The frame as its codec defines it; a [`Bundle`](crate::hybrid::Bundle) of the hybrid codec.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// In the codec's own steps: 0 … 51 for H.264, 0 … 127 for VP8, 0 … 255 for VP9 and the hybrid codec.
    pub qp: u8,
    /// Of luma, as the encoder reports it.
    pub psnr_db: Option<f32>,
}

/// The luma plane of a decoded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row, `width` x `height`.
    pub samples: Vec<u8>,
}
