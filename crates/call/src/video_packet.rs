//! A packet of a received video, before frames are put together of them.

/// A packet of the video, decrypted; a retransmitted one counts as its original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoPacket<'a> {
    /// RTP sequence number, unwrapped.
    pub seq: u64,
    /// RTP time.
    pub timestamp: u32,
    /// The last of its picture.
    pub marker: bool,
    /// It was sent again.
    pub repeated: bool,
    /// The encoder's own figure for the picture, if the sender reports it.
    pub psnr_db: Option<f32>,
    /// As the codec's payload format defines it.
    pub payload: &'a [u8],
}
