//! Arrival groups, trend line and rate control in sequence: the delay-based estimate. libwebrtc's
//! `DelayBasedBwe` [libwebrtc-m150].

use super::aimd::{Aimd, AimdConfig};
use legato_control::ReportedPacket;
use legato_control::estimate::arrival_groups::{ArrivalGroups, GroupDelta};
use legato_control::estimate::overuse::BandwidthUsage;
use legato_control::estimate::trendline::Trendline;
use legato_units::{Burst, DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};

/// The delay-based estimate and its parts.
#[derive(Clone, Debug)]
pub struct DelayBased {
    groups: ArrivalGroups,
    trendline: Trendline,
    aimd: Aimd,
    last_seen: Option<Timestamp>,
    last_estimate: DataRate,
    last_usage: BandwidthUsage,
    /// Usage after the previous packet.
    packet_usage: BandwidthUsage,
    /// Queues stopped draining within this feedback.
    recovered: bool,
}

/// The result of a feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayUpdate {
    /// The new estimate, if there is one.
    pub estimate: Option<DataRate>,
    /// It comes from a probe.
    pub probe: bool,
    /// Queues are back to normal after over-use.
    pub recovered: bool,
}

impl DelayBased {
    /// No estimate.
    pub fn new(config: AimdConfig, trendline: Trendline, min: DataRate) -> Self {
        Self {
            groups: ArrivalGroups::default(),
            trendline,
            aimd: Aimd::new(config, min),
            last_seen: None,
            last_estimate: DataRate::ZERO,
            last_usage: BandwidthUsage::Normal,
            packet_usage: BandwidthUsage::Normal,
            recovered: false,
        }
    }

    /// Start at `start`, never below `min`.
    pub fn set_bitrates(&mut self, start: DataRate, min: DataRate) {
        self.aimd.set_start(start);
        self.aimd.set_min(min);
    }

    /// Set the round-trip time.
    pub fn set_rtt(&mut self, rtt: TimeDelta) {
        self.aimd.set_rtt(rtt);
    }

    /// Continue from `rate`.
    pub fn set_estimate(&mut self, rate: DataRate, now: Timestamp) {
        self.aimd.set_estimate(rate, now);
    }

    /// The rate control, for the gauges.
    pub fn aimd(&self) -> &Aimd {
        &self.aimd
    }

    /// The trend line, for the gauges.
    pub fn trendline(&self) -> &Trendline {
        &self.trendline
    }

    /// The last estimate returned; zero before the first.
    pub fn last_estimate(&self) -> DataRate {
        self.last_estimate
    }

    /// The detector's verdict after the last feedback.
    pub fn last_usage(&self) -> BandwidthUsage {
        self.last_usage
    }

    /// Packets of a feedback follow, in order of arrival. After 2 s without any, start over.
    pub fn begin_feedback(&mut self, now: Timestamp) {
        if self.last_seen.is_none_or(|seen| now - seen > STREAM_TIMEOUT) {
            self.groups = ArrivalGroups::default();
            self.trendline.restart();
        }
        self.last_seen = Some(now);
        self.packet_usage = self.trendline.usage();
        self.recovered = false;
    }

    /// Take a packet that arrived.
    #[inline(always)]
    pub fn on_packet(&mut self, departure: Timestamp, arrival: PeerTimestamp, now: Timestamp, size: DataSize) {
        if let Some(delta) = self.groups.on_packet(departure, arrival, now, size) {
            self.on_group(delta, arrival);
        }
    }

    /// Take packets that left at one instant and arrived at `times`, in order.
    #[inline]
    pub fn on_run(&mut self, burst: &Burst<ReportedPacket>, times: &[PeerTimestamp], now: Timestamp) {
        let (departure, size) = (burst.first.departure, burst.first.size);
        let (Some((&first, rest)), Some(&last)) = (times.split_first(), times.last()) else { return };
        self.on_packet(departure, first, now, size);
        if rest.is_empty() {
            return;
        }
        let rest_size = DataSize::from_bytes(burst.bytes().wrapping_sub(size.as_bytes()));
        if !self.groups.join_run(departure, last, now, rest_size) {
            for (place, &arrival) in (1..).zip(rest) {
                self.on_packet(departure, arrival, now, DataSize::from_bytes(burst.size_bytes(place)));
            }
        }
    }

    #[inline(never)]
    fn on_group(&mut self, delta: GroupDelta, arrival: PeerTimestamp) {
        self.trendline.update(&delta, arrival);
        let usage = self.trendline.usage();
        if self.packet_usage == BandwidthUsage::Underusing && usage == BandwidthUsage::Normal {
            self.recovered = true;
        }
        self.packet_usage = usage;
    }

    /// All packets of the feedback are in.
    pub fn end_feedback(
        &mut self,
        acknowledged: Option<DataRate>,
        probe: Option<DataRate>,
        in_alr: bool,
        now: Timestamp,
    ) -> DelayUpdate {
        self.aimd.set_in_alr(in_alr);
        let usage = self.trendline.usage();
        let mut update = DelayUpdate::default();
        if usage == BandwidthUsage::Overusing {
            update.estimate = self.reduce(acknowledged, now);
        } else if let Some(rate) = probe {
            self.aimd.set_estimate(rate, now);
            update.estimate = Some(self.aimd.rate());
            update.probe = true;
        } else {
            update.estimate = self.step(usage, acknowledged, now);
            update.recovered = self.recovered;
        }
        self.last_estimate = update.estimate.unwrap_or(self.last_estimate);
        self.last_usage = usage;
        update
    }

    fn reduce(&mut self, acknowledged: Option<DataRate>, now: Timestamp) -> Option<DataRate> {
        match acknowledged {
            Some(rate) if self.aimd.time_to_reduce_further(now, rate) => {
                self.step(BandwidthUsage::Overusing, acknowledged, now)
            }
            // Over-use before anything was measured: halve every 200 ms.
            None if self.aimd.initial_time_to_reduce_further(now) => {
                self.aimd.set_estimate(self.aimd.rate().scale(0.5), now);
                Some(self.aimd.rate())
            }
            _ => None,
        }
    }

    fn step(&mut self, usage: BandwidthUsage, acknowledged: Option<DataRate>, now: Timestamp) -> Option<DataRate> {
        let rate = self.aimd.update(usage, acknowledged, now);
        self.aimd.is_initialised().then_some(rate)
    }
}

/// [libwebrtc-m150] delay_based_bwe: kStreamTimeOut.
const STREAM_TIMEOUT: TimeDelta = TimeDelta::from_secs(2);

#[cfg(test)]
#[path = "delay_based_tests.rs"]
mod tests;
