//! Packets that enter a path at one instant, and their fates if every stage decides at once. A burst
//! costs little more than a packet: each stage processes it as a whole, in a loop over times, and
//! only counts unless something is special.

use super::{DropReason, Eager};
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

/// Whether all of a burst is still in flight. A link that never sends again keeps the last of it in
/// any case.
#[inline]
pub(crate) fn is_whole(at: &[Timestamp], lost: &[Lost]) -> bool {
    lost.is_empty() && at.last().is_none_or(|&last| last != Timestamp::MAX)
}

/// Take a burst through a stage packet by packet, skipping packets that are gone.
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
            Ok(exit) => {
                debug_assert!(exit >= *at, "a stage let a packet out before it came in");
                *at = exit;
            }
            Err(reason) => {
                lost.push(Lost { place: place as u16, at: *at, reason });
                *at = Timestamp::MAX;
            }
        }
    }
}
