//! The target: the minimum of what delay, loss and the receiver allow, and less if round trips
//! exceed their limit. libwebrtc's `SendSideBandwidthEstimation` [libwebrtc-m150].
//!
//! Until the loss-based estimate is ready the old rules apply: below 2 % loss 8 % per second above the
//! minimum target of the last second, above 10 % minus half the loss ratio.

use super::feedback::Feedback;
use super::loss_based::{LossBased, LossState, MIN_BITRATE};
use super::loss_config::LossConfig;
use super::rtt_backoff::{RttBackoff, RttBackoffConfig};
use legato_control::RateLimits;
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Combines the estimates.
#[derive(Clone, Debug)]
pub struct SendSide {
    backoff: RttBackoff,
    loss_based: LossBased,
    loss_config: LossConfig,
    loss_state: LossState,
    target: DataRate,
    min: DataRate,
    max: DataRate,
    receiver_limit: Option<DataRate>,
    delay_limit: Option<DataRate>,
    rtt: TimeDelta,
    last_decrease: Option<Timestamp>,
    /// Targets of the last second, ascending: the front is the minimum.
    history: VecDeque<(Timestamp, DataRate)>,
    lost: u64,
    expected: u64,
    loss_ratio: f64,
    decreased_since_loss: bool,
    first_report: Option<Timestamp>,
    /// When a loss ratio was last computed.
    last_loss: Option<Timestamp>,
}

impl SendSide {
    /// No target before `set_bitrates`.
    pub fn new(loss: LossConfig, backoff: RttBackoffConfig) -> Self {
        Self {
            backoff: RttBackoff::new(backoff),
            loss_based: LossBased::new(loss.clone()),
            loss_config: loss,
            loss_state: LossState::DelayBased,
            target: DataRate::ZERO,
            min: MIN_BITRATE,
            max: DEFAULT_MAX,
            receiver_limit: None,
            delay_limit: None,
            rtt: TimeDelta::ZERO,
            last_decrease: None,
            history: VecDeque::new(),
            lost: 0,
            expected: 0,
            loss_ratio: 0.0,
            decreased_since_loss: false,
            first_report: None,
            last_loss: None,
        }
    }

    /// Another route: the estimates for the old one are void. The round-trip alarm continues.
    pub fn reset(&mut self) {
        let fresh = Self::new(self.loss_config.clone(), RttBackoffConfig::default());
        *self = Self { backoff: self.backoff.clone(), ..fresh };
    }

    /// Start at `limits.start` within the limits.
    pub fn set_bitrates(&mut self, limits: RateLimits) {
        self.min = limits.min.max(MIN_BITRATE);
        self.max = if limits.max > DataRate::ZERO { limits.max.min(DEFAULT_MAX) } else { DEFAULT_MAX };
        self.max = self.max.max(self.min);
        self.loss_based.set_bounds(self.min, self.max);
        self.set_send_rate(limits.start);
    }

    /// Set `rate` outright, as from a probe.
    pub fn set_send_rate(&mut self, rate: DataRate) {
        self.delay_limit = None;
        self.set_target(rate);
        self.history.clear();
    }

    /// The delay-based estimate.
    pub fn set_delay_based(&mut self, rate: DataRate) {
        self.delay_limit = Some(rate).filter(|rate| *rate > DataRate::ZERO);
        self.set_target(self.target);
    }

    /// The receiver's estimate caps the target; zero lifts the cap.
    pub fn set_receiver_limit(&mut self, rate: DataRate, now: Timestamp) {
        self.receiver_limit = Some(rate).filter(|rate| *rate > DataRate::ZERO);
        self.trust_at_start(now);
    }

    /// Set the acknowledged rate.
    pub fn set_acknowledged(&mut self, rate: Option<DataRate>) {
        if let Some(rate) = rate {
            self.loss_based.set_acknowledged(rate);
        }
    }

    /// Set the round-trip time.
    pub fn set_rtt(&mut self, rtt: TimeDelta) {
        if rtt > TimeDelta::ZERO {
            self.rtt = rtt;
        }
    }

    /// A packet left.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp) {
        self.backoff.on_sent(now);
    }

    /// Feedback came with this round trip.
    pub fn on_propagation_rtt(&mut self, now: Timestamp, rtt: TimeDelta) {
        self.backoff.on_rtt(now, rtt);
    }

    /// `lost` of `expected` packets were lost since the last call.
    pub fn on_loss(&mut self, lost: u64, expected: u64, now: Timestamp) {
        self.first_report.get_or_insert(now);
        self.lost += lost;
        self.expected += expected;
        // Not enough for a ratio yet: accumulate.
        if self.expected < MIN_LOSS_PACKETS || expected == 0 {
            return;
        }
        // A receiver report carries eighths of a percent; smaller ratios count as zero.
        self.loss_ratio = ((self.lost << 8) / self.expected).min(255) as f64 / 256.0;
        (self.lost, self.expected) = (0, 0);
        self.decreased_since_loss = false;
        self.last_loss = Some(now);
        self.update(now);
    }

    /// Update the loss-based estimate with a feedback, then the target.
    #[inline]
    pub fn on_feedback(&mut self, feedback: &Feedback<'_>, in_alr: bool, now: Timestamp) {
        self.loss_based.update(feedback, self.delay_limit, in_alr);
        self.update(now);
    }

    /// The target under all limits.
    #[inline]
    pub fn target(&self) -> DataRate {
        self.target.min(self.receiver_limit.unwrap_or(DataRate::MAX)).max(self.min)
    }

    /// The delay-based limit, for the gauges.
    pub fn delay_limit(&self) -> Option<DataRate> {
        self.delay_limit
    }

    /// The loss-based estimator, for the gauges.
    pub fn loss_based(&self) -> &LossBased {
        &self.loss_based
    }

    /// Which signal limits the estimate.
    #[inline]
    pub fn loss_state(&self) -> LossState {
        self.loss_state
    }

    /// The share of packets lost recently.
    pub fn loss_ratio(&self) -> f64 {
        self.loss_ratio
    }

    /// The minimum target.
    pub fn min(&self) -> DataRate {
        self.min
    }

    /// The round trip is beyond its limit.
    #[inline]
    pub fn is_rtt_above_limit(&self) -> bool {
        self.backoff.is_above_limit()
    }

    /// When the next cut is due while it is.
    pub fn next_cut(&self, now: Timestamp) -> Option<Timestamp> {
        let due = self.is_rtt_above_limit() && self.backoff.reduce(self.target).is_some();
        due.then(|| self.last_decrease.map_or(now, |last| last + self.backoff.interval()))
    }

    /// Cut the target if a cut is due.
    pub fn back_off(&mut self, now: Timestamp) {
        let due = self.last_decrease.is_none_or(|last| now - last >= self.backoff.interval());
        if let (true, Some(reduced)) = (due, self.backoff.reduce(self.target)) {
            self.last_decrease = Some(now);
            self.set_target(reduced);
        }
    }

    fn update(&mut self, now: Timestamp) {
        if self.is_rtt_above_limit() {
            return self.back_off(now);
        }
        if self.trust_at_start(now) {
            return;
        }
        let Some(last_loss) = self.last_loss else {
            self.remember(now);
            return self.set_target(self.target);
        };
        if self.loss_based.is_ready() {
            self.loss_state = self.loss_based.state();
            if let Some(estimate) = self.loss_based.estimate() {
                self.set_target(estimate);
            }
            return;
        }
        self.remember(now);
        if now - last_loss < LOSS_TIMEOUT {
            self.follow_loss(now);
        }
        self.set_target(self.target);
    }

    /// Within 2 s of the first report and without loss, the delay and receiver estimates are
    /// adopted at once, so that probes can start the call.
    fn trust_at_start(&mut self, now: Timestamp) -> bool {
        let at_start = self.first_report.is_none_or(|first| now - first < START_PHASE);
        if self.loss_ratio > 0.0 || !at_start || self.loss_based.is_ready_in_start_phase() {
            return false;
        }
        let rate = [self.receiver_limit, self.delay_limit].into_iter().flatten().fold(self.target, DataRate::max);
        if rate == self.target {
            return false;
        }
        self.history.clear();
        self.history.push_back((now, self.target));
        self.set_target(rate);
        true
    }

    fn follow_loss(&mut self, now: Timestamp) {
        if self.loss_ratio <= LOW_LOSS {
            let minimum = self.history.front().map_or(self.target, |minimum| minimum.1);
            self.target = DataRate::from_bps((minimum.as_bps_f64() * 1.08 + 0.5) as u64 + 1_000);
        } else if self.loss_ratio > HIGH_LOSS
            && !self.decreased_since_loss
            && self.last_decrease.is_none_or(|last| now - last >= DECREASE_INTERVAL + self.rtt)
        {
            self.last_decrease = Some(now);
            self.decreased_since_loss = true;
            self.target = self.target.scale(1.0 - 0.5 * self.loss_ratio);
        }
    }

    /// A sliding minimum over a second; times are whole milliseconds, so half of one is given.
    fn remember(&mut self, now: Timestamp) {
        let old = |entry: &(Timestamp, DataRate)| now - entry.0 + TimeDelta::from_millis(1) > INCREASE_INTERVAL;
        while self.history.front().is_some_and(old) {
            self.history.pop_front();
        }
        while self.history.back().is_some_and(|entry| self.target <= entry.1) {
            self.history.pop_back();
        }
        self.history.push_back((now, self.target));
    }

    fn set_target(&mut self, rate: DataRate) {
        self.target = rate.min(self.delay_limit.unwrap_or(DataRate::MAX)).min(self.max).max(self.min);
    }
}

// [libwebrtc-m150] send_side_bandwidth_estimation.
const DEFAULT_MAX: DataRate = DataRate::from_mbps(1_000);
const START_PHASE: TimeDelta = TimeDelta::from_secs(2);
const MIN_LOSS_PACKETS: u64 = 20;
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const INCREASE_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
const DECREASE_INTERVAL: TimeDelta = TimeDelta::from_millis(300);
/// 1.2 times the longest interval of receiver reports, 5 s.
const LOSS_TIMEOUT: TimeDelta = TimeDelta::from_secs(6);

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::PacketReports;

    fn send_side() -> SendSide {
        let mut side = SendSide::new(LossConfig::default(), RttBackoffConfig::default());
        side.set_bitrates(RateLimits {
            min: DataRate::from_kbps(100),
            start: DataRate::from_kbps(1_000),
            max: DataRate::from_kbps(1_500),
        });
        side
    }

    fn kbps(kbps: u64) -> DataRate {
        DataRate::from_kbps(kbps)
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn a_remote_estimate_is_taken_at_once_at_the_start_and_caps_later() {
        let mut side = send_side();
        side.set_receiver_limit(kbps(1_200), at(0));
        assert_eq!(side.target(), kbps(1_200));
        side.set_receiver_limit(kbps(250), at(10_000));
        assert_eq!(side.target(), kbps(250));
        side.set_receiver_limit(DataRate::ZERO, at(11_000));
        assert_eq!(side.target(), kbps(1_200), "lifted");
    }

    #[test]
    fn the_delay_based_estimate_is_followed_up_at_the_start_only() {
        let mut side = send_side();
        side.set_delay_based(kbps(1_300));
        side.on_feedback(&Feedback::of(&PacketReports::default()), false, at(100));
        assert_eq!(side.target(), kbps(1_300));
        side.on_loss(0, 50, at(100));
        side.set_delay_based(kbps(900));
        side.on_feedback(&Feedback::of(&PacketReports::default()), false, at(2_200));
        assert_eq!(side.target(), kbps(900));
        side.set_delay_based(kbps(1_400));
        side.on_feedback(&Feedback::of(&PacketReports::default()), false, at(2_300));
        // 8 % and 1 kbit/s above the minimum of the last second.
        assert_eq!(side.target(), kbps(973));
    }

    #[test]
    fn above_ten_percent_half_the_loss_is_subtracted_once_per_report() {
        let mut side = send_side();
        side.on_loss(0, 20, at(0));
        side.set_send_rate(kbps(1_000));
        side.on_loss(10, 19, at(2_500));
        assert_eq!(side.target(), kbps(1_000), "nineteen packets are too few");
        side.on_loss(15, 31, at(3_000));
        assert_eq!(side.loss_ratio(), 0.5);
        assert_eq!(side.target(), kbps(750));
        side.on_feedback(&Feedback::of(&PacketReports::default()), false, at(5_000));
        assert_eq!(side.target(), kbps(750));
    }

    #[test]
    fn loss_between_two_and_ten_percent_holds() {
        let mut side = send_side();
        side.on_loss(5, 100, at(2_500));
        side.on_loss(5, 100, at(3_500));
        assert_eq!(side.target(), kbps(1_000));
    }

    #[test]
    fn round_trips_beyond_the_limit_cut_once_a_second() {
        let mut side = send_side();
        side.on_sent(at(0));
        side.on_sent(at(3_001));
        assert_eq!(side.next_cut(at(3_001)), Some(at(3_001)));
        side.back_off(at(3_001));
        side.back_off(at(3_500));
        assert_eq!(side.target(), kbps(800));
        assert_eq!(side.next_cut(at(3_500)), Some(at(4_001)));
        side.back_off(at(4_001));
        assert_eq!(side.target(), kbps(640));
    }
}
