//! The host of controllers that are no part of this program, set once by what starts it. The Python package hosts those
//! of `opennetlab`.

use legato_control::Host;
use std::sync::OnceLock;

static HOST: OnceLock<&(dyn Host + Sync)> = OnceLock::new();

/// Have all guests run by `host`; the first one set stays.
pub fn host_guests(host: &'static (dyn Host + Sync)) {
    HOST.get_or_init(|| host);
}

pub(crate) fn host() -> Option<&'static dyn Host> {
    HOST.get().map(|host| *host as &dyn Host)
}
