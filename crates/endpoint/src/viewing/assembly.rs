//! From packets to what a decoder takes: whole pictures, or what came of them.

use crate::codec::{Codec, payload_format};
use legato_call::FrameAssembly;
use legato_call::rtp_assembly::{
    Assembled, CodedPicture, Part, PartialAssembly, PartialFrame, RtpAssembly, Sliced, SlicedAssembly, SlicedFrame,
    VideoPacket,
};
use legato_codec::hybrid::Bundle;
use legato_units::Timestamp;

/// The buffer of packets.
#[derive(Debug)]
pub enum Assembly {
    /// Of frames that are of use if they are whole.
    Whole(Box<RtpAssembly>),
    /// Of frames of the hybrid codec, each packet of which is of use.
    Partial(PartialAssembly),
    /// Of frames of H.264, each slice of which is of use.
    Sliced(SlicedAssembly),
}

/// What leaves the buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Gathered {
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
        /// For the decoder.
        bytes: Vec<u8>,
    },
    /// A picture to decode.
    Picture {
        /// Its bytes are for the decoder.
        picture: CodedPicture,
        /// Packets of it that did not come.
        lost_packets: u16,
    },
}

impl Assembly {
    /// Nothing of a video in this codec has come yet.
    pub fn new(codec: Codec) -> Self {
        match payload_format(codec) {
            Some(format) => Self::Whole(Box::new(RtpAssembly::new(format))),
            None if codec == Codec::H264References => Self::Sliced(SlicedAssembly::default()),
            None => Self::Partial(PartialAssembly::default()),
        }
    }

    /// Take a packet.
    pub fn insert(&mut self, now: Timestamp, packet: &VideoPacket<'_>) {
        match self {
            Self::Whole(assembly) => assembly.insert(now, packet),
            Self::Partial(assembly) => assembly.insert(now, packet),
            Self::Sliced(assembly) => assembly.insert(now, packet),
        }
    }

    /// When something leaves by itself.
    pub fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(assembly) => assembly.due(),
            Self::Sliced(assembly) => assembly.due(),
        }
    }

    /// Let what is due leave; whether something was.
    pub fn advance(&mut self, now: Timestamp) -> bool {
        let is_due = self.due().is_some_and(|due| due <= now);
        match self {
            Self::Partial(assembly) if is_due => assembly.advance(now),
            Self::Sliced(assembly) if is_due => assembly.advance(now),
            _ => {}
        }
        is_due
    }

    /// The next that leaves.
    pub fn pop(&mut self) -> Option<Gathered> {
        Some(match self {
            Self::Whole(assembly) => match assembly.pop()? {
                Assembled::GivenUp { timestamp, lost_packets } => Gathered::GivenUp { timestamp, lost_packets },
                Assembled::Picture(picture) => Gathered::Picture { picture, lost_packets: 0 },
            },
            Self::Partial(assembly) => match assembly.pop()? {
                Part::Frame(frame) => in_part(frame),
                Part::Late { timestamp, stream, packet } => {
                    let bytes = Bundle { stream, confirmed: None, packets: vec![packet] }.to_bytes();
                    Gathered::Late { timestamp, bytes }
                }
            },
            Self::Sliced(assembly) => match assembly.pop()? {
                Sliced::Frame(frame) => in_slices(frame),
                // No decoder takes it any more, but it knows then that the sender is wrong.
                Sliced::Late { timestamp } => Gathered::Late { timestamp, bytes: Vec::new() },
            },
        })
    }

    /// The missing packets of the next picture will not come any more, and it needs them.
    pub fn is_hopeless(&self) -> bool {
        matches!(self, Self::Whole(assembly) if assembly.is_hopeless())
    }
}

fn in_part(frame: PartialFrame) -> Gathered {
    let PartialFrame { timestamp, keyframe, stream, confirmed, packets, lost_packets, size_bytes, arrivals, psnr_db } =
        frame;
    let confirmed = confirmed.map(|frame| (frame.behind, frame.sum));
    let bytes = Bundle { stream, confirmed, packets }.to_bytes();
    let picture = CodedPicture { bytes, timestamp, keyframe, size_bytes, arrivals, psnr_db, repair: None };
    Gathered::Picture { picture, lost_packets }
}

fn in_slices(frame: SlicedFrame) -> Gathered {
    let SlicedFrame { timestamp, keyframe, bytes, lost_packets, size_bytes, arrivals, psnr_db } = frame;
    let picture = CodedPicture { bytes, timestamp, keyframe, size_bytes, arrivals, psnr_db, repair: None };
    Gathered::Picture { picture, lost_packets }
}

impl FrameAssembly for Assembly {
    fn last_of_keyframe(&self) -> Option<Timestamp> {
        match self {
            Self::Whole(assembly) => assembly.last_of_keyframe(),
            Self::Partial(assembly) => assembly.last_of_keyframe(),
            Self::Sliced(assembly) => assembly.last_of_keyframe(),
        }
    }
    fn overtaken_since(&self) -> Option<Timestamp> {
        match self {
            Self::Whole(assembly) => assembly.overtaken_since(),
            Self::Partial(assembly) => assembly.overtaken_since(),
            Self::Sliced(assembly) => assembly.overtaken_since(),
        }
    }
    fn waiting_since(&self) -> Option<Timestamp> {
        match self {
            Self::Whole(assembly) => assembly.waiting_since(),
            Self::Partial(assembly) => assembly.waiting_since(),
            Self::Sliced(assembly) => assembly.waiting_since(),
        }
    }
}
