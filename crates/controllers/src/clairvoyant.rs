//! `clairvoyant` knows all that the bottleneck will pass, and bounds what a controller could reach: `oracle`, which
//! knows the capacity alone, is late where its encoder overshoots and where a link dies.
//!
//! It plays the link's queue along with its own packets, so it knows at each captured picture when a frame of any size
//! would have crossed the link. From that follow four rules:
//!
//! 1. A frame gets what the link passes until `frame_budget_ms` after its capture, and not much more than its share of
//!    the target: a receiver delays all frames by what the largest takes.
//! 2. Where that is too little for any picture, a frame of `min_frame_bytes` still goes if it is not late: a slow link
//!    shows coarse pictures, not none.
//! 3. A picture that would be late is skipped if the next one would cross the link hardly later: behind a queue, or
//!    before an outage ends. So nothing is sent into a dead link, and the first frame after it is a new one.
//! 4. Frames leave as one burst where the queue holds them; else at the rate at which the link passes them.
//!
//! Not a bound in the strict sense: it does not know which packets will be lost at random, nor how many bits the coming
//! pictures deserve.

use legato_control::{
    BuildError, Construct, Context, Decision, EncoderWishes, Event, FutureLink, KnownFuture, Pacing, RateController,
    RateLimits, SentPacket, Side,
};
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Clairvoyant`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// A frame crosses the link within this time of its capture.
    #[schemars(range(min = 1, max = 10_000))]
    pub frame_budget_ms: f64,
    /// A frame has at most this many times the target's share for a frame: the receiver waits for the largest
    /// frame before it shows any.
    #[schemars(range(min = 1, max = 100))]
    pub frame_ratio: f64,
    /// The target is the mean capacity over this time ahead: frames of like size look best.
    #[schemars(range(min = 1, max = 60_000))]
    pub horizon_ms: f64,
    /// The share of that capacity for all media.
    #[schemars(range(min = 0.01, max = 1.5))]
    pub utilisation_ratio: f64,
    /// The smallest frame worth sending: fewer bytes than this show nothing.
    #[schemars(range(min = 1, max = 65_535))]
    pub min_frame_bytes: u32,
    /// A frame of that size is sent if it crosses the link within this time of its capture.
    #[schemars(range(min = 0, max = 10_000))]
    pub late_ms: f64,
    /// Otherwise skip a picture if the next one would cross the link less than this share of a frame interval later.
    #[schemars(range(min = 0, max = 1))]
    pub skip_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            frame_budget_ms: 50.0,
            frame_ratio: 2.0,
            horizon_ms: 300.0,
            utilisation_ratio: 0.97,
            min_frame_bytes: 800,
            late_ms: 400.0,
            skip_ratio: 0.1,
        }
    }
}

/// Knows what the link will pass.
#[derive(Clone)]
pub struct Clairvoyant {
    config: Config,
    limits: RateLimits,
    link: Box<dyn FutureLink>,
    budget: TimeDelta,
    horizon: TimeDelta,
    last_capture: Option<Timestamp>,
    /// Between two captures, smoothed.
    interval: TimeDelta,
    /// For the picture just captured.
    plan: FramePlan,
}

/// The decision on one picture.
#[derive(Clone, Copy, Debug)]
struct FramePlan {
    target: DataRate,
    /// Coded bytes.
    max_frame_size: DataSize,
    pacing_rate: DataRate,
    skip: bool,
}

impl Construct for Clairvoyant {
    const NAME: &'static str = "clairvoyant";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "knows when each byte will cross the link: the ceiling";
    const CITES: &'static [&'static str] = &[];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let Some(link) = context.assets.future().and_then(KnownFuture::link) else {
            let what = "a link of its own with a known capacity".to_owned();
            return Err(BuildError::Missing { controller: Self::NAME, what });
        };
        let mut clairvoyant = Self {
            budget: TimeDelta::from_millis_f64(config.frame_budget_ms),
            horizon: TimeDelta::from_millis_f64(config.horizon_ms),
            config,
            limits: context.limits,
            link,
            last_capture: None,
            interval: FIRST_INTERVAL,
            plan: FramePlan {
                target: context.limits.start,
                max_frame_size: DataSize::ZERO,
                pacing_rate: context.limits.start,
                skip: false,
            },
        };
        clairvoyant.plan = clairvoyant.plan_frame(context.start);
        Ok(clairvoyant)
    }
}

impl Clairvoyant {
    fn on_capture(&mut self, now: Timestamp) {
        if let Some(last) = self.last_capture {
            let measured = (now - last).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
            self.interval = (self.interval * 7 + measured) / 8;
        }
        self.last_capture = Some(now);
        self.plan = self.plan_frame(now);
    }

    fn plan_frame(&self, now: Timestamp) -> FramePlan {
        let free = self.link.idle_at(now);
        let target = self.target(now, free);
        let min_size = DataSize::from_bytes(u64::from(self.config.min_frame_bytes));
        let room = coded(self.link.passes(free, (now + self.budget).max(free)));
        // A fast link is no reason for a frame that the application's maximum does not carry.
        let share = coded(target.scale(self.config.frame_ratio).min(self.limits.max) * self.interval);
        let size = room.min(share).max(min_size);
        let skip = room < min_size && self.next_is_as_early(now, free, min_size);
        FramePlan { target, max_frame_size: size, pacing_rate: self.pacing_rate(free, size), skip }
    }

    /// The bytes that the link passes within the horizon beyond the waiting ones.
    fn target(&self, now: Timestamp, free: Timestamp) -> DataRate {
        let end = now + self.horizon;
        let passed = self.link.passes(free.min(end), end);
        let rate = passed / self.horizon;
        self.limits.clamp(rate.scale(self.config.utilisation_ratio))
    }

    /// Whether the next picture would cross the link hardly later than this one, if this one were skipped.
    fn next_is_as_early(&self, now: Timestamp, free: Timestamp, size: DataSize) -> bool {
        let next = now + self.interval;
        if self.link.exit(free, size) <= now + TimeDelta::from_millis_f64(self.config.late_ms) {
            return false;
        }
        let (exit, next_exit) = (self.link.exit(free, size), self.link.exit(free.max(next), size));
        let later = TimeDelta::from_secs_f64(self.interval.as_secs_f64() * self.config.skip_ratio);
        exit == Timestamp::MAX || next_exit < exit + later
    }

    /// Frames leave at once where the queue holds them: the link then never waits for the pacer.
    fn pacing_rate(&self, free: Timestamp, size: DataSize) -> DataRate {
        let held = self.link.queue_limit().is_none_or(|limit| size.as_bytes() * 10 < limit.as_bytes() * QUEUE_TENTHS);
        let exit = self.link.exit(free, size);
        if held || exit == Timestamp::MAX {
            return AT_ONCE;
        }
        size / (exit - free).max(TimeDelta::from_nanos(1))
    }

    fn on_sent(&mut self, now: Timestamp, burst: &Burst<SentPacket>) {
        for place in 0..burst.packets {
            self.link.take(now, burst.get(place).size);
        }
    }
}

impl RateController for Clairvoyant {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::FrameCaptured(_) => self.on_capture(now),
            Event::PacketsSent(burst) => self.on_sent(now, burst),
            Event::Limits(limits) => self.limits = *limits,
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let FramePlan { target, max_frame_size, pacing_rate, skip } = self.plan;
        let target_bitrate = self.limits.clamp(target);
        Decision {
            pacing: Pacing::at(pacing_rate.max(target_bitrate)),
            encoder: EncoderWishes {
                max_frame_size: Some(max_frame_size),
                drop_one_frame_in: skip.then_some(1),
                ..Default::default()
            },
            ..Decision::of_target(target_bitrate)
        }
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("clairvoyant_frame_budget_bytes", self.plan.max_frame_size.as_bytes_f64());
        gauge("clairvoyant_skips", f64::from(u8::from(self.plan.skip)));
    }
}

/// The share of coded video in bytes on the wire: a packet of 1,162 has 66 of headers.
fn coded(wire: DataSize) -> DataSize {
    DataSize::from_bytes(wire.as_bytes() * 1_162 / 1_228)
}

/// 30 fps, until two pictures have come.
const FIRST_INTERVAL: TimeDelta = TimeDelta::from_millis(33);
/// 200 fps to 5 fps; a longer gap is a pause or a skipped capture, not a frame rate.
const SHORTEST_INTERVAL: TimeDelta = TimeDelta::from_millis(5);
/// See [`SHORTEST_INTERVAL`].
const LONGEST_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
/// A queue also holds audio and packets sent again.
const QUEUE_TENTHS: u64 = 7;
const AT_ONCE: DataRate = DataRate::from_mbps(1_000);

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Assets, CapacityStep, PacketKind, SourceFrameInfo};
    use std::borrow::Cow;
    use std::sync::Arc;

    /// 1 Mbit/s, 125 bytes a millisecond, except within `dead`.
    #[derive(Clone)]
    struct Link {
        dead: (Timestamp, Timestamp),
        idle: Timestamp,
        queue: Option<DataSize>,
    }

    impl FutureLink for Link {
        fn take(&mut self, now: Timestamp, size: DataSize) -> Timestamp {
            self.idle = self.exit(self.idle_at(now), size);
            self.idle
        }
        fn idle_at(&self, now: Timestamp) -> Timestamp {
            self.idle.max(now)
        }
        fn exit(&self, from: Timestamp, size: DataSize) -> Timestamp {
            let (begin, end) = self.dead;
            let takes = TimeDelta::from_nanos(8_000 * size.as_bytes() as i64);
            let from = if from >= begin { from.max(end) } else { from };
            if from == Timestamp::MAX {
                return from;
            }
            match from + takes {
                exit if from < begin && exit > begin => exit + (end - begin),
                exit => exit,
            }
        }
        fn passes(&self, from: Timestamp, to: Timestamp) -> DataSize {
            let (begin, end) = self.dead;
            let dead = (to.min(end) - from.max(begin)).max(TimeDelta::ZERO);
            DataRate::from_mbps(1) * ((to - from).max(TimeDelta::ZERO) - dead)
        }
        fn queue_limit(&self) -> Option<DataSize> {
            self.queue
        }
    }

    impl Assets for Link {
        fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
            None
        }
        fn future(&self) -> Option<&dyn KnownFuture> {
            Some(self)
        }
    }

    impl KnownFuture for Link {
        fn capacity(&self) -> Option<Arc<[CapacityStep]>> {
            None
        }
        fn link(&self) -> Option<Box<dyn FutureLink>> {
            Some(Box::new(self.clone()))
        }
    }

    const NEVER: (Timestamp, Timestamp) = (Timestamp::MAX, Timestamp::MAX);

    fn on(dead: (Timestamp, Timestamp), queue: Option<DataSize>) -> Clairvoyant {
        let limits =
            RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(4) };
        let link = Link { dead, idle: Timestamp::ZERO, queue };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &link };
        let config = Config { frame_budget_ms: 40.0, frame_ratio: 100.0, utilisation_ratio: 0.9, ..Config::default() };
        Clairvoyant::new(config, context).unwrap()
    }

    fn ms(at: i64) -> Timestamp {
        Timestamp::from_millis(at)
    }

    fn capture(controller: &mut Clairvoyant, at_ms: i64) -> Decision {
        let frame = SourceFrameInfo { frame: at_ms as u64, complexity: None };
        controller.on_event(ms(at_ms), &Event::FrameCaptured(frame));
        controller.decision()
    }

    fn send(controller: &mut Clairvoyant, at_ms: i64, bytes: u64) {
        let size = DataSize::from_bytes(bytes);
        let (kind, in_flight) = (PacketKind::Video, size);
        let packet = SentPacket { transport_seq: 0, ssrc: 1, size, kind, probe_cluster: None, in_flight, place: None };
        controller.on_event(ms(at_ms), &Event::PacketsSent(Burst::single(packet)));
    }

    /// 40 ms at 1 Mbit/s are 5,000 bytes on the wire, 4,731 of them video.
    #[test]
    fn a_frame_gets_what_the_link_passes_within_its_budget() {
        let mut controller = on(NEVER, None);
        let decision = capture(&mut controller, 0);
        assert_eq!(decision.encoder.max_frame_size, Some(DataSize::from_bytes(4_731)));
        assert_eq!(decision.target_bitrate, DataRate::from_kbps(900));
        // 4,000 bytes keep the link busy until 32 ms; at 20 ms a budget of 28 ms is left, 3,500 bytes.
        send(&mut controller, 0, 4_000);
        let decision = capture(&mut controller, 20);
        assert_eq!(decision.encoder.max_frame_size, Some(DataSize::from_bytes(3_311)));
        assert_eq!(decision.encoder.drop_one_frame_in, None);
    }

    /// 800 bytes need 6.4 ms: after an outage until 2 s they cross at 2,006.4 ms, which is late for a picture of 1,600
    /// ms, and not for one of 1,633 ms.
    #[test]
    fn nothing_is_sent_into_a_dead_link_until_shortly_before_it_comes_back() {
        let mut controller = on((ms(1_000), ms(2_000)), None);
        for at in [1_000, 1_033, 1_500, 1_600] {
            assert_eq!(capture(&mut controller, at).encoder.drop_one_frame_in, Some(1), "{at}");
        }
        let decision = capture(&mut controller, 1_633);
        assert_eq!(decision.encoder.drop_one_frame_in, None);
        assert_eq!(decision.encoder.max_frame_size, Some(DataSize::from_bytes(800)));
        assert_eq!(capture(&mut on((ms(0), Timestamp::MAX), None), 0).encoder.drop_one_frame_in, Some(1));
    }

    /// At 900 kbit/s a frame's share of a second is 3,712.5 bytes (33 ms); 1.2 times that on the wire are 4,455.
    #[test]
    fn no_frame_is_much_larger_than_its_share() {
        let link = Link { dead: NEVER, idle: Timestamp::ZERO, queue: None };
        let limits =
            RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(4) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &link };
        let config = Config { utilisation_ratio: 0.9, frame_budget_ms: 42.0, frame_ratio: 1.2, ..Config::default() };
        let decision = capture(&mut Clairvoyant::new(config, context).unwrap(), 0);
        assert_eq!(decision.encoder.max_frame_size, Some(DataSize::from_bytes(4_455 * 1_162 / 1_228)));
    }

    #[test]
    fn a_frame_that_a_short_queue_cannot_hold_leaves_at_the_links_own_rate() {
        let deep = capture(&mut on(NEVER, Some(DataSize::from_bytes(37_500))), 0);
        assert!(deep.pacing.rate > DataRate::from_mbps(100));
        let short = capture(&mut on(NEVER, Some(DataSize::from_bytes(3_000))), 0);
        assert_eq!(short.pacing.rate, DataRate::from_mbps(1));
    }

    #[test]
    fn without_a_link_of_its_own_it_is_refused() {
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &legato_control::NoAssets };
        let refused = Clairvoyant::new(Config::default(), context).err().unwrap().to_string();
        assert_eq!(refused, "controller clairvoyant needs a link of its own with a known capacity");
    }
}
