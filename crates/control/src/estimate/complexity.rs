//! How complex the next frame is compared with those before it: a linear prediction of its mean
//! absolute difference from the last frame's, over their mean [vtfrc]. The line is fitted over a window
//! that shrinks when the difference changes abruptly, as [lee2000] has it for sizes and the JM
//! reference encoder for differences [li2003].

/// Predicts differences.
#[derive(Clone, Debug)]
pub struct Complexity {
    /// The latest measured differences, newest first; the first `len` are in use.
    measured: [f64; MAX_WINDOW + 1],
    len: usize,
    /// Frames the line was fitted over.
    window: usize,
    max_window: usize,
    /// a_1
    slope: f64,
    /// a_2
    offset: f64,
}

impl Complexity {
    /// Nothing measured; the window never exceeds `max_window` frames, at most `MAX_WINDOW`.
    pub fn new(max_window: usize) -> Self {
        let max_window = max_window.clamp(1, MAX_WINDOW);
        Self { measured: [0.0; MAX_WINDOW + 1], len: 0, window: 0, max_window, slope: 1.0, offset: 0.0 }
    }

    /// C(k) of the next frame: 0 for one like its past, positive for a more complex one.
    pub fn of_next(&self) -> f64 {
        let count = self.window.clamp(1, self.len.max(1));
        let mean = self.measured[..count].iter().sum::<f64>() / count as f64;
        if self.len == 0 || mean <= 0.0 {
            return 0.0;
        }
        // [vtfrc] eq. (6): C(k) = MAD_pred(k) / (1/n sum_(i=1..n) MAD_actual(k-i)) - 1.
        self.predicted() / mean - 1.0
    }

    /// How many frames before the next one are like it.
    pub const fn window(&self) -> usize {
        self.window
    }

    /// A frame's difference was measured.
    pub fn on_measured(&mut self, difference: f64) {
        if !difference.is_finite() || difference < 0.0 {
            return;
        }
        self.measured.rotate_right(1);
        self.measured[0] = difference;
        self.len = (self.len + 1).min(MAX_WINDOW + 1);
        self.fit();
    }

    /// The predicted difference of the next frame.
    pub fn predicted(&self) -> f64 {
        // [vtfrc] eq. (5): MAD_pred(k) = a_1 MAD_actual(k-1) + a_2; a difference is never negative.
        (self.slope * self.measured[0] + self.offset).max(0.0)
    }

    /// Choose the window and fit the line, first to all of it, then without outliers.
    fn fit(&mut self) {
        let pairs = self.len - 1;
        if pairs == 0 {
            self.window = 1;
            return;
        }
        let (current, last) = (self.measured[0], self.measured[1]);
        // [lee2000]: the more alike the two last frames, the longer the window; it grows by one per frame.
        let alike = if current.max(last) > 0.0 { current.min(last) / current.max(last) } else { 1.0 };
        let wanted = (alike * self.max_window as f64) as usize;
        self.window = wanted.min(self.window + 1).clamp(1, pairs.min(self.max_window));
        let all = [true; MAX_WINDOW];
        self.regress(&all);
        let error = |fit: &Self, place: usize| fit.measured[place] - (fit.slope * fit.measured[place + 1] + fit.offset);
        let square = (0..self.window).map(|place| error(self, place) * error(self, place)).sum::<f64>();
        // [lee2000]: of two points the older is an outlier; else those beyond one deviation are. The newest never is.
        let limit = if self.window == 2 { 0.0 } else { (square / self.window as f64).sqrt() };
        let mut kept = all;
        for (place, kept) in kept.iter_mut().enumerate().take(self.window).skip(1) {
            *kept = error(self, place).abs() <= limit;
        }
        self.regress(&kept);
    }

    /// Least squares over the window's pairs of a frame and the one before it.
    fn regress(&mut self, kept: &[bool; MAX_WINDOW]) {
        let (mut n, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for place in (0..self.window).filter(|place| kept[*place]) {
            let (x, y) = (self.measured[place + 1], self.measured[place]);
            n += 1.0;
            sum_x += x;
            sum_y += y;
            sum_xx += x * x;
            sum_xy += x * y;
        }
        let determinant = n * sum_xx - sum_x * sum_x;
        (self.slope, self.offset) = if determinant > 1e-6 * sum_xx.max(1e-6) {
            ((n * sum_xy - sum_x * sum_y) / determinant, (sum_y * sum_xx - sum_x * sum_xy) / determinant)
        } else if sum_x > 0.0 {
            // Only one abscissa: the line goes through it and the origin.
            (sum_y / sum_x, 0.0)
        } else {
            (1.0, 0.0)
        };
    }
}

/// In frames.
// [vtfrc] sec. 3: the maximum window size is 20.
pub const MAX_WINDOW: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(differences: &[f64]) -> Complexity {
        let mut complexity = Complexity::new(MAX_WINDOW);
        differences.iter().for_each(|&difference| complexity.on_measured(difference));
        complexity
    }

    #[track_caller]
    fn assert_close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
    }

    #[test]
    fn before_anything_is_measured_and_on_a_still_scene_the_complexity_is_zero() {
        assert_close(after(&[]).of_next(), 0.0);
        assert_close(after(&[4.0]).of_next(), 0.0);
        assert_close(after(&[4.0; 30]).of_next(), 0.0);
        assert_close(after(&[0.0; 30]).of_next(), 0.0);
    }

    /// [vtfrc] eq. (5), worked by hand: 10, 11, 12.1: each 1.1 times the last. One pair: slope 11/10; two pairs: the
    /// older is dropped, slope 12.1/11: predicted 13.31.
    #[test]
    fn the_next_difference_is_on_the_line_through_the_last() {
        assert_close(after(&[10.0, 11.0]).predicted(), 12.1);
        assert_close(after(&[10.0, 11.0, 12.1]).predicted(), 13.31);
        // y = 0.5 x + 4 over three pairs: 20, 14, 11, 9.5, then 8.75.
        let line = after(&[20.0, 14.0, 11.0, 9.5]);
        assert_eq!(line.window, 3);
        assert_close(line.slope, 0.5);
        assert_close(line.offset, 4.0);
        assert_close(line.predicted(), 8.75);
    }

    /// [vtfrc] eq. (6), worked by hand: 8.75 / mean(9.5, 11, 14) - 1 = 8.75 / 11.5 - 1.
    #[test]
    fn the_complexity_is_the_prediction_over_the_windows_mean() {
        assert_close(after(&[20.0, 14.0, 11.0, 9.5]).of_next(), 8.75 / 11.5 - 1.0);
        assert!(after(&[10.0, 11.0, 12.1]).of_next() > 0.0);
    }

    /// [vtfrc] sec. 3: at most 20; a change to a quarter leaves 5 of them.
    #[test]
    fn the_window_grows_in_calm_and_shrinks_with_change() {
        let mut complexity = after(&[8.0; 60]);
        assert_eq!(complexity.window, 20);
        complexity.on_measured(2.0);
        assert_eq!(complexity.window, 5);
        complexity.on_measured(2.0);
        assert_eq!(complexity.window, 6);
        let mut short = Complexity::new(4);
        (0..30).for_each(|_| short.on_measured(3.0));
        assert_eq!(short.window, 4);
    }

    #[test]
    fn a_point_far_off_the_line_is_left_out() {
        // On y = x but for one outlier; the fit without it still says y = x.
        let mut differences = vec![8.0, 9.0, 8.0, 9.0, 8.0, 9.0, 8.0, 9.0];
        differences.extend([8.0; 6]);
        let complexity = after(&differences);
        assert!((complexity.predicted() - 8.0).abs() < 0.6, "{}", complexity.predicted());
    }

    #[test]
    fn invalid_differences_are_ignored() {
        assert_close(after(&[4.0, f64::NAN, -1.0, f64::INFINITY]).of_next(), 0.0);
    }
}
