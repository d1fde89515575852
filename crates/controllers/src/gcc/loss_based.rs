//! The loss-based estimate: libwebrtc's LossBasedBweV2 [libwebrtc-m150].
//!
//! Every quarter of a second the packets sent and lost become an observation. A few candidates around the present
//! estimate (and the acknowledged rate, and the delay-based estimate) get their most likely inherent loss, and the
//! likeliest becomes the estimate. Rules keep it from rising too soon. They are bounds from the delivered rate, a
//! window within which it may not grow by more than 1.3, and after every decrease a hold that doubles from 300 ms to a
//! minute.

use super::feedback::Feedback;
use super::loss_config::LossConfig;
use super::loss_model::{Channel, LossModel, Observation};
use legato_control::{PacketReport, PacketReports, RunFate};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// Which signal limits the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossState {
    /// Loss limits, and the estimate falls or is held.
    Decreasing,
    /// Loss does not limit.
    #[default]
    DelayBased,
    /// Loss limits, the estimate grows.
    Increasing,
    /// The same, and padding fills the rate.
    IncreasingWithPadding,
}

/// The loss-based estimate.
#[derive(Clone, Debug)]
pub struct LossBased {
    config: LossConfig,
    model: LossModel,
    /// Only for the average loss, if its weights differ.
    average: Option<LossModel>,
    partial: Partial,
    observed: u64,
    last_departure: Option<Timestamp>,
    best: Option<DataRate>,
    inherent_loss: f64,
    average_loss: f64,
    acknowledged: Option<DataRate>,
    min: DataRate,
    max: DataRate,
    delay_based: Option<DataRate>,
    estimate: DataRate,
    state: LossState,
    hold: Hold,
    padding: Option<Padding>,
    increase_window: Option<IncreaseWindow>,
}

/// The observation in progress.
#[derive(Clone, Debug, Default)]
struct Partial {
    bytes: u64,
    /// Lost packets by sequence number: a later feedback may remove one.
    lost: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Option<Timestamp>,
    duration: TimeDelta,
    rate: Option<DataRate>,
}

#[derive(Clone, Copy, Debug)]
struct Padding {
    since: Timestamp,
    rate: DataRate,
}

#[derive(Clone, Copy, Debug)]
struct IncreaseWindow {
    since: Timestamp,
    limit: DataRate,
}

impl LossBased {
    /// Nothing observed.
    pub fn new(config: LossConfig) -> Self {
        let model = LossModel::new(config.observations, config.temporal_weight);
        let average = (config.average_temporal_weight != config.temporal_weight)
            .then(|| LossModel::new(config.observations, config.average_temporal_weight));
        Self {
            model,
            average,
            partial: Partial::default(),
            observed: 0,
            last_departure: None,
            best: None,
            inherent_loss: config.initial_inherent_loss_ratio,
            average_loss: 0.0,
            acknowledged: None,
            min: MIN_BITRATE,
            max: DataRate::MAX,
            delay_based: None,
            estimate: DataRate::ZERO,
            state: LossState::DelayBased,
            hold: Hold::default(),
            padding: None,
            increase_window: None,
            config,
        }
    }

    /// Bounds of the estimate.
    pub fn set_bounds(&mut self, min: DataRate, max: DataRate) {
        self.min = min;
        self.max = max;
    }

    /// Set the acknowledged rate.
    pub fn set_acknowledged(&mut self, rate: DataRate) {
        self.acknowledged = Some(rate);
    }

    /// Whether there is an estimate.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.best.is_some() && self.observed >= self.config.min_observations as u64
    }

    /// Whether there is an estimate fit for the first 2 s.
    pub fn is_ready_in_start_phase(&self) -> bool {
        self.config.in_start_phase && self.is_ready()
    }

    /// The estimate; the delay-based one until ready.
    #[inline]
    pub fn estimate(&self) -> Option<DataRate> {
        if self.is_ready() { Some(self.estimate) } else { self.delay_based }
    }

    /// Which signal limits the estimate.
    #[inline]
    pub fn state(&self) -> LossState {
        if self.is_ready() { self.state } else { LossState::DelayBased }
    }

    /// The average loss, for the gauges.
    pub fn average_loss(&self) -> f64 {
        self.average_loss
    }

    /// The inherent loss, for the gauges.
    pub fn inherent_loss(&self) -> f64 {
        self.inherent_loss
    }

    /// Take a feedback; returns whether it completed an observation.
    #[inline]
    pub fn update(&mut self, feedback: &Feedback<'_>, delay_based: Option<DataRate>, in_alr: bool) -> bool {
        self.delay_based = delay_based;
        let complete = self.observe(feedback);
        if let Some(now) = complete {
            self.choose(now, in_alr);
        }
        complete.is_some()
    }

    /// Add a feedback to the observation; returns the last departure if that completes it.
    #[inline]
    fn observe(&mut self, feedback: &Feedback<'_>) -> Option<Timestamp> {
        if feedback.reports.is_empty() {
            return None;
        }
        self.partial.bytes = self.partial.bytes.saturating_add(feedback.bytes);
        if feedback.lost > 0 || !self.partial.lost.is_empty() {
            self.partial.take(feedback.reports);
        }
        let latest = feedback.last_departure;
        let begin = *self.last_departure.get_or_insert(feedback.first_departure);
        let duration = latest - begin;
        if duration <= TimeDelta::ZERO || duration < ms(self.config.observation_ms) {
            return None;
        }
        self.last_departure = Some(latest);
        let bytes = std::mem::take(&mut self.partial.bytes);
        let lost_bytes = self.partial.lost.drain(..).map(|(_, bytes)| bytes).fold(0, u64::saturating_add);
        let sending_rate = legato_units::DataSize::from_bytes(bytes) / duration;
        let observation = Observation { sending_rate, bytes, lost_bytes: lost_bytes.min(bytes) };
        self.model.push(observation);
        if let Some(average) = &mut self.average {
            average.push(observation);
        }
        self.observed += 1;
        let model = self.average.as_ref().unwrap_or(&self.model);
        self.average_loss = model.average_loss(self.observed > 3, self.config.median_rate_ratio);
        Some(latest)
    }

    /// Pick the likeliest candidate, bound it, and set the state; `now` is the last departure.
    fn choose(&mut self, now: Timestamp, in_alr: bool) {
        if self.best.is_none() {
            let Some(delay_based) = self.delay_based else { return };
            self.best = Some(delay_based);
            self.estimate = delay_based;
            self.state = LossState::DelayBased;
        }
        let Some(current) = self.best else { return };
        let mut best = self.likeliest(current, now, in_alr);
        if self.config.hold_above_inherent_loss && self.average_loss > best.inherent_loss {
            best.bandwidth = best.bandwidth.min(current);
        }
        if self.state != LossState::DelayBased {
            best.bandwidth = self.ramp(current, best.bandwidth, now);
        }
        let bounded = self
            .lower_bound()
            .max(best.bandwidth.min(self.upper_bound()).min(self.delay_based.unwrap_or(DataRate::MAX)));
        if self.config.bound_best_candidate && bounded < best.bandwidth {
            self.best = Some(bounded);
            self.inherent_loss = 0.0;
        } else {
            let floor = if self.config.lower_bound_ratio > 0.0 { self.lower_bound() } else { DataRate::ZERO };
            self.best = Some(best.bandwidth.max(floor));
            self.inherent_loss = best.inherent_loss;
        }
        self.settle(bounded, now);
    }

    fn likeliest(&self, current: DataRate, now: Timestamp, in_alr: bool) -> Channel {
        let mut best = Channel { inherent_loss: self.inherent_loss, bandwidth: current };
        let mut best_score = f64::MIN;
        let padded = self.padding.is_some_and(|padding| padding.since + ms(self.config.padding_ms) >= now);
        let use_acknowledged = !(self.config.ignore_acknowledged_in_alr && in_alr) || padded;
        let [up, same, down] = self.config.candidate_ratios.map(|ratio| Some(current.scale(ratio)));
        let acknowledged = self.acknowledged.filter(|_| use_acknowledged);
        let acknowledged = acknowledged.map(|rate| rate.scale(self.config.acknowledged_candidate_ratio));
        let delay_based = self.delay_based.filter(|rate| self.config.delay_based_candidate && *rate > current);
        let in_window = self.increase_window.filter(|_| self.state != LossState::DelayBased);
        let maximum = current.max(in_window.map_or(self.max, |window| window.limit));
        let candidates = [up, same, down, acknowledged, delay_based].map(|rate| rate.map(|rate| rate.min(maximum)));
        for (place, bandwidth) in candidates.into_iter().enumerate() {
            // Bounds make candidates equal, and equal ones score the same.
            let Some(bandwidth) = bandwidth.filter(|_| !candidates[..place].contains(&bandwidth)) else { continue };
            let mut candidate = Channel { inherent_loss: self.inherent_loss, bandwidth };
            candidate.inherent_loss = self.feasible(candidate);
            for _ in 0..self.config.newton_iterations {
                self.refine(&mut candidate);
            }
            let score = self.model.objective(candidate, self.bias(bandwidth));
            if score > best_score || (score == best_score && bandwidth > best.bandwidth) {
                best_score = score;
                best = candidate;
            }
        }
        best
    }

    /// One step of Newton's method on the inherent loss.
    fn refine(&self, candidate: &mut Channel) {
        let before = candidate.inherent_loss;
        let minimum = self.model.min_newton_step(*candidate);
        if minimum.is_some_and(|step| before - self.config.newton_step * step <= self.config.min_inherent_loss_ratio) {
            candidate.inherent_loss = 0.0;
        } else {
            candidate.inherent_loss = before - self.config.newton_step * self.model.newton_step(*candidate);
        }
        candidate.inherent_loss = self.feasible(*candidate);
    }

    /// While loss limits, how far the estimate may move from `current` towards `wanted`.
    fn ramp(&self, current: DataRate, mut wanted: DataRate, now: Timestamp) -> DataRate {
        if let Some(window) = self.increase_window
            && window.since + ms(self.config.increase_window_ms) > now
        {
            wanted = wanted.min(window.limit);
        }
        let Some(acknowledged) = self.acknowledged.filter(|_| self.is_increase(current, wanted)) else { return wanted };
        let held = self.hold.rate.is_some_and(|rate| acknowledged < rate.scale(self.config.hold_threshold_ratio));
        let ratio = if held { self.config.ramp_up_in_hold_ratio } else { self.config.ramp_up_ratio };
        wanted = wanted.min(acknowledged.scale(ratio)).max(current);
        if self.state == LossState::Decreasing && wanted == current {
            // One bit more makes it an increase, and an increase pads.
            wanted = current + DataRate::from_bps(1);
        }
        wanted
    }

    fn settle(&mut self, bounded: DataRate, now: Timestamp) {
        let below_delay_based = self.delay_based.is_none_or(|rate| bounded < rate);
        if self.state == LossState::Decreasing && self.hold.until.is_some_and(|until| until > now) && below_delay_based
        {
            if self.config.lower_bound_ratio > 0.0 {
                self.hold.rate = self.hold.rate.map(|rate| rate.max(self.lower_bound()));
            }
            self.estimate = self.hold.rate.map_or(bounded, |rate| rate.min(bounded));
            return;
        }
        let limited = below_delay_based && bounded < self.max;
        if limited && self.is_increase(self.estimate, bounded) && self.may_keep_increasing(bounded, now) {
            self.state = LossState::Increasing;
            if self.config.padding_ms > 0 {
                self.state = LossState::IncreasingWithPadding;
                if self.padding.is_none_or(|padding| bounded > padding.rate) {
                    self.padding = Some(Padding { since: now, rate: bounded });
                }
            }
        } else if limited {
            if self.state != LossState::Decreasing && self.config.hold_ratio > 0.0 {
                let duration = self.hold.duration;
                let next = TimeDelta::from_secs_f64(duration.as_secs_f64() * self.config.hold_ratio);
                self.hold = Hold { until: Some(now + duration), duration: next.min(MAX_HOLD), rate: Some(bounded) };
            }
            self.padding = None;
            self.state = LossState::Decreasing;
        } else {
            self.hold = Hold::default();
            self.padding = None;
            self.state = LossState::DelayBased;
        }
        self.estimate = bounded;
        let window_over =
            self.increase_window.is_none_or(|window| window.since + ms(self.config.increase_window_ms) < now);
        if self.state != LossState::DelayBased && window_over {
            let best = self.best.unwrap_or(bounded);
            let limit = best.scale(self.config.max_increase_ratio).max(MIN_BITRATE);
            self.increase_window = Some(IncreaseWindow { since: now, limit });
        }
    }

    fn is_increase(&self, from: DataRate, to: DataRate) -> bool {
        let increasing = matches!(self.state, LossState::Increasing | LossState::IncreasingWithPadding);
        self.state != LossState::DelayBased && (from < to || (from == to && increasing))
    }

    fn may_keep_increasing(&self, estimate: DataRate, now: Timestamp) -> bool {
        self.config.padding_ms == 0
            || self.state != LossState::IncreasingWithPadding
            || self
                .padding
                .is_none_or(|padding| padding.since + ms(self.config.padding_ms) >= now || padding.rate < estimate)
    }

    fn feasible(&self, channel: Channel) -> f64 {
        let balance_bps = self.config.max_inherent_loss_balance_bps as f64;
        let maximum = match channel.bandwidth.as_bps() {
            0 => 1.0,
            bps => (self.config.max_inherent_loss_offset_ratio + balance_bps / bps as f64).min(1.0),
        };
        channel.inherent_loss.max(self.config.min_inherent_loss_ratio).min(maximum)
    }

    /// Bias towards a bandwidth per kilobyte sent; against it if the average loss is high.
    fn bias(&self, bandwidth: DataRate) -> f64 {
        let kbps = bandwidth.as_kbps_f64();
        let excess = self.config.bias_loss_threshold_ratio - self.average_loss;
        let turn = excess / (self.config.bias_smoothing + excess.abs());
        turn * (self.config.bandwidth_bias * kbps + self.config.log_bandwidth_bias * libm::log(1.0 + kbps))
    }

    fn upper_bound(&self) -> DataRate {
        let excess = self.average_loss - self.config.upper_bound_loss_offset_ratio;
        if excess <= 0.0 {
            return self.max;
        }
        DataRate::from_bps_f64(self.config.upper_bound_balance_bps as f64 / excess)
    }

    fn lower_bound(&self) -> DataRate {
        let acknowledged = self.acknowledged.map(|rate| rate.scale(self.config.lower_bound_ratio));
        acknowledged.unwrap_or(DataRate::ZERO).max(self.min)
    }
}

impl Partial {
    fn take(&mut self, reports: &PacketReports) {
        for run in reports.runs() {
            if run.fate == RunFate::Missing {
                run.reports().for_each(|report| self.lose(&report));
            } else {
                let first = run.burst.first.transport_seq;
                let end = first + u64::from(run.burst.packets);
                self.lost.retain(|&(seq, _)| !(first..end).contains(&seq));
            }
        }
    }

    fn lose(&mut self, report: &PacketReport) {
        let entry = (report.transport_seq, report.size.as_bytes());
        match self.lost.binary_search_by_key(&report.transport_seq, |lost| lost.0) {
            Ok(index) => self.lost[index] = entry,
            Err(index) => self.lost.insert(index, entry),
        }
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self { until: None, duration: INITIAL_HOLD, rate: None }
    }
}

fn ms(ms: u32) -> TimeDelta {
    TimeDelta::from_millis(i64::from(ms))
}

// [libwebrtc-m150] loss_based_bwe_v2 and bwe_defines.
/// The minimum rate of congestion control.
pub const MIN_BITRATE: DataRate = DataRate::from_kbps(5);
const INITIAL_HOLD: TimeDelta = TimeDelta::from_millis(300);
const MAX_HOLD: TimeDelta = TimeDelta::from_secs(60);

#[cfg(test)]
#[path = "loss_based_tests.rs"]
mod tests;
