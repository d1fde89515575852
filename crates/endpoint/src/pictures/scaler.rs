//! Pictures in another size: smaller by the mean over the area that each sample covers, as in browsers, larger by
//! interpolation between neighbours (bilinear). Planes are scaled down their columns first and then along their rows, in
//! integers.

/// Makes planes of one size from planes of another.
#[derive(Clone, Debug)]
pub struct Scaler {
    columns: Axis,
    rows: Axis,
    /// A row of sums.
    row: Vec<u32>,
}

/// The sources of each sample along one axis: the same number of neighbours for each, in order.
#[derive(Clone, Debug)]
struct Axis {
    from: usize,
    taps: usize,
    firsts: Vec<usize>,
    /// `taps` for each sample; their sum is `ONE`.
    weights: Vec<u32>,
}

const ONE_BITS: u32 = 14;
const ONE: u32 = 1 << ONE_BITS;
/// A sum over columns keeps this many bits below the sample's lowest.
const KEPT_BITS: u32 = 6;

impl Scaler {
    /// From columns and rows to columns and rows, of a plane.
    pub fn new(from: (usize, usize), to: (usize, usize)) -> Self {
        Self { columns: Axis::new(from.0, to.0), rows: Axis::new(from.1, to.1), row: Vec::new() }
    }

    /// Append the scaled plane to `scaled`. `plane` has the declared size.
    pub fn scale(&mut self, plane: &[u8], scaled: &mut Vec<u8>) {
        let Self { columns, rows, row: sums } = self;
        let width = columns.from;
        for (weights, &first) in rows.weights.chunks(rows.taps).zip(&rows.firsts) {
            sums.clear();
            sums.resize(width, 0);
            for (source, &weight) in plane[first * width..].chunks(width).zip(weights) {
                sums.iter_mut().zip(source).for_each(|(sum, &sample)| *sum += u32::from(sample) * weight);
            }
            sums.iter_mut().for_each(|sum| *sum >>= ONE_BITS - KEPT_BITS);
            scaled.extend(columns.weights.chunks(columns.taps).zip(&columns.firsts).map(|(weights, &first)| {
                let sum: u32 = sums[first..].iter().zip(weights).map(|(sum, weight)| sum * weight).sum();
                ((sum + (1 << (ONE_BITS + KEPT_BITS - 1))) >> (ONE_BITS + KEPT_BITS)) as u8
            }));
        }
    }
}

impl Axis {
    fn new(from: usize, to: usize) -> Self {
        let ratio = from as f64 / to as f64;
        let spans = (0..to).map(|place| span(place, ratio, from));
        let taps = spans.clone().map(|(_, shares)| shares.len()).max().unwrap_or(1);
        let (mut firsts, mut weights) = (Vec::with_capacity(to), Vec::with_capacity(to * taps));
        for (first, mut shares) in spans {
            // As many for each, and none beyond the last.
            let first = first.min(from - taps.min(from));
            let before = span_start(&shares, first);
            shares.splice(0..0, vec![(0, 0.0); before]);
            let whole: f64 = shares.iter().map(|(_, share)| share).sum();
            let start = weights.len();
            weights.extend(shares.iter().map(|(_, share)| (share / whole * f64::from(ONE)).round() as u32));
            weights.resize(start + taps, 0);
            // The remainder of rounding is added to the largest weight.
            let sum: u32 = weights[start..].iter().sum();
            if let Some(largest) = weights[start..].iter_mut().max() {
                *largest = *largest + ONE - sum;
            }
            firsts.push(first);
        }
        Self { from, taps, firsts, weights }
    }
}

/// Places between `first` and the span's own first one.
fn span_start(shares: &[(usize, f64)], first: usize) -> usize {
    shares.first().map_or(0, |&(place, _)| place - first)
}

/// The source samples of sample `place`, with their shares.
fn span(place: usize, ratio: f64, from: usize) -> (usize, Vec<(usize, f64)>) {
    let shares: Vec<_> = if ratio >= 1.0 {
        let (begin, end) = (place as f64 * ratio, (place + 1) as f64 * ratio);
        let covered = |at: usize| ((at + 1) as f64).min(end) - (at as f64).max(begin);
        (begin as usize..from.min(end as usize + 1))
            .map(|at| (at, covered(at)))
            .filter(|(_, share)| *share > 1e-6)
            .collect()
    } else {
        let centre = ((place as f64 + 0.5) * ratio - 0.5).clamp(0.0, (from - 1) as f64);
        let (below, above) = (centre as usize, centre - (centre as usize) as f64);
        [(below, 1.0 - above), (below + 1, above)].into_iter().filter(|(at, _)| *at < from).collect()
    };
    (shares.first().map_or(0, |&(at, _)| at), shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(plane: &[u8], from: (usize, usize), to: (usize, usize)) -> Vec<u8> {
        let mut out = Vec::new();
        Scaler::new(from, to).scale(plane, &mut out);
        out
    }

    #[test]
    fn a_smaller_picture_is_the_mean_of_what_it_covers() {
        assert_eq!(scaled(&[10, 20, 30, 40, 50, 60, 70, 80], (4, 2), (2, 1)), [35, 55]);
        // Three of four: 1 + 1/3, 2/3 + 2/3, 1/3 + 1.
        assert_eq!(scaled(&[0, 40, 80, 120], (4, 1), (3, 1)), [10, 60, 110]);
        assert_eq!(scaled(&[0, 40, 80, 120], (1, 4), (1, 3)), [10, 60, 110]);
    }

    #[test]
    fn a_larger_one_lies_between_neighbours() {
        // Centres at -0.25, 0.25, 0.75 and 1.25 of the source.
        assert_eq!(scaled(&[0, 100], (2, 1), (4, 1)), [0, 25, 75, 100]);
        assert_eq!(scaled(&[0, 100], (1, 2), (1, 4)), [0, 25, 75, 100]);
        assert_eq!(scaled(&[7], (1, 1), (3, 2)), [7; 6]);
    }

    #[test]
    fn the_same_size_is_the_same_picture_and_a_flat_one_stays_flat() {
        let plane: Vec<u8> = (0..96 * 54).map(|n| (n * 7 % 251) as u8).collect();
        assert_eq!(scaled(&plane, (96, 54), (96, 54)), plane);
        for to in [(72, 40), (48, 27), (36, 20), (24, 13), (128, 72), (97, 55)] {
            assert_eq!(scaled(&[255; 96 * 54], (96, 54), to), vec![255; to.0 * to.1], "{to:?}");
            assert_eq!(scaled(&[1; 96 * 54], (96, 54), to), vec![1; to.0 * to.1], "{to:?}");
        }
    }
}
