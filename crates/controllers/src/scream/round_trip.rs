//! The smoothed round-trip time, as RFC 6298 smooths it.

use legato_units::TimeDelta;

/// s_rtt.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmoothedRtt(Option<TimeDelta>);

impl SmoothedRtt {
    /// Take a round trip; `gain` is an eighth in [rfc6298].
    pub fn update(&mut self, round_trip: TimeDelta, gain: f64) {
        // [rfc6298] §2: SRTT = R first, then (1 - 1/8) SRTT + 1/8 R.
        let next = match self.0 {
            None => round_trip,
            Some(smoothed) => smoothed + TimeDelta::from_secs_f64(gain * (round_trip - smoothed).as_secs_f64()),
        };
        self.0 = Some(next.max(TimeDelta::from_millis(1)));
    }

    /// The smoothed round trip, or 100 ms before the first.
    #[inline]
    pub fn get(&self) -> TimeDelta {
        self.0.unwrap_or(TimeDelta::from_millis(100))
    }
}

/// [rfc6298] §2.3: alpha.
pub const GAIN: f64 = 1.0 / 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc6298] §2, worked by hand: 80 ms, then 160 ms: 7/8 × 80 + 1/8 × 160.
    #[test]
    fn a_new_round_trip_counts_an_eighth() {
        let mut rtt = SmoothedRtt::default();
        rtt.update(TimeDelta::from_millis(80), GAIN);
        assert_eq!(rtt.get(), TimeDelta::from_millis(80));
        rtt.update(TimeDelta::from_millis(160), GAIN);
        assert_eq!(rtt.get(), TimeDelta::from_millis(90));
    }
}
