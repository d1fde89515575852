//! Policies for tests: small networks whose weights are not multiples of each other.

use super::{Manifest, PolicyError};
use safetensors::{Dtype, tensor::TensorView};

/// A manifest around `layers`, the text of `[[network.layers]]` tables; `inputs` values are observed.
pub(super) fn toml(inputs: usize, decide: &str, layers: &str) -> String {
    format!(
        "format = 1\ncontroller = \"trial\"\n[observation]\nfeatures = [\"a\"]\nhistory = {inputs}\n\
         [action]\nmap = \"trial\"\ndecide = \"{decide}\"\n[network]\nweights = \"weights.safetensors\"\n{layers}"
    )
}

/// Text of one layer.
pub(super) fn layer(name: &str, kind: &str, from: &str, rest: &str) -> String {
    format!("[[network.layers]]\nname = \"{name}\"\nkind = \"{kind}\"\nfrom = [{from}]\n{rest}\n")
}

/// Every kind of layer, with slices, and an input of several pieces.
pub(super) fn of_every_kind(decide: &str) -> String {
    let layers = [
        layer(
            "rows",
            "conv1d",
            "\"observation[0:12]\"",
            "channels = 2\nlength = 6\nfilters = 5\nkernel = 3\nactivation = \"relu\"",
        ),
        layer(
            "grid",
            "conv2d",
            "\"observation[12:24]\"",
            "channels = 1\nheight = 3\nwidth = 4\nfilters = 3\nkernel = [3, 3]\npadding = [1, 1]\nactivation = \"leaky_relu\"\nslope = 0.2",
        ),
        layer("memory", "gru", "\"grid\", \"rows[3:20]\", \"observation[5:9]\"", "inputs = 57\noutputs = 21"),
        layer(
            "last",
            "dense",
            "\"memory\", \"rows\"",
            &format!("inputs = 41\noutputs = {}\nactivation = \"tanh\"", if decide == "value" { 1 } else { 7 }),
        ),
    ];
    toml(24, decide, &layers.concat())
}

/// Name, shape and values.
pub(super) type Tensor = (String, Vec<usize>, Vec<f32>);

/// Each tensor a manifest expects, of values around zero.
pub(super) fn tensors(manifest: &Manifest) -> Vec<Tensor> {
    let value = |i: usize| ((i * 7_919 + 13) % 1_009) as f32 / 504.5 - 1.0;
    let fill = |(n, (name, shape)): (usize, (String, Vec<usize>))| {
        let values = (0..shape.iter().product()).map(|i| value(i + 31 * n) * 0.4).collect();
        (name, shape, values)
    };
    manifest.tensors().into_iter().enumerate().map(fill).collect()
}

/// Tensors as a safetensors file of f32.
pub(super) fn file(tensors: &[Tensor]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, v)| v.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        (name.clone(), TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many bytes as the shape says"))
    });
    safetensors::serialize(views, None).expect("a valid file")
}

/// The error of a manifest that must be refused.
pub(super) fn refused(toml: &str) -> PolicyError {
    Manifest::parse(toml, "p/policy.toml").expect_err("a broken manifest")
}
