//! From what intervals showed to the numbers a network takes: so many features an interval, so many
//! intervals, the oldest first.

/// What a network takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One interval's features in order.
    pub features: &'static [&'static str],
    /// Numbers a feature.
    pub width: usize,
    /// How many intervals.
    pub history: usize,
}

impl Layout {
    /// Numbers an interval.
    pub fn row(&self) -> usize {
        self.features.len() * self.width
    }

    /// Numbers in all.
    pub fn len(&self) -> usize {
        self.row() * self.history
    }

    /// Whether it is empty, which no network can be.
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
    /// Nothing has been seen.
    pub fn new(layout: &Layout) -> Self {
        Self { width: layout.row(), rows: vec![0.0; layout.len()] }
    }

    /// Another interval; `fill` writes its features.
    pub fn push(&mut self, fill: impl FnOnce(&mut [f32])) {
        write_shifted(&mut self.rows, self.width, fill);
    }

    /// What the network would be given if the interval in hand ended now.
    pub fn preview(&self, out: &mut [f32], fill: impl FnOnce(&mut [f32])) {
        out.copy_from_slice(&self.rows);
        write_shifted(out, self.width, fill);
    }

    /// What the network is given.
    pub fn as_slice(&self) -> &[f32] {
        &self.rows
    }
}

fn write_shifted(rows: &mut [f32], width: usize, fill: impl FnOnce(&mut [f32])) {
    rows.copy_within(width.., 0);
    let newest = rows.len() - width;
    let row = &mut rows[newest..];
    fill(row);
    // A network never sees what is no number.
    for value in row {
        *value = if value.is_nan() { 0.0 } else { value.clamp(-LARGEST, LARGEST) };
    }
}

/// Features are made to be about one; what is so far away is a fault of theirs and kept finite.
const LARGEST: f32 = 1e4;

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { features: &["a", "b", "c"], width: 1, history: 2 };

    #[test]
    fn the_newest_interval_comes_last_and_numbers_stay_finite() {
        assert_eq!((LAYOUT.row(), LAYOUT.len()), (3, 6));
        let mut history = History::new(&LAYOUT);
        history.push(|row| row.copy_from_slice(&[1.0, 2.0, f32::NAN]));
        history.push(|row| row.copy_from_slice(&[4.0, f32::INFINITY, 6.0]));
        assert_eq!(history.as_slice(), [1.0, 2.0, 0.0, 4.0, 1e4, 6.0]);
    }

    #[test]
    fn a_preview_is_what_the_next_push_makes_and_changes_nothing() {
        let mut history = History::new(&LAYOUT);
        history.push(|row| row.fill(1.0));
        let mut seen = [0.0; 6];
        history.preview(&mut seen, |row| row.fill(2.0));
        assert_eq!(history.as_slice(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        history.push(|row| row.fill(2.0));
        assert_eq!(history.as_slice(), seen);
    }
}
