//! The delay-based rate goes up by 8 % a second while the path is unknown, and by about one packet per response time
//! near the rate at which it filled up before. It goes down to 0.85 of the acknowledged rate when queues grow. This is
//! libwebrtc's `AimdRateControl` [libwebrtc-m150].

use legato_control::estimate::{link_capacity::LinkCapacity, overuse::BandwidthUsage};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the delay-based rate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AimdConfig {
    /// After over-use the rate is this share of the acknowledged rate, minus 5 kbit/s where that is less.
    #[schemars(range(min = 0.01, max = 0.99))]
    pub backoff_ratio: f64,
    /// Whether the rate stays while the application does not fill it.
    pub hold_in_alr: bool,
}

impl Default for AimdConfig {
    fn default() -> Self {
        Self { backoff_ratio: 0.85, hold_in_alr: false }
    }
}

/// Additive increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Aimd {
    config: AimdConfig,
    backoff_offset: DataRate,
    ln_increase_per_s: f64,
    min: DataRate,
    rate: DataRate,
    throughput: DataRate,
    link_capacity: LinkCapacity,
    state: State,
    initialised: bool,
    in_alr: bool,
    rtt: TimeDelta,
    changed: Option<Timestamp>,
    first_throughput: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Decrease,
    Hold,
    Increase,
}

impl Aimd {
    /// Not initialised: the rate is the configured maximum of 30 Mbit/s until set or measured.
    pub fn new(config: AimdConfig, min: DataRate) -> Self {
        Self {
            config,
            backoff_offset: BACKOFF_OFFSET,
            ln_increase_per_s: libm::log(INCREASE_PER_S),
            min,
            rate: INITIAL_MAX,
            throughput: INITIAL_MAX,
            link_capacity: LinkCapacity::default(),
            state: State::Hold,
            initialised: false,
            in_alr: false,
            rtt: DEFAULT_RTT,
            changed: None,
            first_throughput: None,
        }
    }

    /// The generation that ran at the receiver took nothing off a back-off and knew no application-limited region.
    pub fn at_receiver(backoff_ratio: f64, min: DataRate) -> Self {
        let config = AimdConfig { backoff_ratio, hold_in_alr: false };
        Self { backoff_offset: DataRate::ZERO, ..Self::new(config, min) }
    }

    /// Start at `rate`.
    pub fn set_start(&mut self, rate: DataRate) {
        self.rate = rate;
        self.throughput = rate;
        self.initialised = true;
    }

    /// Never below `min` from now on.
    pub fn set_min(&mut self, min: DataRate) {
        self.min = min;
        self.rate = self.rate.max(min);
    }

    /// Set the round-trip time.
    pub fn set_rtt(&mut self, rtt: TimeDelta) {
        self.rtt = rtt;
    }

    /// Whether the application leaves the rate unused.
    pub fn set_in_alr(&mut self, in_alr: bool) {
        self.in_alr = in_alr;
    }

    /// Set `rate` outright, as from a probe.
    pub fn set_estimate(&mut self, rate: DataRate, now: Timestamp) {
        self.initialised = true;
        self.rate = rate.max(self.min);
        self.changed = Some(now);
    }

    /// The rate has been set or measured.
    pub fn is_initialised(&self) -> bool {
        self.initialised
    }

    /// The delay-based rate.
    pub fn rate(&self) -> DataRate {
        self.rate
    }

    /// Over-use continues: has the last change had time to show (one round trip), or is less than
    /// half of the rate delivered?
    pub fn time_to_reduce_further(&self, now: Timestamp, throughput: DataRate) -> bool {
        let interval = self.rtt.clamp(MIN_REDUCTION_INTERVAL, MAX_REDUCTION_INTERVAL);
        self.changed.is_none_or(|changed| now - changed >= interval)
            || (self.initialised && throughput < self.rate.scale(0.5))
    }

    /// The same before any delivered rate was measured.
    pub fn initial_time_to_reduce_further(&self, now: Timestamp) -> bool {
        let just_below_half = self.rate.scale(0.5).saturating_sub(DataRate::from_bps(1));
        self.initialised && self.time_to_reduce_further(now, just_below_half)
    }

    /// One step, given the detector's verdict and the delivered rate.
    pub fn update(&mut self, usage: BandwidthUsage, throughput: Option<DataRate>, now: Timestamp) -> DataRate {
        if let (false, Some(measured)) = (self.initialised, throughput) {
            let first = *self.first_throughput.get_or_insert(now);
            if now - first > INITIALISATION {
                self.rate = measured;
                self.initialised = true;
            }
        }
        self.throughput = throughput.unwrap_or(self.throughput);
        // Over-use is acted on even before there is an estimate.
        if !self.initialised && usage != BandwidthUsage::Overusing {
            return self.rate;
        }
        self.state = match (usage, self.state) {
            (BandwidthUsage::Overusing, _) => State::Decrease,
            (BandwidthUsage::Underusing, _) => State::Hold,
            (BandwidthUsage::Normal, State::Hold) => {
                self.changed = Some(now);
                State::Increase
            }
            (BandwidthUsage::Normal, state) => state,
        };
        match self.state {
            State::Decrease => self.decrease(now),
            State::Hold => {}
            State::Increase => self.increase(now),
        }
        self.rate = self.rate.max(self.min);
        self.rate
    }

    fn increase(&mut self, now: Timestamp) {
        if self.link_capacity.upper_bound().is_some_and(|upper| self.throughput > upper) {
            self.link_capacity.reset();
        }
        let limit = if self.in_alr && self.config.hold_in_alr {
            self.rate
        } else {
            DataRate::from_bps_f64(self.throughput.as_bps_f64() * INCREASE_LIMIT + INCREASE_SLACK_BPS)
        };
        if self.rate < limit {
            let since_s = (now - self.changed.unwrap_or(now)).as_secs_f64();
            let step_bps = if self.link_capacity.estimate().is_some() {
                self.near_max_increase_bps_per_s() * since_s
            } else {
                let factor = libm::exp(self.ln_increase_per_s * since_s.min(1.0));
                (self.rate.as_bps_f64() * (factor - 1.0)).max(MIN_INCREASE_BPS)
            };
            self.rate = DataRate::from_bps_f64(self.rate.as_bps_f64() + step_bps).min(limit);
        }
        self.changed = Some(now);
    }

    fn decrease(&mut self, now: Timestamp) {
        // Slightly below the delivered rate, so that the queue drains.
        let mut reduced = self.throughput.scale(self.config.backoff_ratio);
        let offset = self.backoff_offset;
        if reduced > offset {
            reduced = reduced.saturating_sub(offset);
        }
        if let (true, Some(capacity)) = (reduced > self.rate, self.link_capacity.estimate()) {
            reduced = capacity.scale(self.config.backoff_ratio);
        }
        // Over-use never raises the rate.
        let reduced = reduced.min(self.rate);
        self.rate = reduced;
        if self.link_capacity.lower_bound().is_some_and(|lower| self.throughput < lower) {
            self.link_capacity.reset();
        }
        self.initialised = true;
        self.link_capacity.on_overuse(self.throughput);
        self.state = State::Hold;
        self.changed = Some(now);
    }

    /// How fast the rate grows near the capacity: one packet of average size per response time,
    /// doubled for the detector's own delay of about 100 ms.
    pub fn near_max_increase_bps_per_s(&self) -> f64 {
        let frame_bytes = self.rate.as_bps_f64() / 8.0 / FRAMES_PER_S;
        let packets = (frame_bytes / PACKET_BYTES).ceil().max(1.0);
        let response_s = 2.0 * (self.rtt + DETECTOR_DELAY).as_secs_f64();
        (frame_bytes / packets * 8.0 / response_s).max(MIN_NEAR_MAX_BPS_PER_S)
    }
}

// [libwebrtc-m150] aimd_rate_control.
const INITIAL_MAX: DataRate = DataRate::from_mbps(30);
const DEFAULT_RTT: TimeDelta = TimeDelta::from_millis(200);
const INITIALISATION: TimeDelta = TimeDelta::from_secs(5);
/// Subtracted from the rate after over-use in addition to its share, where the share is more than this.
const BACKOFF_OFFSET: DataRate = DataRate::from_kbps(5);
const MIN_REDUCTION_INTERVAL: TimeDelta = TimeDelta::from_millis(10);
const MAX_REDUCTION_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
/// Far from the known capacity, the rate grows by this factor per second.
const INCREASE_PER_S: f64 = 1.08;
/// The rate does not grow beyond this many times the acknowledged rate, plus a slack.
const INCREASE_LIMIT: f64 = 1.5;
const INCREASE_SLACK_BPS: f64 = 10_000.0;
const MIN_INCREASE_BPS: f64 = 1_000.0;
const FRAMES_PER_S: f64 = 30.0;
const PACKET_BYTES: f64 = 1_200.0;
const DETECTOR_DELAY: TimeDelta = TimeDelta::from_millis(100);
const MIN_NEAR_MAX_BPS_PER_S: f64 = 4_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use BandwidthUsage::{Normal, Overusing, Underusing};

    fn aimd(start_kbps: u64) -> Aimd {
        let mut aimd = Aimd::new(AimdConfig::default(), DataRate::from_kbps(5));
        aimd.set_start(DataRate::from_kbps(start_kbps));
        aimd
    }

    fn kbps(kbps: u64) -> DataRate {
        DataRate::from_kbps(kbps)
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// [libwebrtc-m150] near-max increase, worked by hand: 30 fps, 1,200-byte packets, 2 (rtt + 100 ms).
    #[test]
    fn the_near_max_increase_is_a_packet_per_response_time() {
        let table: [(u64, i64, f64); 7] = [
            (30_000, 200, 4_000.0),
            (90_000, 200, 5_000.0),
            (60_000, 100, 5_000.0),
            (216_000, 200, 12_000.0),
            (250_000, 200, 13_889.0),
            (1_000_000, 50, 27_778.0),
            (2_500_000, 100, 23_148.0),
        ];
        for (bps, rtt_ms, expected) in table {
            let mut aimd = aimd(30);
            aimd.set_estimate(DataRate::from_bps(bps), at(0));
            aimd.set_rtt(TimeDelta::from_millis(rtt_ms));
            assert_eq!(aimd.near_max_increase_bps_per_s().round(), expected, "{bps} bit/s, {rtt_ms} ms");
        }
    }

    #[test]
    fn the_rate_stops_at_one_and_a_half_times_the_throughput_plus_ten() {
        let mut aimd = aimd(5);
        aimd.set_estimate(kbps(10), at(0));
        for ms in (100..=20_000).step_by(100) {
            aimd.update(Normal, Some(kbps(10)), at(ms));
        }
        // 1.5 · 10 + 10.
        assert_eq!(aimd.rate(), kbps(25));
    }

    #[test]
    fn the_rate_stays_when_the_throughput_halves() {
        let mut aimd = aimd(5);
        aimd.set_estimate(kbps(1_000), at(0));
        aimd.update(Normal, Some(kbps(1_000)), at(100));
        let before = aimd.rate();
        for ms in (200..=5_000).step_by(100) {
            aimd.update(Normal, Some(kbps(500)), at(ms));
        }
        assert_eq!(aimd.rate(), before);
    }

    #[test]
    fn over_use_goes_to_085_of_the_throughput_minus_five() {
        let mut aimd = aimd(5);
        aimd.set_estimate(kbps(264), at(0));
        aimd.set_rtt(TimeDelta::from_millis(200));
        aimd.update(Overusing, Some(kbps(260)), at(100));
        // 0.85 · 260 − 5 = 216; 900-byte packets in 0.6 s: 12 kbit/s per second.
        assert_eq!(aimd.rate(), kbps(216));
        assert_eq!(aimd.near_max_increase_bps_per_s().round(), 12_000.0);
    }

    #[test]
    fn over_use_never_raises_the_rate() {
        let mut aimd = aimd(5);
        aimd.set_estimate(kbps(10), at(0));
        aimd.update(Overusing, Some(kbps(100)), at(100));
        assert_eq!(aimd.rate(), kbps(10));
    }

    #[test]
    fn under_use_holds_and_normal_grows_only_from_the_second_report_on() {
        let mut aimd = aimd(300);
        aimd.update(Underusing, Some(kbps(300)), at(0));
        assert_eq!(aimd.rate(), kbps(300));
        // Hold to Increase restarts the clock: at least 1 kbit/s, then 8 % a second.
        aimd.update(Normal, Some(kbps(300)), at(1_000));
        assert_eq!(aimd.rate(), kbps(301));
        aimd.update(Normal, Some(kbps(300)), at(2_000));
        assert_eq!(aimd.rate(), DataRate::from_bps(325_080));
        // A gap of more than a second counts as one.
        aimd.update(Normal, Some(kbps(300)), at(5_000));
        assert_eq!(aimd.rate(), DataRate::from_bps(351_086));
    }

    #[test]
    fn near_the_known_capacity_the_increase_is_additive() {
        let mut aimd = aimd(300);
        aimd.update(Normal, Some(kbps(300)), at(0));
        aimd.update(Overusing, Some(kbps(300)), at(100));
        assert_eq!(aimd.rate(), kbps(250));
        aimd.update(Normal, Some(kbps(300)), at(200));
        aimd.update(Normal, Some(kbps(300)), at(1_200));
        // 13,889 bit/s per second at 250 kbit/s and 200 ms.
        assert_eq!(aimd.rate(), DataRate::from_bps(263_889));
        // Much more is delivered than ever filled the link: forget it, grow by 8 %.
        aimd.update(Normal, Some(kbps(900)), at(2_200));
        assert_eq!(aimd.rate(), DataRate::from_bps(285_000));
    }

    #[test]
    fn without_a_start_rate_the_throughput_of_five_seconds_starts_it() {
        let mut aimd = Aimd::new(AimdConfig::default(), kbps(5));
        assert!(!aimd.is_initialised() && aimd.rate() == DataRate::from_mbps(30));
        aimd.update(Normal, Some(kbps(400)), at(0));
        aimd.update(Normal, Some(kbps(400)), at(5_000));
        assert!(!aimd.is_initialised());
        aimd.update(Normal, Some(kbps(400)), at(5_001));
        assert!(aimd.is_initialised());
        assert_eq!(aimd.rate(), DataRate::from_kbps(401));
    }

    #[test]
    fn reducing_again_waits_a_round_trip_unless_little_is_delivered() {
        let mut aimd = aimd(300);
        aimd.set_rtt(TimeDelta::from_millis(150));
        aimd.set_estimate(kbps(300), at(1_000));
        assert!(!aimd.time_to_reduce_further(at(1_149), kbps(150)));
        assert!(aimd.time_to_reduce_further(at(1_150), kbps(150)));
        assert!(aimd.time_to_reduce_further(at(1_001), kbps(149)));
        aimd.set_rtt(TimeDelta::from_secs(2));
        assert!(aimd.time_to_reduce_further(at(1_200), kbps(150)), "clamped to 200 ms");
    }
}
