//! Many steered calls at once: the core of a vector environment. Each slot plays one call after another. The network,
//! clip and seed of a slot's next call depend on the batch's seed, the slot and the number of calls it has played, so
//! the result is the same for any number of threads.

use super::{COLUMNS, Episode, columns};
use crate::error::SimError;
use crate::plan::LoadedPlan;
use crate::run::CallParts;
use crate::seed::Seed;
use legato_control::action::ActionSpace;
use legato_control::observation::Layout;
use rayon::prelude::*;

/// Concurrent steered calls.
pub struct Batch {
    plan: LoadedPlan,
    seed: u64,
    episodes: Vec<Episode>,
    /// Calls begun by each slot.
    begun: Vec<u64>,
    pool: rayon::ThreadPool,
    width: usize,
    layout: Layout,
    actions: ActionSpace,
}

/// The outputs of a slot's step.
pub struct Slot<'a> {
    /// Its next observation.
    pub observation: &'a mut [f32],
    /// The observation if the call had continued; only written if it was cut off.
    pub last_observation: &'a mut [f32],
    /// The interval, by [`COLUMNS`].
    pub row: &'a mut [f32],
    /// Whether the call ran out of time and another has begun.
    pub truncated: &'a mut bool,
}

impl Batch {
    /// `slots` calls of a plan's scenario: its first controller, any of its traces and clips.
    pub fn new(plan: LoadedPlan, slots: usize, seed: u64, threads: usize) -> Result<Self, SimError> {
        if slots == 0 || slots > MAX_SLOTS {
            return Err(SimError::Plan(format!("num_envs = {slots} is not within [1, {MAX_SLOTS}]")));
        }
        if plan.scenario.calls.is_some() {
            return Err(SimError::Plan("calls: an environment of single calls takes none of its own".to_owned()));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| SimError::Io(format!("threads: {error}")))?;
        let mut first = begin(&plan, seed, 0, 0, None)?;
        let (layout, actions) = (first.layout(), first.actions());
        let mut batch = Self {
            plan,
            seed,
            episodes: Vec::with_capacity(slots),
            begun: vec![0; slots],
            pool,
            width: layout.len(),
            layout,
            actions,
        };
        batch.reset(seed, false)?;
        Ok(batch)
    }

    /// Restart all calls. `staggered` cuts the first call of each slot off after a random share of its time, so that
    /// from then on calls of every age are in progress at once. Otherwise learning from a few seconds of all calls
    /// would see only their beginnings, then only their ends.
    pub fn reset(&mut self, seed: u64, staggered: bool) -> Result<(), SimError> {
        self.seed = seed;
        self.begun.fill(1);
        let (plan, slots) = (&self.plan, self.begun.len());
        let share = |slot: usize| {
            let drawn = Seed(seed).derived(&format!("episode.{slot}.cut"));
            (drawn >> 11) as f64 / (1u64 << 53) as f64
        };
        let first = |slot: usize| begin(plan, seed, slot, 0, staggered.then(|| share(slot)));
        let episodes: Result<Vec<_>, _> = self.pool.install(|| (0..slots).into_par_iter().map(first).collect());
        self.episodes = episodes?;
        Ok(())
    }

    /// The number of calls.
    pub fn slots(&self) -> usize {
        self.begun.len()
    }

    /// The shape of the network's input.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The actions it may take.
    pub fn actions(&self) -> ActionSpace {
        self.actions
    }

    /// Each network's current observation: slots × layout.
    pub fn observe_into(&mut self, observations: &mut [f32]) {
        let rows = observations.par_chunks_mut(self.width);
        self.pool
            .install(|| self.episodes.par_iter_mut().zip(rows).for_each(|(episode, row)| episode.observe_into(0, row)));
    }

    /// Apply each action and run to the next decision. The arrays are slots × layout, slots × layout, slots
    /// × columns and slots. A call that is over is followed by the slot's next.
    pub fn step(
        &mut self,
        actions: &[f32],
        observations: &mut [f32],
        last_observations: &mut [f32],
        rows: &mut [f32],
        truncated: &mut [bool],
    ) -> Result<(), SimError> {
        let (plan, seed, width) = (&self.plan, self.seed, self.width);
        let slots = self
            .episodes
            .par_iter_mut()
            .zip(self.begun.par_iter_mut())
            .zip(actions.par_iter())
            .zip(observations.par_chunks_mut(width))
            .zip(last_observations.par_chunks_mut(width))
            .zip(rows.par_chunks_mut(COLUMNS.len()))
            .zip(truncated.par_iter_mut())
            .enumerate()
            .with_min_len(SLOTS_A_TASK);
        self.pool.install(|| {
            slots.try_for_each(
                |(number, ((((((episode, begun), &action), observation), last_observation), row), truncated))| {
                    let slot = Slot { observation, last_observation, row, truncated };
                    step_one(plan, seed, number, episode, begun, action, slot)
                },
            )
        })
    }
}

fn step_one(
    plan: &LoadedPlan,
    seed: u64,
    number: usize,
    episode: &mut Episode,
    begun: &mut u64,
    action: f32,
    slot: Slot<'_>,
) -> Result<(), SimError> {
    episode.step(&[action]);
    let Some(outcome) = episode.agents()[0].outcome() else { return Ok(()) };
    columns(outcome, slot.row);
    *slot.truncated = outcome.truncated;
    if outcome.truncated {
        episode.observe_into(0, slot.last_observation);
        *episode = begin(plan, seed, number, *begun, None)?;
        *begun += 1;
    }
    episode.observe_into(0, slot.observation);
    Ok(())
}

/// Call number `call` of a slot.
fn begin(
    plan: &LoadedPlan,
    seed: u64,
    slot: usize,
    call: u64,
    cut_off_after: Option<f64>,
) -> Result<Episode, SimError> {
    let own = Seed(Seed(seed).derived(&format!("episode.{slot}.{call}")));
    let pick = |name: &str, among: usize| (own.derived(name) % among as u64) as usize;
    let parts = CallParts {
        forward: plan.traces[pick("episode.trace", plan.traces.len())].clone(),
        clip: plan.clips[pick("episode.clip", plan.clips.len())].clone(),
        ..plan.session(0).parts
    };
    if !has_traffic(plan) {
        return Episode::alone(&plan.scenario, parts, own.0, cut_off_after);
    }
    if cut_off_after.is_some() {
        return Err(SimError::Plan("staggered: calls beside tcp or udp all begin at the same age".to_owned()));
    }
    Episode::shared(&plan.scenario, parts, &plan.session_parts, own.0)
}

/// Whether TCP or UDP flows share the call's links, which makes it a session of one call.
fn has_traffic(plan: &LoadedPlan) -> bool {
    !plan.scenario.tcp.is_empty() || !plan.scenario.udp.is_empty()
}

/// More would not fit into memory anywhere.
const MAX_SLOTS: usize = 1 << 16;
/// The minimum calls per thread: a step is a few microseconds.
const SLOTS_A_TASK: usize = 16;
