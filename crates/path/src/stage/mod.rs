//! The stages of a path.

mod bottleneck;
mod jitter;
mod loss;
mod propagation;
mod queued_bottleneck;
mod reorder;

pub use bottleneck::Bottleneck;
pub use jitter::{Jitter, JitterConfig};
pub use loss::{GilbertElliott, Loss, LossError};
pub use propagation::{Propagation, PropagationError};
pub use queued_bottleneck::QueuedBottleneck;
pub use reorder::Reorder;

use crate::burst::pass_each;
use crate::{Ecn, Lost, Packet};
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};

/// One stage of a path.
///
/// A stage is either *eager*: `push` already knows when the packet leaves and returns it
/// (propagation, loss, jitter, a drop-tail queue of known capacity); or *lazy*: `push` holds the
/// packet and `pop` passes it on when its time has come (CoDel, PIE, reordering). Eager stages cost
/// no event per packet, which is the source of the simulator's speed; they implement [`Eager`] and
/// thereby are stages.
///
/// Times given to `push` never go back, and neither do the exit times of one stage (except `reorder`,
/// which is lazy so that they do not either). A lazy stage may get a packet of the *future*
/// from an eager one in front of it: it keeps the packet until then.
pub trait Stage<P>: Send {
    /// Take a packet that enters at `now`.
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Passage<P>;

    /// The next thing due at or before `now` (lazy stages), until `None`.
    fn pop(&mut self, now: Timestamp) -> Option<Passage<P>> {
        let _ = now;
        None
    }

    /// When `pop` next has something, or work to do (lazy stages).
    fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// Bytes that wait here at `now` for the bottleneck (zero for stages that are not bottlenecks).
    /// The packet in transmission does not wait any more.
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        let _ = now;
        DataSize::ZERO
    }

    /// The bottleneck's mean capacity over `[from, to)`, or at the instant if the two are equal
    /// (`None` for stages that are not bottlenecks).
    fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        let _ = (from, to);
        None
    }

    /// The minimum time a packet takes to pass, excluding transmission.
    fn min_delay(&self) -> TimeDelta {
        TimeDelta::ZERO
    }
}

/// A stage that knows a packet's fate when it arrives. It never sees the payload, which therefore
/// need not move.
pub trait Eager: Send {
    /// The fate of a packet that enters at `now`.
    fn transit(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Transit;

    /// The same for a burst: `at` holds when each packet enters and receives when it leaves,
    /// [`Timestamp::MAX`] for those that do not. Those that did not enter stay so. ECN fields are
    /// ignored: a path with a stage that marks does not use this.
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        pass_each(self, burst, at, lost);
    }

    /// As [`Stage::backlog`].
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        let _ = now;
        DataSize::ZERO
    }

    /// As [`Stage::capacity`].
    fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        let _ = (from, to);
        None
    }

    /// As [`Stage::min_delay`].
    fn min_delay(&self) -> TimeDelta {
        TimeDelta::ZERO
    }
}

/// The fate of a packet in an eager stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transit {
    /// It leaves at that time, at or after the time it came.
    Exit(Timestamp),
    /// It is lost, since the time it came.
    Dropped(DropReason),
}

impl<P, E: Eager> Stage<P> for E {
    fn push(&mut self, now: Timestamp, mut packet: Packet<P>) -> Passage<P> {
        match self.transit(now, packet.size, &mut packet.ecn) {
            Transit::Exit(at) => Passage::Exit(at, packet),
            Transit::Dropped(reason) => Passage::Dropped(now, packet, reason),
        }
    }
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        Eager::backlog(self, now)
    }
    fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        Eager::capacity(self, from, to)
    }
    fn min_delay(&self) -> TimeDelta {
        Eager::min_delay(self)
    }
}

/// The fate of a packet in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage<P> {
    /// It leaves at that time, at or after the time it came.
    Exit(Timestamp, Packet<P>),
    /// It is held; `pop` will return it.
    Held,
    /// It is lost, since that time.
    Dropped(Timestamp, Packet<P>, DropReason),
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// An active queue management decided so.
    Aqm,
    /// The queue was full.
    QueueFull,
    /// Random loss of the medium.
    Random,
}

impl DropReason {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aqm => "aqm",
            Self::QueueFull => "queue_full",
            Self::Random => "random",
        }
    }
}
