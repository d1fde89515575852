//! Feedback on a packet, for encoders that predict from what the receiver has.

/// What became of a packet of video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// Its frame's place among those coded.
    pub frame: u32,
    /// Its place in the frame.
    pub place: u16,
    /// Packets of the frame.
    pub packets: u16,
    /// Whether it arrived.
    pub arrived: bool,
}
