//! VMAF by an ffmpeg process, which Ctrl-C ends as it ends a call.

use crate::error::call_error;
use legato_endpoint::VmafProgram;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What a signal handler raised while a program was running: the signal is delivered once, and is for Python.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<Option<PyErr>>>);

impl Interrupt {
    /// The program, which is ended when a signal's handler raises something.
    pub(crate) fn ends(&self, ffmpeg: PathBuf) -> VmafProgram {
        let raised = Arc::clone(&self.0);
        VmafProgram::new(ffmpeg, move || {
            let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
            if raised.is_none() {
                *raised = Python::attach(|py| py.check_signals()).err();
            }
            raised.is_none()
        })
    }

    /// Return the exception to the caller.
    pub(crate) fn result(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// VMAF, 0 to 100, of each of `pairs`: the luma of a picture and of the one judged against it, both `width` x `height`
/// bytes and even; by the ffmpeg at this path.
#[pyfunction]
pub fn vmaf(
    py: Python<'_>,
    ffmpeg: PathBuf,
    width: usize,
    height: usize,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
) -> PyResult<Vec<f32>> {
    let even = |n: usize| n > 0 && n.is_multiple_of(2);
    let samples = width.saturating_mul(height);
    if !even(width) || !even(height) || pairs.iter().any(|(a, b)| a.len() != samples || b.len() != samples) {
        return Err(call_error(format!("{width}x{height}: even, and so many bytes of luma, are needed")));
    }
    let interrupt = Interrupt::default();
    let program = interrupt.ends(ffmpeg);
    let scores = py.detach(|| {
        let mut meter = program.start((width, height))?;
        pairs.iter().try_for_each(|(picture, judged)| meter.push(picture, judged))?;
        meter.finish()
    });
    interrupt.result()?;
    scores.map_err(call_error)
}
