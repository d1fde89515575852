//! The layers of a policy as its manifest lists them: names, sizes and inputs.
//!
//! All values of one decision lie in one row, first the observation and then the layers in the order of the table. So
//! an input is one or several ranges of that row, and a layer can only read earlier ones.

use super::PolicyError;
use super::activation::Activation;
use super::convolution::Shape;
use super::keys::Keys;
use std::ops::Range;

/// The maximum number of layers.
const MAX_LAYERS: usize = 64;
/// The maximum number of weights.
const MAX_PARAMETERS: usize = 16 << 20;
/// The maximum number of values of an observation, and of one layer.
pub(super) const MAX_VALUES: usize = 1 << 16;
/// What `layer_norm` adds to the variance where the table names nothing; PyTorch's.
const LAYER_NORM_EPSILON: f32 = 1e-5;
/// The maximum number of multiplications per decision.
const MAX_PRODUCTS: usize = 1 << 30;

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Ranges of the row of values, merged where they touch.
    pub(super) from: Vec<Range<usize>>,
    /// The range of its outputs in the row.
    pub(super) out: Range<usize>,
    pub(super) activation: Activation,
}

/// What a layer does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Convolution {
        shape: Shape,
        /// Whether the kernel's tensor has rows.
        dimensions: usize,
    },
    Dense {
        inputs: usize,
        outputs: usize,
    },
    /// The scalar product of the first half of its inputs and the second.
    Dot {
        inputs: usize,
    },
    Gru {
        inputs: usize,
        outputs: usize,
    },
    /// Each value minus the mean of all, over their standard deviation, then scaled and shifted.
    LayerNorm {
        inputs: usize,
        epsilon: f32,
    },
    /// Each value minus its offset, times its factor.
    Scale {
        inputs: usize,
    },
}

impl Kind {
    pub(super) fn inputs(self) -> usize {
        match self {
            Self::Convolution { shape, .. } => shape.inputs(),
            Self::Dense { inputs, .. }
            | Self::Dot { inputs }
            | Self::Gru { inputs, .. }
            | Self::LayerNorm { inputs, .. }
            | Self::Scale { inputs } => inputs,
        }
    }

    /// Inputs that one output sums.
    fn inputs_at_once(self) -> usize {
        match self {
            Self::Convolution { shape, .. } => shape.window(),
            Self::Scale { .. } => 1,
            _ => self.inputs(),
        }
    }

    pub(super) fn outputs(self) -> usize {
        match self {
            Self::Convolution { shape, .. } => shape.outputs(),
            Self::Dense { outputs, .. } | Self::Gru { outputs, .. } => outputs,
            Self::Dot { .. } => 1,
            Self::LayerNorm { inputs, .. } | Self::Scale { inputs } => inputs,
        }
    }

    /// Name and shape of each tensor; those of layers that PyTorch has too are in its layout.
    pub(super) fn tensors(self) -> Vec<(&'static str, Vec<usize>)> {
        match self {
            Self::Convolution { shape, dimensions } => {
                let kernel = &shape.kernel[2 - dimensions..];
                vec![("weight", [&[shape.filters, shape.channels], kernel].concat()), ("bias", vec![shape.filters])]
            }
            Self::Dense { inputs, outputs } => vec![("weight", vec![outputs, inputs]), ("bias", vec![outputs])],
            Self::Dot { .. } => Vec::new(),
            Self::LayerNorm { inputs, .. } => vec![("weight", vec![inputs]), ("bias", vec![inputs])],
            Self::Scale { inputs } => vec![("offset", vec![inputs]), ("factor", vec![inputs])],
            Self::Gru { inputs, outputs } => vec![
                ("weight_ih", vec![3 * outputs, inputs]),
                ("weight_hh", vec![3 * outputs, outputs]),
                ("bias_ih", vec![3 * outputs]),
                ("bias_hh", vec![3 * outputs]),
            ],
        }
    }

    pub(super) fn parameters(self) -> usize {
        self.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }

    fn products(self) -> usize {
        match self {
            Self::Convolution { shape, .. } => shape.window() * shape.outputs(),
            Self::Dense { .. } | Self::Gru { .. } => self.parameters(),
            Self::Dot { inputs } | Self::LayerNorm { inputs, .. } | Self::Scale { inputs } => inputs,
        }
    }
}

/// Read `[[network.layers]]`.
pub(super) fn parse(network: &mut Keys<'_>, observation: usize) -> Result<Vec<Layer>, PolicyError> {
    let mut layers: Vec<Layer> = Vec::new();
    let (mut parameters, mut products) = (0, 0);
    for mut keys in network.tables("layers", MAX_LAYERS)? {
        let layer = parse_layer(&mut keys, observation, &layers)?;
        parameters += layer.kind.parameters();
        products += layer.kind.products();
        if parameters > MAX_PARAMETERS || products > MAX_PRODUCTS {
            let why = format!(
                "{parameters} weights and {products} multiplications up to here, {MAX_PARAMETERS} and {MAX_PRODUCTS} \
                 are the most"
            );
            return Err(keys.refuse("name", &layer.name, &why));
        }
        layers.push(layer);
        keys.finish()?;
    }
    every_layer_is_read(network, &layers)?;
    Ok(layers)
}

fn parse_layer(keys: &mut Keys<'_>, observation: usize, before: &[Layer]) -> Result<Layer, PolicyError> {
    let name = keys.text("name")?;
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') || name == "observation" {
        return Err(keys.refuse("name", name, "letters, digits and _ make a name; observation is taken"));
    }
    if before.iter().any(|layer| layer.name == name) {
        return Err(keys.refuse("name", name, "an earlier layer has this name"));
    }
    let kind = parse_kind(keys)?;
    if !(1..=MAX_VALUES).contains(&kind.outputs()) || !(1..=MAX_VALUES).contains(&kind.inputs_at_once()) {
        let why =
            format!("{} outputs of {} inputs each, 1 to {MAX_VALUES} can be", kind.outputs(), kind.inputs_at_once());
        return Err(keys.refuse("name", name, &why));
    }
    let mut from: Vec<Range<usize>> = Vec::new();
    for source in keys.texts("from")? {
        let range = resolve(keys, &source, observation, before)?;
        match from.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => from.push(range),
        }
    }
    let given: usize = from.iter().map(Range::len).sum();
    if given != kind.inputs() {
        let why = format!("the layer has {} inputs, and from gives it {given}", kind.inputs());
        return Err(keys.refuse("name", name, &why));
    }
    let start = before.last().map_or(observation, |layer| layer.out.end);
    let activation = parse_activation(keys)?;
    Ok(Layer { name, kind, from, out: start..start + kind.outputs(), activation })
}

fn parse_kind(keys: &mut Keys<'_>) -> Result<Kind, PolicyError> {
    let values = 1..=MAX_VALUES;
    let kind = keys.text("kind")?;
    // Picture sizes are bounded one by one, so that their products stay within usize.
    let (sizes, paddings) = (1..=4_096, 0..=16);
    let shape = match kind.as_str() {
        "dense" => {
            let (inputs, outputs) = (keys.count("inputs", values.clone())?, keys.count("outputs", values)?);
            return Ok(Kind::Dense { inputs, outputs });
        }
        "dot" => {
            let inputs = keys.count("inputs", values)?;
            if inputs % 2 == 1 {
                return Err(keys.refuse("inputs", inputs, "two halves are needed, so an even number"));
            }
            return Ok(Kind::Dot { inputs });
        }
        "layer_norm" => {
            let inputs = keys.count("inputs", values)?;
            let epsilon = if keys.has("epsilon") { keys.number("epsilon")? } else { LAYER_NORM_EPSILON };
            if epsilon <= 0.0 {
                return Err(keys.refuse("epsilon", epsilon, "a positive number is needed"));
            }
            return Ok(Kind::LayerNorm { inputs, epsilon });
        }
        "scale" => return Ok(Kind::Scale { inputs: keys.count("inputs", values)? }),
        "gru" => {
            let (inputs, outputs) = (keys.count("inputs", values.clone())?, keys.count("outputs", values)?);
            return Ok(Kind::Gru { inputs, outputs });
        }
        "conv1d" => Shape {
            channels: keys.count("channels", sizes.clone())?,
            picture: [1, keys.count("length", sizes.clone())?],
            filters: keys.count("filters", sizes.clone())?,
            kernel: [1, keys.count("kernel", sizes)?],
            padding: [0, keys.count_or("padding", paddings, 0)?],
        },
        "conv2d" => Shape {
            channels: keys.count("channels", sizes.clone())?,
            picture: [keys.count("height", sizes.clone())?, keys.count("width", sizes.clone())?],
            filters: keys.count("filters", sizes.clone())?,
            kernel: keys.pair("kernel", sizes)?,
            padding: if keys.has("padding") { keys.pair("padding", paddings)? } else { [0, 0] },
        },
        other => {
            return Err(keys.refuse("kind", other, "dense, gru, conv1d, conv2d, layer_norm, scale or dot is needed"));
        }
    };
    Ok(Kind::Convolution { shape, dimensions: if kind == "conv1d" { 1 } else { 2 } })
}

fn parse_activation(keys: &mut Keys<'_>) -> Result<Activation, PolicyError> {
    if !keys.has("activation") {
        return Ok(Activation::Linear);
    }
    let name = keys.text("activation")?;
    let named = Activation::named(&name);
    let activation = named.ok_or_else(|| keys.refuse("activation", name, Activation::NAMES))?;
    match activation {
        Activation::LeakyRelu { .. } if keys.has("slope") => Ok(Activation::LeakyRelu { slope: keys.number("slope")? }),
        _ => Ok(activation),
    }
}

/// "NAME" or "NAME[START:END]", as a range of the row of values.
fn resolve(keys: &Keys<'_>, source: &str, observation: usize, before: &[Layer]) -> Result<Range<usize>, PolicyError> {
    let refuse = |why: &str| Err(keys.refuse("from", source, why));
    let (name, slice) = match source.split_once('[') {
        None => (source, None),
        Some((name, slice)) => (name, Some(slice)),
    };
    let whole = match before.iter().find(|layer| layer.name == name) {
        _ if name == "observation" => 0..observation,
        Some(layer) => layer.out.clone(),
        None => return refuse("neither observation nor an earlier layer"),
    };
    let Some(slice) = slice else { return Ok(whole) };
    let ends = slice.strip_suffix(']').and_then(|slice| slice.split_once(':'));
    let (Some(start), Some(end)) =
        (ends.and_then(|ends| ends.0.parse().ok()), ends.and_then(|ends| ends.1.parse().ok()))
    else {
        return refuse("a slice is written [START:END]");
    };
    let (start, end): (usize, usize) = (start, end);
    if start >= end || end > whole.len() {
        return refuse(&format!("{} values are there, START below END", whole.len()));
    }
    Ok(whole.start + start..whole.start + end)
}

/// A layer that nothing reads is a mistake in the table, or something not meant to be shipped.
fn every_layer_is_read(network: &Keys<'_>, layers: &[Layer]) -> Result<(), PolicyError> {
    let Some((_, others)) = layers.split_last() else { return Ok(()) };
    let read = |out: &Range<usize>| {
        layers.iter().flat_map(|layer| &layer.from).any(|from| from.start < out.end && out.start < from.end)
    };
    match others.iter().find(|layer| !read(&layer.out)) {
        None => Ok(()),
        Some(layer) => Err(network.refuse("layers", &layer.name, "no layer reads it, and it is not the last")),
    }
}
