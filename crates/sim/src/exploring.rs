//! A policy that explores in a real call while a learner, elsewhere, learns from it.
//!
//! In an environment the call stops before each decision and Python sets the action. A real call cannot stop: here the
//! policy itself is at hand, adds the exploration, and hands each finished interval over. Weights come back through the
//! same [`Exchange`] and hold from the next decision on. Neither side ever waits for the other: where the other has the
//! lock, the call keeps its weights and its intervals until the next decision.

use crate::episode::{COLUMNS, Outcome, columns};
use crate::seed::Seed;
use legato_control::policy::{Decide, Model, NetworkPolicy};
use legato_control::steering::Steered;
use legato_units::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::sync::{Arc, Mutex, PoisonError};

/// A finished interval, and the action that was taken at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Explored {
    /// What the policy saw.
    pub observation: Vec<f32>,
    /// The interval before the action, by [`COLUMNS`]; ground truth, which no sender knows, is NaN.
    pub row: Vec<f32>,
    /// As drawn: values out of range are clamped where they act.
    pub action: f32,
    /// Which weights drew it, counted from 0.
    pub version: u64,
}

/// What call and learner hand each other.
#[derive(Default)]
pub struct Exchange {
    weights: Mutex<Option<Weights>>,
    done: Mutex<Vec<Explored>>,
}

#[derive(Clone)]
struct Weights {
    version: u64,
    model: Arc<Model>,
    std: f32,
}

impl Exchange {
    /// Let the call decide with these from its next decision on. `std`: of a continuous action's noise.
    pub fn give(&self, version: u64, model: Arc<Model>, std: f32) {
        *self.weights.lock().unwrap_or_else(PoisonError::into_inner) = Some(Weights { version, model, std });
    }

    /// The intervals finished since the last time, the oldest first.
    pub fn take(&self) -> Vec<Explored> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What sets a steered controller's actions in a real call.
pub struct Explorer {
    policy: NetworkPolicy,
    version: u64,
    std: f32,
    random: ChaCha8Rng,
    exchange: Arc<Exchange>,
    /// Not handed over yet.
    finished: Vec<Explored>,
    takeovers: u32,
}

/// An hour of intervals; if more wait to be taken, the oldest go.
const MAX_FINISHED: usize = 72_000;

impl Explorer {
    /// One that begins with a model. `std`: of a continuous action's noise; `seed`: what exploration is drawn from.
    pub fn new(model: Arc<Model>, std: f32, seed: u64, exchange: Arc<Exchange>) -> Self {
        Self {
            policy: NetworkPolicy::new(model),
            version: 0,
            std,
            random: Seed(seed).stream("controller.exploration"),
            exchange,
            finished: Vec::new(),
            takeovers: 0,
        }
    }

    /// Set the action of the decision that is due at `now`, if one is.
    pub fn decide(&mut self, now: Timestamp, steered: &mut dyn Steered) {
        if steered.pipeline().next_decision() > now {
            return;
        }
        if let Ok(mut given) = self.exchange.weights.try_lock()
            && let Some(Weights { version, model, std }) = given.take()
            && self.policy.take_weights(model)
        {
            (self.version, self.std) = (version, std);
        }
        let takeovers = steered.takeovers();
        let pipeline = steered.pipeline();
        let stats = pipeline.stats(now);
        let mut observation = vec![0.0; pipeline.layout().len()];
        pipeline.observe_into(&stats, &mut observation);
        let mut row = vec![0.0; COLUMNS.len()];
        let new = takeovers - std::mem::replace(&mut self.takeovers, takeovers);
        columns(&Outcome { stats, takeovers: new, ..Outcome::default() }, &mut row);
        for (name, value) in COLUMNS.iter().zip(&mut row) {
            if name.starts_with("true_") {
                *value = f32::NAN;
            }
        }
        let action = self.draw(&observation);
        pipeline.steer(action);
        self.finished.push(Explored { observation, row, action, version: self.version });
        if self.finished.len() > MAX_FINISHED {
            self.finished.remove(0);
        }
        if let Ok(mut done) = self.exchange.done.try_lock() {
            done.append(&mut self.finished);
            let surplus = done.len().saturating_sub(MAX_FINISHED);
            done.drain(..surplus);
        }
    }

    /// An action around the policy's output, as `legato.train.distributions` draws it.
    fn draw(&mut self, observation: &[f32]) -> f32 {
        let decide = self.policy.model().manifest().decide();
        match decide {
            Decide::Value { .. } => {
                let noise = self.normal();
                self.policy.outputs(observation)[0] + self.std * noise
            }
            Decide::Argmax => {
                let share = self.uniform();
                chosen(self.policy.outputs(observation), share)
            }
        }
    }

    /// Within (0, 1).
    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// By Box and Muller's transform: sqrt(-2 ln u) cos(2 pi v).
    fn normal(&mut self) -> f32 {
        let (u, v) = (self.uniform(), self.uniform());
        ((-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * v)) as f32
    }
}

/// The choice at `share` of the choices' probabilities, in proportion to `exp(output)`; NaN if an output is.
fn chosen(outputs: &[f32], share: f64) -> f32 {
    if outputs.iter().any(|output| output.is_nan()) {
        return f32::NAN;
    }
    let largest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weight = |output: &f32| libm::exp(f64::from(*output - largest));
    let mut left = share * outputs.iter().map(weight).sum::<f64>();
    for (choice, output) in outputs.iter().enumerate() {
        left -= weight(output);
        if left < 0.0 {
            return choice as f32;
        }
    }
    (outputs.len() - 1) as f32
}

#[cfg(test)]
#[path = "exploring_tests.rs"]
mod tests;
