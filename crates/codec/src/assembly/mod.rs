//! From the packets of a foreign sender to pictures for the decoder: whole ones ([`whole`]), or the packets that
//! arrived ([`in_parts`]).
//!
//! The sender is not trusted: the number of packets kept is bounded, and whatever their numbers, times and payloads
//! are, each costs little.

pub mod in_parts;
pub mod whole;

use legato_call::{FrameAssembly, VideoPacket};
use legato_units::{TimeDelta, Timestamp};

/// The buffer of packets of a receiving end.
pub trait Assembly: FrameAssembly + Send {
    /// Take a packet.
    fn insert(&mut self, now: Timestamp, packet: &VideoPacket<'_>);

    /// When something leaves if nothing more comes.
    fn due(&self) -> Option<Timestamp> {
        None
    }

    /// Hand over everything due.
    fn advance(&mut self, _now: Timestamp) {}

    /// The next that leaves, in decoding order.
    fn pop(&mut self) -> Option<Assembled>;

    /// The missing packets of the next picture will not come any more, and it needs them.
    fn is_hopeless(&self) -> bool {
        false
    }
}

/// The pictures that leave the buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Assembled {
    /// A picture that will not come whole.
    GivenUp {
        /// RTP time.
        timestamp: u32,
        /// Packets missing before and in it.
        lost_packets: u16,
    },
    /// More of a picture that was handed over, or passed over, before.
    Late {
        /// RTP time.
        timestamp: u32,
        /// For the decoder; empty where it is of no use to one, but shows that the sender is wrong.
        bytes: Vec<u8>,
    },
    /// A picture to decode.
    Picture {
        /// Whole, or in part.
        picture: CodedPicture,
        /// Packets of it that did not come, as far as the others show.
        lost_packets: u16,
    },
}

/// A picture for the decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct CodedPicture {
    /// As its encoder made it, or a part of that: for H.264, NAL units after start codes.
    pub bytes: Vec<u8>,
    /// RTP time.
    pub timestamp: u32,
    /// Decodable without any other.
    pub keyframe: bool,
    /// Bytes of its payloads.
    pub size_bytes: u32,
    /// First and last arrival.
    pub arrivals: (Timestamp, Timestamp),
    /// The encoder's own figure, if the sender reports it.
    pub psnr_db: Option<f32>,
    /// If something of it was retransmitted: the longest time from when it was missed until it came.
    pub repair: Option<TimeDelta>,
}
