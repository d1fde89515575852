//! Constant-rate UDP among other flows.

use super::flow::Flow;
use super::lane::{Lane, LostAtOnce, Network};
use super::parcel::{Filler, Parcel};
use crate::cross_traffic::UdpSender;
use legato_path::{DropNotice, Ecn, Packet};
use legato_trace::TrafficFigures;
use legato_units::Timestamp;

/// The source, the way to the sink, and its figures.
pub struct UdpFlow {
    sender: UdpSender,
    stop: Timestamp,
    out: Lane<Filler>,
    figures: TrafficFigures,
    done: bool,
}

impl UdpFlow {
    /// A flow that ends at `stop`. Nothing comes back.
    pub fn new(sender: UdpSender, stop: Timestamp, out: Lane<Filler>, figures: TrafficFigures) -> Self {
        Self { sender, stop, out, figures, done: false }
    }

    /// Its figures.
    pub fn figures(self) -> TrafficFigures {
        self.figures
    }
}

impl Flow for UdpFlow {
    fn due(&self) -> Timestamp {
        if self.done {
            return Timestamp::MAX;
        }
        let next = self.sender.next_deadline().unwrap_or(Timestamp::MAX);
        self.out.due().min(next).min(self.stop)
    }

    fn turn(&mut self, now: Timestamp, network: &mut Network) {
        if now >= self.stop {
            self.done = true;
            self.figures.all_is_data();
        } else if self.out.due() <= now {
            if let Some(delivered) = self.out.pop(now) {
                let Filler(departure) = delivered.packet.payload;
                self.figures.received(now, delivered.packet.size.as_bytes(), departure);
            }
        } else {
            while let Some(packet) = self.sender.poll(now) {
                self.figures.sent(now, packet.size.as_bytes());
                if let Some(LostAtOnce(at, ..)) = self.out.send(now, network, packet.size, Ecn::NotEct, Filler(now)) {
                    self.figures.lost(at);
                }
            }
        }
    }

    fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp {
        let Packet { size, ecn, payload, .. } = packet;
        match payload {
            Parcel::Filler(filler) => self.out.enter(at, size, ecn, filler),
            _ => Timestamp::MAX,
        }
    }

    fn dropped(&mut self, notice: DropNotice<Parcel>) {
        self.figures.lost(notice.at);
    }
}
