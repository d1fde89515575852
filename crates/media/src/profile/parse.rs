//! Reading a profile file: bounded, and refused with one line that names file, key and value.

use super::arrays::{Arrays, Parsed, ascending, within};
use super::hybrid::{AboutHybrid, HybridTables};
use super::{Cell, Damage, EncoderTables, FreezeTable, HitTable, LevelTable, LossTable, Profile, Rung};
use crate::{Content, FrameRate, Playback, Quality};
use safetensors::SafeTensors;
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// The maximum size in bytes; real ones have tens of thousands.
const LARGEST_FILE: u64 = 64 << 20;
/// The format allows 100 MB of header, which is an attack.
const LARGEST_HEADER: u64 = 1 << 20;
const FORMAT: u32 = 1;
const MAX_FRAMES: u32 = 100_000;
const MAX_RUNGS: usize = 8;
const MAX_ENCODERS: usize = 8;

/// Why a file is not a valid profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ProfileError {
    file: String,
    problem: String,
}

/// The JSON text of the file.
#[derive(Deserialize)]
struct About {
    format: u32,
    name: String,
    fps: [u32; 2],
    frames: u32,
    playback: String,
    rungs: Vec<AboutRung>,
    encoders: Vec<AboutEncoder>,
    levels: Vec<f32>,
    key_stride: u32,
    freeze_lags: Vec<f32>,
    freeze_stride: u32,
    loss_ratios: Vec<f32>,
    loss_levels: Vec<f32>,
    loss_stride: u32,
    hybrid: Option<AboutHybrid>,
}
#[derive(Deserialize)]
struct AboutRung {
    width: u16,
    height: u16,
    scale: f32,
}
#[derive(Deserialize)]
struct AboutEncoder {
    name: String,
}

pub(super) fn read(path: &Path) -> Result<Profile, ProfileError> {
    let file = path.display().to_string();
    let refuse = |problem: String| ProfileError { file: file.clone(), problem };
    let opened = File::open(path).map_err(|error| refuse(error.to_string()))?;
    let mut bytes = Vec::new();
    let read = opened.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| refuse(error.to_string()))?;
    if read as u64 > LARGEST_FILE {
        return Err(refuse(format!("more than {LARGEST_FILE} bytes, too large for a profile")));
    }
    parse(&file, &bytes)
}

pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Profile, ProfileError> {
    parse_bytes(bytes).map_err(|problem| ProfileError { file: file.to_owned(), problem })
}

fn parse_bytes(bytes: &[u8]) -> Parsed<Profile> {
    let length = bytes.first_chunk::<8>().map(|head| u64::from_le_bytes(*head)).ok_or("too short for a profile")?;
    if length > LARGEST_HEADER || length > bytes.len() as u64 - 8 {
        return Err(format!("header of {length} bytes: not a profile, or cut off"));
    }
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| format!("not a profile ({error})"))?;
    let text = header.metadata().as_ref().and_then(|map| map.get("legato_profile"));
    let text = text.ok_or("legato_profile: missing, a safetensors file but not a profile")?;
    let about: About = serde_json::from_str(text).map_err(|error| format!("legato_profile: {error}"))?;
    about.check()?;
    let arrays = Arrays::new(SafeTensors::deserialize(bytes).map_err(|error| format!("not a profile ({error})"))?);
    build(&about, &arrays)
}

impl About {
    fn check(&self) -> Parsed<()> {
        let (format, frames) = (self.format, self.frames);
        if format != FORMAT {
            return Err(format!("format {format}: this version reads {FORMAT}"));
        }
        if !(1..=MAX_FRAMES).contains(&frames) {
            return Err(format!("frames {frames}: must be 1 … {MAX_FRAMES}"));
        }
        within("rungs", self.rungs.len(), 1, MAX_RUNGS)?;
        within("encoders", self.encoders.len(), usize::from(self.hybrid.is_none()), MAX_ENCODERS)?;
        self.hybrid.as_ref().map_or(Ok(()), AboutHybrid::check)?;
        ascending("levels", &self.levels, 2, 0.0, 100.0)?;
        ascending("freeze_lags", &self.freeze_lags, 2, 1.0, 1e6)?;
        ascending("loss_ratios", &self.loss_ratios, 2, 1e-3, 1.0)?;
        ascending("loss_levels", &self.loss_levels, 2, 0.0, 100.0)?;
        for (key, stride) in
            [("key_stride", self.key_stride), ("freeze_stride", self.freeze_stride), ("loss_stride", self.loss_stride)]
        {
            if stride == 0 {
                return Err(format!("{key} 0: must be at least 1"));
            }
        }
        if self.rungs.windows(2).any(|pair| pair[0].height >= pair[1].height) {
            return Err("rungs: heights must ascend".to_owned());
        }
        for rung in &self.rungs {
            let AboutRung { width, height, scale } = rung;
            if *width < 16 || *height < 16 || !scale.is_finite() || *scale <= 0.0 {
                return Err(format!("rungs: {width}x{height} at scale {scale} is invalid"));
            }
        }
        Ok(())
    }
}

fn build(about: &About, arrays: &Arrays<'_>) -> Parsed<Profile> {
    let frames = about.frames as usize;
    let frame_rate =
        FrameRate::new(about.fps[0], about.fps[1]).ok_or(format!("fps {:?}: must be 1/1 … 240/1", about.fps))?;
    let playback = match about.playback.as_str() {
        "loop" => Playback::Loop,
        "ping_pong" => Playback::PingPong,
        other => return Err(format!("playback {other:?}: must be \"loop\" or \"ping_pong\"")),
    };
    let complexity = arrays.floats("complexity", &[frames], 0.0, 255.0)?;
    let rungs = about.rungs.iter().map(|rung| build_rung(about, rung, arrays)).collect::<Parsed<Vec<_>>>()?;
    let shape = [frames.div_ceil(about.freeze_stride as usize), about.freeze_lags.len()];
    let ssim = arrays.floats("freeze/ssim_db", &shape, -1.0, 60.0)?;
    let psnr = arrays.floats("freeze/psnr_db", &shape, 0.0, 100.0)?;
    let values = ssim.iter().zip(&psnr).map(|(&ssim_db, &psnr_db)| Quality { ssim_db, psnr_db }).collect();
    Ok(Profile {
        name: about.name.clone(),
        content: Content { frame_rate, frames: about.frames, playback, complexity: complexity.into() },
        rungs,
        freeze: FreezeTable { lags: about.freeze_lags.clone(), stride: about.freeze_stride, values },
        psnr_line: OnceLock::new(),
    })
}

fn build_rung(about: &About, rung: &AboutRung, arrays: &Arrays<'_>) -> Parsed<Rung> {
    let (frames, height) = (about.frames as usize, rung.height);
    let keys = frames.div_ceil(about.key_stride as usize);
    let encoders = about.encoders.iter().map(|encoder| {
        let table = |prefix: &str, rows: usize| {
            let shape = [rows, about.levels.len()];
            let key = |quantity: &str| format!("{height}/{}/{prefix}{quantity}", encoder.name);
            let sizes = arrays.integers(&key("size_bytes"), &shape, 1, 1 << 28)?;
            let psnr = arrays.floats(&key("psnr_db"), &shape, 0.0, 100.0)?;
            let shown_ssim = arrays.floats(&key("shown_ssim_db"), &shape, -1.0, 60.0)?;
            let shown_psnr = arrays.floats(&key("shown_psnr_db"), &shape, 0.0, 100.0)?;
            let cells: Vec<Cell> = (0..sizes.len())
                .map(|i| Cell {
                    log2_bytes: libm::log2(f64::from(sizes[i])) as f32,
                    psnr_db: psnr[i],
                    shown_ssim_db: shown_ssim[i],
                    shown_psnr_db: shown_psnr[i],
                })
                .collect();
            Ok::<_, String>(LevelTable::new(&about.levels, &cells))
        };
        Ok(EncoderTables {
            name: encoder.name.clone(),
            inter: table("", frames)?,
            key: table("key_", keys)?,
            key_stride: about.key_stride,
        })
    });
    let encoders = encoders.collect::<Parsed<Vec<_>>>()?;
    let hybrid = about.hybrid.as_ref().map(|hybrid| HybridTables::read(hybrid, frames, height, arrays)).transpose()?;
    let mut built = Rung {
        width: rung.width,
        height,
        scale: rung.scale,
        encoders,
        hybrid,
        satd: Vec::new(),
        key_satd: Vec::new(),
        loss: LossTable::default(),
    };
    if built.encoders.is_empty() {
        return Ok(built);
    }
    let as_floats = |values: Vec<u32>| values.into_iter().map(|value| value as f32).collect();
    let shape = [frames.div_ceil(about.loss_stride as usize), about.loss_levels.len(), about.loss_ratios.len()];
    let dissimilarity = arrays.floats(&format!("{height}/loss_dissimilarity"), &shape, 0.0, 2.0)?;
    let mse = arrays.floats(&format!("{height}/loss_mse"), &shape, 0.0, 65_025.0)?;
    let persistence = arrays.floats(&format!("{height}/damage_persistence"), &[2, 2], 0.0, 1.0)?;
    let hits = dissimilarity.iter().zip(&mse).map(|(&dissimilarity, &mse)| Damage { dissimilarity, mse }).collect();
    built.satd = as_floats(arrays.integers(&format!("{height}/satd"), &[frames], 0, u32::MAX)?);
    built.key_satd = as_floats(arrays.integers(&format!("{height}/key_satd"), &[keys], 0, u32::MAX)?);
    built.loss = LossTable {
        hits: HitTable {
            ratios: about.loss_ratios.clone(),
            levels: about.loss_levels.clone(),
            stride: about.loss_stride,
            hits,
        },
        while_lossy: Damage { dissimilarity: persistence[0], mse: persistence[1] },
        while_whole: Damage { dissimilarity: persistence[2], mse: persistence[3] },
    };
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_profiles_are_refused_in_one_line() {
        let refused = |bytes: &[u8]| parse("clip.safetensors", bytes).unwrap_err().to_string();
        assert_eq!(refused(b""), "clip.safetensors: too short for a profile");
        let huge = u64::MAX.to_le_bytes();
        assert!(refused(&huge).starts_with("clip.safetensors: header of 18446744073709551615 bytes"));
        let mut empty = 2_u64.to_le_bytes().to_vec();
        empty.extend(b"{}");
        assert_eq!(refused(&empty), "clip.safetensors: legato_profile: missing, a safetensors file but not a profile");
        let mut junk = 4_u64.to_le_bytes().to_vec();
        junk.extend(b"\xff\xff\xff\xff");
        assert!(!refused(&junk).contains('\n'));
    }
}
