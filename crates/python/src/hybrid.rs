//! The hybrid codec: pictures to packets and back, for measuring. All work is done with the interpreter released.

use crate::error::profile_error;
use legato_hybrid::{Decoder, Encoder, Error, Origin, PacketSet, Picture, PredictFrom, Resilience, Settings, Size};
use legato_media::encoder::hybrid::{Hybrid, cut};
use legato_media::{
    AssembledFrame, Decoder as _, EncodedFrame, Encoder as _, EncoderBudget, Profile, Source, SourceFrame, decoder,
};
use legato_units::{DataRate, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;
use std::sync::Arc;

fn refused(error: Error) -> PyErr {
    profile_error(error.to_string())
}

/// An encoder of the hybrid codec (docs/concepts/hybrid-codec.md).
#[pyclass(module = "legato._core")]
pub(crate) struct HybridEncoder {
    encoder: Encoder,
    size: Size,
}

/// (frame number, packets, quantiser, whether it is a key frame)
type Coded<'py> = (u16, Vec<Bound<'py, PyBytes>>, u8, bool);

#[pymethods]
impl HybridEncoder {
    /// An encoder of pictures of one size, in at least `min_packets` packets, each of which repeats the motion of
    /// `motion_copies` others.
    #[new]
    #[pyo3(signature = (width, height, *, min_packets = 4, motion_copies = 1))]
    fn new(width: u16, height: u16, min_packets: u8, motion_copies: u8) -> PyResult<Self> {
        let size = Size::new(width, height).map_err(refused)?;
        let settings = Settings { min_packets, motion_copies, ..Settings::default() };
        Ok(Self { encoder: Encoder::new(size, settings), size })
    }

    /// Encode one picture of planar 4:2:0 into about `budget_bytes`, or at a quantiser: exactly one of them. Returns
    /// (frame number, packets, quantiser, whether it is a key frame).
    #[pyo3(signature = (picture, *, budget_bytes = None, quantiser = None, keyframe = false))]
    fn encode<'py>(
        &mut self,
        py: Python<'py>,
        picture: &[u8],
        budget_bytes: Option<usize>,
        quantiser: Option<u8>,
        keyframe: bool,
    ) -> PyResult<Coded<'py>> {
        let coded = py.detach(|| {
            let picture = Picture::from_planar(self.size, picture).map_err(refused)?;
            if keyframe {
                self.encoder.request_keyframe();
            }
            match (budget_bytes, quantiser) {
                (Some(budget), None) => self.encoder.encode(&picture, budget).map_err(refused),
                (None, Some(quantiser)) => self.encoder.encode_at(&picture, quantiser).map_err(refused),
                _ => Err(profile_error("HybridEncoder.encode needs either budget_bytes or quantiser".to_owned())),
            }
        })?;
        let packets = coded.packets.iter().map(|packet| PyBytes::new(py, packet)).collect();
        Ok((coded.frame, packets, coded.quantiser, coded.keyframe))
    }

    /// The receiver reports which of a frame's `count` packets came.
    fn acknowledge(&mut self, py: Python<'_>, frame: u16, received: Vec<u8>, count: u8) {
        let mut packets = PacketSet::none(count);
        received.into_iter().for_each(|packet| {
            packets.insert(packet);
        });
        py.detach(|| self.encoder.acknowledge(frame, &packets));
    }

    /// The same stream once more: each goes its own way from here.
    fn copy(&self) -> Self {
        Self { encoder: self.encoder.clone(), size: self.size }
    }

    /// From now on frames have at least `min_packets` packets of at most `max_packet_bytes`, each of which repeats the
    /// motion of `motion_copies` others. They are predicted from the last reported frame (`from_reported`) or from the
    /// previous one.
    #[pyo3(signature = (min_packets, *, motion_copies = 0, max_packet_bytes = 1_159, from_reported = false))]
    fn configure(&mut self, min_packets: u8, motion_copies: u8, max_packet_bytes: u16, from_reported: bool) {
        let predict_from = if from_reported { PredictFrom::Reported } else { PredictFrom::Latest };
        self.encoder.set(Settings { min_packets, motion_copies, max_packet_bytes, predict_from });
    }

    /// Luma of the receiver's picture if no more is lost than was reported; `None` before the first.
    fn shown<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.encoder.shown().map(|picture| PyBytes::new(py, picture.luma()))
    }
}

/// How many copies of motion calls add, from reports on frames.
#[pyclass(module = "legato._core")]
pub(crate) struct HybridResilience {
    resilience: Resilience,
    size: Size,
}

#[pymethods]
impl HybridResilience {
    /// For pictures of one size; nothing is lost so far.
    #[new]
    fn new(width: u16, height: u16) -> PyResult<Self> {
        let size = Size::new(width, height).map_err(refused)?;
        Ok(Self { resilience: Resilience::default(), size })
    }

    /// Feedback on a frame: how many of its packets it named, and how many of these came.
    fn take(&mut self, named: u8, came: u8) {
        self.resilience.take(named, came);
    }

    /// Copies for the next frame, if it has about so many bytes.
    fn motion_copies(&mut self, frame_bytes: usize) -> u8 {
        self.resilience.motion_copies(self.size, frame_bytes)
    }
}

/// (distance of the frame predicted from, states, motion)
type Shown<'py> = (u8, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A decoder of the hybrid codec: any packets of a frame give a picture.
#[pyclass(module = "legato._core")]
pub(crate) struct HybridDecoder {
    decoder: Decoder,
}

#[pymethods]
impl HybridDecoder {
    /// A decoder that waits for its first key frame.
    #[new]
    fn new() -> Self {
        Self { decoder: Decoder::new() }
    }

    /// Decodes the packets of one frame that arrived; returns its number, the packets that were used and how many the
    /// frame has.
    fn decode(&mut self, py: Python<'_>, packets: Vec<Vec<u8>>) -> PyResult<(u16, Vec<u8>, u8)> {
        let decoded = py.detach(|| {
            let slices: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            self.decoder.decode(&slices).map_err(refused)
        })?;
        let count = decoded.received.count();
        let received = (0..count).filter(|&packet| decoded.received.contains(packet)).collect();
        Ok((decoded.frame, received, count))
    }

    /// Nothing of a frame arrived: the picture before goes on with half of its motion, thrice at most in a row.
    fn miss(&mut self) {
        self.decoder.miss();
    }

    /// The same decoder once more: each goes its own way from here.
    fn copy(&self) -> Self {
        Self { decoder: self.decoder.clone() }
    }

    /// Luma of the latest picture; `None` before the first.
    fn luma<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.decoder.picture().map(|picture| PyBytes::new(py, picture.luma()))
    }
    /// Of the latest picture, for stages behind the decoder: (how many frames before it lies the one it was predicted
    /// from, 0 for a key frame; three bytes per macroblock; motion per macroblock). `None` before the first.
    ///
    /// The three bytes are where it came from (0 its packet, 1 motion alone from another packet, 2 nowhere), a bit per
    /// block with coefficients, and its quantiser. Motion is four times (x, y) in quarters of a pixel as 16-bit native
    /// integers; -32768 where a block is not predicted.
    fn shown<'py>(&self, py: Python<'py>) -> Option<Shown<'py>> {
        let (distance, macroblocks) = self.decoder.shown()?;
        let (mut states, mut motion) = (Vec::new(), Vec::new());
        for macroblock in macroblocks {
            let origin = match macroblock.origin {
                Origin::Received => 0,
                Origin::MotionCopied => 1,
                Origin::Concealed => 2,
            };
            states.extend([origin, macroblock.coded, macroblock.quantiser]);
            for (x, y) in macroblock.motion.map(|vector| vector.unwrap_or((i16::MIN, i16::MIN))) {
                motion.extend(x.to_ne_bytes().into_iter().chain(y.to_ne_bytes()));
            }
        }
        Some((distance, PyBytes::new(py, &states), PyBytes::new(py, &motion)))
    }
}

/// Packets of a frame of the hybrid codec, and bytes in them all, for a share of the bitrate in bytes without headers.
#[pyfunction]
pub(crate) fn hybrid_cut(share_bytes: u32) -> (u8, u32) {
    cut(share_bytes)
}

/// The model of the hybrid codec on a profile, both ends, without a call: for comparing it with the codec.
#[pyclass(module = "legato._core")]
pub(crate) struct HybridModel {
    encoder: Hybrid,
    decoder: decoder::hybrid::Hybrid,
    source: Source,
    sent: Vec<(SourceFrame, EncodedFrame, u16)>,
}

/// (size in bytes of the codec's packets, packets, level, SSIM in dB as shown if nothing is lost)
type Modelled = (u64, u16, f32, Option<f32>);

#[pymethods]
impl HybridModel {
    /// The model on the profile at `path`, in pictures of `height` rows, starting with content `offset`. `later_ratio` is
    /// the share of known damage that a whole frame leaves, in place of the model's own.
    #[new]
    #[pyo3(signature = (path, height, *, offset = 0, later_ratio = None))]
    fn new(path: &str, height: u16, offset: u32, later_ratio: Option<f32>) -> PyResult<Self> {
        let profile = Arc::new(Profile::read(Path::new(path)).map_err(|error| profile_error(error.to_string()))?);
        let absent = || profile_error(format!("{path}: the hybrid codec at height {height} was not measured"));
        let rung = profile.rungs.iter().position(|rung| rung.height == height).ok_or_else(absent)?;
        let source = Source::new(profile.content.clone(), Timestamp::ZERO, offset);
        let encoder = Hybrid::new(profile.clone(), rung).ok_or_else(absent)?;
        let decoder = decoder::hybrid::Hybrid::new(profile);
        let decoder = match later_ratio {
            None => decoder,
            Some(later) if (0.0..=1.0).contains(&later) => decoder.with_later(later),
            Some(later) => return Err(profile_error(format!("later_ratio {later}: must be in [0, 1]"))),
        };
        Ok(Self { encoder, decoder, source, sent: Vec::new() })
    }

    /// Encode the next frame at a bitrate; returns (size in bytes of the codec's packets, packets, level, SSIM in dB as
    /// shown if nothing is lost).
    fn encode(&mut self, bitrate_bps: u64) -> Modelled {
        let frame = self.source.capture();
        let budget = EncoderBudget::of_bitrate(DataRate::from_bps(bitrate_bps));
        let coded = self.encoder.encode(frame.capture, frame, budget);
        let packets = self.encoder.pieces(&coded).map_or(1, |pieces| pieces.len() as u16);
        self.sent.push((frame, coded, packets));
        let own_bytes = coded.size.as_bytes() - 3 * u64::from(packets);
        (own_bytes, packets, coded.qp, coded.quality.map(|quality| quality.ssim_db))
    }

    /// Decode so many packets of a frame; returns SSIM in dB of the picture shown then, `None` before the first
    /// picture.
    fn decode(&mut self, frame: usize, received: u16) -> Option<f32> {
        let (source, encoded, pieces_total) = *self.sent.get(frame)?;
        let assembled = AssembledFrame { encoded, pieces_received: received, pieces_total };
        let decoded = self.decoder.decode(Timestamp::ZERO, &assembled);
        let shown = if decoded.decodable { decoded.quality } else { self.decoder.frozen(&source) };
        shown.map(|quality| quality.ssim_db)
    }

    /// The receiver reports how many packets of a frame came.
    fn report(&mut self, frame: u64, received: u16) {
        let packets = self.sent.get(frame as usize).map_or(0, |sent| sent.2);
        self.encoder.take_reports((0..packets).map(|packet| (frame, packet, packet < received)));
    }
}
