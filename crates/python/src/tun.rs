//! Two network namespaces with a TUN device in each, held by this process; Python starts programs in them.

use crate::error::call_error;
use legato_endpoint::{Host, TunPair as Pair};
use pyo3::prelude::*;

/// Two network namespaces whose only way to each other is the link that is put between them.
#[pyclass(module = "legato._core")]
pub struct TunPair(Option<Pair>);

#[pymethods]
impl TunPair {
    /// Make them; the superuser may, on Linux.
    #[new]
    fn new() -> PyResult<Self> {
        Pair::open().map(|pair| Self(Some(pair))).map_err(call_error)
    }

    /// Of the near one and the far one: the number of the open file that stands for it, and its address.
    #[getter]
    fn hosts(&self) -> PyResult<[(i32, String); 2]> {
        let told = |host: &Host| (host.namespace(), host.address().to_string());
        let pair = self.pair()?;
        Ok([told(&pair.near), told(&pair.far)])
    }

    /// Let them go. They last as long as a process is in them, or a link between them.
    fn close(&mut self) {
        self.0 = None;
    }
}

impl TunPair {
    /// An error: they were let go.
    pub fn pair(&self) -> PyResult<&Pair> {
        self.0.as_ref().ok_or_else(|| call_error("the network namespaces are closed"))
    }
}
