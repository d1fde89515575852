//! BIC [xu2004], Linux's TCP from 2004 to 2006: believes that the right window lies between the one after the last loss
//! and the one at which that loss came. It searches it by halving the distance each round trip, in bounded steps.
//! Beyond the old window it probes slowly at first, then faster. Small windows are Reno's.

use super::{AckSample, Cause, Congestion, CongestionControl, Phase};

/// Windows in segments, as in the paper.
#[derive(Clone, Debug)]
pub(super) struct Bic {
    segment_bytes: f64,
    initial: f64,
    window: f64,
    threshold: f64,
    /// The window at the last loss; 0 before the first.
    w_max: f64,
}

impl Bic {
    pub fn new(segment_bytes: u16, initial_window_bytes: u64) -> Self {
        let initial = initial_window_bytes as f64 / f64::from(segment_bytes);
        Self { segment_bytes: f64::from(segment_bytes), initial, window: initial, threshold: f64::INFINITY, w_max: 0.0 }
    }

    /// Segments that a round trip adds in congestion avoidance.
    fn step(&self) -> f64 {
        if self.window <= LOW_WINDOW {
            // [xu2004] §III: below low_window it is the TCP of its time.
            return 1.0;
        }
        let distance = self.w_max - self.window;
        if distance > 0.0 {
            // [xu2004] §III: binary search increase by a share of the distance, at most S_max (additive increase);
            // close to the old window slowly over several round trips.
            let step = distance / SEARCH;
            return if step <= 1.0 { SEARCH / SMOOTH } else { step.min(S_MAX) };
        }
        // [xu2004] §III: max probing, the search mirrored.
        let beyond = -distance;
        if beyond < SEARCH {
            SEARCH / SMOOTH
        } else if beyond < S_MAX * (SEARCH - 1.0) {
            beyond / (SEARCH - 1.0)
        } else {
            S_MAX
        }
    }

    fn reduce(&mut self) {
        // [xu2004] §III: fast convergence lowers the old window where a loss came below it.
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        let beta = if self.window <= LOW_WINDOW { 0.5 } else { BETA };
        self.threshold = (self.window * beta).max(2.0);
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.phase == Phase::Recovery || ack.acked_bytes == 0 || !ack.window_limited || ack.marked {
            return;
        }
        let segments = ack.acked_bytes as f64 / self.segment_bytes;
        if self.window < self.threshold {
            // [rfc5681] eq. (2).
            self.window += segments.min(1.0);
        } else {
            // At least a segment in 20, before the first loss.
            let step = if self.w_max > 0.0 { self.step() } else { self.step().max(self.window / 20.0) };
            self.window += segments * step / self.window;
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.reduce();
        let min = if congestion.cause == Cause::Loss { 2.0 } else { 1.0 };
        self.window = self.threshold.max(min);
    }

    fn on_timeout(&mut self, _in_flight_bytes: u64, again: bool) {
        if !again {
            self.reduce();
        }
        self.window = 1.0;
    }

    fn on_idle_restart(&mut self) {
        self.window = self.window.min(self.initial);
    }

    fn window_bytes(&self) -> u64 {
        (self.window * self.segment_bytes) as u64
    }
}

/// low_window of [xu2004] §III, in segments.
const LOW_WINDOW: f64 = 14.0;
// As Linux 2.6 has them; the paper's experiments have S_max = 32, beta = 1 - 0.125, and halve the distance.
const S_MAX: f64 = 16.0;
const BETA: f64 = 819.0 / 1_024.0;
/// A step is the distance over this.
const SEARCH: f64 = 4.0;
/// Round trips that the last [`SEARCH`] segments up to the old window take.
const SMOOTH: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, congestion};
    use super::*;

    fn bic(window: f64) -> Bic {
        Bic { window, ..Bic::new(1_000, 3_000) }
    }

    /// [xu2004] §III, by hand: 100 segments lost at leave 100 · 819/1024 = 79.98; a quarter of the way of 20.02 is 5.004 a round trip.
    #[test]
    fn the_window_is_searched_between_the_last_two() {
        let mut bic = bic(100.0);
        bic.on_congestion(&congestion(Cause::Loss, 100_000));
        assert!((bic.window - 79.980_47).abs() < 1e-5 && bic.w_max == 100.0, "{}", bic.window);
        assert!((bic.step() - 5.004_88).abs() < 1e-5, "{}", bic.step());
        let before = bic.window;
        bic.on_ack(&ack(1_000));
        assert!((bic.window - before - 5.004_88 / before).abs() < 1e-6);
        // Far away in steps of S_max; within four segments of the old window by a fifth a round trip.
        assert_eq!(Bic { w_max: 300.0, ..bic.clone() }.step(), 16.0);
        assert_eq!(Bic { window: 97.0, ..bic.clone() }.step(), 0.2);
        // Beyond it slowly, then faster, at most S_max.
        for (window, step) in [(102.0, 0.2), (106.0, 2.0), (130.0, 10.0), (200.0, 16.0)] {
            assert_eq!(Bic { window, ..bic.clone() }.step(), step, "{window}");
        }
    }

    /// [xu2004] §III.
    #[test]
    fn small_windows_are_renos() {
        let mut bic = bic(10.0);
        bic.on_congestion(&congestion(Cause::Loss, 10_000));
        assert_eq!((bic.window, bic.step()), (5.0, 1.0));
    }

    /// [xu2004] §III, by hand: a loss at 90 below the old window of 100 sets it to 90 (1 + 0.7998) / 2 = 80.99.
    #[test]
    fn a_loss_below_the_old_window_makes_room() {
        let mut bic = Bic { w_max: 100.0, ..bic(90.0) };
        bic.on_congestion(&congestion(Cause::Loss, 90_000));
        assert!((bic.w_max - 80.991_21).abs() < 1e-5, "{}", bic.w_max);
    }

    #[test]
    fn after_a_timeout_it_starts_from_one_segment_and_stops_doubling_where_a_loss_would_lead() {
        let mut bic = bic(100.0);
        bic.on_timeout(100_000, false);
        bic.on_timeout(1_000, true);
        assert!((bic.threshold - 79.980_47).abs() < 1e-5 && bic.window == 1.0);
        (0..79).for_each(|_| bic.on_ack(&ack(1_000)));
        assert_eq!(bic.window, 80.0);
        bic.on_ack(&ack(1_000));
        assert!(bic.window < 80.1);
    }
}
