//! Weights from a safetensors file: f32 of the expected shapes, finite, and nothing else.

use super::error::shown;
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeSet;

/// The maximum size of the weights in bytes.
const LARGEST_FILE: usize = 64 << 20;
/// The format allows 100 MB of header, which is an attack.
const LARGEST_HEADER: u64 = 1 << 20;

/// The tensors of a file, not yet validated.
pub(super) struct Tensors<'a>(SafeTensors<'a>);

impl<'a> Tensors<'a> {
    /// Parses `bytes`, or says why not.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        if bytes.len() > LARGEST_FILE {
            return Err(format!("{} bytes, {LARGEST_FILE} are the most", bytes.len()));
        }
        let header = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
        match header {
            Some(length) if length <= LARGEST_HEADER && length <= bytes.len() as u64 - 8 => {}
            Some(length) => return Err(format!("header of {length} bytes: not safetensors, or cut off")),
            None => return Err(format!("{} bytes: too short for safetensors", bytes.len())),
        }
        match SafeTensors::deserialize(bytes) {
            Ok(tensors) => Ok(Self(tensors)),
            Err(error) => Err(format!("not safetensors, or cut off ({})", shown(&error.to_string()))),
        }
    }

    /// The values of one tensor, row by row.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.0.tensor(name).map_err(|_| format!("tensor {name}: missing"))?;
        if tensor.dtype() != Dtype::F32 {
            return Err(format!("tensor {name}: type {:?}, F32 is needed", tensor.dtype()));
        }
        if tensor.shape() != shape {
            let has = shown(&format!("{:?}", tensor.shape()));
            return Err(format!("tensor {name}: shape {has}, {shape:?} is needed"));
        }
        let (values, _) = tensor.data().as_chunks::<4>();
        let values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(format!("tensor {name}: value {at} is {}, finite ones are needed", values[at])),
            None => Ok(values),
        }
    }

    /// Refuses other tensors than the `expected` ones.
    pub(super) fn none_besides(&self, expected: &BTreeSet<String>) -> Result<(), String> {
        let unknown = self.0.names().into_iter().filter(|name| !expected.contains(*name)).min();
        unknown.map_or(Ok(()), |name| Err(format!("tensor {}: no layer has it", shown(name))))
    }
}
