//! From a scenario's video to source, encoder and decoder.

use crate::error::SimError;
use crate::scenario::VideoSpec;
use crate::seed::Seed;
use legato_media::decoder::strict::Strict;
use legato_media::encoder::{statistical, x264};
use legato_media::{Content, Decoder, Encoder, FrameRate, Profile, Source};
use legato_units::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// A clip, loaded: calls share its tables.
#[derive(Clone)]
pub struct LoadedClip {
    /// What reports call it.
    pub label: Arc<str>,
    /// Its tables; absent: a statistical source.
    pub profile: Option<Arc<Profile>>,
}

impl LoadedClip {
    /// Read a profile.
    pub fn load(path: &str) -> Result<Self, SimError> {
        let profile = Profile::read(Path::new(path)).map_err(|error| SimError::Profile(error.to_string()))?;
        Ok(Self { label: profile.name.as_str().into(), profile: Some(Arc::new(profile)) })
    }

    /// No pixels.
    pub fn statistical() -> Self {
        Self { label: "statistical".into(), profile: None }
    }
}

/// The camera of one call; it begins somewhere in the clip, drawn from the seed.
pub fn build_source(spec: &VideoSpec, clip: &LoadedClip, seed: Seed, start: Timestamp) -> Source {
    let content = match &clip.profile {
        Some(profile) => profile.content.clone(),
        None => Content::unmeasured(FrameRate::new(spec.fps, 1).unwrap_or(FrameRate::THIRTY)),
    };
    let period = u64::from(content.period()).max(1);
    let offset = (seed.derived("media.source.offset") % period) as u32;
    Source::new(content, start, offset)
}

/// The encoder of one call.
pub fn build_encoder(spec: &VideoSpec, clip: &LoadedClip, seed: Seed) -> Result<Box<dyn Encoder>, SimError> {
    let Some(profile) = &clip.profile else {
        let rate = FrameRate::new(spec.fps, 1).unwrap_or(FrameRate::THIRTY);
        let config = statistical::Config::default();
        return Ok(Box::new(statistical::Statistical::new(config, rate, seed.stream("media.encoder"))));
    };
    let absent = || {
        let known: Vec<_> = profile.encoders().collect();
        let message =
            format!("{}: video.encoder = {:?} was not measured; {} were", clip.label, spec.encoder, known.join(", "));
        SimError::Profile(message)
    };
    let most = spec.max_height.unwrap_or(u16::MAX);
    let rung = profile.rungs.iter().rposition(|rung| rung.height <= most).unwrap_or(0);
    match spec.encoder.as_str() {
        "x264" => {
            let config = x264::Config { vbv_ms: spec.vbv_ms };
            Ok(Box::new(x264::X264::new(profile.clone(), rung, config).ok_or_else(absent)?))
        }
        _ => Err(absent()),
    }
}

/// The decoder of one call.
pub fn build_decoder(spec: &VideoSpec, _clip: &LoadedClip) -> Result<Box<dyn Decoder>, SimError> {
    match spec.decoder.as_str() {
        "strict" => Ok(Box::new(Strict::new())),
        other => Err(SimError::Profile(format!("video.decoder = {other:?} is not there yet"))),
    }
}
