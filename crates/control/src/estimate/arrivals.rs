//! What each arrival says of the link: the queue it met, and how long the link took for it.

use super::windowed_min::WindowedMin;
use legato_units::{PeerTimestamp, TimeDelta, Timestamp};

/// Reads arrivals in the order of their packets.
#[derive(Clone, Debug)]
pub struct Arrivals {
    window: TimeDelta,
    /// Of one-way delays, in nanoseconds. The clocks' offset is in all of them alike.
    base: WindowedMin<i64>,
    last_arrival: Option<PeerTimestamp>,
}

/// One arrival, read.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it left.
    pub departure: Timestamp,
    /// When it came.
    pub arrival: PeerTimestamp,
    /// How much longer it took than the fastest packets do: the queue that it met, and its own serialization.
    pub queuing: TimeDelta,
    /// How long the link worked on it alone: since the packet before it came, or since it could have come over an
    /// empty link.
    pub service: TimeDelta,
    /// It found the link empty: its service time shows delay variation, and not how many bytes the link passes.
    pub found_idle: bool,
}

/// A route's minimum delay shows at least this often, since frames leave gaps.
const BASE_DELAY_WINDOW: TimeDelta = TimeDelta::from_secs(10);
/// Behind a persistent queue it does not show, and would be taken for longer than it is.
const STANDING_BASE_DELAY_WINDOW: TimeDelta = TimeDelta::from_secs(60);

impl Default for Arrivals {
    fn default() -> Self {
        Self { window: BASE_DELAY_WINDOW, base: WindowedMin::default(), last_arrival: None }
    }
}

impl Arrivals {
    /// Whether a queue persists: the minimum delay then rarely shows, and is one of a longer time.
    pub fn set_queue_stands(&mut self, stands: bool) {
        self.window = if stands { STANDING_BASE_DELAY_WINDOW } else { BASE_DELAY_WINDOW };
    }

    /// Reads a packet that left and came at these times, each by a different clock; `None` if it was overtaken.
    pub fn read(&mut self, departure: Timestamp, arrival: PeerTimestamp) -> Option<Arrival> {
        let delay_ns = arrival.as_nanos() - departure.as_nanos();
        let base_ns = self.base.after(departure, delay_ns, self.window);
        if self.last_arrival.is_some_and(|last| arrival < last) {
            return None;
        }
        let unqueued = PeerTimestamp::from_nanos(departure.as_nanos().saturating_add(base_ns));
        let found_idle = self.last_arrival.is_none_or(|last| last < unqueued);
        let began = self.last_arrival.map_or(unqueued, |last| last.max(unqueued));
        self.last_arrival = Some(arrival);
        Some(Arrival {
            departure,
            arrival,
            queuing: TimeDelta::from_nanos(delay_ns - base_ns),
            service: arrival - began,
            found_idle,
        })
    }
}

/// Counts packets within bursts, from departures alone, so that any stack can supply places.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstPlaces {
    /// The last packet's departure and place.
    last: Option<(Timestamp, u32)>,
}

/// Packets that left this close to each other were one burst.
const SAME_BURST: TimeDelta = TimeDelta::from_millis(1);

impl BurstPlaces {
    /// The place of the next packet in its burst, from 0.
    pub fn next(&mut self, departure: Timestamp) -> u32 {
        let place = match self.last {
            Some((last, place)) if departure - last < SAME_BURST => place + 1,
            _ => 0,
        };
        self.last = Some((departure, place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrives(arrivals: &mut Arrivals, departure_ms: i64, arrival_ms: i64) -> Option<Arrival> {
        let arrival = PeerTimestamp::from_nanos(arrival_ms * 1_000_000);
        arrivals.read(Timestamp::from_millis(departure_ms), arrival)
    }

    fn read(arrivals: &mut Arrivals, departure_ms: i64, arrival_ms: i64) -> (i64, i64, bool) {
        let arrival = arrives(arrivals, departure_ms, arrival_ms).expect("it came in order");
        (arrival.queuing.as_millis(), arrival.service.as_millis(), arrival.found_idle)
    }

    /// A delay of 1,030 ms by clocks a second apart; packets of a burst come 10 ms apart.
    #[test]
    fn service_begins_when_the_packet_in_front_is_through() {
        let mut arrivals = Arrivals::default();
        assert_eq!(read(&mut arrivals, 0, 1_030), (0, 0, true));
        assert_eq!(read(&mut arrivals, 0, 1_040), (10, 10, false));
        assert_eq!(read(&mut arrivals, 0, 1_050), (20, 10, false));
        // The link is free again, and this packet waits for 5 ms of others'.
        assert_eq!(read(&mut arrivals, 33, 1_068), (5, 5, true));
        // It left while the packet in front was in the queue.
        assert_eq!(read(&mut arrivals, 36, 1_080), (14, 12, false));
    }

    #[test]
    fn packets_that_leave_within_a_millisecond_of_the_one_before_are_one_burst() {
        let mut places = BurstPlaces::default();
        let found =
            [0, 0, 900, 1_700, 2_700, 2_700].map(|us| places.next(Timestamp::ZERO + TimeDelta::from_micros(us)));
        assert_eq!(found, [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn overtaken_packets_are_passed_over() {
        let mut arrivals = Arrivals::default();
        read(&mut arrivals, 0, 30);
        read(&mut arrivals, 2, 40);
        assert!(arrives(&mut arrivals, 3, 38).is_none());
        assert_eq!(read(&mut arrivals, 4, 45), (11, 5, false));
    }

    #[test]
    fn the_minimum_delay_is_one_of_the_window() {
        let mut arrivals = Arrivals::default();
        assert_eq!(read(&mut arrivals, 0, 30).0, 0);
        assert_eq!(read(&mut arrivals, 9_900, 9_950).0, 20);
        // The route is 20 ms longer now.
        assert_eq!(read(&mut arrivals, 10_100, 10_150).0, 0);
    }

    #[test]
    fn while_a_queue_stands_the_window_is_a_minute() {
        let mut arrivals = Arrivals::default();
        arrivals.set_queue_stands(true);
        assert_eq!(read(&mut arrivals, 0, 30).0, 0);
        assert_eq!(read(&mut arrivals, 59_900, 59_950).0, 20);
        arrivals.set_queue_stands(false);
        assert_eq!(read(&mut arrivals, 60_000, 60_050).0, 0);
    }
}
