//! From pictures to coded frames: the encoders of a call behind one interface, and their frames ready to be cut into
//! packets.

use crate::error::Error;
use crate::pictures::ahead::{Ahead, Measured};
use crate::pictures::sizes::Sizes;
use crate::pictures::source::Pictures;
use legato_codec::{CodedFrame, Coding, EncoderSettings, LiveEncoder, PacketReport, Payloads, Wanted};
use legato_media::{EncoderBudget, FrameRate, PictureRate, SourceFrame};

/// Where coded frames come from.
pub enum CodedSource {
    /// No pictures: frames of filler.
    Filling(FrameRate),
    /// Pictures, coded.
    Pictures(Pictures),
}

/// Makes coded frames.
pub struct Coder {
    coding: Coding,
    /// Bytes of each packet's piece that frames leave empty.
    room: u16,
    kind: Kind,
}

enum Kind {
    Filling(FrameRate),
    Live(Box<LiveCoder>),
}

struct LiveCoder {
    pictures: Ahead,
    sizes: Sizes,
    rate: PictureRate,
    encoder: Box<dyn LiveEncoder>,
}

/// One coded frame.
pub struct Coded {
    /// As the encoder made it.
    pub bytes: Vec<u8>,
    /// The source of packets.
    pub frame: Box<dyn Payloads>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// In the codec's own steps: 0 … 51 for H.264, 0 … 127 for VP8, 0 … 255 for VP9 and the hybrid codec.
    pub qp: u8,
    /// Of luma, as the encoder reports it.
    pub psnr_db: Option<f32>,
    /// Luma columns and rows.
    pub size: (u16, u16),
    /// The size's place on the ladder, 0 the smallest.
    pub rung: u8,
}

/// Encoders are opened at this and get the first budget with the first picture.
const FIRST_BITRATE_BPS: u32 = 300_000;
/// Below this OpenH264's rate control cannot save any more.
const LEAST_BITRATE_BPS: u64 = 20_000;

impl Coder {
    /// Open the encoder. Each packet's piece of a frame leaves `room` bytes empty; the complexity of pictures is
    /// written to `measured`. `adapts`: their size changes with the quantiser.
    pub fn new(
        source: CodedSource,
        coding: Coding,
        room: u16,
        measured: Measured,
        adapts: bool,
    ) -> Result<Self, Error> {
        let kind = match source {
            CodedSource::Filling(frame_rate) => Kind::Filling(frame_rate),
            CodedSource::Pictures(pictures) => {
                let mut live = LiveCoder::new(Ahead::new(pictures, measured), coding, adapts)?;
                live.encoder.set_packet_cost(coding.packet_cost(room));
                Kind::Live(Box::new(live))
            }
        };
        Ok(Self { coding, room, kind })
    }

    /// Luma columns and rows of the last picture, and their place on the ladder.
    fn size(&self) -> ((u16, u16), u8) {
        match &self.kind {
            Kind::Filling(_) => ((1_280, 720), 0),
            Kind::Live(live) => (live.sizes.size(), live.sizes.place()),
        }
    }

    /// Prepares and measures the next picture while there is nothing to code.
    pub fn look_ahead(&mut self) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Filling(_) => Ok(()),
            Kind::Live(live) => live.pictures.look(),
        }
    }

    /// Feedback on packets.
    pub fn take_reports(&mut self, reports: &[PacketReport]) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Filling(_) => Ok(()),
            Kind::Live(live) => Ok(live.encoder.take_reports(reports)?),
        }
    }

    /// Draw a picture and code it within a budget. `number` counts coded frames.
    pub fn code(&mut self, picture: &SourceFrame, budget: &EncoderBudget, number: u32) -> Result<Coded, Error> {
        let keyframe = budget.keyframe;
        let (bytes, keyframe, qp, psnr_db) = match &mut self.kind {
            Kind::Filling(frame_rate) => {
                let length = f64::from(encoder_bps(budget, frame_rate.as_f64())) / 8.0 / frame_rate.as_f64();
                ((self.coding.codec().filling)(length as usize, keyframe), keyframe, 30, None)
            }
            Kind::Live(live) => {
                let coded = live.code(picture, budget)?;
                (coded.bytes, coded.keyframe, coded.qp, coded.psnr_db)
            }
        };
        let (size, rung) = self.size();
        let coded = CodedFrame { bytes: &bytes, keyframe, size, number };
        let frame = self.coding.payloads(&coded, self.room)?;
        Ok(Coded { bytes, frame, keyframe, qp, psnr_db, size, rung })
    }
}

impl LiveCoder {
    fn new(pictures: Ahead, coding: Coding, adapts: bool) -> Result<Self, Error> {
        let Pictures { width, height, frame_rate, .. } = pictures.pictures;
        let (size, frame_rate) = ((width, height), frame_rate.as_f64() as f32);
        let sizes = Sizes::new(size, coding.codec().thresholds, adapts);
        let sizes = sizes.ok_or_else(|| Error::Encoder("pictures have no size".to_owned()))?;
        let settings = EncoderSettings { size, frame_rate, bitrate_bps: FIRST_BITRATE_BPS };
        let encoder = coding.encoder(settings)?;
        let rate = PictureRate::new(frame_rate);
        Ok(Self { pictures, sizes, rate, encoder })
    }

    fn code(&mut self, picture: &SourceFrame, budget: &EncoderBudget) -> Result<legato_codec::Coded, Error> {
        let Self { pictures, sizes, rate, encoder } = self;
        let pictures_per_s = rate.measure(picture.capture);
        let bitrate_bps = encoder_bps(budget, pictures_per_s.into());
        if sizes.steps(picture.capture, budget.bitrate) {
            // Another stream: it begins with a key frame.
            let frame_rate = pictures.pictures.frame_rate.as_f64() as f32;
            encoder.resize(EncoderSettings { size: sizes.size(), frame_rate, bitrate_bps })?;
        }
        encoder.set_strict(budget.max_frame_size.is_some());
        let whole = pictures.take(picture.frame)?;
        let time_ms = picture.capture.as_nanos() / 1_000_000;
        let fitted = sizes.fit(whole, picture.frame);
        let keyframe = budget.keyframe;
        let coded = encoder.encode(fitted, Wanted { time_ms, frame_rate: pictures_per_s, bitrate_bps, keyframe })?;
        sizes.coded(coded.qp);
        Ok(coded)
    }
}

/// The bitrate for one picture, with which the live encoders work.
fn encoder_bps(budget: &EncoderBudget, pictures_per_s: f64) -> u32 {
    let bps = budget.bitrate_within_limit(pictures_per_s).as_bps();
    bps.max(LEAST_BITRATE_BPS).min(u64::from(u32::MAX >> 1)) as u32
}
