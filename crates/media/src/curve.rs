//! Powers and logarithms of two for the per-frame path: polynomials in plain f32 arithmetic, the
//! same bits on every machine and an order of magnitude faster than a correctly rounded library
//! call.

/// 2^x, relative error below 3e-7 for x in [-126, 127]; clamped outside.
#[inline]
pub(crate) fn exp2(x: f32) -> f32 {
    let x = x.clamp(-126.0, 127.0);
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer without a library call.
    let whole = (x + 12_582_912.0) - 12_582_912.0;
    let t = (x - whole) * core::f32::consts::LN_2; // |t| <= 0.347
    // The exponential series up to t^6, in pairs that the processor computes side by side; the first
    // term left out is below 1.3e-7.
    let t2 = t * t;
    let (low, middle, high) = (1.0 + t, 0.5 + t * (1.0 / 6.0), 1.0 / 24.0 + t * (1.0 / 120.0));
    let series = low + t2 * (middle + t2 * (high + t2 * (1.0 / 720.0)));
    series * f32::from_bits(((whole as i32 + 127) << 23) as u32)
}

/// log2(x) for positive normal x, absolute error below 1e-6.
#[inline]
pub(crate) fn log2(x: f32) -> f32 {
    debug_assert!(x >= f32::MIN_POSITIVE, "a logarithm needs a positive number, got {x}");
    let bits = x.to_bits() as i32;
    // Split so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    let exponent = (bits - 0x3f35_04f3) >> 23;
    let mantissa = f32::from_bits((bits - (exponent << 23)) as u32);
    // log m = 2 artanh((m - 1)/(m + 1)); |s| <= 0.1716, the first term left out is below 3e-9.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let z2 = z * z;
    let artanh = s * ((1.0 + z * (1.0 / 3.0)) + z2 * ((0.2 + z * (1.0 / 7.0)) + z2 * (1.0 / 9.0)));
    exponent as f32 + artanh * (2.0 * core::f32::consts::LOG2_E)
}

#[cfg(test)]
mod tests {
    use super::*;

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
