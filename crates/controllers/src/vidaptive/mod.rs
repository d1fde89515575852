//! `vidaptive` believes that a video call shall look to the network like a flow that always has something to send, and
//! that the encoder shall follow that flow's rate instead of making it ([karimi2023]). A congestion control for such
//! flows, Copa, sets the rate on the wire; the pacer follows it, and padding fills what frames leave. The encoder gets
//! a share of the rate by which nine frames of ten leave the pacer within their time, and pauses while the oldest
//! frame has waited too long.
//!
//! Read through its abstracts and a public implementation by others, which names the constants;
//! docs/papers/karimi2023.md attributes each part. Not here: a picture held while the encoder pauses, which it codes
//! when it resumes; and padding comes in packets of the usual size, not of 200 bytes.

mod copa;
mod encoder_share;

use copa::Copa;
use encoder_share::EncoderShare;
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, EncoderWishes, Event, FeedbackRule, Pacing, RateController, RateLimits,
    Side,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Vidaptive`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Copa's delta: one over this many packets may wait in the network's queue.
    #[schemars(range(min = 0.01, max = 10))]
    pub copa_delta_ratio: f64,
    /// P: the time in which a frame shall leave the pacer.
    #[schemars(range(min = 1, max = 1_000))]
    pub service_time_ms: f64,
    /// Which share of frames shall leave in that time.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub percentile_ratio: f64,
    /// How far a second moves the encoder's share of the rate.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub share_smoothing_ratio: f64,
    /// The encoder pauses while the oldest frame has waited longer.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_ms: f64,
    /// Whether padding fills what the frames leave of the rate.
    pub fill: bool,
    /// No padding leaves this long before the next picture.
    #[schemars(range(min = 0, max = 1_000))]
    pub quiet_ms: f64,
}

impl Default for Config {
    // [karimi2023]: delta 0.9 and 33 ms; the others are those of the public implementation.
    fn default() -> Self {
        Self {
            copa_delta_ratio: 0.9,
            service_time_ms: 33.0,
            percentile_ratio: 0.9,
            share_smoothing_ratio: 0.25,
            pause_ms: 33.0,
            fill: true,
            quiet_ms: 8.25,
        }
    }
}

/// A full flow, and an encoder that follows it.
#[derive(Clone, Debug)]
pub struct Vidaptive {
    config: Config,
    limits: RateLimits,
    copa: Copa,
    share: EncoderShare,
    silence: Silence,
    paused: bool,
    /// No padding before the next picture.
    quiet: bool,
    last_capture: Option<Timestamp>,
    capture_interval: TimeDelta,
}

impl Construct for Vidaptive {
    const NAME: &'static str = "vidaptive";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "a full flow by Copa and padding, and an encoder that follows it";
    const CITES: &'static [&'static str] = &["karimi2023", "arun2018"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self::fresh(config, context.limits, context.start))
    }
}

impl Vidaptive {
    fn fresh(config: Config, limits: RateLimits, start: Timestamp) -> Self {
        let Config { copa_delta_ratio, service_time_ms, percentile_ratio, share_smoothing_ratio, .. } = config;
        Self {
            copa: Copa::new(copa_delta_ratio, limits.start),
            share: EncoderShare::new(service_time_ms, percentile_ratio, share_smoothing_ratio, start),
            silence: Silence::default(),
            paused: false,
            quiet: false,
            last_capture: None,
            capture_interval: FIRST_CAPTURE_INTERVAL,
            config,
            limits,
        }
    }

    /// The bytes on the wire.
    fn rate(&self) -> DataRate {
        self.limits.clamp(self.copa.rate())
    }

    fn on_capture(&mut self, now: Timestamp) {
        if let Some(last) = self.last_capture.replace(now) {
            let interval = (now - last).clamp(SHORTEST_CAPTURE, LONGEST_CAPTURE);
            self.capture_interval = self.capture_interval + (interval - self.capture_interval) / 8;
        }
        self.quiet = false;
        if !self.silence.lasts() {
            self.share.update(now);
        }
        // [karimi2023]: the encoder pauses while the oldest packet in the pacer has waited longer than tau.
        self.paused = self.share.oldest(now) > TimeDelta::from_millis_f64(self.config.pause_ms);
    }

    /// When padding stops before the next picture.
    fn quiet_from(&self) -> Option<Timestamp> {
        let quiet = TimeDelta::from_millis_f64(self.config.quiet_ms).min(self.capture_interval);
        self.last_capture.filter(|_| !self.quiet).map(|last| last + (self.capture_interval - quiet))
    }
}

impl RateController for Vidaptive {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            self.copa.halve();
        }
        if self.quiet_from().is_some_and(|from| now >= from) {
            self.quiet = true;
        }
        match event {
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => {
                self.silence.on_feedback(now, feedback.round_trip(now));
                self.copa.on_feedback(now, feedback, self.limits.max);
            }
            Event::PacketsSent(burst) => {
                self.silence.on_packet_sent(now);
                self.share.on_packets(now, burst);
            }
            Event::PacerQueue(queue) if queue.size == DataSize::ZERO => self.share.on_empty_pacer(),
            Event::FrameCaptured(_) => self.on_capture(now),
            Event::FrameEncoded(frame) => self.share.on_frame(now, self.rate(), frame.encoder_bitrate),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => *self = Self::fresh(self.config.clone(), self.limits, now),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let rate = self.rate();
        let target = self.limits.clamp(rate.scale(self.share.alpha()));
        let fills = self.config.fill && !self.paused && !self.quiet && !self.silence.lasts();
        Decision {
            pacing: Pacing {
                rate,
                burst: Some(DataSize::ZERO),
                padding_rate: if fills { rate } else { DataRate::ZERO },
            },
            congestion_window: Some(self.copa.window()),
            encoder: EncoderWishes { drop_one_frame_in: self.paused.then_some(1), ..Default::default() },
            ..Decision::of_target(target)
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let quiet = self.quiet_from().filter(|_| self.config.fill);
        [quiet, self.silence.next_deadline()].into_iter().flatten().min()
    }

    fn feedback_rule(&self) -> FeedbackRule {
        FeedbackRule::DataUnits
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("vidaptive_rate_bps", self.rate().as_bps_f64());
        gauge("vidaptive_alpha_ratio", self.share.alpha());
        gauge("vidaptive_window_bytes", self.copa.window().as_bytes() as f64);
        gauge("vidaptive_queue_ms", 1e3 * self.copa.queue_s());
    }
}

/// Until two pictures were seen: 30 per second.
const FIRST_CAPTURE_INTERVAL: TimeDelta = TimeDelta::from_micros(33_333);
const SHORTEST_CAPTURE: TimeDelta = TimeDelta::from_millis(4);
const LONGEST_CAPTURE: TimeDelta = TimeDelta::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{EncodedFrameInfo, NoAssets, SourceFrameInfo};

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(1), max: DataRate::from_mbps(8) };

    fn vidaptive() -> Vidaptive {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        Vidaptive::new(Config::default(), context).unwrap()
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn capture(vidaptive: &mut Vidaptive, ms: i64) {
        vidaptive.on_event(at(ms), &Event::FrameCaptured(SourceFrameInfo { frame: 0, complexity: None }));
    }

    /// [karimi2023]: pictures are skipped while the oldest frame has waited longer than 33 ms, and nothing is padded.
    #[test]
    fn the_encoder_pauses_while_a_frame_waits_too_long() {
        let mut vidaptive = vidaptive();
        let frame = EncodedFrameInfo {
            frame: 0,
            size: DataSize::from_bytes(9_000),
            keyframe: true,
            height: 360,
            qp: 30.0,
            psnr_db: None,
            encoder_bitrate: DataRate::from_mbps(1),
        };
        vidaptive.on_event(at(0), &Event::FrameEncoded(frame));
        capture(&mut vidaptive, 33);
        assert_eq!(vidaptive.decision().encoder.drop_one_frame_in, None);
        assert_eq!(vidaptive.decision().pacing.padding_rate, DataRate::from_mbps(1));
        capture(&mut vidaptive, 66);
        assert_eq!(vidaptive.decision().encoder.drop_one_frame_in, Some(1));
        assert_eq!(vidaptive.decision().pacing.padding_rate, DataRate::ZERO);
        let empty = legato_control::PacerQueue::default();
        vidaptive.on_event(at(80), &Event::PacerQueue(empty));
        capture(&mut vidaptive, 99);
        assert_eq!(vidaptive.decision().encoder.drop_one_frame_in, None);
    }

    #[test]
    fn padding_stops_before_the_next_picture_and_starts_with_it() {
        let mut vidaptive = vidaptive();
        capture(&mut vidaptive, 0);
        // 33.333 - 8.25 ms.
        let quiet = vidaptive.next_deadline().unwrap();
        assert_eq!(quiet, Timestamp::from_nanos(25_083_000));
        vidaptive.on_event(quiet, &Event::Deadline);
        assert_eq!(vidaptive.decision().pacing.padding_rate, DataRate::ZERO);
        assert_eq!(vidaptive.next_deadline(), None);
        capture(&mut vidaptive, 33);
        assert_eq!(vidaptive.decision().pacing.padding_rate, DataRate::from_mbps(1));
    }
}
