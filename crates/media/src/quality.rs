//! Picture quality: luma PSNR and SSIM, one definition for all of Legato.
//!
//! SSIM is [wang2004]'s: a Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01, K2 = 0.03, L = 255, on luma. It is
//! averaged over the positions where the window lies inside the picture; in dB it is -10 log10(1 - SSIM). A call's
//! quality is the mean of the per-frame dB over rendered frames: the mean of dB values, never the dB of a mean. The
//! viewer's quality during a freeze is [`crate::Decoder::frozen`]; counting frozen time is up to the metrics.

/// The quality of a displayed picture against the captured one, at the clip's own size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// SSIM in dB, at most [`SSIM_DB_MAX`].
    pub ssim_db: f32,
    /// Luma PSNR in dB, at most [`PSNR_DB_MAX`].
    pub psnr_db: f32,
}

/// The maximum SSIM reported (1 - SSIM of 1e-4): a perfect copy has no dB value.
pub const SSIM_DB_MAX: f32 = 40.0;
/// The maximum PSNR reported: a perfect copy has no dB value.
pub const PSNR_DB_MAX: f32 = 60.0;

/// SSIM as dB: -10 log10(1 - ssim), at most [`SSIM_DB_MAX`].
pub fn ssim_to_db(ssim: f64) -> f64 {
    let loss = (1.0 - ssim).max(1e-4);
    -10.0 * libm::log10(loss)
}

/// An 8-bit luma plane without gaps between rows.
#[derive(Clone, Copy, Debug)]
pub struct Luma<'a> {
    width: usize,
    pixels: &'a [u8],
}

impl<'a> Luma<'a> {
    /// `None` unless the pixels are `width` x `height` and both are at least 11.
    pub fn new(width: usize, height: usize, pixels: &'a [u8]) -> Option<Self> {
        let fits = width.checked_mul(height) == Some(pixels.len());
        (fits && width >= WINDOW && height >= WINDOW).then_some(Self { width, pixels })
    }
    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }
    fn row(&self, y: usize) -> &'a [u8] {
        &self.pixels[y * self.width..][..self.width]
    }
}

/// Mean squared error of two planes of one size; `None` if the sizes differ.
pub fn mean_squared_error(a: Luma<'_>, b: Luma<'_>) -> Option<f64> {
    if a.width != b.width || a.pixels.len() != b.pixels.len() {
        return None;
    }
    let sum: u64 =
        a.pixels.iter().zip(b.pixels).map(|(&a, &b)| u64::from(a.abs_diff(b)) * u64::from(a.abs_diff(b))).sum();
    Some(sum as f64 / a.pixels.len() as f64)
}

/// PSNR in dB for a mean squared error, at most [`PSNR_DB_MAX`].
pub fn psnr_db(mean_squared_error: f64) -> f64 {
    if mean_squared_error <= 0.0 {
        return f64::from(PSNR_DB_MAX);
    }
    (10.0 * libm::log10(255.0 * 255.0 / mean_squared_error)).min(f64::from(PSNR_DB_MAX))
}

/// Mean SSIM of two planes of one size; `None` if the sizes differ.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "calls code for wider vectors"))]
pub fn ssim(a: Luma<'_>, b: Luma<'_>) -> Option<f64> {
    if a.width != b.width || a.pixels.len() != b.pixels.len() {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature. Rust never fuses a product with a sum, so wider
        // vectors give the same bits.
        return Some(unsafe { mean_ssim_avx2(a, b) });
    }
    Some(mean_ssim(a, b))
}

const WINDOW: usize = 11;
const RADIUS: usize = WINDOW / 2;
/// x, y, x^2, y^2, xy.
const MOMENTS: usize = 5;

/// exp(-i^2 / (2 sigma^2)) for i = 0 … 5 and sigma 1.5, divided by the sum over -5 … 5.
const WEIGHTS: [f32; RADIUS + 1] =
    [0.266_011_72, 0.213_005_54, 0.109_360_69, 0.036_000_77, 0.007_598_758, 0.001_028_380_1];

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mean_ssim_avx2(a: Luma<'_>, b: Luma<'_>) -> f64 {
    mean_ssim(a, b)
}

/// The window is separable: filter each row once, keep eleven filtered rows, filter down them.
#[inline(always)]
fn mean_ssim(a: Luma<'_>, b: Luma<'_>) -> f64 {
    let (width, height) = (a.width, a.height());
    let columns = width - 2 * RADIUS;
    let mut moments = vec![0.0_f32; MOMENTS * width];
    let mut ring = vec![0.0_f32; WINDOW * MOMENTS * columns];
    let mut filtered = vec![0.0_f32; MOMENTS * columns];
    let mut sum = 0.0_f64;
    for y in 0..height {
        fill_moments(a.row(y), b.row(y), &mut moments);
        let slot = &mut ring[y % WINDOW * MOMENTS * columns..][..MOMENTS * columns];
        for (source, target) in moments.chunks_exact(width).zip(slot.chunks_exact_mut(columns)) {
            filter_across(source, target);
        }
        if y + 1 >= WINDOW {
            filter_down(&ring, y, &mut filtered);
            sum += sum_of_ssim(&filtered, columns);
        }
    }
    sum / (columns * (height - 2 * RADIUS)) as f64
}

#[inline(always)]
fn fill_moments(a: &[u8], b: &[u8], moments: &mut [f32]) {
    let width = a.len();
    let (x, rest) = moments.split_at_mut(width);
    let (y, rest) = rest.split_at_mut(width);
    let (xx, rest) = rest.split_at_mut(width);
    let (yy, xy) = rest.split_at_mut(width);
    for i in 0..width {
        (x[i], y[i]) = (f32::from(a[i]), f32::from(b[i]));
        (xx[i], yy[i], xy[i]) = (x[i] * x[i], y[i] * y[i], x[i] * y[i]);
    }
}

#[inline(always)]
fn filter_across(source: &[f32], target: &mut [f32]) {
    let columns = target.len();
    let tap = |i: usize| &source[i..i + columns];
    filter(tap, target);
}

/// The window whose last row is `y`.
#[inline(always)]
fn filter_down(ring: &[f32], y: usize, target: &mut [f32]) {
    let length = target.len();
    let tap = |i: usize| &ring[(y + 1 + i) % WINDOW * length..][..length];
    filter(tap, target);
}

/// The weighted sum of eleven equally long taps. One pass per pair of taps: the sums stay in the
/// first-level cache, and plain zips become vector code.
#[inline(always)]
fn filter<'a>(tap: impl Fn(usize) -> &'a [f32], target: &mut [f32]) {
    for (value, &middle) in target.iter_mut().zip(tap(RADIUS)) {
        *value = middle * WEIGHTS[0];
    }
    for (i, &weight) in WEIGHTS.iter().enumerate().skip(1) {
        for ((value, &before), &after) in target.iter_mut().zip(tap(RADIUS - i)).zip(tap(RADIUS + i)) {
            *value += (before + after) * weight;
        }
    }
}

/// Sums side by side, so that the order of additions is the same with any vector width.
const LANES: usize = 8;

#[inline(always)]
fn sum_of_ssim(filtered: &[f32], columns: usize) -> f64 {
    let row = |i: usize| &filtered[i * columns..][..columns];
    let mut sums = [0.0_f32; LANES];
    let whole = columns / LANES * LANES;
    for at in (0..whole).step_by(LANES) {
        let lanes = |i: usize| -> [f32; LANES] { row(i)[at..at + LANES].try_into().expect("LANES long") };
        let (x, y, xx, yy, xy) = (lanes(0), lanes(1), lanes(2), lanes(3), lanes(4));
        for i in 0..LANES {
            sums[i] += ssim_of_moments(x[i], y[i], xx[i], yy[i], xy[i]);
        }
    }
    for at in whole..columns {
        sums[at - whole] += ssim_of_moments(row(0)[at], row(1)[at], row(2)[at], row(3)[at], row(4)[at]);
    }
    sums.iter().map(|&sum| f64::from(sum)).sum()
}

/// [wang2004] eq. (13): (2 mx my + C1)(2 cov + C2) / ((mx^2 + my^2 + C1)(vx + vy + C2)).
#[inline(always)]
fn ssim_of_moments(mx: f32, my: f32, xx: f32, yy: f32, xy: f32) -> f32 {
    const C1: f32 = (0.01 * 255.0) * (0.01 * 255.0);
    const C2: f32 = (0.03 * 255.0) * (0.03 * 255.0);
    let (vx, vy, cov) = (xx - mx * mx, yy - my * my, xy - mx * my);
    ((2.0 * mx * my + C1) * (2.0 * cov + C2)) / ((mx * mx + my * my + C1) * (vx + vy + C2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A texture and a coarser copy of it, from integers alone.
    fn pictures() -> (Vec<u8>, Vec<u8>) {
        let (width, height) = (64_u32, 48_u32);
        let texture = |x: u32, y: u32| ((x * x * 3 + y * y * 5 + x * y * 7) % 251) as u8;
        let pixels = |f: &dyn Fn(u32, u32) -> u8| {
            (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| f(x, y)).collect()
        };
        (pixels(&texture), pixels(&|x, y| texture(x, y) / 24 * 24 + 6))
    }

    /// [wang2004] eq. (13), as in skimage 0.26: structural_similarity(a, b, gaussian_weights=True, sigma=1.5,
    /// use_sample_covariance=False, data_range=255) and peak_signal_noise_ratio of the same arrays.
    #[test]
    fn ssim_and_psnr_agree_with_scikit_image_to_four_digits() {
        let (a, b) = pictures();
        let (a, b) = (Luma::new(64, 48, &a).unwrap(), Luma::new(64, 48, &b).unwrap());
        let value = ssim(a, b).unwrap();
        assert!((value - SKIMAGE_SSIM).abs() < 5e-5, "{value}");
        let psnr = psnr_db(mean_squared_error(a, b).unwrap());
        assert!((psnr - SKIMAGE_PSNR_DB).abs() < 5e-5, "{psnr}");
    }
    const SKIMAGE_SSIM: f64 = 0.994536;
    const SKIMAGE_PSNR_DB: f64 = 29.402926;

    #[test]
    fn a_perfect_copy_has_the_maximum_values() {
        let (a, _) = pictures();
        let a = Luma::new(64, 48, &a).unwrap();
        assert!((ssim(a, a).unwrap() - 1.0).abs() < 1e-6);
        assert_eq!(ssim_to_db(1.0), 40.0);
        assert_eq!(psnr_db(0.0), 60.0);
    }

    #[test]
    fn planes_that_do_not_fit_are_refused() {
        assert!(Luma::new(64, 48, &[0; 5]).is_none());
        assert!(Luma::new(10, 11, &[0; 110]).is_none());
        let (small, large) = ([0_u8; 121], [0_u8; 132]);
        assert!(ssim(Luma::new(11, 11, &small).unwrap(), Luma::new(11, 12, &large).unwrap()).is_none());
    }

    /// 1 - SSIM of 0.1 is 10 dB, of 0.01 is 20 dB.
    #[test]
    fn ssim_in_db_counts_tenfold_losses() {
        assert!((ssim_to_db(0.9) - 10.0).abs() < 1e-9);
        assert!((ssim_to_db(0.99) - 20.0).abs() < 1e-9);
    }
}
