//! The state of the path, and how feedback updates it.

use super::backlog::Backlog;
use super::capacity::Capacity;
use super::delivered::Delivered;
use super::losses::Losses;
use super::marks::Marks;
use super::share::Share;
use legato_control::TransportFeedback;
use legato_control::estimate::arrivals::{Arrival, Arrivals, BurstPlaces};
use legato_control::estimate::belief::{Belief, Evidence};
use legato_control::estimate::silence::Silence;
use legato_units::{ByteRate, Bytes, DataSize, Seconds, Timestamp};

/// The state of the path: void when the route changes.
#[derive(Clone, Debug)]
pub struct PathState {
    pub arrivals: Arrivals,
    pub places: BurstPlaces,
    pub capacity: Capacity,
    pub delivered: Delivered,
    pub losses: Losses,
    pub marks: Marks,
    pub share: Share,
    pub backlog: Backlog,
    /// From the first time that gauges are read: it decides nothing, and takes a third of the time of a feedback.
    pub belief: Option<Box<Belief>>,
    /// When the route began, and the rate that was guessed then.
    pub began: (Timestamp, ByteRate),
    /// When the last picture was captured.
    pub believed_at: Timestamp,
    pub silence: Silence,
    /// Bytes that the link passed since the last arrival that was read.
    pub passed: DataSize,
    /// Bytes lost in a row since then: passed as well, unless the link had no time for them.
    pub lost_in_row: DataSize,
}

/// What the reports of one feedback said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Any is missing.
    pub lost: bool,
    /// The arrivals.
    pub arrived: DataSize,
    pub evidence: Evidence,
}

impl PathState {
    /// Before the first packet of a route.
    pub fn new(capacity: Capacity, share: Share, start: ByteRate, now: Timestamp) -> Self {
        Self {
            arrivals: Arrivals::default(),
            places: BurstPlaces::default(),
            capacity,
            delivered: Delivered::new(start),
            losses: Losses::default(),
            marks: Marks::default(),
            share,
            backlog: Backlog::new(now),
            belief: None,
            began: (now, start),
            believed_at: now,
            silence: Silence::default(),
            passed: DataSize::ZERO,
            lost_in_row: DataSize::ZERO,
        }
    }

    /// Read every report.
    pub fn read(&mut self, now: Timestamp, feedback: &TransportFeedback) -> Seen {
        let (mut seen, mut newest) = (Seen::default(), None);
        let mut runs = feedback.reports.runs().peekable();
        while let Some(run) = runs.next() {
            let behind = runs.peek().and_then(|next| next.arrival(0));
            for index in 0..run.burst.packets {
                let packet = run.burst.get(index);
                let place = self.places.next(packet.departure);
                self.losses.read(place, !run.arrived());
                if run.arrived() {
                    seen.arrived += packet.size;
                    self.marks.count(run.ce);
                } else {
                    seen.lost = true;
                    seen.evidence.lost(packet.size);
                }
                let came = run.arrival(index);
                let overtaken = came.zip(run.arrival(index + 1).or(behind)).is_some_and(|(came, next)| next < came);
                if overtaken || (!run.arrived() && self.losses.were_passed()) {
                    // The link worked on it, behind which it was overtaken or lost; its arrival does not show when.
                    self.passed += packet.size;
                    continue;
                }
                if !run.arrived() && self.losses.trial.own_ratio() > 0.0 {
                    self.lost_in_row += packet.size;
                }
                let Some(arrival) = came.and_then(|came| self.arrivals.read(packet.departure, came)) else { continue };
                self.share.read(&arrival);
                seen.evidence.arrived(&arrival, packet.size);
                if arrival.found_idle && packet.place.map_or(place == 0, |place| place.index == 0) {
                    self.share.count_wait(arrival.queuing, self.capacity.passing());
                }
                let passed = self.passed_with(packet.size, &arrival);
                self.capacity.read(&arrival, passed);
                newest = Some((arrival.departure, arrival.queuing));
            }
        }
        if let Some((departure, queuing)) = newest {
            self.backlog.on_arrival(now, departure, queuing);
        }
        seen
    }

    /// The bytes that the link worked on until an arrival, with those that passed unseen before it.
    fn passed_with(&mut self, size: DataSize, arrival: &Arrival) -> DataSize {
        let before = std::mem::take(&mut self.passed);
        let in_row = std::mem::take(&mut self.lost_in_row);
        if arrival.found_idle {
            return size;
        }
        let with_row = size + before + in_row;
        let most = self.capacity.passing() * IN_ROW_PASSED_RATIO * Seconds::from(arrival.service);
        let fits = Bytes::from(with_row) <= most;
        if fits { with_row } else { size + before }
    }

    pub fn believe(&mut self, now: Timestamp) {
        self.believed_at = now;
        let Some(belief) = &mut self.belief else { return };
        if let Some(most) = self.backlog.overdue(now) {
            belief.advance(now);
            belief.at_most(most);
        }
    }

    /// The belief, from now on.
    pub fn belief(&mut self) -> &mut Belief {
        let (start, guess) = self.began;
        self.belief.get_or_insert_with(|| Box::new(Belief::new(start, guess)))
    }

    /// The 10, 50 and 90 % quantiles of the belief at the last picture.
    pub fn believed(&mut self) -> [ByteRate; 3] {
        let at = self.believed_at;
        self.belief().quantiles(at, [0.1, 0.5, 0.9])
    }
}

/// Packets lost in a row are taken for passed where the next came so late that the link had time for them, at most at
/// this much of its rate.
const IN_ROW_PASSED_RATIO: f64 = 1.25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legato::capacity::SmallFrames;
    use legato_control::RateLimits;
    use legato_units::{DataRate, PeerTimestamp, PerSecond, TimeDelta};

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };

    /// Packets dropped in front of the link leave no gap behind it: its rate is the passed one.
    #[test]
    fn packets_in_a_row_that_the_link_had_no_time_for_were_not_passed() {
        let capacity = Capacity::new(Seconds::from_millis(150.0), Seconds::new(1.0), LIMITS);
        let mut path = PathState::new(capacity, Share::default(), LIMITS.start.into(), Timestamp::ZERO);
        let arrival = |ms, found_idle| Arrival {
            departure: Timestamp::from_millis(ms),
            arrival: PeerTimestamp::from_nanos(ms * 1_000_000),
            queuing: TimeDelta::ZERO,
            service: TimeDelta::from_millis(10),
            found_idle,
        };
        let packet = DataSize::from_bytes(1_000);
        for n in 0..100 {
            path.capacity.read(&arrival(10 * n, n == 0), packet);
        }
        let small = SmallFrames { max_stretch_ratio: 4.0, growth: PerSecond::new(1.0) };
        path.capacity.update(Seconds::new(1.0), Seconds::new(0.033), small, LIMITS);
        path.lost_in_row = packet + packet;
        assert_eq!(
            path.passed_with(packet, &arrival(1_010, false)),
            packet,
            "three packets in 10 ms would be too many"
        );
        path.lost_in_row = packet + packet;
        let late = Arrival { service: TimeDelta::from_millis(30), ..arrival(1_040, false) };
        assert_eq!(path.passed_with(packet, &late), packet + packet + packet);
    }
}
