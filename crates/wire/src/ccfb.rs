//! Congestion control feedback of RFC 8888: for each stream, which packets arrived, with which
//! mark, and how long before the report.
//!
//! After the RTCP header comes the sender's SSRC. Each stream has its SSRC, first sequence number, count of metrics,
//! and 16 bits per metric (received, ECN, arrival time offset), padded to a word. Last comes the report timestamp.
//!
//! **Where the RFC and practice differ.** "begin_seq to begin_seq + num_reports inclusive" is off by
//! one: num_reports is a count. A last block without metrics is accepted, though libwebrtc refuses
//! it, and for that reason never written. More than 16,384 metrics in a block are refused, as the
//! RFC says and libwebrtc does not. The other bits in the metric of a packet that was not received
//! are ignored.

use crate::Error;
use crate::ntp::CompactNtp;
use crate::reader::Reader;
use crate::rtcp::{Packet, TRANSPORT_FEEDBACK, write_packet};
use legato_units::{Ecn, TimeDelta};

/// The FMT of this feedback, within packet type 205.
pub const FORMAT: u8 = 11;
/// The maximum number of metrics in a block (RFC 8888 section 3.1).
pub const MAX_METRICS: usize = 16_384;
/// The maximum number of blocks read from or written into one packet.
pub const MAX_BLOCKS: usize = 64;

/// How long before the report timestamp a packet arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalOffset {
    /// In units of 1/1024 s, 0..=8189.
    Units(u16),
    /// Longer than 8189/1024 s.
    OverRange,
    /// Unknown, or after the report timestamp.
    Unavailable,
}

impl ArrivalOffset {
    /// `span` to the nearest unit; negative is unavailable.
    pub fn from_delta(span: TimeDelta) -> Self {
        // Clamped to 16 s, well past the range, so the product cannot overflow.
        match span.as_nanos().min(16 * NS_PER_S) {
            ..0 => Self::Unavailable,
            // [rfc8888] §3.1: "more than 8189/1024 s" is of the span, not of the unit nearest to it.
            ns if ns << 10 > MAX_UNITS * NS_PER_S => Self::OverRange,
            ns => Self::Units((((ns << 10) + NS_PER_S / 2) / NS_PER_S) as u16),
        }
    }

    /// The span, if there is one.
    pub fn to_delta(self) -> Option<TimeDelta> {
        match self {
            Self::Units(units) => Some(TimeDelta::from_nanos((i64::from(units) * NS_PER_S + (1 << 9)) >> 10)),
            Self::OverRange | Self::Unavailable => None,
        }
    }
}

/// The report on a packet that arrived. Among duplicates the earliest arrival counts, and CE if any
/// copy carried it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its mark.
    pub ecn: Ecn,
    /// When it arrived.
    pub offset: ArrivalOffset,
}

/// One feedback packet, fully validated, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// The reporting end.
    pub sender_ssrc: u32,
    /// The origin of the arrival offsets, which count back from it, by the receiver's clock.
    pub report_timestamp: CompactNtp,
    blocks: &'a [u8],
}

/// The report on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The stream.
    pub ssrc: u32,
    /// The first sequence number reported on; with no metrics, the highest seen.
    pub begin_seq: u16,
    metrics: &'a [u8],
}

impl<'a> Feedback<'a> {
    /// Reads one RTCP packet, header included.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_packet(&Packet::parse(bytes)?)
    }

    /// Reads a feedback met in a compound.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(TRANSPORT_FEEDBACK, FORMAT)?;
        let mut reader = Reader::new(packet.body());
        let sender_ssrc = reader.u32("ccfb.sender_ssrc")?;
        let Some((blocks, &timestamp)) = reader.rest().split_last_chunk() else {
            let available = reader.rest().len();
            return Err(Error::Truncated { field: "ccfb.report_timestamp", needed: 4, available });
        };
        let mut reader = Reader::new(blocks);
        let mut count = 0;
        while !reader.rest().is_empty() {
            count += 1;
            if count > MAX_BLOCKS {
                return Err(Error::Trailing { field: "ccfb.blocks", bytes: reader.rest().len() });
            }
            Block::read(&mut reader)?;
        }
        Ok(Self { sender_ssrc, report_timestamp: CompactNtp(u32::from_be_bytes(timestamp)), blocks })
    }

    /// The streams reported on.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let mut reader = Reader::new(self.blocks);
        // `from_packet` read all of them, so the first error is the end.
        core::iter::from_fn(move || Block::read(&mut reader).ok())
    }
}

impl<'a> Block<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let ssrc = reader.u32("ccfb.ssrc")?;
        let begin_seq = reader.u16("ccfb.begin_seq")?;
        let count = usize::from(reader.u16("ccfb.num_reports")?);
        // [rfc8888] §3.1. Deviates: the text's inclusive range is read as a count, as in all implementations.
        if count > MAX_METRICS {
            return Err(Error::Invalid { field: "ccfb.num_reports", value: count as u64 });
        }
        let metrics = reader.bytes(2 * count, "ccfb.metrics")?;
        reader.bytes(2 * (count & 1), "ccfb.padding")?;
        Ok(Self { ssrc, begin_seq, metrics })
    }

    /// Every packet reported on, in sequence order; `None` was not received.
    pub fn metrics(&self) -> impl ExactSizeIterator<Item = (u16, Option<Metric>)> + use<'a> {
        let begin = self.begin_seq;
        let metrics = self.metrics.as_chunks().0.iter().enumerate();
        metrics.map(move |(i, &bytes)| (begin.wrapping_add(i as u16), read_metric(u16::from_be_bytes(bytes))))
    }
}

/// One stream to be reported on.
#[derive(Clone, Copy, Debug)]
pub struct StreamReport<'a> {
    /// The stream.
    pub ssrc: u32,
    /// The first sequence number reported on.
    pub begin_seq: u16,
    /// One per sequence number; `None` was not received. At most [`MAX_METRICS`].
    pub metrics: &'a [Option<Metric>],
}

/// Appends one feedback packet. Streams without metrics at the end are left out.
///
/// # Panics
/// Debug builds panic past [`MAX_BLOCKS`] streams or [`MAX_METRICS`] metrics; release builds drop
/// the excess.
pub fn write(out: &mut Vec<u8>, sender_ssrc: u32, report_timestamp: CompactNtp, streams: &[StreamReport<'_>]) {
    debug_assert!(streams.len() <= MAX_BLOCKS, "{} streams are more than {MAX_BLOCKS}", streams.len());
    let streams = &streams[..streams.len().min(MAX_BLOCKS)];
    let reported = streams.iter().rposition(|stream| !stream.metrics.is_empty()).map_or(0, |last| last + 1);
    write_packet(out, TRANSPORT_FEEDBACK, FORMAT, |out| {
        out.extend_from_slice(&sender_ssrc.to_be_bytes());
        for stream in &streams[..reported] {
            debug_assert!(stream.metrics.len() <= MAX_METRICS, "{} metrics in a block", stream.metrics.len());
            let metrics = &stream.metrics[..stream.metrics.len().min(MAX_METRICS)];
            out.extend_from_slice(&stream.ssrc.to_be_bytes());
            out.extend_from_slice(&stream.begin_seq.to_be_bytes());
            out.extend_from_slice(&(metrics.len() as u16).to_be_bytes());
            for metric in metrics {
                out.extend_from_slice(&metric.map_or(0, write_metric).to_be_bytes());
            }
            if metrics.len() % 2 == 1 {
                out.extend_from_slice(&[0; 2]);
            }
        }
        out.extend_from_slice(&report_timestamp.0.to_be_bytes());
    });
}

// [rfc8888] §3.1: R (1 bit), ECN (2), ATO (13); with R = 0 the rest is ignored.
fn read_metric(bits: u16) -> Option<Metric> {
    if bits & RECEIVED == 0 {
        return None;
    }
    let ecn = match (bits >> 13) & 3 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    let offset = match bits & UNAVAILABLE {
        OVER_RANGE => ArrivalOffset::OverRange,
        UNAVAILABLE => ArrivalOffset::Unavailable,
        units => ArrivalOffset::Units(units),
    };
    Some(Metric { ecn, offset })
}

fn write_metric(metric: Metric) -> u16 {
    let ecn = match metric.ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    };
    let offset = match metric.offset {
        ArrivalOffset::Units(units) => units.min(OVER_RANGE),
        ArrivalOffset::OverRange => OVER_RANGE,
        ArrivalOffset::Unavailable => UNAVAILABLE,
    };
    RECEIVED | (ecn << 13) | offset
}

const NS_PER_S: i64 = 1_000_000_000;
const RECEIVED: u16 = 0x8000;
const MAX_UNITS: i64 = 8_189;
const OVER_RANGE: u16 = 0x1ffe;
const UNAVAILABLE: u16 = 0x1fff;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn units(ecn: Ecn, units: u16) -> Option<Metric> {
        Some(Metric { ecn, offset: ArrivalOffset::Units(units) })
    }

    /// [rfc8888] §3.1: the metrics of libwebrtc's congestion_control_feedback_unittest.cc (BSD-3).
    #[test]
    fn golden_metrics_read_and_write_the_same() {
        let special = |offset| Some(Metric { ecn: Ecn::NotEct, offset });
        for (bits, metric) in [
            (0x0000, None),
            (0x8000, units(Ecn::NotEct, 0)),
            (0x9ffd, units(Ecn::NotEct, 8_189)),
            (0x9ffe, special(ArrivalOffset::OverRange)),
            (0x9fff, special(ArrivalOffset::Unavailable)),
            (0xfff8, units(Ecn::Ce, 8_184)),
        ] {
            assert_eq!(read_metric(bits), metric, "{bits:04x}");
            assert_eq!(metric.map_or(0, write_metric), bits);
        }
        for junk in [0x6200, 0x2200, 0x7fff] {
            assert_eq!(read_metric(junk), None, "{junk:04x}");
        }
    }

    /// [rfc8888] §3.1, by hand: 8,189.3 units are more than 8,189, although that is the nearest; 8,188.7 are 8,189.
    #[test]
    fn an_offset_is_compared_with_the_range_before_it_is_rounded() {
        let from_units = |units: f64| ArrivalOffset::from_delta(TimeDelta::from_secs_f64(units / 1_024.0));
        assert_eq!(from_units(8_188.7), ArrivalOffset::Units(8_189));
        assert_eq!(from_units(8_189.3), ArrivalOffset::OverRange);
        let exact = TimeDelta::from_nanos(8_189 * NS_PER_S / 1_024);
        assert_eq!(ArrivalOffset::from_delta(exact), ArrivalOffset::Units(8_189));
        assert_eq!(ArrivalOffset::from_delta(exact + TimeDelta::from_nanos(1)), ArrivalOffset::OverRange);
    }

    #[test]
    fn offsets_round_to_the_nearest_unit_or_are_marked_out_of_range() {
        let from_ms = |ms| ArrivalOffset::from_delta(TimeDelta::from_millis(ms));
        assert_eq!(from_ms(1_000), ArrivalOffset::Units(1_024));
        assert_eq!(from_ms(-1), ArrivalOffset::Unavailable);
        assert_eq!(from_ms(8_000), ArrivalOffset::OverRange);
        assert_eq!(ArrivalOffset::from_delta(TimeDelta::MAX), ArrivalOffset::OverRange);
        assert_eq!(ArrivalOffset::Units(512).to_delta(), Some(TimeDelta::from_millis(500)));
        assert_eq!(ArrivalOffset::OverRange.to_delta(), None);
    }

    fn packet(body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, TRANSPORT_FEEDBACK, FORMAT, |out| out.extend_from_slice(body));
        bytes
    }

    #[test]
    fn a_last_block_without_metrics_is_read_but_never_written() {
        let bytes = packet(&[0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0, 0, 0, 0, 3]);
        let feedback = Feedback::parse(&bytes).unwrap();
        let block = feedback.blocks().next().unwrap();
        assert_eq!((block.ssrc, block.begin_seq, block.metrics().len()), (2, 9, 0));
        let mut written = Vec::new();
        write(&mut written, 1, CompactNtp(3), &[StreamReport { ssrc: 2, begin_seq: 9, metrics: &[] }]);
        assert_eq!(written, packet(&[0, 0, 0, 1, 0, 0, 0, 3]));
        assert_eq!(Feedback::parse(&written).unwrap().blocks().count(), 0);
    }

    #[test]
    fn sequence_numbers_wrap_within_a_block() {
        let bytes = packet(&[0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0, 2, 0x80, 5, 0, 0, 0, 0, 0, 3]);
        let block = Feedback::parse(&bytes).unwrap().blocks().next().unwrap();
        assert_eq!(block.metrics().collect::<Vec<_>>(), [(65_535, units(Ecn::NotEct, 5)), (0, None)]);
    }

    #[test]
    fn missing_padding_timestamps_and_metrics_are_refused() {
        let odd = [0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 3];
        assert!(Feedback::parse(&packet(&odd)).is_ok());
        // The last word is always the timestamp: without it, the block's own bytes run out.
        assert!(Feedback::parse(&packet(&odd[..16])).is_err(), "no timestamp");
        assert!(Feedback::parse(&packet(&odd[..4])).is_err(), "sender SSRC alone");
        assert!(Feedback::parse(&packet(&[])).is_err());
        let mut more = odd;
        more[11] = 3;
        assert!(Feedback::parse(&packet(&more)).is_err(), "3 metrics in a word");
    }

    #[test]
    fn more_than_16384_metrics_or_64_blocks_are_refused() {
        let block_of = |metrics: usize| {
            let mut body = vec![0, 0, 0, 1, 0, 0, 0, 2, 0, 0];
            body.extend_from_slice(&(metrics as u16).to_be_bytes());
            body.resize(body.len() + 2 * metrics.next_multiple_of(2) + 4, 0);
            packet(&body)
        };
        assert!(Feedback::parse(&block_of(MAX_METRICS)).is_ok());
        let error = Feedback::parse(&block_of(MAX_METRICS + 1)).unwrap_err();
        assert_eq!(error, Error::Invalid { field: "ccfb.num_reports", value: 16_385 });
        assert!(Feedback::parse(&packet(&vec![0; 8 + 8 * MAX_BLOCKS])).is_ok());
        assert!(Feedback::parse(&packet(&vec![0; 8 + 8 * (MAX_BLOCKS + 1)])).is_err());
    }

    fn metric() -> impl Strategy<Value = Option<Metric>> {
        let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
        let offset = prop_oneof![
            8 => (0u16..=8_189).prop_map(ArrivalOffset::Units),
            1 => Just(ArrivalOffset::OverRange),
            1 => Just(ArrivalOffset::Unavailable),
        ];
        prop::option::of((ecn, offset).prop_map(|(ecn, offset)| Metric { ecn, offset }))
    }

    proptest! {
        #[test]
        fn feedback_reads_back_as_written(
            sender_ssrc: u32, timestamp: u32,
            streams in prop::collection::vec(
                (any::<u32>(), any::<u16>(), prop::collection::vec(metric(), 1..40)), 0..5),
        ) {
            let reports: Vec<StreamReport<'_>> = streams.iter()
                .map(|(ssrc, begin_seq, metrics)| StreamReport { ssrc: *ssrc, begin_seq: *begin_seq, metrics })
                .collect();
            let mut bytes = Vec::new();
            write(&mut bytes, sender_ssrc, CompactNtp(timestamp), &reports);
            let feedback = Feedback::parse(&bytes).unwrap();
            prop_assert_eq!((feedback.sender_ssrc, feedback.report_timestamp.0), (sender_ssrc, timestamp));
            let read: Vec<_> = feedback.blocks().map(|block| {
                let metrics: Vec<_> = block.metrics().map(|(_, metric)| metric).collect();
                (block.ssrc, block.begin_seq, metrics)
            }).collect();
            prop_assert_eq!(read, streams);
        }
    }
}
