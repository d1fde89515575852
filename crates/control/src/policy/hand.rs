//! A policy that is told its answer from outside: by an environment that is stepped, where the
//! network is somewhere else and still learning.

use super::Policy;

/// Gives the answer it was last told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    answer: f32,
}

impl Hand {
    /// Gives `answer` until it is told another.
    pub fn new(answer: f32) -> Self {
        Self { answer }
    }
}

impl Policy for Hand {
    fn act(&mut self, _observation: &[f32]) -> f32 {
        self.answer
    }

    fn hold(&mut self, answer: f32) {
        self.answer = answer;
    }

    fn clone_box(&self) -> Box<dyn Policy> {
        Box::new(*self)
    }
}
