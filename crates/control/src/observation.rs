//! From window statistics to a network's input: a fixed number of features per interval and a fixed
//! number of intervals, oldest first.

/// The shape of a network's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The features of one interval, in order.
    pub features: &'static [&'static str],
    /// Values per feature.
    pub width: usize,
    /// Number of intervals.
    pub history: usize,
}

impl Layout {
    /// Values per interval.
    pub fn row(&self) -> usize {
        self.features.len() * self.width
    }

    /// Values in all.
    pub fn len(&self) -> usize {
        self.row() * self.history
    }

    /// Whether it is empty, which no network's input can be.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The last intervals, zeros before the first.
#[derive(Clone, Debug)]
pub struct History {
    width: usize,
    rows: Vec<f32>,
}

impl History {
    /// Nothing seen yet.
    pub fn new(layout: &Layout) -> Self {
        Self { width: layout.row(), rows: vec![0.0; layout.len()] }
    }

    /// Append an interval; `fill` writes its features.
    pub fn push(&mut self, fill: impl FnOnce(&mut [f32])) {
        write_shifted(&mut self.rows, self.width, fill);
    }

    /// The observation if the current interval ended now.
    pub fn preview(&self, out: &mut [f32], fill: impl FnOnce(&mut [f32])) {
        out.copy_from_slice(&self.rows);
        write_shifted(out, self.width, fill);
    }

    /// The observation.
    pub fn as_slice(&self) -> &[f32] {
        &self.rows
    }
}

fn write_shifted(rows: &mut [f32], width: usize, fill: impl FnOnce(&mut [f32])) {
    rows.copy_within(width.., 0);
    let newest = rows.len() - width;
    let row = &mut rows[newest..];
    fill(row);
    // A network never sees NaN.
    for value in row {
        *value = if value.is_nan() { 0.0 } else { value.clamp(-LARGEST, LARGEST) };
    }
}

/// Features are scaled to about one; anything this far off is a fault of the feature and is kept finite.
const LARGEST: f32 = 1e4;

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { features: &["a", "b", "c"], width: 1, history: 2 };

    #[test]
    fn the_newest_interval_comes_last_and_values_stay_finite() {
        assert_eq!((LAYOUT.row(), LAYOUT.len()), (3, 6));
        let mut history = History::new(&LAYOUT);
        history.push(|row| row.copy_from_slice(&[1.0, 2.0, f32::NAN]));
        history.push(|row| row.copy_from_slice(&[4.0, f32::INFINITY, 6.0]));
        assert_eq!(history.as_slice(), [1.0, 2.0, 0.0, 4.0, 1e4, 6.0]);
    }

    #[test]
    fn a_preview_equals_the_next_push_and_changes_nothing() {
        let mut history = History::new(&LAYOUT);
        history.push(|row| row.fill(1.0));
        let mut seen = [0.0; 6];
        history.preview(&mut seen, |row| row.fill(2.0));
        assert_eq!(history.as_slice(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        history.push(|row| row.fill(2.0));
        assert_eq!(history.as_slice(), seen);
    }
}
