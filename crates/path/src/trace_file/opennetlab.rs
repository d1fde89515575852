//! OpenNetLab and AlphaRTC: JSON, a `trace_pattern` of spans with a duration in ms, a capacity in
//! kbit/s, and optionally loss (a ratio), rtt and jitter (ms). Each direction may have one.

use super::error::Fault;
use super::json;
use super::trace::{Part, Profile, Sample, Series};
use crate::capacity::{AfterLast, MAX_DURATION, MAX_RATE, MAX_SEGMENTS, RateSteps};
use legato_units::{DataRate, TimeDelta};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    uplink: Direction,
    #[serde(default)]
    downlink: Direction,
}

#[derive(Default, Deserialize)]
struct Direction {
    #[serde(default)]
    trace_pattern: Option<Vec<Span>>,
}

#[derive(Deserialize)]
struct Span {
    duration: f64,
    capacity: f64,
    loss: Option<f64>,
    rtt: Option<f64>,
    jitter: Option<f64>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let file: File = json::from_text(text)?;
    let mut parts = Vec::new();
    for (name, direction) in [("up", file.uplink), ("down", file.downlink)] {
        if let Some(spans) = direction.trace_pattern {
            parts.push(part(name, &spans)?);
        }
    }
    if parts.is_empty() {
        return Err(Fault::new("trace_pattern", "", "is missing in uplink and downlink"));
    }
    Ok(parts)
}

fn part(name: &str, spans: &[Span]) -> Result<Part, Fault> {
    let link = format!("{name}link.trace_pattern");
    if spans.is_empty() {
        return Err(Fault::new(&link, "[]", "is empty"));
    }
    if spans.len() > MAX_SEGMENTS {
        return Err(Fault::new(&link, spans.len(), "has more than a million spans"));
    }
    let mut at = TimeDelta::ZERO;
    let mut steps = Vec::with_capacity(spans.len());
    let mut series = Series::default();
    for (index, span) in spans.iter().enumerate() {
        let check = |key: &str, value: f64, max: f64, reason: &str| {
            if (0.0..=max).contains(&value) {
                return Ok(value);
            }
            let reason = if value < 0.0 { "is below zero" } else { reason };
            Err(Fault::new(&format!("{link}[{index}].{key}"), value, reason))
        };
        let max_kbps = MAX_RATE.as_kbps_f64();
        let capacity = check("capacity", span.capacity, max_kbps, "is above 100 Gbit/s")?;
        let duration = check("duration", span.duration, MAX_DURATION.as_millis_f64(), "is above 24 hours")?;
        let duration = TimeDelta::from_millis_f64(duration);
        if duration == TimeDelta::ZERO {
            return Err(Fault::new(&format!("{link}[{index}].duration"), span.duration, "is not positive"));
        }
        steps.push((at, DataRate::from_bps_f64(capacity * 1e3)));
        if let Some(loss) = span.loss {
            let value = check("loss", loss, 1.0, "is above 1")?;
            series.loss_ratio.push(Sample { at, value });
        }
        for (key, value, list) in [("rtt", span.rtt, &mut series.rtt), ("jitter", span.jitter, &mut series.jitter)] {
            if let Some(ms) = value {
                let value = TimeDelta::from_millis_f64(check(key, ms, 60_000.0, "is above a minute")?);
                list.push(Sample { at, value });
            }
        }
        at += duration;
        if at > MAX_DURATION {
            return Err(Fault::new(&format!("{link}[{index}].duration"), span.duration, "ends after 24 hours"));
        }
    }
    let table = RateSteps::new(steps, at, AfterLast::Repeat)?;
    Ok(Part { name: Some(name.to_owned()), profile: Profile::Rates(Arc::new(table)), series, path: None })
}
