//! The native half of clip measurement: SSIM, PSNR and OpenH264. A list of pictures is one `bytes` object with the pictures
//! in sequence. All work is done with the interpreter released.

use crate::error::profile_error;
use legato_codec::{Coding, EncoderSettings, Recovery, Wanted};
use legato_h264::{Mode, Settings, Stream};
use legato_media::encoder::{openh264, x264};
use legato_media::quality::{self, Luma};
use legato_media::{Encoder, EncoderBudget, Profile, Source};
use legato_units::{DataRate, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Mean SSIM (Gaussian window 11, sigma 1.5, luma) and luma PSNR in dB of each picture of `coded` against
/// the picture of `reference` with the same number, computed on `threads` threads.
#[pyfunction]
#[pyo3(signature = (reference, coded, width, height, threads = 1))]
pub(crate) fn picture_quality(
    py: Python<'_>,
    reference: &[u8],
    coded: &[u8],
    width: usize,
    height: usize,
    threads: usize,
) -> PyResult<Vec<(f64, f64)>> {
    let size = picture_bytes(width, height, reference.len())?;
    if reference.len() != coded.len() {
        return Err(profile_error(format!(
            "{} and {} bytes of pictures cannot be compared",
            reference.len(),
            coded.len()
        )));
    }
    py.detach(|| {
        let count = reference.len() / size;
        let share = count.div_ceil(threads.clamp(1, 64)).max(1);
        let jobs = reference.chunks(share * size).zip(coded.chunks(share * size));
        let parts = thread::scope(|scope| {
            let running: Vec<_> = jobs
                .map(|(a, b)| {
                    scope.spawn(move || {
                        a.chunks_exact(size)
                            .zip(b.chunks_exact(size))
                            .map(|(a, b)| compare(a, b, width, height))
                            .collect::<Option<Vec<_>>>()
                    })
                })
                .collect();
            running.into_iter().map(|job| job.join().ok().flatten()).collect::<Option<Vec<_>>>()
        });
        parts.map(|parts| parts.concat())
    })
    .ok_or_else(|| profile_error(format!("pictures of {width}x{height} are too small to compare")))
}

fn compare(a: &[u8], b: &[u8], width: usize, height: usize) -> Option<(f64, f64)> {
    let (a, b) = (Luma::new(width, height, a)?, Luma::new(width, height, b)?);
    Some((quality::ssim(a, b)?, quality::psnr_db(quality::mean_squared_error(a, b)?)))
}

fn picture_bytes(width: usize, height: usize, length: usize) -> PyResult<usize> {
    match width.checked_mul(height) {
        Some(size) if size > 0 && length.is_multiple_of(size) => Ok(size),
        _ => Err(profile_error(format!("{length} bytes are no pictures of {width}x{height}"))),
    }
}

/// One OpenH264 stream of planar 4:2:0 pictures, coded and decoded.
#[pyclass(module = "legato._core")]
pub(crate) struct OpenH264Stream {
    stream: Stream,
}

/// (coded bytes, whether it is a key frame, mean QP, decoded luma)
type Coded = (Vec<u8>, bool, u8, Vec<u8>);

#[pymethods]
impl OpenH264Stream {
    /// A stream at a forced quantiser (`qp`) or in bitrate mode (`bitrate_bps`): exactly one of them.
    #[new]
    #[pyo3(signature = (width, height, fps, *, qp = None, bitrate_bps = None))]
    fn new(width: u16, height: u16, fps: f32, qp: Option<u8>, bitrate_bps: Option<u32>) -> PyResult<Self> {
        let mode = match (qp, bitrate_bps) {
            (Some(qp), None) => Mode::Quantiser(qp),
            (None, Some(bps)) => Mode::Bitrate(bps),
            _ => return Err(profile_error("OpenH264Stream needs either qp or bitrate_bps".to_owned())),
        };
        let stream = Stream::new(Settings { width, height, frame_rate: fps, mode });
        Ok(Self { stream: stream.map_err(|error| profile_error(error.to_string()))? })
    }

    /// Encode one picture; returns (coded bytes, whether it is a key frame, mean QP, decoded luma).
    #[pyo3(signature = (picture, keyframe = false))]
    fn encode(&mut self, py: Python<'_>, picture: &[u8], keyframe: bool) -> PyResult<Coded> {
        let coded = py.detach(|| self.stream.encode(picture, keyframe));
        let coded = coded.map_err(|error| profile_error(error.to_string()))?;
        Ok((coded.bytes, coded.keyframe, coded.qp, coded.luma))
    }

    /// Set the target, which holds from the next frame on.
    fn set_bitrate(&mut self, bitrate_bps: u32) -> PyResult<()> {
        self.stream.set_bitrate(bitrate_bps).map_err(|error| profile_error(error.to_string()))
    }
}

/// An encoder as real calls have it, alone: pictures at even intervals, a target with each.
#[pyclass(module = "legato._core")]
pub(crate) struct LiveEncoder {
    encoder: Box<dyn legato_codec::LiveEncoder>,
    fps: f32,
    frames: u64,
}

/// (coded size in bytes, whether it is a key frame, QP in the codec's own steps, luma PSNR in dB)
type LiveCoded = (usize, bool, u8, Option<f32>);

#[pymethods]
impl LiveEncoder {
    /// A stream of `codec` (h264, vp8 or vp9) that begins at a bitrate.
    #[new]
    fn new(codec: &str, width: u16, height: u16, fps: f32, bitrate_bps: u32) -> PyResult<Self> {
        let settings = EncoderSettings { size: (width, height), frame_rate: fps, bitrate_bps };
        let open = || Coding::new(codec, Recovery::Nack)?.encoder(settings);
        let encoder = open().map_err(|error| profile_error(error.to_string()))?;
        Ok(Self { encoder, fps, frames: 0 })
    }

    /// Encode one picture of planar 4:2:0 at a bitrate; returns (coded size in bytes, whether it is a key frame, QP in
    /// the codec's own steps, luma PSNR in dB).
    #[pyo3(signature = (picture, bitrate_bps, keyframe = false))]
    fn encode(&mut self, py: Python<'_>, picture: &[u8], bitrate_bps: u32, keyframe: bool) -> PyResult<LiveCoded> {
        let (fps, time_ms) = (self.fps, (self.frames as f64 * 1_000.0 / f64::from(self.fps)) as i64);
        self.frames += 1;
        let wanted = Wanted { time_ms, frame_rate: fps, bitrate_bps, keyframe };
        let coded = py.detach(|| self.encoder.encode(picture, wanted));
        let coded = coded.map_err(|error| profile_error(error.to_string()))?;
        Ok((coded.bytes.len(), coded.keyframe, coded.qp, coded.psnr_db))
    }
}

/// OpenH264 with slices and references that the receiver acknowledges.
#[pyclass(module = "legato._core")]
pub(crate) struct ResilientH264 {
    stream: legato_h264::Resilient,
    fps: f32,
    bitrate_bps: u32,
    frames: u64,
}

/// (NAL units with their start codes and whether each is a slice, whether it is a key frame, whether it is predicted from
/// an acknowledged frame)
type ResilientCoded<'py> = (Vec<(Bound<'py, PyBytes>, bool)>, bool, bool);

#[pymethods]
impl ResilientH264 {
    /// A stream at a bitrate, with pictures in at most so many slices.
    #[new]
    #[pyo3(signature = (width, height, fps, bitrate_bps, *, slices, long_term))]
    fn new(width: u16, height: u16, fps: f32, bitrate_bps: u32, slices: u8, long_term: bool) -> PyResult<Self> {
        let settings = Settings { width, height, frame_rate: fps, mode: Mode::Bitrate(bitrate_bps) };
        let stream = legato_h264::Resilient::new(settings, bitrate_bps, slices, long_term);
        let stream = stream.map_err(|error| profile_error(error.to_string()))?;
        Ok(Self { stream, fps, bitrate_bps, frames: 0 })
    }

    /// Encode one picture of planar 4:2:0.
    #[pyo3(signature = (picture, keyframe = false))]
    fn encode<'py>(&mut self, py: Python<'py>, picture: &[u8], keyframe: bool) -> PyResult<ResilientCoded<'py>> {
        let (fps, bps) = (self.fps, self.bitrate_bps);
        let time_ms = (self.frames as f64 * 1_000.0 / f64::from(fps)) as i64;
        self.frames += 1;
        let coded = py.detach(|| self.stream.encode(picture, time_ms, fps, bps, keyframe));
        let coded = coded.map_err(|error| profile_error(error.to_string()))?;
        let units = coded.units.iter().map(|(unit, slice)| (PyBytes::new(py, unit), *slice)).collect();
        Ok((units, coded.keyframe, coded.recovers))
    }

    /// The receiver reports that all of frame `number`, counted from 0, came, or not.
    fn report(&mut self, number: u64, whole: bool) -> PyResult<()> {
        self.stream.report(number, whole).map_err(|error| profile_error(error.to_string()))
    }
}

/// VP8 or VP9 with references that the receiver acknowledges.
#[pyclass(module = "legato._core")]
pub(crate) struct ResilientVpx {
    stream: legato_vpx::Resilient,
    fps: f32,
    bitrate_bps: u32,
}

#[pymethods]
impl ResilientVpx {
    /// A stream at a bitrate. `codec`: vp8 or vp9. Refused where the build has no libvpx.
    #[new]
    fn new(codec: &str, width: u16, height: u16, fps: f32, bitrate_bps: u32) -> PyResult<Self> {
        let codec = match codec {
            "vp8" => legato_vpx::Codec::Vp8,
            "vp9" => legato_vpx::Codec::Vp9,
            other => return Err(profile_error(format!("codec {other}: one of vp8, vp9 is needed"))),
        };
        let settings = legato_vpx::Settings { codec, width, height, frame_rate: fps };
        let stream = legato_vpx::Resilient::new(settings, bitrate_bps);
        Ok(Self { stream: stream.map_err(|error| profile_error(error.to_string()))?, fps, bitrate_bps })
    }

    /// Encode one picture of planar 4:2:0: the frame, whether it is a key frame, and whether it is predicted from
    /// acknowledged frames.
    #[pyo3(signature = (picture, keyframe = false))]
    fn encode<'py>(
        &mut self,
        py: Python<'py>,
        picture: &[u8],
        keyframe: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, bool, bool)> {
        let (fps, bps) = (self.fps, self.bitrate_bps);
        let coded = py.detach(|| self.stream.encode(picture, fps, bps, keyframe));
        let coded = coded.map_err(|error| profile_error(error.to_string()))?;
        Ok((PyBytes::new(py, &coded.frame.bytes), coded.frame.keyframe, coded.recovers))
    }

    /// The receiver reports that all of frame `number`, counted from 0, came, or not.
    fn report(&mut self, number: u64, whole: bool) {
        self.stream.report(number, whole);
    }
}

/// The model of an encoder on a profile, without a call: for comparing models with the encoders that they represent.
#[pyclass(module = "legato._core")]
pub(crate) struct EncoderModel {
    encoder: Box<dyn Encoder + Sync>,
    source: Source,
}

#[pymethods]
impl EncoderModel {
    /// The model of `encoder` on the profile at `path`, in pictures of `height` rows, starting with content `offset`.
    #[new]
    #[pyo3(signature = (path, encoder, height, *, vbv_ms = 1_000, offset = 0))]
    fn new(path: &str, encoder: &str, height: u16, vbv_ms: u32, offset: u32) -> PyResult<Self> {
        let profile = Arc::new(Profile::read(Path::new(path)).map_err(|error| profile_error(error.to_string()))?);
        let rung = profile.rungs.iter().position(|rung| rung.height == height);
        let rung = rung.ok_or_else(|| profile_error(format!("{path}: height {height} was not measured")))?;
        let source = Source::new(profile.content.clone(), Timestamp::ZERO, offset);
        let model: Option<Box<dyn Encoder + Sync>> = match encoder {
            "x264" => x264::X264::new(profile, rung, x264::Config { vbv_ms }).map(|model| Box::new(model) as _),
            "openh264" => openh264::OpenH264::new(profile, rung).map(|model| Box::new(model) as _),
            _ => None,
        };
        let encoder = model.ok_or_else(|| profile_error(format!("{path}: encoder {encoder} was not measured")))?;
        Ok(Self { encoder, source })
    }

    /// Encode the next frame at a bitrate; returns (size in bytes, QP, SSIM in dB as shown, PSNR in dB at the coded size).
    #[pyo3(signature = (bitrate_bps, keyframe = false))]
    fn encode(&mut self, bitrate_bps: u64, keyframe: bool) -> (u64, f32, Option<f32>, Option<f32>) {
        let frame = self.source.capture();
        let budget = EncoderBudget { keyframe, ..EncoderBudget::of_bitrate(DataRate::from_bps(bitrate_bps)) };
        let coded = self.encoder.encode(frame.capture, frame, budget);
        (coded.size.as_bytes(), coded.qp, coded.quality.map(|quality| quality.ssim_db), coded.psnr_db)
    }
}

/// Mean coded size in bytes of a clip's predicted frames at a quantiser, from its profile.
#[pyfunction]
pub(crate) fn profile_mean_size(path: &str, encoder: &str, height: u16, qp: f32) -> PyResult<f64> {
    let profile = Profile::read(Path::new(path)).map_err(|error| profile_error(error.to_string()))?;
    let rung = profile.rungs.iter().find(|rung| rung.height == height);
    let tables = rung.and_then(|rung| rung.tables(encoder));
    let table =
        &tables.ok_or_else(|| profile_error(format!("{path}: {encoder} at height {height} was not measured")))?.inter;
    Ok(table.mean_bytes(qp))
}
