//! Gaps between rendered frames: stalls by a fixed limit, freezes by libwebrtc's rule.

use legato_units::{TimeDelta, Timestamp};

/// A gap is a stall above this ([nvc-cc] section 6).
pub const STALL_GAP: TimeDelta = TimeDelta::from_millis(200);
/// A freeze as getStats() defines it: a gap above max(3 × mean, mean + 150 ms) …
const FREEZE_FACTOR: i64 = 3;
const FREEZE_MARGIN: TimeDelta = TimeDelta::from_millis(150);
/// … where the mean is over this many gaps before it.
const MEAN_GAPS: usize = 30;

/// A period without a new picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// When the last picture before it was shown.
    pub start: Timestamp,
    /// Until the next.
    pub duration: TimeDelta,
}

/// Watches the gaps.
#[derive(Clone, Debug)]
pub struct GapWatch {
    last: Timestamp,
    gaps: [TimeDelta; MEAN_GAPS],
    seen: usize,
    sum: TimeDelta,
    stalls: u64,
    stalled: TimeDelta,
    paused: bool,
}

impl GapWatch {
    /// Watch from the call's start: a first picture that is late is a gap too.
    pub fn new(start: Timestamp) -> Self {
        Self {
            last: start,
            gaps: [TimeDelta::ZERO; MEAN_GAPS],
            seen: 0,
            sum: TimeDelta::ZERO,
            stalls: 0,
            stalled: TimeDelta::ZERO,
            paused: false,
        }
    }

    /// A picture was shown; returns the freeze it ended, if any.
    pub fn rendered(&mut self, now: Timestamp) -> Option<Freeze> {
        let gap = now - self.last;
        let freeze = Freeze { start: self.last, duration: gap };
        self.last = now;
        self.count_stall(gap);
        let known = self.seen.min(MEAN_GAPS) as i64;
        // Until there is a mean, the nominal 30 fps is used.
        let mean = if known == 0 { TimeDelta::from_nanos(33_333_333) } else { self.sum / known };
        let place = self.seen % MEAN_GAPS;
        self.sum += gap - self.gaps[place];
        self.gaps[place] = gap;
        self.seen += 1;
        (gap > (mean * FREEZE_FACTOR).max(mean + FREEZE_MARGIN)).then_some(freeze)
    }

    /// The sender pauses or resumes. No picture is missed during a pause: a gap that contains one counts
    /// from its end.
    pub fn paused(&mut self, now: Timestamp, paused: bool) {
        self.paused = paused;
        if !paused {
            self.last = now;
        }
    }

    /// The call ended; a freeze at that time is one more gap.
    pub fn finish(&mut self, end: Timestamp) -> Option<Freeze> {
        if self.paused { None } else { self.rendered(end) }
    }

    /// The number of stalls and their total duration.
    pub fn stalls(&self) -> (u64, TimeDelta) {
        (self.stalls, self.stalled)
    }

    fn count_stall(&mut self, gap: TimeDelta) {
        if gap > STALL_GAP {
            self.stalls += 1;
            self.stalled += gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The freezes of pictures at these ms.
    fn freezes(at_ms: impl IntoIterator<Item = i64>) -> (Vec<(i64, i64)>, u64) {
        let mut watch = GapWatch::new(Timestamp::ZERO);
        let ends = at_ms.into_iter().filter_map(|ms| watch.rendered(Timestamp::from_millis(ms)));
        let found = ends.map(|f| ((f.start - Timestamp::ZERO).as_millis(), f.duration.as_millis())).collect();
        (found, watch.stalls().0)
    }

    #[test]
    fn a_gap_of_the_mean_and_150_ms_is_not_a_freeze_and_a_longer_one_is() {
        let steady = (1..=40).map(|n| n * 40);
        assert_eq!(freezes(steady.clone().chain([1_600 + 190])), (vec![], 0));
        assert_eq!(freezes(steady.chain([1_600 + 191])), (vec![(1_600, 191)], 0));
    }

    #[test]
    fn at_low_frame_rates_three_mean_gaps_count() {
        let slow = (1..=40).map(|n| n * 120);
        assert_eq!(freezes(slow.clone().chain([4_800 + 360])), (vec![], 1));
        assert_eq!(freezes(slow.chain([4_800 + 361])), (vec![(4_800, 361)], 1));
    }

    /// [nvc-cc] §6: a gap of 200 ms is not a stall, a longer one is.
    #[test]
    fn a_stall_is_longer_than_200_ms() {
        assert_eq!(freezes([33, 66, 266]).1, 0);
        assert_eq!(freezes([33, 66, 267]).1, 1);
    }

    #[test]
    fn a_pause_is_not_a_freeze_and_a_late_picture_after_it_is() {
        let ms = Timestamp::from_millis;
        let mut watch = GapWatch::new(ms(0));
        assert_eq!([40, 80, 120].map(|at| watch.rendered(ms(at))), [None; 3]);
        watch.paused(ms(100), true);
        watch.paused(ms(5_100), false);
        let late = watch.rendered(ms(5_400)).unwrap();
        assert_eq!((late.start, late.duration, watch.stalls().0), (ms(5_100), TimeDelta::from_millis(300), 1));
        watch.paused(ms(5_500), true);
        assert_eq!(watch.finish(ms(9_000)), None);
    }
}
