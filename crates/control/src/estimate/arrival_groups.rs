//! Packets that left close together form one group; a growing queue shows in how much further apart
//! two groups arrive than they left. As libwebrtc's `InterArrivalDelta` [libwebrtc-m150].
//!
//! A group lasts until a packet leaves more than 5 ms after the group's first. A stalled link, such as Wi-Fi or a
//! cellular scheduler, releases packets in a burst: one arrives within 5 ms of the previous one although it left later
//! than that. It joins the group whatever its departure, for at most 100 ms; otherwise one burst would look like a
//! queue that drains at once.

use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};

/// How much later the second of two neighbouring groups left, and how much later it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupDelta {
    /// Between the last departures of the two groups.
    pub departure: TimeDelta,
    /// Between the last arrivals of the two groups, by the peer's clock; never negative.
    pub arrival: TimeDelta,
    /// Bytes of the second minus bytes of the first.
    pub size_bytes: i64,
}

/// Sorts reports into groups; remembers two of them.
#[derive(Clone, Debug, Default)]
pub struct ArrivalGroups {
    current: Option<Group>,
    previous: Option<Group>,
    /// Consecutive groups that arrived before the one that left earlier.
    reordered: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_departure: Timestamp,
    last_departure: Timestamp,
    first_arrival: PeerTimestamp,
    last_arrival: PeerTimestamp,
    /// When the feedback on the last packet arrived, own clock.
    reported: Timestamp,
    size_bytes: u64,
}

impl ArrivalGroups {
    /// Take one arrived packet, in order of arrival; `now` is when its feedback came. Returns a
    /// delta when the packet opens a group and two complete ones precede it.
    #[inline(always)]
    pub fn on_packet(
        &mut self,
        departure: Timestamp,
        arrival: PeerTimestamp,
        now: Timestamp,
        size: DataSize,
    ) -> Option<GroupDelta> {
        if let Some(current) = &mut self.current {
            if departure < current.first_departure {
                return None;
            }
            if !current.ends_before(departure, arrival) {
                current.last_departure = current.last_departure.max(departure);
                current.last_arrival = arrival;
                current.reported = now;
                current.size_bytes = current.size_bytes.wrapping_add(size.as_bytes());
                return None;
            }
        }
        self.open(departure, arrival, now, size)
    }

    /// Take the rest of a run whose first packet, which left at `departure`, has been taken: they are
    /// `size` together, and the last arrived at `arrival`. False if they must be taken one by one, as
    /// they would not all join the first packet's group.
    #[inline]
    pub fn join_run(&mut self, departure: Timestamp, arrival: PeerTimestamp, now: Timestamp, size: DataSize) -> bool {
        // Nothing has left since: the departures coincide, so they join.
        let Some(current) = self.current.as_mut().filter(|group| group.last_departure == departure) else {
            return false;
        };
        current.last_arrival = arrival;
        current.reported = now;
        current.size_bytes = current.size_bytes.wrapping_add(size.as_bytes());
        true
    }

    /// The packet opens a new group.
    #[inline(never)]
    fn open(
        &mut self,
        departure: Timestamp,
        arrival: PeerTimestamp,
        now: Timestamp,
        size: DataSize,
    ) -> Option<GroupDelta> {
        let opened = Group {
            first_departure: departure,
            last_departure: departure,
            first_arrival: arrival,
            last_arrival: arrival,
            reported: now,
            size_bytes: size.as_bytes(),
        };
        let Some(current) = &self.current else {
            self.current = Some(opened);
            return None;
        };
        let complete = *current;
        let mut delta = None;
        if let Some(previous) = &self.previous {
            let arrival = complete.last_arrival - previous.last_arrival;
            if arrival - (complete.reported - previous.reported) >= ARRIVAL_OFFSET_JUMP {
                // The peer's clock was reset, or feedback was held back for seconds.
                *self = Self::default();
                return None;
            }
            if arrival < TimeDelta::ZERO {
                self.reordered += 1;
                if self.reordered >= REORDERED_GROUPS_TO_RESET {
                    *self = Self::default();
                }
                return None;
            }
            self.reordered = 0;
            delta = Some(GroupDelta {
                departure: complete.last_departure - previous.last_departure,
                arrival,
                size_bytes: (complete.size_bytes as i64).wrapping_sub(previous.size_bytes as i64),
            });
        }
        self.previous = Some(complete);
        self.current = Some(opened);
        delta
    }
}

impl Group {
    #[inline]
    fn ends_before(&self, departure: Timestamp, arrival: PeerTimestamp) -> bool {
        departure - self.first_departure > GROUP_LENGTH && !self.takes_burst(departure, arrival)
    }

    #[inline]
    fn takes_burst(&self, departure: Timestamp, arrival: PeerTimestamp) -> bool {
        let departure_gap = departure - self.last_departure;
        let arrival_gap = arrival - self.last_arrival;
        departure_gap == TimeDelta::ZERO
            || (arrival_gap < departure_gap && arrival_gap <= BURST_GAP && arrival - self.first_arrival < BURST_LENGTH)
    }
}

// [libwebrtc-m150] inter_arrival_delta: group 5 ms, burst gap 5 ms, burst 100 ms, offset 3 s, 3 groups.
const GROUP_LENGTH: TimeDelta = TimeDelta::from_millis(5);
const BURST_GAP: TimeDelta = TimeDelta::from_millis(5);
const BURST_LENGTH: TimeDelta = TimeDelta::from_millis(100);
const ARRIVAL_OFFSET_JUMP: TimeDelta = TimeDelta::from_secs(3);
const REORDERED_GROUPS_TO_RESET: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Feed (departure, arrival, bytes) in microseconds; feedback comes with the arrival.
    fn feed(groups: &mut ArrivalGroups, packets: &[(i64, i64, u64)]) -> Vec<GroupDelta> {
        let delta = |&(departure, arrival, bytes): &(i64, i64, u64)| {
            let [departure, now] = [departure, arrival].map(|us| Timestamp::from_nanos(us * 1_000));
            groups.on_packet(departure, PeerTimestamp::from_nanos(arrival * 1_000), now, DataSize::from_bytes(bytes))
        };
        packets.iter().filter_map(delta).collect()
    }

    fn delta(departure_us: i64, arrival_us: i64, size_bytes: i64) -> GroupDelta {
        let [departure, arrival] = [departure_us, arrival_us].map(TimeDelta::from_micros);
        GroupDelta { departure, arrival, size_bytes }
    }

    #[test]
    fn a_group_ends_more_than_five_milliseconds_after_its_first_departure() {
        let mut groups = ArrivalGroups::default();
        let deltas = feed(
            &mut groups,
            &[(0, 50_000, 10), (5_000, 56_000, 20), (5_001, 62_000, 1), (20_000, 90_000, 5), (40_000, 110_000, 5)],
        );
        // Groups: {0, 5 ms}, {5.001}, {20}; the last is still open.
        assert_eq!(deltas, [delta(1, 6_000, 1 - 30), delta(14_999, 28_000, 4)]);
    }

    #[test]
    fn packets_released_at_once_by_a_stalled_link_are_one_group() {
        let mut groups = ArrivalGroups::default();
        let stalled =
            [(0, 10_000, 1), (20_000, 30_000, 1), (40_000, 90_000, 1), (60_000, 91_000, 1), (80_000, 92_000, 1)];
        assert_eq!(feed(&mut groups, &stalled), [delta(20_000, 20_000, 0)]);
        // 40, 60 and 80 ms arrived within 2 ms: together they end at departure 80, arrival 92.
        assert_eq!(feed(&mut groups, &[(100_000, 112_000, 1)]), [delta(60_000, 62_000, 2)]);
    }

    #[test]
    fn a_run_that_left_at_one_instant_counts_as_its_packets_do() {
        let [mut one_by_one, mut together] = [ArrivalGroups::default(), ArrivalGroups::default()];
        let peer = |us: i64| PeerTimestamp::from_nanos(us * 1_000);
        let mut state = 1_u32;
        let mut arrival_us = 0;
        for n in 0..2_000_i64 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Some runs leave before earlier ones; some links stall.
            let departure = Timestamp::from_millis(n * 4 - i64::from(state >> 28) * 2);
            let packets = i64::from(state >> 24 & 7) + 1;
            let arrivals: Vec<_> = (0..packets).map(|k| arrival_us + 900 * k).collect();
            arrival_us += 900 * packets + i64::from(state >> 16 & 0xfff);
            let now = Timestamp::from_millis(n * 5);
            let size = DataSize::from_bytes(100);
            let deltas: Vec<_> =
                arrivals.iter().filter_map(|&us| one_by_one.on_packet(departure, peer(us), now, size)).collect();
            let first = together.on_packet(departure, peer(arrivals[0]), now, size);
            let last = arrivals[arrivals.len() - 1];
            let rest = DataSize::from_bytes(100 * (packets as u64 - 1));
            if together.join_run(departure, peer(last), now, rest) {
                assert_eq!(deltas, Vec::from_iter(first));
            } else {
                let others = &arrivals[1..];
                let others = others.iter().filter_map(|&us| together.on_packet(departure, peer(us), now, size));
                assert_eq!(deltas, first.into_iter().chain(others).collect::<Vec<_>>());
            }
            assert_eq!(format!("{one_by_one:?}"), format!("{together:?}"));
        }
    }

    #[test]
    fn a_burst_lasts_at_most_a_hundred_milliseconds() {
        let mut groups = ArrivalGroups::default();
        let packets: Vec<_> = (0..40).map(|n| (n * 20_000, 1_000_000 + n * 4_000, 1)).collect();
        // Each packet arrives 4 ms after the last though it left 20 ms later: 25 fit into 100 ms.
        assert_eq!(feed(&mut groups, &packets), []);
        assert_eq!(groups.previous.unwrap().size_bytes, 25);
    }

    #[test]
    fn an_early_departure_is_left_out_and_three_early_groups_reset() {
        let mut groups = ArrivalGroups::default();
        assert_eq!(feed(&mut groups, &[(0, 100_000, 1), (10_000, 110_000, 1), (9_000, 111_000, 1)]), []);
        assert_eq!(feed(&mut groups, &[(20_000, 121_000, 1)]), [delta(10_000, 10_000, 0)]);
        // The group of 20 ms is reported to have arrived at 60 ms, before the one of 10 ms at 110 ms.
        feed(&mut groups, &[(21_000, 60_000, 1)]);
        assert_eq!(feed(&mut groups, &[(40_000, 140_000, 1), (41_000, 141_000, 1)]), []);
        assert!(groups.previous.is_some());
        assert_eq!(feed(&mut groups, &[(42_000, 142_000, 1)]), []);
        assert!(groups.current.is_none() && groups.previous.is_none(), "the third in a row resets");
    }

    #[test]
    fn a_jump_of_the_peers_clock_by_three_seconds_resets() {
        let mut groups = ArrivalGroups::default();
        let at = |ms| Timestamp::from_millis(ms);
        let peer = |ms: i64| PeerTimestamp::from_nanos(ms * 1_000_000);
        for (departure, arrival) in [(0, 10), (20, 30), (40, 3_050)] {
            groups.on_packet(at(departure), peer(arrival), at(departure + 20), DataSize::from_bytes(1));
        }
        assert_eq!(groups.on_packet(at(60), peer(3_070), at(80), DataSize::from_bytes(1)), None);
        assert!(groups.current.is_none());
    }
}
