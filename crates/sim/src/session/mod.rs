//! A session: calls, TCP and UDP beside each other on links they share, packet by packet.
//!
//! Each flow has its own propagation and jitter behind the last link it passes, and its own two
//! ends; links have queue, capacity and loss. Who is due next is the least of the links' and flows'
//! own times; at equal times links come before flows, and flows in their order. A single call alone
//! on its path is the [`crate::Engine`]'s, which knows its packets' fate in fewer steps.

mod assemble;
mod call_flow;
mod flow;
mod link;
mod parcel;
mod tcp_flow;
mod udp_flow;

pub use assemble::{SessionParts, run_session};

use call_flow::CallFlow;
use flow::Flow;
use legato_path::Packet;
use legato_units::Timestamp;
use link::Links;
use parcel::Parcel;
use tcp_flow::TcpFlow;
use udp_flow::UdpFlow;

/// Any flow.
enum AnyFlow {
    Call(Box<CallFlow>),
    Tcp(Box<TcpFlow>),
    Udp(Box<UdpFlow>),
}

impl AnyFlow {
    fn as_flow(&mut self) -> &mut dyn Flow {
        match self {
            Self::Call(flow) => flow.as_mut(),
            Self::Tcp(flow) => flow.as_mut(),
            Self::Udp(flow) => flow.as_mut(),
        }
    }
}

/// The flows and the links between their ends.
struct Session {
    links: Links,
    flows: Vec<AnyFlow>,
    /// When each flow is next due.
    due: Vec<Timestamp>,
    outbox: Vec<Packet<Parcel>>,
}

impl Session {
    fn new(links: Links, mut flows: Vec<AnyFlow>) -> Self {
        let due = flows.iter_mut().map(|flow| flow.as_flow().due()).collect();
        Self { links, flows, due, outbox: Vec::new() }
    }

    /// Run until every flow has ended.
    fn run(mut self) -> Vec<AnyFlow> {
        loop {
            let (flow, flow_due) = earliest(self.due.iter().copied());
            let (link, link_due) = earliest(self.links.links.iter().map(link::Link::due));
            if flow_due == Timestamp::MAX {
                return self.flows;
            }
            if link_due <= flow_due {
                self.hand_on(link, link_due);
                continue;
            }
            let mut outbox = std::mem::take(&mut self.outbox);
            self.flows[flow].as_flow().turn(flow_due, &mut self.links, &mut outbox);
            for packet in outbox.drain(..) {
                self.send(flow_due, packet);
            }
            self.outbox = outbox;
            self.due[flow] = self.flows[flow].as_flow().due();
        }
    }

    /// Put a packet on the first link of its route, or straight on its flow's own part of the way.
    fn send(&mut self, now: Timestamp, packet: Packet<Parcel>) {
        match self.links.route(packet.flow, packet.payload.way()).first().copied() {
            Some(link) => {
                self.links.links[link].push(now, packet);
                self.hand_on(link, now);
            }
            None => self.leave_links(now, packet),
        }
    }

    /// Take what a link lets go by `now`, and what it lost.
    fn hand_on(&mut self, link: usize, now: Timestamp) {
        while let Some(delivered) = self.links.links[link].pop(now) {
            let last = self.links.links[link].is_last();
            match if last { None } else { self.links.next(link, &delivered.packet) } {
                Some(next) => {
                    self.links.links[next].push(delivered.at, delivered.packet);
                    self.hand_on(next, delivered.at);
                }
                None => self.leave_links(delivered.at, delivered.packet),
            }
        }
        while let Some(notice) = self.links.links[link].pop_drop() {
            let flow = usize::from(notice.packet.flow);
            self.flows[flow].as_flow().dropped(notice);
        }
    }

    /// A packet is past the last link.
    fn leave_links(&mut self, at: Timestamp, packet: Packet<Parcel>) {
        let flow = usize::from(packet.flow);
        let way = packet.payload.way();
        let tail = self.flows[flow].as_flow().tail(way);
        tail.push(at, packet);
        self.due[flow] = self.due[flow].min(flow::arrival(tail));
    }
}

/// The first of the least.
fn earliest(times: impl Iterator<Item = Timestamp>) -> (usize, Timestamp) {
    times.enumerate().fold((0, Timestamp::MAX), |least, (n, at)| if at < least.1 { (n, at) } else { least })
}
