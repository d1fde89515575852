//! A session: calls, TCP and UDP together on links they share, packet by packet.
//!
//! Each flow has its own propagation and jitter after the last link it passes, and its own two ends; links have
//! queue, capacity and loss. The next event is the minimum of the links' and flows' own times; at equal times links
//! come before flows, and flows in their order. If all links of a route decide a packet's fate as it is sent, it
//! goes straight to its flow's own part of the way ([`lane`]). A single call alone on its path needs
//! no session: it runs by [`legato_call::Call::advance`] over a [`crate::PrivatePath`].

mod assemble;
mod call_flow;
mod call_lanes;
mod call_log;
mod dues;
mod flow;
mod lane;
mod link;
mod parcel;
mod tcp_flow;
mod udp_flow;

pub use assemble::{SessionParts, run_session};
pub(crate) use assemble::{assemble, calls_of};

use call_flow::CallFlow;
use dues::Dues;
use flow::Flow;
use lane::Network;
use legato_control::Side;
use legato_path::{DropNotice, Lost, Packet};
use legato_units::{DataRate, Timestamp};
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
pub(crate) struct Session {
    network: Network,
    flows: Vec<AnyFlow>,
    /// When each flow is next due.
    due: Dues,
    /// The links that may keep packets.
    keeping: Vec<usize>,
}

impl Session {
    fn new(links: Links, mut flows: Vec<AnyFlow>) -> Self {
        let due: Vec<_> = flows.iter_mut().map(|flow| flow.as_flow().due()).collect();
        let keeping = (0..links.links.len()).filter(|&link| !links.links[link].passes_at_once()).collect();
        Self { network: Network { links, outbox: Vec::new() }, flows, due: Dues::new(&due), keeping }
    }

    /// Run until every flow has ended.
    fn run(mut self) -> Vec<AnyFlow> {
        self.advance(Timestamp::MAX);
        self.flows
    }

    /// Do everything due by `until`, as far as no flow is held.
    pub fn advance(&mut self, until: Timestamp) {
        loop {
            let (flow, flow_due) = self.due.earliest();
            let (place, link_due) = earliest(self.keeping.iter().map(|&link| self.network.links.links[link].due()));
            // What links still keep when all flows have ended is dropped.
            if flow_due.min(link_due) > until || (flow_due == Timestamp::MAX && until == Timestamp::MAX) {
                return;
            }
            if link_due <= flow_due && link_due < Timestamp::MAX {
                self.hand_on(self.keeping[place], link_due);
                continue;
            }
            let next = self.flows[flow].as_flow();
            next.turn(flow_due, &mut self.network);
            let mut due = next.due();
            if !self.network.outbox.is_empty() {
                self.send_outbox(flow_due);
                due = self.flows[flow].as_flow().due();
            }
            self.due.set(flow, due);
        }
    }

    /// A call among the flows.
    pub fn call(&mut self, flow: usize) -> &mut CallFlow {
        match &mut self.flows[flow] {
            AnyFlow::Call(call) => call,
            AnyFlow::Tcp(_) | AnyFlow::Udp(_) => unreachable!("calls come first among a session's flows"),
        }
    }

    /// Let a call wait before that turn, or continue.
    pub fn hold(&mut self, flow: usize, hold: Option<(Side, Timestamp)>) {
        let call = self.call(flow);
        call.call().hold(hold);
        let due = call.due();
        self.due.set(flow, due);
    }

    /// The minimum mean capacity over `[from, to)` on a flow's way out.
    pub fn capacity(&self, flow: usize, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.network.links.capacity(flow as u16, from, to)
    }

    /// Put each packet of the outbox on the first link of its route.
    fn send_outbox(&mut self, now: Timestamp) {
        let mut outbox = std::mem::take(&mut self.network.outbox);
        for packet in outbox.drain(..) {
            let first = self.network.links.route(packet.flow, packet.payload.way()).first().copied();
            self.put_on(first, now, packet);
        }
        self.network.outbox = outbox;
    }

    /// Put a packet on a link, or past the last.
    fn put_on(&mut self, link: Option<usize>, now: Timestamp, mut packet: Packet<Parcel>) {
        let Some(link) = link else { return self.leave_links(now, packet) };
        match self.network.links.links[link].pass(now, packet.size, &mut packet.ecn) {
            Some(Ok(Timestamp::MAX)) => {}
            Some(Ok(at)) => self.leave_links(at, packet),
            Some(Err(Lost { at, reason, .. })) => self.drop_packet(DropNotice { at, packet, reason }),
            None => {
                self.network.links.links[link].push(now, packet);
                self.hand_on(link, now);
            }
        }
    }

    /// Take the packets that a link releases by `now`, and its losses.
    fn hand_on(&mut self, link: usize, now: Timestamp) {
        while let Some(delivered) = self.network.links.links[link].pop(now) {
            let next = self.network.links.next(link, &delivered.packet);
            self.put_on(next, delivered.at, delivered.packet);
        }
        while let Some(notice) = self.network.links.links[link].pop_drop() {
            self.drop_packet(notice);
        }
    }

    fn drop_packet(&mut self, notice: DropNotice<Parcel>) {
        let flow = usize::from(notice.packet.flow);
        self.flows[flow].as_flow().dropped(notice);
    }

    /// A packet is past the last link.
    fn leave_links(&mut self, at: Timestamp, packet: Packet<Parcel>) {
        let flow = usize::from(packet.flow);
        let due = self.flows[flow].as_flow().enter(at, packet);
        self.due.set(flow, self.due.at(flow).min(due));
    }
}

/// The first of the earliest.
fn earliest(times: impl Iterator<Item = Timestamp>) -> (usize, Timestamp) {
    times.enumerate().fold((0, Timestamp::MAX), |least, (n, at)| if at < least.1 { (n, at) } else { least })
}
