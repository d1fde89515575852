//! Makes coded frames out of pictures: the encoders of a call behind one face, and their frames ready to be cut into
//! packets.

use crate::codec::Codec;
use crate::error::Error;
use crate::h264_payload::H264Frame;
use crate::picture_rate::PictureRate;
use crate::pictures::Pictures;
use crate::vp8_payload::Vp8Frame;
use legato_media::{EncoderBudget, FrameRate, SourceFrame};

/// Where coded frames come from.
pub enum CodedSource {
    /// No pictures: frames of filling.
    Filling(FrameRate),
    /// Pictures, coded.
    Pictures(Pictures),
}

/// Makes coded frames.
pub struct Coder {
    codec: Codec,
    /// Bytes of each packet's piece that frames leave empty.
    room: u16,
    kind: Kind,
}

enum Kind {
    Filling(FrameRate),
    Live(Box<LiveCoder>),
}

struct LiveCoder {
    pictures: Pictures,
    rate: PictureRate,
    encoder: LiveEncoder,
    buffer: Vec<u8>,
}

/// An encoder with a live bitrate.
enum LiveEncoder {
    H264(legato_h264::Live),
    Vp8(legato_vpx::Live),
}

/// A frame's bytes, whether it is a key frame, its quantiser and its PSNR in dB.
type FromEncoder = (Vec<u8>, bool, u8, Option<f32>);

/// One coded frame.
pub struct Coded {
    /// As the encoder made it.
    pub bytes: Vec<u8>,
    /// What packets are cut from.
    pub frame: CutFrame,
    /// Decodable without any other.
    pub keyframe: bool,
    /// In the codec's own steps: 0 … 51 of H.264, 0 … 127 of VP8.
    pub qp: u8,
    /// Of luma, as the encoder tells.
    pub psnr_db: Option<f32>,
}

/// A coded frame, ready to be cut into packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutFrame {
    /// RFC 6184.
    H264(H264Frame),
    /// RFC 7741.
    Vp8(Vp8Frame),
}

/// Encoders are opened at this and told the first budget with the first picture.
const FIRST_BITRATE_BPS: u32 = 300_000;
/// Below this OpenH264's rate control has nothing left to give.
const LEAST_BITRATE_BPS: u64 = 20_000;

impl Coder {
    /// Open the encoder. Each packet's piece of a frame leaves `room` bytes empty.
    pub fn new(source: CodedSource, codec: Codec, room: u16) -> Result<Self, Error> {
        let kind = match source {
            CodedSource::Filling(frame_rate) => Kind::Filling(frame_rate),
            CodedSource::Pictures(pictures) => Kind::Live(Box::new(LiveCoder::new(pictures, codec)?)),
        };
        Ok(Self { codec, room, kind })
    }

    /// Luma columns and rows.
    pub fn size(&self) -> (u16, u16) {
        match &self.kind {
            Kind::Filling(_) => (1_280, 720),
            Kind::Live(live) => (live.pictures.width, live.pictures.height),
        }
    }

    /// Draw a picture and code it within a budget. `number` counts coded frames.
    pub fn code(&mut self, picture: &SourceFrame, budget: &EncoderBudget, number: u32) -> Result<Coded, Error> {
        let bps = budget.bitrate.as_bps().max(LEAST_BITRATE_BPS).min(u64::from(u32::MAX >> 1)) as u32;
        let keyframe = budget.keyframe;
        let (bytes, keyframe, qp, psnr_db) = match &mut self.kind {
            Kind::Filling(frame_rate) => {
                let length = f64::from(bps) / 8.0 / frame_rate.as_f64();
                (filling(self.codec, length as usize, keyframe), keyframe, 30, None)
            }
            Kind::Live(live) => live.code(picture, bps, keyframe)?,
        };
        let frame = match self.codec {
            Codec::H264 => CutFrame::H264(H264Frame::new(&bytes, self.room)?),
            Codec::Vp8 => CutFrame::Vp8(Vp8Frame::new(&bytes, number, self.room)),
        };
        Ok(Coded { bytes, frame, keyframe, qp, psnr_db })
    }
}

impl LiveCoder {
    fn new(pictures: Pictures, codec: Codec) -> Result<Self, Error> {
        let (width, height) = (pictures.width, pictures.height);
        let frame_rate = pictures.frame_rate.as_f64() as f32;
        let encoder = match codec {
            Codec::H264 => {
                let mode = legato_h264::Mode::Bitrate(FIRST_BITRATE_BPS);
                let settings = legato_h264::Settings { width, height, frame_rate, mode };
                LiveEncoder::H264(legato_h264::Live::new(settings, FIRST_BITRATE_BPS).map_err(failed)?)
            }
            Codec::Vp8 => {
                let settings = legato_vpx::Settings { width, height, frame_rate };
                LiveEncoder::Vp8(legato_vpx::Live::new(settings, FIRST_BITRATE_BPS).map_err(failed)?)
            }
        };
        Ok(Self { pictures, rate: PictureRate::new(frame_rate), encoder, buffer: Vec::new() })
    }

    fn code(&mut self, picture: &SourceFrame, bps: u32, keyframe: bool) -> Result<FromEncoder, Error> {
        let Self { pictures, rate, encoder, buffer } = self;
        pictures.draw(picture.frame, buffer)?;
        let time_ms = picture.capture.as_nanos() / 1_000_000;
        let rate = rate.measure(time_ms);
        Ok(match encoder {
            LiveEncoder::H264(live) => {
                let coded = live.encode(buffer, time_ms, rate, bps, keyframe).map_err(failed)?;
                (coded.bytes, coded.keyframe, coded.qp, coded.psnr_db)
            }
            LiveEncoder::Vp8(live) => {
                let coded = live.encode(buffer, rate, bps, keyframe).map_err(failed)?;
                (coded.bytes, coded.keyframe, coded.qp, coded.psnr_db)
            }
        })
    }
}

impl CutFrame {
    /// Bytes that the packetizer shares out.
    pub fn size_bytes(&self) -> u32 {
        match self {
            Self::H264(frame) => frame.size_bytes(),
            Self::Vp8(frame) => frame.size_bytes(),
        }
    }

    /// Of these the ones that go ahead in a packet of their own.
    pub fn head_bytes(&self) -> u16 {
        match self {
            Self::H264(frame) => frame.head_bytes(),
            Self::Vp8(_) => 0,
        }
    }

    /// The payload of packet `index`; `None` beyond the last.
    pub fn payload(&self, index: u16) -> Option<Vec<u8>> {
        match self {
            Self::H264(frame) => frame.payload(index),
            Self::Vp8(frame) => frame.payload(index),
        }
    }
}

/// A frame of so many bytes that no decoder takes.
fn filling(codec: Codec, length: usize, keyframe: bool) -> Vec<u8> {
    let mut bytes = match codec {
        Codec::H264 => vec![0, 0, 1, if keyframe { 0x65 } else { 0x41 }],
        Codec::Vp8 => vec![u8::from(!keyframe), 0, 0],
    };
    bytes.resize(bytes.len() + length, 0x55);
    bytes
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Encoder(error.to_string())
}
