//! One packet through a path whose every stage decides at once, without the path keeping it: a caller that
//! knows when it comes out need not store it twice. Stages may mark it on the way.

use crate::stage::{DropReason, Transit};
use crate::{Ecn, Path};
use legato_units::{DataSize, Timestamp};

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It is lost, since that time.
    Dropped(Timestamp, DropReason),
    /// It comes out then.
    Exit(Timestamp),
    /// It waits for a link that never sends again.
    Stuck,
}

impl<P: Send> Path<P> {
    /// Whether every stage decides on a packet when it enters, so that [`Path::decide`] may be used.
    pub fn decides_at_once(&self) -> bool {
        self.lazy.is_empty()
    }

    /// The fate of a packet of `size` that enters at `now`: the same as [`Path::push`], but the caller keeps the
    /// packet, and the notice of its loss. Only if [`Path::decides_at_once`].
    #[inline]
    pub fn decide(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Decided {
        debug_assert!(self.decides_at_once(), "a stage that holds packets does not know when they leave");
        let mut at = now;
        for stage in &mut self.stages {
            match stage.transit(at, size, ecn) {
                Some(Transit::Exit(exit)) => {
                    debug_assert!(exit >= at, "a stage let a packet out before it came in");
                    at = exit;
                    if at == Timestamp::MAX {
                        self.stuck += 1;
                        return Decided::Stuck;
                    }
                }
                Some(Transit::Dropped(reason)) => {
                    self.count_drop(reason);
                    return Decided::Dropped(at, reason);
                }
                None => break,
            }
        }
        Decided::Exit(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::LinkCapacity;
    use crate::queue::QueueLimit;
    use crate::stage::{Bottleneck, Loss, Propagation};
    use crate::{DropNotice, Packet};
    use legato_units::{DataRate, TimeDelta};
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn path() -> Path<u64> {
        let link = LinkCapacity::constant(DataRate::from_mbps(1));
        Path::new([
            Loss::new(0.2, ChaCha8Rng::seed_from_u64(5)).expect("a ratio").into(),
            Bottleneck::new(link, QueueLimit::Packets(4)).into(),
            Propagation::fixed(TimeDelta::from_millis(20)).into(),
        ])
        .with_drop_notices()
    }

    #[test]
    fn a_packet_has_the_fate_it_has_when_pushed() {
        let (mut keeps, mut decides) = (path(), path());
        for n in 0..500u64 {
            let (now, size) = (Timestamp::from_millis(n as i64 * 6), DataSize::from_bytes(1_250));
            keeps.push(now, Packet { size, flow: 0, ecn: Ecn::NotEct, payload: n });
            match decides.decide(now, size, &mut Ecn::NotEct) {
                Decided::Exit(at) => {
                    let exit = keeps.pop(Timestamp::MAX).map(|exit| (exit.at, exit.packet.payload));
                    assert_eq!(exit, Some((at, n)));
                }
                Decided::Dropped(at, reason) => {
                    let drop = keeps.pop_drop().map(|DropNotice { at, packet, reason }| (at, packet.payload, reason));
                    assert_eq!(drop, Some((at, n, reason)));
                }
                Decided::Stuck => unreachable!("the link sends"),
            }
        }
        assert!(decides.drops().random > 50 && decides.drops().queue_full > 20);
        assert_eq!(keeps.drops(), decides.drops());
    }
}
