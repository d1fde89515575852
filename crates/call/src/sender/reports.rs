//! Sender reports: packets sent so far, and the answer to the receiver's reference time.

use legato_media::packet::VIDEO_SSRC;
use legato_units::{TimeDelta, Timestamp};
use legato_wire::ntp::{self, CompactNtp, Ntp};
use legato_wire::rtcp::{self, ExtendedBlock};

/// Reports at an interval.
pub(super) struct Reports {
    next: Timestamp,
    /// The latest reference time of the other end: its SSRC, the time, and when it came.
    reference_time: Option<(u32, CompactNtp, Timestamp)>,
    packets: u32,
    octets: u32,
}

/// Enough for a fresh round-trip time.
const INTERVAL: TimeDelta = TimeDelta::from_secs(1);

impl Reports {
    /// Nothing sent in a call that begins at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self { next: start + INTERVAL, reference_time: None, packets: 0, octets: 0 }
    }

    /// No reports at all.
    pub fn none() -> Self {
        Self { next: Timestamp::MAX, reference_time: None, packets: 0, octets: 0 }
    }

    /// When the next one is due.
    #[inline]
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// Packets left, with so many octets of payload.
    #[inline]
    pub fn sent(&mut self, packets: u32, octets: u32) {
        self.packets = self.packets.wrapping_add(packets);
        self.octets = self.octets.wrapping_add(octets);
    }

    /// The other end stated its time ([rfc3611] §4.4).
    pub fn take_reference_time(&mut self, ssrc: u32, time: CompactNtp, now: Timestamp) {
        self.reference_time = Some((ssrc, time, now));
    }

    /// The report that is due at `now`; the next one is due an interval later.
    pub fn pop(&mut self, now: Timestamp) -> Vec<u8> {
        self.next += INTERVAL;
        let mut bytes = Vec::with_capacity(64);
        let info = rtcp::SenderInfo {
            ssrc: VIDEO_SSRC,
            ntp: Ntp::from_timestamp(now),
            // A 90 kHz clock from the start of the run.
            rtp_timestamp: (i128::from(now.as_nanos()) * 9 / 100_000) as u32,
            packet_count: self.packets,
            octet_count: self.octets,
        };
        rtcp::write_sender_report(&mut bytes, &info, &[]);
        if let Some((ssrc, last_rr, at)) = self.reference_time {
            let delay_since_last_rr = ntp::compact_span(now - at);
            let answer = ExtendedBlock::DelaySinceLast { ssrc, last_rr, delay_since_last_rr };
            rtcp::write_extended_report(&mut bytes, VIDEO_SSRC, &answer);
        }
        bytes
    }
}
