//! Packets: coded frames cut and queued, and packets leaving the pacer.

use super::Sender;
use legato_control::{Event, PacketKind, SentPacket};
use legato_media::packet::{MediaPacket, RTX_SSRC};
use legato_media::{EncodedFrame, packetizer};
use legato_trace::{PacketSent, Record, TraceSink};
use legato_units::{Burst, DataSize};

impl Sender {
    /// Cut a frame into packets and queue them; how many.
    pub(super) fn packetize(&mut self, frame: &EncodedFrame) -> u16 {
        if let Some(pieces) = self.encoder.pieces(frame) {
            return self.packetize_as(frame, &pieces);
        }
        let pieces = packetizer::pieces(frame.size.as_bytes() as u32 - u32::from(frame.head_bytes));
        let head = u16::from(frame.head_bytes > 0);
        let count = pieces.packets() + head;
        let largest = pieces.clone().next().unwrap_or(0);
        if head > 0 {
            let first = self.numbering.video(self.now, frame, (0, count), frame.head_bytes);
            self.pacer.push(first);
            self.numbering.take_video(1);
        }
        let first = self.numbering.video(self.now, frame, (head, count), largest);
        self.numbering.take_video(pieces.packets());
        self.pacer.push_frame(first, &pieces);
        self.packetize_parity(frame, count, largest.max(frame.head_bytes));
        count
    }

    /// Packets that the codec made: each as large as it is.
    fn packetize_as(&mut self, frame: &EncodedFrame, pieces: &[u16]) -> u16 {
        let count = pieces.len() as u16;
        for (index, &bytes) in (0..count).zip(pieces) {
            let packet = self.numbering.video(self.now, frame, (index, count), bytes);
            self.pacer.push(packet);
            self.numbering.take_video(1);
        }
        self.packetize_parity(frame, count, pieces.iter().copied().max().unwrap_or(0));
        count
    }

    /// What may leave now. After a circuit breaker has tripped nothing may; reports go on ([rfc8083] section 4.5).
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Burst<MediaPacket>> {
        if self.decision.sending.cease || self.pacer.is_idle() {
            return None;
        }
        if self.decision.congestion_window.is_some() {
            // A window may be full after any packet.
            return self.pacer.pop(self.now).map(Burst::single);
        }
        self.pacer.pop_burst(self.now)
    }

    /// Packets leave: number and record them, and report each to the controller.
    #[inline]
    pub(super) fn depart(&mut self, mut burst: Burst<MediaPacket>, sink: &mut impl TraceSink) -> Burst<MediaPacket> {
        burst.first.transport_seq = self.history.next_seq();
        burst.first.ecn = self.config.ecn;
        if burst.first.ssrc == RTX_SSRC {
            burst.first.rtx_seq = self.numbering.retransmissions(burst.packets);
        }
        let in_flight = self.history.in_flight();
        self.history.push(&burst);
        let first = &burst.first;
        let media = match first.kind {
            PacketKind::Video => {
                self.repair.sent(&burst);
                true
            }
            PacketKind::Retransmission => {
                self.rate.repaired(burst.bytes());
                true
            }
            PacketKind::Fec => true,
            PacketKind::Audio | PacketKind::Padding => false,
        };
        let (packets, smaller) = (u32::from(burst.packets), burst.smaller);
        self.reports.sent(packets, packets * u32::from(first.payload_bytes) - u32::from(smaller));
        let size = DataSize::from_bytes(u64::from(first.size_bytes));
        let sent = SentPacket {
            transport_seq: first.transport_seq,
            ssrc: first.ssrc,
            size,
            kind: first.kind,
            probe_cluster: first.probe_cluster,
            in_flight: in_flight + size,
            place: first.place(),
        };
        self.controller.on_event(self.now, &Event::PacketsSent(burst.with(sent)));
        self.stale = true;
        self.pacer.set_in_flight(&self.decision, self.history.in_flight());
        let sent = PacketSent {
            transport_seq: first.transport_seq,
            ssrc: first.ssrc,
            kind: first.kind,
            size_bytes: first.size_bytes,
            sequence: media.then_some(first.frame),
            queued: self.now - first.enqueued,
        };
        sink.record(self.now, &Record::PacketsSent(burst.with(sent)));
        burst
    }
}
