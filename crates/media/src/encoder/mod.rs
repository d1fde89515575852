//! Encoder models: a picture and a budget go in, a frame's size and quality come out.

mod coder;
pub mod frame_trace;
pub mod gop;
pub mod hybrid;
pub mod jm;
pub mod loss_tolerant;
pub mod openh264;
mod reference;
pub mod resolution;
pub mod size_rule;
pub mod statistical;
mod version;
pub mod x264;

use crate::{Quality, SourceFrame};
use coder::Coder;
use legato_control::{EncodedFrameInfo, PacketReports};
use legato_units::{DataRate, DataSize, Timestamp};

pub use version::Version;

/// A video encoder. One call per captured picture; every call gives a frame.
pub trait Encoder: Send {
    /// Code `frame` within `budget`. `now` never goes back.
    fn encode(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame;

    /// As [`Encoder::encode`], for an encoder that works in parallel with the call, as real ones do: `None` means that
    /// the frame comes later, by `SenderInput::Encoded`, or never, if the encoder is still busy with another.
    fn begin(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.encode(now, frame, budget))
    }

    /// A picture with what the encoder's side knows about it beforehand: real cameras hold their pictures, and measure them.
    fn look(&self, frame: SourceFrame) -> SourceFrame {
        frame
    }

    /// The result [`Encoder::encode`] would give: a copy of the encoder codes the frame, and the
    /// encoder itself stays as it is. `None`: it cannot be copied.
    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        let _ = (now, frame, budget);
        None
    }

    /// Coded bytes of each packet of a frame just coded, for a codec that makes its packets itself; `None`: the packetizer
    /// cuts the frame.
    fn pieces(&self, frame: &EncodedFrame) -> Option<Vec<u16>> {
        let _ = frame;
        None
    }

    /// What feedback says of packets, for an encoder that predicts from what the receiver has.
    fn reported(&mut self, reports: &PacketReports) {
        let _ = reports;
    }

    /// Report the inner state worth plotting, for the trace.
    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let _ = gauge;
    }
}

/// The sender's budget for the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderBudget {
    /// The bitrate of coded video, excluding packet headers.
    pub bitrate: DataRate,
    /// The maximum size of the frame (`None`: given by the bitrate).
    pub max_frame_size: Option<DataSize>,
    /// Code a key frame.
    pub keyframe: bool,
    /// By the bitrate, or a step from the last frame's quality.
    pub version: Version,
}

impl EncoderBudget {
    /// Only a bitrate.
    pub const fn of_bitrate(bitrate: DataRate) -> Self {
        Self { bitrate, max_frame_size: None, keyframe: false, version: Version::Budgeted }
    }

    /// For an encoder that has no limit on a frame's size, and knows a bitrate alone: the one at which this frame's share
    /// is within the limit. Encoders of real time are steered so; their frames miss it as they miss any target.
    pub fn bitrate_within_limit(&self, pictures_per_s: f64) -> DataRate {
        let limit = |max: DataSize| DataRate::from_bps((max.as_bits() as f64 * pictures_per_s) as u64);
        self.max_frame_size.map_or(self.bitrate, |max| self.bitrate.min(limit(max)))
    }
}

/// A coded frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedFrame {
    /// The captured frame it codes.
    pub frame: u64,
    /// Counts coded frames from 0; each except a key frame needs the one before it.
    pub sequence: u64,
    /// The picture of the clip it shows.
    pub content: u32,
    /// Its size's place on the resolution ladder, 0 the smallest.
    pub rung: u8,
    /// The row of the encoder's quality tables it was coded at (a quantiser or a level).
    pub qp: f32,
    /// Coded size without packet headers.
    pub size: DataSize,
    /// This many bytes come first and go in a separate packet, such as H.264's parameter sets; 0: none.
    pub head_bytes: u16,
    /// Decodable without any other frame.
    pub keyframe: bool,
    /// Picture width in luma columns.
    pub width: u16,
    /// Picture height in luma rows.
    pub height: u16,
    /// Luma PSNR in dB at the coded size, as an encoder reports it; `None` without pixels.
    pub psnr_db: Option<f32>,
    /// What the viewer sees if all of it and everything before it arrives; `None` without pixels.
    pub quality: Option<Quality>,
    /// The bitrate requested from the encoder.
    pub bitrate: DataRate,
    /// Which of the receiver's pictures it was predicted from; `None`: of a codec that does not go by reports.
    pub acknowledged: Option<Acknowledged>,
}

/// What an encoder that predicts from the receiver's own picture knew of it when it coded a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// The last frame (as [`EncodedFrame::sequence`]) of which it knew what the receiver shows.
    pub settled: Option<u64>,
    /// The frame is predicted from the one so many before it; 1, unless feedback was lost.
    pub distance: u8,
}

impl EncodedFrame {
    /// The controller's view of it.
    #[inline]
    pub fn info(&self) -> EncodedFrameInfo {
        EncodedFrameInfo {
            frame: self.frame,
            size: self.size,
            keyframe: self.keyframe,
            height: self.height,
            qp: self.qp,
            psnr_db: self.psnr_db,
            encoder_bitrate: self.bitrate,
        }
    }
}
