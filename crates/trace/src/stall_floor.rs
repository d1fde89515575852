//! What the link alone does to a call: the stalls that no sender could have avoided.
//!
//! The floor belongs to a sender that knows the future and sends each picture in one packet of headers alone, at its
//! capture, whenever the link is idle. While such a packet cannot pass, no picture can. Stalls are counted as for the
//! call itself. Propagation, loss and other traffic are left out: with them a call stalls more. A receiver that was
//! already delaying pictures can bridge a gap by up to that delay, and only so can a call fall short of its floor.

use crate::freeze::STALL_GAP;
use crate::recorder::Recorder;
use crate::summary::Summary;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The forward bottleneck of a call, over the call.
pub struct LinkFacts<'a> {
    /// Its mean capacity.
    pub capacity_mean: DataRate,
    /// How long it was dead.
    pub dead: TimeDelta,
    /// When the smallest packet has left that enters the idle link at an instant, which never goes back.
    pub pass: Box<dyn FnMut(Timestamp) -> Timestamp + 'a>,
}

impl Recorder {
    pub(crate) fn link_figures(
        &self,
        summary: &mut Summary,
        link: Option<&mut LinkFacts<'_>>,
        end: Timestamp,
        span: TimeDelta,
    ) {
        let Some(link) = link else { return };
        summary.dead_link_s = Some(link.dead.as_secs_f64());
        let floor = self.stall_floor(&mut link.pass, end);
        summary.stall_floor_ratio = floor.map(|stalled| stalled.as_secs_f64() / span.as_secs_f64());
    }

    /// Stalled time at the best; `None` if nothing was captured.
    fn stall_floor(&self, pass: &mut dyn FnMut(Timestamp) -> Timestamp, end: Timestamp) -> Option<TimeDelta> {
        let mut gaps = Gaps { last: self.start, paused: false, stalled: TimeDelta::ZERO };
        let mut turns = self.pauses.spans().iter().flat_map(|&(from, to)| [(from, true), (to, false)]).peekable();
        let mut idle = self.frames.first()?.captured;
        for row in &self.frames {
            if row.captured < idle {
                continue;
            }
            idle = pass(row.captured);
            while let Some((at, paused)) = turns.next_if(|&(at, _)| at <= idle.min(end)) {
                gaps.paused(at, paused);
            }
            if idle >= end {
                break;
            }
            gaps.shown(idle);
        }
        turns.take_while(|&(at, _)| at <= end).for_each(|(at, paused)| gaps.paused(at, paused));
        if !gaps.paused {
            gaps.shown(end);
        }
        Some(gaps.stalled)
    }
}

/// The stalls that a [`GapWatch`](crate::GapWatch) counts, without freezes: a fifth of the work.
struct Gaps {
    last: Timestamp,
    paused: bool,
    stalled: TimeDelta,
}

impl Gaps {
    #[inline]
    fn shown(&mut self, at: Timestamp) {
        let gap = at - self.last;
        if gap > STALL_GAP {
            self.stalled += gap;
        }
        self.last = at;
    }

    fn paused(&mut self, at: Timestamp, paused: bool) {
        self.paused = paused;
        if !paused {
            self.last = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallFacts, LogLevel, Record, TraceSink};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// The floor in ms of a call of 10 s that takes a picture every 40 ms outside its pauses. The link takes 5 ms for a
    /// packet and passes nothing in the outages.
    fn floor_ms(outages: &[(i64, i64)], pauses: &[(i64, i64)]) -> f64 {
        let mut recorder = Recorder::default();
        recorder.begin(LogLevel::Summary, at(0));
        let within = |spans: &[(i64, i64)], ms: i64| spans.iter().copied().find(|&(from, to)| from <= ms && ms < to);
        for ms in (0..10_000).step_by(10) {
            let turn = |paused| Record::Paused(paused);
            pauses.iter().filter(|pause| pause.1 == ms).for_each(|_| recorder.record(at(ms), &turn(false)));
            pauses.iter().filter(|pause| pause.0 == ms).for_each(|_| recorder.record(at(ms), &turn(true)));
            if ms % 40 == 0 && within(pauses, ms).is_none() {
                recorder.record(at(ms), &Record::FrameCaptured { frame: 0 });
            }
        }
        let pass = |entered: Timestamp| {
            let ms = (entered - at(0)).as_millis();
            at(within(outages, ms).map_or(ms, |(_, to)| to) + 5)
        };
        let link = LinkFacts { capacity_mean: DataRate::ZERO, dead: TimeDelta::from_millis(700), pass: Box::new(pass) };
        let summary = recorder.finish(CallFacts { end: at(10_000), link: Some(link), aged: None });
        assert_eq!((summary.dead_link_s, summary.stall_ratio), (Some(0.7), pause_free(pauses)));
        (summary.stall_floor_ratio.expect("a link") * 1e4).round()
    }

    /// Nothing was shown: the call stalled whenever it was not paused, but for a rest of at most 200 ms.
    fn pause_free(pauses: &[(i64, i64)]) -> f64 {
        match *pauses {
            [] => 1.0,
            [(_, to)] => (10_000 - to) as f64 / 1e4,
            _ => unreachable!("one pause is enough"),
        }
    }

    #[test]
    fn a_link_that_always_passes_packets_has_no_floor() {
        assert_eq!(floor_ms(&[], &[]), 0.0);
    }

    #[test]
    fn an_outage_costs_the_time_from_the_last_picture_before_it_to_the_first_after_it() {
        // Pictures leave at 1,000 and 1,040 ms; the first of these is on the screen at 1,005, the second at 2,005.
        assert_eq!(floor_ms(&[(1_010, 2_000)], &[]), 1_000.0);
        // 1,005 to 1,205 ms is no stall, to 1,206 it is.
        assert_eq!((floor_ms(&[(1_010, 1_200)], &[]), floor_ms(&[(1_010, 1_201)], &[])), (0.0, 201.0));
    }

    #[test]
    fn an_outage_at_the_end_lasts_until_the_end() {
        assert_eq!(floor_ms(&[(8_010, 12_000)], &[]), 1_995.0);
        assert_eq!(floor_ms(&[(0, 12_000)], &[]), 10_000.0);
    }

    #[test]
    fn no_picture_is_missed_in_a_pause() {
        assert_eq!(floor_ms(&[], &[(3_000, 5_000)]), 0.0);
        // The outage outlasts the pause by 700 ms.
        assert_eq!(floor_ms(&[(2_990, 5_700)], &[(3_000, 5_000)]), 705.0);
    }

    #[test]
    fn without_a_bottleneck_there_is_no_floor() {
        let mut recorder = Recorder::default();
        recorder.begin(LogLevel::Summary, at(0));
        let summary = recorder.finish(CallFacts { end: at(1_000), ..CallFacts::default() });
        assert_eq!((summary.stall_floor_ratio, summary.dead_link_s), (None, None));
    }
}
