//! A systematic Reed-Solomon code over GF(2^8): any `k` of `k` media and `r` parity symbols restore the others.
//!
//! Parity symbol `j` is the sum over media symbols `i` of `m[j][i]` times symbol `i`, with the Cauchy matrix
//! `m[j][i] = 1 / (x[j] + y[i])` of [bloemer1995]: its square submatrices are all invertible, so no choice of losses is
//! unlucky. Here `y[i] = i` and `x[j] = 255 - j`, which differ as long as there are 256 packets at most, and do not
//! depend on how many. Symbols are of any lengths: the shorter ones count as filled up with zeros.
//!
//! Written here because the crates are for thousands of packets and slow for ten (reed-solomon-simd 0.7 ms per frame),
//! or no longer kept (reed-solomon-erasure, last published in 2022).

use legato_wire::parity::{MAX_PACKETS, MAX_PARITY};

/// x^8 + x^4 + x^3 + x^2 + 1, whose root 2 generates all elements but zero.
const POLYNOMIAL: u16 = 0x11d;
const TABLES: ([u8; 255], [u8; 256]) = tables();
/// Powers of 2.
const POWERS: [u8; 255] = TABLES.0;
/// Their exponents; that of zero is of no meaning.
const EXPONENTS: [u8; 256] = TABLES.1;

const fn tables() -> ([u8; 255], [u8; 256]) {
    let (mut powers, mut exponents) = ([0; 255], [0; 256]);
    let (mut value, mut exponent) = (1_u16, 0);
    while exponent < 255 {
        powers[exponent] = value as u8;
        exponents[value as usize] = exponent as u8;
        value <<= 1;
        if value > 255 {
            value ^= POLYNOMIAL;
        }
        exponent += 1;
    }
    (powers, exponents)
}

fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let sum = usize::from(EXPONENTS[usize::from(a)]) + usize::from(EXPONENTS[usize::from(b)]);
    POWERS[sum % 255]
}

/// Of an element other than zero.
fn inverse(a: u8) -> u8 {
    POWERS[(255 - usize::from(EXPONENTS[usize::from(a)])) % 255]
}

/// Add `factor` times `from` to `to`, which is as long or longer.
fn add(to: &mut [u8], factor: u8, from: &[u8]) {
    if factor == 0 {
        return;
    }
    let products: [u8; 256] = std::array::from_fn(|value| multiply(factor, value as u8));
    for (to, &from) in to.iter_mut().zip(from) {
        *to ^= products[usize::from(from)];
    }
}

fn scale(row: &mut [u8], factor: u8) {
    row.iter_mut().for_each(|value| *value = multiply(factor, *value));
}

/// The factor of media symbol `media` in parity symbol `place`; both are within their bounds.
fn factor(place: u8, media: u8) -> u8 {
    inverse((255 - place) ^ media)
}

/// Parity symbol `place` of these media symbols, as long as the longest of them. `None`: there are none, or more of both
/// than the code has.
pub fn parity_symbol(media: &[Vec<u8>], place: u8) -> Option<Vec<u8>> {
    let fits = place < MAX_PARITY && media.len() + usize::from(place) < usize::from(MAX_PACKETS);
    let longest = media.iter().map(Vec::len).max().filter(|_| fits)?;
    let mut sum = vec![0; longest];
    for (index, symbol) in (0..=u8::MAX).zip(media) {
        add(&mut sum, factor(place, index), symbol);
    }
    Some(sum)
}

/// Restore the media symbols that are `None` from as many parity symbols, by their places; each comes out as long as
/// these. `None`: too few of them, or of different lengths, or a media symbol is longer than they are.
pub fn restore(media: &[Option<&[u8]>], parity: &[(u8, &[u8])]) -> Option<Vec<(u8, Vec<u8>)>> {
    let missing: Vec<u8> =
        (0..=u8::MAX).zip(media).filter(|(_, symbol)| symbol.is_none()).map(|(index, _)| index).collect();
    if missing.is_empty() {
        return Some(Vec::new());
    }
    let parity = parity.get(..missing.len())?;
    let length = parity.first()?.1.len();
    let fits = |place: u8| place < MAX_PARITY && media.len() + usize::from(place) < usize::from(MAX_PACKETS);
    let sound = parity.iter().all(|&(place, symbol)| fits(place) && symbol.len() == length)
        && media.iter().flatten().all(|symbol| symbol.len() <= length);
    if !sound {
        return None;
    }
    // What parity leaves once the media that came are taken out of it: an equation for each missing one.
    let mut rows: Vec<Vec<u8>> =
        parity.iter().map(|&(place, _)| missing.iter().map(|&index| factor(place, index)).collect()).collect();
    let mut sums: Vec<Vec<u8>> = parity.iter().map(|(_, symbol)| symbol.to_vec()).collect();
    for (&(place, _), sum) in parity.iter().zip(&mut sums) {
        for (index, symbol) in (0..=u8::MAX).zip(media) {
            add(sum, factor(place, index), symbol.unwrap_or_default());
        }
    }
    // Gauss and Jordan. A Cauchy matrix never has a zero left as pivot; one of a place that came twice does.
    for pivot in 0..rows.len() {
        let found = (pivot..rows.len()).find(|&row| rows[row][pivot] != 0)?;
        rows.swap(pivot, found);
        sums.swap(pivot, found);
        let by = inverse(rows[pivot][pivot]);
        scale(&mut rows[pivot], by);
        scale(&mut sums[pivot], by);
        for row in (0..rows.len()).filter(|&row| row != pivot) {
            let by = rows[row][pivot];
            let [of, to] = rows.get_disjoint_mut([pivot, row]).ok()?;
            add(to, by, of);
            let [of, to] = sums.get_disjoint_mut([pivot, row]).ok()?;
            add(to, by, of);
        }
    }
    Some(missing.into_iter().zip(sums).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand in the field of this polynomial: 2 · 0x80 = 0x100 = 0x1d, and 1/2 = 0x8e since 2 · 0x8e = 0x11c =
    /// 0x01 with 0x11d added.
    #[test]
    fn elements_multiply_and_divide() {
        assert_eq!((multiply(2, 0x80), multiply(3, 7), multiply(0, 9), inverse(2), inverse(1)), (0x1d, 9, 0, 0x8e, 1));
        for value in 1..=255 {
            assert_eq!(multiply(value, inverse(value)), 1);
        }
    }

    /// Two media packets, worked by hand: the factors are 1/255 and 1/254.
    #[test]
    fn parity_is_a_sum_of_products() {
        let media = [vec![1, 0, 5], vec![0, 1]];
        let sum = parity_symbol(&media, 0).unwrap();
        assert_eq!(sum, [inverse(255), inverse(254), multiply(inverse(255), 5)]);
        assert_eq!(parity_symbol(&[], 0), None);
        assert_eq!(parity_symbol(&vec![vec![1]; 256], 0), None);
        assert_eq!(parity_symbol(&media, 64), None);
    }

    /// All ways to lose up to three of seven packets, four of them media.
    #[test]
    fn any_four_of_seven_restore_the_four() {
        let media: Vec<Vec<u8>> = (0..4_u8)
            .map(|index| (0..20 + index).map(|at| index.wrapping_mul(91) ^ at.wrapping_mul(7)).collect())
            .collect();
        let parity: Vec<Vec<u8>> = (0..3).map(|place| parity_symbol(&media, place).unwrap()).collect();
        let mut tried = 0;
        for lost in (0..1_u8 << 7).filter(|lost| lost.count_ones() <= 3) {
            let here = |place: usize| lost >> place & 1 == 0;
            let came: Vec<Option<&[u8]>> = (0..4).map(|place| here(place).then(|| &media[place][..])).collect();
            let also: Vec<(u8, &[u8])> =
                (0..3).filter(|&place| here(4 + place)).map(|place| (place as u8, &parity[place][..])).collect();
            for (place, symbol) in restore(&came, &also).unwrap() {
                let whole = &media[usize::from(place)];
                assert!(symbol.starts_with(whole) && symbol[whole.len()..].iter().all(|&byte| byte == 0));
                tried += 1;
            }
        }
        // Three media lost of four: 4 ways; two, and up to one parity: 6 · 4; one, and up to two: 4 · 7.
        assert_eq!(tried, 4 * 3 + 6 * 4 * 2 + 4 * 7);
    }

    #[test]
    fn what_does_not_fit_restores_nothing() {
        let parity = parity_symbol(&[vec![1, 2], vec![3, 4]], 0).unwrap();
        let one = [(0, &parity[..])];
        assert_eq!(restore(&[None, None], &one), None, "too few");
        assert_eq!(restore(&[None, Some(&[3, 4, 5])], &one), None, "a longer packet than parity knows");
        assert_eq!(restore(&[None, None], &[one[0], (1, &[1])]), None, "two lengths");
        assert_eq!(restore(&[None, None], &[one[0], one[0]]), None, "the same twice");
        assert_eq!(restore(&[None, Some(&[3, 4])], &[(64, &parity)]), None, "a place beyond the last");
        assert_eq!(restore(&[None, Some(&[3, 4])], &one), Some(vec![(0, vec![1, 2])]));
        assert_eq!(restore(&[Some(&[3, 4])], &[]), Some(vec![]));
    }
}
