//! Packets that left together, as the receiver sees them.
//!
//! A video sender lets packets go in bursts: a frame, or what the pacer releases at a time. After a bottleneck a burst
//! arrives at the bottleneck's pace, however low the mean rate: each is a free measurement of the capacity. Packets are
//! grouped by departure alone, so that the path cannot change the groups.

use legato_units::{PeerTimestamp, TimeDelta, Timestamp};

/// A completed burst, all times in s, sizes in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// From the departure of the previous burst; `None`: the first, or the first after a jump.
    pub gap_s: Option<f64>,
    /// One-way delay of its first packet, relative to that of the very first packet.
    pub delay_s: f64,
    /// From the first departure to the last.
    pub departed_s: f64,
    /// From the first arrival to the last.
    pub arrived_s: f64,
    /// Size of the first packet.
    pub first_bits: f64,
    /// Size of the whole burst.
    pub total_bits: f64,
}

/// Groups packets.
#[derive(Clone, Default)]
pub struct Bursts {
    origin: Option<(PeerTimestamp, Timestamp)>,
    open: Option<Open>,
    /// Departure of the burst before the open one.
    before: Option<PeerTimestamp>,
}

#[derive(Clone, Copy)]
struct Open {
    first_departure: PeerTimestamp,
    last_departure: PeerTimestamp,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
    first_bits: u64,
    total_bits: u64,
}

/// Packets whose departures lie within this are one burst: less than a frame interval, more than
/// pacing leaves between the packets of one.
const LONGEST_BURST: TimeDelta = TimeDelta::from_millis(10);
/// A departure that differs more from the last is from another clock, or another call.
const JUMP: TimeDelta = TimeDelta::from_secs(10);

impl Bursts {
    /// Take a packet; returns the burst it ends, if any.
    #[inline]
    pub fn push(&mut self, now: Timestamp, departure: PeerTimestamp, bits: u64) -> Option<Burst> {
        let Some(open) = &mut self.open else {
            self.begin(now, departure, bits);
            return None;
        };
        let since_first = departure - open.first_departure;
        if since_first.abs() > JUMP {
            *self = Self::default();
            self.begin(now, departure, bits);
            return None;
        }
        if since_first <= LONGEST_BURST {
            // From an earlier burst, overtaken: it took its share of the bottleneck long ago.
            if !since_first.is_negative() {
                open.last_departure = open.last_departure.max(departure);
                open.last_arrival = now;
                open.total_bits += bits;
            }
            return None;
        }
        let closed = self.close();
        self.begin(now, departure, bits);
        closed
    }

    fn begin(&mut self, now: Timestamp, departure: PeerTimestamp, bits: u64) {
        self.origin.get_or_insert((departure, now));
        self.open = Some(Open {
            first_departure: departure,
            last_departure: departure,
            first_arrival: now,
            last_arrival: now,
            first_bits: bits,
            total_bits: bits,
        });
    }

    fn close(&mut self) -> Option<Burst> {
        let open = self.open.take()?;
        let (departure, arrival) = self.origin?;
        let before = self.before.replace(open.first_departure);
        Some(Burst {
            gap_s: before.map(|before| (open.first_departure - before).as_secs_f64()),
            delay_s: ((open.first_arrival - arrival) - (open.first_departure - departure)).as_secs_f64(),
            departed_s: (open.last_departure - open.first_departure).as_secs_f64(),
            arrived_s: (open.last_arrival - open.first_arrival).as_secs_f64(),
            first_bits: open.first_bits as f64,
            total_bits: open.total_bits as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(bursts: &mut Bursts, arrival_ms: i64, departure_ms: i64, bits: u64) -> Option<Burst> {
        let departure = PeerTimestamp::from_nanos((departure_ms - 77_000) * 1_000_000);
        bursts.push(Timestamp::from_millis(arrival_ms), departure, bits)
    }

    #[test]
    fn packets_that_left_together_are_measured_together() {
        let mut bursts = Bursts::default();
        assert_eq!(push(&mut bursts, 50, 0, 8_000), None);
        assert_eq!(push(&mut bursts, 58, 0, 8_000), None);
        assert_eq!(push(&mut bursts, 66, 4, 4_000), None);
        let first = push(&mut bursts, 90, 33, 9_000).unwrap();
        assert_eq!(
            first,
            Burst {
                gap_s: None,
                delay_s: 0.0,
                departed_s: 0.004,
                arrived_s: 0.016,
                first_bits: 8_000.0,
                total_bits: 20_000.0
            }
        );
        let second = push(&mut bursts, 120, 66, 1_000).unwrap();
        // 40 ms after the very first packet, having left 33 ms after it.
        assert_eq!((second.gap_s, second.delay_s), (Some(0.033), 0.007));
    }

    #[test]
    fn a_packet_that_was_overtaken_is_left_out() {
        let mut bursts = Bursts::default();
        push(&mut bursts, 50, 33, 8_000);
        push(&mut bursts, 55, 0, 8_000);
        let burst = push(&mut bursts, 90, 66, 8_000).unwrap();
        assert_eq!((burst.total_bits, burst.arrived_s), (8_000.0, 0.0));
    }

    #[test]
    fn a_clock_jump_starts_over() {
        let mut bursts = Bursts::default();
        push(&mut bursts, 50, 0, 8_000);
        push(&mut bursts, 90, 33, 8_000);
        assert_eq!(push(&mut bursts, 120, -40_000, 8_000), None);
        let first = push(&mut bursts, 150, -39_967, 8_000).unwrap();
        assert_eq!((first.gap_s, first.delay_s), (None, 0.0));
    }
}
