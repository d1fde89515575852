//! The departure of a stream's packet: RFC 8888 feedback names packets by SSRC and RTP sequence
//! number, everything else here uses the transport-wide number.

use legato_media::packet::MediaPacket;
use legato_units::Burst;
use std::collections::VecDeque;

/// Departures by stream and sequence number.
#[derive(Clone, Debug, Default)]
pub struct StreamIndex {
    streams: Vec<Stream>,
}

/// Departures of one stream.
#[derive(Clone, Debug)]
pub struct Stream {
    ssrc: u32,
    /// Transport-wide numbers, by the stream's own from `base` on.
    departures: VecDeque<u64>,
    base: u64,
    /// One past the highest number in any report.
    reported: u64,
}

/// Numbers start one wrap above zero, so that there is room below the first.
const FIRST_TURN: u64 = 1 << 16;

impl StreamIndex {
    /// Packets left.
    #[inline]
    pub fn push(&mut self, burst: &Burst<MediaPacket>) {
        let first = &burst.first;
        let place = self.streams.iter().position(|stream| stream.ssrc == first.ssrc);
        let place = place.unwrap_or_else(|| {
            let base = FIRST_TURN + u64::from(first.stream_seq());
            self.streams.push(Stream { ssrc: first.ssrc, departures: VecDeque::new(), base, reported: base });
            self.streams.len() - 1
        });
        let stream = &mut self.streams[place];
        debug_assert_eq!(stream.next() as u16, first.stream_seq(), "a stream leaves in order, without gaps");
        stream.departures.extend((0..u64::from(burst.packets)).map(|place| first.transport_seq + place));
    }

    /// The stream of this SSRC.
    pub fn stream(&mut self, ssrc: u32) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.ssrc == ssrc)
    }

    /// Forget departures before a transport-wide number.
    pub fn forget_below(&mut self, transport_seq: u64) {
        for stream in &mut self.streams {
            let done = stream.departures.partition_point(|&departure| departure < transport_seq);
            stream.departures.drain(..done);
            stream.base += done as u64;
        }
    }
}

impl Stream {
    fn next(&self) -> u64 {
        self.base + self.departures.len() as u64
    }

    /// The number that a 16-bit one stands for: what feedback names was sent, so it is the latest such.
    pub fn unwrap(&self, seq: u16) -> Option<u64> {
        let last = self.next().checked_sub(1)?;
        last.checked_sub(u64::from((last as u16).wrapping_sub(seq)))
    }

    /// The transport-wide number of a packet; `None` if it is forgotten or was never sent.
    #[inline]
    pub fn departure(&self, number: u64) -> Option<u64> {
        self.departures.get(usize::try_from(number.checked_sub(self.base)?).ok()?).copied()
    }

    /// A report covers the numbers from `first` to before `end`; returns the transport-wide numbers
    /// of those between the previous reports and this one: no report will cover them any more.
    pub fn report(&mut self, first: u64, end: u64) -> impl Iterator<Item = u64> + '_ {
        let from = self.reported.max(self.base);
        self.reported = self.reported.max(end.min(self.next()));
        (from..first.min(self.next())).filter_map(|number| self.departure(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::PacketKind;
    use legato_media::packet::{AUDIO_SSRC, MediaPacket, VIDEO_SSRC};
    use legato_units::{Burst, Ecn, Timestamp};

    fn burst(ssrc: u32, rtp_seq: u32, transport_seq: u64, packets: u16) -> Burst<MediaPacket> {
        let first = MediaPacket {
            transport_seq,
            enqueued: Timestamp::ZERO,
            departure: Timestamp::ZERO,
            rtp_seq,
            rtx_seq: 0,
            ssrc,
            frame: 0,
            index: 0,
            count: packets,
            size_bytes: 1_000,
            payload_bytes: 900,
            kind: PacketKind::Video,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        };
        Burst { first, packets, smaller: 0 }
    }

    #[test]
    fn packets_of_each_stream_are_found_by_their_own_numbers_across_the_wrap() {
        let mut index = StreamIndex::default();
        index.push(&burst(VIDEO_SSRC, 65_534, 0, 2));
        index.push(&burst(AUDIO_SSRC, 9, 2, 1));
        index.push(&burst(VIDEO_SSRC, 65_536, 3, 2));
        let find = |index: &mut StreamIndex, ssrc, seq| {
            let stream = index.stream(ssrc)?;
            stream.departure(stream.unwrap(seq)?)
        };
        let found: Vec<_> = [65_534, 65_535, 0, 1, 2].map(|seq| find(&mut index, VIDEO_SSRC, seq)).into();
        assert_eq!(found, [Some(0), Some(1), Some(3), Some(4), None]);
        assert_eq!((find(&mut index, AUDIO_SSRC, 9), find(&mut index, 5, 9)), (Some(2), None));
        index.forget_below(3);
        assert_eq!((find(&mut index, VIDEO_SSRC, 65_535), find(&mut index, VIDEO_SSRC, 0)), (None, Some(3)));
    }

    #[test]
    fn packets_between_two_reports_are_given_up_once() {
        let mut index = StreamIndex::default();
        index.push(&burst(VIDEO_SSRC, 0, 10, 8));
        let stream = index.stream(VIDEO_SSRC).unwrap();
        let mut between = |first, end| {
            let (first, end) = (stream.unwrap(first).unwrap(), stream.unwrap(first).unwrap() + end);
            stream.report(first, end).collect::<Vec<_>>()
        };
        assert_eq!(between(0, 2), [0u64; 0]);
        assert_eq!(between(5, 1), [12, 13, 14]);
        // An overlapping report gives up nothing.
        assert_eq!(between(1, 6), [0u64; 0]);
    }
}
