//! When more is in flight than the path can hold, ask for less media: the window is the target over the
//! round trip plus 350 ms. libwebrtc's `CongestionWindowPushbackController` [libwebrtc-m150].
//!
//! libwebrtc steps the ratio at every packet, feedback and process interval of 25 ms. Here the
//! steps down happen then too; steps up are made up for at the next feedback: no feedback, no rise.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the congestion window.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PushbackConfig {
    /// Whether there is a congestion window at all.
    pub enabled: bool,
    /// The window is the target over the shortest round trip plus this much queue.
    #[schemars(range(min = 0, max = 60_000))]
    pub queue_ms: u32,
    /// Never push the target below this rate.
    #[schemars(range(min = 0, max = 1e10))]
    pub min_bitrate_bps: u64,
    /// Whether to leave the target as it is and drop frames instead (the share to drop is the gauge
    /// `pushback_drop_ratio`), or to lower the target.
    pub drop_frames: bool,
    /// Whether the pacer's queue counts as in flight.
    pub add_pacer_queue: bool,
}

impl Default for PushbackConfig {
    fn default() -> Self {
        Self { enabled: true, queue_ms: 350, min_bitrate_bps: 30_000, drop_frames: true, add_pacer_queue: false }
    }
}

/// The window, its fill level and the resulting ratio.
#[derive(Clone, Debug)]
pub struct Pushback {
    config: PushbackConfig,
    window: Option<DataSize>,
    in_flight: DataSize,
    pacer_queue: DataSize,
    ratio: f64,
    /// Steps up due at the next feedback.
    owed_steps: u32,
    last_step: Timestamp,
}

impl Pushback {
    /// No window until the first round trip.
    pub fn new(config: PushbackConfig, start: Timestamp) -> Self {
        Self {
            config,
            window: None,
            in_flight: DataSize::ZERO,
            pacer_queue: DataSize::ZERO,
            ratio: 1.0,
            owed_steps: 0,
            last_step: start,
        }
    }

    /// Bytes sent and not reported.
    #[inline]
    pub fn set_in_flight(&mut self, in_flight: DataSize) {
        self.in_flight = in_flight;
    }

    /// Bytes that wait in the pacer.
    pub fn set_pacer_queue(&mut self, queue: DataSize) {
        self.pacer_queue = queue;
    }

    /// Move the window half-way to what `target` needs, once for the event and once for every 25 ms
    /// since the last time.
    pub fn update_window(&mut self, target: DataRate, shortest_rtt: TimeDelta, ticks: u32) {
        if !self.config.enabled {
            return;
        }
        let goal = target * (shortest_rtt + TimeDelta::from_millis(i64::from(self.config.queue_ms)));
        let goal = goal.as_bytes().min(1 << 40);
        let mut window = self.window.map_or(goal, DataSize::as_bytes);
        for _ in 0..=ticks.min(MAX_TICKS) {
            window = u64::midpoint(window, goal).max(MIN_WINDOW.as_bytes());
        }
        self.window = Some(DataSize::from_bytes(window));
    }

    /// The window.
    pub fn window(&self) -> Option<DataSize> {
        self.window
    }

    /// The share of the target that remains.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Whether frames are dropped while the target stays.
    pub fn drops_frames(&self) -> bool {
        self.config.drop_frames
    }

    /// One frame in this many is dropped. The encoder of libwebrtc drops every floor(1 / (1 − ratio))-th frame once
    /// that is more than one in a hundred, at most every second one. Some packets must always leave, or no feedback
    /// would come again.
    pub fn drop_one_frame_in(&self) -> Option<u32> {
        let dropped = 1.0 - self.ratio;
        (self.config.drop_frames && dropped > 0.01).then(|| (1.0 / dropped).max(2.0) as u32)
    }

    /// The window is overfull, or was and has not recovered.
    #[inline]
    pub fn is_pushing(&self) -> bool {
        self.is_overfull() || self.ratio < 1.0
    }

    /// A step down is due: at once for a packet, after 25 ms without one.
    #[inline]
    pub fn is_overfull(&self) -> bool {
        self.window.is_some_and(|window| self.outstanding() > window)
    }

    /// When the next step down is due without any other event.
    pub fn next_step(&self) -> Option<Timestamp> {
        self.is_overfull().then(|| self.last_step + TICK)
    }

    /// A packet left, or 25 ms passed: only down.
    #[inline]
    pub fn step_down(&mut self, now: Timestamp) {
        match self.factor() {
            Some(Factor::Down(factor)) => {
                self.last_step = now;
                self.ratio *= factor;
            }
            Some(_) if self.ratio < 1.0 => self.owed_steps = self.owed_steps.saturating_add(1),
            _ => {}
        }
    }

    /// Feedback came: one step, and those owed.
    pub fn step(&mut self, now: Timestamp, ticks: u32) {
        let owed = std::mem::take(&mut self.owed_steps).saturating_add(ticks).min(MAX_TICKS);
        self.last_step = now;
        match self.factor() {
            None => {}
            Some(Factor::Down(factor)) => self.ratio *= factor,
            Some(Factor::Reset) => self.ratio = 1.0,
            Some(Factor::Up) => {
                for _ in 0..=owed {
                    self.ratio = (self.ratio * STEP_UP).min(1.0);
                }
            }
        }
    }

    /// The rest of `target`, not below the smaller of it and the configured minimum.
    pub fn push_back(&self, target: DataRate) -> DataRate {
        if self.ratio == 1.0 {
            return target;
        }
        let pushed = DataRate::from_bps((target.as_bps_f64() * self.ratio) as u64);
        pushed.max(target.min(DataRate::from_bps(self.config.min_bitrate_bps)))
    }

    fn outstanding(&self) -> DataSize {
        match self.config.add_pacer_queue {
            true => DataSize::from_bytes(self.in_flight.as_bytes().saturating_add(self.pacer_queue.as_bytes())),
            false => self.in_flight,
        }
    }

    fn factor(&self) -> Option<Factor> {
        let window = self.window.filter(|window| *window > DataSize::ZERO)?;
        let fill = self.outstanding().as_bytes_f64() / window.as_bytes_f64();
        Some(match fill {
            fill if fill > 1.5 => Factor::Down(0.9),
            fill if fill > 1.0 => Factor::Down(0.95),
            fill if fill < 0.1 => Factor::Reset,
            _ => Factor::Up,
        })
    }
}

enum Factor {
    Down(f64),
    Reset,
    Up,
}

// [libwebrtc-m150] congestion_window_pushback_controller.
const STEP_UP: f64 = 1.05;
const MIN_WINDOW: DataSize = DataSize::from_bytes(2 * 1_500);
/// libwebrtc's process interval.
pub const TICK: TimeDelta = TimeDelta::from_millis(25);
/// After this many halvings the window has converged, after this many steps up the ratio is 1.
const MAX_TICKS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn pushback(window_bytes: u64, in_flight_bytes: u64) -> Pushback {
        let mut pushback = Pushback::new(PushbackConfig::default(), Timestamp::ZERO);
        pushback.window = Some(DataSize::from_bytes(window_bytes));
        pushback.set_in_flight(DataSize::from_bytes(in_flight_bytes));
        pushback
    }

    fn pushed(pushback: &mut Pushback, bps: u64) -> u64 {
        pushback.step(Timestamp::ZERO, 0);
        pushback.push_back(DataRate::from_bps(bps)).as_bps()
    }

    #[test]
    fn a_full_window_pushes_back_step_by_step() {
        let mut full = pushback(50_000, 100_000);
        assert_eq!(pushed(&mut full, 80_000), 72_000);
        // 0.9 · 0.9 of the previous target.
        assert_eq!(pushed(&mut full, 72_000), 58_320);
        // A window of 70,000 is over by less than half: 0.95.
        full.window = Some(DataSize::from_bytes(70_000));
        assert_eq!(pushed(&mut full, 80_000), 61_560);
    }

    #[test]
    fn the_floor_is_thirty_kilobits_but_a_lower_target_is_obeyed() {
        let mut full = pushback(50_000, 100_000);
        assert_eq!(pushed(&mut full, 35_000), 31_500);
        assert_eq!(pushed(&mut full, 31_500), 30_000);
        assert_eq!(pushed(&mut full, 20_000), 20_000);
    }

    #[test]
    fn without_a_window_nothing_is_pushed_back() {
        let mut unset = Pushback::new(PushbackConfig::default(), Timestamp::ZERO);
        unset.set_in_flight(DataSize::from_bytes(1 << 30));
        assert_eq!(pushed(&mut unset, 80_000), 80_000);
    }

    #[test]
    fn the_ratio_climbs_at_feedback_only_and_an_empty_window_resets_it() {
        let mut window = pushback(50_000, 100_000);
        for _ in 0..4 {
            window.step_down(Timestamp::ZERO);
        }
        assert!((window.ratio() - 0.6561).abs() < 1e-12);
        window.set_in_flight(DataSize::from_bytes(40_000));
        window.step_down(Timestamp::ZERO);
        assert!((window.ratio() - 0.6561).abs() < 1e-12, "a packet never raises it");
        // One step for the feedback, one owed by the packet: 1.05².
        window.step(Timestamp::ZERO, 0);
        assert!((window.ratio() - 0.6561 * 1.1025).abs() < 1e-12);
        window.set_in_flight(DataSize::from_bytes(4_999));
        assert_eq!(pushed(&mut window, 80_000), 80_000);
    }

    #[test]
    fn the_window_moves_half_way_per_tick_and_holds_at_least_two_packets() {
        let mut window = Pushback::new(PushbackConfig::default(), Timestamp::ZERO);
        // 1 Mbit/s · (50 + 350) ms = 50,000 bytes.
        window.update_window(DataRate::from_mbps(1), TimeDelta::from_millis(50), 0);
        assert_eq!(window.window(), Some(DataSize::from_bytes(50_000)));
        window.update_window(DataRate::from_kbps(200), TimeDelta::from_millis(50), 1);
        // 10,000 are needed: (50 + 10) / 2 = 30, then 20.
        assert_eq!(window.window(), Some(DataSize::from_bytes(20_000)));
        window.update_window(DataRate::from_bps(100), TimeDelta::ZERO, 60);
        assert_eq!(window.window(), Some(DataSize::from_bytes(3_000)));
    }
}
