//! A scenario's source without a call: the encoder's output for a target per frame. Before a controller is judged by
//! its sending rate, measure whether the source follows its target ([rfc8867] section 4.3).

use crate::error::SimError;
use crate::scenario::Scenario;
use crate::seed::Seed;
use crate::video::{LoadedClip, build_encoder, build_source};
use legato_media::EncoderBudget;
use legato_units::{DataRate, DataSize, Timestamp};
use std::path::Path;

/// One coded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodedAlone {
    /// When its picture was captured, from 0.
    pub capture: Timestamp,
    /// Without packet headers.
    pub size: DataSize,
    /// Decodable without any other.
    pub keyframe: bool,
    /// Rows of the picture.
    pub height: u16,
}

/// Code one frame for each of `targets`, with the clip, the encoder and the sizes of `scenario`, whose files are
/// relative to `folder`.
pub fn code_alone(
    scenario: &Scenario,
    folder: &Path,
    seed: Seed,
    targets: &[DataRate],
) -> Result<Vec<CodedAlone>, SimError> {
    let clip = LoadedClip::of(&scenario.video, folder)?;
    let mut encoder = build_encoder(&scenario.video, &scenario.limits, &clip, seed)?;
    let mut source = build_source(&scenario.video, &clip, seed, Timestamp::ZERO);
    Ok(targets
        .iter()
        .map(|&target| {
            let frame = source.capture();
            let coded = encoder.encode(frame.capture, frame, EncoderBudget::of_bitrate(target));
            CodedAlone { capture: frame.capture, size: coded.size, keyframe: coded.keyframe, height: coded.height }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits over target of the first three frames after a fall to a quarter, and of the first second.
    fn after_a_fall(video: &str) -> [f64; 2] {
        let text = format!("[video]\nclip = \"foreman.safetensors\"\nadapt_resolution = false\n{video}");
        let scenario = Scenario::parse(&text, "a.toml").unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
        let targets: Vec<_> = (0..240).map(|n| DataRate::from_bps(if n < 150 { 1_000_000 } else { 250_000 })).collect();
        let coded = code_alone(&scenario, &folder, Seed(1), &targets).unwrap();
        [3, 30].map(|frames| {
            let bytes: u64 = coded[150..150 + frames].iter().map(|frame| frame.size.as_bytes()).sum();
            bytes as f64 * 8.0 / (250e3 * frames as f64 / 30.0)
        })
    }

    #[test]
    fn the_default_source_answers_at_once_and_x264_as_long_as_its_buffer_lasts() {
        let [default, slow] = [after_a_fall(""), after_a_fall("encoder = \"x264\"")];
        assert!(default[0] < 1.5 && (default[1] - 1.0).abs() < 0.1, "{default:?}");
        assert!(slow[0] > 2.0 && slow[1] > 1.25, "{slow:?}");
    }

    #[test]
    fn a_clip_that_is_not_there_is_refused() {
        let scenario = Scenario::parse("[video]\nclip = \"none.safetensors\"", "a.toml").unwrap();
        assert!(code_alone(&scenario, Path::new("."), Seed(1), &[]).is_err());
    }
}
