//! A TCP flow among others.

use super::flow::{Flow, Tails, arrival};
use super::link::Links;
use super::parcel::{Parcel, Way};
use crate::cross_traffic::{TcpConfig, TcpReceiver, TcpSender};
use legato_path::{DropNotice, Ecn, Packet, Path};
use legato_trace::TrafficFigures;
use legato_units::Timestamp;
use rand_chacha::ChaCha8Rng;

/// Both ends of a TCP flow, its ways, and what it did.
pub struct TcpFlow {
    flow: u16,
    sender: TcpSender,
    receiver: TcpReceiver,
    tails: Tails,
    start: Timestamp,
    stop: Timestamp,
    figures: TrafficFigures,
    /// Over all connections.
    retransmissions: u64,
    /// Cached: asked for far more often than it changes.
    ends_due: Timestamp,
    done: bool,
}

impl TcpFlow {
    /// A flow that lives as long as its figures say; `rng` is for its workload and algorithm.
    pub fn new(
        flow: u16,
        config: &TcpConfig,
        (start, stop): (Timestamp, Timestamp),
        tails: Tails,
        figures: TrafficFigures,
        rng: ChaCha8Rng,
    ) -> Self {
        let sender = TcpSender::new(config, start, rng);
        Self {
            flow,
            sender,
            receiver: TcpReceiver::new(config),
            tails,
            start,
            stop,
            figures,
            retransmissions: 0,
            ends_due: start,
            done: false,
        }
    }

    /// What it did.
    pub fn figures(self) -> TrafficFigures {
        self.figures
    }

    /// Send what may be sent and acknowledge what should be.
    fn drain(&mut self, now: Timestamp, outbox: &mut Vec<Packet<Parcel>>) {
        while let Some(segment) = self.sender.poll(now) {
            let size = segment.wire_size();
            self.figures.sent(now, size.as_bytes());
            self.retransmissions += u64::from(segment.retransmission);
            outbox.push(Parcel::Segment(segment).packet(self.flow, size, segment.ecn()));
        }
        while let Some(ack) = self.receiver.poll_ack(now) {
            outbox.push(Parcel::Ack(ack).packet(self.flow, ack.wire_size(), Ecn::NotEct));
        }
        let due = |deadline: Option<Timestamp>| deadline.unwrap_or(Timestamp::MAX);
        self.ends_due = due(self.sender.next_deadline()).min(due(self.receiver.next_deadline())).max(now);
    }
}

impl Flow for TcpFlow {
    fn due(&self) -> Timestamp {
        if self.done {
            return Timestamp::MAX;
        }
        self.tails.due().min(self.ends_due).min(self.stop)
    }

    fn turn(&mut self, now: Timestamp, _links: &mut Links, outbox: &mut Vec<Packet<Parcel>>) {
        if now >= self.stop {
            self.figures.goodput_bytes = self.receiver.delivered().as_bytes();
            self.figures.retransmissions = Some(self.retransmissions);
            self.done = true;
            return;
        }
        debug_assert!(now >= self.start, "nothing is due before the start");
        if arrival(&self.tails.out) <= now {
            if let Some(delivered) = self.tails.out.pop(now)
                && let Parcel::Segment(segment) = delivered.packet.payload
            {
                self.figures.received(now, delivered.packet.size.as_bytes(), segment.sent);
                self.receiver.on_segment(now, &segment, delivered.packet.ecn == Ecn::Ce);
            }
        } else if arrival(&self.tails.back) <= now {
            if let Some(delivered) = self.tails.back.pop(now)
                && let Parcel::Ack(ack) = delivered.packet.payload
            {
                self.sender.on_ack(now, &ack);
            }
        } else {
            self.sender.on_deadline(now);
        }
        self.drain(now, outbox);
    }

    fn tail(&mut self, way: Way) -> &mut Path<Parcel> {
        self.tails.of(way)
    }

    fn dropped(&mut self, notice: DropNotice<Parcel>) {
        if matches!(notice.packet.payload, Parcel::Segment(_)) {
            self.figures.lost(notice.at);
        }
    }
}
