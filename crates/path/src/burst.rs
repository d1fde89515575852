//! Packets that enter a path at one instant, and their fates if every stage decides at once. A burst
//! costs little more than a packet: each stage processes it as a whole, in a loop over times, and
//! only counts unless something is special.

use crate::stage::{DropReason, Eager, Transit};
use crate::{Path, PathStage};
use legato_units::{Burst, DataSize, Ecn, Timestamp};

/// The packets of either size: number and size.
#[inline]
pub(crate) fn by_size(burst: &Burst<DataSize>) -> [(usize, DataSize); 2] {
    let larger = usize::from(burst.packets - burst.smaller);
    let less = DataSize::from_bytes(burst.first.as_bytes().saturating_sub(1));
    [(larger, burst.first), (usize::from(burst.smaller), less)]
}

/// A packet of a burst that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its place in the burst.
    pub place: u16,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: DropReason,
}

impl<P: Send> Path<P> {
    /// Whether every stage decides on a packet when it enters and none marks it, so that [`Path::pass`]
    /// may be used.
    pub fn is_eager(&self) -> bool {
        let marks = |stage: &PathStage<P>| matches!(stage, PathStage::Bottleneck(stage) if stage.marks());
        self.lazy.is_empty() && !self.stages.iter().any(marks)
    }

    /// The fates of a burst that enters at `now`: appends to `exits` when each packet comes out,
    /// [`Timestamp::MAX`] for those that never do, and returns which were dropped, in their order. The
    /// same as a [`Path::push`] each, but the path keeps nothing: the caller has the packets, and they
    /// come out in the order of all bursts. Only if [`Path::is_eager`].
    pub fn pass(&mut self, now: Timestamp, burst: Burst<DataSize>, exits: &mut Vec<Timestamp>) -> &[Lost] {
        debug_assert!(self.is_eager(), "a stage that holds packets does not know when they leave");
        let first = exits.len();
        exits.resize(first + usize::from(burst.packets), now);
        let at = &mut exits[first..];
        self.lost.clear();
        for stage in &mut self.stages {
            match stage {
                PathStage::Bottleneck(stage) => stage.pass(&burst, at, &mut self.lost),
                PathStage::GilbertElliott(stage) => stage.pass(&burst, at, &mut self.lost),
                PathStage::Jitter(stage) => stage.pass(&burst, at, &mut self.lost),
                PathStage::Loss(stage) => stage.pass(&burst, at, &mut self.lost),
                PathStage::Propagation(stage) => stage.pass(&burst, at, &mut self.lost),
                PathStage::Custom(_) | PathStage::QueuedBottleneck(_) | PathStage::Reorder(_) => {}
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
}

/// Whether all of a burst is still in flight. A link that never sends again keeps the last of it in
/// any case.
#[inline]
pub(crate) fn is_whole(at: &[Timestamp], lost: &[Lost]) -> bool {
    lost.is_empty() && at.last().is_none_or(|&last| last != Timestamp::MAX)
}

/// Take a burst through a stage packet by packet, skipping those that are gone.
#[inline(never)]
pub(crate) fn pass_each(
    stage: &mut (impl Eager + ?Sized),
    burst: &Burst<DataSize>,
    at: &mut [Timestamp],
    lost: &mut Vec<Lost>,
) {
    for (place, at) in at.iter_mut().enumerate() {
        if *at == Timestamp::MAX {
            continue;
        }
        match stage.transit(*at, burst.get(place as u16), &mut Ecn::NotEct) {
            Transit::Exit(exit) => {
                debug_assert!(exit >= *at, "a stage let a packet out before it came in");
                *at = exit;
            }
            Transit::Dropped(reason) => {
                lost.push(Lost { place: place as u16, at: *at, reason });
                *at = Timestamp::MAX;
            }
        }
    }
}
