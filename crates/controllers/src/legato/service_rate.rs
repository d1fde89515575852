//! The rate at which the link passes our packets while it has any: bytes over the time it worked on them.
//!
//! Two readings are made, and the lower holds. Packets right behind others of the call show the link's rate, exactly so
//! on a wire; on a radio link, which passes them in clumps, they may all come at once. The time since the first of them
//! could have come counts the wait for a clump as well, but also the delay variation of the path.

use legato_control::estimate::arrivals::Arrival;
use legato_units::{ByteRate, Bytes, DataSize, PeerTimestamp, Seconds, TimeDelta};

/// Bytes and time of service, both forgotten alike as time passes.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRate {
    memory: Seconds,
    /// Of packets right behind others.
    amount: Bytes,
    time: Seconds,
    /// Of whole bursts, the wait of their first packet included.
    whole_amount: Bytes,
    whole_time: Seconds,
    /// How many packets began a busy period.
    begins: f64,
    /// The wait and the size of the last packet that found the link empty, until another follows: alone it shows
    /// delay variation and no rate.
    pending: Option<(Seconds, Bytes)>,
    /// Until when it was forgotten.
    last: Option<PeerTimestamp>,
}

/// No packet counts for more: an outage is no rate.
const MAX_SERVICE: Seconds = Seconds::from_millis(150.0);
const EQUALLY_OLD: TimeDelta = TimeDelta::from_millis(2);
const SHARED_MEDIUM_WAIT: Seconds = Seconds::from_millis(50.0);
/// Less service than this says nothing yet.
const MIN_TIME: Seconds = Seconds::from_millis(2.0);

impl ServiceRate {
    /// One that forgets to 1/e within `memory`.
    pub fn new(memory: Seconds) -> Self {
        Self {
            memory,
            amount: Bytes::ZERO,
            time: Seconds::ZERO,
            whole_amount: Bytes::ZERO,
            whole_time: Seconds::ZERO,
            begins: 0.0,
            pending: None,
            last: None,
        }
    }

    /// Count an arrival.
    pub fn add(&mut self, arrival: &Arrival, size: DataSize) {
        self.forget_until(arrival.arrival);
        let (service, size) = (Seconds::from(arrival.service).min(MAX_SERVICE), Bytes::from(size));
        if arrival.found_idle {
            self.pending = Some((service, size));
            return;
        }
        if let Some((waited, first)) = self.pending.take() {
            self.begins += 1.0;
            self.whole_time += waited;
            self.whole_amount += first;
        }
        self.whole_time += service;
        self.whole_amount += size;
        self.time += service;
        self.amount += size;
    }

    /// Packets that come within 2 ms of each other are equally old.
    fn forget_until(&mut self, now: PeerTimestamp) {
        let since = self.last.map_or(TimeDelta::ZERO, |last| now - last);
        if self.last.is_some() && since < EQUALLY_OLD {
            return;
        }
        self.last = Some(now);
        let kept = libm::exp(-(Seconds::from(since) / self.memory));
        self.amount *= kept;
        self.time *= kept;
        self.whole_amount *= kept;
        self.whole_time *= kept;
        self.begins *= kept;
    }

    /// `None` before there is enough to say so. Frames that leave an `interval` apart and are done sooner show what more
    /// of their kind would have taken: at most `max_stretch` times as much.
    pub fn rate(&self, interval: Seconds, max_stretch: f64) -> Option<ByteRate> {
        if self.whole_time < MIN_TIME || self.amount <= Bytes::ZERO {
            return None;
        }
        let stretch = (interval * self.begins / self.whole_time).clamp(1.0, max_stretch);
        let waited = (self.whole_time - self.time).max(Seconds::ZERO);
        let whole = self.whole_amount * stretch / (waited + self.time * stretch);
        Some(whole.min(self.amount / self.time))
    }

    /// The last packet waited longer for an empty link than packets do on a medium that is shared, and none came behind
    /// it yet: its size over that time.
    pub fn pending(&self) -> Option<ByteRate> {
        self.pending.filter(|&(waited, _)| waited > SHARED_MEDIUM_WAIT).map(|(waited, size)| size / waited)
    }

    /// The rate at which packets right behind others of the call come: the link's, were it not for delay variation.
    pub fn passing(&self) -> Option<ByteRate> {
        (self.time > Seconds::ZERO && self.amount > Bytes::ZERO).then(|| self.amount / self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::Timestamp;

    const FRAME: Seconds = Seconds::new(0.033);

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
        libm::round(rate.rate(FRAME, 4.0).expect("measured").as_bps() / 1e3)
    }

    /// 1,250 bytes in 10 ms are 1 Mbit/s.
    #[test]
    fn a_wire_is_measured_exactly_by_each_frame() {
        let mut rate = ServiceRate::new(Seconds::new(10.0));
        frame(&mut rate, 0, 4, 0, 10);
        assert_eq!(kbps(&rate), 1_000.0);
    }

    /// Three packets that come at once after 30 ms: 3,750 bytes in 30 ms, not infinitely many.
    #[test]
    fn a_clump_is_measured_with_the_wait_for_it() {
        let mut rate = ServiceRate::new(Seconds::new(10.0));
        frame(&mut rate, 0, 3, 30, 0);
        frame(&mut rate, 33, 3, 30, 1);
        assert!((900.0..=1_100.0).contains(&kbps(&rate)), "{}", kbps(&rate));
    }

    #[test]
    fn single_packets_say_nothing() {
        let mut rate = ServiceRate::new(Seconds::new(10.0));
        (0..30).for_each(|n| frame(&mut rate, n * 33, 1, 4, 0));
        assert_eq!(rate.rate(FRAME, 4.0), None);
    }

    /// Two packets after 5 ms of wait, 5 ms apart: done after 10 ms of 33, so that 3.3 times as many would have fitted:
    /// 8,250 bytes in 5 + 16.5 ms.
    #[test]
    fn a_small_frame_shows_what_a_larger_one_would_have_taken() {
        let mut rate = ServiceRate::new(Seconds::new(10.0));
        frame(&mut rate, 0, 2, 5, 5);
        let stretched = rate.rate(FRAME, 100.0).unwrap().get();
        assert!((stretched - 250e3).abs() < 1.0, "the second packet alone: {stretched}");
        let mut waited = ServiceRate::new(Seconds::new(10.0));
        frame(&mut waited, 0, 2, 20, 2);
        let (plain, stretched) = (waited.rate(FRAME, 1.0).unwrap().get(), waited.rate(FRAME, 4.0).unwrap().get());
        assert!((plain - 2_500.0 / 0.022).abs() < 1.0 && (stretched - 3_750.0 / 0.023).abs() < 1.0);
    }

    #[test]
    fn a_fall_is_seen_at_once_and_a_rise_as_the_past_is_forgotten() {
        let mut rate = ServiceRate::new(Seconds::new(0.15));
        (0..30).for_each(|n| frame(&mut rate, n * 33, 4, 0, 5));
        assert_eq!(kbps(&rate), 2_000.0);
        frame(&mut rate, 990, 4, 0, 20);
        assert!(kbps(&rate) < 1_200.0, "one frame at a quarter: {}", kbps(&rate));
        (31..60).for_each(|n| frame(&mut rate, n * 33, 4, 0, 5));
        assert!(kbps(&rate) > 1_950.0, "{}", kbps(&rate));
    }
}
