//! `policy.toml`: what a policy observes, how its network is built, how its output is interpreted.
//!
//! Both files come as bytes, so that a policy can be loaded from a folder, a wheel or a test; no file is
//! opened here. Any bytes give a policy or a one-line error.

use super::PolicyError;
use super::error::shown;
use super::keys::Keys;
use super::layer_table::{self, Layer, MAX_VALUES};
use toml::Table;

/// Version of the manifest's layout; another one is refused.
const FORMAT: usize = 1;
/// The maximum size in bytes; real ones have one or two thousand.
const LARGEST_MANIFEST: usize = 1 << 20;

/// The longest interval in round trips.
pub const MAX_INTERVAL_RTT_FACTOR: f64 = 10.0;

/// How the outputs become the number a policy decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decide {
    /// The index of the largest output, the first among equals.
    Argmax,
    /// The single output, clamped to this range.
    Value {
        /// The minimum.
        low: f32,
        /// The maximum.
        high: f32,
    },
}

/// A policy without its weights.
#[derive(Clone, Debug)]
pub struct Manifest {
    file: String,
    controller: String,
    features: Vec<String>,
    history: usize,
    width: usize,
    interval_rtt_factor: f64,
    action_map: String,
    decide: Decide,
    weights_file: String,
    layers: Vec<Layer>,
    trained: Table,
}

impl Manifest {
    /// Read the text of a policy.toml; `file` names it in errors.
    pub fn parse(toml: &str, file: &str) -> Result<Self, PolicyError> {
        if toml.len() > LARGEST_MANIFEST {
            let problem = format!("{} bytes, {LARGEST_MANIFEST} are the most", toml.len());
            return Err(PolicyError::new(file, problem));
        }
        let table: Table = toml.parse().map_err(|error| not_toml(file, toml, &error))?;
        let mut keys = Keys::new(file, table);
        let format = keys.count("format", 0..=usize::MAX)?;
        if format != FORMAT {
            return Err(keys.refuse("format", format, &format!("this version reads {FORMAT}")));
        }
        let controller = keys.text("controller")?;
        let mut observation = keys.table("observation")?;
        let features = observation.texts("features")?;
        if let Some(i) = (1..features.len()).find(|&i| features[..i].contains(&features[i])) {
            return Err(observation.refuse("features", &features[i], "named twice"));
        }
        let history = observation.count("history", 1..=MAX_VALUES)?;
        let width = observation.count_or("width", 1..=MAX_VALUES, 1)?;
        let values = features.len() * history * width;
        if values > MAX_VALUES {
            let why = format!("{values} values of an observation, {MAX_VALUES} are the most");
            return Err(observation.refuse("history", history, &why));
        }
        let interval_rtt_factor = observation.number_or("interval_rtt_factor", 0.0..=MAX_INTERVAL_RTT_FACTOR, 0.0)?;
        observation.finish()?;
        let mut action = keys.table("action")?;
        let action_map = action.text("map")?;
        let decide = parse_decide(&mut action)?;
        let mut network = keys.table("network")?;
        let weights_file = network.text("weights")?;
        if weights_file.contains(['/', '\\', ':']) || weights_file.starts_with('.') {
            return Err(network.refuse("weights", weights_file, "the name of a file beside this one is needed"));
        }
        let layers = layer_table::parse(&mut network, values)?;
        network.finish()?;
        let trained = if keys.has("trained") { keys.table("trained")?.rest() } else { Table::new() };
        let outputs = layers.last().map_or(0, |layer| layer.out.len());
        match decide {
            Decide::Value { .. } if outputs != 1 => {
                return Err(action.refuse(
                    "decide",
                    "value",
                    &format!("the last layer has {outputs} outputs, not one"),
                ));
            }
            Decide::Argmax if outputs < 2 => {
                return Err(action.refuse(
                    "decide",
                    "argmax",
                    "the last layer has one output, there is nothing to choose",
                ));
            }
            _ => {}
        }
        action.finish()?;
        keys.finish()?;
        let file = file.to_owned();
        Ok(Self {
            file,
            controller,
            features,
            history,
            width,
            interval_rtt_factor,
            action_map,
            decide,
            weights_file,
            layers,
            trained,
        })
    }

    /// The fault of the weights it names.
    pub(super) fn refuse_weights(&self, problem: &str) -> PolicyError {
        PolicyError::new(&self.file, format!("network.weights = {:?}: {problem}", shown(&self.weights_file)))
    }

    /// The file it came from, as the caller named it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The controller it was trained for.
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// Names of the features of each interval, in input order.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Intervals in an observation, oldest first.
    pub fn history(&self) -> usize {
        self.history
    }

    /// Values per feature and interval; 1 unless the manifest says otherwise.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The interval it was trained with, in round trips; 0: its controller's own.
    pub fn interval_rtt_factor(&self) -> f64 {
        self.interval_rtt_factor
    }

    /// Values of an observation: history × features × width, the last varying fastest.
    pub fn inputs(&self) -> usize {
        self.features.len() * self.history * self.width
    }

    /// Outputs of the last layer.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.out.len())
    }

    /// Name of the map from the policy's output to a rate.
    pub fn action_map(&self) -> &str {
        &self.action_map
    }

    /// How the outputs become one number.
    pub fn decide(&self) -> Decide {
        self.decide
    }

    /// The name of the safetensors file in the same folder.
    pub fn weights_file(&self) -> &str {
        &self.weights_file
    }

    /// Weights of all layers together.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| layer.kind.parameters()).sum()
    }

    /// Name and shape of every tensor the weights must contain, in the order of the layers.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let of_layer = |layer: &Layer| {
            let name = layer.name.clone();
            layer.kind.tensors().into_iter().map(move |(tensor, shape)| (format!("{name}.{tensor}"), shape))
        };
        self.layers.iter().flat_map(of_layer).collect()
    }

    /// How it was trained, as the trainer recorded it.
    pub fn trained(&self) -> &Table {
        &self.trained
    }

    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }
}

fn parse_decide(action: &mut Keys<'_>) -> Result<Decide, PolicyError> {
    let how = action.text("decide")?;
    if how == "argmax" {
        return Ok(Decide::Argmax);
    }
    if how != "value" {
        return Err(action.refuse("decide", how, "value or argmax is needed"));
    }
    let [low, high] = if action.has("range") { action.range("range")? } else { [-1.0, 1.0] };
    Ok(Decide::Value { low, high })
}

/// The parser's message on one line, with the line number.
fn not_toml(file: &str, toml: &str, error: &toml::de::Error) -> PolicyError {
    let at = error.span().map_or(0, |span| span.start).min(toml.len());
    let line = toml.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    PolicyError::new(file, format!("line {line}: not TOML: {}", shown(error.message())))
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
