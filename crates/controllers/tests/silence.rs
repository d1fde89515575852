//! [rfc8888] §5: several feedbacks missing in a row at least halve the rate of every sender-side controller that has been
//! sending, or take it to the floor. How soon is the common rule's or the controller's own, which are listed here.

use crate::test_link::{Link, Observer, run};
use legato_control::{Context, Decision, Event, RateController, RateLimits, Side};
use legato_controllers::{NoFiles, REGISTRY};
use legato_units::{DataRate, TimeDelta, Timestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(4) };

/// Controllers that decide without feedback have none to miss.
const LISTENS_TO_NO_FEEDBACK: &[&str] = &[
    "clairvoyant", // knows the future
    "fixed",       // always the same
    "oracle",      // knows the future
    "remote",      // obeys REMB; the receiver's controller falls silent with its reports
];

/// Feedback comes every 50 ms, and the round trip is 100 ms, or 400 ms where a constant action has filled the queue: four
/// intervals, a round trip, and what irregular feedback gets on top.
const COMMON_MS: i64 = 800;

/// Controllers with a separate rule, and how long it takes them.
const OWN_RULE: &[(&str, i64)] = &[
    ("gcc", 6_100),       // libwebrtc's `rtt_backoff`: begins after 3 s and takes a fifth off per second
    ("jm-tfrc", 3_000),   // [rfc5348] §4.4, the nofeedback timer
    ("scream", 3_000),    // window and target, every second
    ("scream-v2", 3_000), // the same
    ("tfrc", 3_000),      // [rfc5348] §4.4
    ("vtfrc", 3_000),     // [rfc5348] §4.4
];

const GAP_BEGINS: Timestamp = Timestamp::from_secs(20);

/// The last target before the silence, and the highest once it has lasted.
struct Silence {
    lasts: TimeDelta,
    before: DataRate,
    last_feedback: Timestamp,
    after: DataRate,
}

impl Observer for Silence {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if matches!(event, Event::TransportFeedback(_)) {
            self.last_feedback = now;
        }
    }
    fn on_decision(&mut self, now: Timestamp, decision: &Decision, _controller: &mut dyn RateController) {
        if now < GAP_BEGINS {
            self.before = decision.target_bitrate;
        } else if now >= self.last_feedback + self.lasts {
            self.after = self.after.max(decision.target_bitrate);
        }
    }
}

#[test]
fn several_missing_feedbacks_at_least_halve_the_rate() {
    let senders = REGISTRY.iter().filter(|entry| entry.side == Side::Sender);
    for entry in senders.filter(|entry| !LISTENS_TO_NO_FEEDBACK.contains(&entry.name)) {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 1, assets: &NoFiles };
        // A trained policy is a file; the pipeline's guarantees hold for any action.
        let config = if entry.learned {
            toml::toml! { policy = "hand" }
        } else {
            toml::Table::new()
        };
        let mut controller = entry.build(&config, context).expect("the defaults are valid");
        let link = Link { feedback_gap: (GAP_BEGINS, Timestamp::MAX), ..Link::default() };
        let lasts_ms = OWN_RULE.iter().find(|(name, _)| *name == entry.name).map_or(COMMON_MS, |&(_, ms)| ms);
        let lasts = TimeDelta::from_millis(lasts_ms);
        let mut silence =
            Silence { lasts, before: DataRate::ZERO, last_feedback: Timestamp::ZERO, after: DataRate::ZERO };
        run(&link, controller.as_mut(), TimeDelta::from_secs(40), &mut silence);
        let Silence { before, after, .. } = silence;
        println!("{}: {before} before, {after} after {lasts_ms} ms", entry.name);
        // A constant action may keep its start rate.
        assert!(entry.learned || before > LIMITS.start, "{}: {before} before the silence is no call", entry.name);
        assert!(
            after <= before.scale(0.5).max(LIMITS.min),
            "{}: {before} before, {after} after {lasts_ms} ms",
            entry.name
        );
    }
}
