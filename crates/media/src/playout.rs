//! When a decoded frame is shown: at its capture time plus the path's base delay plus the delay
//! kept against jitter ([libwebrtc-m150] VCMTiming).

use crate::jitter_estimator::JitterEstimator;
use legato_units::{PeerTimestamp, TimeDelta, Timestamp};

/// Parameters of [`Playout`].
#[derive(Clone, Copy, Debug)]
pub struct PlayoutConfig {
    /// The minimum hold of a frame, beyond the fastest frame's delay.
    pub min_delay: TimeDelta,
    /// The maximum hold of a frame.
    pub max_delay: TimeDelta,
}

impl Default for PlayoutConfig {
    fn default() -> Self {
        Self { min_delay: TimeDelta::ZERO, max_delay: TimeDelta::from_secs(10) }
    }
}

/// Decides render times.
#[derive(Clone, Debug)]
pub struct Playout {
    config: PlayoutConfig,
    jitter: JitterEstimator,
    /// Arrival minus capture of the fastest frame, in this window and the one before. It includes
    /// the clocks' offset; two windows forget an old route and follow drift.
    base: [Option<TimeDelta>; 2],
    window_start: Timestamp,
    delay: TimeDelta,
    previous: Option<(PeerTimestamp, Timestamp)>,
    last_render: Timestamp,
    /// Repairs since the last quiet period, and the latest of them.
    repairs: u32,
    last_repair: Timestamp,
    repair_time: TimeDelta,
}

/// How a frame was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing of it was lost.
    None,
    /// Something was retransmitted or recovered; a retransmission took this long.
    Took(TimeDelta),
}

const BASE_WINDOW: TimeDelta = TimeDelta::from_secs(10);
/// Decoding is instantaneous here; the renderer itself takes this.
const RENDER_DELAY: TimeDelta = TimeDelta::from_millis(10);
/// [libwebrtc-m150] JitterEstimator, nack limit, count timeout, and cap.
const REPAIRS_BEFORE_WAITING: u32 = 3;
const REPAIR_MEMORY: TimeDelta = TimeDelta::from_secs(60);
const MAX_REPAIR_WAIT: TimeDelta = TimeDelta::from_millis(200);
/// [libwebrtc-m150] VCMTiming: the delay moves by at most this much per second.
const MAX_CHANGE_MS_PER_S: i64 = 100;

impl Playout {
    /// No frames yet.
    pub fn new(config: PlayoutConfig, start: Timestamp) -> Self {
        let delay = config.min_delay;
        Self {
            config,
            jitter: JitterEstimator::default(),
            base: [None; 2],
            window_start: start,
            delay,
            previous: None,
            last_render: start,
            repairs: 0,
            last_repair: start,
            repair_time: TimeDelta::ZERO,
        }
    }

    /// Its parameters.
    pub fn config(&self) -> PlayoutConfig {
        self.config
    }

    /// When to show a frame captured at `captured` (sender's clock) that became decodable at `now`.
    /// Render times never go back.
    pub fn render_time(
        &mut self,
        now: Timestamp,
        captured: PeerTimestamp,
        size_bytes: u32,
        repair: Repair,
    ) -> Timestamp {
        self.learn_base(now, captured);
        let allowance = self.repair_allowance(now, repair);
        if let Some((previous_capture, previous_arrival)) = self.previous {
            if repair == Repair::None {
                let variation = (now - previous_arrival) - (captured - previous_capture);
                self.jitter.update(variation, f64::from(size_bytes));
            }
            self.approach_target(now - previous_arrival, allowance);
        }
        self.previous = Some((captured, now));
        let due = Timestamp::from_nanos(captured.as_nanos()) + self.base_delay() + self.delay;
        self.last_render = due.max(now).max(self.last_render);
        self.last_render
    }

    fn learn_base(&mut self, now: Timestamp, captured: PeerTimestamp) {
        if now - self.window_start >= BASE_WINDOW {
            self.base = [None, self.base[0]];
            self.window_start = now;
        }
        let delay = now - Timestamp::from_nanos(captured.as_nanos());
        self.base[0] = Some(self.base[0].map_or(delay, |least| least.min(delay)));
    }

    fn base_delay(&self) -> TimeDelta {
        let [current, before] = self.base;
        let current = current.unwrap_or(TimeDelta::ZERO);
        before.map_or(current, |before| before.min(current))
    }

    /// If frames are repaired again and again, wait for the repair ([libwebrtc-m150]
    /// JitterEstimator: a round trip from the third repair on, until there was none for a minute).
    fn repair_allowance(&mut self, now: Timestamp, repair: Repair) -> TimeDelta {
        if now - self.last_repair > REPAIR_MEMORY {
            self.repairs = 0;
        }
        if let Repair::Took(took) = repair {
            self.repairs += 1;
            self.last_repair = now;
            self.repair_time = took;
        }
        if self.repairs >= REPAIRS_BEFORE_WAITING { self.repair_time.min(MAX_REPAIR_WAIT) } else { TimeDelta::ZERO }
    }

    fn approach_target(&mut self, since: TimeDelta, allowance: TimeDelta) {
        let target =
            (self.jitter.estimate() + RENDER_DELAY + allowance).max(self.config.min_delay).min(self.config.max_delay);
        let most = since * MAX_CHANGE_MS_PER_S / 1_000;
        let change = target - self.delay;
        self.delay += if change.is_negative() { change.max(-most) } else { change.min(most) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders 30 fps with the given delays in ms; the receiver's clock is 5 s behind.
    fn holds_ms(delays_ms: impl Iterator<Item = i64>) -> Vec<i64> {
        let mut playout = Playout::new(PlayoutConfig::default(), Timestamp::ZERO);
        let frames = delays_ms.enumerate().map(|(n, delay_ms)| {
            let captured = PeerTimestamp::from_nanos((5_000 + n as i64 * 33) * 1_000_000);
            let now = Timestamp::from_millis(n as i64 * 33 + delay_ms);
            (playout.render_time(now, captured, 4_000, Repair::None) - now).as_millis()
        });
        frames.collect()
    }

    #[test]
    fn frames_of_a_quiet_path_are_held_a_little() {
        let holds = holds_ms((0..300).map(|_| 50));
        assert_eq!(holds[0], 0);
        assert!((10..40).contains(&holds[299]), "{}", holds[299]);
    }

    #[test]
    fn repeated_repairs_are_waited_for() {
        let mut playout = Playout::new(PlayoutConfig::default(), Timestamp::ZERO);
        let hold = |playout: &mut Playout, n: i64, repair| {
            let now = Timestamp::from_millis(n * 33 + 50);
            playout.render_time(now, PeerTimestamp::from_nanos(n * 33_000_000), 4_000, repair) - now
        };
        let quiet = (0..300).map(|n| hold(&mut playout, n, Repair::None)).last().unwrap();
        for n in 300..303 {
            hold(&mut playout, n, Repair::Took(TimeDelta::from_millis(80)));
        }
        let waiting = (303..400).map(|n| hold(&mut playout, n, Repair::None)).last().unwrap();
        assert!((77..=83).contains(&(waiting - quiet).as_millis()), "{quiet} {waiting}");
    }

    #[test]
    fn jitter_is_absorbed_after_a_while() {
        let holds = holds_ms((0..600).map(|n| if n % 7 == 0 { 110 } else { 50 }));
        assert!(holds[500..].iter().all(|&hold| hold > 0), "late frames are still in time");
    }
}
