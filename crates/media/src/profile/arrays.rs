//! The arrays of a profile file, and values of its JSON text: within their bounds, or refused with one line.

use safetensors::{Dtype, SafeTensors};

pub(super) type Parsed<T> = Result<T, String>;

const MAX_LEVELS: usize = 64;

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

pub(super) struct Arrays<'a>(SafeTensors<'a>);

impl<'a> Arrays<'a> {
    pub(super) const fn new(arrays: SafeTensors<'a>) -> Self {
        Self(arrays)
    }
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
}
