//! How much queue to aim for: more against flows that only loss stops, which keep the queue long anyway and would leave
//! nothing to a delay-based flow. [rfc8298] §4.1.2.3, and §4.5.4 of the draft of its second version, where it is
//! optional.
//!
//! It cannot distinguish its persistent queue from another flow's: a steady queue raises the target, which lengthens
//! the queue. The draft says so itself (its §6).
//!
//! Its 50 and 200 samples are acknowledgements, which the RFC has come every 20 ms from 500 kbit/s on. They must cover
//! less time than a loss-based flow takes from one loss to the next (10 s and more for Reno in a long queue). Otherwise
//! the rise of the queue in between is itself the variance that forbids adapting to it. With feedback every 50 to 250
//! ms, as WebRTC's receivers send it, the target adapts less.

use legato_units::TimeDelta;

/// Parameters of [`QueueTarget`].
#[derive(Clone, Copy, Debug)]
pub struct QueueTargetConfig {
    /// The minimum target …
    pub low: TimeDelta,
    /// … and the maximum.
    pub high: TimeDelta,
    /// Whether to adapt it at all.
    pub adapt: bool,
}

/// The target queue delay.
#[derive(Clone, Debug)]
pub struct QueueTarget {
    config: QueueTargetConfig,
    /// The last queue delays, each over the minimum target.
    norms: [f64; HISTORY],
    next: usize,
    target: TimeDelta,
    loss_event_rate: f64,
}

impl QueueTarget {
    /// Starts at the minimum.
    pub fn new(config: QueueTargetConfig) -> Self {
        Self {
            config,
            // [rfc8298] §4.1.1.2: qdelay_norm_hist is "initialized to all zeros".
            norms: [0.0; HISTORY],
            next: 0,
            target: config.low,
            loss_event_rate: 0.0,
        }
    }

    /// The target queue delay.
    #[inline]
    pub fn get(&self) -> TimeDelta {
        self.target
    }

    /// A round trip is over, with or without losses. [rfc8298] §4.1.1.2 asks for "the estimated fraction
    /// of RTTs with lost packets" and leaves the filter open: the mean here has a weight of 1/100, so
    /// that one event counts for 160 round trips.
    pub fn round_trip_over(&mut self, with_loss: bool) {
        let lost = f64::from(u8::from(with_loss));
        self.loss_event_rate += (lost - self.loss_event_rate) / 100.0;
    }

    /// An acknowledgement showed this queue delay.
    pub fn update(&mut self, queue_delay: TimeDelta) {
        if !self.config.adapt {
            return;
        }
        let low_s = self.config.low.as_secs_f64();
        self.norms[self.next] = queue_delay.as_secs_f64() / low_s;
        self.next = (self.next + 1) % HISTORY;
        // [rfc8298] §4.1.2.3: T = (mean of 50 + deviation of 200) × LO; with losses 1.5 T; steady T;
        // else halve towards T below LO, or 0.9.
        let variance = self.variance();
        let limit_s = (self.recent_mean() + libm::sqrt(variance)) * low_s;
        let target_s = self.target.as_secs_f64();
        let target_s = if self.loss_event_rate > LOSS_EVENT_RATE_LIMIT {
            1.5 * limit_s
        } else if variance < VARIANCE_LIMIT {
            limit_s
        } else if limit_s < low_s {
            limit_s.max(target_s * 0.5)
        } else {
            target_s * 0.9
        };
        self.target = TimeDelta::from_secs_f64(target_s).min(self.config.high).max(self.config.low);
    }

    fn variance(&self) -> f64 {
        let n = HISTORY as f64;
        let (sum, squares) =
            self.norms.iter().fold((0.0, 0.0), |(sum, squares), norm| (sum + norm, squares + norm * norm));
        (squares / n - (sum / n) * (sum / n)).max(0.0)
    }

    fn recent_mean(&self) -> f64 {
        let sum: f64 = (1..=RECENT).map(|back| self.norms[(self.next + HISTORY - back) % HISTORY]).sum();
        sum / RECENT as f64
    }
}

/// [rfc8298] §4.1.2.3: qdelay_norm_history(200) for the variance, (50) for the mean. (The RFC declares
/// the vector with 100 entries in §4.1.1.2; 200 are needed.)
const HISTORY: usize = 200;
const RECENT: usize = 50;
const LOSS_EVENT_RATE_LIMIT: f64 = 0.002;
const VARIANCE_LIMIT: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    fn target(adapt: bool) -> QueueTarget {
        let [low, high] = [100, 400].map(TimeDelta::from_millis);
        QueueTarget::new(QueueTargetConfig { low, high, adapt })
    }

    fn reported(target: &mut QueueTarget, ms: i64, times: usize) -> i64 {
        (0..times).for_each(|_| target.update(TimeDelta::from_millis(ms)));
        target.get().as_millis()
    }

    /// [rfc8298] §4.1.2.3, worked by hand: a constant 250 ms has mean 2.5 and no variance once it fills the history. By
    /// §4.1.1.2 that begins as zeros, so one sample of 250 ms is a mean of 0.05 and a variance of 2.5² (1/200 - 1/200²)
    /// = 0.031. Then (0.05 + 0.176) × 100 ms is below the minimum.
    #[test]
    fn a_steady_queue_becomes_the_target() {
        assert_eq!(reported(&mut target(true), 250, 1), 100);
        assert_eq!(reported(&mut target(true), 250, 200), 250);
        assert_eq!(reported(&mut target(true), 900, 200), 400, "never above the maximum");
        assert_eq!(reported(&mut target(true), 20, 200), 100, "never below the minimum");
        assert_eq!(reported(&mut target(false), 250, 300), 100);
    }

    /// [rfc8298] §4.1.2.3, worked by hand: after 100 samples each of 0 and 300 ms the variance is 2.25; T
    /// = (3 + 1.5) × 100 ms is above LO, so the target shrinks to 0.9 of itself.
    #[test]
    fn a_varying_queue_lowers_the_target() {
        let mut queue = target(true);
        reported(&mut queue, 0, 100);
        reported(&mut queue, 300, 99);
        queue.target = TimeDelta::from_millis(200);
        assert_eq!(reported(&mut queue, 300, 1), 180);
    }

    /// [rfc8298] §4.2.2, worked by hand: an acknowledgement every 20 ms, of which 200 are 4 s. A queue that fills from
    /// 100 to 300 ms in 13 s, as Reno fills it, rises by 0.61 × LO in that time. The variance is 0.61² / 12 = 0.03, so
    /// the target rises with it. Acknowledged every 100 ms, all 13 s would be 2² / 12 = 0.33.
    #[test]
    fn the_target_rises_with_a_slowly_filling_queue() {
        let mut queue = target(true);
        for n in 0..650i64 {
            queue.update(TimeDelta::from_nanos(100_000_000 + n * 307_692));
        }
        assert!((queue.variance() - 0.0315).abs() < 0.001, "{}", queue.variance());
        // The mean of the last second is half a second old: 290.7 ms, and a deviation of 17.7.
        assert!((queue.get().as_millis() - 308).abs() <= 1, "{:?}", queue.get());
    }

    /// [rfc8298] §4.1.2.3: with losses, half as much again: 1.5 × (2 + 0) × 100 ms.
    #[test]
    fn losses_raise_the_target_by_half() {
        let mut queue = target(true);
        queue.round_trip_over(true);
        assert_eq!(reported(&mut queue, 200, 200), 300);
        // 0.01 falls below 0.002 after ln(5) / ln(1 / 0.99) = 160.1 round trips.
        (0..160).for_each(|_| queue.round_trip_over(false));
        assert_eq!(reported(&mut queue, 200, 1), 300);
        queue.round_trip_over(false);
        assert_eq!(reported(&mut queue, 200, 1), 200);
    }
}
