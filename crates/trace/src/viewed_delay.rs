//! Delay and punctuality over every captured frame, whether or not it was shown.
//!
//! A figure over the frames that were shown improves when late ones are dropped. Here a captured frame is charged
//! the time until something as new was on the screen: this frame or a later one. Without any, it is charged the time
//! until the call's end. Dropping a frame therefore never lowers a charge, and never makes a frame punctual.
//!
//! Which frames are judged does not depend on their fate either: all but those of the call's last second.

use crate::figures::{UNDECIDED_TIME, ms};
use crate::quantile::Spread;
use crate::recorder::{Recorder, micros};
use crate::summary::Summary;
use legato_units::{TimeDelta, Timestamp};

/// [itu-g114]: up to 150 ms of delay most conversations do not suffer …
const ON_TIME: TimeDelta = TimeDelta::from_millis(150);
/// … and 400 ms is the limit for planning networks.
const LATEST: TimeDelta = TimeDelta::from_millis(400);

impl Recorder {
    pub(crate) fn viewed_delays(&mut self, summary: &mut Summary, end: Timestamp) {
        let judged = self.frames.partition_point(|row| end - row.captured > UNDECIDED_TIME);
        let (judged, last) = self.frames.split_at(judged);
        // From the last frame to the first: when something as new as a frame was shown.
        let mut shown = last.iter().filter_map(|row| row.rendered).fold(end, Timestamp::min);
        let (mut on_time, mut in_limit) = (0u64, 0u64);
        self.scratch.clear();
        for row in judged.iter().rev() {
            if let Some(rendered) = row.rendered {
                shown = shown.min(rendered);
                on_time += u64::from(rendered - row.captured <= ON_TIME);
                in_limit += u64::from(rendered - row.captured <= LATEST);
            }
            self.scratch.push(micros(self.pauses.active(row.captured, shown)));
        }
        if let Some(spread) = Spread::of(&self.scratch) {
            let [p50, p95, p98] = self.quantiles.within(&self.scratch, &spread, [0.5, 0.95, 0.98]);
            summary.viewed_delay_mean_ms = Some(spread.mean_ms());
            summary.viewed_delay_p50_ms = Some(ms(p50));
            summary.viewed_delay_p95_ms = Some(ms(p95));
            summary.viewed_delay_p98_ms = Some(ms(p98));
            let share = |frames: u64| Some(frames as f64 / spread.count as f64);
            summary.on_time_150ms_ratio = share(on_time);
            summary.on_time_400ms_ratio = share(in_limit);
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

    /// The figures of a call of 10 s with frames captured at and shown at these ms, and these pauses.
    fn call(frames: &[(i64, Option<i64>)], pauses: &[(i64, i64)]) -> Summary {
        let mut recorder = Recorder::default();
        recorder.begin(LogLevel::Summary, at(0));
        for &(captured, _) in frames {
            recorder.record(at(captured), &Record::FrameCaptured { frame: 0 });
        }
        for (frame, &(_, shown)) in (0..).zip(frames) {
            shown.iter().for_each(|&ms| recorder.record(at(ms), &Record::FrameRendered { frame }));
        }
        for &(from, to) in pauses {
            recorder.record(at(from), &Record::Paused(true));
            recorder.record(at(to), &Record::Paused(false));
        }
        recorder.finish(CallFacts { end: at(10_000), ..CallFacts::default() })
    }

    /// Mean, median, p95, p98 in ms.
    fn delays(summary: &Summary) -> [f64; 4] {
        let Summary { viewed_delay_mean_ms, viewed_delay_p50_ms, viewed_delay_p95_ms, viewed_delay_p98_ms, .. } =
            summary;
        [viewed_delay_mean_ms, viewed_delay_p50_ms, viewed_delay_p95_ms, viewed_delay_p98_ms]
            .map(|figure| figure.expect("frames were judged"))
    }

    fn on_time(summary: &Summary) -> (f64, f64) {
        (summary.on_time_150ms_ratio.expect("judged"), summary.on_time_400ms_ratio.expect("judged"))
    }

    #[test]
    fn a_frame_never_shown_is_charged_until_a_later_one_is() {
        // Captured at 0, 33 and 66 ms; the second was never shown: it is charged 136 − 33 ms.
        let summary = call(&[(0, Some(60)), (33, None), (66, Some(136))], &[]);
        assert_eq!(delays(&summary), [(60.0 + 103.0 + 70.0) / 3.0, 70.0, 103.0, 103.0]);
        assert_eq!(on_time(&summary), (2.0 / 3.0, 2.0 / 3.0));
        assert_eq!(summary.render_delay_p95_ms, Some(70.0));
    }

    #[test]
    fn without_a_later_one_it_is_charged_until_the_end() {
        let summary = call(&[(0, Some(60)), (8_000, None), (8_900, None)], &[]);
        assert_eq!(delays(&summary), [(60.0 + 2_000.0 + 1_100.0) / 3.0, 1_100.0, 2_000.0, 2_000.0]);
    }

    #[test]
    fn exactly_150_and_400_ms_are_on_time() {
        let summary = call(&[(0, Some(150)), (100, Some(251)), (200, Some(600)), (300, Some(701))], &[]);
        assert_eq!(on_time(&summary), (0.25, 0.75));
    }

    #[test]
    fn frames_of_the_last_second_are_not_judged_whether_shown_or_not() {
        let early = call(&[(0, Some(60)), (8_999, None)], &[]);
        for last in [None, Some(9_050), Some(9_900)] {
            let summary = call(&[(0, Some(60)), (8_999, None), (9_000, last), (9_500, last)], &[]);
            assert_eq!(on_time(&summary), on_time(&early));
            // They end the wait of those before them.
            let wait = last.map_or(1_001.0, |shown| shown as f64 - 8_999.0);
            assert_eq!(delays(&summary)[2], wait.max(60.0));
        }
        assert_eq!(call(&[(9_000, Some(9_050))], &[]).on_time_150ms_ratio, None);
    }

    #[test]
    fn pauses_are_not_waited_for() {
        // 100 ms before the pause of 4 s, 50 ms after it.
        let summary = call(&[(1_000, None), (5_100, Some(5_150))], &[(1_100, 5_100)]);
        assert_eq!(delays(&summary), [100.0, 50.0, 150.0, 150.0]);
        assert_eq!(on_time(&summary), (0.5, 0.5));
        // Nothing after the pause either: 100 ms before it and 4.9 s after it.
        assert_eq!(delays(&call(&[(1_000, None)], &[(1_100, 5_100)]))[2], 5_000.0);
    }

    #[test]
    fn dropping_frames_never_improves_a_figure() {
        let shown: Vec<_> = (0..240).map(|n| (n * 33, Some(n * 33 + 40 + n * n % 61 * 11))).collect();
        let mut ascending = shown.clone();
        for n in (1..ascending.len()).rev() {
            ascending[n - 1].1 = ascending[n - 1].1.min(ascending[n].1);
        }
        let all = call(&ascending, &[(3_000, 3_500)]);
        for limit_ms in [500, 300, 150, 60] {
            let on_time_only: Vec<_> =
                ascending.iter().map(|&(at, shown)| (at, shown.filter(|ms| ms - at <= limit_ms))).collect();
            let fewer = call(&on_time_only, &[(3_000, 3_500)]);
            assert!(fewer.render_delay_p95_ms <= all.render_delay_p95_ms, "what this figure is for");
            assert!(delays(&fewer).iter().zip(delays(&all)).all(|(fewer, all)| *fewer >= all), "{limit_ms}");
            assert!(on_time(&fewer).0 <= on_time(&all).0 && on_time(&fewer).1 <= on_time(&all).1, "{limit_ms}");
        }
    }

    /// [concerto] Table 2 over the viewed figures.
    #[test]
    fn the_viewed_scores_are_those_of_the_viewed_figures() {
        let mut recorder = Recorder::default();
        recorder.begin(LogLevel::Summary, at(0));
        for (frame, captured, shown) in [(0, 0, Some(60)), (1, 33, None), (2, 66, Some(136))] {
            recorder.record(at(captured), &Record::FrameCaptured { frame });
            let Some(shown) = shown else { continue };
            let decoded =
                crate::FrameDecoded { frame, lost_packets: 0, decodable: true, quality_db: Some((12.0, 34.0)) };
            recorder.record(at(shown), &Record::FrameDecoded(decoded));
            recorder.record(at(shown), &Record::FrameRendered { frame });
        }
        let aged = |_: u64, _: (f32, f32), _: u64| (9.0, 30.0);
        let summary = recorder.finish(CallFacts { end: at(2_000), link: None, aged: Some(&aged) });
        // d = 233/3 ms, q = (12 + 9 + 12)/3 dB: −6.39e−4 d + 6.22e−2 × 11 + 3.30 and −1.92e−3 d + 1.01e−1 × 11 + 2.67.
        let rounded = |score: Option<f64>| score.map(|score| (score * 1e4).round());
        assert_eq!((rounded(summary.viewed_qoe_p), rounded(summary.viewed_qoe_d)), (Some(39_346.0), Some(36_319.0)));
        // The frames shown alone: (60 + 70)/2 ms and 12 dB.
        assert_eq!(rounded(summary.qoe_p), Some(40_049.0));
    }
}
