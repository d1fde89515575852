//! The stages of a path.

mod aggregation;
mod bottleneck;
mod burst;
mod jitter;
mod loss;
mod policer;
mod propagation;
mod queued_bottleneck;
mod reorder;
mod token_bucket;
mod token_meter;
mod varying_loss;

pub use aggregation::Aggregation;
pub use bottleneck::Bottleneck;
pub use burst::Lost;
pub(crate) use burst::is_whole;
pub use jitter::{Distribution, Jitter, JitterConfig};
pub use loss::{GilbertElliott, Loss, LossError};
pub use policer::Policer;
pub use propagation::{NegativeDelay, Propagation};
pub use queued_bottleneck::QueuedBottleneck;
pub use reorder::Reorder;
pub use token_bucket::TokenBucket;
pub use token_meter::MeterError;
pub use varying_loss::VaryingLoss;

use crate::{Ecn, Packet};
use burst::pass_each;
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};

/// One stage of a path.
///
/// A stage is *eager* or *lazy*. An eager one knows a packet's fate when the packet comes (propagation, loss, jitter, a
/// drop-tail queue of given capacity). A lazy one holds the packet and passes it on when its time has come (CoDel, PIE,
/// reordering). Eager stages cost no event per packet, which is the source of the simulator's speed.
///
/// Times at which packets enter never go back, and neither do the exit times of one stage (except `reorder`,
/// which is lazy so that they do not either). A lazy stage may get a packet of the *future* from
/// an eager one in front of it: it keeps the packet until then.
pub trait Stage: Send {
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

/// A stage that knows a packet's fate when it comes. It never sees the payload, which therefore need not move.
pub trait Eager: Stage {
    /// When a packet that enters at `now` leaves, or why it is lost now.
    ///
    /// # Errors
    /// The packet is dropped.
    fn transit(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Result<Timestamp, DropReason>;

    /// The same for a burst: `at` holds when each packet enters and receives when it leaves, [`Timestamp::MAX`] for
    /// packets that do not. Packets that did not enter keep that value. ECN fields are ignored: a path with a stage
    /// that marks does not use this.
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        pass_each(self, burst, at, lost);
    }

    /// Whether it may mark packets.
    fn marks(&self) -> bool {
        false
    }
}

/// A stage that may hold packets.
pub trait Lazy<P>: Stage {
    /// Take a packet that enters at `now`.
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Passage<P>;

    /// The next thing due at or before `now`, until `None`.
    fn pop(&mut self, now: Timestamp) -> Option<Passage<P>>;

    /// When `pop` next has something, or work to do.
    fn next_deadline(&self) -> Option<Timestamp>;
}

/// The fate of a packet in a lazy stage.
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
    /// It exceeded a policer's rate.
    Policed,
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
            Self::Policed => "policed",
            Self::QueueFull => "queue_full",
            Self::Random => "random",
        }
    }
}
