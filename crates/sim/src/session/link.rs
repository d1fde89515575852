//! A link that flows share, and the routes over several of them.

use super::parcel::{Parcel, Way};
use legato_path::{Delivered, DropNotice, Packet, Path};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// One link: loss, queue and capacity; no propagation, which each flow has of its own.
pub struct Link {
    path: Path<Parcel>,
    /// What leaves is known when it comes, and nobody has another link behind this one: packets are
    /// handed on at once, with the time they will leave.
    hands_on_at_once: bool,
    is_last: bool,
}

impl Link {
    /// `knows_exits`: every stage decides on a packet when it comes. `is_last`: of every route.
    pub fn new(path: Path<Parcel>, knows_exits: bool, is_last: bool) -> Self {
        Self { path: path.with_drop_notices(), hands_on_at_once: knows_exits && is_last, is_last }
    }

    /// Whether no flow has another link behind this one.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Send a packet in.
    pub fn push(&mut self, now: Timestamp, packet: Packet<Parcel>) {
        self.path.push(now, packet);
    }

    /// The next packet that is handed on by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<Delivered<Parcel>> {
        self.path.pop(if self.hands_on_at_once { Timestamp::MAX } else { now })
    }

    /// When [`Link::pop`] is next worth a call, for links that do not hand on at once.
    pub fn due(&self) -> Timestamp {
        if self.hands_on_at_once { Timestamp::MAX } else { self.path.next_arrival().unwrap_or(Timestamp::MAX) }
    }

    /// The next packet it lost.
    pub fn pop_drop(&mut self) -> Option<DropNotice<Parcel>> {
        self.path.pop_drop()
    }
}

/// All links of a session, and which of them each flow's packets pass.
pub struct Links {
    /// The links.
    pub links: Vec<Link>,
    /// By flow: the links out, and the links back.
    pub routes: Vec<[Vec<usize>; 2]>,
}

impl Links {
    /// The links of a flow's packets.
    pub fn route(&self, flow: u16, way: Way) -> &[usize] {
        let [out, back] = &self.routes[usize::from(flow)];
        match way {
            Way::Back => back,
            Way::Out => out,
        }
    }

    /// The link behind `link` on the packet's route.
    pub fn next(&self, link: usize, packet: &Packet<Parcel>) -> Option<usize> {
        let route = self.route(packet.flow, packet.payload.way());
        let place = route.iter().position(|&passed| passed == link)?;
        route.get(place + 1).copied()
    }

    /// The least mean capacity over `[from, to)` on a flow's way out.
    pub fn capacity(&self, flow: u16, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.route(flow, Way::Out).iter().filter_map(|&link| self.links[link].path.capacity(from, to)).min()
    }

    /// Time to drain what waits on a flow's way out; `None` in an outage.
    pub fn queue(&mut self, flow: u16, now: Timestamp) -> Option<TimeDelta> {
        let mut sum = TimeDelta::ZERO;
        for &link in &self.routes[usize::from(flow)][0] {
            let backlog = self.links[link].path.backlog(now);
            if backlog.delay == TimeDelta::MAX {
                return None;
            }
            sum += backlog.delay;
        }
        Some(sum)
    }
}
