//! From the estimate of the path to a target: four rules, of which the first that applies decides.
//!
//! 1. Nothing arrives: slow down.
//! 2. The queue is long, packets are marked, or loss exceeds the permanent loss: back off to below the capacity.
//! 3. The queue is short and the target is used: climb towards what the capacity may be.
//! 4. Else: hold.

use super::config::RulesConfig;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The input of the rules.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The most likely capacity; `None` before the first burst.
    pub capacity: Option<DataRate>,
    /// Standard deviation of the capacity as a share of it.
    pub doubt_ratio: f64,
    /// The persistent queue, s.
    pub queue_s: f64,
    /// Standard deviation of that, s.
    pub queue_doubt_s: f64,
    /// Standard deviation of unexplained delays, s.
    pub jitter_s: f64,
    /// The recent arrivals.
    pub receive_rate: DataRate,
    /// Loss beyond the permanent loss.
    pub unusual_loss_ratio: f64,
    /// A packet was marked since the last look.
    pub marked: bool,
    /// Time since the last arrival.
    pub silence: TimeDelta,
    /// This look follows an arrival; time alone never raises the rate.
    pub news: bool,
}

/// The target and the rules' memory.
#[derive(Clone)]
pub struct Rules {
    config: RulesConfig,
    target: DataRate,
    /// The last look.
    looked: Timestamp,
    /// Until then the last cut has not had time to show.
    settled_at: Timestamp,
    /// When the queue was last not long.
    short_at: Timestamp,
    /// The queue at the last cut.
    queue_at_cut_s: f64,
    /// Loss occurred at about this rate, at that time.
    lossy: Option<(DataRate, Timestamp)>,
}

/// A cut shows after a round trip and the encoder's reaction.
const SETTLE: TimeDelta = TimeDelta::from_millis(300);
/// A queue that was long for this time is persistent, as in CoDel: shorter ones come from single large frames.
const STANDING: TimeDelta = TimeDelta::from_millis(250);
/// Loss is that of the last second.
const LOSS_WINDOW: TimeDelta = TimeDelta::from_secs(1);
/// One look drains away at most this share of the target.
const MAX_DRAIN_RATIO: f64 = 0.4;
/// Climb no higher than this times the receiver rate, as gcc does: unused capacity is unknown.
const USED: f64 = 1.5;
/// … plus this, so that the lowest rates can rise.
const USED_MORE: DataRate = DataRate::from_kbps(20);
/// The capacity may exceed the likely one by this many deviations, and by a factor of two at most.
const HOPE_DEVIATIONS: f64 = 2.0;
const MAX_HOPE: f64 = 2.0;
/// Near or above the rate that showed loss, climb by this share per second; twice as fast per such period.
const CAREFUL_CLIMB_PER_S_RATIO: f64 = 0.05;
const CAREFUL_DOUBLING_S: f64 = 2.0;
/// Each second of silence halves the target: ln 2.
const SILENT_DECAY_PER_S: f64 = std::f64::consts::LN_2;
/// The cut on a mark: CUBIC's by RFC 8511.
const MARK_CUT_RATIO: f64 = 0.15;

impl Rules {
    /// Starts with a target.
    pub fn new(config: RulesConfig, target: DataRate, start: Timestamp) -> Self {
        Self {
            config,
            target,
            looked: start,
            settled_at: start - LOSS_WINDOW,
            short_at: start,
            queue_at_cut_s: 0.0,
            lossy: None,
        }
    }

    /// The target.
    #[inline]
    pub fn target(&self) -> DataRate {
        self.target
    }

    /// Force the target within bounds, so that the excess need not be undone first.
    pub fn set_target(&mut self, target: DataRate) {
        self.target = target;
    }

    /// Decide again.
    pub fn look(&mut self, now: Timestamp, view: &View) {
        let elapsed_s = (now - self.looked).as_secs_f64().min(1.0);
        self.looked = now;
        let noise_s = 2.0 * view.jitter_s;
        let high_s = 1e-3 * self.config.high_queue_ms + noise_s;
        if view.silence.as_millis_f64() >= self.config.silence_ms {
            // Packets sent into a dead path come out as a queue, or not at all.
            self.target = self.target.scale(libm::exp(-SILENT_DECAY_PER_S * elapsed_s));
        } else if let Some(capacity) = view.capacity {
            if view.queue_s - view.queue_doubt_s > high_s {
                // At once: no more than the capacity. Bursts of the encoder drain by that alone.
                self.target = self.target.min(capacity.scale(1.0 - self.config.margin_ratio));
                if now - self.short_at >= STANDING {
                    self.drain(now, view, capacity);
                }
                return;
            }
            self.short_at = now;
            // Once a queue is seen, loss adds nothing.
            self.back_off_from_loss(now, view);
            if view.queue_s < 1e-3 * self.config.low_queue_ms + noise_s {
                self.climb(now, view, capacity, elapsed_s);
            }
        }
    }

    /// To the delivered rate, minus a margin, minus the rate that drains the persistent queue in time.
    fn drain(&mut self, now: Timestamp, view: &View, capacity: DataRate) {
        let drain_ratio = (1e3 * view.queue_s / self.config.drain_ms).min(MAX_DRAIN_RATIO);
        let keep = (1.0 - self.config.margin_ratio) * (1.0 - drain_ratio);
        let mut passes = capacity;
        // While the queue grows, the receiver rate is all that the path delivers, whatever the filter
        // says; if the last cut made it shrink, it needs time and no further cut.
        if now >= self.settled_at && view.queue_s >= self.queue_at_cut_s {
            passes = passes.min(view.receive_rate);
        }
        if passes.scale(keep) < self.target {
            self.target = passes.scale(keep);
            self.cut(now, view);
        } else if now >= self.settled_at {
            self.queue_at_cut_s = view.queue_s;
        }
    }

    fn back_off_from_loss(&mut self, now: Timestamp, view: &View) {
        if now < self.settled_at {
            return;
        }
        let loss = view.unusual_loss_ratio;
        // Loss from before a cut is no reason for another.
        if loss > self.config.loss_brake_ratio && now >= self.settled_at + LOSS_WINDOW {
            let passes = view.receive_rate.max(self.target.scale(0.7)).min(self.target);
            self.lossy = Some((passes, now));
            self.target = passes.scale(1.0 - 0.5 * loss);
            self.cut(now, view);
        } else if view.marked {
            self.lossy = Some((self.target, now));
            self.target = self.target.scale(1.0 - MARK_CUT_RATIO);
            self.cut(now, view);
        }
    }

    fn cut(&mut self, now: Timestamp, view: &View) {
        self.settled_at = now + SETTLE;
        self.queue_at_cut_s = view.queue_s;
    }

    /// Towards the maximum plausible capacity: the greater the uncertainty, the higher.
    fn climb(&mut self, now: Timestamp, view: &View, capacity: DataRate, elapsed_s: f64) {
        self.queue_at_cut_s = 0.0;
        let max = capacity.scale(libm::exp(HOPE_DEVIATIONS * view.doubt_ratio).min(MAX_HOPE));
        self.target = self.target.min(max);
        let holds = view.unusual_loss_ratio > self.config.loss_hold_ratio || now < self.settled_at || !view.news;
        if holds {
            return;
        }
        let used = view.receive_rate.scale(USED) + USED_MORE;
        let ceiling = max.scale(1.0 - self.config.margin_ratio).min(used);
        if ceiling <= self.target {
            return;
        }
        let mut ratio = self.config.climb_per_s_ratio;
        if let Some((lossy, then)) = self.lossy
            && self.target > lossy.scale(0.85)
        {
            let longer = libm::exp2((now - then).as_secs_f64() / CAREFUL_DOUBLING_S);
            ratio = ratio.min(CAREFUL_CLIMB_PER_S_RATIO * longer);
        }
        self.target = self.target.scale(libm::exp(ratio * elapsed_s)).min(ceiling);
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
