//! Whether the application, not the allowed rate, limited the sending rate: section 8.2.1 of [rfc5348]. A sender
//! records the instants at which it had sent all it was allowed; a feedback whose round trip contains none of them was
//! data-limited. The RFC keeps two such instants, which suffice for one feedback per round trip; feedback is more
//! frequent here, so more instants are kept.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The instants, and how much of the allowance was sent since the last feedback.
#[derive(Clone, Debug)]
pub struct DataLimit {
    /// When all that was allowed had been sent, with no feedback past it yet.
    not_limited: VecDeque<Timestamp>,
    looked: Timestamp,
    sent_bytes: f64,
    /// Media waited in the pacer for longer than a round trip at the last report.
    held_back: bool,
}

impl DataLimit {
    /// Nothing sent yet.
    pub fn new(start: Timestamp) -> Self {
        Self { not_limited: VecDeque::with_capacity(MAX_INSTANTS), looked: start, sent_bytes: 0.0, held_back: false }
    }

    /// A packet left.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64) {
        self.sent_bytes += bytes as f64;
    }

    /// Media waits for the pacer. One round trip's worth may leave as a burst (§4.6), so the rate holds back bytes that
    /// wait longer.
    #[inline]
    pub fn on_pacer_queue(&mut self, drain: TimeDelta, rtt: Option<TimeDelta>) {
        self.held_back = drain > rtt.unwrap_or(INITIAL_RTT);
    }

    /// A feedback came, its newest packet departed at `departure`, and so far `allowed` bytes per
    /// second were allowed. Returns whether the round trip before that departure was data-limited.
    pub fn on_feedback(&mut self, now: Timestamp, departure: Timestamp, rtt: TimeDelta, allowed: f64) -> bool {
        let allowance = allowed * (now - self.looked).as_secs_f64();
        if self.held_back || (allowance > 0.0 && self.sent_bytes >= USED_RATIO * allowance) {
            if self.not_limited.len() == MAX_INSTANTS {
                self.not_limited.pop_front();
            }
            self.not_limited.push_back(now);
        }
        (self.looked, self.sent_bytes) = (now, 0.0);
        // [rfc5348] §8.2.1: data-limited unless an instant is within (t_old, t_new].
        let (old, new) = (departure - rtt, departure);
        while self.not_limited.front().is_some_and(|&at| at <= old) {
            self.not_limited.pop_front();
        }
        self.not_limited.front().is_none_or(|&at| at > new)
    }
}

/// Two round trips of a second and a half at a feedback every 50 ms.
const MAX_INSTANTS: usize = 64;
/// An encoder never meets its target to the byte: from here on the rate counts as used.
const USED_RATIO: f64 = 0.9;
/// Before the first sample.
const INITIAL_RTT: TimeDelta = TimeDelta::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: TimeDelta = TimeDelta::from_millis(100);

    /// Feedback every 50 ms on packets that left 100 ms before, `bytes` leave in between, 1000 B/s allowed.
    fn play(bytes: &[u64]) -> Vec<bool> {
        let mut limit = DataLimit::new(Timestamp::ZERO);
        let feedback = |(place, &bytes): (usize, &u64)| {
            limit.on_sent(bytes);
            let now = Timestamp::from_millis(50 * (place as i64 + 1));
            limit.on_feedback(now, now - RTT, RTT, 1_000.0)
        };
        bytes.iter().enumerate().map(feedback).collect()
    }

    /// [rfc5348] §8.2.1, worked by hand: 50 B per feedback are all that is allowed. Packets that left before 100 ms are
    /// reported from 200 ms on.
    #[test]
    fn a_round_trip_without_an_instant_of_full_use_is_data_limited() {
        assert_eq!(play(&[20; 8]), [true; 8]);
        assert_eq!(play(&[50; 8])[3..], [false; 5]);
        // Full use until 200 ms is reported until 300 ms; the instant at 200 ms is within (t_old, t_new] at 350 ms too.
        let fades = play(&[50, 50, 50, 50, 20, 20, 20, 20, 20, 20]);
        assert_eq!(fades[3..], [false, false, false, false, true, true, true]);
    }

    #[test]
    fn media_that_waits_longer_than_a_round_trip_is_held_back_by_the_rate() {
        let mut limit = DataLimit::new(Timestamp::ZERO);
        limit.on_pacer_queue(TimeDelta::from_millis(101), Some(RTT));
        limit.on_feedback(Timestamp::from_millis(50), Timestamp::ZERO, RTT, 1_000.0);
        assert!(!limit.on_feedback(Timestamp::from_millis(150), Timestamp::from_millis(50), RTT, 1_000.0));
        let mut calm = DataLimit::new(Timestamp::ZERO);
        calm.on_pacer_queue(RTT, Some(RTT));
        calm.on_feedback(Timestamp::from_millis(50), Timestamp::ZERO, RTT, 1_000.0);
        assert!(calm.on_feedback(Timestamp::from_millis(150), Timestamp::from_millis(50), RTT, 1_000.0));
    }
}
