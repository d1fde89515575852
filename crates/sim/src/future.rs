//! The resources of a controller when it is built, in addition to its limits: trained policies and, for `oracle` and
//! `clairvoyant`, the future of the forward bottleneck.

use crate::event_logs::EventLogs;
use crate::guests;
use crate::policies::Policies;
use legato_control::policy::Model;
use legato_control::{Assets, CapacityStep, Entry, FutureLink, Host, KnownFuture};
use legato_controllers::entry;
use legato_path::capacity::{Capacity, LinkCapacity};
use legato_path::queue::QueueLimit;
use legato_units::{DataSize, TimeDelta, Timestamp};
use std::borrow::Cow;
use std::sync::Arc;

/// The future of the forward bottleneck, made only if a controller requests it.
pub(crate) struct FutureOf<'a> {
    /// Of the bottleneck, if there is one.
    pub capacity: Option<&'a LinkCapacity>,
    /// The limit of its queue, if no other flow uses the link.
    pub own_queue: Option<QueueLimit>,
    /// When the call begins …
    pub start: Timestamp,
    /// … and ends.
    pub end: Timestamp,
    /// Trained policies.
    pub policies: &'a Policies,
    /// Where controllers write down what they are given and decide, if they do.
    pub events: Option<&'a EventLogs>,
}

/// The future is given in means over this.
const FUTURE_STEP: TimeDelta = TimeDelta::from_millis(100);
/// A UDP payload of 1,200 bytes with its headers.
const FULL_PACKET: DataSize = DataSize::from_bytes(1_228);

impl Assets for FutureOf<'_> {
    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.policies.file(name).map(Cow::Owned)
    }

    fn model(&self, name: &str) -> Result<Arc<Model>, String> {
        self.policies.model(name)
    }

    fn controller(&self, name: &str) -> Option<&'static Entry> {
        entry(name)
    }

    fn future(&self) -> Option<&dyn KnownFuture> {
        Some(self)
    }

    fn host(&self) -> Option<&dyn Host> {
        guests::host()
    }
}

impl KnownFuture for FutureOf<'_> {
    fn capacity(&self) -> Option<Arc<[CapacityStep]>> {
        let link = self.capacity?;
        let steps = (self.end - self.start).as_nanos() / FUTURE_STEP.as_nanos() + 1;
        let mut future: Vec<CapacityStep> = Vec::new();
        for step in 0..steps {
            let from = self.start + FUTURE_STEP * step;
            let capacity = link.mean_rate(from, from + FUTURE_STEP);
            if future.last().is_none_or(|last| last.capacity != capacity) {
                future.push(CapacityStep { start: from, capacity });
            }
        }
        Some(future.into())
    }

    fn link(&self) -> Option<Box<dyn FutureLink>> {
        let (capacity, limit) = (self.capacity?.clone(), self.own_queue?);
        let queue_limit = match limit {
            QueueLimit::Unlimited => None,
            QueueLimit::Packets(packets) => Some(FULL_PACKET * u64::from(packets)),
            limit => Some(DataSize::from_bytes(limit.bytes())),
        };
        Some(Box::new(KnownLink { capacity, queue_limit, idle: self.start }))
    }
}

/// A drop-tail bottleneck played along: it sends packets in the order of their arrival.
#[derive(Clone)]
struct KnownLink {
    capacity: LinkCapacity,
    queue_limit: Option<DataSize>,
    /// When it has sent all it took.
    idle: Timestamp,
}

impl FutureLink for KnownLink {
    fn take(&mut self, now: Timestamp, size: DataSize) -> Timestamp {
        self.idle = self.capacity.transmit_end(self.idle_at(now), size);
        self.idle
    }

    fn idle_at(&self, now: Timestamp) -> Timestamp {
        self.idle.max(now)
    }

    fn exit(&self, from: Timestamp, size: DataSize) -> Timestamp {
        // A copy: the cursor of a capacity only moves forward.
        self.capacity.clone().transmit_end(from, size)
    }

    fn passes(&self, from: Timestamp, to: Timestamp) -> DataSize {
        self.capacity.mean_rate(from, to) * (to - from).max(TimeDelta::ZERO)
    }

    fn queue_limit(&self) -> Option<DataSize> {
        self.queue_limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_path::Ecn;
    use legato_path::capacity::{AfterLast, RateSteps, Steps};
    use legato_path::stage::{Bottleneck, Eager};
    use legato_units::DataRate;

    fn falling() -> LinkCapacity {
        let steps = [(0, 800), (300, 50), (500, 0), (900, 2_000)];
        let steps = steps.map(|(ms, kbps)| (TimeDelta::from_millis(ms), DataRate::from_kbps(kbps)));
        let table = RateSteps::new(steps, TimeDelta::from_secs(2), AfterLast::Repeat).unwrap();
        LinkCapacity::Steps(Steps::new(Arc::new(table)))
    }

    /// Its prediction for a packet equals the bottleneck's behaviour.
    #[test]
    fn a_known_link_lets_packets_out_when_the_bottleneck_does() {
        let mut bottleneck = Bottleneck::new(falling(), QueueLimit::Unlimited);
        let mut known = KnownLink { capacity: falling(), queue_limit: None, idle: Timestamp::ZERO };
        for n in 0..300_i64 {
            let now = Timestamp::from_millis(n * 13);
            let size = DataSize::from_bytes(200 + (n as u64 * 397) % 1_000);
            let foreseen = known.exit(known.idle_at(now), size);
            let left = bottleneck.transit(now, size, &mut Ecn::NotEct).unwrap();
            assert_eq!((foreseen, known.take(now, size)), (left, left), "packet {n}");
        }
    }

    #[test]
    fn it_passes_what_its_steps_say() {
        let known = KnownLink { capacity: falling(), queue_limit: None, idle: Timestamp::ZERO };
        let passes = |from, to| known.passes(Timestamp::from_millis(from), Timestamp::from_millis(to)).as_bytes();
        // 100 ms at 800 kbit/s and 100 ms at 50 kbit/s; an outage; an interval that runs backwards.
        assert_eq!(passes(200, 400), 10_000 + 625);
        assert_eq!(passes(500, 900), 0);
        assert_eq!(passes(400, 200), 0);
    }
}
