//! From a scenario's video to source, encoder and decoder.

use crate::error::SimError;
use crate::network::resolve;
use crate::scenario::{EncoderKind, FrameSizesSpec, LimitsSpec, VideoSpec};
use crate::seed::Seed;
use legato_media::decoder;
use legato_media::encoder::frame_trace::{self, FrameTraces};
use legato_media::encoder::gop::Gop;
use legato_media::encoder::resolution::{self, Model, Switching};
use legato_media::encoder::{hybrid, loss_tolerant, statistical};
use legato_media::{Content, Decoder, DecoderKind, Encoder, FrameRate, Profile, Quality, Source};
use legato_trace::AgedPicture;
use legato_units::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// A clip, loaded: calls share its tables.
#[derive(Clone)]
pub struct LoadedClip {
    /// Its name in reports.
    pub label: Arc<str>,
    /// Its tables; absent: a source without pixels.
    pub profile: Option<Arc<Profile>>,
    /// Logged frame sizes; absent, and no profile either: a statistical source.
    pub frame_sizes: Option<Arc<FrameTraces>>,
}

/// The maximum size of a log of frame sizes.
const MAX_LOG_BYTES: u64 = 64 << 20;

impl LoadedClip {
    /// Read a profile; played at `fps` pictures a second, or at its own rate.
    pub fn load(path: &str, fps: Option<u32>) -> Result<Self, SimError> {
        let mut profile = Profile::read(Path::new(path)).map_err(|error| SimError::Profile(error.to_string()))?;
        if let Some(frame_rate) = fps.and_then(|fps| FrameRate::new(fps, 1)) {
            profile.content.frame_rate = frame_rate;
        }
        Ok(Self { label: profile.name.as_str().into(), profile: Some(Arc::new(profile)), frame_sizes: None })
    }

    /// The clip the scenario names; files are relative to `folder`.
    pub fn of(spec: &VideoSpec, folder: &Path) -> Result<Self, SimError> {
        match &spec.clip {
            Some(clip) => Self::load(&resolve(clip, folder), spec.clip_fps),
            None if spec.frame_sizes.is_empty() => Ok(Self::statistical()),
            None => Self::load_frame_sizes(&spec.frame_sizes, folder),
        }
    }

    /// No pixels.
    pub fn statistical() -> Self {
        Self { label: "statistical".into(), profile: None, frame_sizes: None }
    }

    /// Read logs of frame sizes; files are relative to `folder`.
    pub fn load_frame_sizes(logs: &[FrameSizesSpec], folder: &Path) -> Result<Self, SimError> {
        let mut texts = Vec::with_capacity(logs.len());
        for log in logs {
            let file = resolve(&log.file, folder);
            let refused = |error: std::io::Error| SimError::Profile(format!("{file}: {error}"));
            let size = std::fs::metadata(&file).map_err(refused)?.len();
            if size > MAX_LOG_BYTES {
                return Err(SimError::Profile(format!("{file}: {size} bytes are more than 64 MiB")));
            }
            let text = std::fs::read_to_string(&file).map_err(refused)?;
            texts.push((file, log.bitrate_bps, text));
        }
        let logs: Vec<_> = texts.iter().map(|(file, bps, text)| (file.as_str(), *bps, text.as_str())).collect();
        let traces = FrameTraces::parse(&logs).map_err(|error| SimError::Profile(error.to_string()))?;
        Ok(Self { label: "frame sizes".into(), profile: None, frame_sizes: Some(Arc::new(traces)) })
    }

    /// What tables call its encoder.
    pub fn encoder_name(&self, spec: &VideoSpec) -> &'static str {
        match (&self.profile, &self.frame_sizes) {
            (Some(_), _) => spec.encoder().name(),
            (None, Some(_)) => "frame_sizes",
            (None, None) => "statistical",
        }
    }

    /// What decodes it. Without measured pixels the value of a partial frame is unknown: only whole frames decode then.
    pub fn decoder(&self, spec: &VideoSpec) -> DecoderKind {
        if self.profile.is_some() { spec.decoder } else { DecoderKind::Strict }
    }
}

/// The camera of one call.
pub fn build_source(spec: &VideoSpec, clip: &LoadedClip, seed: Seed, start: Timestamp) -> Source {
    let source = Source::new(content(spec.fps, clip), start, first_picture(spec, clip, seed));
    match &clip.profile {
        Some(_) => source,
        None => source.varying(INTERVAL_SCALE_RATIO, seed.stream("media.source.interval")),
    }
}

// [rfc8593] figure 2: SCALE_t of synthetic video.
const INTERVAL_SCALE_RATIO: f64 = 0.15;

/// Where in the clip the camera begins: as configured, else drawn from the seed.
pub fn first_picture(spec: &VideoSpec, clip: &LoadedClip, seed: Seed) -> u32 {
    let period = clip.profile.as_ref().map_or(1, |profile| profile.content.period());
    let picture = spec.first_picture.map_or_else(|| seed.derived("media.source.offset"), u64::from);
    (picture % u64::from(period.max(1))) as u32
}

/// The later quality of a picture that stays on the screen, if pixels were measured, in a call that began with picture
/// `first`.
pub fn aged_picture(clip: &LoadedClip, first: u32) -> Option<Box<AgedPicture<'static>>> {
    let profile = clip.profile.clone()?;
    let first = u64::from(first);
    Some(Box::new(move |shown: u64, (ssim_db, psnr_db): (f32, f32), frame: u64| {
        let content = profile.content.picture_at(first + frame);
        let worth = profile.freeze.aged(Quality { ssim_db, psnr_db }, content, frame - shown);
        (worth.ssim_db, worth.psnr_db)
    }))
}

fn content(fps: u32, clip: &LoadedClip) -> Content {
    match &clip.profile {
        Some(profile) => profile.content.clone(),
        None => Content::unmeasured(FrameRate::new(fps, 1).unwrap_or(FrameRate::THIRTY)),
    }
}

/// The encoder of one call.
pub fn build_encoder(
    spec: &VideoSpec,
    limits: &LimitsSpec,
    clip: &LoadedClip,
    seed: Seed,
) -> Result<Box<dyn Encoder>, SimError> {
    let encoder = build_model(spec, limits, clip, seed)?;
    Ok(match spec.gop_frames {
        Some(frames) => Box::new(Gop::new(encoder, frames)),
        None => encoder,
    })
}

fn build_model(
    spec: &VideoSpec,
    limits: &LimitsSpec,
    clip: &LoadedClip,
    seed: Seed,
) -> Result<Box<dyn Encoder>, SimError> {
    let Some(profile) = &clip.profile else {
        let rate = FrameRate::new(spec.fps, 1).unwrap_or(FrameRate::THIRTY);
        // RFC 8593's R_min and R_max are the range the application allows.
        let config = statistical::Config {
            min_bitrate_bps: limits.min_bps,
            max_bitrate_bps: limits.max_bps,
            ..statistical::Config::default()
        };
        return Ok(match &clip.frame_sizes {
            Some(traces) => {
                let config = frame_trace::Config { transient: config, ..frame_trace::Config::default() };
                Box::new(frame_trace::FrameTrace::new(traces.clone(), config, rate))
            }
            None => Box::new(statistical::Statistical::new(config, rate, seed.stream("media.encoder"))),
        });
    };
    let model = match spec.encoder() {
        EncoderKind::GraceStandin => {
            return Ok(Box::new(loss_tolerant::LossTolerant::new(profile, spec.standin_height)));
        }
        EncoderKind::Hybrid => None,
        EncoderKind::Jm => Some(Model::Jm(spec.gop_frames)),
        EncoderKind::OpenH264 => Some(Model::OpenH264),
        EncoderKind::X264 => Some(Model::X264(spec.x264())),
    };
    let max_height = spec.max_height.unwrap_or(u16::MAX);
    let absent = || {
        let hybrid = profile.rungs[0].hybrid.is_some().then_some(EncoderKind::Hybrid.name());
        let known: Vec<_> = profile.encoders().chain(hybrid).collect();
        let heights: Vec<_> = profile.rungs.iter().map(|rung| rung.height.to_string()).collect();
        SimError::Profile(format!(
            "{}: video.encoder = {:?} up to {max_height} rows was not measured; {} were, at {} rows",
            clip.label,
            spec.encoder().name(),
            known.join(", "),
            heights.join(", ")
        ))
    };
    let within: Vec<u16> = profile.rungs.iter().map(|rung| rung.height).filter(|&rows| rows <= max_height).collect();
    let largest = within.last().copied().ok_or_else(absent)?;
    let Some(model) = model else {
        // One size for the whole call: a key frame of another would cost more than it is worth.
        return Ok(Box::new(hybrid::Hybrid::new(profile.clone(), within.len() - 1).ok_or_else(absent)?));
    };
    let min_height = if spec.adapt_resolution.unwrap_or(true) { 0 } else { largest };
    let config = resolution::Config { min_height, max_height: largest, ..resolution::Config::default() };
    Ok(Box::new(Switching::new(profile.clone(), model, config).ok_or_else(absent)?))
}

/// The decoder of one call.
pub fn build_decoder(spec: &VideoSpec, clip: &LoadedClip) -> Result<Box<dyn Decoder>, SimError> {
    let is_tolerant = matches!(spec.encoder(), EncoderKind::GraceStandin | EncoderKind::Hybrid);
    if clip.profile.is_some() && is_tolerant != (spec.decoder == DecoderKind::LossTolerant) {
        let (encoder, decoder) = (spec.encoder().name(), spec.decoder.name());
        let message = format!(
            "video.encoder = {encoder:?} and video.decoder = {decoder:?}: grace_standin or hybrid and loss_tolerant go \
             together"
        );
        return Err(SimError::Plan(message));
    }
    if let (EncoderKind::Hybrid, Some(profile)) = (spec.encoder(), &clip.profile) {
        return Ok(Box::new(decoder::hybrid::Hybrid::new(profile.clone())));
    }
    Ok(clip.decoder(spec).build(clip.profile.clone(), spec.standin_height))
}
