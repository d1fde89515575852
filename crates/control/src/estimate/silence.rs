//! Silence: packets leave and several feedbacks in a row stay away. [rfc8888] §5: one lost feedback changes nothing, a
//! sender should reduce its rate rapidly if several consecutive ones are missing, and they are missed by the time since
//! the last one. What several are depends on how often feedback comes, which this learns; each controller lowers its
//! rate in its own way.

use legato_units::{TimeDelta, Timestamp};

/// Reports each time that several feedbacks are overdue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    /// When they are; `None`: everything sent has been reported on.
    ends: Option<Timestamp>,
    /// Of the first packet sent since the last feedback.
    sent_since: Option<Timestamp>,
    /// Reported since the last feedback.
    lasts: bool,
    wait: Option<Wait>,
}

/// From the first packet after a feedback until the next feedback: the feedback interval, as seen while packets leave.
#[derive(Clone, Copy, Debug)]
struct Wait {
    mean: TimeDelta,
    deviation: TimeDelta,
    /// What a packet's report takes when nothing is under way.
    round_trip: TimeDelta,
}

impl Silence {
    /// A packet left.
    #[inline]
    pub fn on_packet_sent(&mut self, now: Timestamp) {
        if self.ends.is_none() {
            self.ends = Some(now + self.patience());
            self.sent_since = Some(now);
        }
    }

    /// Feedback came whose newest packet left a `round_trip` ago.
    #[inline]
    pub fn on_feedback(&mut self, now: Timestamp, round_trip: TimeDelta) {
        (self.ends, self.lasts) = (None, false);
        // A round trip after silence holds the silence.
        let round_trip = round_trip.clamp(TimeDelta::ZERO, MAX_PATIENCE);
        let Some(sent_since) = self.sent_since.take() else { return };
        let waited = (now - sent_since).min(MAX_PATIENCE);
        self.wait = Some(match self.wait {
            None => Wait { mean: waited, deviation: waited / 2, round_trip },
            Some(Wait { mean, deviation, .. }) => Wait {
                // [rfc6298] §2.3, of feedback intervals in place of round trips.
                deviation: deviation + ((waited - mean).abs() - deviation) / 4,
                mean: mean + (waited - mean) / 8,
                round_trip,
            },
        });
    }

    /// Something arrived that says nothing of feedback: at a receiver, media.
    #[inline]
    pub fn on_sign_of_life(&mut self) {
        (self.ends, self.sent_since, self.lasts) = (None, None, false);
    }

    /// Whether several feedbacks more are missing; called at every event.
    #[inline]
    pub fn is_over(&mut self, now: Timestamp) -> bool {
        let over = self.ends.is_some_and(|ends| ends <= now);
        if over {
            self.ends = Some(now + self.patience());
            self.lasts = true;
        }
        over
    }

    /// Whether silence was reported and no feedback has come since: no reason to raise a rate.
    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// When to call again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.ends
    }

    fn patience(&self) -> TimeDelta {
        let Some(wait) = self.wait else { return MAX_PATIENCE };
        (wait.round_trip + wait.mean * SEVERAL + wait.deviation * 4).clamp(MIN_PATIENCE, MAX_PATIENCE)
    }
}

// [rfc8888] §5 says "multiple consecutive", not how many. Ours: with feedback every 50 ms and a round trip of 50 ms,
// four intervals make 250 ms; a path whose feedback is irregular gets four deviations on top ([rfc6298]).
const SEVERAL: i64 = 4;
/// Ours: feedback for each frame, and a path that pauses for a few frames, are no reason to halve.
const MIN_PATIENCE: TimeDelta = TimeDelta::from_millis(200);
/// Ours, and before the first feedback: three halvings fit within the 3 s by which the rate must have halved.
const MAX_PATIENCE: TimeDelta = TimeDelta::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(i64) -> TimeDelta = TimeDelta::from_millis;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// When silence is reported between `from` and `to`, asked every millisecond.
    fn alarms(silence: &mut Silence, from: i64, to: i64) -> Vec<i64> {
        (from..to).filter(|&ms| silence.is_over(at(ms))).collect()
    }

    /// Packets leave every 10 ms and feedback comes every `interval_ms`, for 20 s; the round trip is 50 ms.
    fn fed_every(interval_ms: i64) -> Silence {
        let mut silence = Silence::default();
        for ms in (0..20_000).step_by(10) {
            if ms % interval_ms == 0 {
                silence.on_feedback(at(ms), MS(50));
            }
            silence.on_packet_sent(at(ms));
            assert!(!silence.is_over(at(ms)), "{ms} ms");
        }
        silence.on_feedback(at(20_000), MS(50));
        silence.on_packet_sent(at(20_000));
        silence
    }

    /// Without a feedback interval: every second.
    #[test]
    fn before_the_first_feedback_a_second_is_silence() {
        let mut silence = Silence::default();
        assert_eq!(silence.next_deadline(), None);
        silence.on_packet_sent(at(500));
        silence.on_packet_sent(at(900));
        assert_eq!(alarms(&mut silence, 500, 4_000), [1_500, 2_500, 3_500]);
        assert!(silence.lasts());
        silence.on_feedback(at(4_000), MS(50));
        assert!(!silence.lasts());
        assert!(alarms(&mut silence, 4_000, 9_000).is_empty());
    }

    /// [rfc8888] §5, worked by hand: a round trip of 50 ms and four intervals of 50, 100, 200 ms: 250, 450, 850 ms. The
    /// first missing feedback, and the second, change nothing.
    #[test]
    fn several_missing_feedbacks_are_silence_at_whatever_interval_they_come() {
        for (interval_ms, several_ms) in [(50, 250), (100, 450), (200, 850)] {
            let mut silence = fed_every(interval_ms);
            let found = alarms(&mut silence, 20_000, 20_000 + 2 * several_ms + 20);
            assert_eq!(found.len(), 2, "{interval_ms}: {found:?}");
            for (n, ms) in (1..).zip(found) {
                assert!((ms - 20_000 - n * several_ms).abs() <= 10 * n, "{interval_ms}: {ms}");
            }
        }
    }

    #[test]
    fn feedback_every_frame_needs_a_longer_gap_and_rare_feedback_no_more_than_a_second() {
        assert_eq!(alarms(&mut fed_every(20), 20_000, 20_300), [20_200]);
        assert_eq!(alarms(&mut fed_every(1_000), 20_000, 21_500), [21_000]);
    }

    /// Feedback in turn after 20 and 200 ms: the mean of 110 ms alone would not do.
    #[test]
    fn irregular_feedback_is_given_more_time() {
        let mut silence = Silence::default();
        let mut ms = 0;
        for n in 0..200 {
            silence.on_packet_sent(at(ms));
            ms += if n % 2 == 0 { 20 } else { 200 };
            silence.on_feedback(at(ms), MS(50));
        }
        silence.on_packet_sent(at(ms));
        // 50 + 4 × 110 + 4 × 90 ms, and a little more: the last wait was a long one.
        let found = alarms(&mut silence, ms, ms + 1_000);
        assert!(found.len() == 1 && (850..910).contains(&(found[0] - ms)), "{found:?} after {ms}");
    }

    /// A receiver hears media, not feedback.
    #[test]
    fn signs_of_life_end_a_silence_and_teach_nothing() {
        let mut silence = Silence::default();
        for ms in (0..5_000).step_by(10) {
            silence.on_sign_of_life();
            silence.on_packet_sent(at(ms));
        }
        assert_eq!(alarms(&mut silence, 5_000, 6_000), [5_990]);
    }
}
