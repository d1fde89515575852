//! A path: a list of stages, and the packets whose exit is decided.

use crate::burst::Lost;
use crate::stage::{
    Bottleneck, DropReason, Eager, GilbertElliott, Jitter, Loss, Passage, Propagation, QueuedBottleneck, Reorder,
    Stage, Transit,
};
use crate::{Ecn, Packet};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A packet that has passed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<P> {
    /// When it came out.
    pub at: Timestamp,
    /// The packet; its ECN field may have been marked on the way.
    pub packet: Packet<P>,
}

/// A packet that a path lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropNotice<P> {
    /// When it was dropped. Eager stages may say so ahead of time.
    pub at: Timestamp,
    /// The packet.
    pub packet: Packet<P>,
    /// Why.
    pub reason: DropReason,
}

/// The backlog of the bottleneck; if a path has several, of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting bytes; the packet in transmission does not wait any more.
    pub size: DataSize,
    /// Those bytes over the capacity of this instant: the queue length in ms. [`TimeDelta::MAX`]
    /// in an outage.
    pub delay: TimeDelta,
}

/// Packets a path lost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// By an active queue management.
    pub aqm: u64,
    /// By a full queue.
    pub queue_full: u64,
    /// By the medium.
    pub random: u64,
}

impl DropCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.aqm + self.queue_full + self.random
    }
}

#[expect(clippy::large_enum_variant, reason = "a path has few stages, and a pointer to each costs a cache miss")]
/// One stage of a path: those of the crate, dispatched without a call through a pointer, or any.
pub enum PathStage<P> {
    /// Drop-tail, eager.
    Bottleneck(Bottleneck),
    /// Any other.
    Custom(Box<dyn Stage<P>>),
    /// Loss in bursts.
    GilbertElliott(GilbertElliott),
    /// Packet delay variation.
    Jitter(Jitter),
    /// Independent loss.
    Loss(Loss),
    /// Propagation.
    Propagation(Propagation),
    /// Any queue, lazy.
    QueuedBottleneck(QueuedBottleneck<P>),
    /// Reordering, lazy.
    Reorder(Reorder<P>),
}

macro_rules! from_stage {
    ($($name:ident $(<$p:ident>)?),*) => { $(
        impl<P> From<$name $(<$p>)?> for PathStage<P> {
            fn from(stage: $name $(<$p>)?) -> Self {
                Self::$name(stage)
            }
        }
    )* };
}
from_stage!(Bottleneck, GilbertElliott, Jitter, Loss, Propagation, QueuedBottleneck<P>, Reorder<P>);

impl<P> From<Box<dyn Stage<P>>> for PathStage<P> {
    fn from(stage: Box<dyn Stage<P>>) -> Self {
        Self::Custom(stage)
    }
}

impl<P: Send> PathStage<P> {
    /// The fate of a packet in an eager stage; `None` if the stage may keep it. The packet itself
    /// does not move: copying it from stage to stage would cost more than the stages.
    #[inline(always)]
    pub(crate) fn transit(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Option<Transit> {
        Some(match self {
            Self::Bottleneck(stage) => stage.transit(now, size, ecn),
            Self::GilbertElliott(stage) => stage.transit(now, size, ecn),
            Self::Jitter(stage) => stage.transit(now, size, ecn),
            Self::Loss(stage) => stage.transit(now, size, ecn),
            Self::Propagation(stage) => stage.transit(now, size, ecn),
            Self::Custom(_) | Self::QueuedBottleneck(_) | Self::Reorder(_) => return None,
        })
    }

    fn as_stage(&mut self) -> &mut dyn Stage<P> {
        match self {
            Self::Bottleneck(stage) => stage,
            Self::Custom(stage) => stage.as_mut(),
            Self::GilbertElliott(stage) => stage,
            Self::Jitter(stage) => stage,
            Self::Loss(stage) => stage,
            Self::Propagation(stage) => stage,
            Self::QueuedBottleneck(stage) => stage,
            Self::Reorder(stage) => stage,
        }
    }

    fn as_stage_ref(&self) -> &dyn Stage<P> {
        match self {
            Self::Bottleneck(stage) => stage,
            Self::Custom(stage) => stage.as_ref(),
            Self::GilbertElliott(stage) => stage,
            Self::Jitter(stage) => stage,
            Self::Loss(stage) => stage,
            Self::Propagation(stage) => stage,
            Self::QueuedBottleneck(stage) => stage,
            Self::Reorder(stage) => stage,
        }
    }

    /// [`Stage::pop`] of a stage that may hold packets.
    #[inline]
    fn pop_due(&mut self, now: Timestamp) -> Option<Passage<P>> {
        match self {
            Self::QueuedBottleneck(stage) => stage.pop(now),
            Self::Reorder(stage) => stage.pop(now),
            other => other.as_stage().pop(now),
        }
    }

    /// [`Stage::next_deadline`] of a stage that may hold packets.
    #[inline]
    fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::QueuedBottleneck(stage) => stage.next_deadline(),
            Self::Reorder(stage) => stage.next_deadline(),
            other => other.as_stage_ref().next_deadline(),
        }
    }

    fn may_hold(&self) -> bool {
        matches!(self, Self::Custom(_) | Self::QueuedBottleneck(_) | Self::Reorder(_))
    }
}

/// A path; packets of any number of flows go in at one end and come out at the other or not at all.
pub struct Path<P> {
    pub(crate) stages: Vec<PathStage<P>>,
    /// Decided exits, in their order.
    exits: VecDeque<Delivered<P>>,
    /// The earliest exit or deadline of a stage.
    next: Timestamp,
    /// The stages that may hold packets and so have deadlines; usually none.
    pub(crate) lazy: Vec<usize>,
    counts: DropCounts,
    /// Packets on a link that never sends again.
    pub(crate) stuck: u64,
    notices: VecDeque<DropNotice<P>>,
    keeps_notices: bool,
    /// Scratch of [`Path::pass`].
    pub(crate) lost: Vec<Lost>,
}

impl<P: Send> Path<P> {
    /// A path of these stages, in the order packets pass them. Without stages it delivers at once.
    pub fn new(stages: impl IntoIterator<Item = PathStage<P>>) -> Self {
        let stages: Vec<_> = stages.into_iter().collect();
        Self {
            lazy: (0..stages.len()).filter(|&index| stages[index].may_hold()).collect(),
            stages,
            exits: VecDeque::new(),
            next: Timestamp::MAX,
            counts: DropCounts::default(),
            stuck: 0,
            notices: VecDeque::new(),
            keeps_notices: false,
            lost: Vec::new(),
        }
    }

    /// Keep a notice of each drop for [`Path::pop_drop`]; without it drops are only counted. The
    /// caller must fetch them.
    #[must_use]
    pub fn with_drop_notices(mut self) -> Self {
        self.keeps_notices = true;
        self
    }

    /// Send a packet in. `now` never goes back.
    #[inline]
    pub fn push(&mut self, now: Timestamp, packet: Packet<P>) {
        self.run(0, now, packet);
        if !self.lazy.is_empty() {
            self.next = self.earliest();
        }
    }

    /// When to call [`Path::pop`] next: the earliest exit, or a stage's deadline, at which `pop` may
    /// have nothing yet. `None` while nothing will ever be due.
    #[inline]
    pub fn next_arrival(&self) -> Option<Timestamp> {
        (self.next != Timestamp::MAX).then_some(self.next)
    }

    /// The next packet that came out at or before `now`, in the order of their exits.
    #[inline]
    pub fn pop(&mut self, now: Timestamp) -> Option<Delivered<P>> {
        if now < self.next {
            return None;
        }
        if !self.lazy.is_empty() {
            return self.pop_lazy(now);
        }
        let delivered = self.exits.pop_front();
        self.next = self.exits.front().map_or(Timestamp::MAX, |exit| exit.at);
        delivered
    }

    /// Whether [`Path::pop_drop`] has something.
    #[inline]
    pub fn has_drops(&self) -> bool {
        !self.notices.is_empty()
    }

    /// The next drop notice, in the order of decisions.
    #[inline]
    pub fn pop_drop(&mut self) -> Option<DropNotice<P>> {
        self.notices.pop_front()
    }

    /// Packets lost so far.
    pub fn drops(&self) -> DropCounts {
        self.counts
    }

    /// The backlog of the bottleneck. `now` is at or after every earlier `push` and `pop`.
    pub fn backlog(&mut self, now: Timestamp) -> Backlog {
        if !self.lazy.is_empty() {
            self.settle(now);
            self.next = self.earliest();
        }
        let mut sum = Backlog { size: DataSize::ZERO, delay: TimeDelta::ZERO };
        for stage in &mut self.stages {
            let stage = stage.as_stage();
            if let Some(capacity) = stage.capacity(now, now) {
                let size = stage.backlog(now);
                sum.size += size;
                if size > DataSize::ZERO {
                    let delay = sum.delay.as_nanos().saturating_add((size / capacity).as_nanos());
                    sum.delay = TimeDelta::from_nanos(delay);
                }
            }
        }
        sum
    }

    /// The bottleneck's mean capacity over `[from, to)`, or at `from` if they are equal: the
    /// minimum if there are several, `None` if there is none.
    pub fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.stages.iter().filter_map(|stage| stage.as_stage_ref().capacity(from, to)).min()
    }

    /// The minimum one-way delay of the path, excluding transmission.
    pub fn min_one_way_delay(&self) -> TimeDelta {
        self.stages.iter().map(|stage| stage.as_stage_ref().min_delay()).sum()
    }

    /// Packets whose exit is decided and that are not out yet. Lazy stages may hold more.
    pub fn in_flight(&self) -> usize {
        self.exits.len()
    }

    /// Packets that will never come out, because a link never sends again.
    pub fn stuck(&self) -> u64 {
        self.stuck
    }

    /// Pass a packet through the stages from `first` on, as far as they decide.
    #[inline(always)]
    fn run(&mut self, first: usize, now: Timestamp, mut packet: Packet<P>) {
        let mut at = now;
        let mut ecn = packet.ecn;
        for (offset, stage) in self.stages[first..].iter_mut().enumerate() {
            match stage.transit(at, packet.size, &mut ecn) {
                Some(Transit::Exit(exit)) => {
                    debug_assert!(exit >= at, "a stage let a packet out before it came in");
                    at = exit;
                    if at == Timestamp::MAX {
                        self.stuck += 1;
                        return;
                    }
                }
                Some(Transit::Dropped(reason)) => {
                    packet.ecn = ecn;
                    return self.note(DropNotice { at, packet, reason });
                }
                None => {
                    packet.ecn = ecn;
                    return self.enter_lazy(first + offset, at, packet);
                }
            }
        }
        packet.ecn = ecn;
        debug_assert!(self.exits.back().is_none_or(|last| last.at <= at), "a stage reordered exits");
        self.exits.push_back(Delivered { at, packet });
        self.next = self.next.min(at);
    }

    #[inline(never)]
    fn enter_lazy(&mut self, index: usize, now: Timestamp, packet: Packet<P>) {
        match self.stages[index].as_stage().push(now, packet) {
            Passage::Exit(at, packet) => self.run(index + 1, at, packet),
            Passage::Dropped(at, packet, reason) => self.note(DropNotice { at, packet, reason }),
            Passage::Held => {}
        }
    }

    #[inline(never)]
    fn note(&mut self, notice: DropNotice<P>) {
        self.count_drop(notice.reason);
        if self.keeps_notices {
            self.notices.push_back(notice);
        }
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::Aqm => self.counts.aqm += 1,
            DropReason::QueueFull => self.counts.queue_full += 1,
            DropReason::Random => self.counts.random += 1,
        }
    }

    #[inline(never)]
    fn pop_lazy(&mut self, now: Timestamp) -> Option<Delivered<P>> {
        // Exits are in order, so what a stage still holds comes out after what is decided.
        if self.exits.front().is_none_or(|exit| exit.at > now) {
            self.settle(now);
        }
        let due = self.exits.front().is_some_and(|exit| exit.at <= now);
        let delivered = if due { self.exits.pop_front() } else { None };
        self.next = self.earliest();
        delivered
    }

    /// Let every stage do what is due. First to last: what one releases enters those after it.
    fn settle(&mut self, now: Timestamp) {
        for n in 0..self.lazy.len() {
            let index = self.lazy[n];
            while let Some(passage) = self.stages[index].pop_due(now) {
                match passage {
                    Passage::Exit(at, packet) => self.run(index + 1, at, packet),
                    Passage::Dropped(at, packet, reason) => self.note(DropNotice { at, packet, reason }),
                    Passage::Held => {}
                }
            }
        }
    }

    #[inline]
    fn earliest(&self) -> Timestamp {
        let mut earliest = self.exits.front().map_or(Timestamp::MAX, |exit| exit.at);
        for &index in &self.lazy {
            earliest = earliest.min(self.stages[index].deadline().unwrap_or(Timestamp::MAX));
        }
        earliest
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
