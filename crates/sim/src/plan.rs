//! What a sweep runs: one scenario crossed with controllers, traces, clips and seeds.

use crate::error::SimError;
use crate::network::{LoadedCapacity, load_capacity, load_conditions};
use crate::policies::Policies;
use crate::run::CallParts;
use crate::scenario::{CapacitySpec, ControllerSpec, PathSpec, PlaysSpec, Scenario};
use crate::session::SessionParts;
use crate::video::LoadedClip;
use legato_trace::LogLevel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A plan in its JSON form. Empty lists take the scenario's own value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scenario's TOML text.
    pub scenario: String,
    /// The path of the text; its folder is the base of relative paths in it.
    #[serde(default)]
    pub scenario_path: String,
    /// Controllers; for a receiver-side one, `remote` obeys it at the sender.
    #[serde(default)]
    pub controllers: Vec<NamedController>,
    /// Forward bottlenecks.
    #[serde(default)]
    pub traces: Vec<NamedTrace>,
    /// Profiles.
    #[serde(default)]
    pub clips: Vec<String>,
    /// Seeds; at least one.
    pub seeds: Vec<u64>,
    /// Folders in which trained policies are found by name; the scenario's own comes first.
    #[serde(default)]
    pub policies: Vec<String>,
    /// `"summary"`, `"series"` or `"packets"`.
    #[serde(default = "default_log")]
    pub log: String,
    /// Calls per file; absent: by the log level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_part: Option<u64>,
    /// The changes to the scenario's file, `key=value` each. The text above has the changes already: these are kept so
    /// that the run can be repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The files named above that did not come with Legato.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PlannedFile>,
    /// How real calls are made, in the words of the command line; kept for repeating them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<serde_json::Map<String, serde_json::Value>>,
    /// The path of each name above that is not itself one. It is not kept: paths belong to one machine.
    #[serde(default, skip_serializing)]
    pub places: BTreeMap<String, String>,
    /// The path of each trace that the scenario names and that is no file in its folder.
    #[serde(default, skip_serializing)]
    pub scenario_traces: BTreeMap<String, String>,
}

/// A file that a plan names and that did not come with Legato.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFile {
    /// Its name in the plan.
    pub name: String,
    /// Of its content, or of a folder's files one after the other; in hexadecimal digits.
    pub sha256: String,
}

/// A controller, with parameters if it has any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NamedController {
    /// With its defaults.
    Name(String),
    /// With parameters.
    Configured {
        /// Its name.
        name: String,
        /// Its parameters.
        #[serde(default)]
        config: toml::Table,
        /// Its name in reports; absent: name and parameters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

/// A trace, with the way it is played unless that is the plain one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NamedTrace {
    /// The whole at its own speed.
    Path(String),
    /// A window, or at another speed.
    Cut {
        /// The file.
        path: String,
        /// Its format, if the content does not show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        family: Option<String>,
        /// Multiplies rates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<f64>,
        /// Where the call begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_s: Option<f64>,
        /// How much is played before it repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_s: Option<f64>,
        /// How many of its records are played.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plays: Option<PlaysSpec>,
    },
}

fn default_log() -> String {
    "summary".to_owned()
}

/// A plan with everything loaded.
pub struct LoadedPlan {
    /// The scenario.
    pub scenario: Scenario,
    /// How much each call writes.
    pub level: LogLevel,
    /// Sessions per file.
    pub sessions_per_part: u64,
    /// Controllers with their labels.
    pub controllers: Vec<(Arc<str>, ControllerSpec)>,
    /// Forward bottlenecks.
    pub traces: Vec<Option<LoadedCapacity>>,
    /// Clips.
    pub clips: Vec<LoadedClip>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// What sessions of several flows share.
    pub session_parts: SessionParts,
    reverse: Option<LoadedCapacity>,
    policies: Policies,
}

/// One session of a plan.
pub struct PlannedSession<'a> {
    /// Its parts.
    pub parts: CallParts,
    /// Its controller's name in reports.
    pub controller: &'a Arc<str>,
    /// Its seed.
    pub seed: u64,
}

/// The maximum number of calls: a part is named by five digits or more, a call by a `u64`.
const MAX_CALLS: u64 = 1_000_000_000;

impl Plan {
    /// Read a plan.
    pub fn parse(json: &str) -> Result<Self, SimError> {
        serde_json::from_str(json).map_err(|error| SimError::Plan(format!("plan: {error}")))
    }

    /// Load everything it names, refusing what cannot run before anything does.
    pub fn load(&self) -> Result<LoadedPlan, SimError> {
        let file = if self.scenario_path.is_empty() { "scenario" } else { self.place(&self.scenario_path) };
        let mut scenario = Scenario::parse(&self.scenario, file)?;
        self.place_traces(&mut scenario);
        let folder = Path::new(self.place(&self.scenario_path)).parent().map_or_else(PathBuf::new, Path::to_path_buf);
        load_conditions(&mut scenario, &folder)?;
        let level = match self.log.as_str() {
            "summary" => LogLevel::Summary,
            "series" => LogLevel::Series,
            "packets" => LogLevel::Packets,
            other => return Err(SimError::Plan(format!("log = {other:?} is not one of summary, series, packets"))),
        };
        let mut loaded = LoadedPlan {
            level,
            sessions_per_part: 0,
            controllers: self.load_controllers(&scenario),
            traces: self.load_traces(&scenario.forward, &folder)?,
            clips: self.load_clips(&scenario, &folder)?,
            seeds: self.seeds.clone(),
            reverse: load_capacity(scenario.reverse.capacity.as_ref(), &folder, "reverse.capacity")?,
            session_parts: SessionParts::load(&scenario, &folder)?,
            policies: Policies::of(
                [folder.clone()].into_iter().chain(self.policies.iter().map(|name| PathBuf::from(self.place(name)))),
            )
            .with_places(self.places.clone()),
            scenario,
        };
        let calls_per_part = self.calls_per_part.unwrap_or(default_calls_per_part(level, loaded.calls()));
        loaded.sessions_per_part = calls_per_part.div_ceil(loaded.calls_per_session().max(1));
        if calls_per_part == 0 {
            return Err(SimError::Plan("calls_per_part = 0 is not positive".to_owned()));
        }
        match loaded.calls() {
            0 if loaded.scenario.calls.as_ref().is_some_and(Vec::is_empty) => {
                Err(SimError::Plan("calls: the scenario has no calls".to_owned()))
            }
            0 => Err(SimError::Plan("seeds: the list is empty".to_owned())),
            1..=MAX_CALLS => Ok(loaded),
            calls => Err(SimError::Plan(format!("{calls} calls are more than {MAX_CALLS}"))),
        }
    }

    /// Put paths in place of the scenario's names of traces.
    fn place_traces(&self, scenario: &mut Scenario) {
        let Scenario { forward, reverse, links, .. } = scenario;
        let conditions = [&mut forward.conditions, &mut reverse.conditions].into_iter().flatten();
        let paths = [&mut forward.capacity, &mut reverse.capacity].into_iter().flatten();
        let capacities = paths.chain(links.iter_mut().map(|link| &mut link.capacity));
        let traces = capacities.filter_map(|capacity| capacity.trace.as_mut());
        for trace in traces.chain(conditions.map(|conditions| &mut conditions.trace)) {
            if let Some(place) = self.scenario_traces.get(trace) {
                trace.clone_from(place);
            }
        }
    }

    /// The path of what the plan calls `name`.
    fn place<'a>(&'a self, name: &'a str) -> &'a str {
        self.places.get(name).map_or(name, String::as_str)
    }

    fn load_controllers(&self, scenario: &Scenario) -> Vec<(Arc<str>, ControllerSpec)> {
        if self.controllers.is_empty() {
            let spec = scenario.controller.clone();
            return vec![(label_of(&spec, &scenario.receiver_controller).into(), spec)];
        }
        let named = self.controllers.iter().map(|named| match named {
            NamedController::Name(name) if *name == scenario.controller.name => (scenario.controller.clone(), None),
            NamedController::Name(name) => (ControllerSpec { name: name.clone(), config: toml::Table::new() }, None),
            NamedController::Configured { name, config, label } => {
                (ControllerSpec { name: name.clone(), config: config.clone() }, label.clone())
            }
        });
        named.map(|(spec, label)| (label.unwrap_or_else(|| label_of(&spec, &None)).into(), spec)).collect()
    }

    fn load_traces(&self, forward: &PathSpec, folder: &Path) -> Result<Vec<Option<LoadedCapacity>>, SimError> {
        if self.traces.is_empty() {
            return Ok(vec![load_capacity(forward.capacity.as_ref(), folder, "forward.capacity")?]);
        }
        let mut loaded = Vec::with_capacity(self.traces.len());
        for named in &self.traces {
            // It replaces the scenario's whole capacity; a scale given there was meant for the scenario's own trace.
            let mut spec = CapacitySpec::default();
            let path = match named {
                NamedTrace::Path(path) => path,
                NamedTrace::Cut { path, family, scale, start_s, duration_s, plays } => {
                    spec.plays = *plays;
                    spec.family = family.clone();
                    spec.scale = *scale;
                    spec.start_s = *start_s;
                    spec.duration_s = *duration_s;
                    path
                }
            };
            // Paths of the plan are relative to the current folder, not to the scenario's.
            spec.trace = Some(self.place(path).to_owned());
            loaded.push(Some(LoadedCapacity::load(&spec, Path::new(""))?));
        }
        Ok(loaded)
    }

    fn load_clips(&self, scenario: &Scenario, folder: &Path) -> Result<Vec<LoadedClip>, SimError> {
        if self.clips.is_empty() {
            let clip = LoadedClip::of(&scenario.video, folder).map_err(|error| {
                let key = if scenario.video.clip.is_some() { "video.clip" } else { "video.frame_sizes" };
                SimError::Profile(format!("{}: {key}: {error}", self.place(&self.scenario_path)))
            });
            return Ok(vec![clip?]);
        }
        let mut seen: BTreeMap<&str, LoadedClip> = BTreeMap::new();
        let mut loaded = Vec::with_capacity(self.clips.len());
        for path in &self.clips {
            if !seen.contains_key(path.as_str()) {
                seen.insert(path, LoadedClip::load(self.place(path), scenario.video.clip_fps)?);
            }
            loaded.push(seen[path.as_str()].clone());
        }
        Ok(loaded)
    }
}

impl LoadedPlan {
    /// The number of sessions: controllers × traces × clips × seeds.
    pub fn sessions(&self) -> u64 {
        let lists = [self.controllers.len(), self.traces.len(), self.clips.len(), self.seeds.len()];
        lists.iter().fold(1u64, |product, &length| product.saturating_mul(length as u64))
    }

    /// The number of calls per session.
    pub fn calls_per_session(&self) -> u64 {
        self.scenario.calls_per_session() as u64
    }

    /// The number of calls.
    pub fn calls(&self) -> u64 {
        self.sessions().saturating_mul(self.calls_per_session())
    }

    /// The number of files.
    pub fn parts(&self) -> u64 {
        self.sessions().div_ceil(self.sessions_per_part)
    }

    /// Session number `session`: seeds vary fastest, then clips, traces, controllers.
    pub fn session(&self, session: u64) -> PlannedSession<'_> {
        let (rest, seed) = (session / self.seeds.len() as u64, session % self.seeds.len() as u64);
        let (rest, clip) = (rest / self.clips.len() as u64, rest % self.clips.len() as u64);
        let (controller, trace) = (rest / self.traces.len() as u64, rest % self.traces.len() as u64);
        let (label, spec) = &self.controllers[controller as usize];
        PlannedSession {
            parts: CallParts {
                forward: self.traces[trace as usize].clone(),
                reverse: self.reverse.clone(),
                clip: self.clips[clip as usize].clone(),
                controller: spec.clone(),
                steered: false,
                policies: self.policies.clone(),
                events: None,
            },
            controller: label,
            seed: self.seeds[seed as usize],
        }
    }
}

/// A part's tables have a few MB at any level; and there are enough parts to keep cores busy and to
/// lose little when stopped.
fn default_calls_per_part(level: LogLevel, calls: u64) -> u64 {
    let most = match level {
        LogLevel::Summary => 1_000,
        LogLevel::Series => 8,
        LogLevel::Packets => 1,
    };
    most.min((calls / 64).max(1))
}

/// `fixed(target_bitrate_bps=800000)`; a receiver's controller is named after the sender's.
fn label_of(spec: &ControllerSpec, receiver: &Option<ControllerSpec>) -> String {
    let own = |spec: &ControllerSpec| {
        if spec.config.is_empty() {
            return spec.name.clone();
        }
        let values: Vec<_> = spec.config.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{}({})", spec.name, values.join(","))
    };
    receiver.as_ref().map_or_else(|| own(spec), |receiver| format!("{}+{}", own(spec), own(receiver)))
}
