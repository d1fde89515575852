//! The parameters of [`Nada`](super::Nada), and the constants that the RFC fixes. RMIN and RMAX are the call's limits.

use legato_units::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `nada`.
// [rfc8698] Figure 3 names and sets them; the RFC's name comes first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// PRIO: the weight of this flow among others.
    #[schemars(range(min = 0.001, max = 1_000))]
    pub priority: f64,
    /// XREF: the congestion that a flow accepts at its maximum rate.
    #[schemars(range(min = 0.01, max = 10_000))]
    pub reference_signal_ms: f64,
    /// MULTILOSS: a loss counts as recent for this many mean intervals between losses.
    #[schemars(range(min = 0, max = 1_000))]
    pub loss_memory_factor: f64,
    /// XMAX of the authors' simulator: the maximum of the signal. A message of the RFC could carry 3,276.7.
    #[schemars(range(min = 1, max = 3_276.7))]
    pub max_signal_ms: f64,
    /// The maximum share of the rate that a backlog in the pacer moves: 0.05 in equations (11) and (12).
    #[schemars(range(min = 0, max = 1))]
    pub max_shaping_ratio: f64,
    /// Begin at RMIN, as the RFC does, instead of at the call's start rate.
    pub start_at_minimum: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            priority: 1.0,
            reference_signal_ms: 10.0,
            loss_memory_factor: 7.0,
            max_signal_ms: 500.0,
            max_shaping_ratio: 0.05,
            start_at_minimum: false,
        }
    }
}

// [rfc8698] Figure 3: the gains of the gradual update, and the bound on the round trip in it.
/// Gain of the gradual update.
pub const KAPPA: f64 = 0.5;
/// Gain on changes of the signal.
pub const ETA: f64 = 2.0;
/// Bound on the round trip in the gradual update.
pub const TAU_MS: f64 = 500.0;

// [rfc8698] Figure 3: the rate is updated every DELTA, from LOGWIN.
/// The rate is updated this often, at the next feedback.
pub const DELTA: TimeDelta = TimeDelta::from_millis(100);
/// The window of the ratios and the receiving rate.
pub const LOGWIN: TimeDelta = TimeDelta::from_millis(500);

// [rfc8698] Figure 3: queuing delay, and ramp-up while there is none.
/// Shorter queues count as empty.
pub const QEPS_MS: f64 = 10.0;
/// The maximum delay that the minimum filter adds; older samples are left out.
pub const DFILT: TimeDelta = TimeDelta::from_millis(120);
/// The maximum that ramp-up adds to the receiver rate.
pub const GAMMA_MAX: f64 = 0.5;
/// The maximum queue that ramp-up may build.
pub const QBOUND_MS: f64 = 50.0;

// [rfc8698] Figure 3: delay beyond QTH is warped while losses are recent, and falls by LAMBDA.
/// The threshold of the warp.
pub const QTH_MS: f64 = 50.0;
/// How fast warped delay falls.
pub const LAMBDA: f64 = 0.5;

// [rfc8698] Figure 3: what loss and marks count as.
/// The loss ratio that counts as DLOSS.
pub const PLRREF: f64 = 0.01;
/// The ratio of marked packets that counts as DMARK.
pub const PMRREF: f64 = 0.01;
/// The delay that a loss ratio of PLRREF counts as.
pub const DLOSS_MS: f64 = 10.0;
/// The delay that a mark ratio of PMRREF counts as.
pub const DMARK_MS: f64 = 2.0;
/// Weight of the newest ratio of lost or marked packets.
pub const ALPHA: f64 = 0.1;

// [rfc8698] Figure 3: BETA_V and BETA_S are equal: what the encoder makes room for is sent on top.
/// The share of a backlog in the pacer.
pub const BETA: f64 = 0.1;
/// Frames per second of the source.
pub const FPS: f64 = 30.0;

// [rfc8698] §5.1.1.
/// The queuing delay is the minimum over this many packets, none older than DFILT.
pub const FILTER_PACKETS: usize = 15;
