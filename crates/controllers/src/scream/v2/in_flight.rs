//! The maximum bytes in flight in this round trip and the one before.
//! [draft-johansson-ccwg-rfc8298bis-screamv2] §4.1.1.

use legato_units::{TimeDelta, Timestamp};

/// max_bytes_in_flight and max_bytes_in_flight_prev.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    this: u64,
    previous: u64,
    since: Option<Timestamp>,
}

impl InFlight {
    /// `bytes` are in flight.
    #[inline]
    pub fn update(&mut self, bytes: u64) {
        self.this = self.this.max(bytes);
    }

    /// Feedback came and was acted on; the next round trip begins after `round_trip`.
    pub fn turn(&mut self, now: Timestamp, round_trip: TimeDelta) {
        if self.since.is_none_or(|since| now - since >= round_trip) {
            self.since = Some(now);
            self.previous = self.this;
            self.this = 0;
        }
    }

    /// The maximum of both, in bytes. (§4.1.1 speaks of the minimum, the pseudocode of §4.2.2.2 takes
    /// the maximum, as libwebrtc does.)
    pub fn max(&self) -> u64 {
        self.this.max(self.previous)
    }

    /// The maximum of the previous round trip, in bytes.
    pub fn previous(&self) -> u64 {
        self.previous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.1.1.
    #[test]
    fn the_maximum_of_two_round_trips_counts() {
        let mut max = InFlight::default();
        let rtt = TimeDelta::from_millis(100);
        max.update(5_000);
        max.turn(Timestamp::from_millis(0), rtt);
        max.update(3_000);
        assert_eq!((max.max(), max.previous()), (5_000, 5_000));
        max.turn(Timestamp::from_millis(99), rtt);
        max.turn(Timestamp::from_millis(100), rtt);
        assert_eq!((max.max(), max.previous()), (3_000, 3_000));
    }
}
