//! `legato._core`: the crates as Python sees them. Conversions, no arithmetic; whatever waits here releases the
//! interpreter. Types are declared in python/legato/_core.pyi; a test compares that file with this one.

mod arrays;
mod batch;
#[cfg(feature = "calls")]
mod call;
#[cfg(feature = "calls")]
mod call_parts;
#[cfg(feature = "calls")]
mod call_report;
#[cfg(feature = "encoders")]
mod codec;
mod controllers;
mod error;
mod estimator;
#[cfg(feature = "hybrid")]
mod hybrid;
#[cfg(feature = "calls")]
mod learning;
mod policy;
mod shared;
mod spaces;
mod sweep;
mod traces;
#[cfg(feature = "calls")]
mod tun;
#[cfg(feature = "calls")]
mod vmaf;

use pyo3::prelude::*;

/// The native half of Legato.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::batch::CallBatch;
    #[cfg(feature = "calls")]
    #[pymodule_export]
    use super::call::{CallCodec, RealCall, codecs, open_call_folder, write_scene};
    #[cfg(feature = "encoders")]
    #[pymodule_export]
    use super::codec::{
        EncoderModel, LiveEncoder, OpenH264Stream, ResilientH264, ResilientVpx, picture_quality, profile_mean_size,
    };
    #[pymodule_export]
    use super::controllers::{controller_parameters, controllers};
    #[cfg(feature = "hybrid")]
    #[pymodule_export]
    use super::hybrid::{HybridDecoder, HybridEncoder, HybridModel, HybridResilience, hybrid_cut};
    #[cfg(feature = "calls")]
    #[pymodule_export]
    use super::learning::LiveExchange;
    #[pymodule_export]
    use super::policy::Policy;
    #[pymodule_export]
    use super::shared::SharedCalls;
    #[pymodule_export]
    use super::spaces::Spaces;
    #[pymodule_export]
    use super::sweep::{Sweep, code_alone, profile_heights, resolve_scenario};
    #[pymodule_export]
    use super::traces::{Trace, load_trace, load_traces};
    #[cfg(feature = "calls")]
    #[pymodule_export]
    use super::tun::TunPair;
    #[cfg(feature = "calls")]
    #[pymodule_export]
    use super::vmaf::vmaf;
    use pyo3::prelude::*;

    /// The version of the crates, "0.1.0".
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
