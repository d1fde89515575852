//! What losses leave of a clip: chance, and figures.

use legato_hybrid::Picture;
use legato_media::quality::{Luma, ssim, ssim_to_db};

/// Of luma, in dB.
pub fn ssim_db(picture: &Picture, shown: &Picture) -> f64 {
    let size = picture.size();
    let luma = |picture| Luma::new(size.width(), size.height(), Picture::luma(picture)).expect("sizes agree");
    ssim_to_db(ssim(luma(picture), luma(shown)).unwrap_or(0.0))
}

/// The next of a fixed sequence of numbers from 0 to below 1.
pub fn draw(state: &mut u32) -> f64 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    f64::from(*state >> 8) / f64::from(1 << 24)
}

/// NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
