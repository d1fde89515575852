//! The quadratic model of rate and quantiser [lee2000], fitted over a window of the last frames as the JM has it.

/// Frames that it remembers.
const WINDOW: usize = 20;

/// R / MAD = X1 / Q + X2 / Q^2, of bits R, mean absolute difference MAD and quantiser step Q.
#[derive(Clone, Debug, Default)]
pub(super) struct Quadratic {
    /// (Q, R / MAD) of frames, newest first.
    points: Vec<(f64, f64)>,
    x1: f64,
    x2: f64,
}

impl Quadratic {
    /// A frame was coded. The fit is over the last `window` frames.
    pub(super) fn on_coded(&mut self, step: f64, bits: f64, mad: f64, window: usize) {
        self.points.insert(0, (step, bits / mad.max(SMALLEST_MAD)));
        self.points.truncate(WINDOW);
        let count = window.clamp(1, self.points.len());
        let mut kept = [true; WINDOW];
        self.fit(&kept[..count]);
        let error = |model: &Self, (step, rate): (f64, f64)| model.x1 / step + model.x2 / (step * step) - rate;
        let square = self.points[..count].iter().map(|&point| error(self, point) * error(self, point)).sum::<f64>();
        // [lee2000]: of two points the older is an outlier; else those beyond one deviation are. The newest never is.
        let limit = if count == 2 { 0.0 } else { (square / count as f64).sqrt() };
        for (kept, &point) in kept.iter_mut().zip(&self.points).take(count).skip(1) {
            *kept = error(self, point).abs() <= limit.max(1e-9 * point.1);
        }
        self.fit(&kept[..count]);
    }

    /// Least squares of Q R / MAD = X1 + X2 / Q, which is a line over 1 / Q; a constant if there is only one Q.
    fn fit(&mut self, kept: &[bool]) {
        let (mut n, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (&(step, rate), _) in self.points.iter().zip(kept).filter(|(_, kept)| **kept) {
            let (x, y) = (1.0 / step, step * rate);
            n += 1.0;
            sum_x += x;
            sum_y += y;
            sum_xx += x * x;
            sum_xy += x * y;
        }
        let determinant = n * sum_xx - sum_x * sum_x;
        (self.x1, self.x2) = if determinant > 1e-6 * n * sum_xx {
            ((sum_y * sum_xx - sum_x * sum_xy) / determinant, (n * sum_xy - sum_x * sum_y) / determinant)
        } else {
            (sum_y / n.max(1.0), 0.0)
        };
    }

    /// The quantiser step at which a frame of this MAD has this many bits.
    pub(super) fn step_for(&self, bits: f64, mad: f64) -> f64 {
        let mad = mad.max(SMALLEST_MAD);
        let linear = self.x1 * mad;
        // [lee2000] eq. (7): R = X1 MAD / Q + X2 MAD / Q^2, solved for Q; by the first term alone where there is no root.
        let square = linear * linear + 4.0 * self.x2 * mad * bits;
        let root = square.max(0.0).sqrt() - linear;
        if self.x2 == 0.0 || square < 0.0 || root <= 0.0 { linear / bits } else { 2.0 * self.x2 * mad / root }
    }
}

/// A repeated picture has none, and no model of bits by it.
const SMALLEST_MAD: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    /// [lee2000] eq. (7), worked by hand: X1 = 1000, X2 = 8000, MAD 2: at Q = 10, R = 2 (100 + 80) = 360; at Q = 20,
    /// 2 (50 + 20) = 140.
    #[test]
    fn two_quantisers_determine_the_quadratic() {
        let mut model = Quadratic::default();
        for step in [10.0, 20.0, 10.0, 20.0] {
            model.on_coded(step, 2.0 * (1_000.0 / step + 8_000.0 / (step * step)), 2.0, 20);
        }
        assert!((model.x1 - 1_000.0).abs() < 1e-6 && (model.x2 - 8_000.0).abs() < 1e-6, "{model:?}");
        assert!((model.step_for(360.0, 2.0) - 10.0).abs() < 1e-9);
        assert!((model.step_for(140.0, 2.0) - 20.0).abs() < 1e-9);
    }

    /// Worked by hand: one quantiser says X1 = Q R / MAD = 10 x 300 / 3 = 1000, and half the bits twice the step.
    #[test]
    fn one_quantiser_determines_the_first_term_alone() {
        let mut model = Quadratic::default();
        model.on_coded(10.0, 300.0, 3.0, 1);
        assert_eq!((model.x1, model.x2), (1_000.0, 0.0));
        assert_eq!(model.step_for(150.0, 3.0), 20.0);
    }

    #[test]
    fn a_frame_far_off_the_others_is_left_out() {
        let mut model = Quadratic::default();
        for step in [8.0, 10.0, 12.0, 14.0, 16.0, 18.0] {
            let odd = if step == 12.0 { 5.0 } else { 1.0 };
            model.on_coded(step, odd * 1_000.0 / step, 1.0, 20);
        }
        assert!((model.step_for(100.0, 1.0) - 10.0).abs() < 1.0, "{model:?}");
    }

    #[test]
    fn a_still_picture_gives_no_infinite_step() {
        let mut model = Quadratic::default();
        model.on_coded(10.0, 300.0, 0.0, 1);
        assert!(model.step_for(300.0, 0.0).is_finite());
    }
}
