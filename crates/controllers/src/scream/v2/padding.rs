//! libwebrtc's periodic padding: for three seconds of every six the pacer is filled up to the target, so that a
//! window that grows only when used may grow; not within a second of its shrinking. ScreamNetworkController
//! [libwebrtc-m150].

use legato_units::{TimeDelta, Timestamp};

/// Whether to pad.
#[derive(Clone, Copy, Debug, Default)]
pub struct Padding {
    /// When the interval of padding ends or ended.
    end: Option<Timestamp>,
    on: bool,
}

impl Padding {
    /// Update at `now`; the window last shrank at `last_decrease`.
    pub fn update(&mut self, now: Timestamp, last_decrease: Option<Timestamp>) {
        let calm = last_decrease.is_none_or(|last| now - last > CALM);
        self.on = false;
        if !calm {
            // An interval ends at once.
            self.end = self.end.map(|end| end.min(now));
        } else if self.end.is_some_and(|end| now < end) {
            self.on = true;
        } else if self.end.is_none_or(|end| now - end >= PAUSE) {
            self.end = Some(now + PADDING);
            self.on = true;
        }
    }

    /// Whether to pad now.
    pub fn is_on(&self) -> bool {
        self.on
    }
}

// [libwebrtc-m150] ScreamV2Parameters.
/// Pad for this long at a time.
const PADDING: TimeDelta = TimeDelta::from_secs(3);
/// The time between two paddings.
const PAUSE: TimeDelta = TimeDelta::from_secs(3);
/// The time after the window shrank in which there is no padding.
const CALM: TimeDelta = TimeDelta::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// [libwebrtc-m150]: 3 s on, 3 s off; over at once when the window shrinks.
    #[test]
    fn it_pads_for_three_seconds_of_six() {
        let mut padding = Padding::default();
        let mut on = |ms, decrease: Option<i64>| {
            padding.update(Timestamp::from_millis(ms), decrease.map(Timestamp::from_millis));
            padding.is_on()
        };
        let seen = [on(0, None), on(2_999, None), on(3_000, None), on(5_999, None), on(6_000, None)];
        assert_eq!(seen, [true, true, false, false, true]);
        assert!(!on(7_000, Some(6_900)));
        assert!(!on(9_999, Some(6_900)), "the pause begins when the interval was cut short");
        assert!(on(10_000, Some(6_900)));
    }
}
