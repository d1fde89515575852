//! The path's own part of the one-way delay: the minimum of the last ten minutes, kept per minute
//! so that a base that rose (a new route, clock drift) is eventually forgotten.

use legato_units::TimeDelta;

/// The minimum one-way delay of the last ten minutes. The two ends' clocks differ, so a delay is determined up to a
/// constant; only differences of two mean something.
#[derive(Clone, Debug)]
pub struct BaseDelay {
    /// The minimum of each minute, the newest at `minute % MINUTES`; `None`: no packet in it.
    min: [Option<TimeDelta>; MINUTES],
    minute: i64,
    /// The minimum of all of them.
    base: Option<TimeDelta>,
}

/// [rfc8698] §5.1.1 gives only the window's order of magnitude: minutes, as in LEDBAT's base history.
const MINUTES: usize = 10;
const MINUTE: TimeDelta = TimeDelta::from_secs(60);

impl Default for BaseDelay {
    fn default() -> Self {
        Self { min: [None; MINUTES], minute: 0, base: None }
    }
}

impl BaseDelay {
    /// Take a delay measured `elapsed` after the first one; returns the base.
    #[inline]
    pub fn update(&mut self, elapsed: TimeDelta, delay: TimeDelta) -> TimeDelta {
        let minute = elapsed.as_nanos().div_euclid(MINUTE.as_nanos());
        if minute > self.minute {
            self.forget_until(minute);
        }
        let place = self.minute.rem_euclid(MINUTES as i64) as usize;
        self.min[place] = Some(self.min[place].map_or(delay, |min| min.min(delay)));
        let base = self.base.map_or(delay, |base| base.min(delay));
        self.base = Some(base);
        base
    }

    fn forget_until(&mut self, minute: i64) {
        let fresh = (minute - self.minute).min(MINUTES as i64);
        for back in 0..fresh {
            self.min[(minute - back).rem_euclid(MINUTES as i64) as usize] = None;
        }
        self.minute = minute;
        self.base = self.min.iter().flatten().copied().min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base_ms(base: &mut BaseDelay, at_s: i64, delay_ms: i64) -> i64 {
        base.update(TimeDelta::from_secs(at_s), TimeDelta::from_millis(delay_ms)).as_millis()
    }

    /// [rfc8698] §5.1.1: the base is the minimum one-way delay seen.
    #[test]
    fn the_base_is_the_minimum_of_ten_minutes() {
        let mut base = BaseDelay::default();
        assert_eq!(base_ms(&mut base, 0, 50), 50);
        assert_eq!(base_ms(&mut base, 1, 40), 40);
        assert_eq!(base_ms(&mut base, 70, 60), 40);
        assert_eq!(base_ms(&mut base, 599, 60), 40);
        assert_eq!(base_ms(&mut base, 600, 70), 60, "the first minute is forgotten");
        assert_eq!(base_ms(&mut base, 660, 70), 60, "the minute of 599 s is still known");
        assert_eq!(base_ms(&mut base, 9_999, 90), 90, "after a long pause everything is forgotten");
    }

    #[test]
    fn a_packet_of_an_earlier_minute_counts_in_the_present_one() {
        let mut base = BaseDelay::default();
        base_ms(&mut base, 120, 50);
        assert_eq!(base_ms(&mut base, -30, 45), 45);
        assert_eq!(base_ms(&mut base, 125, 55), 45);
    }
}
