//! A medium that passes packets in clumps, as Wi-Fi does with aggregated frames (A-MPDU) and cellular links with their
//! slots.
//!
//! The first packet that waits asks for the medium and gets it after a random time, uniform between half of the mean
//! and one and a half of it. The packets that have come until then leave at that instant, up to a number of packets.
//! The rest asks again. Clumps take no time on the air: the rate is the bottleneck's in front of this stage.

use super::{DropReason, Eager, Stage};
use crate::Ecn;
use crate::random::unit;
use legato_units::{DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;

/// The stage; see the module.
#[derive(Clone, Debug)]
pub struct Aggregation {
    wait: TimeDelta,
    max_packets: u32,
    rng: ChaCha8Rng,
    /// When the medium is ours next, or was last.
    access: Timestamp,
    /// How many more packets fit into it.
    room: u32,
}

impl Aggregation {
    /// Access after `wait` on average (negative: none), for at most `max_packets` (0 counts as 1).
    pub fn new(wait: TimeDelta, max_packets: u32, rng: ChaCha8Rng) -> Self {
        let wait = wait.max(TimeDelta::ZERO);
        Self { wait, max_packets: max_packets.max(1), rng, access: Timestamp::ZERO, room: 0 }
    }
}

impl Stage for Aggregation {
    fn min_delay(&self) -> TimeDelta {
        // A packet that comes just before the access waits for almost nothing.
        TimeDelta::ZERO
    }
}

impl Eager for Aggregation {
    fn transit(&mut self, now: Timestamp, _size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        if now > self.access || self.room == 0 {
            let after = (0.5 + unit(&mut self.rng)) * self.wait.as_nanos() as f64;
            self.access = self.access.max(now).saturating_add(TimeDelta::from_nanos(after as i64));
            self.room = self.max_packets;
        }
        self.room -= 1;
        Ok(self.access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    /// 1,000 packets, one each ms; access after 4 to 12 ms, for at most 6 packets.
    #[test]
    fn packets_leave_in_clumps_of_a_limited_size() {
        let mut stage = Aggregation::new(TimeDelta::from_millis(8), 6, ChaCha8Rng::seed_from_u64(3));
        let mut exits: Vec<Timestamp> = Vec::new();
        for ms in 0..1_000 {
            let now = Timestamp::from_millis(ms);
            let exit = stage.transit(now, DataSize::from_bytes(1_000), &mut Ecn::NotEct).expect("nothing is lost");
            assert!(exit >= now && exits.last().is_none_or(|&last| exit >= last));
            exits.push(exit);
        }
        let clumps: Vec<usize> = exits.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
        assert!(clumps.iter().all(|&clump| clump <= 6), "{clumps:?}");
        assert!(clumps.iter().filter(|&&clump| clump == 6).count() > 50, "{clumps:?}");
    }
}
