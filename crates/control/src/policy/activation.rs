//! What a layer applies to each of its sums, by the names trainers use.

use legato_units::elementary::{exp, sigmoid, tanh};

/// The function after a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// x, no lower than -1 and no higher than 1.
    HardTanh,
    /// x where x >= 0, `slope` x elsewhere.
    LeakyRelu {
        /// 0.01 if the manifest names none.
        slope: f32,
    },
    /// The sum itself.
    Linear,
    /// x where x >= 0, 0 elsewhere.
    Relu,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// eˣ over the sum of all eˣ of the layer.
    Softmax,
    /// The hyperbolic tangent.
    Tanh,
}

/// The default slope of `leaky_relu`; PyTorch's.
pub(super) const LEAKY_SLOPE: f32 = 0.01;

impl Activation {
    /// By the name in a manifest; `leaky_relu` with the usual slope.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "hard_tanh" => Self::HardTanh,
            "leaky_relu" => Self::LeakyRelu { slope: LEAKY_SLOPE },
            "linear" => Self::Linear,
            "relu" => Self::Relu,
            "sigmoid" => Self::Sigmoid,
            "softmax" => Self::Softmax,
            "tanh" => Self::Tanh,
            _ => return None,
        })
    }

    /// The valid names, for error messages.
    pub(super) const NAMES: &'static str = "linear, tanh, hard_tanh, relu, leaky_relu, sigmoid or softmax";

    /// Apply it to all values of a layer. The comparisons let a NaN through.
    #[inline(always)]
    pub(super) fn apply(self, values: &mut [f32]) {
        match self {
            Self::HardTanh => each(values, |x| x.clamp(-1.0, 1.0)),
            Self::LeakyRelu { slope } => each(values, |x| if x < 0.0 { slope * x } else { x }),
            Self::Linear => {}
            Self::Relu => each(values, |x| if x < 0.0 { 0.0 } else { x }),
            Self::Sigmoid => each(values, sigmoid),
            Self::Softmax => softmax(values),
            Self::Tanh => each(values, tanh),
        }
    }
}

#[inline(always)]
fn each(values: &mut [f32], f: impl Fn(f32) -> f32) {
    for value in values {
        *value = f(*value);
    }
}

/// The largest value is subtracted first, which changes no share and keeps every power finite.
#[inline(always)]
fn softmax(values: &mut [f32]) {
    let largest =
        values.iter().fold(f32::NEG_INFINITY, |largest, &value| if value > largest { value } else { largest });
    each(values, |x| exp(x - largest));
    let sum: f32 = values.iter().sum();
    each(values, |x| x / sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied<const N: usize>(name: &str, mut values: [f32; N]) -> [f32; N] {
        Activation::named(name).unwrap().apply(&mut values);
        values
    }

    #[test]
    fn activations_by_hand() {
        assert_eq!(applied("linear", [-2.0, 3.0]), [-2.0, 3.0]);
        assert_eq!(applied("relu", [-2.0, 3.0]), [0.0, 3.0]);
        assert_eq!(applied("leaky_relu", [-2.0, 3.0]), [-0.02, 3.0]);
        assert_eq!(applied("hard_tanh", [-2.0, 0.5, 3.0]), [-1.0, 0.5, 1.0]);
        assert_eq!(applied("sigmoid", [0.0]), [0.5]);
        assert_eq!(applied("tanh", [0.0]), [0.0]);
        // e⁰ / (e⁰ + e^ln 3) = 1/4, also where e^x alone would be infinite.
        let shares = applied("softmax", [200.0, 200.0 + libm::logf(3.0)]);
        assert!((shares[0] - 0.25).abs() < 1e-5 && (shares[1] - 0.75).abs() < 1e-5);
        assert_eq!(Activation::named("swish"), None);
    }

    #[test]
    fn a_nan_comes_through_each() {
        for name in ["linear", "relu", "leaky_relu", "hard_tanh", "sigmoid", "tanh", "softmax"] {
            assert!(applied(name, [1.0, f32::NAN, -1.0]).iter().any(|value| value.is_nan()), "{name}");
        }
    }
}
