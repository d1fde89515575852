//! Elementary functions of f32: the same bits on every machine.
//!
//! The platform's functions differ from machine to machine, and `libm`'s branch on their argument, so that a loop over
//! them evaluates one value at a time. These are polynomials in additions and multiplications.
//!
//! [`exp`], [`tanh`] and [`sigmoid`] have no branches: a compiler evaluates as many at once as the processor has lanes,
//! and the number of lanes changes no bit. They are within 2e-7 of the true value, relative. A NaN gives a NaN.

/// Adding and subtracting 1.5·2²³ rounds an f32 below 2²² to the nearest integer; after the addition, that integer is
/// in the low bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts. The first has nine bits, so that its product with an exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// eˣ. Zero below -104 and infinite above 89, as in f32.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let (expm1, n) = reduced(clamped(x, -104.0, 89.0));
    // In two factors: 2ⁿ alone leaves the range of f32 before eˣ does.
    let half = n >> 1;
    (1.0 + expm1) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// tanh x = (e²ˣ - 1) / (e²ˣ + 1), from e²ˣ - 1 so that small arguments keep their digits.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // From 10 on tanh is 1 to all of f32's digits.
    let (expm1, n) = reduced(2.0 * clamped(x.abs(), 0.0, 10.0));
    let scale = power_of_two(n);
    let below = scale * expm1 + (scale - 1.0);
    (below / (below + 2.0)).copysign(x)
}

/// 2^x, relative error below 3e-7 for x in [-126, 127]; clamped outside.
#[inline]
pub fn exp2(x: f32) -> f32 {
    let x = x.clamp(-126.0, 127.0);
    let whole = (x + ROUND) - ROUND;
    let t = (x - whole) * core::f32::consts::LN_2; // |t| <= 0.347
    // The exponential series up to t^6, in pairs that the processor evaluates in parallel; the first
    // omitted term is below 1.3e-7.
    let t2 = t * t;
    let (low, middle, high) = (1.0 + t, 0.5 + t * (1.0 / 6.0), 1.0 / 24.0 + t * (1.0 / 120.0));
    let series = low + t2 * (middle + t2 * (high + t2 * (1.0 / 720.0)));
    series * f32::from_bits(((whole as i32 + 127) << 23) as u32)
}

/// log2(x) for positive normal x, absolute error below 1e-6.
#[inline]
pub fn log2(x: f32) -> f32 {
    debug_assert!(x >= f32::MIN_POSITIVE, "a logarithm needs a positive number, got {x}");
    let bits = x.to_bits() as i32;
    // Split so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    let exponent = (bits - 0x3f35_04f3) >> 23;
    let mantissa = f32::from_bits((bits - (exponent << 23)) as u32);
    // log m = 2 artanh((m - 1)/(m + 1)); |s| <= 0.1716, the first omitted term is below 3e-9.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let z2 = z * z;
    let artanh = s * ((1.0 + z * (1.0 / 3.0)) + z2 * ((0.2 + z * (1.0 / 7.0)) + z2 * (1.0 / 9.0)));
    exponent as f32 + artanh * (2.0 * core::f32::consts::LOG2_E)
}

/// (eʳ - 1, n) with x = n ln 2 + r and |r| <= ln 2 / 2.
#[inline(always)]
fn reduced(x: f32) -> (f32, i32) {
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // Taylor series to r⁷; the omitted terms are below 2e-8 of the sum.
    let tail = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5_040.0));
    let series = r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * tail)));
    (series, (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32))
}

/// 2ⁿ for n of -126 to 127; undefined for other n, which only a NaN gives.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// Unlike `f32::clamp` the compiler turns this into two selections; a NaN stays one.
#[inline(always)]
fn clamped(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error over f32s from `low` to `high`, several million of them.
    fn error(low: f32, high: f32, ours: fn(f32) -> f32, truth: fn(f64) -> f64) -> f64 {
        const STEPS: u32 = 2_000_000;
        let mut worst: f64 = 0.0;
        for step in 0..=STEPS {
            let x = low + (high - low) * (step as f32 / STEPS as f32);
            let truth = truth(f64::from(x));
            worst = worst.max((f64::from(ours(x)) - truth).abs() / truth.abs().max(f64::MIN_POSITIVE));
        }
        worst
    }

    #[test]
    fn exp_is_within_2e_7_of_the_truth() {
        assert!(error(-87.0, 88.7, exp, libm::exp) < 2e-7);
        assert!(error(-1.0, 1.0, exp, libm::exp) < 2e-7);
        assert_eq!((exp(0.0), exp(-0.0), exp(1.0)), (1.0, 1.0, std::f32::consts::E));
        assert_eq!(
            (exp(89.0), exp(1e30), exp(-104.0), exp(f32::NEG_INFINITY)),
            (f32::INFINITY, f32::INFINITY, 0.0, 0.0)
        );
        // Below the smallest normal number there are fewer digits to hold.
        assert!((f64::from(exp(-95.0)) - libm::exp(-95.0)).abs() < 1.5e-45);
    }

    #[test]
    fn tanh_is_within_2e_7_of_the_truth_down_to_the_smallest_arguments() {
        assert!(error(1e-4, 1.0, tanh, libm::tanh) < 2e-7);
        assert!(error(-12.0, -0.5, tanh, libm::tanh) < 2e-7);
        assert!(error(1e-30, 1e-5, tanh, libm::tanh) < 2e-7);
        assert_eq!((tanh(20.0), tanh(f32::NEG_INFINITY)), (1.0, -1.0));
        assert!(tanh(-0.0).is_sign_negative() && tanh(0.0) == 0.0);
    }

    #[test]
    fn sigmoid_is_within_2e_7_of_the_truth() {
        assert!(error(-80.0, 40.0, sigmoid, |x| 1.0 / (1.0 + libm::exp(-x))) < 2e-7);
        assert_eq!((sigmoid(0.0), sigmoid(200.0), sigmoid(-200.0)), (0.5, 1.0, 0.0));
    }

    #[test]
    fn a_nan_stays_a_nan() {
        for bits in [f32::NAN.to_bits(), 0x7f80_0001, 0xffff_ffff] {
            let nan = f32::from_bits(bits);
            assert!(exp(nan).is_nan() && tanh(nan).is_nan() && sigmoid(nan).is_nan());
        }
    }

    #[test]
    fn powers_and_logarithms_agree_with_libm_to_a_millionth() {
        let mut x = -20.0_f32;
        while x < 20.0 {
            let exact = libm::exp2(f64::from(x));
            assert!((f64::from(exp2(x)) / exact - 1.0).abs() < 4e-7, "2^{x}");
            let value = exact as f32;
            assert!((f64::from(log2(value)) - libm::log2(f64::from(value))).abs() < 2e-6, "log2 {value}");
            x += 0.0137;
        }
        assert_eq!(exp2(3.0), 8.0);
        assert_eq!(log2(8.0), 3.0);
    }
}
