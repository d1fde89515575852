//! The network: layers over one row of values, and a policy that decides with them.

use super::convolution::Convolution;
use super::elementwise::{LayerNorm, Scale, dot};
use super::gru::Gru;
use super::lanes::{Lanes, Wide};
use super::layer_table::{self, Kind};
use super::manifest::{Decide, Manifest};
use super::panels::Panels;
use super::tensors::Tensors;
use super::{Policy, PolicyError, activation::Activation};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A network with its weights, laid out for this machine. Shared by all policies that use it.
#[derive(Debug)]
pub struct Model {
    manifest: Manifest,
    lanes: Lanes,
    layers: Box<[Layer]>,
    sizes: Sizes,
}

impl Manifest {
    /// The network with the weights of a safetensors file.
    pub fn load(&self, weights: &[u8]) -> Result<Arc<Model>, PolicyError> {
        let refuse = |problem: String| self.refuse_weights(&problem);
        let tensors = Tensors::parse(weights).map_err(refuse)?;
        Model::new(self.clone(), &tensors).map(Arc::new).map_err(refuse)
    }
}

/// A model and the memory it runs over.
struct Run<'a>(&'a Model, &'a mut Memory);

impl Wide for Run<'_> {
    #[inline(always)]
    fn run<const PANELS: usize>(self) {
        self.0.run::<PANELS>(self.1);
    }
}

/// One layer, ready to run.
#[derive(Debug)]
struct Layer {
    work: Work,
    from: Box<[Range<usize>]>,
    out: Range<usize>,
    activation: Activation,
}

#[derive(Debug)]
enum Work {
    Convolution(Convolution),
    Dense(Panels),
    Dot,
    LayerNorm(LayerNorm),
    Scale(Scale),
    /// With the range of its state among the states of all units.
    Gru(Gru, Range<usize>),
}

/// The memory a policy needs, in values.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    values: usize,
    state: usize,
    gathered: usize,
    scratch: usize,
}

impl Model {
    pub(super) fn new(manifest: Manifest, tensors: &Tensors<'_>) -> Result<Self, String> {
        let mut expected = BTreeSet::new();
        let mut sizes = Sizes { values: manifest.inputs(), ..Sizes::default() };
        let mut layers = Vec::with_capacity(manifest.layers().len());
        for line in manifest.layers() {
            let mut values = Vec::new();
            for (tensor, shape) in line.kind.tensors() {
                let name = format!("{}.{tensor}", line.name);
                values.push(tensors.values(&name, &shape)?);
                expected.insert(name);
            }
            layers.push(Layer::new(line, &values, &mut sizes));
        }
        tensors.none_besides(&expected)?;
        Ok(Self { manifest, lanes: Lanes::of_this_machine(), layers: layers.into(), sizes })
    }

    /// Its parsed policy.toml.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Run the layers over `memory`, whose row begins with the observation.
    #[inline(always)]
    fn run<const PANELS: usize>(&self, memory: &mut Memory) {
        for layer in &self.layers {
            let (before, out) = memory.values.split_at_mut(layer.out.start);
            let out = &mut out[..layer.out.len()];
            let input = match &*layer.from {
                [one] => &before[one.clone()],
                several => gather(before, several, &mut memory.gathered),
            };
            match &layer.work {
                Work::Convolution(convolution) => convolution.apply(input, out, &mut memory.scratch),
                Work::Dense(panels) => panels.times::<PANELS>(input, out),
                Work::Dot => out[0] = dot(input),
                Work::LayerNorm(norm) => norm.apply(input, out),
                Work::Scale(scale) => scale.apply(input, out),
                Work::Gru(unit, place) => {
                    let state = &mut memory.state[place.clone()];
                    unit.step::<PANELS>(input, state, &mut memory.scratch);
                    out.copy_from_slice(state);
                }
            }
            layer.activation.apply(out);
        }
    }
}

impl Layer {
    /// From a line of the table and its tensors, in the line's order.
    fn new(line: &layer_table::Layer, tensors: &[Vec<f32>], sizes: &mut Sizes) -> Self {
        let work = match line.kind {
            Kind::Convolution { shape, .. } => Work::Convolution(Convolution::new(shape, &tensors[0], &tensors[1])),
            Kind::Dense { .. } => Work::Dense(Panels::new(&tensors[0], &tensors[1])),
            Kind::Dot { .. } => Work::Dot,
            Kind::LayerNorm { epsilon, .. } => Work::LayerNorm(LayerNorm::new(&tensors[0], &tensors[1], epsilon)),
            Kind::Scale { .. } => Work::Scale(Scale::new(&tensors[0], &tensors[1])),
            Kind::Gru { outputs, .. } => {
                let unit = Gru::new(Panels::new(&tensors[0], &tensors[2]), Panels::new(&tensors[1], &tensors[3]));
                sizes.state += outputs;
                Work::Gru(unit, sizes.state - outputs..sizes.state)
            }
        };
        let scratch = match &work {
            Work::Convolution(convolution) => convolution.scratch(),
            Work::Dense(_) | Work::Dot | Work::LayerNorm(_) | Work::Scale(_) => 0,
            Work::Gru(unit, _) => unit.scratch(),
        };
        if line.from.len() > 1 {
            sizes.gathered = sizes.gathered.max(line.kind.inputs());
        }
        sizes.scratch = sizes.scratch.max(scratch);
        sizes.values += line.kind.outputs();
        Self { work, from: line.from.clone().into(), out: line.out.clone(), activation: line.activation }
    }
}

/// Concatenates ranges of the row.
#[inline(always)]
fn gather<'a>(values: &[f32], from: &[Range<usize>], gathered: &'a mut [f32]) -> &'a [f32] {
    let mut end = 0;
    for range in from {
        gathered[end..end + range.len()].copy_from_slice(&values[range.clone()]);
        end += range.len();
    }
    &gathered[..end]
}

/// A policy's working memory. Allocated once.
#[derive(Clone, Debug)]
struct Memory {
    /// The observation and the outputs of all layers.
    values: Vec<f32>,
    /// The state of the recurrent layers.
    state: Vec<f32>,
    gathered: Vec<f32>,
    scratch: Vec<f32>,
}

/// A policy that is a network: shares the weights, keeps its own state.
#[derive(Clone, Debug)]
pub struct NetworkPolicy {
    model: Arc<Model>,
    memory: Memory,
}

impl NetworkPolicy {
    /// Starts with no past.
    pub fn new(model: Arc<Model>) -> Self {
        let Sizes { values, state, gathered, scratch } = model.sizes;
        let zeros = |size| vec![0.0; size];
        let memory =
            Memory { values: zeros(values), state: zeros(state), gathered: zeros(gathered), scratch: zeros(scratch) };
        Self { model, memory }
    }

    /// Its network.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Decide with the weights of another model of the same layers from now on; what a recurrent network remembers
    /// stays. Returns whether the layers are the same: otherwise nothing changes.
    pub fn take_weights(&mut self, model: Arc<Model>) -> bool {
        let same = model.manifest.layers() == self.model.manifest.layers();
        if same {
            self.model = model;
        }
        same
    }

    /// Take an observation of [`Manifest::inputs`] values; return the outputs of the last layer. A
    /// recurrent network advances one step.
    ///
    /// # Panics
    /// If the observation has another length: compare the layouts of policy and controller when
    /// pairing them.
    pub fn outputs(&mut self, observation: &[f32]) -> &[f32] {
        let inputs = self.model.manifest.inputs();
        assert_eq!(observation.len(), inputs, "an observation of {}", self.model.manifest.file());
        self.memory.values[..inputs].copy_from_slice(observation);
        self.model.lanes.run(Run(&self.model, &mut self.memory));
        let outputs = self.model.manifest.outputs();
        &self.memory.values[self.memory.values.len() - outputs..]
    }
}

impl Policy for NetworkPolicy {
    fn act(&mut self, observation: &[f32]) -> f32 {
        let decide = self.model.manifest.decide();
        let action = decided(decide, self.outputs(observation));
        // A NaN in the state would never leave it.
        if action.is_nan() {
            self.reset();
        }
        action
    }

    fn reset(&mut self) {
        self.memory.state.fill(0.0);
    }
}

/// The action that the outputs stand for; NaN if any output is.
fn decided(decide: Decide, outputs: &[f32]) -> f32 {
    match decide {
        Decide::Value { low, high } => outputs[0].clamp(low, high),
        Decide::Argmax if outputs.iter().any(|output| output.is_nan()) => f32::NAN,
        Decide::Argmax => {
            let largest = (1..outputs.len()).fold(0, |best, i| if outputs[i] > outputs[best] { i } else { best });
            largest as f32
        }
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
