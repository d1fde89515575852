//! `exp`, `tanh` and `sigmoid` of f32: the same bits on every machine, and fit for vectors.
//!
//! The platform's functions differ from machine to machine, and `libm`'s branch on their argument, so a
//! loop over them runs one value at a time. These have no branches: a compiler makes as many at once
//! as the processor has lanes, and since each value is worked out by the same additions and
//! multiplications, how many that are changes no bit. Within 2e-7 of the true value, relative. A NaN
//! gives a NaN.

/// Adding and taking away 1.5·2²³ rounds an f32 below 2²² to the next integer, and leaves that integer in
/// the low bits in between.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts. The first has nine bits, so that its product with an exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// eˣ. Zero below -104 and infinite above 89, as f32 has it.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let (less_one, n) = reduced(clamped(x, -104.0, 89.0));
    // In two factors: 2ⁿ alone leaves the range of f32 before eˣ does.
    let half = n >> 1;
    (1.0 + less_one) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// tanh x = (e²ˣ - 1) / (e²ˣ + 1), from e²ˣ - 1 so that small arguments keep their digits.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    // From 10 on tanh is 1 to all of f32's digits.
    let (less_one, n) = reduced(2.0 * clamped(x.abs(), 0.0, 10.0));
    let scale = power_of_two(n);
    let below = scale * less_one + (scale - 1.0);
    (below / (below + 2.0)).copysign(x)
}

/// (eʳ - 1, n) with x = n ln 2 + r and |r| <= ln 2 / 2.
#[inline(always)]
fn reduced(x: f32) -> (f32, i32) {
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // Taylor's series to r⁷; what it leaves out is below 2e-8 of the sum.
    let tail = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5_040.0));
    let series = r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * tail)));
    (series, (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32))
}

/// 2ⁿ for n of -126 to 127; anything for other n, which only a NaN brings here.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// Unlike `f32::clamp` this is two selections to the compiler; a NaN stays one.
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
    fn what_is_no_number_stays_none() {
        for bits in [f32::NAN.to_bits(), 0x7f80_0001, 0xffff_ffff] {
            let nan = f32::from_bits(bits);
            assert!(exp(nan).is_nan() && tanh(nan).is_nan() && sigmoid(nan).is_nan());
        }
    }
}
