//! [rfc9438]: believes like Reno that loss means congestion, but remembers the window at which it came. After
//! a loss the window follows a cubic curve in time: fast while far below that window, flat around it, faster
//! again beyond, whatever the round-trip time. Where Reno would be faster than the curve (short round trips,
//! small windows) it follows an estimate of Reno instead.
//!
//! Not here: HyStart++ (section 4.10: slow start is [rfc5681]'s, with its overshoot), and undoing spurious
//! reductions (section 4.9).

use super::{AckSample, Cause, Congestion, CongestionControl, Phase};
use legato_units::{TimeDelta, Timestamp};

/// Windows in segments, as in the RFC.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    segment_bytes: f64,
    initial: f64,
    window: f64,
    threshold: f64,
    w_max: f64,
    /// The window before the threshold was last set.
    prior: f64,
    /// The curve's start, once congestion avoidance has begun.
    epoch: Option<Epoch>,
    /// The next epoch follows a timeout, or a slow start that no loss ended: K = 0.
    flat_start: bool,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Timestamp,
    /// Seconds from there to `w_max`.
    k_s: f64,
    /// Reno's window.
    w_est: f64,
    /// When the window was last updated: time without updates does not count.
    updated: Timestamp,
}

impl Cubic {
    pub fn new(segment_bytes: u16, initial_window_bytes: u64) -> Self {
        let initial = initial_window_bytes as f64 / f64::from(segment_bytes);
        Self {
            segment_bytes: f64::from(segment_bytes),
            initial,
            window: initial,
            threshold: f64::INFINITY,
            w_max: 0.0,
            prior: 0.0,
            epoch: None,
            flat_start: true,
        }
    }

    /// [rfc9438] §4.2: W_cubic(t) = C (t − K)³ + W_max, t in seconds.
    fn curve(&self, t_s: f64, k_s: f64) -> f64 {
        let x = t_s - k_s;
        C * x * x * x + self.w_max
    }

    fn begin_epoch(&mut self, now: Timestamp) -> Epoch {
        // [rfc9438] §4.2: K = cbrt((W_max − cwnd_epoch) / C); §4.8 and §4.10: 0 from a plateau at the window.
        let k_s = if self.flat_start || self.window >= self.w_max {
            self.w_max = self.window;
            0.0
        } else {
            libm::cbrt((self.w_max - self.window) / C)
        };
        self.flat_start = false;
        Epoch { start: now, k_s, w_est: self.window, updated: now }
    }

    fn avoid_congestion(&mut self, ack: &AckSample, segments: f64) {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(ack.now),
        };
        let t = ack.now - epoch.start;
        let target = self.curve((t + ack.srtt).as_secs_f64(), epoch.k_s).clamp(self.window, 1.5 * self.window);
        // [rfc9438] §4.3: W_est += α segments_acked / cwnd, α = 3 (1 − β) / (1 + β), or 1 from cwnd_prior on.
        let alpha = if epoch.w_est >= self.prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * segments / self.window;
        if self.curve(t.as_secs_f64(), epoch.k_s) < epoch.w_est {
            // [rfc9438] §4.3 in §4.2's summary: the higher of the two.
            self.window = self.window.max(epoch.w_est);
        } else {
            // [rfc9438] §4.4 and §4.5: cwnd += (target − cwnd) / cwnd, for each new acknowledgment.
            self.window += (target - self.window) / self.window;
        }
        epoch.updated = ack.now;
        self.epoch = Some(epoch);
    }

    /// [rfc9438] §4.6 and §4.7, without the window itself.
    fn reduce(&mut self, flight_bytes: u64) {
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.prior = self.window;
        self.threshold = flight_bytes as f64 / self.segment_bytes * BETA;
        self.epoch = None;
        self.flat_start = false;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.phase == Phase::Recovery || ack.acked_bytes == 0 || ack.marked {
            return;
        }
        if !ack.window_limited {
            // [rfc9438] §4.2: t excludes the time in which the application held the window back.
            if let Some(epoch) = &mut self.epoch {
                let pause: TimeDelta = ack.now - epoch.updated;
                epoch.start += pause;
                epoch.updated = ack.now;
            }
            return;
        }
        let segments = ack.acked_bytes as f64 / self.segment_bytes;
        if self.window < self.threshold {
            // [rfc9438] §4.10 leaves slow start to others; this is [rfc5681] eq. (2).
            self.window += segments.min(1.0);
        } else {
            self.avoid_congestion(ack, segments);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.reduce(congestion.prior_in_flight_bytes);
        // [rfc9438] §4.6: at least two segments after a loss, one after a mark.
        let min = if congestion.cause == Cause::Loss { 2.0 } else { 1.0 };
        self.window = self.threshold.max(min);
        self.threshold = self.threshold.max(2.0);
    }

    fn on_timeout(&mut self, in_flight_bytes: u64, again: bool) {
        if !again {
            self.reduce(in_flight_bytes);
            self.threshold = self.threshold.max(2.0);
        }
        // [rfc9438] §4.8: one segment as in Reno, and a plateau where congestion avoidance begins.
        self.window = 1.0;
        self.flat_start = true;
        self.epoch = None;
    }

    fn on_idle_restart(&mut self) {
        self.window = self.window.min(self.initial);
        self.epoch = None;
    }

    fn window_bytes(&self) -> u64 {
        (self.window * self.segment_bytes) as u64
    }
}

// [rfc9438] §4.1 and §5: C = 0.4 segments/s³, β = 0.7.
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// 9 / 17.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, congestion};
    use super::*;

    fn cubic(window: f64) -> Cubic {
        Cubic { window, ..Cubic::new(1_000, 10_000) }
    }
    fn at(s: f64, bytes: u64) -> AckSample {
        let now = Timestamp::ZERO + TimeDelta::from_secs_f64(s);
        AckSample { now, srtt: TimeDelta::from_millis(100), ..ack(bytes) }
    }

    /// [rfc9438] §4.1, §4.2, §4.6 and §5, by hand: 1,000 segments lost at give 700, K = cbrt(300 / 0.4) = 9.0856 s. The
    /// curve is at 700 after 0 s, 1,000 − 0.4 · 4.0856³ = 972.72 after 5 s, 1,000 at K and 1,000.306 after 10 s.
    #[test]
    fn the_curve_leads_from_seven_tenths_over_a_plateau_at_the_old_window() {
        let mut cubic = cubic(1_000.0);
        cubic.on_congestion(&congestion(Cause::Loss, 1_000_000));
        assert_eq!((cubic.window_bytes(), cubic.w_max), (700_000, 1_000.0));
        let epoch = cubic.begin_epoch(Timestamp::ZERO);
        assert!((epoch.k_s - 9.085_603).abs() < 1e-6, "{}", epoch.k_s);
        let curve = |t_s: f64| cubic.curve(t_s, epoch.k_s);
        assert!((curve(0.0) - 700.0).abs() < 1e-9 && (curve(5.0) - 972.721).abs() < 1e-3, "{}", curve(5.0));
        assert!((curve(epoch.k_s) - 1_000.0).abs() < 1e-9 && (curve(10.0) - 1_000.306).abs() < 1e-3);
    }

    /// [rfc9438] §4.2, §4.4 and §4.5, by hand: the epoch begins with Reno's 9/17 / 700 = 0.000756 more, as the curve is at its
    /// foot. At 0.5 s the target is W(0.6 s) = 1,000 − 0.4 · 8.4856³ = 755.596: 55.595 / 700.001 = 0.079422 more.
    #[test]
    fn an_acknowledgment_moves_the_window_by_its_share_of_the_way_to_the_target() {
        let mut cubic = cubic(1_000.0);
        cubic.on_congestion(&congestion(Cause::Loss, 1_000_000));
        cubic.on_ack(&at(0.0, 1_000));
        assert!((cubic.window - 700.000_756).abs() < 1e-6, "{}", cubic.window);
        cubic.on_ack(&at(0.5, 1_000));
        assert!((cubic.window - 700.080_178).abs() < 1e-5, "{}", cubic.window);
        // Beyond the plateau too, and never by more than to 1.5 windows a round trip.
        cubic.on_ack(&at(100.0, 1_000));
        assert!((cubic.window - 700.580_178).abs() < 1e-5, "{}", cubic.window);
    }

    /// [rfc9438] §4.3, by hand: at 10 segments, 7 after the loss, and 100 ms Reno's estimate grows by 9/17 per round trip, faster
    /// than the curve; from 10 on by 1.
    #[test]
    fn small_windows_grow_as_reno_would() {
        let mut cubic = cubic(10.0);
        cubic.on_congestion(&congestion(Cause::Loss, 10_000));
        cubic.on_ack(&at(0.0, 7_000));
        assert!((cubic.window - (7.0 + ALPHA)).abs() < 1e-9 && (ALPHA - 9.0 / 17.0).abs() < 1e-12);
        let before = cubic.window;
        cubic.epoch.as_mut().expect("begun").w_est = 10.0;
        cubic.on_ack(&at(0.1, 1_000));
        assert!((cubic.window - (10.0 + 1.0 / before)).abs() < 1e-9, "{}", cubic.window);
    }

    /// [rfc9438] §4.7: a loss below the last plateau lowers the plateau to 0.85 of the window.
    #[test]
    fn a_loss_below_the_old_plateau_makes_room() {
        let mut cubic = cubic(100.0);
        cubic.on_congestion(&congestion(Cause::Loss, 100_000));
        assert_eq!(cubic.w_max, 100.0);
        cubic.window = 80.0;
        cubic.on_congestion(&congestion(Cause::Loss, 80_000));
        assert!((cubic.w_max - 68.0).abs() < 1e-9 && cubic.window_bytes() == 56_000);
    }

    /// [rfc9438] §4.4, by hand: an acknowledgment of two segments adds as much as one of one, (755.596 − 700) / 700.
    #[test]
    fn a_delayed_acknowledgment_adds_no_more_than_another() {
        let mut cubic = cubic(1_000.0);
        cubic.on_congestion(&congestion(Cause::Loss, 1_000_000));
        let epoch = cubic.begin_epoch(Timestamp::ZERO);
        cubic.epoch = Some(epoch);
        let mut delayed = cubic.clone();
        cubic.on_ack(&at(0.5, 1_000));
        delayed.on_ack(&at(0.5, 2_000));
        assert!((cubic.window - 700.079_423).abs() < 1e-5, "{}", cubic.window);
        assert_eq!(cubic.window, delayed.window);
    }

    /// [rfc9438] §4.6, §4.8 and §4.10: one segment and a threshold of 0.7 windows; then the plateau is where slow start ends.
    #[test]
    fn after_a_timeout_the_curve_begins_flat() {
        let mut cubic = cubic(100.0);
        cubic.on_timeout(100_000, false);
        assert_eq!((cubic.window, cubic.threshold), (1.0, 70.0));
        cubic.on_timeout(1_000, true);
        assert_eq!((cubic.window, cubic.threshold), (1.0, 70.0));
        (0..69).for_each(|_| cubic.on_ack(&at(1.0, 1_000)));
        assert_eq!(cubic.window, 70.0);
        cubic.on_ack(&at(1.0, 1_000));
        assert_eq!((cubic.w_max, cubic.epoch.map(|epoch| epoch.k_s)), (70.0, Some(0.0)));
        // At least one segment after a mark, two after a loss.
        cubic.on_congestion(&congestion(Cause::Mark, 1_000));
        assert_eq!((cubic.window, cubic.threshold), (1.0, 2.0));
    }

    /// [rfc9438] §4.2: ten seconds in which the application sent little do not count on the curve.
    #[test]
    fn time_held_back_by_the_application_does_not_count() {
        let mut cubic = cubic(1_000.0);
        cubic.on_congestion(&congestion(Cause::Loss, 1_000_000));
        cubic.on_ack(&at(0.0, 1_000));
        let window = cubic.window;
        cubic.on_ack(&AckSample { window_limited: false, ..at(10.0, 1_000) });
        cubic.on_ack(&at(10.0, 1_000));
        assert!(cubic.window - window < 0.02, "{}", cubic.window);
    }
}
