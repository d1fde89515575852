//! The arrivals of each stream with their marks, until RFC 8888 feedback has reported them: the counterpart of
//! [`crate::arrival_log::ArrivalLog`] for feedback by SSRC and RTP sequence number.
//!
//! Reports of a stream follow one another without a gap. They overlap only if a packet came late, or a
//! second copy of it came marked: then the next report goes back to it and repeats everything since.
//! [rfc8888] §3 allows more overlap, against lost reports; that is left out, as in libwebrtc.

use legato_units::{Ecn, TimeDelta, Timestamp};
use legato_wire::ccfb::{self, ArrivalOffset, Metric, StreamReport};
use legato_wire::ntp::CompactNtp;
use std::collections::VecDeque;

/// Arrivals by stream and sequence number.
#[derive(Clone, Debug, Default)]
pub struct StreamLog {
    streams: Vec<Stream>,
    /// Reused from report to report.
    metrics: Vec<Option<Metric>>,
}

#[derive(Clone, Debug)]
struct Stream {
    ssrc: u32,
    arrivals: VecDeque<Option<Arrival>>,
    /// Number of the first entry, unwrapped.
    base: u64,
    /// The first number of the next report.
    unreported: u64,
    /// The lowest number that came; `base` until something is forgotten.
    lowest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Timestamp,
    ecn: Ecn,
}

/// How far back a late packet makes a report go at most; the same as with transport-wide feedback.
const BACK_WINDOW: TimeDelta = TimeDelta::from_millis(500);
/// A jump in numbers beyond this means another stream, not loss.
const MAX_GAP: u64 = 1 << 14;
/// The first packet of a stream to arrive may be this many after its first.
const MAX_LATE_START: u64 = 128;
/// A call has four streams; unknown ones are not reported.
const MAX_STREAMS: usize = 8;
/// The metrics that fit a datagram of 1,200 bytes with the headers of the blocks.
const MAX_METRICS: usize = 500;
/// Numbers start one wrap above zero, so that there is room below the first.
const FIRST_TURN: u64 = 1 << 16;

impl StreamLog {
    /// A packet arrived.
    #[inline]
    pub fn push(&mut self, now: Timestamp, ssrc: u32, seq: u16, ecn: Ecn) {
        let arrival = Arrival { at: now, ecn };
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.ssrc == ssrc) {
            stream.push(seq, arrival);
        } else if self.streams.len() < MAX_STREAMS {
            let base = FIRST_TURN + u64::from(seq);
            let arrivals = VecDeque::from([Some(arrival)]);
            self.streams.push(Stream { ssrc, arrivals, base, unreported: base, lowest: base });
        }
    }

    /// Append one report with the unreported arrivals; false if there are none. Call again until false: not everything
    /// may fit one packet.
    pub fn write_feedback(&mut self, out: &mut Vec<u8>, now: Timestamp, sender_ssrc: u32) -> bool {
        let Self { streams, metrics } = self;
        metrics.clear();
        let mut lengths = [0; MAX_STREAMS];
        for (stream, length) in streams.iter().zip(&mut lengths) {
            let unreported = stream.arrivals.range((stream.unreported - stream.base) as usize..);
            *length = unreported.len().min(MAX_METRICS - metrics.len());
            metrics.extend(unreported.take(*length).map(|arrival| arrival.map(|arrival| arrival.metric(now))));
        }
        if metrics.is_empty() {
            return false;
        }
        let mut reports = [StreamReport { ssrc: 0, begin_seq: 0, metrics: &[] }; MAX_STREAMS];
        let (mut rest, mut reported) = (&metrics[..], 0);
        for (stream, &length) in streams.iter_mut().zip(&lengths).filter(|(_, length)| **length > 0) {
            let (metrics, behind) = rest.split_at(length);
            rest = behind;
            reports[reported] = StreamReport { ssrc: stream.ssrc, begin_seq: stream.unreported as u16, metrics };
            reported += 1;
            stream.unreported += length as u64;
        }
        ccfb::write(out, sender_ssrc, CompactNtp::from_timestamp(now), &reports[..reported]);
        true
    }

    /// Forget what no late packet can correct any more.
    pub fn forget(&mut self, now: Timestamp) {
        self.streams.iter_mut().for_each(|stream| stream.forget(now));
    }
}

impl Arrival {
    // [rfc8888] §3.1: the offset counts back from the report timestamp, 1/1024 s.
    fn metric(self, now: Timestamp) -> Metric {
        Metric { ecn: self.ecn, offset: ArrivalOffset::from_delta(now - self.at) }
    }
}

impl Stream {
    fn next(&self) -> u64 {
        self.base + self.arrivals.len() as u64
    }

    #[inline]
    fn push(&mut self, seq: u16, arrival: Arrival) {
        let next = self.next();
        if seq == next as u16 {
            self.arrivals.push_back(Some(arrival));
        } else {
            self.push_out_of_turn(seq, arrival, next);
        }
    }

    #[cold]
    fn push_out_of_turn(&mut self, seq: u16, arrival: Arrival, next: u64) {
        // The shorter way round the wrap.
        let number = next.saturating_add_signed(i64::from(seq.wrapping_sub(next as u16).cast_signed()));
        if number >= next + MAX_GAP {
            (self.base, self.unreported, self.lowest) = (number, number, number);
            self.arrivals.clear();
            self.arrivals.push_back(Some(arrival));
        } else if number >= next {
            self.arrivals.resize((number - self.base) as usize, None);
            self.arrivals.push_back(Some(arrival));
        } else if let Some(place) = number.checked_sub(self.base) {
            if self.arrivals[place as usize].take_in(arrival) {
                self.unreported = self.unreported.min(number);
            }
        } else if self.base == self.lowest && self.base < number + MAX_LATE_START {
            // The stream began with packets out of order.
            (number + 1..self.base).for_each(|_| self.arrivals.push_front(None));
            self.arrivals.push_front(Some(arrival));
            (self.base, self.unreported, self.lowest) = (number, number, number);
        }
    }

    fn forget(&mut self, now: Timestamp) {
        let reported = (self.unreported - self.base) as usize;
        let mut done = 0;
        for (place, arrival) in self.arrivals.iter().take(reported).enumerate() {
            match arrival {
                Some(arrival) if now - arrival.at > BACK_WINDOW => done = place + 1,
                Some(_) => break,
                None => {}
            }
        }
        self.arrivals.drain(..done);
        self.base += done as u64;
    }
}

/// Merging another copy of an entry's packet.
trait TakeIn {
    /// True if there is something new to report.
    fn take_in(&mut self, arrival: Arrival) -> bool;
}

impl TakeIn for Option<Arrival> {
    // [rfc8888] §3.1: of duplicates the earliest arrival is reported, and CE if any copy carried it.
    fn take_in(&mut self, arrival: Arrival) -> bool {
        match self {
            None => {
                *self = Some(arrival);
                true
            }
            Some(first) => {
                let marked = arrival.ecn.is_ce() && !first.ecn.is_ce();
                if marked {
                    first.ecn = Ecn::Ce;
                }
                marked
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_wire::ccfb::Feedback;

    const VIDEO: u32 = 7;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn log(now_ms: i64, seqs: &[u16]) -> StreamLog {
        let mut log = StreamLog::default();
        seqs.iter().for_each(|&seq| log.push(at(now_ms), VIDEO, seq, Ecn::Ect0));
        log
    }

    /// The next report: SSRC, number, and the metric if it arrived.
    fn reported(log: &mut StreamLog, now_ms: i64) -> Vec<(u32, u16, Option<Metric>)> {
        let mut bytes = Vec::new();
        if !log.write_feedback(&mut bytes, at(now_ms), 1) {
            return Vec::new();
        }
        let feedback = Feedback::parse(&bytes).unwrap();
        assert_eq!(feedback.report_timestamp, CompactNtp::from_timestamp(at(now_ms)));
        feedback.blocks().flat_map(|block| block.metrics().map(move |(seq, m)| (block.ssrc, seq, m))).collect()
    }

    fn arrived(reported: &[(u32, u16, Option<Metric>)]) -> Vec<(u16, bool)> {
        reported.iter().map(|&(_, seq, metric)| (seq, metric.is_some())).collect()
    }

    /// [rfc8888] §3.1, worked by hand: 500 ms before the report are 512 of 1/1024 s.
    #[test]
    fn each_packet_is_reported_once_with_its_offset_from_the_report() {
        let mut log = log(1_000, &[10, 11, 13]);
        let first = reported(&mut log, 1_500);
        assert_eq!(arrived(&first), [(10, true), (11, true), (12, false), (13, true)]);
        assert_eq!(first[0].2, Some(Metric { ecn: Ecn::Ect0, offset: ArrivalOffset::Units(512) }));
        assert_eq!(reported(&mut log, 1_600), []);
    }

    #[test]
    fn streams_are_reported_separately_and_their_numbers_wrap() {
        let mut log = log(0, &[65_534, 65_535, 0]);
        log.push(at(1), 9, 65_000, Ecn::Ce);
        let all = reported(&mut log, 2);
        assert_eq!(arrived(&all), [(65_534, true), (65_535, true), (0, true), (65_000, true)]);
        assert_eq!((all[3].0, all[3].2.map(|metric| metric.ecn)), (9, Some(Ecn::Ce)));
    }

    /// [rfc8888] §3: reports overlap if reordering crosses the boundary between them, and a received packet stays
    /// received.
    #[test]
    fn a_late_packet_makes_the_report_go_back_to_it() {
        let mut log = log(0, &[0, 2]);
        reported(&mut log, 10);
        log.push(at(20), VIDEO, 1, Ecn::Ect0);
        log.push(at(21), VIDEO, 3, Ecn::Ect0);
        assert_eq!(arrived(&reported(&mut log, 30)), [(1, true), (2, true), (3, true)]);
    }

    /// [rfc8888] §3.1: the earliest of two copies, CE if either was.
    #[test]
    fn of_two_copies_the_earlier_arrival_counts_and_the_mark_of_either() {
        let mut log = log(0, &[0, 1]);
        log.push(at(250), VIDEO, 1, Ecn::Ce);
        log.push(at(251), VIDEO, 1, Ecn::Ect0);
        let metric = reported(&mut log, 1_000)[1].2.unwrap();
        assert_eq!(metric, Metric { ecn: Ecn::Ce, offset: ArrivalOffset::Units(1_024) });
        log.push(at(1_001), VIDEO, 0, Ecn::Ce);
        assert_eq!(arrived(&reported(&mut log, 1_002)), [(0, true), (1, true)]);
    }

    #[test]
    fn a_stream_may_begin_out_of_order() {
        let mut log = log(0, &[3, 1, 0]);
        assert_eq!(arrived(&reported(&mut log, 10)), [(0, true), (1, true), (2, false), (3, true)]);
        log.push(at(11), VIDEO, 65_535, Ecn::Ect0);
        assert_eq!(arrived(&reported(&mut log, 12)).len(), 5);
    }

    #[test]
    fn old_entries_are_forgotten_numbering_continues_and_a_jump_starts_over() {
        let mut log = log(0, &[0, 1, 2]);
        reported(&mut log, 10);
        log.forget(at(600));
        log.push(at(700), VIDEO, 1, Ecn::Ect0);
        assert_eq!(reported(&mut log, 700), []);
        log.push(at(700), VIDEO, 5, Ecn::Ect0);
        assert_eq!(arrived(&reported(&mut log, 800)), [(3, false), (4, false), (5, true)]);
        log.push(at(900), VIDEO, 30_000, Ecn::Ect0);
        assert_eq!(arrived(&reported(&mut log, 900)), [(30_000, true)]);
    }

    #[test]
    fn large_reports_are_split_into_datagrams_that_fit_a_network() {
        let mut log = StreamLog::default();
        (0..1_300u16).for_each(|seq| log.push(at(0), u32::from(seq % 2), seq / 2, Ecn::NotEct));
        let (mut sizes, mut bytes) = (Vec::new(), Vec::new());
        while log.write_feedback(&mut bytes, at(10), 1) {
            sizes.push(bytes.len());
            bytes.clear();
        }
        assert!(sizes.len() == 3 && sizes.iter().all(|&size| size <= 1_100), "{sizes:?}");
    }
}
