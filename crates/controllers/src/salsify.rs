//! `salsify` believes that the spacing of arrivals shows the present rate of the path, and that a frame is the right unit to act on it ([fouladi2018]). The paper's text was not at hand; this follows its public sender and receiver and others' reports of it.
//!
//! It measures tau, a smoothed time between arrivals that excludes the sender's own pauses. It does
//! one thing: before each frame it allows as many packets as bring the time to drain everything in
//! flight to 100 ms. There is no target to converge to and no memory beyond ten packets: the sender
//! codes each frame at two sizes and takes the one that fits, or skips the frame
//! ([`EncoderWishes::best_of_two`]).
//!
//! Moved to the sender: in the paper the receiver measures tau and acknowledges each packet; here both come from the
//! departures and arrivals in transport-wide feedback. Missing: coding against states that the receiver has
//! acknowledged, and with it the paper's way to recover from loss without repair.

use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, EncoderWishes, Event, Pacing, PacketKind, PacketReport, RateController,
    RateLimits, Side, TransportFeedback,
};
use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Salsify`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// d: everything in flight shall drain within this.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_delay_ms: u32,
    /// alpha of the smoothed inter-arrival time, per packet.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub smoothing_ratio: f64,
    /// Coded bytes of a full packet: the paper's MTU.
    #[schemars(range(min = 100, max = 65_535))]
    pub packet_bytes: u32,
    /// Bytes that headers add to it on the wire.
    #[schemars(range(min = 0, max = 65_535))]
    pub packet_overhead_bytes: u32,
    /// Between two feedbacks, assume that packets keep arriving as before: the paper's receiver
    /// acknowledges each packet at once, ours reports many at a time.
    pub assume_acks: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // [fouladi2018]: 100 ms, alpha 0.1.
            max_delay_ms: 100,
            smoothing_ratio: 0.1,
            // A UDP payload of 1,200 bytes minus 38 of RTP; with IP and UDP, 66 bytes are not video.
            packet_bytes: 1_162,
            packet_overhead_bytes: 66,
            assume_acks: true,
        }
    }
}

/// A budget for each frame.
#[derive(Clone, Debug)]
pub struct Salsify {
    config: Config,
    limits: RateLimits,
    inter_arrival: InterArrival,
    silence: Silence,
    /// Sent and not reported.
    in_flight: DataSize,
    /// Queued in the pacer, as last reported.
    in_pacer: DataSize,
    /// The last feedback, and the smoothed time between two.
    last_feedback: Option<Timestamp>,
    feedback_interval_ns: f64,
    last_capture: Option<Timestamp>,
    capture_interval_ns: f64,
    max_frame_size: DataSize,
}

impl Construct for Salsify {
    const NAME: &'static str = "salsify";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "a size for each frame out of inter-arrival times, two codings to choose from";
    const CITES: &'static [&'static str] = &["fouladi2018"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let limits = context.limits;
        let mut salsify = Self {
            inter_arrival: InterArrival::new(&config, limits.start),
            config,
            limits,
            silence: Silence::default(),
            in_flight: DataSize::ZERO,
            in_pacer: DataSize::ZERO,
            last_feedback: None,
            feedback_interval_ns: 0.0,
            last_capture: None,
            capture_interval_ns: FIRST_CAPTURE_INTERVAL_NS,
            max_frame_size: DataSize::ZERO,
        };
        salsify.max_frame_size = salsify.frame_budget(context.start);
        Ok(salsify)
    }
}

impl Salsify {
    fn wire_bytes(&self) -> f64 {
        f64::from(self.config.packet_bytes + self.config.packet_overhead_bytes)
    }

    // [fouladi2018]: frame size = (d / tau - N) x MTU, N the packets under way. N includes those in
    // the pacer, as in the public sender. It counts bytes here: our packetizer cuts frames into equal
    // pieces, so packets are not all full.
    fn frame_budget(&self, now: Timestamp) -> DataSize {
        let tau_ns = self.inter_arrival.tau_ns;
        let under_way = (self.in_flight.as_bytes() as f64 - self.assumed_arrived_bytes(now)).max(0.0)
            + self.in_pacer.as_bytes() as f64;
        let packets = f64::from(self.config.max_delay_ms) * 1e6 / tau_ns - under_way / self.wire_bytes();
        let budget_bytes = packets.max(0.0) * f64::from(self.config.packet_bytes);
        // No frame may take more than the application's maximum rate carries in its interval: the
        // paper's sender knows no such limit.
        let max_bytes =
            self.limits.max.as_bps_f64() / 8e9 * self.capture_interval_ns * f64::from(self.config.packet_bytes)
                / self.wire_bytes();
        DataSize::from_bytes(budget_bytes.min(max_bytes) as u64)
    }

    /// What an acknowledgement of each packet would have reported since the last feedback. No more
    /// than the next feedback is due to report: silence assumes nothing.
    fn assumed_arrived_bytes(&self, now: Timestamp) -> f64 {
        let Some(last) = self.last_feedback.filter(|_| self.config.assume_acks) else { return 0.0 };
        let since_ns = ((now - last).as_nanos() as f64).min(self.feedback_interval_ns);
        since_ns / self.inter_arrival.tau_ns * self.wire_bytes()
    }

    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        self.in_flight = feedback.in_flight;
        if feedback.reports.is_empty() {
            return;
        }
        self.silence.on_feedback(now, feedback.round_trip(now));
        if let Some(last) = self.last_feedback {
            let interval_ns = ((now - last).as_nanos() as f64).min(LONGEST_FEEDBACK_INTERVAL_NS);
            self.feedback_interval_ns += INTERVAL_SMOOTHING * (interval_ns - self.feedback_interval_ns);
        }
        self.last_feedback = Some(now);
        for report in feedback.reports.iter() {
            // Padding is spaced by its own rate, not by the path.
            if report.kind != PacketKind::Padding {
                self.inter_arrival.on_report(&report);
            }
        }
    }

    fn on_capture(&mut self, now: Timestamp) {
        if let Some(last) = self.last_capture {
            let interval_ns = ((now - last).as_nanos() as f64).clamp(SHORTEST_CAPTURE_NS, LONGEST_CAPTURE_NS);
            self.capture_interval_ns += INTERVAL_SMOOTHING * (interval_ns - self.capture_interval_ns);
        }
        self.last_capture = Some(now);
        self.max_frame_size = self.frame_budget(now);
    }

    /// The rate at which packets arrive, which the public sender's `conventional` mode relies on:
    /// shown as the target, and requested from an encoder that cannot code twice.
    fn target(&self) -> DataRate {
        let bps = (self.wire_bytes() * 8e9 / self.inter_arrival.tau_ns).min(u64::MAX as f64);
        self.limits.clamp(DataRate::from_bps(bps as u64))
    }

    // The public sender of [fouladi2018] paces frames five times faster than packets arrive, one
    // packet every 0.5 to 2 ms.
    fn pacing_rate(&self) -> DataRate {
        let gap_ns = (self.inter_arrival.tau_ns / 5.0).clamp(0.5e6, 2e6);
        DataRate::from_bps((self.wire_bytes() * 8e9 / gap_ns) as u64)
    }
}

impl RateController for Salsify {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            self.inter_arrival.double();
        }
        match event {
            Event::TransportFeedback(feedback) => {
                self.take_feedback(now, feedback);
                self.max_frame_size = self.frame_budget(now);
            }
            Event::PacketsSent(burst) => {
                self.silence.on_packet_sent(now);
                self.in_flight = burst.get(burst.packets - 1).in_flight;
                self.in_pacer = self.in_pacer.saturating_sub(DataSize::from_bytes(burst.bytes()));
            }
            Event::PacerQueue(queue) => self.in_pacer = queue.size,
            Event::FrameCaptured(_) => self.on_capture(now),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                self.inter_arrival = InterArrival::new(&self.config, self.limits.start);
                self.last_feedback = None;
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target_bitrate = self.target();
        Decision {
            pacing: Pacing::at(self.pacing_rate().max(target_bitrate)),
            encoder: EncoderWishes {
                max_frame_size: Some(self.max_frame_size),
                best_of_two: true,
                ..Default::default()
            },
            ..Decision::of_target(target_bitrate)
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.next_deadline()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("salsify_inter_arrival_ms", self.inter_arrival.tau_ns / 1e6);
        gauge("salsify_frame_budget_bytes", self.max_frame_size.as_bytes() as f64);
    }
}

/// The smoothed time between the arrivals of full packets.
#[derive(Clone, Debug)]
struct InterArrival {
    tau_ns: f64,
    smoothing: f64,
    packet_bytes: f64,
    last: Option<Last>,
}

/// The last packet that arrived, in the order of departures.
#[derive(Clone, Copy, Debug)]
struct Last {
    transport_seq: u64,
    departure: Timestamp,
    arrival: PeerTimestamp,
}

impl InterArrival {
    /// Deviates from [fouladi2018]: there tau starts at zero and the first frames may have any size;
    /// here it starts at the application's start rate.
    fn new(config: &Config, start: DataRate) -> Self {
        let packet_bytes = f64::from(config.packet_bytes + config.packet_overhead_bytes);
        let tau_ns = packet_bytes * 8e9 / start.as_bps_f64().max(1.0);
        Self {
            tau_ns: tau_ns.clamp(SHORTEST_TAU_NS, LONGEST_TAU_NS),
            smoothing: config.smoothing_ratio,
            packet_bytes,
            last: None,
        }
    }

    fn on_report(&mut self, report: &PacketReport) {
        let Some(arrival) = report.arrival() else { return };
        let next = Last { transport_seq: report.transport_seq, departure: report.departure, arrival };
        let Some(last) = self.last else {
            self.last = Some(next);
            return;
        };
        if report.transport_seq <= last.transport_seq {
            return; // A missing packet turned up: it arrived between others.
        }
        // [fouladi2018]: tau <- alpha (T_i - T_{i-1} - grace_i) + (1 - alpha) tau. The grace period is the sender's
        // pause, which the sender reports to its receiver and which is available here.
        let pause = report.departure - last.departure;
        let grace = if pause > SHORTEST_PAUSE { pause } else { TimeDelta::ZERO };
        let gap_ns = ((arrival - last.arrival).as_nanos() as f64 - grace.as_nanos() as f64).max(0.0);
        // Deviates from [fouladi2018]: a packet is weighted by its size. The paper's packets are full
        // except for the last of a frame, and for full ones this is the same.
        let share = (report.size.as_bytes() as f64 / self.packet_bytes).min(1.0);
        let tau_ns = self.smoothing * gap_ns + (1.0 - self.smoothing * share) * self.tau_ns;
        self.tau_ns = tau_ns.clamp(SHORTEST_TAU_NS, LONGEST_TAU_NS);
        // A packet that overtook others came too early for the next gap to count from it.
        self.last = Some(Last { arrival: arrival.max(last.arrival), ..next });
    }

    /// Ours: silence halves the rate.
    fn double(&mut self) {
        self.tau_ns = (2.0 * self.tau_ns).min(LONGEST_TAU_NS);
    }
}

/// A pacer leaves no such gap between packets of one frame: at 5 ms a packet, 2 Mbit/s.
const SHORTEST_PAUSE: TimeDelta = TimeDelta::from_millis(5);
/// The public sender counts in whole microseconds, at least one.
const SHORTEST_TAU_NS: f64 = 1e3;
const LONGEST_TAU_NS: f64 = 1e11;
/// Until two pictures were seen: 30 per second.
const FIRST_CAPTURE_INTERVAL_NS: f64 = 1e9 / 30.0;
const SHORTEST_CAPTURE_NS: f64 = 4e6;
const LONGEST_CAPTURE_NS: f64 = 2e8;
const INTERVAL_SMOOTHING: f64 = 0.1;
/// Feedback later than this means a fault: libwebrtc's longest interval.
const LONGEST_FEEDBACK_INTERVAL_NS: f64 = 2.5e8;

#[cfg(test)]
#[path = "salsify_tests.rs"]
mod tests;
