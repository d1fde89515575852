//! The cap that loss and marks put on the frame size ([draft-ageneau-ccwg-ndtc] §4.5): additive increase, multiplicative
//! decrease, as Prague where the network marks.

use legato_control::estimate::frame_trips::FrameTrip;
use legato_units::Timestamp;

/// CSIZE, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    size: f64,
    ecn_average: f64,
    last_decrease: Option<Timestamp>,
    last_ecn_decrease: Option<Timestamp>,
}

/// The draft's constants, in bytes and ratios.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// ALPHA.
    pub increase: f64,
    /// EALPHA.
    pub ecn_increase: f64,
    /// BETA.
    pub decrease: f64,
}

impl Aimd {
    /// Starts at the maximum frame size: estimation alone shall suffice.
    pub fn new(max: f64) -> Self {
        Self { size: max, ecn_average: 1.0, last_decrease: None, last_ecn_decrease: None }
    }

    /// No feedback came: as if a packet were lost.
    pub fn decrease(&mut self, now: Timestamp, cmax: f64, steps: Steps) {
        self.size = self.size.min(cmax) * steps.decrease;
        self.last_decrease = Some(now);
    }

    /// The fate of a frame, reported at `now`, while the pacer could not send faster than `cmax` in a frame's time.
    // [draft-ageneau-ccwg-ndtc] §C: after loss CSIZE = min(CSIZE, CMAX) beta, once a round trip; after marks by their
    // average; else CSIZE + alpha, no higher than CMAX
    pub fn on_frame(&mut self, now: Timestamp, trip: &FrameTrip, cmax: f64, steps: Steps) {
        let ecn_fraction = f64::from(trip.marked) / f64::from(trip.packets.max(1));
        self.ecn_average += ECN_GAIN * (ecn_fraction - self.ecn_average);
        let after = |decrease: Option<Timestamp>| decrease.is_none_or(|at| at <= trip.first_departure);
        if !after(self.last_decrease) {
            return;
        }
        if trip.lost > 0 {
            return self.decrease(now, cmax, steps);
        }
        if after(self.last_ecn_decrease) && trip.marked > 0 {
            self.size = self.size.min(cmax) * (1.0 - self.ecn_average * (1.0 - steps.decrease));
            self.last_ecn_decrease = Some(now);
        }
        if self.size < cmax {
            let step = if self.last_ecn_decrease <= self.last_decrease {
                steps.increase
            } else {
                steps.ecn_increase * (1.0 - ecn_fraction)
            };
            self.size = (self.size + step).min(cmax);
        }
    }

    /// CTARGET.
    pub fn target(&self, cmax: f64) -> f64 {
        self.size.min(cmax)
    }
}

// [draft-ageneau-ccwg-ndtc] §C, Prague's.
const ECN_GAIN: f64 = 1.0 / 16.0;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::Timestamp;

    const STEPS: Steps = Steps { increase: 40.0, ecn_increase: 400.0, decrease: 0.7 };

    fn trip(departure_ms: i64, lost: u16, marked: u16) -> FrameTrip {
        FrameTrip {
            frame: 0,
            packets: 10,
            arrived: 10 - lost,
            marked,
            lost,
            bytes: 10_000,
            first_bytes: 1_000,
            last_bytes: 1_000,
            first_departure: Timestamp::from_millis(departure_ms),
            last_departure: Timestamp::from_millis(departure_ms),
            first_arrival: None,
            last_arrival: None,
        }
    }

    /// [draft-ageneau-ccwg-ndtc] §C, worked by hand: of 20,000 and a CMAX of 10,000, loss makes 7,000; a frame that left
    /// before that changes nothing; the next adds 40.
    #[test]
    fn loss_cuts_once_a_round_trip_and_each_frame_adds_forty_bytes() {
        let at = Timestamp::from_millis;
        let mut aimd = Aimd::new(20_000.0);
        aimd.on_frame(at(50), &trip(0, 0, 0), 10_000.0, STEPS);
        assert_eq!(aimd.target(10_000.0), 10_000.0);
        aimd.on_frame(at(100), &trip(33, 1, 0), 10_000.0, STEPS);
        assert!((aimd.size - 7_000.0).abs() < 1e-9);
        aimd.on_frame(at(130), &trip(66, 3, 0), 10_000.0, STEPS);
        assert!((aimd.size - 7_000.0).abs() < 1e-9);
        aimd.on_frame(at(200), &trip(133, 0, 0), 10_000.0, STEPS);
        assert!((aimd.size - 7_040.0).abs() < 1e-9);
        aimd.on_frame(at(230), &trip(166, 0, 0), 7_050.0, STEPS);
        assert!((aimd.size - 7_050.0).abs() < 1e-9);
    }

    /// [draft-ageneau-ccwg-ndtc] §C, worked by hand: half of a frame is marked. The average moves from 1 to 0.96875, so
    /// 10,000 becomes 10,000 (1 - 0.96875 x 0.3) = 7,093.75, and the same frame adds 400 x 0.5. The next, not marked
    /// and sent before the cut, adds 400.
    #[test]
    fn marks_cut_by_their_share_and_growth_is_faster_after_them() {
        let at = Timestamp::from_millis;
        let mut aimd = Aimd::new(10_000.0);
        aimd.on_frame(at(50), &trip(0, 0, 5), 10_000.0, STEPS);
        assert!((aimd.size - 7_293.75).abs() < 1e-9, "{}", aimd.size);
        aimd.on_frame(at(80), &trip(33, 0, 0), 10_000.0, STEPS);
        assert!((aimd.size - 7_693.75).abs() < 1e-9, "{}", aimd.size);
    }
}
