//! What marks say: a queue manager that marks packets instead of dropping them asks for a lower rate ([rfc3168] §5).
//! Only queue managers mark, so marks need no trial as losses do. The share of marked packets says how much lower, as
//! with scalable controls ([rfc9331] §4.3). A classic queue manager marks few packets and goes on until it is heeded;
//! one for low latency marks many as soon as a queue begins.

use super::limit::{Limit, Why};
use legato_units::{ByteRate, Bytes, PerSecond, Seconds, Timestamp};

/// Decides what share of the measured rate is sent where packets come marked.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Of the current round trip.
    marked: f64,
    seen: f64,
    since: Option<Timestamp>,
    /// The share of marked packets, smoothed over round trips.
    share: f64,
    rate_ratio: f64,
}

/// As [rfc8257] §3.3 has it, per round trip.
const GAIN: f64 = 1.0 / 16.0;
/// One mark asks for as much at least, so that few marks by a classic queue manager are heeded too.
const MIN_CUT_RATIO: f64 = 0.03;
const SEEN_RATIO: f64 = 0.002;
const MIN_RATE_RATIO: f64 = 0.05;
const MIN_ROUND_TRIP: Seconds = Seconds::from_millis(25.0);
/// As fast as [draft-ietf-rmcat-gcc-02] grows.
const GROWTH: PerSecond = PerSecond::new(0.08);
/// An outage is no time to grow in.
const LONGEST_GROWTH: Seconds = Seconds::new(1.0);

impl Default for Marks {
    fn default() -> Self {
        Self { marked: 0.0, seen: 0.0, since: None, share: 0.0, rate_ratio: 1.0 }
    }
}

impl Marks {
    /// Count a packet that arrived.
    pub fn count(&mut self, marked: bool) {
        self.marked += f64::from(u8::from(marked));
        self.seen += 1.0;
    }

    /// Once per feedback: decide, once in a round trip.
    pub fn react(&mut self, now: Timestamp, round_trip: Seconds) {
        let looked = Seconds::from(now - *self.since.get_or_insert(now));
        if looked < round_trip.max(MIN_ROUND_TRIP) || self.seen == 0.0 {
            return;
        }
        self.share += GAIN * (self.marked / self.seen - self.share);
        if self.marked > 0.0 {
            let cut = (0.5 * self.share).max(MIN_CUT_RATIO);
            self.rate_ratio = (self.rate_ratio * (1.0 - cut)).max(MIN_RATE_RATIO);
        } else {
            self.rate_ratio = (self.rate_ratio * (1.0 + GROWTH * looked.min(LONGEST_GROWTH))).min(1.0);
        }
        (self.marked, self.seen, self.since) = (0.0, 0.0, Some(now));
    }

    /// Whether packets were marked of late: then bursts are what a queue manager objects to.
    pub fn are_seen(&self) -> bool {
        self.share > SEEN_RATIO
    }

    /// The most to send of a rate that is `allowed`.
    pub fn limit(&self, allowed: ByteRate) -> Limit {
        Limit { target: allowed * self.rate_ratio, max_frame: Bytes::INFINITY, why: Why::Marks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Seconds = Seconds::new(0.05);

    /// Round trips of ten packets of which so many are marked.
    fn round_trips(marks: &mut Marks, trips: std::ops::Range<i64>, marked: u32) {
        for n in trips {
            (0..10).for_each(|k| marks.count(k < marked));
            marks.react(Timestamp::from_millis(51 * (n + 1)), ROUND_TRIP);
        }
    }

    #[test]
    fn without_marks_nothing_limits() {
        let mut marks = Marks::default();
        round_trips(&mut marks, 0..100, 0);
        assert!((marks.rate_ratio - 1.0).abs() < 1e-12);
    }

    /// [rfc8257] §3.3: one of ten makes the share 0.1/16 after the first decision, half of which is below 3 %.
    #[test]
    fn a_single_mark_is_heeded() {
        let mut marks = Marks::default();
        round_trips(&mut marks, 0..2, 1);
        assert!((marks.share - 0.1 / 16.0).abs() < 1e-12, "the first round trip only begins");
        assert!((marks.rate_ratio - 0.97).abs() < 1e-12);
    }

    /// All marked: the share nears 1 by a sixteenth per round trip, and half of it is cut.
    #[test]
    fn many_marks_cut_more() {
        let mut marks = Marks::default();
        round_trips(&mut marks, 0..2, 10);
        let first = marks.rate_ratio;
        assert!((first - (1.0 - 0.5 / 16.0)).abs() < 1e-12);
        round_trips(&mut marks, 2..17, 10);
        assert!(marks.rate_ratio < 0.2, "{}", marks.rate_ratio);
    }

    /// 8 % per second: from 0.97 in half a second.
    #[test]
    fn it_grows_back_when_nothing_is_marked() {
        let mut marks = Marks::default();
        round_trips(&mut marks, 0..2, 1);
        round_trips(&mut marks, 2..12, 0);
        assert!((marks.rate_ratio - 1.0).abs() < 1e-9);
    }
}
