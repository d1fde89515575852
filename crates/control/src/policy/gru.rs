//! A gated recurrent unit, with PyTorch's equations and order of gates (reset, update, new):
//!
//! ```text
//! r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)      n = tanh(W_in x + b_in + r (W_hn h + b_hn))
//! z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)      h' = (1 - z) n + z h
//! ```

use super::panels::Panels;
use legato_units::elementary::{sigmoid, tanh};

/// The weights of one unit.
#[derive(Debug)]
pub(super) struct Gru {
    /// The three gates' weights on the input, stacked.
    input: Panels,
    /// The three gates' weights on the state.
    hidden: Panels,
}

impl Gru {
    pub(super) fn new(input: Panels, hidden: Panels) -> Self {
        Self { input, hidden }
    }

    /// Values [`Gru::step`] needs as scratch space.
    pub(super) fn scratch(&self) -> usize {
        self.input.outputs() + self.hidden.outputs()
    }

    /// One step: `state` advances by `input`.
    #[inline(always)]
    pub(super) fn step<const TOGETHER: usize>(&self, input: &[f32], state: &mut [f32], scratch: &mut [f32]) {
        let gates = self.input.outputs();
        let (of_input, rest) = scratch.split_at_mut(gates);
        let of_state = &mut rest[..gates];
        self.input.times::<TOGETHER>(input, of_input);
        self.hidden.times::<TOGETHER>(state, of_state);
        let size = state.len();
        let (reset_update, new) = of_input.split_at_mut(2 * size);
        let (reset_update_of_state, new_of_state) = of_state.split_at(2 * size);
        // The gates are stacked, so this is one loop without a branch.
        for (gate, of_state) in reset_update.iter_mut().zip(reset_update_of_state) {
            *gate = sigmoid(*gate + of_state);
        }
        let (reset, update) = reset_update.split_at(size);
        for ((new, of_state), reset) in new.iter_mut().zip(new_of_state).zip(reset) {
            *new = tanh(*new + reset * of_state);
        }
        for ((state, new), update) in state.iter_mut().zip(&*new).zip(update) {
            *state = (1.0 - update) * new + update * *state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_size_one_follows_the_equations() {
        // x = 1, h = 0.5; r = sigmoid(1 + 0.5), z = sigmoid(-1 + 0.25), n = tanh(2 + r (0.5 - 1)).
        let input = Panels::new(&[1.0, -1.0, 2.0], &[0.0; 3]);
        let hidden = Panels::new(&[1.0, 0.5, 1.0], &[0.0, 0.0, -1.0]);
        let unit = Gru::new(input, hidden);
        let (mut state, mut scratch) = ([0.5], [0.0; 6]);
        assert_eq!(unit.scratch(), 6);
        unit.step::<1>(&[1.0], &mut state, &mut scratch);
        let (r, z) = (0.817_574_5_f32, 0.320_821_3_f32);
        let n = libm::tanhf(2.0 - 0.5 * r);
        assert!((state[0] - ((1.0 - z) * n + z * 0.5)).abs() < 1e-6);
    }
}
