//! `gcc`: Google congestion control as in libwebrtc M150 [libwebrtc-m150]. It believes that a growing queue shows in the arrivals before it does harm, that loss beyond the path's inherent loss means too high a rate, and that a short burst shows the path's capacity.
//!
//! Per feedback, packets in order of arrival go into arrival groups and the trend line ([`delay_based`]), the
//! acknowledged rate and, if they belong to a probe, the probe estimate. The rate control turns these into the
//! delay-based estimate, and [`loss_based`] adds the loss. [`send_side`] takes the minimum, under the receiver's cap
//! and the round-trip limit. The [`probe_controller`] decides on probes, and [`pushback`] lowers the rate when too much
//! is in flight.
//!
//! docs/papers/gcc.md lists the differences from libwebrtc and why.

pub mod aimd;
pub mod alr;
pub mod delay_based;
pub mod feedback;
pub mod loss_based;
pub mod loss_config;
pub mod loss_model;
pub mod probe_controller;
pub mod probe_estimator;
pub mod pushback;
pub mod rtt_backoff;
pub mod send_side;

mod config;
mod pipeline;

pub use config::{Config, Profile};

use alr::AlrDetector;
use delay_based::DelayBased;
use legato_control::estimate::feedback_rtt::FeedbackRtts;
use legato_control::estimate::overuse::BandwidthUsage;
use legato_control::estimate::robust_throughput::RobustThroughput;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, PacketReport, ProbeCluster, RateController, RateLimits, Side,
};
use legato_units::{DataRate, Timestamp};
use loss_based::{LossState, MIN_BITRATE};
use probe_controller::ProbeController;
use probe_estimator::ProbeEstimator;
use pushback::Pushback;
use send_side::SendSide;

/// Google congestion control.
#[derive(Clone)]
pub struct Gcc {
    config: Config,
    limits: RateLimits,
    acknowledged: RobustThroughput,
    delay_based: DelayBased,
    send_side: SendSide,
    alr: AlrDetector,
    probes: ProbeController,
    probe_estimator: ProbeEstimator,
    pushback: Pushback,
    rtts: FeedbackRtts,
    /// Round trips come from receiver reports; otherwise from feedback.
    rtt_reported: bool,
    acknowledged_rate: Option<DataRate>,
    /// The target before pushback, as last passed to pacer, probes and application-limit detector.
    target: DataRate,
    was_in_alr: bool,
    feedback_seen: bool,
    lost: u64,
    expected: u64,
    next_loss_update: Option<Timestamp>,
    last_process: Option<Timestamp>,
    /// When a frame was last coded.
    last_frame: Option<Timestamp>,
    last_tick: Timestamp,
    start: Timestamp,
    /// The results of `decision` and `next_deadline`; computed when something changes, as drivers
    /// read them after every packet.
    decision: Decision,
    deadline: Option<Timestamp>,
    /// Arrived packets of a feedback whose order of arrival differs from that of departure.
    sorted: Vec<PacketReport>,
}

impl Construct for Gcc {
    const NAME: &'static str = "gcc";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "Google congestion control as in libwebrtc M150";
    const CITES: &'static [&'static str] = &["carlucci2016", "draft-ietf-rmcat-gcc-02", "libwebrtc-m150"];
    type Config = Config;

    fn profile(name: &str) -> Option<Config> {
        let name = toml::Value::String(name.to_owned());
        Some(Config::of(name.try_into().ok()?))
    }

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        config.check().map_err(|message| BuildError::Config { controller: Self::NAME, message })?;
        let start = context.start;
        let mut gcc = Self {
            acknowledged: RobustThroughput::new(config.throughput),
            delay_based: DelayBased::new(config.aimd.clone(), config.trendline(), MIN_BITRATE),
            send_side: SendSide::new(config.loss.clone(), config.rtt_backoff.clone()),
            alr: AlrDetector::new(config.alr.clone()),
            probes: ProbeController::new(config.probe.clone(), start),
            probe_estimator: ProbeEstimator::default(),
            pushback: Pushback::new(config.pushback.clone(), start),
            rtts: FeedbackRtts::default(),
            rtt_reported: false,
            acknowledged_rate: None,
            target: context.limits.start,
            was_in_alr: false,
            feedback_seen: false,
            lost: 0,
            expected: 0,
            next_loss_update: None,
            last_process: None,
            last_frame: None,
            last_tick: start,
            start,
            decision: Decision::of_target(context.limits.start),
            deadline: Some(start),
            sorted: Vec::new(),
            limits: context.limits,
            config,
        };
        gcc.set_limits(context.limits, start);
        gcc.update_target(start);
        gcc.publish();
        Ok(gcc)
    }
}

impl RateController for Gcc {
    /// Most events are departures: the rest is kept out of their path.
    #[inline]
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketsSent(burst) => self.on_sent(now, burst),
            other => self.on_rare(now, other),
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }

    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        let cluster = self.probes.poll()?;
        self.probe_estimator.on_issued(&cluster);
        Some(cluster)
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let line = self.delay_based.trendline();
        gauge("trend", line.trend());
        gauge("modified_trend_ms", line.modified_trend_ms());
        gauge("threshold_ms", line.threshold_ms());
        gauge(
            "usage",
            match line.usage() {
                BandwidthUsage::Underusing => -1.0,
                BandwidthUsage::Normal => 0.0,
                BandwidthUsage::Overusing => 1.0,
            },
        );
        gauge("delay_based_bps", self.delay_based.aimd().rate().as_bps_f64());
        let loss_based = self.send_side.loss_based();
        if let Some(rate) = loss_based.estimate() {
            gauge("loss_based_bps", rate.as_bps_f64());
        }
        gauge(
            "loss_state",
            match self.send_side.loss_state() {
                LossState::DelayBased => 0.0,
                LossState::Decreasing => -1.0,
                LossState::Increasing => 1.0,
                LossState::IncreasingWithPadding => 2.0,
            },
        );
        gauge("average_loss_ratio", loss_based.average_loss());
        gauge("inherent_loss_ratio", loss_based.inherent_loss());
        if let Some(rate) = self.acknowledged_rate {
            gauge("acknowledged_bps", rate.as_bps_f64());
        }
        gauge("in_alr", f64::from(u8::from(self.alr.started().is_some())));
        if let Some(window) = self.pushback.window() {
            gauge("congestion_window_bytes", window.as_bytes_f64());
        }
        gauge("pushback_drop_ratio", 1.0 - self.pushback.ratio());
    }
}

#[cfg(test)]
#[path = "gcc_tests.rs"]
mod tests;
