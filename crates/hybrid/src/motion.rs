//! Motion vectors and the field of a frame.

/// A displacement in quarters of a luma pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vector {
    pub(crate) x: i16,
    pub(crate) y: i16,
}

/// The longest displacement, in quarters of a pixel.
pub(crate) const REACH: i16 = 511;

impl Vector {
    pub(crate) const fn new(x: i16, y: i16) -> Self {
        Self { x, y }
    }
    pub(crate) fn plus(self, dx: i16, dy: i16) -> Self {
        Self { x: (self.x + dx).clamp(-REACH, REACH), y: (self.y + dy).clamp(-REACH, REACH) }
    }
    /// Larger of the two sides' distances.
    pub(crate) fn distance(self, other: Self) -> u16 {
        self.x.abs_diff(other.x).max(self.y.abs_diff(other.y))
    }
}

/// The middle of three, side by side.
pub(crate) fn median(a: Vector, b: Vector, c: Vector) -> Vector {
    let middle = |a: i16, b: i16, c: i16| a.max(b).min(a.min(b).max(c));
    Vector { x: middle(a.x, b.x, c.x), y: middle(a.y, b.y, c.y) }
}

/// Vectors of 8x8 blocks, `None` where a block is not predicted from another frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) vectors: Vec<Option<Vector>>,
}

impl Field {
    /// Of a frame of so many macroblocks, all at rest.
    pub(crate) fn at_rest(columns: usize, rows: usize) -> Self {
        Self { columns: 2 * columns, rows: 2 * rows, vectors: vec![Some(Vector::default()); 4 * columns * rows] }
    }
    /// The vector of a block; `None` outside as well.
    #[inline(always)]
    pub(crate) fn at(&self, x: isize, y: isize) -> Option<Vector> {
        let inside = (0..self.columns as isize).contains(&x) && (0..self.rows as isize).contains(&y);
        if inside { self.vectors[y as usize * self.columns + x as usize] } else { None }
    }
    /// The four blocks of macroblock (`x`, `y`).
    pub(crate) fn set(&mut self, x: usize, y: usize, vectors: [Option<Vector>; 4]) {
        for (block, vector) in vectors.into_iter().enumerate() {
            self.vectors[(2 * y + block / 2) * self.columns + 2 * x + block % 2] = vector;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_side_by_side() {
        let v = Vector::new;
        assert_eq!(median(v(1, 9), v(5, -3), v(3, 4)), v(3, 4));
        assert_eq!(median(v(2, 2), v(2, 2), v(90, -90)), v(2, 2));
    }
}
