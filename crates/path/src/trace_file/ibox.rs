//! iBox: the profile of a path, fitted to packet traces of Pantheon ([ibox]). It has bottleneck, buffer and
//! propagation, all constant, and the rate of cross traffic in each second. A UDP sender that does not react plays the
//! latter.
//!
//! Two forms: that of iBox's own files, with an `uplink` and a `downlink` of which `data_flow_direction` was measured;
//! and that of the files shipped with Legato, which have only the measured one.

use super::error::Fault;
use super::json;
use super::trace::{MeasuredPath, Part, Profile, Sample, Series};
use crate::capacity::{AfterLast, MAX_RATE, RateSteps};
use legato_units::{DataRate, DataSize, TimeDelta};
use serde::Deserialize;
use std::sync::Arc;

/// Whether this JSON has the key of a profile.
pub(super) fn is_profile(text: &str) -> bool {
    text.contains("\"bottleneck_bandwidth")
}

#[derive(Deserialize)]
struct File {
    data_flow_direction: String,
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    uplink: Option<Link>,
    downlink: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(alias = "bottleneck_bandwidth")]
    bottleneck_bandwidth_kbps: f64,
    buffer_size_bytes: f64,
    #[serde(alias = "propagation_delay")]
    propagation_delay_ms: f64,
    #[serde(alias = "cross_traffic_pattern")]
    cross_traffic_kbps: Vec<f64>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let link = if text.contains("\"config\"") { measured(json::from_text(text)?)? } else { json::from_text(text)? };
    let check = |key: &str, value: f64, max: f64, unit: &str| {
        if (0.0..=max).contains(&value) {
            return Ok(value);
        }
        let why = if value < 0.0 { "is below zero".to_owned() } else { format!("is above {max} {unit}") };
        Err(Fault::new(key, value, why))
    };
    let max_kbps = MAX_RATE.as_kbps_f64();
    let kbps = |key: &str, value| check(key, value, max_kbps, "kbit/s").map(|kbps| DataRate::from_bps_f64(kbps * 1e3));
    let capacity = kbps("bottleneck_bandwidth", link.bottleneck_bandwidth_kbps)?;
    let queue = check("buffer_size_bytes", link.buffer_size_bytes, MAX_QUEUE_BYTES, "bytes")?;
    let propagation = check("propagation_delay", link.propagation_delay_ms, MAX_PROPAGATION_MS, "ms")?;
    let seconds = link.cross_traffic_kbps.len();
    if !(1..=MAX_SECONDS).contains(&seconds) {
        return Err(Fault::new("cross_traffic_pattern", seconds, "values are not within 1 to 86400"));
    }
    let sample = |(second, value): (usize, f64)| {
        let value = kbps(&format!("cross_traffic_pattern[{second}]"), value)?;
        Ok(Sample { at: TimeDelta::from_secs(second as i64), value })
    };
    let cross_traffic = link.cross_traffic_kbps.into_iter().enumerate().map(sample).collect::<Result<_, Fault>>()?;
    let duration = TimeDelta::from_secs(seconds as i64);
    let table = RateSteps::new([(TimeDelta::ZERO, capacity)], duration, AfterLast::Repeat)?;
    let path = MeasuredPath {
        propagation: TimeDelta::from_millis_f64(propagation),
        queue: DataSize::from_bytes(queue as u64),
        cross_traffic,
    };
    Ok(vec![Part { name: None, profile: Profile::Rates(Arc::new(table)), series: Series::default(), path: Some(path) }])
}

/// The direction of iBox's own file that was measured; the other has default values.
fn measured(file: File) -> Result<Link, Fault> {
    let (key, link) = match file.data_flow_direction.as_str() {
        "upload" => ("config.uplink", file.config.uplink),
        "download" => ("config.downlink", file.config.downlink),
        other => return Err(Fault::new("data_flow_direction", other, "is not upload or download")),
    };
    link.ok_or_else(|| Fault::new(key, "", "is absent, but is the direction that was measured"))
}

const MAX_QUEUE_BYTES: f64 = 1e9;
const MAX_PROPAGATION_MS: f64 = 60_000.0;
const MAX_SECONDS: usize = 86_400;
