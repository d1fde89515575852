//! What is at the other end of a connection, as far as the connection must know.

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherEnd {
    /// It counts whatever is on its way in its feedback, known to it or not.
    Browser,
    /// str0m again: it counts what belongs to a stream that it was told of, so padding is one.
    Ours {
        /// It has a controller, which wants to know when packets left, and what the encoder says of frames.
        steers: bool,
    },
}

impl OtherEnd {
    /// Its controller steers.
    pub fn steers(self) -> bool {
        self == Self::Ours { steers: true }
    }

    /// Bytes of header extensions beyond the transport-wide number: the time a packet left takes four, the frame's PSNR
    /// three, and one fills the word up.
    pub fn further_extension_bytes(self) -> u16 {
        if self.steers() { 8 } else { 0 }
    }
}
