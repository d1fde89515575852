//! When to probe, and how fast. It probes at 3 and 6 times the start rate, at twice the rate that a probe reached, and
//! every 5 s while the application is the limit. It also does when the application's needs change, and after a drop
//! that has recovered. Never while queues grow, the round trip is beyond its limit or loss limits the estimate.
//! libwebrtc's `ProbeController` [libwebrtc-m150].

use legato_control::ProbeCluster;
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of probing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeConfig {
    /// Whether to probe at all.
    pub enabled: bool,
    /// The rates of the first two probes, as multiples of the start rate; where the second is 0, only one is sent.
    #[schemars(inner(range(min = 0, max = 1_000)))]
    pub initial_ratios: [f64; 2],
    /// The rate of the probe that follows a successful one, as a multiple of the estimate.
    #[schemars(range(min = 0, max = 1_000))]
    pub further_ratio: f64,
    /// A probe is successful when the estimate exceeds this share of its rate.
    #[schemars(range(min = 0, max = 1_000))]
    pub further_threshold_ratio: f64,
    /// Whether to stop probing further once the application's needs are met.
    pub abort_further: bool,
    /// Whether to probe again every second after the start, until `repeated_initial_ms` has passed or media is
    /// allocated.
    pub repeated_initial: bool,
    /// How long the first probe is repeated.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub repeated_initial_ms: u32,
    /// Whether to probe regularly while the application is the limit.
    pub alr: bool,
    /// The time between two such probes.
    #[schemars(range(min = 25, max = 1_000_000_000))]
    pub alr_interval_ms: u32,
    /// The rate of such a probe, as a multiple of the estimate.
    #[schemars(range(min = 0, max = 1_000))]
    pub alr_ratio: f64,
    /// The rate that all streams together want; probes go up to twice this. Zero: the maximum of the call's limits.
    #[schemars(range(min = 0, max = 1e10))]
    pub allocated_bps: u64,
    /// A sender without frames for this long has no allocation; its next frame is a new one.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub allocation_timeout_ms: u32,
    /// The rates of the probes after a new allocation while the application is the limit, as multiples of the
    /// allocation; where the first is 0, none is sent.
    #[schemars(inner(range(min = 0, max = 1_000)))]
    pub allocation_ratios: [f64; 2],
    /// The bound of these probes, as a multiple of the estimate.
    #[schemars(range(min = 0, max = 1_000))]
    pub allocation_limit_ratio: f64,
    /// While loss limits but the estimate grows, probe at most at this multiple of the estimate.
    #[schemars(range(min = 0, max = 1_000))]
    pub loss_limited_ratio: f64,
    /// Do not probe while the estimate exceeds this share of the maximum probe; zero: always probe.
    #[schemars(range(min = 0, max = 1_000))]
    pub skip_above_ratio: f64,
    /// The minimum number of packets of a probe.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_packets: u32,
    /// The minimum duration of a probe.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_duration_ms: u32,
    /// The minimum time between two bursts of a probe.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub min_delta_ms: u32,
    /// The minimum duration of a repeated first probe.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub initial_duration_ms: u32,
    /// The minimum time between two bursts of a repeated first probe.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub initial_delta_ms: u32,
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            initial_ratios: [3.0, 6.0],
            further_ratio: 2.0,
            further_threshold_ratio: 0.7,
            abort_further: false,
            repeated_initial: false,
            repeated_initial_ms: 5_000,
            alr: true,
            alr_interval_ms: 5_000,
            alr_ratio: 2.0,
            allocated_bps: 0,
            allocation_timeout_ms: 2_000,
            allocation_ratios: [1.0, 2.0],
            allocation_limit_ratio: 2.0,
            loss_limited_ratio: 1.5,
            skip_above_ratio: 0.0,
            min_packets: 5,
            min_duration_ms: 15,
            min_delta_ms: 2,
            initial_duration_ms: 100,
            initial_delta_ms: 20,
        }
    }
}

/// What limits the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitedBy {
    /// The delay-based estimate, with calm queues.
    #[default]
    Delay,
    /// The delay-based estimate, with growing or draining queues.
    DelayIncreased,
    /// A round trip beyond its limit.
    HighRtt,
    /// Loss.
    Loss,
    /// Loss, but the estimate grows.
    LossIncreasing,
}

/// Decides on probes; they wait here until the pacer polls.
#[derive(Clone, Debug)]
pub struct ProbeController {
    config: ProbeConfig,
    state: State,
    limited_by: LimitedBy,
    estimate: DataRate,
    max: DataRate,
    allocated: DataRate,
    initiated: Timestamp,
    /// While waiting: an estimate above this triggers a further probe.
    further_above: Option<DataRate>,
    repeat_until: Option<Timestamp>,
    alr_started: Option<Timestamp>,
    alr_ended: Option<Timestamp>,
    dropped: Timestamp,
    before_drop: DataRate,
    drop_probed: Timestamp,
    next_id: u32,
    pending: VecDeque<ProbeCluster>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Complete,
    Init,
    Waiting,
}

impl ProbeController {
    /// Nothing known, nothing requested.
    pub fn new(config: ProbeConfig, now: Timestamp) -> Self {
        let allocated = DataRate::from_bps(config.allocated_bps);
        Self {
            config,
            state: State::Init,
            limited_by: LimitedBy::Delay,
            estimate: DataRate::ZERO,
            max: DEFAULT_MAX,
            allocated,
            initiated: now,
            further_above: None,
            repeat_until: None,
            alr_started: None,
            alr_ended: None,
            dropped: now,
            before_drop: DataRate::ZERO,
            drop_probed: now,
            next_id: 1,
            pending: VecDeque::new(),
        }
    }

    /// Start over on another route; the allocation and the numbering of clusters continue.
    pub fn reset(&mut self, now: Timestamp) {
        let fresh = Self::new(self.config.clone(), now);
        *self = Self { allocated: self.allocated, next_id: self.next_id, alr_started: self.alr_started, ..fresh };
    }

    /// The next cluster to send.
    #[inline]
    pub fn poll(&mut self) -> Option<ProbeCluster> {
        self.pending.pop_front()
    }

    /// The application's start rate and bound. The first call starts the initial probes, later ones
    /// probe if the bound rises above the estimate.
    pub fn set_bitrates(&mut self, start: DataRate, max: DataRate, now: Timestamp) {
        self.estimate = start;
        let raised = self.max < max;
        self.max = max;
        if self.config.allocated_bps == 0 && self.allocated > DataRate::ZERO {
            self.allocated = max;
        }
        match self.state {
            State::Init => {
                if self.config.repeated_initial && self.allocated == DataRate::ZERO {
                    self.repeat_until = Some(now + ms(self.config.repeated_initial_ms));
                }
                let rates = self.config.initial_ratios.map(|ratio| start.scale(ratio));
                self.initiate(now, &rates, true);
            }
            State::Complete if raised && self.estimate < self.max => self.initiate(now, &[self.max], false),
            State::Complete | State::Waiting => {}
        }
    }

    /// The rate that all streams together want while there are frames.
    pub fn wanted(&self) -> DataRate {
        if self.config.allocated_bps == 0 { self.max } else { DataRate::from_bps(self.config.allocated_bps) }
    }

    /// The rate that all streams together want changed: while the application is the limit, find out whether there is room.
    pub fn set_allocated(&mut self, allocated: DataRate, now: Timestamp) {
        let worth_it = self.state == State::Complete
            && allocated != self.allocated
            && self.estimate < self.max.min(allocated)
            && self.alr_started.is_some();
        self.allocated = allocated;
        if !worth_it {
            if allocated > DataRate::ZERO {
                self.repeat_until = None;
            }
            return;
        }
        let limit = self.estimate.scale(self.config.allocation_limit_ratio);
        let [first, second] = self.config.allocation_ratios.map(|ratio| allocated.scale(ratio));
        if first == DataRate::ZERO {
            return;
        }
        let first_probe = first.min(limit);
        if first > limit || second.min(limit) <= first_probe {
            self.initiate(now, &[first_probe], first > limit);
        } else {
            self.initiate(now, &[first_probe, second.min(limit)], second > limit);
        }
    }

    /// The estimate may have changed; while waiting, a high one triggers a further probe.
    pub fn set_estimate(&mut self, estimate: DataRate, limited_by: LimitedBy, now: Timestamp) {
        self.limited_by = limited_by;
        if estimate == self.estimate && self.state != State::Waiting {
            return;
        }
        if estimate < self.estimate.scale(DROP_RATIO) {
            self.dropped = now;
            self.before_drop = self.estimate;
        }
        self.estimate = estimate;
        if self.state != State::Waiting {
            return;
        }
        let wanted = self.allocated.scale(2.0);
        let met = estimate > self.max || (wanted > DataRate::ZERO && estimate > wanted);
        if self.config.abort_further && met {
            self.further_above = None;
        }
        if self.further_above.is_some_and(|threshold| estimate > threshold) {
            self.initiate(now, &[estimate.scale(self.config.further_ratio)], true);
        }
    }

    /// Since when the application is the limit.
    pub fn set_alr_started(&mut self, started: Option<Timestamp>) {
        self.alr_started = started;
    }

    /// The application is no longer the limit.
    pub fn set_alr_ended(&mut self, now: Timestamp) {
        self.alr_ended = Some(now);
    }

    /// Queues are back to normal after over-use: if the rate recently dropped by a third and the
    /// application is the limit, check whether the old rate is available again.
    pub fn request_after_drop(&mut self, now: Timestamp) {
        let ended_recently = self.alr_ended.is_some_and(|ended| now - ended < ALR_ENDED_TIMEOUT);
        if self.state != State::Complete || !(self.alr_started.is_some() || ended_recently) {
            return;
        }
        let rate = self.before_drop.scale(AFTER_DROP_RATIO);
        if rate.scale(1.0 - PROBE_UNCERTAINTY) > self.estimate
            && now - self.dropped < DROP_TIMEOUT
            && now - self.drop_probed > DROP_PROBE_INTERVAL
        {
            self.drop_probed = now;
            self.initiate(now, &[rate], false);
        }
    }

    /// Time passed.
    pub fn process(&mut self, now: Timestamp) {
        if self.state == State::Waiting && now - self.initiated >= RESULT_TIMEOUT {
            self.complete();
        }
        if self.state != State::Complete || self.estimate == DataRate::ZERO {
            return;
        }
        if self.repeat_due().is_some_and(|due| now >= due) {
            self.initiate(now, &[self.estimate.scale(self.config.initial_ratios[0])], true);
        } else if self.alr_due().is_some_and(|due| now >= due) {
            self.initiate(now, &[self.estimate.scale(self.config.alr_ratio)], true);
        }
    }

    /// When `process` has something to do. Nothing is due while a probe would be refused: what
    /// refuses it changes only with feedback.
    pub fn next_due(&self) -> Option<Timestamp> {
        match self.state {
            State::Init => None,
            State::Waiting => Some(self.initiated + RESULT_TIMEOUT),
            State::Complete if self.is_refused() => None,
            State::Complete => match (self.repeat_due(), self.alr_due()) {
                (Some(repeat), Some(alr)) => Some(repeat.min(alr)),
                (repeat, alr) => repeat.or(alr),
            },
        }
    }

    fn repeat_due(&self) -> Option<Timestamp> {
        let due = self.initiated + RESULT_TIMEOUT;
        self.repeat_until.filter(|until| due < *until).map(|_| due)
    }

    fn alr_due(&self) -> Option<Timestamp> {
        let started = self.alr_started.filter(|_| self.config.alr)?;
        Some(started.max(self.initiated) + ms(self.config.alr_interval_ms))
    }

    fn complete(&mut self) {
        self.state = State::Complete;
        self.further_above = None;
    }

    fn max_probe(&self) -> DataRate {
        if self.allocated > DataRate::ZERO { self.max.min(self.allocated.scale(2.0)) } else { self.max }
    }

    fn is_skipped(&self) -> bool {
        let ratio = self.config.skip_above_ratio;
        let wanted = if self.allocated > DataRate::ZERO { self.max.min(self.allocated) } else { self.max };
        ratio > 0.0 && self.estimate > wanted.scale(ratio)
    }

    fn is_refused(&self) -> bool {
        let limited = matches!(self.limited_by, LimitedBy::DelayIncreased | LimitedBy::HighRtt | LimitedBy::Loss);
        limited || !self.config.enabled || self.is_skipped()
    }

    fn initiate(&mut self, now: Timestamp, rates: &[DataRate], mut further: bool) {
        if self.is_skipped() || !self.config.enabled {
            return self.complete();
        }
        if self.is_refused() {
            return;
        }
        let mut highest = self.max_probe();
        if self.limited_by == LimitedBy::LossIncreasing {
            highest = highest.min(self.estimate.scale(self.config.loss_limited_ratio));
        }
        let repeating = self.repeat_until.is_some_and(|until| now < until);
        let (duration_ms, delta_ms) = match repeating {
            true => (self.config.initial_duration_ms, self.config.initial_delta_ms),
            false => (self.config.min_duration_ms, self.config.min_delta_ms),
        };
        let mut last = DataRate::ZERO;
        for &rate in rates.iter().filter(|rate| **rate > DataRate::ZERO) {
            if rate >= highest {
                further = false;
            }
            last = rate.min(highest);
            self.pending.push_back(ProbeCluster {
                id: self.next_id,
                target_rate: last,
                min_duration: ms(duration_ms),
                min_packets: self.config.min_packets,
                min_delta: ms(delta_ms),
            });
            self.next_id = self.next_id.wrapping_add(1);
        }
        self.initiated = now;
        if further {
            self.state = State::Waiting;
            self.further_above = Some(last.scale(self.config.further_threshold_ratio));
        } else {
            self.complete();
        }
    }
}

fn ms(ms: u32) -> TimeDelta {
    TimeDelta::from_millis(i64::from(ms))
}

// [libwebrtc-m150] probe_controller.
/// If the application sets no bound.
pub const DEFAULT_MAX: DataRate = DataRate::from_mbps(5);
const RESULT_TIMEOUT: TimeDelta = TimeDelta::from_secs(1);
const DROP_RATIO: f64 = 0.66;
const DROP_TIMEOUT: TimeDelta = TimeDelta::from_secs(5);
const AFTER_DROP_RATIO: f64 = 0.85;
const ALR_ENDED_TIMEOUT: TimeDelta = TimeDelta::from_secs(3);
const DROP_PROBE_INTERVAL: TimeDelta = TimeDelta::from_secs(5);
const PROBE_UNCERTAINTY: f64 = 0.05;

#[cfg(test)]
#[path = "probe_controller_tests.rs"]
mod tests;
