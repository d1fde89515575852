//! Several steered calls on shared links for a multi-agent environment. Arrays of numpy are filled in place.

use crate::arrays::{self, whole};
use crate::error::sim_error;
use crate::spaces::Spaces;
use legato_sim::episode::{AgentState, COLUMNS, Episode, columns};
use legato_sim::{LoadedPlan, Plan, SimError};
use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::prelude::*;

/// The calls of one session, all stopped before their next decision, which they take at the same time.
#[pyclass(module = "legato._core", unsendable)]
pub struct SharedCalls {
    plan: LoadedPlan,
    episode: Episode,
}

#[pymethods]
impl SharedCalls {
    /// The plan is that of a sweep: its first controller is steered in every call that names no controller.
    #[new]
    fn new(py: Python<'_>, plan_json: &str, seed: u64) -> PyResult<Self> {
        let made = py.detach(|| {
            let plan = Plan::parse(plan_json)?.load()?;
            let episode = begin(&plan, seed)?;
            Ok(Self { plan, episode })
        });
        made.map_err(sim_error)
    }

    /// Names of the steered calls, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.episode.agents().iter().map(|agent| agent.name().to_owned()).collect()
    }

    /// What their controllers observe and how they may act.
    #[getter]
    fn spaces(&mut self) -> Spaces {
        Spaces::new(self.episode.layout(), self.episode.actions())
    }

    /// Restart; writes which agents act and their observations.
    fn reset(
        &mut self,
        py: Python<'_>,
        seed: u64,
        mut observations: PyReadwriteArray2<'_, f32>,
        mut acting: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let (agents, width) = self.sizes();
        let observations = whole(observations.as_slice_mut(), "observations", agents * width)?;
        let acting = whole(acting.as_slice_mut(), "acting", agents)?;
        py.detach(|| {
            self.episode = begin(&self.plan, seed)?;
            self.show(observations, acting);
            Ok(())
        })
        .map_err(sim_error)
    }

    /// Apply the actions of acting agents and run to the next decision. Writes the rows and `truncated` of the agents
    /// that acted, which agents act next, and the observations of both.
    fn step(
        &mut self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, f32>,
        mut observations: PyReadwriteArray2<'_, f32>,
        mut rows: PyReadwriteArray2<'_, f32>,
        mut truncated: PyReadwriteArray1<'_, bool>,
        mut acting: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let (agents, width) = self.sizes();
        let actions = arrays::actions(&actions, agents)?;
        let observations = whole(observations.as_slice_mut(), "observations", agents * width)?;
        let rows = whole(rows.as_slice_mut(), "rows", agents * COLUMNS.len())?;
        let truncated = whole(truncated.as_slice_mut(), "truncated", agents)?;
        let acting = whole(acting.as_slice_mut(), "acting", agents)?;
        py.detach(|| {
            self.episode.step(actions);
            for (agent, state) in self.episode.agents().iter().enumerate() {
                let outcome = state.outcome();
                truncated[agent] = outcome.is_some_and(|outcome| outcome.truncated);
                if let Some(outcome) = outcome {
                    columns(outcome, &mut rows[agent * COLUMNS.len()..][..COLUMNS.len()]);
                }
            }
            self.show(observations, acting);
        });
        Ok(())
    }
}

impl SharedCalls {
    fn sizes(&mut self) -> (usize, usize) {
        (self.episode.agents().len(), self.episode.layout().len())
    }

    fn show(&mut self, observations: &mut [f32], acting: &mut [bool]) {
        let width = self.episode.layout().len();
        for (agent, row) in observations.chunks_exact_mut(width).enumerate() {
            let now = &self.episode.agents()[agent];
            acting[agent] = now.state() == AgentState::Acting;
            if acting[agent] || now.outcome().is_some_and(|outcome| outcome.truncated) {
                self.episode.observe_into(agent, row);
            }
        }
    }
}

fn begin(plan: &LoadedPlan, seed: u64) -> Result<Episode, SimError> {
    Episode::shared(&plan.scenario, plan.session(0).parts, &plan.session_parts, seed)
}
