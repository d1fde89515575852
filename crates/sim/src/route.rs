//! The capacities on a call's way to the receiver, which its figures need.

use legato_media::packetizer::PACKET_OVERHEAD_BYTES;
use legato_path::capacity::{Capacity, LinkCapacity, dead_time};
use legato_trace::LinkFacts;
use legato_units::{DataRate, DataSize, Timestamp};

/// No picture is smaller than one packet of headers.
const SMALLEST_PACKET: DataSize = DataSize::from_bytes(PACKET_OVERHEAD_BYTES as u64);

/// The bottlenecks one behind the other, as if no traffic were on them.
pub(crate) struct Route(Vec<LinkCapacity>);

impl Route {
    pub fn new(links: impl IntoIterator<Item = LinkCapacity>) -> Self {
        Self(links.into_iter().collect())
    }

    /// The facts of a call from `start` to `end`; `None` without a bottleneck.
    pub fn facts(mut self, start: Timestamp, end: Timestamp) -> Option<LinkFacts<'static>> {
        let capacity_mean = self.mean(start, end)?;
        let dead = dead_time(start, end, |from, to| self.mean(from, to).unwrap_or(DataRate::ZERO));
        Some(LinkFacts { capacity_mean, dead, pass: Box::new(move |at| self.pass(at)) })
    }

    /// That of the slowest link.
    fn mean(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.0.iter().map(|link| link.mean_rate(from, to)).min()
    }

    /// When the smallest packet that enters at `at` has left the last link.
    fn pass(&mut self, at: Timestamp) -> Timestamp {
        self.0.iter_mut().fold(at, |at, link| link.transmit_end(at, SMALLEST_PACKET))
    }
}
