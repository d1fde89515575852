//! The middle 32 bits of an NTP timestamp (RFC 3550 section 4), in which SR, RR and RFC 8888
//! carry times: 16 bits of seconds, 16 of fraction, wrapping every 18.2 hours.
//!
//! NTP counts from 1900, our clocks from the start of the run. That is allowed here because these
//! values only go back to their origin, or are compared with one another.

use legato_units::{TimeDelta, Timestamp};

/// An instant in units of 1/65536 s, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompactNtp(pub u32);

/// A full NTP timestamp: 32 bits of seconds, 32 of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ntp(pub u64);

impl Ntp {
    /// `at`, with the fraction rounded down.
    pub fn from_timestamp(at: Timestamp) -> Self {
        let (s, ns) = split(at);
        Self((s << 32) | ((ns << 32) / NS_PER_S as u64))
    }

    /// The middle 32 bits.
    pub const fn compact(self) -> CompactNtp {
        CompactNtp((self.0 >> 16) as u32)
    }
}

impl CompactNtp {
    /// `at`, rounded down.
    pub fn from_timestamp(at: Timestamp) -> Self {
        Ntp::from_timestamp(at).compact()
    }

    /// `self − earlier`, taking the shorter way round the wrap.
    pub fn since(self, earlier: Self) -> TimeDelta {
        compact_to_delta(i64::from(self.0.wrapping_sub(earlier.0).cast_signed()))
    }
}

/// `span` in units of 1/65536 s, to the nearest; negative becomes 0, and too long the maximum (RFC
/// 3550 DLSR).
pub fn compact_span(span: TimeDelta) -> u32 {
    let ns = span.as_nanos().max(0) as u64;
    // At most 65,536 s fit, so the product stays below 2^63.
    let ns = ns.min(65_536 * NS_PER_S as u64);
    u32::try_from(((ns << 16) + NS_PER_S as u64 / 2) / NS_PER_S as u64).unwrap_or(u32::MAX)
}

/// The round-trip time in a reception report: `arrival − LSR − DLSR` (RFC 3550 section 6.4.1).
/// `None` if the peer has seen no sender report. Rounding may make a very short one negative; that
/// becomes zero.
pub fn round_trip_time(arrival: CompactNtp, last_sr: CompactNtp, delay_since_last_sr: u32) -> Option<TimeDelta> {
    if last_sr.0 == 0 {
        return None;
    }
    let compact = arrival.0.wrapping_sub(last_sr.0).wrapping_sub(delay_since_last_sr).cast_signed();
    // [rfc3550] §6.4.1: rtt = A - LSR - DLSR
    Some(compact_to_delta(i64::from(compact.max(0))))
}

/// Floor seconds, modulo 2^32, and the nanoseconds above them.
fn split(at: Timestamp) -> (u64, u64) {
    let s = at.as_nanos().div_euclid(NS_PER_S);
    (u64::from(s as u32), at.as_nanos().rem_euclid(NS_PER_S) as u64)
}

fn compact_to_delta(units: i64) -> TimeDelta {
    // 10^9 / 65536 = 1953125 / 128; rounded to the nearest nanosecond.
    TimeDelta::from_nanos((units * 1_953_125 + 64) >> 7)
}

const NS_PER_S: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trip_example_of_rfc_3550_is_reproduced() {
        // [rfc3550] §6.4.1, figure 2: A = 0xb710:8000, LSR = 0xb705:2000, DLSR = 0x0005:4000 -> 6.125 s.
        let rtt = round_trip_time(CompactNtp(0xb710_8000), CompactNtp(0xb705_2000), 0x0005_4000);
        assert_eq!(rtt, Some(TimeDelta::from_millis(6_125)));
    }

    #[test]
    fn round_trips_survive_the_wrap_and_never_go_negative() {
        let rtt = round_trip_time(CompactNtp(0x0000_1000), CompactNtp(0xffff_f000), 0x1000);
        assert_eq!(rtt, Some(TimeDelta::from_micros(62_500)));
        assert_eq!(round_trip_time(CompactNtp(100), CompactNtp(100), 1), Some(TimeDelta::ZERO));
        assert_eq!(round_trip_time(CompactNtp(100), CompactNtp(0), 1), None);
    }

    #[test]
    fn instants_convert_with_the_fraction_rounded_down() {
        assert_eq!(Ntp::from_timestamp(Timestamp::from_millis(1_500)), Ntp(0x1_8000_0000));
        assert_eq!(CompactNtp::from_timestamp(Timestamp::from_millis(1_500)), CompactNtp(0x1_8000));
        // Half a second before the epoch.
        assert_eq!(CompactNtp::from_timestamp(Timestamp::from_millis(-500)), CompactNtp(0xffff_8000));
        let (a, b) = (Timestamp::from_millis(250), Timestamp::from_millis(-250));
        let difference = CompactNtp::from_timestamp(a).since(CompactNtp::from_timestamp(b));
        assert_eq!(difference, TimeDelta::from_millis(500));
    }

    #[test]
    fn spans_saturate_at_both_ends() {
        assert_eq!(compact_span(TimeDelta::from_secs(1)), 65_536);
        assert_eq!(compact_span(TimeDelta::from_secs(-1)), 0);
        assert_eq!(compact_span(TimeDelta::from_secs(65_536)), u32::MAX);
        assert_eq!(compact_span(TimeDelta::MAX), u32::MAX);
    }
}
