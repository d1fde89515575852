//! Flows that share links: calls, TCP and UDP. A scenario without any of these is a single call on a private path.

mod table;

use crate::cross_traffic::{TcpConfig, UdpConfig};
use crate::pauses::{self, PauseSpec};
use crate::scenario::{CapacitySpec, ControllerSpec, LimitsSpec, PathSpec, QueueSpec, Refusal, within};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, MapAccess};
use serde::{Deserialize, Serialize};
use table::OwnKeys;

/// Maximum number of flows of one kind.
const MAX_FLOWS: usize = 1_000;

/// A flow: the keys of all flows and those of its kind, in one table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FlowSpec<Own> {
    /// Its name in reports; absent: `call 1`, `tcp 1`, `udp 1`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it starts. The steps of a UDP flow count from there.
    pub start_s: f64,
    /// When it stops; absent: with the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_s: Option<f64>,
    /// Direction of its media or data; absent: forward. Feedback and acknowledgements go the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub direction: Option<Direction>,
    /// Its one-way propagation delay, in both directions; absent: that of the scenario's paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 60_000))]
    pub propagation_ms: Option<f64>,
    /// Names of `links` that its media or data passes, in order; absent: the scenario's own bottleneck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// The links that its feedback or acknowledgements pass; absent: the scenario's link of the other direction. UDP
    /// has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub return_route: Vec<String>,
    /// The keys of its kind.
    #[serde(flatten)]
    pub own: Own,
}

/// The directions of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From sender to receiver.
    Forward,
    /// From receiver to sender.
    Reverse,
}

/// A call among several.
pub type CallSpec = FlowSpec<CallKeys>;
/// A TCP flow.
pub type TcpSpec = FlowSpec<TrafficKeys<TcpConfig>>;
/// A UDP flow.
pub type UdpSpec = FlowSpec<TrafficKeys<UdpConfig>>;

/// The keys of calls alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallKeys {
    /// Its controller; absent: the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerSpec>,
    /// Its limits; absent: the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsSpec>,
    /// Times without media, from the session's start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseSpec>,
    /// Its weight against other calls, for controllers with a parameter `priority`; others ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1_000))]
    pub priority: Option<f64>,
}

/// The keys of cross traffic alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TrafficKeys<Config> {
    /// How it sends.
    pub config: Config,
}

impl OwnKeys for CallKeys {
    const KEYS: &'static [&'static str] = &["controller", "limits", "pauses", "priority"];

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, table: &mut A) -> Result<(), A::Error> {
        match key {
            "controller" => self.controller = table.next_value()?,
            "limits" => self.limits = table.next_value()?,
            "pauses" => self.pauses = table.next_value()?,
            "priority" => self.priority = table.next_value()?,
            other => unreachable!("{other} is not among KEYS"),
        }
        Ok(())
    }
}

impl<Config: Default + DeserializeOwned> OwnKeys for TrafficKeys<Config> {
    const KEYS: &'static [&'static str] = &["config"];

    fn read<'de, A: MapAccess<'de>>(&mut self, _config: &str, table: &mut A) -> Result<(), A::Error> {
        self.config = table.next_value()?;
        Ok(())
    }
}

impl<Own> FlowSpec<Own> {
    /// Its media or data goes in reverse.
    pub fn is_reversed(&self) -> bool {
        match self.direction {
            None | Some(Direction::Forward) => false,
            Some(Direction::Reverse) => true,
        }
    }

    fn check(&self, key: &str, links: &[&str], duration_s: f64) -> Result<(), Refusal> {
        within(&format!("{key}.start_s"), self.start_s, 0.0, duration_s)?;
        let stop = self.stop_s.unwrap_or(duration_s);
        within(&format!("{key}.stop_s"), stop, 0.0, duration_s)?;
        if stop - self.start_s < 0.1 {
            let message = format!("{stop} s is not 0.1 s after start_s = {} s", self.start_s);
            return Err((format!("{key}.stop_s"), message));
        }
        for (name, route) in [("route", &self.route), ("return_route", &self.return_route)] {
            let refused = |message| Err((format!("{key}.{name}"), message));
            for (n, link) in route.iter().enumerate() {
                if !links.contains(&link.as_str()) {
                    return refused(format!("{link:?} is not one of {}", links.join(", ")));
                }
                if route[..n].contains(link) {
                    return refused(format!("{link:?} is passed twice"));
                }
            }
        }
        Ok(())
    }
}

/// A further bottleneck that flows can be routed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkSpec {
    /// Its name in routes.
    pub name: String,
    /// Its capacity.
    pub capacity: CapacitySpec,
    /// The queue in front of it.
    pub queue: QueueSpec,
}

impl LinkSpec {
    /// The link as the bottleneck of a path without propagation delay.
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

impl Flows<'_> {
    /// Refuses values out of range, routes over unknown links, and times out of order.
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
            call.check(&key, &known, duration_s)?;
            pauses::check(&call.own.pauses).map_err(|(own, message)| (format!("{key}.{own}"), message))?;
            if let Some(limits) = &call.own.limits {
                limits.check(&format!("{key}.limits"))?;
            }
        }
        for (n, tcp) in self.tcp.iter().enumerate() {
            let key = format!("tcp[{n}]");
            tcp.own.config.check(&format!("{key}.config"))?;
            tcp.check(&key, &known, duration_s)?;
        }
        for (n, udp) in self.udp.iter().enumerate() {
            let key = format!("udp[{n}]");
            udp.own.config.check(&format!("{key}.config"))?;
            if !udp.return_route.is_empty() {
                return Err((format!("{key}.return_route"), "UDP sends nothing back".to_owned()));
            }
            udp.check(&key, &known, duration_s)?;
        }
        Ok(())
    }
}
