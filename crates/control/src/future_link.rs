//! A bottleneck whose future is known, for a controller that bounds what any could reach.

use dyn_clone::DynClone;
use legato_units::{DataSize, Timestamp};

/// The link that a call has to itself, and all that it will pass. Granted only to `clairvoyant`.
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
