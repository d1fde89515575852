//! One direction of the network: the bottleneck, its queue, loss, delay variation and reordering.

use super::values::{MAX_DURATION_S, Refusal, choice, some_choice, within};
use legato_path::OverTime;
use legato_path::generate::Generator;
use legato_units::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One direction of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathSpec {
    /// The bottleneck; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacitySpec>,
    /// The queue in front of the bottleneck.
    pub queue: QueueSpec,
    /// One-way propagation delay, without queuing and serialization.
    #[schemars(range(min = 0, max = 60_000))]
    pub propagation_ms: f64,
    /// Independent random loss.
    #[schemars(range(min = 0, max = 1))]
    pub loss_ratio: f64,
    /// Both over time instead, from a separate trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<ConditionsSpec>,
    /// Loss in bursts, in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<GilbertElliottSpec>,
    /// Packet delay variation of RFC 8868.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// Packets that later ones overtake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderSpec>,
    /// A policer in front of the bottleneck: what exceeds its rate is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<PolicerSpec>,
    /// A shaper in front of the bottleneck, which lets bursts pass at the bottleneck's speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<TokenBucketSpec>,
    /// A medium behind the bottleneck that passes packets in clumps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<AggregationSpec>,
    /// What a trace says instead of `propagation_ms` and `loss_ratio`. Set once it is read; never in a file.
    #[serde(skip)]
    pub recorded: RecordedSpec,
}

/// A trace whose propagation delay and loss are played, whatever the capacity is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionsSpec {
    /// A trace file, relative to the scenario's folder.
    pub trace: String,
    /// Its format, where its content is ambiguous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Position in it where the call starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_DURATION_S))]
    pub start_s: Option<f64>,
    /// Length of the part that is played and repeated; absent: to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = MAX_DURATION_S))]
    pub duration_s: Option<f64>,
}

/// Propagation and loss over time, as far as a trace records them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedSpec {
    /// One-way propagation delay.
    pub propagation: Option<OverTime<TimeDelta>>,
    /// Independent random loss.
    pub loss_ratio: Option<OverTime<f64>>,
}

/// The bottleneck's capacity: exactly one of the first four keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CapacitySpec {
    /// A constant rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1e11))]
    pub constant_bps: Option<u64>,
    /// `[[time_s, rate_bps], …]`, the first at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<(f64, u64)>>,
    /// A trace file, relative to the scenario's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// A random network, drawn from the seed: that of a paper (`nvc-cc`, `clcc`), a wider one (`broad`), or one of
    /// several (`clcc+broad`). It sets delay, loss and queue too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The trace's format, where its content is ambiguous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Factor of the trace's rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.000001, max = 1_000_000))]
    pub scale: Option<f64>,
    /// Position in the trace where the call starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_DURATION_S))]
    pub start_s: Option<f64>,
    /// Length of the part that is played and repeated; absent: to the end of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = MAX_DURATION_S))]
    pub duration_s: Option<f64>,
    /// How much of what the trace records is played; absent: the whole path.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_choice")]
    #[schemars(skip)]
    pub plays: Option<PlaysSpec>,
}

/// How much of what a trace records is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaysSpec {
    /// Its capacity alone.
    Capacity,
    /// Also propagation, loss, queue and cross traffic, as far as it has them.
    #[default]
    Path,
}

/// The queue in front of the bottleneck. At most one limit; absent: 300 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSpec {
    /// The queue discipline.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub kind: QueueKind,
    /// Limit in ms at the reference rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3_600_000))]
    pub limit_ms: Option<f64>,
    /// Limit in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// Limit in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
    /// Rate that converts ms to bytes; absent: the constant rate, the largest step or the trace's mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_bps: Option<u64>,
    /// A limit in ms follows the varying capacity.
    pub rescale: bool,
    /// `codel` and `pie` mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// `drop_tail` marks ECN-capable packets that wait longer than this; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3_600_000))]
    pub mark_above_ms: Option<f64>,
}

/// The queue disciplines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// RFC 8289.
    #[serde(rename = "codel")]
    CoDel,
    /// Drops packets that exceed the limit.
    #[default]
    DropTail,
    /// RFC 8033.
    Pie,
}

/// Loss in bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GilbertElliottSpec {
    /// Probability per packet of going from the good to the bad state.
    #[schemars(range(min = 0, max = 1))]
    pub good_to_bad_ratio: f64,
    /// Probability per packet of going back.
    #[schemars(range(min = 0, max = 1))]
    pub bad_to_good_ratio: f64,
    /// Loss ratio in the bad state; nothing is lost in the good one.
    #[schemars(range(min = 0, max = 1))]
    pub loss_bad_ratio: f64,
}

/// Packet delay variation of RFC 8868, section 4.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JitterSpec {
    /// Standard deviation.
    #[schemars(range(min = 0, max = 10_000))]
    pub std_ms: f64,
    /// Truncation, in standard deviations.
    #[schemars(range(min = 0, max = 3.25))]
    pub n_std: f64,
    /// How the truncated Gaussian becomes a delay.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub distribution: JitterDistribution,
}

/// How a Gaussian, which has both signs, becomes a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterDistribution {
    /// Its absolute value (RFC 8868).
    #[default]
    Folded,
    /// Shifted, so that it is never negative.
    Shifted,
}

/// Packets that take longer, so that others overtake them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReorderSpec {
    /// Share of packets.
    #[schemars(range(min = 0, max = 1))]
    pub packet_ratio: f64,
    /// Additional delay.
    #[schemars(range(min = 0, max = 60_000))]
    pub extra_ms: f64,
}

/// A policer: a bucket of tokens, and no queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicerSpec {
    /// What passes for long.
    #[schemars(range(min = 1, max = 1e11))]
    pub rate_bps: u64,
    /// The bytes that pass at once after a pause.
    #[schemars(range(min = 1, max = 1e12))]
    pub burst_bytes: u64,
}

/// A shaper: a bucket of tokens, and a queue that waits for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenBucketSpec {
    /// What passes for long.
    #[schemars(range(min = 1, max = 1e11))]
    pub rate_bps: u64,
    /// The bytes that pass at the bottleneck's speed after a pause.
    #[schemars(range(min = 1, max = 1e12))]
    pub burst_bytes: u64,
    /// The queue's limit, in ms at `rate_bps`.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub limit_ms: f64,
}

/// A medium that is ours now and then, for a clump of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AggregationSpec {
    /// How long the first packet of a clump waits for it, on average.
    #[schemars(range(min = 0, max = 10_000))]
    pub wait_ms: f64,
    /// Packets that go together at most.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_packets: u32,
}

impl Default for PolicerSpec {
    fn default() -> Self {
        Self { rate_bps: 2_000_000, burst_bytes: 15_000 }
    }
}

impl Default for TokenBucketSpec {
    fn default() -> Self {
        Self { rate_bps: 2_000_000, burst_bytes: 60_000, limit_ms: 300.0 }
    }
}

impl Default for AggregationSpec {
    fn default() -> Self {
        Self { wait_ms: 8.0, max_packets: 64 }
    }
}

impl Default for PathSpec {
    fn default() -> Self {
        Self {
            capacity: None,
            queue: QueueSpec::default(),
            propagation_ms: 25.0,
            loss_ratio: 0.0,
            conditions: None,
            gilbert_elliott: None,
            jitter: None,
            reorder: None,
            policer: None,
            token_bucket: None,
            aggregation: None,
            recorded: RecordedSpec::default(),
        }
    }
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            kind: QueueKind::default(),
            limit_ms: None,
            limit_bytes: None,
            limit_packets: None,
            reference_bps: None,
            rescale: false,
            ecn: true,
            mark_above_ms: None,
        }
    }
}

impl Default for GilbertElliottSpec {
    fn default() -> Self {
        Self { good_to_bad_ratio: 0.01, bad_to_good_ratio: 0.3, loss_bad_ratio: 0.5 }
    }
}

impl Default for JitterSpec {
    fn default() -> Self {
        Self { std_ms: 5.0, n_std: 3.0, distribution: JitterDistribution::default() }
    }
}

impl Default for ReorderSpec {
    fn default() -> Self {
        Self { packet_ratio: 0.01, extra_ms: 10.0 }
    }
}

impl PathSpec {
    pub(crate) fn check(&self, path: &str) -> Result<(), Refusal> {
        self.queue.check(path)?;
        self.capacity.as_ref().map_or(Ok(()), |capacity| capacity.check(path))
    }
}

impl CapacitySpec {
    fn check(&self, path: &str) -> Result<(), Refusal> {
        let given = [self.constant_bps.is_some(), self.steps.is_some(), self.trace.is_some(), self.generator.is_some()];
        if given.iter().filter(|&&given| given).count() != 1 {
            let message = "exactly one of constant_bps, steps, trace and generator is needed".to_owned();
            return Err((format!("{path}.capacity"), message));
        }
        let place = |key: &str| format!("{path}.capacity.{key}");
        if let Some(names) = &self.generator {
            Generator::by_names(names).map_err(|problem| (place("generator"), problem))?;
        }
        for &(time_s, _) in self.steps.iter().flatten() {
            within(&place("steps"), time_s, 0.0, MAX_DURATION_S)?;
        }
        if self.trace.is_none() {
            let options = [("family", self.family.is_some()), ("scale", self.scale.is_some())];
            let more = [("start_s", self.start_s.is_some()), ("duration_s", self.duration_s.is_some())];
            let more = more.into_iter().chain([("plays", self.plays.is_some())]);
            if let Some((key, _)) = options.into_iter().chain(more).find(|(_, given)| *given) {
                return Err((place(key), "only a trace has it".to_owned()));
            }
        }
        Ok(())
    }
}

impl QueueSpec {
    fn check(&self, path: &str) -> Result<(), Refusal> {
        if self.mark_above_ms.is_some() && self.kind != QueueKind::DropTail {
            return Err((format!("{path}.queue.mark_above_ms"), "only drop_tail has it".to_owned()));
        }
        let limits = [self.limit_ms.is_some(), self.limit_bytes.is_some(), self.limit_packets.is_some()];
        if limits.iter().filter(|&&given| given).count() > 1 {
            let message = "limit_ms, limit_bytes and limit_packets exclude one another".to_owned();
            return Err((format!("{path}.queue"), message));
        }
        Ok(())
    }
}
