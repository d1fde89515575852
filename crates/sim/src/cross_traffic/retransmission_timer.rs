//! How long to wait for an acknowledgment before everything counts as lost: [rfc6298], with
//! round-trip times from echoed timestamps, which also distinguish retransmissions.
//!
//! Not here: the scaling of the gains by the number of samples per round trip that [rfc7323] appendix G
//! suggests.

use legato_units::TimeDelta;

/// The estimator and its back-off.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    /// Smoothed round-trip time and its variation, once there is a sample.
    smoothed: Option<(TimeDelta, TimeDelta)>,
    /// Without back-off.
    timeout: TimeDelta,
    /// Consecutive expiries.
    backoffs: u32,
    min: TimeDelta,
}

impl RetransmissionTimer {
    /// A timer that waits at least `min`.
    pub fn new(min: TimeDelta) -> Self {
        Self { smoothed: None, timeout: INITIAL.max(min), backoffs: 0, min }
    }

    /// A round trip was measured on new data, which also ends the back-off.
    #[inline]
    pub fn on_sample(&mut self, rtt: TimeDelta) {
        // [rfc6298] §2.2: SRTT = R, RTTVAR = R/2; then
        // [rfc6298] §2.3: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT − R'|, SRTT = 7/8 SRTT + 1/8 R'.
        let (srtt, variation) = match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, variation)) => {
                let variation = variation + ((srtt - rtt).abs() - variation) / 4;
                (srtt + (rtt - srtt) / 8, variation)
            }
        };
        self.smoothed = Some((srtt, variation));
        // [rfc6298] §2.3 and §2.4: RTO = SRTT + max(G, 4 RTTVAR), rounded up to the minimum.
        self.timeout = (srtt + GRANULARITY.max(variation * 4)).clamp(self.min, MAX);
        self.backoffs = 0;
    }

    /// The timer has expired.
    pub fn on_timeout(&mut self) {
        self.backoffs = (self.backoffs + 1).min(MAX_BACKOFFS);
    }

    /// How long to wait, from now.
    #[inline]
    pub fn timeout(&self) -> TimeDelta {
        // [rfc6298] §5.5: doubled at each expiry, to at most 60 s.
        if self.backoffs == 0 { self.timeout } else { (self.timeout * (1 << self.backoffs)).min(MAX) }
    }

    /// The smoothed round-trip time, once there is one.
    #[inline]
    pub fn smoothed(&self) -> Option<TimeDelta> {
        self.smoothed.map(|(srtt, _)| srtt)
    }
}

// [rfc6298] §2.1: one second until a round trip is measured.
const INITIAL: TimeDelta = TimeDelta::from_secs(1);
// [rfc6298] §2.5: an upper bound of at least 60 s.
const MAX: TimeDelta = TimeDelta::from_secs(60);
/// The clock's granularity G; ours is exact, but a timer of a real host is not.
const GRANULARITY: TimeDelta = TimeDelta::from_millis(1);
/// 2^6 s are more than [`MAX`] already.
const MAX_BACKOFFS: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(span: TimeDelta) -> f64 {
        span.as_millis_f64()
    }

    /// [rfc6298] §2.1, §2.2 and §2.3, worked by hand: 100 ms gives 100 and 50, hence 300 ms; then 140 ms
    /// gives 3/4 · 50 + 1/4 · 40 = 47.5 and 7/8 · 100 + 1/8 · 140 = 105, hence 295 ms.
    #[test]
    fn two_samples_give_300_and_295_ms() {
        let mut timer = RetransmissionTimer::new(TimeDelta::from_millis(200));
        assert_eq!((ms(timer.timeout()), timer.smoothed()), (1_000.0, None));
        timer.on_sample(TimeDelta::from_millis(100));
        assert_eq!((ms(timer.timeout()), timer.smoothed().map(ms)), (300.0, Some(100.0)));
        timer.on_sample(TimeDelta::from_millis(140));
        assert_eq!((ms(timer.timeout()), timer.smoothed().map(ms)), (295.0, Some(105.0)));
    }

    /// [rfc6298] §2.4: values below the minimum become the minimum; 4 · 0 counts as the granularity.
    #[test]
    fn short_timeouts_are_raised_to_the_minimum() {
        let mut timer = RetransmissionTimer::new(TimeDelta::from_secs(1));
        timer.on_sample(TimeDelta::from_millis(100));
        assert_eq!(ms(timer.timeout()), 1_000.0);
        let mut timer = RetransmissionTimer::new(TimeDelta::ZERO);
        (0..200).for_each(|_| timer.on_sample(TimeDelta::from_millis(100)));
        assert!((ms(timer.timeout()) - 101.0).abs() < 1e-3);
    }

    /// [rfc6298] §5.5 and §2.5: 1, 2, 4, … 32, then 60 s; the next sample ends it.
    #[test]
    fn expiries_double_the_timeout_to_a_minute_and_a_sample_ends_that() {
        let mut timer = RetransmissionTimer::new(TimeDelta::from_secs(1));
        let waits: Vec<f64> = (0..8)
            .map(|_| {
                let wait = ms(timer.timeout()) / 1e3;
                timer.on_timeout();
                wait
            })
            .collect();
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        timer.on_sample(TimeDelta::from_millis(500));
        assert_eq!(ms(timer.timeout()), 1_500.0);
    }
}
