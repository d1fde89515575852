//! Estimators of AlphaRTC's interface, in Python: what the controller `opennetlab` hosts. python/legato/opennetlab.py
//! loads the file; here its object is called, with the interpreter held as long as a call takes.

use legato_control::{Context, Decision, Event, Host, PacketKind, RateController, ReceivedPacket};
use legato_units::{DataRate, Timestamp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;

/// The first exception of an estimator since it was last taken: a sweep reports it at its end.
static FAILURE: Mutex<Option<String>> = Mutex::new(None);

/// Takes the first exception, if there was one.
pub fn take_failure() -> Option<String> {
    FAILURE.lock().ok()?.take()
}

/// Hosts files of the interface `"alphartc"`.
pub struct Estimators;

impl Host for Estimators {
    fn guest(&self, interface: &str, file: &str, _: Context<'_>) -> Result<Box<dyn RateController>, String> {
        if interface != "alphartc" {
            return Err(format!("no file of the interface {interface:?} is hosted"));
        }
        Python::attach(|py| {
            let loaded = py.import("legato.opennetlab").and_then(|module| module.call_method1("load", (file,)));
            loaded
                .map(|object| Box::new(Estimator { object: object.unbind(), file: file.into(), bps: f64::NAN }) as _)
                .map_err(|error| line(py, &error))
        })
    }
}

fn line(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "error".into(), |name| name.to_string());
    let message = error.value(py).to_string();
    format!("{kind}: {}", message.lines().next().unwrap_or_default())
}

struct Estimator {
    object: Py<PyAny>,
    file: String,
    /// Its last answer; NaN if it failed, or was not asked yet.
    bps: f64,
}

impl Estimator {
    fn failed(&self, py: Python<'_>, error: &PyErr) {
        if let Ok(mut failure) = FAILURE.lock()
            && failure.is_none()
        {
            *failure = Some(format!("{}: {}", self.file, line(py, error)));
        }
    }

    /// Call a method of the object; an exception is kept.
    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        Python::attach(|py| work(self.object.bind(py)).inspect_err(|error| self.failed(py, error)).ok())
    }
}

impl Clone for Estimator {
    fn clone(&self) -> Self {
        let copy =
            self.call(|object| object.py().import("copy")?.call_method1("deepcopy", (object,)).map(Bound::unbind));
        let object = copy.unwrap_or_else(|| Python::attach(|py| self.object.clone_ref(py)));
        Self { object, file: self.file.clone(), bps: self.bps }
    }
}

impl RateController for Estimator {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketReceived(packet) => self.report(now, packet),
            Event::Deadline => {
                let estimate = self.call(|object| {
                    let bps = object.call_method0("get_estimated_bandwidth")?.extract::<f64>()?;
                    let refused = || PyValueError::new_err(format!("get_estimated_bandwidth() returned {bps}"));
                    if bps.is_finite() { Ok(bps) } else { Err(refused()) }
                });
                self.bps = estimate.unwrap_or(f64::NAN);
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(DataRate::from_bps_f64(self.bps))
    }

    fn has_estimate(&self) -> bool {
        !self.bps.is_nan()
    }
}

impl Estimator {
    fn report(&self, now: Timestamp, packet: &ReceivedPacket) {
        self.call(|object| {
            let stats = PyDict::new(object.py());
            let ms = |ns: i64| ns.div_euclid(1_000_000);
            // The absolute send time is by the sender's clock; without it the packet counts as sent when it came.
            let sent_ns = packet.departure.map_or(now.as_nanos(), |departure| departure.as_nanos());
            let payload_type = match packet.kind {
                PacketKind::Audio => AUDIO,
                PacketKind::Padding | PacketKind::Retransmission => RTX,
                PacketKind::Fec => FEC,
                PacketKind::Video => VIDEO,
            };
            let size = packet.size.as_bytes();
            let payload = size.saturating_sub(IP_UDP_BYTES + HEADER_BYTES);
            let padding = if packet.kind == PacketKind::Padding { payload } else { 0 };
            stats.set_item("send_time_ms", ms(sent_ns))?;
            stats.set_item("arrival_time_ms", ms(now.as_nanos()))?;
            stats.set_item("payload_type", payload_type)?;
            stats.set_item("sequence_number", packet.transport_seq & 0xFFFF)?;
            stats.set_item("ssrc", packet.ssrc)?;
            stats.set_item("padding_length", padding)?;
            stats.set_item("header_length", HEADER_BYTES.min(size))?;
            stats.set_item("payload_size", payload - padding)?;
            object.call_method1("report_states", (stats,)).map(drop)
        });
    }
}

// [alphartc]'s payload types and header.
const VIDEO: u8 = 125;
const RTX: u8 = 122;
const FEC: u8 = 124;
const AUDIO: u8 = 120;
const HEADER_BYTES: u64 = 24;
const IP_UDP_BYTES: u64 = 28;
