//! A bottleneck whose future is known, for controllers that bound what any could reach.

use dyn_clone::DynClone;
use legato_units::{DataRate, DataSize, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the forward bottleneck of a call will do.
pub trait KnownFuture {
    /// Its capacity over the whole call, ascending in time; `None` if there is no bottleneck.
    fn capacity(&self) -> Option<Arc<[CapacityStep]>>;

    /// The bottleneck with its queue and all it will pass; `None` if another flow uses it too.
    fn link(&self) -> Option<Box<dyn FutureLink>>;
}

/// From `start` on the bottleneck's rate is `capacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityStep {
    /// Valid from here to the next step.
    #[serde(rename = "start_ns")]
    pub start: Timestamp,
    /// Mean over the step.
    #[serde(rename = "capacity_bps")]
    pub capacity: DataRate,
}

/// The link that a call has to itself, and all that it will pass.
pub trait FutureLink: DynClone + Send + Sync {
    /// A packet of this size reaches the link now, in order of time: when it will have left, or
    /// [`Timestamp::MAX`] if it never does.
    fn take(&mut self, now: Timestamp, size: DataSize) -> Timestamp;

    /// When the link will have sent everything that reached it; never before `now`.
    fn idle_at(&self, now: Timestamp) -> Timestamp;

    /// When bytes would have left whose transmission begins at `from`, which is not before
    /// [`FutureLink::idle_at`]; [`Timestamp::MAX`] if never.
    fn exit(&self, from: Timestamp, size: DataSize) -> Timestamp;

    /// What the link passes in `[from, to)`.
    fn passes(&self, from: Timestamp, to: Timestamp) -> DataSize;

    /// The maximum that may wait in its queue; `None`: no limit in bytes.
    fn queue_limit(&self) -> Option<DataSize>;
}

dyn_clone::clone_trait_object!(FutureLink);
