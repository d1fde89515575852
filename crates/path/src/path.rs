//! A path: a list of stages, and the packets whose exit is decided.

use crate::Packet;
use crate::stage::{DropReason, Eager, Lazy, Lost, Passage, QueuedBottleneck, Reorder, Stage, is_whole};
use legato_units::{Burst, DataRate, DataSize, Ecn, TimeDelta, Timestamp};
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
    /// Those bytes over the capacity of this instant: how long the queue takes to drain. `None` in an outage.
    pub delay: Option<TimeDelta>,
}

/// Packets a path lost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// By an active queue management.
    pub aqm: u64,
    /// By a policer.
    pub policed: u64,
    /// By a full queue.
    pub queue_full: u64,
    /// By the medium.
    pub random: u64,
}

impl DropCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.aqm + self.policed + self.queue_full + self.random
    }
}

/// One stage of a path.
pub enum PathStage<P> {
    /// Knows the fate of each packet when it comes.
    Eager(Box<dyn Eager>),
    /// May hold packets.
    Lazy(Box<dyn Lazy<P>>),
}

impl<P, E: Eager + 'static> From<E> for PathStage<P> {
    fn from(stage: E) -> Self {
        Self::Eager(Box::new(stage))
    }
}

impl<P: Send + 'static> From<QueuedBottleneck<P>> for PathStage<P> {
    fn from(stage: QueuedBottleneck<P>) -> Self {
        Self::Lazy(Box::new(stage))
    }
}

impl<P: Send + 'static> From<Reorder<P>> for PathStage<P> {
    fn from(stage: Reorder<P>) -> Self {
        Self::Lazy(Box::new(stage))
    }
}

impl<P> PathStage<P> {
    fn stage(&self) -> &dyn Stage {
        match self {
            Self::Eager(stage) => stage.as_ref(),
            Self::Lazy(stage) => stage.as_ref(),
        }
    }

    fn stage_mut(&mut self) -> &mut dyn Stage {
        match self {
            Self::Eager(stage) => stage.as_mut(),
            Self::Lazy(stage) => stage.as_mut(),
        }
    }
}

/// A path; packets of any number of flows go in at one end and come out at the other or not at all.
pub struct Path<P> {
    stages: Vec<PathStage<P>>,
    /// Decided exits, in their order.
    exits: VecDeque<Delivered<P>>,
    /// The earliest exit or deadline of a stage.
    next: Timestamp,
    /// The stages that may hold packets and so have deadlines; usually none.
    lazy: Vec<usize>,
    counts: DropCounts,
    /// Packets on a link that never sends again.
    stuck: u64,
    notices: VecDeque<DropNotice<P>>,
    keeps_notices: bool,
    /// Scratch of [`Path::pass`].
    lost: Vec<Lost>,
}

impl<P: Send> Path<P> {
    /// A path of these stages, in the order packets pass them. Without stages it delivers at once.
    pub fn new(stages: impl IntoIterator<Item = PathStage<P>>) -> Self {
        let stages: Vec<_> = stages.into_iter().collect();
        Self {
            lazy: (0..stages.len()).filter(|&index| matches!(stages[index], PathStage::Lazy(_))).collect(),
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
        let mut sum = Backlog { size: DataSize::ZERO, delay: Some(TimeDelta::ZERO) };
        for stage in &mut self.stages {
            let stage = stage.stage_mut();
            if let Some(capacity) = stage.capacity(now, now) {
                let size = stage.backlog(now);
                sum.size += size;
                if size > DataSize::ZERO {
                    let delay = Some(size / capacity).filter(|&delay| delay < TimeDelta::MAX);
                    sum.delay = sum.delay.zip(delay).map(|(others, delay)| others + delay);
                }
            }
        }
        sum
    }

    /// The bottleneck's mean capacity over `[from, to)`, or at `from` if they are equal: the
    /// minimum if there are several, `None` if there is none.
    pub fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.stages.iter().filter_map(|stage| stage.stage().capacity(from, to)).min()
    }

    /// The minimum one-way delay of the path, excluding transmission.
    pub fn min_one_way_delay(&self) -> TimeDelta {
        self.stages.iter().map(|stage| stage.stage().min_delay()).sum()
    }

    /// Packets whose exit is decided and that are not out yet. Lazy stages may hold more.
    pub fn in_flight(&self) -> usize {
        self.exits.len()
    }

    /// Packets that will never come out, because a link never sends again.
    pub fn stuck(&self) -> u64 {
        self.stuck
    }

    /// Whether every stage decides on a packet when it enters, so that [`Path::pass_packet`] may be used.
    pub fn is_eager(&self) -> bool {
        self.lazy.is_empty()
    }

    /// Whether moreover no stage marks packets, so that [`Path::pass`] may be used.
    pub fn passes_bursts(&self) -> bool {
        self.stages.iter().all(|stage| matches!(stage, PathStage::Eager(stage) if !stage.marks()))
    }

    /// The time at which a packet that enters at `now` comes out, or [`Timestamp::MAX`] if it waits for a link that
    /// never sends again. Like [`Path::push`], but the caller keeps the packet, and packets come out in the order they
    /// entered. Only if [`Path::is_eager`].
    ///
    /// # Errors
    /// It is lost.
    #[inline]
    pub fn pass_packet(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Result<Timestamp, Lost> {
        debug_assert!(self.is_eager(), "a stage that holds packets does not know when they leave");
        match self.decide(0, now, size, ecn) {
            Ok((at, _)) => {
                self.stuck += u64::from(at == Timestamp::MAX);
                Ok(at)
            }
            Err(lost) => {
                self.count_drop(lost.reason);
                Err(lost)
            }
        }
    }

    /// The same for a burst: appends to `exits` when each packet comes out, [`Timestamp::MAX`] for those that never do, and
    /// returns which were dropped, in their order. Only if [`Path::passes_bursts`].
    pub fn pass(&mut self, now: Timestamp, burst: Burst<DataSize>, exits: &mut Vec<Timestamp>) -> &[Lost] {
        debug_assert!(self.passes_bursts(), "a stage holds packets, or marks them");
        let first = exits.len();
        exits.resize(first + usize::from(burst.packets), now);
        let at = &mut exits[first..];
        self.lost.clear();
        for stage in &mut self.stages {
            if let PathStage::Eager(stage) = stage {
                stage.pass(&burst, at, &mut self.lost);
            }
        }
        if !is_whole(at, &self.lost) {
            self.count_gone(first, exits);
        }
        &self.lost
    }

    #[cold]
    fn count_gone(&mut self, first: usize, exits: &[Timestamp]) {
        // Each stage reported its own.
        self.lost.sort_by_key(|lost| lost.place);
        for place in 0..self.lost.len() {
            self.count_drop(self.lost[place].reason);
        }
        let never = exits[first..].iter().filter(|&&at| at == Timestamp::MAX).count();
        self.stuck += (never - self.lost.len()) as u64;
    }

    /// Take a packet through the eager stages from `first` on: when it leaves the last of them, and the place of the
    /// stage it comes to then. The time is [`Timestamp::MAX`] where a link never sends it.
    #[inline]
    fn decide(
        &mut self,
        first: usize,
        now: Timestamp,
        size: DataSize,
        ecn: &mut Ecn,
    ) -> Result<(Timestamp, usize), Lost> {
        let (mut at, mut place) = (now, first);
        for stage in &mut self.stages[first..] {
            let PathStage::Eager(stage) = stage else { break };
            let exit = stage.transit(at, size, ecn).map_err(|reason| Lost { place: 0, at, reason })?;
            debug_assert!(exit >= at, "a stage let a packet out before it came in");
            (at, place) = (exit, place + 1);
            if at == Timestamp::MAX {
                break;
            }
        }
        Ok((at, place))
    }

    /// Pass a packet through the stages from `first` on, as far as they decide.
    fn run(&mut self, first: usize, now: Timestamp, mut packet: Packet<P>) {
        match self.decide(first, now, packet.size, &mut packet.ecn) {
            Ok((Timestamp::MAX, _)) => self.stuck += 1,
            Ok((at, place)) => {
                if let Some(PathStage::Lazy(stage)) = self.stages.get_mut(place) {
                    let passage = stage.push(at, packet);
                    return self.pass_on(place, passage);
                }
                debug_assert!(self.exits.back().is_none_or(|last| last.at <= at), "a stage reordered exits");
                self.exits.push_back(Delivered { at, packet });
                self.next = self.next.min(at);
            }
            Err(Lost { at, reason, .. }) => self.note(DropNotice { at, packet, reason }),
        }
    }

    /// What the lazy stage at `index` did with a packet.
    fn pass_on(&mut self, index: usize, passage: Passage<P>) {
        match passage {
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

    fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::Aqm => self.counts.aqm += 1,
            DropReason::Policed => self.counts.policed += 1,
            DropReason::QueueFull => self.counts.queue_full += 1,
            DropReason::Random => self.counts.random += 1,
        }
    }

    #[inline(never)]
    fn pop_lazy(&mut self, now: Timestamp) -> Option<Delivered<P>> {
        // Exits are in order, so packets that a stage still holds come out after the decided ones.
        if self.exits.front().is_none_or(|exit| exit.at > now) {
            self.settle(now);
        }
        let due = self.exits.front().is_some_and(|exit| exit.at <= now);
        let delivered = if due { self.exits.pop_front() } else { None };
        self.next = self.earliest();
        delivered
    }

    /// Let every stage process its due packets. First to last: what one releases enters those after it.
    fn settle(&mut self, now: Timestamp) {
        for n in 0..self.lazy.len() {
            let index = self.lazy[n];
            while let PathStage::Lazy(stage) = &mut self.stages[index]
                && let Some(passage) = stage.pop(now)
            {
                self.pass_on(index, passage);
            }
        }
    }

    #[inline]
    fn earliest(&self) -> Timestamp {
        let mut earliest = self.exits.front().map_or(Timestamp::MAX, |exit| exit.at);
        for &index in &self.lazy {
            if let PathStage::Lazy(stage) = &self.stages[index] {
                earliest = earliest.min(stage.next_deadline().unwrap_or(Timestamp::MAX));
            }
        }
        earliest
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
