//! What a frame that left at once shows of the path: the rate at which its packets came, and the delay that its first
//! packet met.

use super::frame_trips::FrameTrip;
use super::windowed_min::WindowedMin;
use legato_units::{TimeDelta, Timestamp};

/// Delays above the minimum of a window; the clocks have an offset.
#[derive(Clone, Debug)]
pub struct FirstDelay {
    window: TimeDelta,
    origin_ns: Option<i64>,
    min: WindowedMin,
}

impl FirstDelay {
    /// The minimum is that of this window.
    pub fn new(window: TimeDelta) -> Self {
        Self { window, origin_ns: None, min: WindowedMin::default() }
    }

    /// How much longer than the minimum the frame's first packet took, known at `now`, in seconds.
    pub fn queued_s(&mut self, now: Timestamp, trip: &FrameTrip) -> Option<f64> {
        let raw_ns = trip.first_arrival?.as_nanos() - trip.first_departure.as_nanos();
        let delay_s = (raw_ns - *self.origin_ns.get_or_insert(raw_ns)) as f64 / 1e9;
        Some(delay_s - self.min.after(now, delay_s, self.window))
    }
}

/// All bytes but those of the first packet, over the time from the first arrival to the last, in bit/s; `None` for a
/// lone packet, and for packets that a clock's tick holds.
pub fn dispersion_bps(trip: &FrameTrip) -> Option<f64> {
    let span_s = trip.receive_time()?.as_secs_f64();
    let bytes = trip.bytes.saturating_sub(trip.first_bytes);
    (trip.arrived >= 2 && bytes > 0 && span_s > 0.0).then(|| bytes as f64 * 8.0 / span_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::frame_reports::report;
    use crate::estimate::frame_trips::FrameTrips;

    const MS: fn(i64) -> TimeDelta = TimeDelta::from_millis;

    /// Four packets of 1,000 bytes come within 6 ms: 3,000 bytes in 6 ms are 4 Mbit/s. The second frame's first packet
    /// takes 5 ms more than the first's.
    #[test]
    fn a_frame_shows_its_rate_and_the_queue_that_it_met() {
        let mut trips = FrameTrips::default();
        let mut frame = |number: u32, departure: i64, delay: i64| {
            let reports = (0..4).filter_map(|index| {
                let arrival = departure + delay + 2 * i64::from(index);
                trips.on_report(&report((number, index, 4), MS(departure), Some(MS(arrival))))
            });
            reports.last().unwrap()
        };
        let mut delay = FirstDelay::new(TimeDelta::from_secs(5));
        let first = frame(0, 0, 20);
        assert!((dispersion_bps(&first).unwrap() - 4e6).abs() < 1e-3);
        assert_eq!(delay.queued_s(Timestamp::from_millis(50), &first), Some(0.0));
        let queued_s = delay.queued_s(Timestamp::from_millis(90), &frame(1, 33, 25)).unwrap();
        assert!((queued_s - 0.005).abs() < 1e-9);
        let lone = trips.on_report(&report((2, 0, 1), MS(66), Some(MS(90)))).unwrap();
        assert_eq!(dispersion_bps(&lone), None);
    }
}
