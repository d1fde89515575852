//! A TCP flow among others.

use super::flow::Flow;
use super::lane::{Lane, LostAtOnce, Network};
use super::parcel::Parcel;
use crate::cross_traffic::{Ack, Segment, TcpConfig, TcpReceiver, TcpSender};
use legato_path::{DropNotice, Ecn, Packet};
use legato_trace::TrafficFigures;
use legato_units::Timestamp;
use rand_chacha::ChaCha8Rng;

/// Both ends of a TCP flow, its ways, and its figures.
pub struct TcpFlow {
    sender: TcpSender,
    receiver: TcpReceiver,
    data: Lane<Segment>,
    acks: Lane<Ack>,
    start: Timestamp,
    stop: Timestamp,
    figures: TrafficFigures,
    /// Over all connections.
    retransmissions: u64,
    /// Cached: read far more often than it changes.
    ends_due: Timestamp,
    done: bool,
}

impl TcpFlow {
    /// A flow with the lifetime in its figures; `rng` is for its workload and algorithm, `group` for when the fetches of
    /// its group begin.
    pub fn new(
        config: &TcpConfig,
        (start, stop): (Timestamp, Timestamp),
        (data, acks): (Lane<Segment>, Lane<Ack>),
        figures: TrafficFigures,
        (rng, group): (ChaCha8Rng, ChaCha8Rng),
    ) -> Self {
        let sender = TcpSender::new(config, start, rng).in_group(start, group);
        Self {
            sender,
            receiver: TcpReceiver::new(config),
            data,
            acks,
            start,
            stop,
            figures,
            retransmissions: 0,
            ends_due: start,
            done: false,
        }
    }

    /// Its figures.
    pub fn figures(self) -> TrafficFigures {
        self.figures
    }

    /// Send the segments that may leave.
    fn send(&mut self, now: Timestamp, network: &mut Network) {
        while let Some(segment) = self.sender.poll(now) {
            let size = segment.wire_size();
            self.figures.sent(now, size.as_bytes());
            self.retransmissions += u64::from(segment.retransmission);
            if let Some(LostAtOnce(at, ..)) = self.data.send(now, network, size, segment.ecn(), segment) {
                self.figures.lost(at);
            }
        }
    }

    /// Send due acknowledgments.
    fn acknowledge(&mut self, now: Timestamp, network: &mut Network) {
        while let Some(ack) = self.receiver.poll_ack(now) {
            self.acks.send(now, network, ack.wire_size(), Ecn::NotEct, ack);
        }
    }
}

impl Flow for TcpFlow {
    fn due(&self) -> Timestamp {
        if self.done {
            return Timestamp::MAX;
        }
        self.data.due().min(self.acks.due()).min(self.ends_due).min(self.stop)
    }

    fn turn(&mut self, now: Timestamp, network: &mut Network) {
        if now >= self.stop {
            self.figures.goodput_bytes = self.receiver.delivered().as_bytes();
            self.figures.retransmissions = Some(self.retransmissions);
            self.done = true;
            return;
        }
        debug_assert!(now >= self.start, "nothing is due before the start");
        // Arrivals at one end change nothing at the other.
        if self.data.due() <= now {
            if let Some(delivered) = self.data.pop(now) {
                let segment = delivered.packet.payload;
                self.figures.received(now, delivered.packet.size.as_bytes(), segment.sent);
                self.receiver.on_segment(now, &segment, delivered.packet.ecn == Ecn::Ce);
            }
            self.acknowledge(now, network);
        } else if self.acks.due() <= now {
            if let Some(delivered) = self.acks.pop(now) {
                self.sender.on_ack(now, &delivered.packet.payload);
            }
            self.send(now, network);
        } else {
            self.sender.on_deadline(now);
            self.send(now, network);
            self.acknowledge(now, network);
        }
        let due = |deadline: Option<Timestamp>| deadline.unwrap_or(Timestamp::MAX);
        self.ends_due = due(self.sender.next_deadline()).min(due(self.receiver.next_deadline())).max(now);
    }

    fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp {
        let Packet { size, ecn, payload, .. } = packet;
        match payload {
            Parcel::Ack(ack) => self.acks.enter(at, size, ecn, ack),
            Parcel::Segment(segment) => self.data.enter(at, size, ecn, segment),
            _ => Timestamp::MAX,
        }
    }

    fn dropped(&mut self, notice: DropNotice<Parcel>) {
        if matches!(notice.packet.payload, Parcel::Segment(_)) {
            self.figures.lost(notice.at);
        }
    }
}
