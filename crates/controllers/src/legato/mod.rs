//! `legato` believes that each frame, sent at once, measures the link better than any probe, and that a call is lost or
//! won by what one frame meets: so it measures by every frame, and fits every frame into what the link will pass.
//!
//! * The capacity is bytes over the time that the link worked on them, over the last moments and over the last second;
//!   the lower holds, so that a fall is believed within a frame or two and a rise within a second
//!   (`service_rate.rs`). Frames too small to measure let it grow slowly.
//! * What waits in front of a picture is what is on its way, minus what the link has passed since the last news
//!   (`backlog.rs`). A frame gets what is left of its time budget; where nothing is left the picture is skipped, a few in
//!   a row at most.
//! * The target is nearly all of the capacity, minus what the backlog needs. Sharing (`share.rs`,
//!   `queue_target.rs`), losses (`losses.rs`) and marks (`marks.rs`) limit it.
//! * Where its gauges are read it also holds a probability for each rate (`estimate/belief`), and records its quantiles.
//!
//! docs/legato.md has its figures, its weaknesses, and what was tried. Not here: probing.

mod backlog;
pub(super) mod capacity;
pub(super) mod delivered;
pub(super) mod loss_dispersion;
pub(super) mod loss_trial;
mod losses;
mod marks;
mod queue_target;
mod service_rate;
pub(super) mod share;

use self::backlog::Backlog;
use self::capacity::{Capacity, SmallFrames, draining_ratio};
use self::delivered::Delivered;
use self::losses::Losses;
use self::marks::Marks;
use self::share::Share;
use legato_control::check_ranges;
use legato_control::estimate::arrivals::{Arrival, Arrivals, BurstPlaces};
use legato_control::estimate::belief::{Belief, Evidence};
use legato_control::estimate::frame_interval::FrameInterval;
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, EncoderWishes, Event, FeedbackRule, Pacing, PacketReport, RateController,
    RateLimits, SendingWishes, Side, TransportFeedback,
};
use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Legato`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The share of the measured capacity that is aimed at, 0.1 to 1.5.
    pub utilisation_ratio: f64,
    /// The shorter memory of the capacity, 10 to 10,000: falls are followed by it.
    pub fast_memory_ms: f64,
    /// The longer memory of the capacity, 10 to 60,000: rises are believed by it.
    pub slow_memory_ms: f64,
    /// A frame shall have crossed the link so long after its capture, 5 to 1,000.
    pub frame_budget_ms: f64,
    /// The target gives up all but a fifth of the capacity where the backlog needs as long as this, 10 to 10,000.
    pub drain_ms: f64,
    /// A picture that would wait longer than this is skipped, 5 to 10,000.
    pub skip_above_ms: f64,
    /// No more pictures than this are skipped in a row, 0 to 100.
    pub max_skips: u32,
    /// Encoders make single frames so much larger than they are asked to, 1 to 3.
    pub encoder_overshoot_ratio: f64,
    /// The smallest frame that shows anything, 1 to 65,535.
    pub min_frame_bytes: u32,
    /// The pacing rate over the capacity, 1 to 100: a frame that leaves faster than the link passes it measures it.
    pub pacing_ratio: f64,
    /// The same once losses have shown that a queue holds no whole frame, 1 to 10.
    pub shallow_pacing_ratio: f64,
    /// In company a frame leaves over this share of the frame interval, 0.05 to 1.
    pub company_spread_ratio: f64,
    /// In company: by how much more to climb than flows that are alike, and what queue to bear for it, 0.001 to 1,000; with
    /// 2 the rate is mostly 1.6 to 2.4 times theirs, and up to 4 beside a single one ([rfc8867] §6.1).
    pub priority: f64,
    /// Parity, as a share of the rate, over the share of packets that the link loses whatever is sent, 0 to 4.
    pub parity_over_loss_ratio: f64,
    /// Without a frame large enough to measure, the capacity grows by this ratio a second, 0 to 100.
    pub unmeasured_growth_ratio: f64,
    /// A frame that is done early shows the capacity for one so many times as large, 1 to 100.
    pub max_stretch_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            utilisation_ratio: 0.95,
            fast_memory_ms: 150.0,
            slow_memory_ms: 1_000.0,
            frame_budget_ms: 45.0,
            drain_ms: 300.0,
            skip_above_ms: 60.0,
            max_skips: 2,
            encoder_overshoot_ratio: 1.2,
            min_frame_bytes: 600,
            pacing_ratio: 2.5,
            shallow_pacing_ratio: 1.1,
            company_spread_ratio: 0.6,
            priority: 1.0,
            parity_over_loss_ratio: 1.0,
            unmeasured_growth_ratio: 1.5,
            max_stretch_ratio: 4.0,
        }
    }
}

fn check(config: &Config) -> Result<(), BuildError> {
    check_ranges::<Legato>(&[
        ("utilisation_ratio", config.utilisation_ratio, 0.1, 1.5),
        ("fast_memory_ms", config.fast_memory_ms, 10.0, 10_000.0),
        ("slow_memory_ms", config.slow_memory_ms, 10.0, 60_000.0),
        ("frame_budget_ms", config.frame_budget_ms, 5.0, 1_000.0),
        ("drain_ms", config.drain_ms, 10.0, 10_000.0),
        ("skip_above_ms", config.skip_above_ms, 5.0, 10_000.0),
        ("max_skips", f64::from(config.max_skips), 0.0, 100.0),
        ("encoder_overshoot_ratio", config.encoder_overshoot_ratio, 1.0, 3.0),
        ("min_frame_bytes", f64::from(config.min_frame_bytes), 1.0, 65_535.0),
        ("pacing_ratio", config.pacing_ratio, 1.0, 100.0),
        ("shallow_pacing_ratio", config.shallow_pacing_ratio, 1.0, 10.0),
        ("company_spread_ratio", config.company_spread_ratio, 0.05, 1.0),
        ("priority", config.priority, 0.001, 1_000.0),
        ("parity_over_loss_ratio", config.parity_over_loss_ratio, 0.0, 4.0),
        ("unmeasured_growth_ratio", config.unmeasured_growth_ratio, 0.0, 100.0),
        ("max_stretch_ratio", config.max_stretch_ratio, 1.0, 100.0),
    ])
}

/// Measures by each frame, and sizes each frame.
#[derive(Clone, Debug)]
pub struct Legato {
    config: Config,
    limits: RateLimits,
    path: PathState,
    frame_interval: FrameInterval,
    last_frame: DataSize,
    /// For the picture just captured.
    plan: FramePlan,
    skipped: u32,
}

/// All that is known of the path: void when the route changes.
#[derive(Clone, Debug)]
struct PathState {
    arrivals: Arrivals,
    places: BurstPlaces,
    capacity: Capacity,
    delivered: Delivered,
    losses: Losses,
    marks: Marks,
    share: Share,
    backlog: Backlog,
    /// From the first time that gauges are read: it decides nothing, and takes a third of the time of a feedback.
    belief: Option<Box<Belief>>,
    /// When the route began, and the rate that was guessed then, in bytes a second.
    began: (Timestamp, f64),
    /// When the last picture was captured.
    believed_at: Timestamp,
    silence: Silence,
    /// What the link passed since the last arrival that was read.
    passed: DataSize,
    /// What was lost in a row since then: passed as well, unless it would have been too much.
    lost_in_row: DataSize,
}

/// What the reports of one feedback said.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Any is missing.
    lost: bool,
    /// Bytes that arrived.
    bytes: u64,
    evidence: Evidence,
}

/// What becomes of one picture.
#[derive(Clone, Copy, Debug)]
struct FramePlan {
    /// Bytes a second.
    target: f64,
    max_frame_bytes: f64,
    skip: bool,
    wait_s: f64,
}

impl Construct for Legato {
    const NAME: &'static str = "legato";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "measures the link by each frame, and fits each frame into what it will pass";
    const CITES: &'static [&'static str] =
        &["blom1988", "chiu1989", "kumar2020", "liu2026", "winstein2013", "draft-ietf-rmcat-gcc-02"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        check(&config)?;
        let limits = context.limits;
        let path = PathState::new(&config, limits, context.start);
        let target = limits.start.as_bps_f64() / 8.0;
        let plan = FramePlan { target, max_frame_bytes: f64::from(u32::MAX), skip: false, wait_s: 0.0 };
        let (frame_interval, last_frame) = (FrameInterval::default(), DataSize::ZERO);
        Ok(Self { config, limits, path, frame_interval, last_frame, plan, skipped: 0 })
    }
}

impl PathState {
    fn new(config: &Config, limits: RateLimits, now: Timestamp) -> Self {
        let start = limits.start.as_bps_f64() / 8.0;
        Self {
            arrivals: Arrivals::default(),
            places: BurstPlaces::default(),
            capacity: Capacity::new(config.fast_memory_ms, config.slow_memory_ms, limits),
            delivered: Delivered::new(start),
            losses: Losses::default(),
            marks: Marks::default(),
            share: Share::with_priority(config.priority),
            backlog: Backlog::new(now),
            belief: None,
            began: (now, start),
            believed_at: now,
            silence: Silence::default(),
            passed: DataSize::ZERO,
            lost_in_row: DataSize::ZERO,
        }
    }

    /// Read every report.
    fn read(&mut self, now: Timestamp, feedback: &TransportFeedback) -> Seen {
        let (mut seen, mut newest) = (Seen::default(), None);
        let mut reports = feedback.reports.iter().peekable();
        while let Some(report) = reports.next() {
            let place = self.places.next(report.departure);
            self.losses.read(place, !report.arrived());
            match report.arrived() {
                true => {
                    seen.bytes += report.size.as_bytes();
                    self.marks.count(report.ce);
                }
                false => {
                    seen.lost = true;
                    seen.evidence.lost(report.size);
                }
            }
            let next = reports.peek().and_then(PacketReport::arrival);
            if self.passed_unseen(&report, next) {
                self.passed += report.size;
                continue;
            }
            if !report.arrived() && self.losses.own_ratio() > 0.0 {
                self.lost_in_row += report.size;
            }
            let Some(arrival) = self.arrivals.read(&report) else { continue };
            self.share.read(&arrival);
            seen.evidence.arrived(&arrival, report.size);
            if arrival.found_idle && report.place.map_or(place == 0, |place| place.index == 0) {
                self.share.count_wait(arrival.queuing, self.capacity.passing_bytes_per_s());
            }
            let passed = self.passed_with(report.size, &arrival);
            self.capacity.read(&arrival, passed);
            newest = Some((arrival.departure, arrival.queuing));
        }
        if let Some((departure, queuing)) = newest {
            self.backlog.on_arrival(now, departure, queuing);
        }
        seen
    }

    /// Whether the link worked on a packet of which its arrival does not show when: one that the next one overtook behind
    /// the link, or that was lost there.
    fn passed_unseen(&self, report: &PacketReport, next: Option<PeerTimestamp>) -> bool {
        match report.arrival() {
            Some(arrival) => next.is_some_and(|next| next < arrival),
            None => !report.arrived() && self.losses.were_passed(),
        }
    }

    /// What the link worked on until an arrival, with what passed unseen before it.
    fn passed_with(&mut self, size: DataSize, arrival: &Arrival) -> DataSize {
        let before = std::mem::take(&mut self.passed);
        let in_row = std::mem::take(&mut self.lost_in_row);
        if arrival.found_idle {
            return size;
        }
        let with_row = size + before + in_row;
        let rate = self.capacity.passing_bytes_per_s();
        let fits = with_row.as_bytes_f64() <= IN_ROW_PASSED_RATIO * rate * arrival.service.as_secs_f64();
        if fits { with_row } else { size + before }
    }

    fn believe(&mut self, now: Timestamp) {
        self.believed_at = now;
        let Some(belief) = &mut self.belief else { return };
        if let Some(most) = self.backlog.overdue_bytes_per_s(now) {
            belief.advance(now);
            belief.at_most(most);
        }
    }

    /// The belief, from now on.
    fn belief(&mut self) -> &mut Belief {
        let (start, guess) = self.began;
        self.belief.get_or_insert_with(|| Box::new(Belief::new(start, guess)))
    }

    /// The 10, 50 and 90 % quantiles of what is believed since the last picture, in bytes a second.
    fn believed(&mut self) -> [f64; 3] {
        let at = self.believed_at;
        self.belief().quantiles(at, [0.1, 0.5, 0.9])
    }
}

impl Legato {
    fn on_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        self.path.backlog.set_in_flight(feedback.in_flight);
        if feedback.reports.is_empty() {
            return;
        }
        self.path.silence.on_feedback(now, feedback.round_trip(now));
        let gap_s = self.path.backlog.on_feedback(now);
        let seen = self.path.read(now, feedback);
        self.path.delivered.count(seen.bytes, gap_s);
        if let Some(belief) = &mut self.path.belief {
            seen.evidence.update(belief, now, gap_s, self.frame_interval.as_secs_f64());
        }
        let round_trip_s = self.path.backlog.lag_s();
        self.path.share.react(now, round_trip_s, self.path.delivered.bytes_per_s(), seen.lost);
        self.path.arrivals.set_queue_stands(self.path.share.queue_stands());
        let allowed = self.plan.target.max(1.0);
        let used_ratio = (self.limits.max.as_bps_f64() / 8.0 / allowed).min(1.0);
        let delivered_ratio = self.path.delivered.latest_bytes_per_s() / allowed;
        self.path.losses.react(now, round_trip_s, self.last_frame, used_ratio, delivered_ratio);
        self.path.marks.react(now, round_trip_s);
        let Config { max_stretch_ratio, unmeasured_growth_ratio, .. } = self.config;
        let small = SmallFrames { max_stretch_ratio, growth_ratio: unmeasured_growth_ratio };
        self.path.capacity.update(gap_s, self.frame_interval.as_secs_f64(), small, self.limits);
        self.plan.target = self.plan_frame(now).target;
    }

    /// [rfc8888] §5: several feedbacks are missing.
    fn halve(&mut self) {
        self.path.capacity.halve();
        if let Some(belief) = &mut self.path.belief {
            belief.at_most(self.path.capacity.bytes_per_s());
        }
        self.path.share.halve();
        self.plan.target *= 0.5;
    }

    fn on_capture(&mut self, now: Timestamp) {
        self.frame_interval.on_capture(now);
        self.path.believe(now);
        self.plan = self.plan_frame(now);
        self.skipped = if self.plan.skip { self.skipped + 1 } else { 0 };
    }

    fn plan_frame(&self, now: Timestamp) -> FramePlan {
        let Config { utilisation_ratio, frame_budget_ms, drain_ms, encoder_overshoot_ratio, .. } = self.config;
        // What the first frame shows badly all others inherit.
        let first_ratio = if self.last_frame == DataSize::ZERO { FIRST_FRAME_RATIO } else { 1.0 };
        let frame_budget_ms = frame_budget_ms * first_ratio;
        let PathState { share, losses, marks, backlog, .. } = &self.path;
        let capacity = self.path.capacity.bytes_per_s();
        let wait_s = backlog.wait_s(now, self.path.capacity.now_bytes_per_s(), share.in_company());
        let alone = utilisation_ratio * capacity * draining_ratio(wait_s, drain_ms);
        let target = if share.in_company() { share.limit() } else { alone } * losses.rate_ratio() * marks.rate_ratio();
        let passes = if share.in_company() { capacity.max(share.limit()) } else { capacity };
        let passes = if losses.limit_rate() { passes.min(LIMITED_PACING_RATIO * target) } else { passes };
        let room = passes * (frame_budget_ms / 1e3 - wait_s) / encoder_overshoot_ratio;
        // In a queue that others hold, frames within the budget would give the link to them. The same holds for a flow
        // that takes more than the others on purpose.
        let share_of_frame = PRESSED_FRAME_RATIO * target * self.frame_interval.as_secs_f64();
        let room = if share.is_pressed() || share.is_ahead() { room.max(share_of_frame) } else { room };
        // Beside flows that fill the queue no picture would ever be early enough.
        let late = !share.is_competing() && wait_s > self.config.skip_above_ms / 1e3;
        FramePlan {
            target,
            max_frame_bytes: room.max(f64::from(self.config.min_frame_bytes)),
            skip: late && self.skipped < self.skips(wait_s),
            wait_s,
        }
    }
}

impl Legato {
    /// How many pictures in a row may be left out. Behind a queue of seconds each that is sent is late and makes the next
    /// ones later: there is one per sixth of the wait, and some in any case, since news comes only of what is sent.
    fn skips(&self, wait_s: f64) -> u32 {
        let gap_s = (wait_s / PICTURES_PER_WAIT).min(LONGEST_GAP_S);
        self.config.max_skips.max((gap_s / self.frame_interval.as_secs_f64()) as u32)
    }

    /// Losses that no rate avoids are repaired in advance where a retransmission would come too late. Parity of a tenth
    /// does not repair losses in a row.
    fn parity_ratio(&self) -> f64 {
        let PathState { losses, backlog, .. } = &self.path;
        if losses.expected_ratio() < REPAIR_ABOVE_LOSS_RATIO || losses.come_in_rows() {
            return 0.0;
        }
        let share = if backlog.lag_s() < REPAIRED_IN_TIME_S { PARITY_SHARE_IF_REPAIRED } else { 1.0 };
        share * self.config.parity_over_loss_ratio * losses.expected_ratio()
    }

    /// Bytes a second, and what leaves at one instant. Alone a frame is a burst that measures; in company it is spread,
    /// so that its packets see the queue at many moments.
    fn pacing(&self) -> (f64, Option<DataSize>) {
        let Config { pacing_ratio, shallow_pacing_ratio, .. } = self.config;
        let held = self.path.losses.burst_limit();
        let burst = if self.path.marks.are_seen() { Some(DataSize::ZERO) } else { held };
        let pace = self.path.capacity.bytes_per_s() * if burst.is_some() { shallow_pacing_ratio } else { pacing_ratio };
        if !self.path.share.in_company() {
            // What drops packets above a rate keeps no burst either.
            let policed = if self.path.losses.are_tried() { 1.0 } else { LIMITED_PACING_RATIO } * self.plan.target;
            let limited = self.path.losses.limit_rate();
            return if limited { (pace.min(policed), Some(DataSize::ZERO)) } else { (pace, burst) };
        }
        let spread_s = self.config.company_spread_ratio * self.frame_interval.as_secs_f64();
        (pace.min(self.last_frame.as_bytes_f64() / spread_s), Some(DataSize::ZERO))
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
                self.path = PathState::new(&self.config, self.limits, now);
                if observed {
                    self.path.belief();
                }
                self.plan.target = self.limits.start.as_bps_f64() / 8.0;
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target = self.limits.clamp(DataRate::from_bps_f64(self.plan.target * 8.0));
        let (pace, burst) = self.pacing();
        Decision {
            pacing: Pacing { burst, ..Pacing::at(DataRate::from_bps_f64(pace * 8.0).max(target)) },
            sending: SendingWishes {
                fec_rate: target.scale(self.parity_ratio()),
                repair_deadline: (self.path.losses.expected_ratio() >= REPAIR_ABOVE_LOSS_RATIO)
                    .then_some(REPAIR_DEADLINE),
                ..Default::default()
            },
            encoder: EncoderWishes {
                max_frame_size: Some(DataSize::from_bytes(self.plan.max_frame_bytes as u64)),
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
        gauge("legato_capacity_bps", capacity.bytes_per_s() * 8.0);
        gauge("belief_p10_bps", p10 * 8.0);
        gauge("belief_p50_bps", p50 * 8.0);
        gauge("belief_p90_bps", p90 * 8.0);
        gauge("legato_wait_ms", self.plan.wait_s * 1e3);
        gauge("legato_frame_budget_bytes", self.plan.max_frame_bytes);
        gauge("legato_skips", f64::from(u8::from(self.plan.skip)));
        gauge("legato_in_company", f64::from(u8::from(share.in_company())));
        gauge("legato_standing_ms", share.standing_s() * 1e3);
        gauge("legato_pressed", f64::from(u8::from(share.is_pressed())));
        if share.limit().is_finite() {
            gauge("legato_share_bps", share.limit() * 8.0);
        }
        if let Some(burst) = losses.burst_limit() {
            gauge("legato_burst_bytes", burst.as_bytes_f64());
        }
        gauge("legato_own_loss_ratio", losses.own_ratio());
        gauge("legato_loss_limit_ratio", losses.rate_ratio());
    }
}

/// Packets lost in a row are taken for passed where the next came so late that the link had time for them, at most at
/// this much of its rate.
const IN_ROW_PASSED_RATIO: f64 = 1.25;
/// Behind a queue of seconds.
const PICTURES_PER_WAIT: f64 = 6.0;
/// Between pictures, in seconds, whatever waits.
const LONGEST_GAP_S: f64 = 0.5;
/// Below this, one retransmission of each lost packet repairs in time.
const REPAIR_ABOVE_LOSS_RATIO: f64 = 0.03;
/// A frame is on time within this.
const REPAIR_DEADLINE: TimeDelta = TimeDelta::from_millis(150);
/// A retransmission is requested after one way, and comes another round trip later.
const REPAIRED_IN_TIME_S: f64 = 0.1;
/// Parity saves such a frame that round trip, and costs bits in all frames.
const PARITY_SHARE_IF_REPAIRED: f64 = 0.25;
/// Over the rate up to which packets are not lost, where trials have found one: frames are not all of one size.
const LIMITED_PACING_RATIO: f64 = 1.25;
/// A call's first frame is a key frame.
const FIRST_FRAME_RATIO: f64 = 2.0;
/// Room for frames above their mean.
const PRESSED_FRAME_RATIO: f64 = 1.5;

#[cfg(test)]
mod legato_tests;
