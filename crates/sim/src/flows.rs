//! The flows of a scenario that has more than one: calls, TCP and UDP beside each other on shared
//! links. A scenario that names none of these is one call on a path of its own.

use crate::cross_traffic::{TcpConfig, UdpConfig};
use crate::pauses::{self, PauseSpec};
use crate::scenario::{CapacitySpec, ControllerSpec, LimitsSpec, PathSpec, QueueSpec, one_of, within};
use serde::{Deserialize, Serialize};

/// The names a flow's `direction` may have.
pub const DIRECTIONS: [&str; 2] = ["forward", "reverse"];
/// No scenario has more flows of a kind.
const MAX_FLOWS: usize = 1_000;

/// A call among several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallSpec {
    /// What reports call it; absent: `call 1`, `call 2`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// It begins then.
    pub start_s: f64,
    /// It ends then; absent: with the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_s: Option<f64>,
    /// Its media goes `forward` (absent) or in `reverse`; its feedback the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Its one-way propagation, both ways; absent: that of the scenario's paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_ms: Option<f64>,
    /// Names of `links` its media passes, in order; absent: the scenario's own bottleneck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// Those its feedback passes; absent: the scenario's link of the other direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub return_route: Vec<String>,
    /// Its controller; absent: the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerSpec>,
    /// Its limits; absent: the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsSpec>,
    /// Times without media, from the session's start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseSpec>,
    /// Its weight against other calls, for controllers with a parameter `priority`; others know none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
}

impl CallSpec {
    /// Its media go in reverse.
    pub fn is_reversed(&self) -> bool {
        self.direction.as_deref() == Some("reverse")
    }
}

/// A TCP flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TcpSpec {
    /// What reports call it; absent: `tcp 1`, `tcp 2`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// It begins then.
    pub start_s: f64,
    /// It ends then; absent: with the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_s: Option<f64>,
    /// Its data goes `forward` (absent) or in `reverse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Its one-way propagation, both ways; absent: that of the scenario's paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_ms: Option<f64>,
    /// Names of `links` its data passes, in order; absent: the scenario's own bottleneck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// Those its acknowledgements pass; absent: the scenario's link of the other direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub return_route: Vec<String>,
    /// Congestion control, workload and the rest.
    pub config: TcpConfig,
}

/// Constant-rate UDP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UdpSpec {
    /// What reports call it; absent: `udp 1`, `udp 2`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// It begins then; its steps count from there.
    pub start_s: f64,
    /// It ends then; absent: with the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_s: Option<f64>,
    /// It goes `forward` (absent) or in `reverse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Its one-way propagation; absent: that of the scenario's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_ms: Option<f64>,
    /// Names of `links` it passes, in order; absent: the scenario's own bottleneck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// Its rate and packets.
    pub config: UdpConfig,
}

/// A further bottleneck that flows may be routed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkSpec {
    /// What routes call it.
    pub name: String,
    /// Its capacity.
    pub capacity: CapacitySpec,
    /// What waits for it.
    pub queue: QueueSpec,
}

impl LinkSpec {
    /// The link as the bottleneck of a path without propagation.
    pub fn path(&self) -> PathSpec {
        PathSpec {
            capacity: Some(self.capacity.clone()),
            queue: self.queue.clone(),
            propagation_ms: 0.0,
            ..PathSpec::default()
        }
    }
}

/// The flows of a scenario, borrowed for checking.
pub(crate) struct Flows<'a> {
    pub calls: &'a [CallSpec],
    pub tcp: &'a [TcpSpec],
    pub udp: &'a [UdpSpec],
    pub links: &'a [LinkSpec],
}

type Refusal = (String, String);

impl Flows<'_> {
    /// Values nobody could work with, routes that lead nowhere, times out of order.
    pub(crate) fn check(&self, duration_s: f64) -> Result<(), Refusal> {
        for (key, count) in [("calls", self.calls.len()), ("tcp", self.tcp.len()), ("udp", self.udp.len())] {
            if count > MAX_FLOWS {
                return Err((key.to_owned(), format!("{count} flows are more than {MAX_FLOWS}")));
            }
        }
        let known: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
        for (n, link) in self.links.iter().enumerate() {
            let key = format!("links[{n}]");
            if link.name.is_empty() || known[..n].contains(&link.name.as_str()) {
                return Err((format!("{key}.name"), format!("{:?} is empty or taken", link.name)));
            }
            link.path().check(&key)?;
        }
        for (n, call) in self.calls.iter().enumerate() {
            let key = format!("calls[{n}]");
            lifetime(&key, call.start_s, call.stop_s, duration_s)?;
            place(&key, call.direction.as_deref(), call.propagation_ms)?;
            routes(&key, [&call.route, &call.return_route], &known)?;
            within(&format!("{key}.priority"), call.priority.unwrap_or(1.0), 1e-3, 1e3)?;
            pauses::check(&call.pauses).map_err(|(own, message)| (format!("{key}.{own}"), message))?;
            if let Some(limits) = &call.limits {
                limits.check(&format!("{key}.limits"))?;
            }
        }
        for (n, tcp) in self.tcp.iter().enumerate() {
            let key = format!("tcp[{n}]");
            tcp.config.check(&format!("{key}.config"))?;
            lifetime(&key, tcp.start_s, tcp.stop_s, duration_s)?;
            place(&key, tcp.direction.as_deref(), tcp.propagation_ms)?;
            routes(&key, [&tcp.route, &tcp.return_route], &known)?;
        }
        for (n, udp) in self.udp.iter().enumerate() {
            let key = format!("udp[{n}]");
            udp.config.check(&format!("{key}.config"))?;
            lifetime(&key, udp.start_s, udp.stop_s, duration_s)?;
            place(&key, udp.direction.as_deref(), udp.propagation_ms)?;
            routes(&key, [&udp.route, &[]], &known)?;
        }
        Ok(())
    }
}

fn lifetime(key: &str, start_s: f64, stop_s: Option<f64>, duration_s: f64) -> Result<(), Refusal> {
    within(&format!("{key}.start_s"), start_s, 0.0, duration_s)?;
    let stop = stop_s.unwrap_or(duration_s);
    within(&format!("{key}.stop_s"), stop, 0.0, duration_s)?;
    if stop - start_s < 0.1 {
        return Err((format!("{key}.stop_s"), format!("{stop} s is not 0.1 s after start_s = {start_s} s")));
    }
    Ok(())
}

fn place(key: &str, direction: Option<&str>, propagation_ms: Option<f64>) -> Result<(), Refusal> {
    one_of(&format!("{key}.direction"), direction.unwrap_or("forward"), &DIRECTIONS)?;
    within(&format!("{key}.propagation_ms"), propagation_ms.unwrap_or(0.0), 0.0, 60_000.0)
}

fn routes(key: &str, [out, back]: [&[String]; 2], known: &[&str]) -> Result<(), Refusal> {
    for (name, route) in [("route", out), ("return_route", back)] {
        for (n, link) in route.iter().enumerate() {
            one_of(&format!("{key}.{name}"), link, known)?;
            if route[..n].contains(link) {
                return Err((format!("{key}.{name}"), format!("{link:?} is passed twice")));
            }
        }
    }
    Ok(())
}
