//! Reordering: some packets take a detour, and later ones overtake them.

use super::{Lazy, LossError, Passage, Stage};
use crate::Packet;
use legato_units::{TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::collections::VecDeque;

/// Delays a share of packets by an extra time; the others pass at once. Lazy, so that its output is
/// in order of time.
pub struct Reorder<P> {
    threshold: u64,
    extra: TimeDelta,
    rng: ChaCha8Rng,
    /// Both in the order of their exits; `pop` returns the earlier of the two fronts.
    prompt: VecDeque<(Timestamp, Packet<P>)>,
    detour: VecDeque<(Timestamp, Packet<P>)>,
}

impl<P: Send> Reorder<P> {
    /// A share `ratio` of packets takes `extra` longer.
    ///
    /// # Errors
    /// A ratio outside `[0, 1]`.
    pub fn new(ratio: f64, extra: TimeDelta, rng: ChaCha8Rng) -> Result<Self, LossError> {
        if !(0.0..=1.0).contains(&ratio) {
            return Err(LossError { key: "reorder_ratio", value: ratio });
        }
        let threshold = (ratio * 4_294_967_296.0) as u64;
        let extra = extra.max(TimeDelta::ZERO);
        Ok(Self { threshold, extra, rng, prompt: VecDeque::new(), detour: VecDeque::new() })
    }

    /// The line whose front leaves first; at one instant the detour's, which came first.
    fn first(&mut self) -> Option<&mut VecDeque<(Timestamp, Packet<P>)>> {
        match (self.prompt.front(), self.detour.front()) {
            (Some((prompt, _)), Some((detour, _))) if prompt < detour => Some(&mut self.prompt),
            (_, Some(_)) => Some(&mut self.detour),
            (Some(_), None) => Some(&mut self.prompt),
            (None, None) => None,
        }
    }
}

impl<P: Send> Stage for Reorder<P> {}

impl<P: Send> Lazy<P> for Reorder<P> {
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Passage<P> {
        if self.threshold > 0 && u64::from(self.rng.next_u32()) < self.threshold {
            self.detour.push_back((now.saturating_add(self.extra), packet));
        } else {
            self.prompt.push_back((now, packet));
        }
        Passage::Held
    }

    fn pop(&mut self, now: Timestamp) -> Option<Passage<P>> {
        let line = self.first()?;
        if line.front().is_none_or(|&(at, _)| at > now) {
            return None;
        }
        line.pop_front().map(|(at, packet)| Passage::Exit(at, packet))
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let front = |line: &VecDeque<(Timestamp, Packet<P>)>| line.front().map(|&(at, _)| at);
        front(&self.prompt).into_iter().chain(front(&self.detour)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use legato_units::DataSize;
    use rand_core::SeedableRng;

    fn run(ratio: f64, packets: u32) -> Vec<(i64, u32)> {
        let extra = TimeDelta::from_millis(25);
        let mut stage = Reorder::new(ratio, extra, ChaCha8Rng::seed_from_u64(2)).expect("valid");
        let mut out = Vec::new();
        for n in 0..packets {
            let now = Timestamp::from_millis(i64::from(n) * 10);
            let packet = Packet { size: DataSize::from_bytes(9), flow: 0, ecn: Ecn::NotEct, payload: n };
            assert_eq!(stage.push(now, packet), Passage::Held);
            while let Some(Passage::Exit(at, packet)) = stage.pop(now) {
                out.push((at.as_nanos() / 1_000_000, packet.payload));
            }
        }
        while let Some(Passage::Exit(at, packet)) = stage.pop(Timestamp::MAX) {
            out.push((at.as_nanos() / 1_000_000, packet.payload));
        }
        out
    }

    #[test]
    fn a_delayed_packet_is_overtaken_by_those_within_its_extra_time() {
        let out = run(0.2, 2_000);
        assert_eq!(out.len(), 2_000);
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0), "exits go back in time");
        let delayed = out.iter().filter(|(at, n)| *at == i64::from(*n) * 10 + 25).count();
        assert_eq!(delayed + out.iter().filter(|(at, n)| *at == i64::from(*n) * 10).count(), 2_000);
        assert!((330..470).contains(&delayed), "{delayed}");
    }

    #[test]
    fn a_ratio_of_zero_changes_nothing() {
        assert!(run(0.0, 50).iter().enumerate().all(|(n, &out)| out == (n as i64 * 10, n as u32)));
        assert!(Reorder::<()>::new(-0.1, TimeDelta::ZERO, ChaCha8Rng::seed_from_u64(0)).is_err());
    }
}
