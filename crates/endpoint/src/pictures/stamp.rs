//! The number of a picture, written into it: 32 bits as black and white squares at the top left, so that the far end
//! can report which picture it shows.

/// Squares: bits of the number, most significant first …
const BITS: usize = 32;
/// … in rows of this many …
const COLUMNS: usize = 16;
/// … each this many luma samples wide and high; 64 columns are wide enough for them.
const SIDE: usize = 4;
const BLACK: u8 = 16;
const WHITE: u8 = 235;
/// The minimum distance of a coded square from grey.
const CONTRAST: u32 = 48;

/// Columns and rows of the stamp.
pub const fn extent() -> (usize, usize) {
    (COLUMNS * SIDE, BITS / COLUMNS * SIDE)
}

/// Write the low 32 bits of `number` into luma of `width` columns.
pub fn write(luma: &mut [u8], width: usize, number: u64) {
    for bit in 0..BITS {
        let value = if number >> (BITS - 1 - bit) & 1 == 1 { WHITE } else { BLACK };
        let (left, top) = (bit % COLUMNS * SIDE, bit / COLUMNS * SIDE);
        for row in top..top + SIDE {
            luma[row * width + left..][..SIDE].fill(value);
        }
    }
}

/// The number in decoded luma, whose rows start `stride` samples apart. `scale`: how much smaller the picture is
/// than the stamped one, columns over columns. `None`: it cannot be read.
pub fn read(luma: &[u8], stride: usize, scale: f64) -> Option<u32> {
    let mut number = 0;
    for bit in 0..BITS {
        // The middle of a square: its edges are mixed with their neighbours.
        let middle = |place: usize| ((place * SIDE) as f64 + SIDE as f64 / 2.0) * scale;
        let (x, y) = (middle(bit % COLUMNS), middle(bit / COLUMNS));
        let mut sum = 0;
        for (dx, dy) in [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)] {
            let (column, row) = ((x + dx) as usize, (y + dy) as usize);
            sum += u32::from(*luma.get(row * stride + column).filter(|_| column < stride)?);
        }
        let mean = sum / 4;
        if mean.abs_diff(128) < CONTRAST {
            return None;
        }
        number = number << 1 | u32::from(mean > 128);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_back_even_from_a_smaller_picture() {
        for number in [0, 1, 0xa5_0001, 0xffff_ffff] {
            let mut luma = vec![100; 96 * 16];
            write(&mut luma, 96, u64::from(number));
            assert_eq!(read(&luma, 96, 1.0), Some(number));
            // Half as many columns and rows, each the mean of four.
            let half: Vec<u8> = (0..8 * 48)
                .map(|at| {
                    let (x, y) = (at % 48 * 2, at / 48 * 2);
                    let sum: u32 = [0, 1, 96, 97].iter().map(|near| u32::from(luma[y * 96 + x + near])).sum();
                    (sum / 4) as u8
                })
                .collect();
            assert_eq!(read(&half, 48, 0.5), Some(number));
        }
    }

    #[test]
    fn a_picture_without_a_number_has_none() {
        assert_eq!(read(&[128; 64 * 8], 64, 1.0), None);
        assert_eq!(read(&[16; 64 * 4], 64, 1.0), None, "too few rows");
        assert_eq!(read(&[], 0, 1.0), None);
    }
}
