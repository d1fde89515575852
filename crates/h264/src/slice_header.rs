//! The first fields of a slice: which frame it is of ([itu-h264] 7.3.3). For streams of this encoder only: one picture
//! parameter set, frames only.

use crate::Error;
use crate::raw::FrameId;

/// `frame_num` has so many bits in OpenH264's sequence parameters.
const FRAME_NUMBER_BITS: u32 = 15;
const IDR_SLICE: u8 = 5;
const SLICE: u8 = 1;
const TYPE_BITS: u8 = 0x1f;

/// Whether a NAL unit, without its start code, holds a slice.
pub(crate) fn is_slice(unit: &[u8]) -> bool {
    unit.first().is_some_and(|header| matches!(header & TYPE_BITS, SLICE | IDR_SLICE))
}

/// The frame of a slice, without its start code. `idr`: the key frame that other slices follow.
pub(crate) fn frame_of(unit: &[u8], idr: u16) -> Result<FrameId, Error> {
    let mut bits = Bits { bytes: unescaped(unit.get(1..).unwrap_or_default()), at: 0 };
    // first_mb_in_slice, slice_type, pic_parameter_set_id.
    for _ in 0..3 {
        bits.exp_golomb()?;
    }
    let number = bits.take(FRAME_NUMBER_BITS)? as u16;
    let key = unit.first().is_some_and(|header| header & TYPE_BITS == IDR_SLICE);
    let idr = if key { u16::try_from(bits.exp_golomb()?).map_err(|_| broken())? } else { idr };
    Ok(FrameId { idr, number })
}

/// The first bytes of a unit without their emulation prevention ([itu-h264] 7.4.1): enough for the fields above.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    for &byte in bytes.iter().take(32) {
        let escaped = byte == 3 && out.ends_with(&[0, 0]);
        if !escaped {
            out.push(byte);
        }
    }
    out
}

fn broken() -> Error {
    Error("OpenH264: a slice without a header that can be read".to_owned())
}

struct Bits {
    bytes: Vec<u8>,
    at: usize,
}

impl Bits {
    fn take(&mut self, count: u32) -> Result<u32, Error> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8).ok_or_else(broken)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Ok(value)
    }

    /// [itu-h264] 9.1: as many zeros as bits follow the first one.
    fn exp_golomb(&mut self) -> Result<u32, Error> {
        let mut zeros = 0;
        while self.take(1)? == 0 {
            zeros += 1;
            if zeros > 16 {
                return Err(broken());
            }
        }
        Ok((1 << zeros) - 1 + self.take(zeros)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: 1 (0), 011 (2), 1 (0), fifteen bits of 5, then 010 (1): an IDR slice of key frame 1.
    #[test]
    fn the_frame_of_a_slice_is_read() {
        // 1 011 1 000 | 0000 0000 | 0101 010 0
        let slice = [0x65, 0b1011_1000, 0b0000_0000, 0b0101_0100];
        assert!(is_slice(&slice) && !is_slice(&[0x67, 1]) && !is_slice(&[]));
        assert_eq!(frame_of(&slice, 9).unwrap(), FrameId { idr: 1, number: 5 });
        let other = [0x41, 0b1011_1000, 0b0000_0000, 0b0101_0100];
        assert_eq!(frame_of(&other, 9).unwrap(), FrameId { idr: 9, number: 5 });
        // 0 0 3 stands for 0 0.
        let escaped = [0x41, 0b1011_1000, 0, 0, 3, 0b0101_0100];
        assert!(frame_of(&escaped, 9).is_ok());
        assert!(frame_of(&slice[..2], 0).is_err() && frame_of(&[0x41, 0, 0, 0, 0], 0).is_err());
    }
}
