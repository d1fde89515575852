//! The rate at which the link passes our packets while it has any: bytes over the time it worked on them.
//!
//! Two readings are made, and the lower holds. Packets right behind others of ours show the link's own rate, exactly so
//! on a wire; on a radio link, which passes them in clumps, they may all come at once. The time since the first of them
//! could have come counts the wait for a clump as well, but also the delay variation of the path.

use legato_control::estimate::arrivals::Arrival;
use legato_units::{DataSize, PeerTimestamp};

/// Bytes and time of service, both forgotten alike as time passes.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRate {
    memory_s: f64,
    /// Of packets right behind others.
    bytes: f64,
    time_s: f64,
    /// Of whole bursts, the wait of their first packet included.
    all_bytes: f64,
    all_time_s: f64,
    /// How many packets began a busy period.
    begins: f64,
    /// The wait and the size of the last packet that found the link empty, until another follows: alone it shows
    /// delay variation and no rate.
    pending: Option<(f64, f64)>,
    /// Until when it was forgotten.
    last: Option<PeerTimestamp>,
}

/// No packet counts for more: an outage is no rate.
const MAX_SERVICE_S: f64 = 0.15;
const EQUALLY_OLD_S: f64 = 0.002;
const SHARED_MEDIUM_WAIT_S: f64 = 0.05;
/// Less service than this says nothing yet.
const MIN_TIME_S: f64 = 0.002;

impl ServiceRate {
    /// One that forgets to 1/e within `memory_s`.
    pub fn new(memory_s: f64) -> Self {
        Self {
            memory_s,
            bytes: 0.0,
            time_s: 0.0,
            all_bytes: 0.0,
            all_time_s: 0.0,
            begins: 0.0,
            pending: None,
            last: None,
        }
    }

    /// Count an arrival.
    pub fn add(&mut self, arrival: &Arrival, size: DataSize) {
        self.forget_until(arrival.arrival);
        let service_s = arrival.service.as_secs_f64().min(MAX_SERVICE_S);
        if arrival.found_idle {
            self.pending = Some((service_s, size.as_bytes_f64()));
            return;
        }
        if let Some((waited_s, bytes)) = self.pending.take() {
            self.begins += 1.0;
            self.all_time_s += waited_s;
            self.all_bytes += bytes;
        }
        self.all_time_s += service_s;
        self.all_bytes += size.as_bytes_f64();
        self.time_s += service_s;
        self.bytes += size.as_bytes_f64();
    }

    /// Packets that come within 2 ms of each other are equally old.
    fn forget_until(&mut self, now: PeerTimestamp) {
        let since_s = self.last.map_or(0.0, |last| (now - last).as_secs_f64());
        if self.last.is_some() && since_s < EQUALLY_OLD_S {
            return;
        }
        self.last = Some(now);
        let kept = libm::exp(-since_s / self.memory_s);
        for sum in [&mut self.bytes, &mut self.time_s, &mut self.all_bytes, &mut self.all_time_s, &mut self.begins] {
            *sum *= kept;
        }
    }

    /// In bytes a second; `None` before there is enough to say so. Frames that leave `interval_s` apart and are done
    /// sooner show what more of their kind would have taken: at most `max_stretch` times as much.
    pub fn bytes_per_s(&self, interval_s: f64, max_stretch: f64) -> Option<f64> {
        if self.all_time_s < MIN_TIME_S || self.bytes <= 0.0 {
            return None;
        }
        let stretch = (interval_s * self.begins / self.all_time_s).clamp(1.0, max_stretch);
        let waited_s = (self.all_time_s - self.time_s).max(0.0);
        let all = stretch * self.all_bytes / (waited_s + stretch * self.time_s);
        Some(all.min(self.bytes / self.time_s))
    }

    /// The last packet waited longer for an empty link than packets do on a medium that is shared, and none came behind
    /// it yet: in bytes a second.
    pub fn pending_bytes_per_s(&self) -> Option<f64> {
        self.pending.filter(|&(waited_s, _)| waited_s > SHARED_MEDIUM_WAIT_S).map(|(waited_s, bytes)| bytes / waited_s)
    }

    /// The rate at which packets come that are right behind others of ours, in bytes a second: the link's own, were it
    /// not for delay variation.
    pub fn passing_bytes_per_s(&self) -> Option<f64> {
        (self.time_s > 0.0 && self.bytes > 0.0).then(|| self.bytes / self.time_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{TimeDelta, Timestamp};

    const FRAME_S: f64 = 0.033;

    /// A frame of `packets` of 1,250 bytes: the first waits, the others come `apart_ms` behind each other.
    fn frame(rate: &mut ServiceRate, at_ms: i64, packets: i64, waits_ms: i64, apart_ms: i64) {
        for place in 0..packets {
            let service_ms = if place == 0 { waits_ms } else { apart_ms };
            let arrival = Arrival {
                departure: Timestamp::from_millis(at_ms),
                arrival: PeerTimestamp::from_nanos((at_ms + waits_ms + place * apart_ms) * 1_000_000),
                queuing: TimeDelta::from_millis(waits_ms),
                service: TimeDelta::from_millis(service_ms),
                found_idle: place == 0,
            };
            rate.add(&arrival, DataSize::from_bytes(1_250));
        }
    }

    fn kbps(rate: &ServiceRate) -> f64 {
        libm::round(rate.bytes_per_s(FRAME_S, 4.0).expect("measured") * 8.0 / 1e3)
    }

    /// 1,250 bytes in 10 ms are 1 Mbit/s.
    #[test]
    fn a_wire_is_measured_exactly_by_each_frame() {
        let mut rate = ServiceRate::new(10.0);
        frame(&mut rate, 0, 4, 0, 10);
        assert_eq!(kbps(&rate), 1_000.0);
    }

    /// Three packets that come at once after 30 ms: 3,750 bytes in 30 ms, not infinitely many.
    #[test]
    fn a_clump_is_measured_with_the_wait_for_it() {
        let mut rate = ServiceRate::new(10.0);
        frame(&mut rate, 0, 3, 30, 0);
        frame(&mut rate, 33, 3, 30, 1);
        assert!((900.0..=1_100.0).contains(&kbps(&rate)), "{}", kbps(&rate));
    }

    #[test]
    fn single_packets_say_nothing() {
        let mut rate = ServiceRate::new(10.0);
        (0..30).for_each(|n| frame(&mut rate, n * 33, 1, 4, 0));
        assert_eq!(rate.bytes_per_s(FRAME_S, 4.0), None);
    }

    /// Two packets after 5 ms of wait, 5 ms apart: done after 10 ms of 33, so that 3.3 times as many would have fitted:
    /// 8,250 bytes in 5 + 16.5 ms.
    #[test]
    fn a_small_frame_shows_what_a_larger_one_would_have_taken() {
        let mut rate = ServiceRate::new(10.0);
        frame(&mut rate, 0, 2, 5, 5);
        let stretched = rate.bytes_per_s(FRAME_S, 100.0).unwrap();
        assert!((stretched - 250e3).abs() < 1.0, "the second packet alone: {stretched}");
        let mut waited = ServiceRate::new(10.0);
        frame(&mut waited, 0, 2, 20, 2);
        let (plain, stretched) = (waited.bytes_per_s(FRAME_S, 1.0).unwrap(), waited.bytes_per_s(FRAME_S, 4.0).unwrap());
        assert!((plain - 2_500.0 / 0.022).abs() < 1.0 && (stretched - 3_750.0 / 0.023).abs() < 1.0);
    }

    #[test]
    fn a_fall_is_seen_at_once_and_a_rise_as_the_past_is_forgotten() {
        let mut rate = ServiceRate::new(0.15);
        (0..30).for_each(|n| frame(&mut rate, n * 33, 4, 0, 5));
        assert_eq!(kbps(&rate), 2_000.0);
        frame(&mut rate, 990, 4, 0, 20);
        assert!(kbps(&rate) < 1_200.0, "one frame at a quarter: {}", kbps(&rate));
        (31..60).for_each(|n| frame(&mut rate, n * 33, 4, 0, 5));
        assert!(kbps(&rate) > 1_950.0, "{}", kbps(&rate));
    }
}
