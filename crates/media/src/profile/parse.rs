//! Reading a profile file: bounded, and refused with one line that names file, key and value.

use super::hybrid::{AboutHybrid, HybridTables};
use super::{Cell, Damage, EncoderTables, FreezeTable, HitTable, LevelTable, LossTable, Profile, Rung};
use crate::{Content, FrameRate, Playback, Quality};
use safetensors::{Dtype, SafeTensors};
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
const MAX_LEVELS: usize = 64;

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

pub(super) type Parsed<T> = Result<T, String>;

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
    let arrays = Arrays(SafeTensors::deserialize(bytes).map_err(|error| format!("not a profile ({error})"))?);
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

pub(super) fn within(key: &str, count: usize, min: usize, max: usize) -> Parsed<()> {
    if (min..=max).contains(&count) { Ok(()) } else { Err(format!("{key}: {count} of them, must be {min} … {max}")) }
}

pub(super) fn ascending(key: &str, values: &[f32], min: usize, low: f32, high: f32) -> Parsed<()> {
    within(key, values.len(), min, MAX_LEVELS)?;
    let sorted = values.windows(2).all(|pair| pair[0] < pair[1]);
    if !sorted || !values.iter().all(|value| (low..=high).contains(value)) {
        return Err(format!("{key} {values:?}: must ascend within {low} … {high}"));
    }
    Ok(())
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

pub(super) struct Arrays<'a>(SafeTensors<'a>);

impl Arrays<'_> {
    fn bytes(&self, key: &str, shape: &[usize], types: &[Dtype]) -> Parsed<(Dtype, &[u8])> {
        let array = self.0.tensor(key).map_err(|_| format!("{key}: missing"))?;
        if !types.contains(&array.dtype()) {
            return Err(format!("{key}: type {:?}, must be {types:?}", array.dtype()));
        }
        if array.shape() != shape {
            return Err(format!("{key}: shape {:?}, must be {shape:?}", array.shape()));
        }
        Ok((array.dtype(), array.data()))
    }

    pub(super) fn floats(&self, key: &str, shape: &[usize], low: f32, high: f32) -> Parsed<Vec<f32>> {
        let values: Vec<f32> = match self.bytes(key, shape, &[Dtype::F16, Dtype::F32])? {
            (Dtype::F16, data) => data.as_chunks::<2>().0.iter().map(|pair| half(u16::from_le_bytes(*pair))).collect(),
            (_, data) => data.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
        };
        match values.iter().position(|value| !(low..=high).contains(value)) {
            Some(at) => Err(format!("{key}[{at}] = {}: must be {low} … {high}", values[at])),
            None => Ok(values),
        }
    }

    pub(super) fn integers(&self, key: &str, shape: &[usize], low: u32, high: u32) -> Parsed<Vec<u32>> {
        let (_, data) = self.bytes(key, shape, &[Dtype::U32])?;
        let values: Vec<u32> = data.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
        match values.iter().position(|value| !(low..=high).contains(value)) {
            Some(at) => Err(format!("{key}[{at}] = {}: must be {low} … {high}", values[at])),
            None => Ok(values),
        }
    }
}

/// IEEE 754 half to single precision.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction / 16_777_216.0,
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * f32::from_bits(((exponent - 15 + 127) as u32) << 23),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_exactly() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65_504.0), (0x0001, 5.960_464_5e-8), (0x3555, 0.333_251_95)]
        {
            assert_eq!(half(bits), value, "{bits:04x}");
        }
        assert!(half(0x7e00).is_nan());
    }

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
