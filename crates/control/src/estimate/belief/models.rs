//! How a link moves, and how far a measurement is off: four models, fitted to recorded links (docs/measured/belief.md).
//!
//! They were fitted by the likelihood of the link's true rate over the next 100 ms on links that no page reports.

use legato_units::Seconds;

/// How many models of a link's motion there are.
pub const MODELS: usize = 4;
/// One number for each model.
pub type Lanes = [f32; MODELS];

/// A move from one cell to one of its neighbours.
pub const NEAR: usize = 1;
/// By a third.
pub const MID: usize = 4;
/// To three times as much, or a third.
pub const FAR: usize = 14;

/// The evolution of a cell's probability within some time, by model.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// The link's rate stays in the cell.
    pub stay: Lanes,
    /// It moves by [`NEAR`] cells, to each side.
    pub near: Lanes,
    /// It moves by [`MID`] cells, to each side.
    pub mid: Lanes,
    /// It moves by [`FAR`] cells, to each side.
    pub far: Lanes,
    /// The link behaves as by any of the models from now on.
    pub switch: f32,
    /// The distribution is flat again.
    pub reset: f32,
}

impl Motion {
    /// Within `s` seconds, at most 0.5.
    pub fn over(s: f32) -> Self {
        Self::within([s; MODELS], s)
    }

    /// From `since_s` seconds ago until the mean of the 100 ms that begin now.
    pub fn ahead(since_s: f32) -> Self {
        Self::within(AHEAD_S.map(|ahead_s| since_s + ahead_s), since_s + 0.05)
    }

    fn within(moving_s: Lanes, s: f32) -> Self {
        let mut motion = Self {
            stay: [0.0; MODELS],
            near: [0.0; MODELS],
            mid: [0.0; MODELS],
            far: [0.0; MODELS],
            switch: (SWITCHES_PER_S * s).min(0.5),
            reset: (RESETS_PER_S * s).min(0.5),
        };
        for model in 0..MODELS {
            let expected = [NEAR_PER_S, MID_PER_S, FAR_PER_S].map(|moves| moves[model] * moving_s[model]);
            // At most one move: as probable as any, of a Poisson process, to the second order.
            let none = 1.0 / (1.0 + expected.iter().sum::<f32>());
            motion.stay[model] = none;
            let [near, mid, far] = expected.map(|moves| 0.5 * moves * none);
            (motion.near[model], motion.mid[model], motion.far[model]) = (near, mid, far);
        }
        motion
    }
}

/// Moves by [`NEAR`] cells in a second, by model.
const NEAR_PER_S: Lanes = [0.0684, 2.57, 17.5, 0.557];
/// The same by [`MID`].
const MID_PER_S: Lanes = [0.176, 0.398, 7.06, 1.92];
/// The same by [`FAR`].
const FAR_PER_S: Lanes = [0.00584, 0.0219, 0.058, 2.07];
/// How far a measurement is off, as a logarithm, by model.
pub const NOISE_RATIO: Lanes = [0.0728, 0.0688, 0.0448, 0.859];
const RESETS_PER_S: f32 = 0.25;
const SWITCHES_PER_S: f32 = 0.024;
/// The probability of a measurement that says nothing, relative to the most probable one.
pub const OUTLIER_RATIO: f32 = 0.00122;
/// A measurement over [`SHORT_SPAN`] is off by so much more; over a longer time by less.
pub const SHORT_RATIO: f32 = 0.0616;
/// See [`SHORT_RATIO`].
pub const SHORT_SPAN: Seconds = Seconds::from_millis(10.0);
/// How sharp a lower bound is, as a logarithm.
pub const LOWER_BOUND_RATIO: f32 = 0.0956;
/// How sharp an upper bound is.
pub const UPPER_BOUND_RATIO: f32 = 0.177;
/// From a moment to the mean of the 100 ms that follow, the link moves as within this time, by model.
const AHEAD_S: Lanes = [0.000214, 0.0535, 0.106, 0.0434];
/// How probable it is that the mean is [`MID`] cells below the moment, by model.
pub const FALLS_BY_MID: Lanes = [0.000589, 0.0126, 0.0185, 0.00809];
/// The same for [`FAR`].
pub const FALLS_BY_FAR: Lanes = [0.000286, 0.00135, 0.00355, 0.0372];
/// The same for a link that passes nothing.
pub const FALLS_TO_NOTHING: Lanes = [2.2e-06, 0.00098, 0.00117, 0.0197];
