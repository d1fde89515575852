//! The bandwidth utilisation ratio ([wang2024] §4.1, §4.2): the share of a frame's time that the bottleneck was busy
//! after the frame entered it, measured by the frame's own delay.

use legato_control::estimate::frame_trips::FrameTrip;
use legato_control::estimate::windowed_min::WindowedMin;
use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The ratios of the last frames.
#[derive(Clone, Debug, Default)]
pub struct Utilisation {
    /// Delays count from the first frame's, as the clocks have an offset.
    origin_ns: Option<i64>,
    min_delay: WindowedMin,
    frames: VecDeque<Frame>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    departure: Timestamp,
    ratio: f64,
    /// The bitrate it was coded at, in Mbit/s.
    mbps: f64,
}

impl Utilisation {
    /// The ratio of a frame known at `now`, which was coded at `bitrate_mbps`; `None` if its delay is unknown.
    // [wang2024] eq. (1): R = (D - Dmin) / L, D from the first departure to the last arrival
    pub fn of(&mut self, now: Timestamp, trip: &FrameTrip, frame_s: f64, bitrate_mbps: f64) -> Option<f64> {
        let (first, last) = (trip.first_arrival?, trip.last_arrival?);
        let departure_ns = trip.first_departure.as_nanos();
        let origin_ns = *self.origin_ns.get_or_insert(first.as_nanos() - departure_ns);
        let since_s = |arrival_ns: i64| (arrival_ns - departure_ns - origin_ns) as f64 / 1e9;
        let min_s = self.min_delay.after(now, since_s(first.as_nanos()), MIN_DELAY_WINDOW);
        let ratio = (since_s(last.as_nanos()) - min_s).max(0.0) / frame_s;
        self.frames.push_back(Frame { departure: trip.first_departure, ratio, mbps: bitrate_mbps.max(1e-6) });
        while self.frames.len() > MOST_FRAMES
            || self.frames.front().is_some_and(|frame| trip.first_departure - frame.departure > SMOOTHING_WINDOW)
        {
            self.frames.pop_front();
        }
        Some(ratio)
    }

    /// The weighted mean over 200 ms, each ratio as it would be at the bitrate of now; `scale` takes Mbit/s to those of
    /// the paper.
    // [wang2024] eq. (6): sum of w_k R_k B / B_k
    // [wang2024] eq. (12), (13), (14), (15): w_k ~ min(R_k + 1, 2) min(B_k + 10, 50) (k + 20)
    pub fn smoothed(&self, bitrate_mbps: f64, scale: f64) -> Option<f64> {
        let weighted = (1..).zip(&self.frames).map(|(k, frame)| {
            let weight = (frame.ratio + 1.0).min(2.0) * (frame.mbps * scale + 10.0).min(50.0) * f64::from(k + 20);
            (weight, weight * frame.ratio * bitrate_mbps / frame.mbps)
        });
        let (weights, sum) =
            weighted.fold((0.0, 0.0), |(weights, sum), (weight, value)| (weights + weight, sum + value));
        (weights > 0.0).then(|| sum / weights)
    }

    /// How many frames in a row, up to the last, exceed one.
    pub fn congested(&self) -> usize {
        self.frames.iter().rev().take_while(|frame| frame.ratio > 1.0).count()
    }
}

// [wang2024]: ten seconds, and 200 ms.
const MIN_DELAY_WINDOW: TimeDelta = TimeDelta::from_secs(10);
const SMOOTHING_WINDOW: TimeDelta = TimeDelta::from_millis(200);
/// 200 ms at 240 frames per second.
const MOST_FRAMES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_reports::report;
    use legato_control::estimate::frame_trips::FrameTrips;

    const MS: fn(i64) -> TimeDelta = TimeDelta::from_millis;

    fn trip(frame: u32, departure: i64, first: i64, last: i64) -> FrameTrip {
        let mut trips = FrameTrips::default();
        trips.on_report(&report((frame, 0, 2), MS(departure), Some(MS(first))));
        trips.on_report(&report((frame, 1, 2), MS(departure + 1), Some(MS(last)))).unwrap()
    }

    /// [wang2024] eq. (1), worked by hand: 20 ms to the first packet is the minimum; the last comes after 30, so a
    /// bottleneck was busy 10 of 40 ms. The next frame's comes after 70: 50 of 40 ms.
    #[test]
    fn the_ratio_is_the_frames_own_delay_over_its_time() {
        let mut utilisation = Utilisation::default();
        let mut of = |trip: &FrameTrip| utilisation.of(Timestamp::from_millis(100), trip, 0.04, 1.0).unwrap();
        assert!((of(&trip(0, 0, 20, 30)) - 0.25).abs() < 1e-9);
        assert!((of(&trip(1, 40, 65, 110)) - 1.25).abs() < 1e-9);
        assert_eq!(utilisation.congested(), 1);
    }

    /// [wang2024] eq. (6) and [wang2024] eq. (12) to (15), worked by hand: R = 0.25 at 1 Mbit/s, then 1.25 at 2; now 2 Mbit/s. Weights
    /// 1.25 x 11 x 21 = 288.75 and 2 x 12 x 22 = 528; (288.75 x 0.5 + 528 x 1.25) / 816.75 = 0.98485.
    #[test]
    fn the_smoothed_ratio_weighs_late_large_and_new_frames_more() {
        let mut utilisation = Utilisation::default();
        assert_eq!(utilisation.smoothed(2.0, 1.0), None);
        utilisation.of(Timestamp::from_millis(100), &trip(0, 0, 20, 30), 0.04, 1.0);
        utilisation.of(Timestamp::from_millis(140), &trip(1, 40, 65, 110), 0.04, 2.0);
        let smoothed = utilisation.smoothed(2.0, 1.0).unwrap();
        assert!((smoothed - 804.375 / 816.75).abs() < 1e-9, "{smoothed}");
        // After 200 ms the first is forgotten.
        utilisation.of(Timestamp::from_millis(400), &trip(2, 241, 261, 301), 0.04, 2.0);
        assert_eq!(utilisation.frames.len(), 1);
        assert_eq!(utilisation.frames[0].ratio, 1.0);
    }
}
