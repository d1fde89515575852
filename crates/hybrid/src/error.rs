//! Why something was refused.

/// Errors of a picture, a packet or a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The checksum does not match: the packet is truncated or foreign.
    #[error("packet: its checksum does not match what it holds")]
    Checksum,
    /// The frame that a packet is predicted from is out of reach, or a key frame claims one.
    #[error("packet: predicted from {distance} frames before; 0 in key frames, 1 to 32 in others")]
    Distance {
        /// As the packet has it.
        distance: u8,
    },
    /// Not a packet of this format and version.
    #[error("packet: begins with {first:#04x}, no packet of this format")]
    Foreign {
        /// The first byte.
        first: u8,
    },
    /// A stream begins with a key frame.
    #[error("frame: no key frame has arrived")]
    NoKeyFrame,
    /// No packet was given.
    #[error("frame: no packet was given")]
    Nothing,
    /// The frame is not after the last decoded one.
    #[error("frame {frame}: not after frame {last}, which was decoded")]
    Old {
        /// The frame's number.
        frame: u16,
        /// The last decoded one's.
        last: u16,
    },
    /// A packet beyond the frame's number of packets.
    #[error("packet {packet} of {packets}: must be below a count of 1 to 64")]
    PacketNumber {
        /// Which packet.
        packet: u8,
        /// Of how many.
        packets: u8,
    },
    /// A plane has another size than its picture.
    #[error("picture: {bytes} bytes, must be {wanted}")]
    PlaneLength {
        /// Bytes given.
        bytes: usize,
        /// Bytes that the size needs.
        wanted: usize,
    },
    /// The frame that this one is predicted from is no longer kept: a key frame is needed.
    #[error("frame {frame}: predicted from {distance} frames before, which is not kept; needs a key frame")]
    ReferenceMissing {
        /// The frame's number.
        frame: u16,
        /// How far back.
        distance: u8,
    },
    /// A side is odd, shorter than 16 or longer than 4096 pixels.
    #[error("picture size {width}x{height}: sides must be even, 16 to 4096")]
    Size {
        /// In pixels.
        width: u16,
        /// In pixels.
        height: u16,
    },
    /// Another size than the encoder was made for.
    #[error("picture of another size than the encoder's")]
    SizeChanged,
    /// Too short for a header.
    #[error("packet: {bytes} bytes, shorter than its header")]
    Truncated {
        /// Bytes given.
        bytes: usize,
    },
}
