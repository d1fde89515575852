//! `gcc-receiver`: Google congestion control as it was before transport-wide feedback, and as AlphaRTC and the papers
//! built on it run it: the delay is judged at the receiver, and the estimate goes back as REMB.
//!
//! It shares the beliefs of [`gcc`](super::gcc) about delay, and hears of it earlier. Packets in order of arrival go
//! into arrival groups, and a Kalman filter ([`delay_filter`](legato_control::estimate::delay_filter)) estimates the
//! delay that a queue adds from group to group. The detector ([`overuse`](legato_control::estimate::overuse)) compares
//! that with its threshold. The rate control of `gcc` turns the verdict and the receiver rate into the estimate. Loss
//! is the sender's business:
//! `remote` with its loss rule ([draft-ietf-rmcat-gcc-02] §6). There are no probes, no congestion window and no
//! application-limited region; pacing is at 2.5 times the target. docs/papers/gcc.md says which papers ran it.

mod config;

pub use config::{Config, RateConfig};

use super::gcc::aimd::Aimd;
use legato_control::estimate::arrival_groups::ArrivalGroups;
use legato_control::estimate::delay_filter::DelayFilter;
use legato_control::estimate::overuse::{BandwidthUsage, OveruseDetector};
use legato_control::estimate::receiver_rate::ReceiverRate;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, RateController, RateLimits, ReceivedPacket, Side,
};
use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};

/// Google congestion control at the receiver.
#[derive(Clone)]
pub struct GccReceiver {
    config: Config,
    limits: RateLimits,
    groups: ArrivalGroups,
    filter: DelayFilter,
    detector: OveruseDetector,
    receiver_rate: ReceiverRate,
    aimd: Aimd,
    last_packet: Option<Timestamp>,
    last_update: Option<Timestamp>,
}

impl Construct for GccReceiver {
    const NAME: &'static str = "gcc-receiver";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "Google congestion control at the receiver, as AlphaRTC runs it";
    const CITES: &'static [&'static str] =
        &["carlucci2016", "draft-ietf-rmcat-gcc-02", "draft-alvestrand-rmcat-remb", "libwebrtc-overuse-estimator"];
    // Receiver reports come every second or so: three without one is silence. The growth is libwebrtc's, 8 % a second
    // and 1 kbit/s; the draft's 5 % would hold the call back for a minute on an empty link.
    const AT_SENDER: &'static str = "loss_rule = true\ntimeout_ms = 3000.0\nincrease_ratio = 1.08\nincrease_bps = 1000";
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self::fresh(config, context.limits))
    }
}

impl GccReceiver {
    fn fresh(config: Config, limits: RateLimits) -> Self {
        Self {
            groups: ArrivalGroups::default(),
            filter: DelayFilter::default(),
            detector: OveruseDetector::new(config.overuse),
            receiver_rate: ReceiverRate::new(RATE_WINDOW),
            aimd: Aimd::at_receiver(config.aimd.backoff_ratio, limits.min.max(MIN_BITRATE)),
            last_packet: None,
            last_update: None,
            config,
            limits,
        }
    }

    fn take(&mut self, now: Timestamp, packet: &ReceivedPacket) {
        self.receiver_rate.push(now, packet.size);
        if self.last_packet.is_none_or(|last| now - last > STREAM_TIMEOUT) {
            self.groups = ArrivalGroups::default();
            self.filter = DelayFilter::default();
        }
        self.last_packet = Some(now);
        if let Some(departure) = packet.departure {
            self.judge(now, departure, packet.size);
        }
        let rate = self.receiver_rate.rate(now);
        let due = self.last_update.is_none_or(|last| now - last > self.update_interval())
            || self.detector.usage() == BandwidthUsage::Overusing
                && rate.is_some_and(|rate| self.aimd.time_to_reduce_further(now, rate));
        if due {
            self.aimd.update(self.detector.usage(), rate, now);
            // Until there is an estimate, each packet may bring the first.
            if self.aimd.is_initialised() {
                self.last_update = Some(now);
            }
        }
    }

    /// At the receiver, departures are by the peer's clock and arrivals by its own. The groups only ever subtract like
    /// from like; they were written for the sender, where it is the other way round.
    fn judge(&mut self, now: Timestamp, departure: PeerTimestamp, size: DataSize) {
        let (departure, arrival) =
            (Timestamp::from_nanos(departure.as_nanos()), PeerTimestamp::from_nanos(now.as_nanos()));
        let Some(delta) = self.groups.on_packet(departure, arrival, now, size) else { return };
        self.filter.update(&delta, self.detector.usage());
        if self.filter.deltas() < 2 {
            return self.detector.hold();
        }
        let signal_ms = self.detector.scale(self.filter.deltas()) * self.filter.offset_ms();
        self.detector.detect(signal_ms, self.filter.has_risen(), delta.departure, arrival);
    }

    /// What a REMB of 80 bytes takes at a twentieth of the estimate, 200 ms to a second.
    fn update_interval(&self) -> TimeDelta {
        let interval = DataSize::from_bytes(REMB_BYTES) / self.aimd.rate().scale(REMB_SHARE).max(DataRate::from_bps(1));
        interval.clamp(MIN_UPDATE_INTERVAL, MAX_UPDATE_INTERVAL)
    }
}

impl RateController for GccReceiver {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketReceived(packet) => self.take(now, packet),
            Event::RoundTripTime(rtt) if *rtt > TimeDelta::ZERO => self.aimd.set_rtt(*rtt),
            Event::Limits(limits) => {
                self.limits = *limits;
                self.aimd.set_min(limits.min.max(MIN_BITRATE));
            }
            Event::RouteChange => *self = Self::fresh(self.config, self.limits),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.aimd.rate()))
    }

    fn has_estimate(&self) -> bool {
        self.aimd.is_initialised()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("offset_ms", self.filter.offset_ms());
        gauge("modified_offset_ms", self.detector.signal_ms());
        gauge("threshold_ms", self.detector.threshold_ms());
        gauge("noise_deviation_ms", self.filter.noise_variance().sqrt());
        gauge(
            "usage",
            match self.detector.usage() {
                BandwidthUsage::Underusing => -1.0,
                BandwidthUsage::Normal => 0.0,
                BandwidthUsage::Overusing => 1.0,
            },
        );
        if self.has_estimate() {
            gauge("delay_based_bps", self.aimd.rate().as_bps_f64());
        }
    }
}

// [libwebrtc-overuse-estimator] remote_bitrate_estimator_abs_send_time, aimd_rate_control.
const RATE_WINDOW: TimeDelta = TimeDelta::from_secs(1);
const STREAM_TIMEOUT: TimeDelta = TimeDelta::from_secs(2);
const MIN_BITRATE: DataRate = DataRate::from_kbps(5);
const REMB_BYTES: u64 = 80;
const REMB_SHARE: f64 = 0.05;
const MIN_UPDATE_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
const MAX_UPDATE_INTERVAL: TimeDelta = TimeDelta::from_secs(1);

#[cfg(test)]
#[path = "gcc_receiver_tests.rs"]
mod tests;
