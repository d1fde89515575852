//! The bytes in front of the next frame: all in flight, minus those that the link has passed since the last news.

use super::capacity::draining_ratio;
use super::limit::{Limit, Room, TRICKLE, Why};
use legato_units::{ByteRate, Bytes, DataSize, Seconds, TimeDelta, Timestamp};

/// Bytes sent and not reported, and how fresh the reports are.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    in_flight: DataSize,
    in_pacer: DataSize,
    /// When the newest packet that arrived left, and the queue that it met.
    newest: Option<(Timestamp, TimeDelta)>,
    last_feedback: Timestamp,
    /// From one feedback to the next, smoothed.
    gap: Seconds,
    /// From when the newest packet of a feedback left the queue until the feedback came, smoothed: a round trip without
    /// queue, and what the receiver waited.
    lag: Seconds,
    /// By how much gaps differ from their mean, smoothed.
    deviation: Seconds,
}

/// What feedback takes until some has come: libwebrtc's shortest interval, and a round trip of 100 ms.
const FIRST_GAP: Seconds = Seconds::from_millis(50.0);
/// See [`FIRST_GAP`].
const FIRST_LAG: Seconds = Seconds::from_millis(100.0);
/// Longer ones are outages, and say nothing about how often feedback comes.
const LONGEST_GAP: Seconds = Seconds::from_millis(500.0);
/// See [`LONGEST_GAP`].
const LONGEST_LAG: Seconds = Seconds::new(2.0);
/// About the last ten feedbacks count.
const GAIN: f64 = 0.1;
/// See [`Backlog::late`].
const LATE_DEVIATIONS: f64 = 2.0;
/// See [`Backlog::late`]: where gaps differ by as much as they last.
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
            gap: FIRST_GAP,
            lag: FIRST_LAG,
            deviation: FIRST_GAP,
        }
    }

    /// Feedback with news came; returns the time since the one before.
    pub fn on_feedback(&mut self, now: Timestamp) -> Seconds {
        let gap = Seconds::from(now - self.last_feedback).max(Seconds::ZERO);
        self.last_feedback = now;
        let error = gap.min(LONGEST_GAP) - self.gap;
        self.gap += error * GAIN;
        self.deviation += (error.abs() - self.deviation) * GAIN;
        gap
    }

    /// The newest packet that arrived left at `departure` and met a queue of `queuing`.
    pub fn on_arrival(&mut self, now: Timestamp, departure: Timestamp, queuing: TimeDelta) {
        self.newest = Some((departure, queuing));
        let lag = Seconds::from(now - departure - queuing);
        self.lag += (lag.clamp(Seconds::ZERO, LONGEST_LAG) - self.lag) * GAIN;
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

    /// How long feedback takes.
    pub fn lag(&self) -> Seconds {
        self.lag
    }

    /// Feedback is due within a lag and so much: late by more than gaps vary, it has not merely been sent late.
    fn late(&self) -> Seconds {
        (self.gap + self.deviation * LATE_DEVIATIONS).min(self.gap * LATE_GAPS)
    }

    /// How long the next byte waits for those in front of it, if the link passes bytes at this rate. Others' queues hold
    /// news up: `in_company` it is waited for longer.
    pub fn wait(&self, now: Timestamp, rate: ByteRate, in_company: bool) -> Seconds {
        let ahead = Bytes::from(self.in_flight + self.in_pacer);
        let passed = rate * self.draining_for(now, in_company);
        (ahead - passed).max(Bytes::ZERO) / rate.max(TRICKLE)
    }

    /// News is overdue: since it was due the link has passed less than the bytes in flight.
    pub fn overdue(&self, now: Timestamp) -> Option<ByteRate> {
        let (departure, queuing) = self.newest?;
        let since = Seconds::from(now - departure - queuing);
        let overdue = self.in_flight > DataSize::ZERO && since > self.lag + self.late();
        overdue.then(|| Bytes::from(self.in_flight) / (since - self.lag))
    }

    /// How long the link has been draining since the newest packet known to have left the queue. Overdue feedback means
    /// a dead link: the longer overdue, the less is assumed to have got through.
    fn draining_for(&self, now: Timestamp, in_company: bool) -> Seconds {
        let Some((departure, queuing)) = self.newest else { return Seconds::ZERO };
        let since = Seconds::from(now - departure - queuing).max(Seconds::ZERO);
        let (late, doubt_ratio) = if in_company { (self.gap * LATE_GAPS, 1.0) } else { (self.late(), DOUBT_RATIO) };
        let due = self.lag + late;
        if self.in_flight == DataSize::ZERO || since <= due {
            return since;
        }
        (due - (since - due) * doubt_ratio).max(Seconds::ZERO)
    }
}

/// The most to send over a link of this capacity, of which so much is aimed at: the rest after draining a `wait`
/// `within` a time.
pub fn limit(capacity: ByteRate, utilisation_ratio: f64, wait: Seconds, within: Seconds, room: Room) -> Limit {
    let target = capacity * utilisation_ratio * draining_ratio(wait, within);
    let why = if wait > Seconds::ZERO { Why::Backlog } else { Why::Capacity };
    Limit { target, max_frame: room.at(capacity), why }
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
        let waits = |backlog: &Backlog, at| backlog.wait(ms(at), ByteRate::new(100e3), false).get();
        let mut backlog = Backlog::new(ms(0));
        backlog.on_feedback(ms(60));
        backlog.on_arrival(ms(60), ms(0), TimeDelta::from_millis(20));
        backlog.set_in_flight(DataSize::from_bytes(10_000));
        assert!((waits(&backlog, 70) - 0.05).abs() < 1e-9);
        assert_eq!(waits(&backlog, 121), 0.0);
        backlog.set_in_pacer(DataSize::from_bytes(2_000));
        backlog.on_departure(DataSize::from_bytes(500));
        assert!((waits(&backlog, 70) - 0.065).abs() < 1e-9);
    }

    /// Feedback is due after 0.1 s and twice 0.05 s. A quarter as long again, and nothing is believed to have left the
    /// queue; in company as long again.
    #[test]
    fn a_link_without_news_is_believed_dead() {
        let mut backlog = Backlog::new(ms(0));
        backlog.on_arrival(ms(100), ms(0), TimeDelta::ZERO);
        backlog.set_in_flight(DataSize::from_bytes(10_000));
        let waits = |in_company| {
            [150, 200, 225, 250, 400]
                .map(|at| libm::round(backlog.wait(ms(at), ByteRate::new(50e3), in_company).as_millis()))
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
        assert!((0.05..0.056).contains(&regular.late().get()), "{:?}", regular.late());
        assert!((0.095..0.105).contains(&varying.late().get()), "{:?}", varying.late());
    }

    /// News of 10,000 bytes was due within 0.1 s and twice 0.05 s; after 0.3 s they show less than 10,000 bytes in
    /// 0.2 s.
    #[test]
    fn overdue_news_bounds_the_rate() {
        let mut backlog = Backlog::new(ms(0));
        assert_eq!(backlog.overdue(ms(1_000)), None, "nothing came yet");
        backlog.on_arrival(ms(100), ms(0), TimeDelta::ZERO);
        assert_eq!(backlog.overdue(ms(1_000)), None, "nothing is on its way");
        backlog.set_in_flight(DataSize::from_bytes(10_000));
        assert_eq!(backlog.overdue(ms(200)), None);
        assert!((backlog.overdue(ms(300)).unwrap().get() - 50e3).abs() < 1e-6);
    }
}
