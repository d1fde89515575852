//! The host of estimators that are no controllers of this program, set once by what starts it. The Python package
//! hosts those of `opennetlab`.

use legato_control::PacketEstimator;
use std::sync::OnceLock;

/// Makes an estimator from a file, or says in one line why not.
pub type EstimatorHost = fn(&str) -> Result<Box<dyn PacketEstimator>, String>;

static HOST: OnceLock<EstimatorHost> = OnceLock::new();

/// Have all estimators hosted by `host`; the first one set stays.
pub fn host_estimators(host: EstimatorHost) {
    HOST.get_or_init(|| host);
}

pub(crate) fn estimator(file: &str) -> Option<Result<Box<dyn PacketEstimator>, String>> {
    HOST.get().map(|host| host(file))
}
