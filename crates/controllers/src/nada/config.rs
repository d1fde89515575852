//! The parameters of [`Nada`](super::Nada), with the RFC's defaults. RMIN and RMAX are the call's limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `nada`.
// [rfc8698] Figure 3 names and sets them; the RFC's name comes first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// PRIO: the weight of this flow among others.
    pub priority: f64,
    /// XREF: the congestion that a flow accepts at its maximum rate.
    pub reference_signal_ms: f64,
    /// KAPPA: gain of the gradual update.
    pub kappa_gain: f64,
    /// ETA: gain on changes of the signal.
    pub eta_gain: f64,
    /// TAU: bound on the round trip in the gradual update.
    pub tau_ms: f64,
    /// DELTA: update the rate this often, at the next feedback.
    pub update_interval_ms: u32,
    /// LOGWIN: the window of the ratios and the receiving rate.
    pub window_ms: u32,
    /// QEPS: shorter queues count as empty.
    pub empty_queue_ms: f64,
    /// DFILT: the maximum delay that the minimum filter adds; older samples are left out.
    pub filter_delay_ms: f64,
    /// GAMMA_MAX: the maximum that ramp-up adds to the receiver rate.
    pub max_ramp_up_ratio: f64,
    /// QBOUND: the maximum queue that ramp-up may build.
    pub queue_bound_ms: f64,
    /// MULTILOSS: a loss counts as recent for this many mean intervals between losses.
    pub loss_memory_factor: f64,
    /// QTH: delay beyond this is warped while losses are recent.
    pub warp_threshold_ms: f64,
    /// LAMBDA: how fast warped delay falls.
    pub lambda_factor: f64,
    /// PLRREF: the loss ratio that counts as a delay of `loss_penalty_ms`.
    pub reference_loss_ratio: f64,
    /// PMRREF: the ratio of marked packets that counts as a delay of `mark_penalty_ms`.
    pub reference_mark_ratio: f64,
    /// DLOSS: the delay that a loss ratio of `reference_loss_ratio` counts as.
    pub loss_penalty_ms: f64,
    /// DMARK: the delay that a ratio of marked packets of `reference_mark_ratio` counts as.
    pub mark_penalty_ms: f64,
    /// XMAX of the authors' simulator: the maximum of the signal. A message of the RFC could carry 3,276.7.
    pub max_signal_ms: f64,
    /// ALPHA: weight of the newest ratio of lost or marked packets.
    pub smoothing_weight: f64,
    /// The queuing delay is the minimum over this many packets, none older than `filter_delay_ms`.
    pub delay_filter_packets: u32,
    /// BETA_V: share of a backlog in the pacer that the encoder makes room for.
    pub video_shaping_gain: f64,
    /// BETA_S: share of a backlog that is sent on top.
    pub sending_shaping_gain: f64,
    /// The maximum share of the rate that a backlog in the pacer moves: 0.05 in equations (11) and (12).
    pub max_shaping_ratio: f64,
    /// Begin at RMIN, as the RFC does, instead of at the call's start rate.
    pub start_at_minimum: bool,
    /// FPS: frames per second of the source.
    pub frame_rate_fps: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            priority: 1.0,
            reference_signal_ms: 10.0,
            kappa_gain: 0.5,
            eta_gain: 2.0,
            tau_ms: 500.0,
            update_interval_ms: 100,
            window_ms: 500,
            empty_queue_ms: 10.0,
            filter_delay_ms: 120.0,
            max_ramp_up_ratio: 0.5,
            queue_bound_ms: 50.0,
            loss_memory_factor: 7.0,
            warp_threshold_ms: 50.0,
            lambda_factor: 0.5,
            reference_loss_ratio: 0.01,
            reference_mark_ratio: 0.01,
            loss_penalty_ms: 10.0,
            mark_penalty_ms: 2.0,
            max_signal_ms: 500.0,
            smoothing_weight: 0.1,
            delay_filter_packets: 15,
            video_shaping_gain: 0.1,
            sending_shaping_gain: 0.1,
            max_shaping_ratio: 0.05,
            start_at_minimum: false,
            frame_rate_fps: 30.0,
        }
    }
}

/// The maximum length of the minimum filter.
pub const MAX_FILTER_PACKETS: u32 = 64;

impl Config {
    /// Name the first key whose value is invalid.
    pub fn check(&self) -> Result<(), String> {
        // Written so that NaN is refused.
        let within = |key: &str, value: f64, low: f64, high: f64| match value >= low && value <= high {
            true => Ok(()),
            false => Err(format!("{key} = {value} is not within [{low}, {high}]")),
        };
        within("priority", self.priority, 1e-3, 1e3)?;
        within("reference_signal_ms", self.reference_signal_ms, 0.01, 1e4)?;
        within("kappa_gain", self.kappa_gain, 0.0, 10.0)?;
        within("eta_gain", self.eta_gain, 0.0, 100.0)?;
        within("tau_ms", self.tau_ms, 1.0, 1e5)?;
        within("update_interval_ms", self.update_interval_ms.into(), 1.0, 1e4)?;
        within("window_ms", self.window_ms.into(), 50.0, 1e4)?;
        within("empty_queue_ms", self.empty_queue_ms, 0.0, 1e4)?;
        within("filter_delay_ms", self.filter_delay_ms, 0.0, 1e4)?;
        within("max_ramp_up_ratio", self.max_ramp_up_ratio, 0.0, 10.0)?;
        within("queue_bound_ms", self.queue_bound_ms, 0.0, 1e4)?;
        within("loss_memory_factor", self.loss_memory_factor, 0.0, 1e3)?;
        within("warp_threshold_ms", self.warp_threshold_ms, 0.1, 1e4)?;
        within("lambda_factor", self.lambda_factor, 0.0, 100.0)?;
        within("reference_loss_ratio", self.reference_loss_ratio, 1e-6, 1.0)?;
        within("reference_mark_ratio", self.reference_mark_ratio, 1e-6, 1.0)?;
        within("loss_penalty_ms", self.loss_penalty_ms, 0.0, 1e4)?;
        within("mark_penalty_ms", self.mark_penalty_ms, 0.0, 1e4)?;
        within("max_signal_ms", self.max_signal_ms, 1.0, 3_276.7)?;
        within("smoothing_weight", self.smoothing_weight, 1e-3, 1.0)?;
        within("delay_filter_packets", self.delay_filter_packets.into(), 1.0, MAX_FILTER_PACKETS.into())?;
        within("video_shaping_gain", self.video_shaping_gain, 0.0, 10.0)?;
        within("sending_shaping_gain", self.sending_shaping_gain, 0.0, 10.0)?;
        within("max_shaping_ratio", self.max_shaping_ratio, 0.0, 1.0)?;
        within("frame_rate_fps", self.frame_rate_fps, 1.0, 240.0)
    }
}
