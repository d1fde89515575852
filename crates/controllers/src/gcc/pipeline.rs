//! How [`Gcc`] processes each event, in libwebrtc's order (`GoogCcNetworkController`
//! [libwebrtc-m150]).

use super::feedback::{Arrivals, Feedback};
use super::pushback::TICK;
use super::{Gcc, LossState, RobustThroughput};
use super::{delay_based::DelayBased, probe_controller::LimitedBy, probe_estimator::ProbeEstimator};
use legato_control::estimate::overuse::BandwidthUsage;
use legato_control::{
    Decision, EncoderWishes, Event, Pacing, PacketReport, PacketReports, RateLimits, RunFate, SentPacket,
    TransportFeedback,
};
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};

impl Gcc {
    #[inline]
    pub(super) fn on_sent(&mut self, now: Timestamp, burst: &Burst<SentPacket>) {
        self.send_side.on_sent(now);
        let last = burst.get(burst.packets - 1);
        self.pushback.set_in_flight(last.in_flight);
        if self.pushback.is_pushing() || self.send_side.is_rtt_above_limit() || !self.alr.takes_bursts() {
            burst.iter().for_each(|packet| self.on_packet_sent(now, &packet));
        } else {
            let rest = DataSize::from_bytes(burst.bytes()) - burst.first.size;
            self.alr.on_burst_sent(burst.first.size, rest, now);
        }
    }

    /// While pushing back each packet moves the rate.
    fn on_packet_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.alr.on_sent(packet.size, now);
        self.send_side.on_sent(now);
        self.pushback.set_in_flight(packet.in_flight);
        if self.pushback.is_pushing() || self.send_side.is_rtt_above_limit() {
            self.push_back(now);
        }
    }

    #[cold]
    fn push_back(&mut self, now: Timestamp) {
        self.pushback.step_down(now);
        self.publish();
    }

    /// All events but departures.
    #[inline(never)]
    pub(super) fn on_rare(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::TransportFeedback(feedback) => self.on_feedback(now, feedback),
            Event::Deadline => self.process(now),
            Event::PacerQueue(queue) => return self.pushback.set_pacer_queue(queue.size),
            Event::Limits(limits) => {
                self.set_limits(*limits, now);
                self.update_target(now);
            }
            Event::RemoteEstimate(rate) => {
                self.send_side.set_receiver_limit(*rate, now);
                self.update_target(now);
            }
            Event::RoundTripTime(rtt) if *rtt > TimeDelta::ZERO => {
                self.rtt_reported = true;
                self.delay_based.set_rtt(*rtt);
                self.send_side.set_rtt(*rtt);
            }
            Event::RouteChange => self.change_route(now),
            Event::FrameEncoded(_) => {
                if !self.take_frame(now) {
                    return;
                }
            }
            _ => return,
        }
        self.publish();
    }

    #[inline(never)]
    pub(super) fn on_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        if feedback.reports.is_empty() {
            return;
        }
        self.feedback_seen = true;
        let in_flight = feedback.in_flight;
        let feedback = Feedback::of(&feedback.reports);
        self.pushback.set_in_flight(in_flight);
        self.take_round_trips(now, feedback.arrivals);
        self.take_losses(now, &feedback);
        let in_alr = self.alr.started().is_some();
        if self.was_in_alr && !in_alr {
            self.probes.set_alr_ended(now);
        }
        self.was_in_alr = in_alr;
        if let Some(arrivals) = feedback.arrivals {
            self.take_arrivals(now, feedback.reports, arrivals.in_order);
        }
        self.acknowledged_rate = self.acknowledged.rate();
        self.send_side.set_acknowledged(self.acknowledged_rate);
        let probe = self.probe_estimator.take().map(|rate| self.bound_probe(rate));
        let mut recovered = false;
        if feedback.arrivals.is_some() {
            let update = self.delay_based.end_feedback(self.acknowledged_rate, probe, in_alr, now);
            if let Some(estimate) = update.estimate {
                if update.probe {
                    self.send_side.set_send_rate(estimate);
                }
                self.send_side.set_delay_based(estimate);
            }
            recovered = update.recovered;
        }
        self.send_side.on_feedback(&feedback, in_alr, now);
        let ticks = self.ticks(now);
        self.pushback.step(now, ticks);
        self.update_target(now);
        if recovered {
            self.probes.set_alr_started(self.alr.started());
            self.probes.request_after_drop(now);
        }
        if let Some(shortest) = self.rtts.min() {
            self.pushback.update_window(self.target, shortest, ticks);
        }
        self.probes.set_alr_started(self.alr.started());
    }

    /// A deadline: what libwebrtc checks every 25 ms.
    #[inline(never)]
    pub(super) fn process(&mut self, now: Timestamp) {
        self.last_process = Some(now);
        if self.send_side.is_rtt_above_limit() {
            self.send_side.back_off(now);
        }
        self.probes.set_alr_started(self.alr.started());
        self.probes.process(now);
        if self.pushback.is_overfull() {
            self.pushback.step_down(now);
        }
        self.update_target(now);
    }

    #[inline(never)]
    pub(super) fn set_limits(&mut self, limits: RateLimits, now: Timestamp) {
        self.limits = limits;
        let min = limits.min.max(super::MIN_BITRATE);
        let bounds = RateLimits { min, start: limits.start.max(min), max: limits.max.max(min) };
        self.send_side.set_bitrates(bounds);
        self.delay_based.set_bitrates(bounds.start, min);
        self.probes.set_bitrates(bounds.start, bounds.max, now);
    }

    /// Everything learned about the old path is void; but a path that carried less than the start
    /// rate is not trusted with more at once.
    pub(super) fn change_route(&mut self, now: Timestamp) {
        let limits = self.limits;
        let start = self.acknowledged_rate.map_or(limits.start, |rate| rate.min(limits.start));
        self.acknowledged = RobustThroughput::new(self.config.throughput);
        self.acknowledged_rate = None;
        self.probe_estimator = ProbeEstimator::default();
        self.delay_based = DelayBased::new(self.config.aimd.clone(), self.config.trendline(), super::MIN_BITRATE);
        self.send_side.reset();
        self.probes.reset(now);
        self.set_limits(RateLimits { start, ..limits }, now);
        self.limits = limits;
        self.update_target(now);
    }

    /// When no frame has been coded for 2 s, libwebrtc's bitrate allocator takes the maximum of a stream out of its
    /// sum. It adds it when frames come again: then find out whether the path has room. True if that changed anything.
    fn take_frame(&mut self, now: Timestamp) -> bool {
        let timeout = TimeDelta::from_millis(i64::from(self.config.probe.allocation_timeout_ms));
        let last = self.last_frame.replace(now);
        if last.is_some_and(|last| now - last <= timeout) {
            return false;
        }
        self.probes.set_alr_started(self.alr.started());
        self.probes.set_allocated(DataRate::ZERO, now);
        self.probes.set_allocated(self.probes.wanted(), now);
        true
    }

    /// Pass the target on to all parts.
    pub(super) fn update_target(&mut self, now: Timestamp) {
        self.target = self.send_side.target();
        self.alr.set_estimate(self.target);
        let limited_by = self.limited_by();
        self.probes.set_estimate(self.target, limited_by, now);
    }

    /// Compute the results of `decision` and `next_deadline`.
    #[inline(never)]
    pub(super) fn publish(&mut self) {
        let pushed = self.pushback.push_back(self.target).max(self.send_side.min());
        let whole = self.limits.clamp(self.target);
        let target = if self.pushback.drops_frames() { whole } else { self.limits.clamp(pushed) };
        // Pacing follows the target before pushback: pushback must not queue in the pacer.
        let factor = if self.feedback_seen { self.config.pacing_ratio } else { INITIAL_PACING_RATIO };
        let mut padding = DataRate::from_bps(self.config.padding_bps);
        if self.send_side.loss_state() == LossState::IncreasingWithPadding {
            padding = padding.max(self.target);
        }
        self.decision = Decision {
            pacing: Pacing { padding_rate: padding.min(pushed).min(target), ..Pacing::at(whole.scale(factor)) },
            encoder: EncoderWishes { drop_one_frame_in: self.pushback.drop_one_frame_in(), ..Default::default() },
            ..Decision::of_target(target)
        };
        self.deadline = self.find_deadline();
    }

    fn find_deadline(&self) -> Option<Timestamp> {
        let Some(last) = self.last_process else { return Some(self.start) };
        let cut = self.send_side.next_cut(last);
        let due = [cut, self.pushback.next_step(), self.probes.next_due()].into_iter().flatten().min()?;
        // What could not be done at once is retried at libwebrtc's process interval.
        Some(due.max(last + TICK))
    }

    fn limited_by(&self) -> LimitedBy {
        if self.delay_based.last_usage() != BandwidthUsage::Normal {
            return LimitedBy::DelayIncreased;
        }
        if self.send_side.is_rtt_above_limit() {
            return LimitedBy::HighRtt;
        }
        match self.send_side.loss_state() {
            LossState::Decreasing | LossState::IncreasingWithPadding => LimitedBy::Loss,
            LossState::DelayBased => LimitedBy::Delay,
            LossState::Increasing => LimitedBy::LossIncreasing,
        }
    }

    #[inline]
    fn take_round_trips(&mut self, now: Timestamp, arrivals: Option<Arrivals>) {
        let Some(arrivals) = arrivals else { return };
        self.rtts.push(now - arrivals.first_departure);
        // From the departure to the feedback, minus the packet's wait for the last arrival.
        let held = arrivals.last.as_nanos() - arrivals.min_transit_ns;
        let shortest = TimeDelta::from_nanos(now.as_nanos() - held);
        self.send_side.on_propagation_rtt(now, shortest);
        if !self.rtt_reported {
            if let Some(mean) = self.rtts.mean() {
                self.delay_based.set_rtt(mean);
            }
            self.send_side.set_rtt(shortest);
        }
    }

    #[inline]
    fn take_losses(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.lost += feedback.lost;
        self.expected += feedback.reports.len() as u64;
        if self.next_loss_update.is_none_or(|due| now > due) {
            self.next_loss_update = Some(now + LOSS_UPDATE_INTERVAL);
            self.send_side.on_loss(self.lost, self.expected, now);
            (self.lost, self.expected) = (0, 0);
        }
    }

    #[inline]
    fn take_arrivals(&mut self, now: Timestamp, reports: &PacketReports, in_order: bool) {
        self.delay_based.begin_feedback(now);
        if in_order {
            for run in reports.runs() {
                // Packets that left together are taken together; probes one by one.
                match run.fate {
                    RunFate::Arrived(times) if run.burst.first.probe_cluster.is_none() => {
                        self.acknowledged.on_run(&run.burst, times);
                        self.delay_based.on_run(&run.burst, times, now);
                    }
                    _ => run.reports().for_each(|report| self.take_arrival(now, &report)),
                }
            }
        } else {
            let mut sorted = std::mem::take(&mut self.sorted);
            sorted.clear();
            sorted.extend(reports.iter().filter(|report| report.arrival().is_some()));
            sorted.sort_by_key(PacketReport::arrival);
            for report in &sorted {
                self.take_arrival(now, report);
            }
            self.sorted = sorted;
        }
        self.acknowledged.trim();
    }

    #[inline(always)]
    fn take_arrival(&mut self, now: Timestamp, report: &PacketReport) {
        let Some(arrival) = report.arrival() else { return };
        self.acknowledged.on_packet(report.departure, arrival, report.size);
        if report.probe_cluster.is_some() {
            self.probe_estimator.on_packet(report);
        }
        self.delay_based.on_packet(report.departure, arrival, now, report.size);
    }

    /// A probe result far below the delivered rate is not accepted; one slightly below is, since it
    /// drains the queue. A result below the estimate never raises it.
    fn bound_probe(&self, probe: DataRate) -> DataRate {
        let Some(acknowledged) = self.acknowledged_rate else { return probe };
        let floor = acknowledged.scale(PROBE_FLOOR_RATIO).min(self.delay_based.last_estimate());
        probe.max(floor)
    }

    /// Process intervals since the last feedback.
    fn ticks(&mut self, now: Timestamp) -> u32 {
        let ticks = (now - self.last_tick).as_nanos() / TICK.as_nanos();
        self.last_tick += TICK * ticks;
        u32::try_from(ticks).unwrap_or(0)
    }
}

/// [libwebrtc-m150] goog_cc_network_control: kLossUpdateInterval.
const LOSS_UPDATE_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
// [libwebrtc-m150] PacingController: kDefaultPaceMultiplier.
/// Pace at this multiple of the target before the first feedback.
const INITIAL_PACING_RATIO: f64 = 2.5;
// [libwebrtc-m150] GoogCcNetworkController: kProbeDropThroughputFraction.
/// A probe lowers the estimate at most to this share of the acknowledged rate.
const PROBE_FLOOR_RATIO: f64 = 0.85;
