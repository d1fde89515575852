//! What waits in front of the next frame: the bytes that are on their way, minus those that the link has passed since
//! the last news.

use legato_units::{DataSize, TimeDelta, Timestamp};

/// Bytes sent and not reported, and how fresh the reports are.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    in_flight: DataSize,
    in_pacer: DataSize,
    /// When the newest packet that arrived left, and the queue that it met.
    newest: Option<(Timestamp, TimeDelta)>,
    last_feedback: Timestamp,
    /// From one feedback to the next, smoothed.
    gap_s: f64,
    /// From when the newest packet of a feedback left the queue until the feedback came, smoothed: a round trip without
    /// queue, and what the receiver waited.
    lag_s: f64,
    /// By how much gaps differ from their mean, smoothed.
    deviation_s: f64,
}

/// What feedback takes until some has come: libwebrtc's shortest interval, and a round trip of 100 ms.
const FIRST_GAP_S: f64 = 0.05;
/// See [`FIRST_GAP_S`].
const FIRST_LAG_S: f64 = 0.1;
/// Longer ones are outages, and say nothing about how often feedback comes.
const LONGEST_GAP_S: f64 = 0.5;
/// See [`LONGEST_GAP_S`].
const LONGEST_LAG_S: f64 = 2.0;
/// About the last ten feedbacks count.
const GAIN: f64 = 0.1;
/// See [`Backlog::late_s`].
const LATE_DEVIATIONS: f64 = 2.0;
/// See [`Backlog::late_s`]: where gaps differ by as much as they last.
const LATE_GAPS: f64 = 2.0;
/// So much faster than news is overdue is less believed to have got through, where the link is ours alone.
const DOUBT_RATIO: f64 = 4.0;

impl Backlog {
    /// Before the first packet.
    pub fn new(start: Timestamp) -> Self {
        let empty = DataSize::ZERO;
        Self {
            in_flight: empty,
            in_pacer: empty,
            newest: None,
            last_feedback: start,
            gap_s: FIRST_GAP_S,
            lag_s: FIRST_LAG_S,
            deviation_s: FIRST_GAP_S,
        }
    }

    /// Feedback with news came; returns the time since the one before, in seconds.
    pub fn on_feedback(&mut self, now: Timestamp) -> f64 {
        let gap_s = (now - self.last_feedback).as_secs_f64().max(0.0);
        self.last_feedback = now;
        let error_s = gap_s.min(LONGEST_GAP_S) - self.gap_s;
        self.gap_s += GAIN * error_s;
        self.deviation_s += GAIN * (error_s.abs() - self.deviation_s);
        gap_s
    }

    /// The newest packet that arrived left at `departure` and met a queue of `queuing`.
    pub fn on_arrival(&mut self, now: Timestamp, departure: Timestamp, queuing: TimeDelta) {
        self.newest = Some((departure, queuing));
        let lag_s = (now - departure - queuing).as_secs_f64();
        self.lag_s += GAIN * (lag_s.clamp(0.0, LONGEST_LAG_S) - self.lag_s);
    }

    /// So much is sent and not reported.
    pub fn set_in_flight(&mut self, in_flight: DataSize) {
        self.in_flight = in_flight;
    }

    /// So much waits in the pacer.
    pub fn set_in_pacer(&mut self, in_pacer: DataSize) {
        self.in_pacer = in_pacer;
    }

    /// So much left the pacer.
    pub fn on_departure(&mut self, size: DataSize) {
        self.in_pacer = self.in_pacer.saturating_sub(size);
    }

    /// How long feedback takes, in seconds.
    pub fn lag_s(&self) -> f64 {
        self.lag_s
    }

    /// Feedback is due within a lag and so much, in seconds: late by more than gaps vary, it has not merely been sent
    /// late.
    fn late_s(&self) -> f64 {
        (self.gap_s + LATE_DEVIATIONS * self.deviation_s).min(LATE_GAPS * self.gap_s)
    }

    /// How long the next byte waits for those in front of it, if the link passes so many bytes a second. Others' queues
    /// hold news up: `in_company` it is waited for longer.
    pub fn wait_s(&self, now: Timestamp, bytes_per_s: f64, in_company: bool) -> f64 {
        let ahead = self.in_flight.as_bytes_f64() + self.in_pacer.as_bytes_f64();
        let passed = bytes_per_s * self.passing_s(now, in_company);
        (ahead - passed).max(0.0) / bytes_per_s.max(1.0)
    }

    /// News is overdue: since it was due the link has passed less than what is in flight, in bytes a second.
    pub fn overdue_bytes_per_s(&self, now: Timestamp) -> Option<f64> {
        let (departure, queuing) = self.newest?;
        let since_s = (now - departure - queuing).as_secs_f64();
        let overdue = self.in_flight > DataSize::ZERO && since_s > self.lag_s + self.late_s();
        overdue.then(|| self.in_flight.as_bytes_f64() / (since_s - self.lag_s))
    }

    /// For how long the link has passed packets since the newest that is known to have left the queue. Where news is
    /// overdue it has passed none: the link is dead, and the longer it is, the less is believed to have got through.
    fn passing_s(&self, now: Timestamp, in_company: bool) -> f64 {
        let Some((departure, queuing)) = self.newest else { return 0.0 };
        let since_s = (now - departure - queuing).as_secs_f64().max(0.0);
        let (late_s, doubt_ratio) =
            if in_company { (LATE_GAPS * self.gap_s, 1.0) } else { (self.late_s(), DOUBT_RATIO) };
        let due_s = self.lag_s + late_s;
        if self.in_flight == DataSize::ZERO || since_s <= due_s {
            return since_s;
        }
        (due_s - doubt_ratio * (since_s - due_s)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: i64) -> Timestamp {
        Timestamp::from_millis(at)
    }

    /// A packet left at 0 and met 20 ms of queue; 10,000 bytes behind it are on their way over a link of 100 bytes per
    /// ms. At 70 ms it has passed 50 ms of them: 5,000 wait for 50 ms.
    #[test]
    fn the_link_works_off_what_is_behind_the_newest_arrival() {
        let mut backlog = Backlog::new(ms(0));
        backlog.on_feedback(ms(60));
        backlog.on_arrival(ms(60), ms(0), TimeDelta::from_millis(20));
        backlog.set_in_flight(DataSize::from_bytes(10_000));
        assert!((backlog.wait_s(ms(70), 100e3, false) - 0.05).abs() < 1e-9);
        assert_eq!(backlog.wait_s(ms(121), 100e3, false), 0.0);
        backlog.set_in_pacer(DataSize::from_bytes(2_000));
        backlog.on_departure(DataSize::from_bytes(500));
        assert!((backlog.wait_s(ms(70), 100e3, false) - 0.065).abs() < 1e-9);
    }

    /// Feedback is due after 0.1 s and twice 0.05 s. A quarter as long again, and nothing is believed to have left the
    /// queue; in company as long again.
    #[test]
    fn a_link_without_news_is_believed_dead() {
        let mut backlog = Backlog::new(ms(0));
        backlog.on_arrival(ms(100), ms(0), TimeDelta::ZERO);
        backlog.set_in_flight(DataSize::from_bytes(10_000));
        let waits = |in_company| {
            [150, 200, 225, 250, 400].map(|at| libm::round(1e3 * backlog.wait_s(ms(at), 50e3, in_company)))
        };
        assert_eq!(waits(false), [50.0, 0.0, 100.0, 200.0, 200.0]);
        assert_eq!(waits(true), [50.0, 0.0, 25.0, 50.0, 200.0]);
    }

    /// Where feedback has come every 50 ms it is late a moment after that; where it varies by as much, after twice that.
    #[test]
    fn regular_feedback_is_late_sooner() {
        let (mut regular, mut varying) = (Backlog::new(ms(0)), Backlog::new(ms(0)));
        for n in 0..50 {
            regular.on_feedback(ms(50 * n));
            varying.on_feedback(ms(50 * n + 25 * (n % 2)));
        }
        assert!((0.05..0.056).contains(&regular.late_s()), "{}", regular.late_s());
        assert!((0.095..0.105).contains(&varying.late_s()), "{}", varying.late_s());
    }

    /// News of 10,000 bytes was due within 0.1 s and twice 0.05 s; after 0.3 s they show less than 10,000 bytes in
    /// 0.2 s.
    #[test]
    fn overdue_news_bounds_the_rate() {
        let mut backlog = Backlog::new(ms(0));
        assert_eq!(backlog.overdue_bytes_per_s(ms(1_000)), None, "nothing came yet");
        backlog.on_arrival(ms(100), ms(0), TimeDelta::ZERO);
        assert_eq!(backlog.overdue_bytes_per_s(ms(1_000)), None, "nothing is on its way");
        backlog.set_in_flight(DataSize::from_bytes(10_000));
        assert_eq!(backlog.overdue_bytes_per_s(ms(200)), None);
        assert!((backlog.overdue_bytes_per_s(ms(300)).unwrap() - 50e3).abs() < 1e-6);
    }
}
