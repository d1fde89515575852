//! X_recv, the rate at which packets arrived over the last round trip, from feedback alone, and X_recv_set, whose
//! maximum caps the sending rate [rfc5348].

use legato_units::{PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Arrived bytes per feedback.
#[derive(Clone, Debug, Default)]
pub struct ReceiveRate {
    /// Bytes of the latest feedbacks and the time since the one before, oldest first.
    slices: VecDeque<(TimeDelta, f64)>,
    /// The last feedback: when it came, and the last arrival it reported.
    last: Option<(Timestamp, Option<PeerTimestamp>)>,
}

impl ReceiveRate {
    /// A feedback reported `bytes` arrived, the last of them at `arrival`. Returns the rate over at
    /// least `rtt`, or over what there is, in bytes per second.
    pub fn update(
        &mut self,
        now: Timestamp,
        arrival: Option<PeerTimestamp>,
        bytes: u64,
        rtt: TimeDelta,
    ) -> Option<f64> {
        let last = self.last.replace((now, arrival));
        // The time over which the first feedback's packets came is unknown.
        let (last_now, last_arrival) = last?;
        let span = match (arrival, last_arrival) {
            // By the receiver's clock if it is reported: the way back does not matter then.
            (Some(arrival), Some(last)) => arrival - last,
            _ => now - last_now,
        };
        if span > TimeDelta::ZERO {
            if self.slices.len() == MAX_SLICES {
                self.slices.pop_front();
            }
            self.slices.push_back((span, bytes as f64));
        } else if let Some(newest) = self.slices.back_mut() {
            // Overtaken packets belong to the time before.
            newest.1 += bytes as f64;
            if let (Some((_, now_arrival)), Some(last)) = (&mut self.last, last_arrival) {
                *now_arrival = Some(last);
            }
        }
        let (mut covered, mut total) = (TimeDelta::ZERO, 0.0);
        // [rfc5348] §6.2: X_recv is taken over the packets of the last R_m seconds.
        for &(span, bytes) in self.slices.iter().rev() {
            covered += span;
            total += bytes;
            if covered >= rtt {
                break;
            }
        }
        (covered > TimeDelta::ZERO).then(|| total / covered.as_secs_f64())
    }
}

/// Three seconds of feedback at 50 ms.
const MAX_SLICES: usize = 64;

/// The receive rates of the last two round trips, in bytes per second.
#[derive(Clone, Debug)]
pub struct ReceiveRateSet {
    /// In order of time and descending, so that the front is the maximum.
    rates: VecDeque<(Timestamp, f64)>,
    /// The initial member, infinity, is in the set …
    unlimited: bool,
    /// … since then.
    began: Option<Timestamp>,
}

impl Default for ReceiveRateSet {
    fn default() -> Self {
        Self { rates: VecDeque::with_capacity(16), unlimited: true, began: None }
    }
}

impl ReceiveRateSet {
    /// The maximum; `None` while nothing limits.
    #[inline]
    pub fn max(&self) -> Option<f64> {
        if self.unlimited { None } else { self.rates.front().map(|&(_, rate)| rate) }
    }

    /// The connection began at `at`.
    pub fn begin(&mut self, at: Timestamp) {
        self.began = Some(at);
    }

    /// Add a rate and forget those older than two round trips.
    pub fn update(&mut self, now: Timestamp, rate: f64, rtt: TimeDelta) {
        // [rfc5348] §4.3: Update X_recv_set(). Infinity ages as the others do: it is in the set "for the first two
        // round-trip times of the connection".
        self.unlimited &= self.began.is_some_and(|at| now - at <= rtt * 2);
        while self.rates.front().is_some_and(|&(at, _)| now - at > rtt * 2) {
            self.rates.pop_front();
        }
        // Older and smaller values can never become the maximum.
        while self.rates.back().is_some_and(|&(_, other)| other <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((now, rate));
    }

    /// Keep only the maximum of the rates, dated now.
    pub fn maximize(&mut self, now: Timestamp, rate: f64) {
        // [rfc5348] §4.3: Maximize X_recv_set(), without infinity.
        let largest = self.rates.front().map_or(rate, |&(_, other)| rate.max(other));
        self.replace(now, largest);
    }

    /// Halve every rate.
    pub fn halve(&mut self) {
        // [rfc5348] §4.3: halve the values in X_recv_set.
        self.rates.iter_mut().for_each(|(_, rate)| *rate *= 0.5);
    }

    /// Keep only `rate`.
    pub fn replace(&mut self, now: Timestamp, rate: f64) {
        self.unlimited = false;
        self.rates.clear();
        self.rates.push_back((now, rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: TimeDelta = TimeDelta::from_millis(100);

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn arrival(ms: i64) -> Option<PeerTimestamp> {
        Some(PeerTimestamp::from_nanos(ms * 1_000_000))
    }

    /// [rfc5348] §6.2, worked by hand: 2000 B + 1000 B in 60 + 40 ms are 30,000 B/s; the 50 ms before are out.
    #[test]
    fn the_rate_is_over_one_round_trip_of_arrivals() {
        let mut rate = ReceiveRate::default();
        assert_eq!(rate.update(at(0), arrival(7_000), 9_999, RTT), None);
        assert_eq!(rate.update(at(1), arrival(7_050), 5_000, RTT), Some(100_000.0));
        rate.update(at(2), arrival(7_110), 2_000, RTT);
        assert_eq!(rate.update(at(3), arrival(7_150), 1_000, RTT), Some(30_000.0));
    }

    #[test]
    fn without_arrival_times_the_feedbacks_own_count() {
        let mut rate = ReceiveRate::default();
        rate.update(at(0), None, 1_000, RTT);
        assert_eq!(rate.update(at(50), None, 1_000, RTT), Some(20_000.0));
    }

    /// [rfc5348] §4.3: infinity limits nothing until it is more than two round trips old, unless a maximum is taken.
    #[test]
    fn infinity_leaves_the_set_after_two_round_trips() {
        let mut set = ReceiveRateSet::default();
        set.begin(at(10));
        set.update(at(110), 5.0, RTT);
        set.update(at(210), 6.0, RTT);
        assert_eq!(set.max(), None);
        let mut maximized = set.clone();
        maximized.maximize(at(210), 4.0);
        assert_eq!(maximized.max(), Some(6.0));
        set.update(at(211), 4.0, RTT);
        assert_eq!(set.max(), Some(6.0));
    }

    #[test]
    fn packets_that_were_overtaken_count_for_the_time_before() {
        let mut rate = ReceiveRate::default();
        rate.update(at(0), arrival(0), 1_000, RTT);
        rate.update(at(50), arrival(50), 1_000, RTT);
        assert_eq!(rate.update(at(60), arrival(40), 500, RTT), Some(30_000.0));
        assert_eq!(rate.update(at(100), arrival(100), 1_500, RTT), Some(30_000.0));
    }

    /// [rfc5348] §4.3, worked by hand over a minute of rates: the maximum of two round trips counts.
    #[test]
    fn the_set_holds_the_maximum_of_two_round_trips() {
        let mut set = ReceiveRateSet::default();
        assert_eq!(set.max(), None);
        set.update(at(0), 10.0, RTT);
        set.update(at(100), 7.0, RTT);
        set.update(at(200), 5.0, RTT);
        assert_eq!(set.max(), Some(10.0));
        set.update(at(201), 6.0, RTT);
        assert_eq!(set.max(), Some(7.0));
        set.halve();
        assert_eq!(set.max(), Some(3.5));
        set.maximize(at(300), 2.0);
        set.update(at(500), 1.0, RTT);
        assert_eq!(set.max(), Some(3.5));
        set.update(at(501), 1.0, RTT);
        assert_eq!(set.max(), Some(1.0));
        set.replace(at(502), 9.0);
        assert_eq!(set.max(), Some(9.0));
    }
}
