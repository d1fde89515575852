//! Where a frame begins, as a receiver sees it: its packets leave within a moment, then there is a gap.

use legato_control::estimate::frame_interval::FrameInterval;
use legato_units::{Seconds, TimeDelta, Timestamp};

/// Tells bursts apart by departures, which are all by the sender's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bursts {
    /// The newest departure.
    last: Option<Timestamp>,
    interval: FrameInterval,
}

/// Senders pace a frame's packets a few milliseconds apart; frames are 16 and more apart.
const GAP: TimeDelta = TimeDelta::from_millis(8);

impl Bursts {
    /// A packet left at `departure`; whether it begins a burst. `None`: a packet that left later is here already.
    pub fn begins(&mut self, departure: Timestamp) -> Option<bool> {
        let last = self.last;
        if last.is_some_and(|last| departure < last) {
            return None;
        }
        self.last = Some(departure);
        let begins = last.is_none_or(|last| departure - last >= GAP);
        if begins {
            self.interval.on_capture(departure);
        }
        Some(begins)
    }

    /// From one burst to the next, smoothed.
    pub fn interval(&self) -> Seconds {
        self.interval.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_begins_after_a_gap_of_8_ms() {
        let mut bursts = Bursts::default();
        let began = [0, 1, 5, 12, 20, 20, 19].map(|ms| bursts.begins(Timestamp::from_millis(ms)));
        assert_eq!(began, [Some(true), Some(false), Some(false), Some(false), Some(true), Some(false), None]);
    }

    #[test]
    fn the_interval_is_that_of_bursts_and_not_of_packets() {
        let mut bursts = Bursts::default();
        for n in 0..100 {
            (0..4).for_each(|place| _ = bursts.begins(Timestamp::from_millis(40 * n + place)));
        }
        assert!((bursts.interval().get() - 0.04).abs() < 1e-4);
    }
}
