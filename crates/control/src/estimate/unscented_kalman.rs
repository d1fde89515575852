//! The unscented Kalman filter of [wan2000], for small states of fixed size and additive noise.
//!
//! A Gaussian is carried through a non-linear function by a few points with its mean and covariance; no
//! derivative is needed, so functions may have corners (`max`, `min`). On a linear model the result is
//! that of the Kalman filter. Left out of the paper: noise that enters the functions other than as a sum
//! (the augmented state of its Algorithm 3.1), and parameter estimation.
//!
//! Nothing here panics: if a covariance is no longer positive definite, or a value is not finite, the
//! step returns `None` and leaves the state as it was; the caller resets.

/// A square matrix, row by row.
pub type Square<const N: usize> = [[f64; N]; N];

/// How far the sigma points lie from the mean and how they are weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Spread of the points, 0 to 1.
    pub alpha: f64,
    /// Knowledge of the distribution beyond its covariance; 2 is best for a Gaussian.
    pub beta: f64,
    /// A second spread, usually 0 or 3 − N.
    pub kappa: f64,
}

impl Scaling {
    /// Points at √N deviations: no weight is negative, so every covariance made of them is positive
    /// semidefinite whatever the function.
    pub const WIDE: Self = Self { alpha: 1.0, beta: 2.0, kappa: 0.0 };

    /// The factor on the covariance whose root gives the points, and the weights.
    fn weights(self, n: usize) -> Weights {
        let n = n as f64;
        // [wan2000] eq. (15): lambda = alpha² (L + kappa) - L; W_0^m = lambda / (L + lambda),
        // W_0^c = W_0^m + 1 - alpha² + beta, W_i = 1 / (2 (L + lambda)).
        let lambda = self.alpha * self.alpha * (n + self.kappa) - n;
        let spread = n + lambda;
        let centre_mean = lambda / spread;
        Weights {
            spread,
            centre_mean,
            centre_covariance: centre_mean + 1.0 - self.alpha * self.alpha + self.beta,
            other: 0.5 / spread,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Weights {
    spread: f64,
    centre_mean: f64,
    centre_covariance: f64,
    other: f64,
}

/// The images of the sigma points under some function: of the centre, and of each pair around it.
struct Points<const N: usize, const M: usize> {
    centre: [f64; M],
    above: [[f64; M]; N],
    below: [[f64; M]; N],
}

/// What a measurement showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<const M: usize> {
    /// Measured minus predicted.
    pub innovation: [f64; M],
    /// Its expected variances, including the noise.
    pub variances: [f64; M],
    /// The squared innovation in units of its covariance: `M` on average if the model is right.
    pub surprise: f64,
}

/// A filter over `N` values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnscentedKalman<const N: usize> {
    state: [f64; N],
    covariance: Square<N>,
    weights: Weights,
}

impl<const N: usize> UnscentedKalman<N> {
    /// Starts with this mean and these variances.
    pub fn new(state: [f64; N], variances: [f64; N], scaling: Scaling) -> Self {
        let mut covariance = [[0.0; N]; N];
        for (n, variance) in variances.into_iter().enumerate() {
            covariance[n][n] = variance;
        }
        Self { state, covariance, weights: scaling.weights(N) }
    }

    /// The mean.
    #[inline]
    pub fn state(&self) -> &[f64; N] {
        &self.state
    }

    /// The covariance.
    #[inline]
    pub fn covariance(&self) -> &Square<N> {
        &self.covariance
    }

    /// Set one value of the mean; its uncertainty stays.
    #[inline]
    pub fn place(&mut self, n: usize, value: f64) {
        self.state[n] = value;
    }

    /// Add to the variance of one value.
    #[inline]
    pub fn doubt(&mut self, n: usize, variance: f64) {
        self.covariance[n][n] += variance;
    }

    /// Keep each variance within bounds. Both directions keep the matrix positive definite: a diagonal
    /// entry may be raised, and a row and its column scaled.
    pub fn bound(&mut self, min: &[f64; N], max: &[f64; N]) {
        for n in 0..N {
            let variance = self.covariance[n][n];
            if variance > max[n] {
                let factor = (max[n] / variance).sqrt();
                for m in 0..N {
                    self.covariance[n][m] *= factor;
                    self.covariance[m][n] *= factor;
                }
            } else if variance < min[n] {
                self.covariance[n][n] = min[n];
            }
        }
    }

    /// The state one step on, by `process`, with the variances `noise` added.
    pub fn predict(&mut self, process: impl Fn(&[f64; N]) -> [f64; N], noise: &[f64; N]) -> Option<()> {
        let (_, images) = self.transform(process)?;
        let mean = self.mean(&images);
        let mut covariance = self.spread(&images, &mean, &images, &mean);
        for n in 0..N {
            covariance[n][n] += noise[n];
        }
        self.replace(mean, covariance)
    }

    /// Learn from `seen`, which `measure` predicts from a state, with the noise `noise`.
    pub fn update<const M: usize>(
        &mut self,
        measure: impl Fn(&[f64; N]) -> [f64; M],
        seen: &[f64; M],
        noise: &Square<M>,
    ) -> Option<Update<M>> {
        let (points, images) = self.transform(measure)?;
        let predicted = self.mean(&images);
        let mut expected = self.spread(&images, &predicted, &images, &predicted);
        for (row, noise) in expected.iter_mut().zip(noise) {
            for (entry, noise) in row.iter_mut().zip(noise) {
                *entry += noise;
            }
        }
        let cross = self.spread(&points, &self.state, &images, &predicted);
        let root = cholesky(&expected)?;
        let innovation: [f64; M] = std::array::from_fn(|m| seen[m] - predicted[m]);
        // [wan2000] §3: K = P_xz P_zz⁻¹; x += K (z - ẑ); P -= K P_zz Kᵀ, where K P_zz Kᵀ = P_xz Kᵀ.
        let gain: [[f64; M]; N] = std::array::from_fn(|n| solve(&root, &cross[n]));
        let scaled = solve(&root, &innovation);
        let surprise = dot(&scaled, &innovation);
        let state: [f64; N] = std::array::from_fn(|n| self.state[n] + dot(&gain[n], &innovation));
        let covariance =
            std::array::from_fn(|n| std::array::from_fn(|m| self.covariance[n][m] - dot(&cross[n], &gain[m])));
        self.replace(state, covariance)?;
        Some(Update { innovation, variances: std::array::from_fn(|m| expected[m][m]), surprise })
    }

    /// The sigma points and their images.
    // [wan2000] eq. (15): X_0 = x̄, X_i = x̄ ± (√((L + lambda) P))_i; eq. (16): Y_i = g(X_i).
    fn transform<const M: usize>(
        &self,
        function: impl Fn(&[f64; N]) -> [f64; M],
    ) -> Option<(Points<N, N>, Points<N, M>)> {
        let scaled = self.covariance.map(|row| row.map(|entry| entry * self.weights.spread));
        let root = cholesky(&scaled)?;
        // Columns of the root are the steps.
        let step = |i: usize, sign: f64| std::array::from_fn(|n| self.state[n] + sign * root[n][i]);
        let points = Points {
            centre: self.state,
            above: std::array::from_fn(|i| step(i, 1.0)),
            below: std::array::from_fn(|i| step(i, -1.0)),
        };
        let images = Points {
            centre: function(&points.centre),
            above: std::array::from_fn(|i| function(&points.above[i])),
            below: std::array::from_fn(|i| function(&points.below[i])),
        };
        Some((points, images))
    }

    /// [wan2000] eq. (17): ȳ = Σ W_i^m Y_i.
    fn mean<const M: usize>(&self, images: &Points<N, M>) -> [f64; M] {
        std::array::from_fn(|m| {
            let around: f64 = (0..N).map(|i| images.above[i][m] + images.below[i][m]).sum();
            self.weights.centre_mean * images.centre[m] + self.weights.other * around
        })
    }

    /// [wan2000] eq. (18): P = Σ W_i^c (X_i - x̄)(Y_i - ȳ)ᵀ.
    fn spread<const A: usize, const B: usize>(
        &self,
        left: &Points<N, A>,
        left_mean: &[f64; A],
        right: &Points<N, B>,
        right_mean: &[f64; B],
    ) -> [[f64; B]; A] {
        std::array::from_fn(|a| {
            std::array::from_fn(|b| {
                let product = |x: &[f64; A], y: &[f64; B]| (x[a] - left_mean[a]) * (y[b] - right_mean[b]);
                let around: f64 = (0..N)
                    .map(|i| product(&left.above[i], &right.above[i]) + product(&left.below[i], &right.below[i]))
                    .sum();
                self.weights.centre_covariance * product(&left.centre, &right.centre) + self.weights.other * around
            })
        })
    }

    /// Take a new mean and covariance if they are finite; rounding may have made the latter asymmetric.
    fn replace(&mut self, state: [f64; N], covariance: Square<N>) -> Option<()> {
        let finite = state.iter().chain(covariance.iter().flatten()).all(|figure| figure.is_finite());
        if !finite {
            return None;
        }
        self.state = state;
        self.covariance = std::array::from_fn(|n| std::array::from_fn(|m| 0.5 * (covariance[n][m] + covariance[m][n])));
        Some(())
    }
}

/// The lower triangle whose product with its transpose is `matrix`; `None` if there is none.
fn cholesky<const N: usize>(matrix: &Square<N>) -> Option<Square<N>> {
    let mut root = [[0.0; N]; N];
    for row in 0..N {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| root[row][k] * root[column][k]).sum();
            let rest = matrix[row][column] - known;
            if row == column {
                // Not `<=`: NaN is no valid pivot either.
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                root[row][row] = rest.sqrt();
            } else {
                root[row][column] = rest / root[column][column];
            }
        }
    }
    Some(root)
}

/// `x` with `root rootᵀ x = right`.
fn solve<const N: usize>(root: &Square<N>, right: &[f64; N]) -> [f64; N] {
    let mut x = *right;
    for row in 0..N {
        let known: f64 = (0..row).map(|k| root[row][k] * x[k]).sum();
        x[row] = (x[row] - known) / root[row][row];
    }
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|k| root[k][row] * x[k]).sum();
        x[row] = (x[row] - known) / root[row][row];
    }
    x
}

fn dot<const N: usize>(left: &[f64; N], right: &[f64; N]) -> f64 {
    left.iter().zip(right).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1.0)
    }

    /// [wan2000] eq. (15), worked by hand: L = 2, alpha = 0.5, beta = 2, kappa = 1 give lambda = 0.25 × 3
    /// − 2 = −1.25, L + lambda = 0.75, W_0^m = −5/3, W_0^c = −5/3 + 0.75 + 2 = 13/12, W_i = 2/3. And the
    /// weights of the mean sum to one: −5/3 + 4 × 2/3.
    #[test]
    fn the_weights_are_those_of_the_paper() {
        let weights = Scaling { alpha: 0.5, beta: 2.0, kappa: 1.0 }.weights(2);
        assert!(close(weights.spread, 0.75));
        assert!(close(weights.centre_mean, -5.0 / 3.0));
        assert!(close(weights.centre_covariance, 13.0 / 12.0));
        assert!(close(weights.other, 2.0 / 3.0));
        let wide = Scaling::WIDE.weights(3);
        assert_eq!(wide, Weights { spread: 3.0, centre_mean: 0.0, centre_covariance: 2.0, other: 1.0 / 6.0 });
    }

    /// [wan2000] eq. (15) and [wan2000] eq. (16): with P = [[4, 2], [2, 5]] the root is [[2, 0], [1, 2]]; L + lambda = 2
    /// makes the steps √2 (2, 1) and √2 (0, 2) around (1, −1).
    #[test]
    fn the_points_lie_on_the_roots_columns() {
        let mut filter = UnscentedKalman::new([1.0, -1.0], [4.0, 5.0], Scaling::WIDE);
        filter.covariance = [[4.0, 2.0], [2.0, 5.0]];
        let (points, doubled) = filter.transform(|x| [2.0 * x[0]]).unwrap();
        let root = 2.0_f64.sqrt();
        for (point, by_hand) in points.above.iter().zip([[1.0 + 2.0 * root, -1.0 + root], [1.0, -1.0 + 2.0 * root]]) {
            assert!(close(point[0], by_hand[0]) && close(point[1], by_hand[1]), "{point:?}");
        }
        assert!(close(points.below[0][0], 1.0 - 2.0 * root));
        assert!(close(doubled.below[0][0], 2.0 - 4.0 * root));
    }

    /// [wan2000] eq. (17) and [wan2000] eq. (18), worked by hand for y = x² of a Gaussian with mean 3 and variance 4:
    /// the mean is 9 + 4 = 13. With L = 1 and the wide scaling, points lie at 1, 3, 5, with images 1, 9, 25, and the
    /// weights are 0, ½, ½ and 2, ½, ½. The variance is 2 × 16 + ½ (144 + 144) = 176, the true 4 × 9 × 4 + 2 × 16.
    #[test]
    fn a_square_has_the_mean_and_variance_of_the_distribution() {
        let mut filter = UnscentedKalman::new([3.0], [4.0], Scaling::WIDE);
        filter.predict(|x| [x[0] * x[0]], &[0.0]).unwrap();
        assert!(close(filter.state[0], 13.0), "{}", filter.state[0]);
        assert!(close(filter.covariance[0][0], 176.0), "{}", filter.covariance[0][0]);
    }

    /// [wan2000] §3 on a linear model is the Kalman filter. By hand: x = 1, P = 2, x' = 3x with noise 2: mean 3, P =
    /// 20. Then z = x' + noise of variance 5, measured 8: K = 20/25 = 0.8, x = 3 + 0.8 × 5 = 7, P = 4; the innovation's
    /// square is 25/25.
    #[test]
    fn one_linear_figure_is_filtered_as_by_hand() {
        let mut filter = UnscentedKalman::new([1.0], [2.0], Scaling::WIDE);
        filter.predict(|x| [3.0 * x[0]], &[2.0]).unwrap();
        assert!(close(filter.state[0], 3.0) && close(filter.covariance[0][0], 20.0));
        let update = filter.update(|x| *x, &[8.0], &[[5.0]]).unwrap();
        assert!(close(update.innovation[0], 5.0) && close(update.variances[0], 25.0) && close(update.surprise, 1.0));
        assert!(close(filter.state[0], 7.0) && close(filter.covariance[0][0], 4.0));
    }

    /// Position and speed, position measured: against the Kalman filter's own equations, any scaling, many steps.
    #[test]
    fn a_linear_model_is_filtered_as_by_the_linear_filter() {
        for scaling in [Scaling::WIDE, Scaling { alpha: 0.1, beta: 2.0, kappa: 1.0 }] {
            let mut filter = UnscentedKalman::new([0.0, 1.0], [1.0, 1.0], scaling);
            let (mut x, mut p) = ([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]);
            let (q, r, dt) = ([0.01, 0.02], 0.5, 0.1);
            for step in 0..200 {
                let seen = 0.1 * f64::from(step) + f64::from(step * 7919 % 13) / 13.0 - 0.5;
                filter.predict(|x| [x[0] + dt * x[1], x[1]], &q).unwrap();
                filter.update(|x| [x[0]], &[seen], &[[r]]).unwrap();
                x = [x[0] + dt * x[1], x[1]];
                let across = p[0][1] + dt * p[1][1];
                p = [[p[0][0] + dt * (p[0][1] + across) + q[0], across], [across, p[1][1] + q[1]]];
                let gain = [p[0][0] / (p[0][0] + r), p[1][0] / (p[0][0] + r)];
                let innovation = seen - x[0];
                x = [x[0] + gain[0] * innovation, x[1] + gain[1] * innovation];
                p = [
                    [(1.0 - gain[0]) * p[0][0], (1.0 - gain[0]) * p[0][1]],
                    [(1.0 - gain[0]) * p[0][1], p[1][1] - gain[1] * p[0][1]],
                ];
            }
            assert!((filter.state[0] - x[0]).abs() < 1e-8 && (filter.state[1] - x[1]).abs() < 1e-8);
            assert!((filter.covariance[0][1] - p[0][1]).abs() < 1e-8);
        }
    }

    #[test]
    fn an_impossible_step_is_refused_and_changes_nothing() {
        let mut filter = UnscentedKalman::new([1.0, 2.0], [1.0, 1.0], Scaling::WIDE);
        let before = filter;
        assert!(filter.predict(|_| [f64::NAN, 0.0], &[0.0, 0.0]).is_none());
        assert!(filter.update(|x| [x[0]], &[f64::INFINITY], &[[1.0]]).is_none());
        assert!(filter.update(|_| [0.0], &[1.0], &[[0.0]]).is_none(), "a measurement without any uncertainty");
        assert_eq!(filter, before);
        let mut flat = UnscentedKalman::new([1.0, 2.0], [1.0, 0.0], Scaling::WIDE);
        assert!(flat.predict(|x| *x, &[0.0, 0.0]).is_none());
    }

    #[test]
    fn bounds_keep_the_matrix_positive_definite() {
        let mut filter = UnscentedKalman::new([0.0, 0.0], [1.0, 1.0], Scaling::WIDE);
        filter.covariance = [[100.0, 9.0], [9.0, 1.0]];
        filter.bound(&[2.0, 2.0], &[4.0, 4.0]);
        assert_eq!(filter.covariance[0][0], 4.0);
        assert_eq!(filter.covariance[1][1], 2.0);
        assert!(close(filter.covariance[0][1], 9.0 * 0.2));
        assert!(cholesky(&filter.covariance).is_some());
    }
}
