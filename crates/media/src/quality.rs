//! What a picture is worth: luma PSNR and SSIM, in dB.
//!
//! SSIM is computed with a Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01, K2 = 0.03, L = 255,
//! on luma, as [wang2004] has it; a picture's SSIM in dB is -10 log10(1 - SSIM). A call's quality is the mean of
//! the per-frame dB over rendered frames: the mean of dB values, never the dB of a mean. Frozen
//! time is the metrics' business, which hold [`crate::Decoder::frozen`] for it.

/// How good a displayed picture is against the picture the camera took, both at the clip's own size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// SSIM in dB.
    pub ssim_db: f32,
    /// Luma PSNR in dB.
    pub psnr_db: f32,
}

/// No SSIM is told above this (1 - SSIM of 1e-4): a perfect copy has no dB value.
pub const SSIM_DB_MAX: f32 = 40.0;
