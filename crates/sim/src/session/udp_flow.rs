//! Constant-rate UDP among other flows.

use super::flow::{Flow, Tails, arrival};
use super::link::Links;
use super::parcel::{Parcel, Way};
use crate::cross_traffic::UdpSender;
use legato_path::{DropNotice, Ecn, Packet, Path};
use legato_trace::TrafficFigures;
use legato_units::Timestamp;

/// The source, the way to the sink, and what it did.
pub struct UdpFlow {
    flow: u16,
    sender: UdpSender,
    stop: Timestamp,
    tails: Tails,
    figures: TrafficFigures,
    done: bool,
}

impl UdpFlow {
    /// A flow that ends at `stop`. Nothing comes back, but a way there is.
    pub fn new(flow: u16, sender: UdpSender, stop: Timestamp, tails: Tails, figures: TrafficFigures) -> Self {
        Self { flow, sender, stop, tails, figures, done: false }
    }

    /// What it did.
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
        arrival(&self.tails.out).min(next).min(self.stop)
    }

    fn turn(&mut self, now: Timestamp, _links: &mut Links, outbox: &mut Vec<Packet<Parcel>>) {
        if now >= self.stop {
            self.done = true;
            self.figures.all_is_data();
        } else if arrival(&self.tails.out) <= now {
            if let Some(delivered) = self.tails.out.pop(now)
                && let Parcel::Filler(departure) = delivered.packet.payload
            {
                self.figures.received(now, delivered.packet.size.as_bytes(), departure);
            }
        } else {
            while let Some(packet) = self.sender.poll(now) {
                self.figures.sent(now, packet.size.as_bytes());
                outbox.push(Parcel::Filler(now).packet(self.flow, packet.size, Ecn::NotEct));
            }
        }
    }

    fn tail(&mut self, way: Way) -> &mut Path<Parcel> {
        self.tails.of(way)
    }

    fn dropped(&mut self, notice: DropNotice<Parcel>) {
        self.figures.lost(notice.at);
    }
}
