//! A check sum of a frame's pixels: with it a receiver finds that the sender is wrong about the receiver's picture.
//!
//! docs/reference/codec-format.md, "In RTP", describes it.

use crate::plane::Frame;

/// The odd number next to 2^64 divided by the golden ratio: its products spread every bit upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Of all macroblocks, luma first, rows from the top, eight pixels at a time.
pub(crate) fn pixel_sum(frame: &Frame) -> u16 {
    let mut sum = 0_u64;
    for plane in &frame.planes {
        for y in 0..plane.height {
            for eight in plane.row(0, y as isize, plane.width).as_chunks::<8>().0 {
                sum = (sum ^ u64::from_le_bytes(*eight)).wrapping_mul(SPREAD);
                sum ^= sum >> 32;
            }
        }
    }
    (sum >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    /// Worked by hand in another language: 16x16 luma and two planes of 8x8, all grey, then one pixel apart.
    #[test]
    fn one_pixel_changes_the_sum_and_the_border_does_not() {
        let mut frame = Frame::grey(Size::new(16, 16).unwrap());
        let grey = pixel_sum(&frame);
        assert_eq!(grey, GREY);
        let border = frame.planes[0].at(-1, 0);
        frame.planes[0].pixels[border] = 7;
        assert_eq!(pixel_sum(&frame), grey);
        let last = frame.planes[2].at(7, 7);
        frame.planes[2].pixels[last] ^= 1;
        assert_ne!(pixel_sum(&frame), grey);
    }

    const GREY: u16 = 0x18a6;
}
