//! `legato` believes that each frame, sent at once, measures the link better than any probe, and that single frames decide the quality of a call. So it measures by every frame, and fits every frame into the bytes that the link will pass.
//!
//! * The capacity is bytes over the time that the link worked on them, over the last moments and over the last second. The lower holds, so that a fall is believed within a frame or two and a rise within a second (`service_rate.rs`). Frames too small to measure let it grow slowly.
//! * In front of a picture wait the bytes in flight, minus those that the link has passed since the last news
//!   (`backlog.rs`). A frame gets the rest of its time budget; where nothing is left the picture is skipped, a few in
//!   a row at most.
//! * The target is nearly all of the capacity, minus what the backlog needs. Sharing (`share.rs`,
//!   `queue_target.rs`), losses (`losses.rs`) and marks (`marks.rs`) limit it: the lowest limit holds, and its cause is
//!   recorded (`limit.rs`).
//! * Where its gauges are read it also holds a probability for each rate (`estimate/belief`), and records its quantiles.
//!
//! docs/concepts/legato.md has its figures and weaknesses. Not here: probing.

mod backlog;
pub(super) mod capacity;
mod config;
pub(super) mod delivered;
pub(super) mod limit;
pub(super) mod loss_dispersion;
pub(super) mod loss_trial;
mod losses;
mod marks;
mod path;
mod queue_target;
mod service_rate;
pub(super) mod share;

use self::config::Budget;
use self::limit::{Limit, Room, TRICKLE, Why};
use self::losses::LIMITED_RATIO;
use self::path::PathState;
use legato_control::estimate::frame_interval::FrameInterval;
use legato_control::{
    BuildError, Construct, Context, Decision, EncoderWishes, Event, FeedbackRule, Pacing, RateController, RateLimits,
    SendingWishes, Side, TransportFeedback,
};
use legato_units::{ByteRate, Bytes, DataRate, DataSize, Seconds, TimeDelta, Timestamp};

pub use self::config::Config;

/// Measures by each frame, and sizes each frame.
#[derive(Clone, Debug)]
pub struct Legato {
    config: Config,
    budget: Budget,
    limits: RateLimits,
    path: PathState,
    frame_interval: FrameInterval,
    last_frame: DataSize,
    /// For the picture just captured.
    plan: FramePlan,
    skipped: u32,
}

/// The decision on one picture.
#[derive(Clone, Copy, Debug)]
struct FramePlan {
    limit: Limit,
    skip: bool,
    wait: Seconds,
}

impl Construct for Legato {
    const NAME: &'static str = "legato";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "measures the link by each frame, and fits each frame into what it will pass";
    const CITES: &'static [&'static str] =
        &["blom1988", "chiu1989", "kumar2020", "liu2026", "winstein2013", "draft-ietf-rmcat-gcc-02"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let limits = context.limits;
        let path = config.path(limits, context.start);
        let any = Bytes::new(u32::MAX.into());
        let limit = Limit { target: limits.start.into(), max_frame: any, why: Why::Capacity };
        let plan = FramePlan { limit, skip: false, wait: Seconds::ZERO };
        let (frame_interval, last_frame) = (FrameInterval::default(), DataSize::ZERO);
        let budget = config.budget();
        Ok(Self { config, budget, limits, path, frame_interval, last_frame, plan, skipped: 0 })
    }
}

impl Legato {
    fn on_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        self.path.backlog.set_in_flight(feedback.in_flight);
        if feedback.reports.is_empty() {
            return;
        }
        self.path.silence.on_feedback(now, feedback.round_trip(now));
        let gap = self.path.backlog.on_feedback(now);
        let seen = self.path.read(now, feedback);
        self.path.delivered.count(seen.arrived, gap);
        let interval = self.frame_interval.mean();
        if let Some(belief) = &mut self.path.belief {
            seen.evidence.update(belief, now, gap, interval);
        }
        let round_trip = self.path.backlog.lag();
        self.path.share.react(now, round_trip, self.path.delivered.rate(), seen.lost);
        self.path.arrivals.set_queue_stands(self.path.share.queue_stands());
        let allowed = self.plan.limit.target.max(TRICKLE);
        let used_ratio = (ByteRate::from(self.limits.max) / allowed).min(1.0);
        let delivered_ratio = self.path.delivered.latest() / allowed;
        self.path.losses.react(now, round_trip, self.last_frame, used_ratio, delivered_ratio);
        self.path.marks.react(now, round_trip);
        self.path.capacity.update(gap, interval, self.budget.small, self.limits);
        let Limit { target, why, .. } = self.limit(self.wait(now));
        self.plan.limit = Limit { target, why, ..self.plan.limit };
    }

    /// [rfc8888] §5: several feedbacks are missing.
    fn halve(&mut self) {
        self.path.capacity.halve();
        if let Some(belief) = &mut self.path.belief {
            belief.at_most(self.path.capacity.rate());
        }
        self.path.share.halve();
        self.plan.limit.target *= 0.5;
        self.plan.limit.why = Why::Silence;
    }

    fn on_capture(&mut self, now: Timestamp) {
        self.frame_interval.on_capture(now);
        self.path.believe(now);
        self.plan = self.plan_frame(now);
        self.skipped = if self.plan.skip { self.skipped + 1 } else { 0 };
    }

    fn plan_frame(&self, now: Timestamp) -> FramePlan {
        let wait = self.wait(now);
        // Against flows that fill the queue no picture would ever be early enough.
        let late = !self.path.share.is_competing() && wait > self.budget.skip_above;
        FramePlan { limit: self.limit(wait), skip: late && self.skipped < self.skips(wait), wait }
    }

    /// How long the next frame waits for the bytes in front of it.
    fn wait(&self, now: Timestamp) -> Seconds {
        let PathState { share, backlog, capacity, .. } = &self.path;
        backlog.wait(now, capacity.now(), share.in_company())
    }

    /// The most to send behind a `wait`: the lowest limit of all parts.
    fn limit(&self, wait: Seconds) -> Limit {
        let PathState { share, losses, marks, capacity, .. } = &self.path;
        let Config { utilisation_ratio, encoder_overshoot_ratio, .. } = self.config;
        // What the first frame shows badly all others inherit.
        let first_ratio = if self.last_frame == DataSize::ZERO { FIRST_FRAME_RATIO } else { 1.0 };
        let time = self.budget.frame * first_ratio - wait;
        let room = Room { time, overshoot_ratio: encoder_overshoot_ratio };
        // In company the share replaces the backlog's limit: giving way would drain others' queue for them.
        let limit = share
            .limit(capacity.rate(), room)
            .unwrap_or_else(|| backlog::limit(capacity.rate(), utilisation_ratio, wait, self.budget.drain, room));
        let limit = limit.and(marks.limit(limit.target));
        let limit = limit.and(losses.limit(limit.target, room));
        let least = share.least_frame(limit.target, self.frame_interval.mean());
        Limit { max_frame: limit.max_frame.max(least).max(self.budget.min_frame), ..limit }
    }

    /// How many pictures in a row may be left out. Behind a queue of seconds each picture is late and makes the next
    /// ones later. There is one per sixth of the wait, and some in any case, since only sent packets bring news.
    fn skips(&self, wait: Seconds) -> u32 {
        let gap = (wait / PICTURES_PER_WAIT).min(LONGEST_GAP);
        self.config.max_skips.max((gap / self.frame_interval.mean()) as u32)
    }

    /// Losses that no rate avoids are repaired in advance where a retransmission would come too late. Parity of a tenth
    /// does not repair losses in a row.
    fn parity_ratio(&self) -> f64 {
        let PathState { losses, backlog, .. } = &self.path;
        if losses.trial.expected_ratio() < REPAIR_ABOVE_LOSS_RATIO || losses.come_in_rows() {
            return 0.0;
        }
        let share = if backlog.lag() < REPAIRED_IN_TIME { PARITY_SHARE_IF_REPAIRED } else { 1.0 };
        share * self.config.parity_over_loss_ratio * losses.trial.expected_ratio()
    }

    /// The pacing rate, and the bytes that leave at one instant. Alone a frame is a burst that measures; in company it
    /// is spread, so that its packets see the queue at many moments.
    fn pacing(&self) -> (ByteRate, Option<DataSize>) {
        let Config { pacing_ratio, shallow_pacing_ratio, .. } = self.config;
        let held = self.path.losses.burst_limit();
        let burst = if self.path.marks.are_seen() { Some(DataSize::ZERO) } else { held };
        let pace = self.path.capacity.rate() * if burst.is_some() { shallow_pacing_ratio } else { pacing_ratio };
        if !self.path.share.in_company() {
            // What drops packets above a rate keeps no burst either.
            let policed = self.plan.limit.target * if self.path.losses.trial.is_on() { 1.0 } else { LIMITED_RATIO };
            let limited = self.path.losses.trial.limits();
            return if limited { (pace.min(policed), Some(DataSize::ZERO)) } else { (pace, burst) };
        }
        let spread = self.frame_interval.mean() * self.config.company_spread_ratio;
        (pace.min(Bytes::from(self.last_frame) / spread), Some(DataSize::ZERO))
    }
}

impl RateController for Legato {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.path.silence.is_over(now) {
            self.halve();
        }
        match event {
            Event::FrameCaptured(_) => self.on_capture(now),
            Event::FrameEncoded(frame) => self.last_frame = frame.size,
            Event::PacketsSent(burst) => {
                self.path.silence.on_packet_sent(now);
                self.path.backlog.set_in_flight(burst.get(burst.packets - 1).in_flight);
                self.path.backlog.on_departure(DataSize::from_bytes(burst.bytes()));
            }
            Event::PacerQueue(queue) => self.path.backlog.set_in_pacer(queue.size),
            Event::TransportFeedback(feedback) => self.on_feedback(now, feedback),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                let observed = self.path.belief.is_some();
                self.path = self.config.path(self.limits, now);
                if observed {
                    self.path.belief();
                }
                self.plan.limit = Limit { target: self.limits.start.into(), why: Why::Capacity, ..self.plan.limit };
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target = self.limits.clamp(self.plan.limit.target.into());
        let (pace, burst) = self.pacing();
        Decision {
            pacing: Pacing { burst, ..Pacing::at(DataRate::from(pace).max(target)) },
            sending: SendingWishes {
                fec_rate: target.scale(self.parity_ratio()),
                repair_deadline: (self.path.losses.trial.expected_ratio() >= REPAIR_ABOVE_LOSS_RATIO)
                    .then_some(REPAIR_DEADLINE),
                ..Default::default()
            },
            encoder: EncoderWishes {
                max_frame_size: Some(self.plan.limit.max_frame.into()),
                drop_one_frame_in: self.plan.skip.then_some(1),
                ..Default::default()
            },
            ..Decision::of_target(target)
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.path.silence.next_deadline()
    }

    fn feedback_rule(&self) -> FeedbackRule {
        FeedbackRule::DataUnits
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let [p10, p50, p90] = self.path.believed();
        let PathState { share, losses, capacity, .. } = &self.path;
        gauge("legato_capacity_bps", capacity.rate().as_bps());
        gauge("belief_p10_bps", p10.as_bps());
        gauge("belief_p50_bps", p50.as_bps());
        gauge("belief_p90_bps", p90.as_bps());
        gauge("legato_wait_ms", self.plan.wait.as_millis());
        gauge("legato_frame_budget_bytes", self.plan.limit.max_frame.get());
        gauge("legato_skips", f64::from(u8::from(self.plan.skip)));
        gauge("legato_in_company", f64::from(u8::from(share.in_company())));
        gauge("legato_standing_ms", share.standing().as_millis());
        gauge("legato_pressed", f64::from(u8::from(share.is_pressed())));
        if share.rate() < ByteRate::INFINITY {
            gauge("legato_share_bps", share.rate().as_bps());
        }
        if let Some(burst) = losses.burst_limit() {
            gauge("legato_burst_bytes", burst.as_bytes_f64());
        }
        gauge("legato_own_loss_ratio", losses.trial.own_ratio());
        gauge("legato_loss_limit_ratio", losses.trial.rate_ratio());
        let asks_for_less = self.plan.limit.target > self.limits.max.into();
        gauge("legato_why", f64::from(if asks_for_less { Why::Application } else { self.plan.limit.why } as u8));
    }
}

/// Behind a queue of seconds.
const PICTURES_PER_WAIT: f64 = 6.0;
/// Between pictures, whatever waits.
const LONGEST_GAP: Seconds = Seconds::from_millis(500.0);
/// Below this, one retransmission of each lost packet repairs in time.
const REPAIR_ABOVE_LOSS_RATIO: f64 = 0.03;
/// A frame is on time within this.
const REPAIR_DEADLINE: TimeDelta = TimeDelta::from_millis(150);
/// A retransmission is requested after one way, and comes another round trip later.
const REPAIRED_IN_TIME: Seconds = Seconds::from_millis(100.0);
/// Parity saves such a frame that round trip, and costs bits in all frames.
const PARITY_SHARE_IF_REPAIRED: f64 = 0.25;
/// A call's first frame is a key frame.
const FIRST_FRAME_RATIO: f64 = 2.0;

#[cfg(test)]
mod legato_tests;
