//! A link that flows share, and the routes over several of them.

use super::parcel::{Parcel, Way};
use legato_path::{Delivered, DropNotice, Ecn, Lost, Packet, Path};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// One link: loss, queue and capacity; no propagation, which each flow has separately.
pub struct Link {
    path: Path<Parcel>,
    /// Exit times are certain on entry, and this is the last link of every route: a packet passes at once, with its
    /// exit time, and is never kept here.
    passes_at_once: bool,
}

impl Link {
    /// `is_last`: of every route.
    pub fn new(path: Path<Parcel>, is_last: bool) -> Self {
        let path = path.with_drop_notices();
        Self { passes_at_once: path.is_eager() && is_last, path }
    }

    /// Whether packets pass at once and none is ever kept here.
    pub fn passes_at_once(&self) -> bool {
        self.passes_at_once
    }

    /// Send a packet in.
    pub fn push(&mut self, now: Timestamp, packet: Packet<Parcel>) {
        self.path.push(now, packet);
    }

    /// The fate of a packet that comes at `now`, if it is certain: `None` if it must be pushed.
    #[inline]
    pub fn pass(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Option<Result<Timestamp, Lost>> {
        self.passes_at_once.then(|| self.path.pass_packet(now, size, ecn))
    }

    /// The next packet that is passed on by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<Delivered<Parcel>> {
        self.path.pop(now)
    }

    /// When [`Link::pop`] is next worth a call.
    pub fn due(&self) -> Timestamp {
        self.path.next_arrival().unwrap_or(Timestamp::MAX)
    }

    /// The next packet it lost.
    pub fn pop_drop(&mut self) -> Option<DropNotice<Parcel>> {
        self.path.pop_drop()
    }
}

/// All links of a session, and the route of each flow's packets.
pub struct Links {
    /// The links.
    pub links: Vec<Link>,
    /// By flow: the links out, and the links back.
    pub routes: Vec<[Vec<usize>; 2]>,
}

impl Links {
    /// The fate of a packet that leaves at `now`, if every link on its route decides: `None` if one may keep it.
    #[inline]
    pub fn pass(
        &mut self,
        flow: u16,
        way: Way,
        now: Timestamp,
        size: DataSize,
        ecn: &mut Ecn,
    ) -> Option<Result<Timestamp, Lost>> {
        match *self.route(flow, way) {
            [] => Some(Ok(now)),
            // Only the last of a route passes packets at once.
            [link] => self.links[link].pass(now, size, ecn),
            _ => None,
        }
    }

    /// The links of a flow's packets.
    pub fn route(&self, flow: u16, way: Way) -> &[usize] {
        let [out, back] = &self.routes[usize::from(flow)];
        match way {
            Way::Back => back,
            Way::Out => out,
        }
    }

    /// The link after `link` on the packet's route.
    pub fn next(&self, link: usize, packet: &Packet<Parcel>) -> Option<usize> {
        let route = self.route(packet.flow, packet.payload.way());
        let place = route.iter().position(|&passed| passed == link)?;
        route.get(place + 1).copied()
    }

    /// The minimum mean capacity over `[from, to)` on a flow's way out.
    pub fn capacity(&self, flow: u16, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.route(flow, Way::Out).iter().filter_map(|&link| self.links[link].path.capacity(from, to)).min()
    }

    /// Time to drain the queues on a flow's way out; `None` in an outage.
    pub fn queue(&mut self, flow: u16, now: Timestamp) -> Option<TimeDelta> {
        let [out, _] = &self.routes[usize::from(flow)];
        out.iter().map(|&link| self.links[link].path.backlog(now).delay).sum()
    }
}
