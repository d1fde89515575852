//! The network of a call whose sending end is ours: packets leave through the connection, which encrypts them, and the
//! link; RTCP comes back through both.
//!
//! A packet's departure is the time at which it is passed to the link, encrypted in the same step.

use crate::clock::Clock;
use crate::connection::peer::{Peer, PeerOutput};
use crate::connection::rtcp_bytes::Received;
use crate::error::Error;
use crate::network::event::Media;
use crate::network::link::Link;
use crate::pictures::camera::{CodedFrames, Payload};
use legato_call::parity::parity_payload;
use legato_call::{Arrival, Network, Rtcp, Sent, rtcp_wire_size};
use legato_control::{PacketKind, Side};
use legato_media::packet::MediaPacket;
use legato_trace::{End, Record, TraceSink};
use legato_units::Timestamp;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Connection, link, and the payloads of departing packets.
pub(crate) struct RealNetwork {
    pub peer: Peer,
    pub link: Link,
    /// Since the call was set up; since media began, once they have.
    pub clock: Clock,
    /// When the connection is due next, by the clock.
    pub due: Timestamp,
    /// Encrypted in both directions.
    pub connected: bool,
    pub sent_bytes: u64,
    /// Packets that str0m numbered differently from the sender.
    pub misnumbered: u64,
    frames: CodedFrames,
    /// Frames sent lately, and the RTP numbers of their first packets.
    first_seqs: VecDeque<(u32, u32)>,
    last_capture: Timestamp,
    lost: bool,
    /// RTCP for the sender, and when it entered the link.
    received: VecDeque<Received>,
    entered: Timestamp,
    failure: Option<Error>,
}

/// Parity leaves the pacer right behind its frame.
const FRAMES_REMEMBERED: usize = 8;

impl RealNetwork {
    /// Nothing sent yet.
    pub fn new(peer: Peer, link: Link, clock: Clock, frames: CodedFrames) -> Self {
        Self {
            peer,
            link,
            clock,
            due: Timestamp::ZERO,
            connected: false,
            sent_bytes: 0,
            misnumbered: 0,
            frames,
            first_seqs: VecDeque::new(),
            last_capture: Timestamp::ZERO,
            lost: false,
            received: VecDeque::new(),
            entered: Timestamp::ZERO,
            failure: None,
        }
    }

    /// Media begin, and with them the call's clock. Earlier packets are useless.
    pub fn begin(&mut self, clock: Clock) {
        (self.clock, self.due, self.lost) = (clock, Timestamp::ZERO, false);
        self.received.clear();
    }

    /// Let the connection process due events.
    pub fn tick(&mut self, now: Timestamp) -> Result<(), Error> {
        self.peer.tick(self.clock.instant(now))?;
        self.drain(now, None)
    }

    /// A datagram came out of the link, which it had entered at `entered`. RTCP in it is recorded, and waits for the
    /// sender.
    pub fn receive(
        &mut self,
        now: Timestamp,
        (datagram, from, entered): (&[u8], SocketAddr, Timestamp),
        sink: &mut impl TraceSink,
    ) -> Result<(), Error> {
        self.entered = entered;
        self.peer.receive(self.clock.instant(now), datagram, from);
        self.drain(now, None)?;
        for Received { bytes, nacked, keyframe } in &self.received {
            sink.record(entered, &Record::RtcpSent { by: End::Receiver, bytes });
            let size_bytes = rtcp_wire_size(bytes.len()).as_bytes() as u32;
            sink.record(entered, &Record::FeedbackSent { size_bytes });
            if *nacked > 0 {
                sink.record(entered, &Record::Nack { packets: *nacked });
            }
            if *keyframe {
                sink.record(entered, &Record::Pli);
            }
        }
        Ok(())
    }

    /// Whether packets can leave.
    pub fn check(&mut self, now: Timestamp) -> Result<(), Error> {
        if self.lost {
            let at = now.as_secs_f64();
            return Err(Error::Connection(format!("the other end no longer answers, {at:.1} s into the call")));
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn write(&mut self, packet: &MediaPacket) -> Result<(), Error> {
        let payload = match packet.kind {
            PacketKind::Video | PacketKind::Retransmission => self.frames.payload(packet.frame, packet.index),
            PacketKind::Fec if self.peer.takes_parity() => self.parity(packet),
            _ => None,
        };
        if packet.kind == PacketKind::Video {
            self.remember(packet);
        }
        if let Some(payload) = payload.as_ref().filter(|_| packet.kind == PacketKind::Video) {
            self.last_capture = payload.capture;
        }
        self.sent_bytes += u64::from(packet.size_bytes);
        let MediaPacket { transport_seq, size_bytes, departure, .. } = *packet;
        let instant = self.clock.instant(departure);
        self.peer.write(instant, packet, payload, self.last_capture);
        self.peer.tick(instant)?;
        self.drain(departure, Some(Media { transport_seq, size_bytes, departure }))
    }

    fn remember(&mut self, packet: &MediaPacket) {
        let first = packet.rtp_seq.wrapping_sub(packet.index.into());
        if self.first_seqs.back() != Some(&(packet.frame, first)) {
            self.first_seqs.push_back((packet.frame, first));
        }
        if self.first_seqs.len() > FRAMES_REMEMBERED {
            self.first_seqs.pop_front();
        }
    }

    /// What a parity packet carries; `None`: its frame is too large for the code, and the packet goes as filler.
    fn parity(&self, packet: &MediaPacket) -> Option<Payload> {
        let (_, first_seq) = self.first_seqs.iter().rev().find(|(frame, _)| *frame == packet.frame)?;
        let media: Option<Vec<Payload>> =
            (0..packet.count).map(|index| self.frames.payload(packet.frame, index)).collect();
        let media = media?;
        let capture = media.first()?.capture;
        let payloads: Vec<Vec<u8>> = media.into_iter().map(|payload| payload.bytes).collect();
        let place = u8::try_from(packet.index.checked_sub(packet.count)?).ok()?;
        let bytes = parity_payload(*first_seq as u16, &payloads, place)?;
        Some(Payload { bytes, capture, psnr_db: None })
    }

    /// Do what the connection requests. `media`: the packet just written.
    fn drain(&mut self, now: Timestamp, mut media: Option<Media>) -> Result<(), Error> {
        loop {
            match self.peer.poll(now)? {
                PeerOutput::Transmit(bytes, to) => {
                    let own = media.take_if(|media| self.peer.is_packet(&bytes, media));
                    self.link.send(self.clock, now, bytes, to, own);
                }
                PeerOutput::Rtcp(rtcp) => self.received.push_back(rtcp),
                PeerOutput::Lost => self.lost = true,
                PeerOutput::Connected => self.connected = true,
                PeerOutput::Deadline(at) => {
                    self.due = self.clock.at(at);
                    break;
                }
            }
        }
        // Written, yet it did not come out under its number.
        self.misnumbered += u64::from(media.is_some());
        Ok(())
    }
}

impl Network for RealNetwork {
    fn send(&mut self, _from: Side, _now: Timestamp, sent: Sent) {
        // The connection writes the reports.
        let Sent::Media(burst) = sent else { return };
        let mut packets = burst.iter();
        while self.failure.is_none()
            && let Some(packet) = packets.next()
        {
            self.failure = self.write(&packet).err();
        }
    }

    fn next_arrival(&self, at: Side) -> Timestamp {
        if at == Side::Sender && !self.received.is_empty() { self.entered } else { Timestamp::MAX }
    }

    fn pop(&mut self, _at: Side, _now: Timestamp) -> Option<Arrival> {
        let Received { bytes, .. } = self.received.pop_front()?;
        Some(Arrival::Rtcp(Rtcp { left: self.entered, bytes }))
    }
}
