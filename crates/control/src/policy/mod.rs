//! Policies: what a learned controller queries for its decision.
//!
//! A policy takes an observation, a row of f32, and returns one number, the action; the controller's action map turns
//! it into a rate. A trained policy is a folder: `policy.toml` lists the observation, the network's layers and how its
//! output is interpreted, and a safetensors file has the weights. Both are read from bytes, fully validated, and run by
//! the small engine in this folder. It has dense, gated recurrent and convolutional layers and the layers between them,
//! does not allocate after the first step, and gives the same bits on every machine.
//!
//! ```
//! use legato_control::policy::{Manifest, NetworkPolicy, Policy};
//! let toml = r#"
//!     format = 1
//!     controller = "example"
//!     observation = { features = ["loss_ratio", "rtt_ratio"], history = 1 }
//!     action = { map = "example", decide = "value" }
//!     [network]
//!     weights = "weights.safetensors"
//!     layers = [{ name = "only", kind = "dense", from = ["observation"], inputs = 2, outputs = 1, activation = "tanh" }]
//! "#;
//! let manifest = Manifest::parse(toml, "policy.toml").unwrap();
//! assert_eq!(manifest.inputs(), 2);
//! # let header = br#"{"only.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"only.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}"#;
//! # let values = [-1.0_f32, 0.0, 0.0].map(f32::to_le_bytes).concat();
//! # let weights = [&(header.len() as u64).to_le_bytes()[..], header, &values].concat();
//! let mut policy = NetworkPolicy::new(manifest.load(&weights).unwrap());
//! assert!((policy.act(&[0.5, 1.0]) + 0.462_117_16).abs() < 1e-6); // tanh(-0.5)
//! ```

mod activation;
mod convolution;
mod elementwise;
mod error;
mod gru;
mod hand;
mod keys;
mod lanes;
mod layer_table;
mod manifest;
mod network;
mod panels;
mod tensors;
#[cfg(test)]
mod trial;

pub use error::PolicyError;
pub use hand::Hand;
pub use manifest::{Decide, MAX_INTERVAL_RTT_FACTOR, Manifest};
pub use network::{Model, NetworkPolicy};

use dyn_clone::DynClone;
use std::borrow::Cow;
use std::sync::Arc;

/// Takes observations, returns an action for each.
pub trait Policy: DynClone + Send {
    /// Decide. NaN means that no decision could be made: the caller falls back.
    fn act(&mut self, observation: &[f32]) -> f32;

    /// Forget everything: a new call begins.
    fn reset(&mut self) {}

    /// Return this action from now on. Only a [`Hand`] can be set.
    fn hold(&mut self, answer: f32) {
        let _ = answer;
    }
}
dyn_clone::clone_trait_object!(Policy);

/// The policy `NAME/policy.toml` and its weights, read through `file`. An error is one line.
pub fn load<'a>(name: &str, file: impl Fn(&str) -> Option<Cow<'a, [u8]>>) -> Result<Arc<Model>, String> {
    let read = |file_name: &str| file(file_name).ok_or_else(|| format!("policy = {name:?}: there is no {file_name}"));
    let manifest_file = format!("{name}/policy.toml");
    let text = read(&manifest_file)?;
    let Ok(text) = std::str::from_utf8(&text) else { return Err(format!("{manifest_file}: it is no text")) };
    let manifest = Manifest::parse(text, &manifest_file).map_err(|error| error.to_string())?;
    let weights = read(&format!("{name}/{}", manifest.weights_file()))?;
    manifest.load(&weights).map_err(|error| error.to_string())
}
