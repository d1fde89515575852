//! The other end of a connection, as far as the connection must know it.

use legato_codec::Coding;

/// The kind of end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherEnd {
    /// It counts every packet in its feedback, whether it knows the stream or not.
    Browser,
    /// str0m again: it counts only streams announced to it, so padding is announced as a stream.
    Ours {
        /// Whether it has a controller, which needs departure times and the encoder's report on frames.
        steers: bool,
    },
}

impl OtherEnd {
    /// Whether its controller steers.
    pub fn steers(self) -> bool {
        self == Self::Ours { steers: true }
    }

    /// Whether it restores packets of a video in this coding by parity. Where incomplete frames are shown, no packet
    /// needs others.
    pub fn takes_parity(self, coding: Coding) -> bool {
        self != Self::Browser && !coding.shows_in_part()
    }

    /// Bytes of header extensions beyond the transport-wide number: the departure time takes four, the frame's PSNR
    /// three, and one fills the word.
    pub fn further_extension_bytes(self) -> u16 {
        if self.steers() { 8 } else { 0 }
    }
}
