//! Proportional Integral controller Enhanced, RFC 8033.
//!
//! PIE drops arrivals at random, with a probability that it adjusts every 15 ms by the distance of
//! the queuing delay from its reference and by its change. The delay is the last departed packet's
//! wait (the timestamp variant of section 5.2; no departure-rate estimator).

use super::fifo::Fifo;
use super::{Queue, QueueLimit, mark};
use crate::random::unit;
use crate::{DropReason, Packet};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;

/// Parameters of PIE; the defaults are those of RFC 8033 section 5.1 and 4.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// The delay to hold: 15 ms.
    pub reference: TimeDelta,
    /// How often the probability is adjusted: 15 ms.
    pub update: TimeDelta,
    /// Weight of the distance from the reference, per second: 0.125.
    pub alpha: f64,
    /// Weight of the delay's change, per second: 1.25.
    pub beta: f64,
    /// Bursts of this length pass an idle queue: 150 ms.
    pub max_burst: TimeDelta,
    /// Mark packets of ECN-capable senders instead of dropping them, up to a probability of 10 %.
    pub ecn: bool,
    /// The limit of the queue.
    pub limit: QueueLimit,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            reference: TimeDelta::from_millis(15),
            update: TimeDelta::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: TimeDelta::from_millis(150),
            ecn: false,
            limit: QueueLimit::Packets(1_000),
        }
    }
}

/// A PIE queue; see the module.
#[derive(Debug)]
pub struct Pie<P> {
    config: PieConfig,
    line: Fifo<P>,
    rng: ChaCha8Rng,
    drop_prob: f64,
    /// Probability summed since the last drop: spaces drops more evenly than chance would.
    accumulated: f64,
    delay: TimeDelta,
    delay_before: TimeDelta,
    burst_allowance: TimeDelta,
    next_update: Timestamp,
}

impl<P> Pie<P> {
    /// A queue with these parameters and its own random stream.
    pub fn new(config: PieConfig, rng: ChaCha8Rng) -> Self {
        Self {
            config,
            line: Fifo::new(config.limit),
            rng,
            drop_prob: 0.0,
            accumulated: 0.0,
            delay: TimeDelta::ZERO,
            delay_before: TimeDelta::ZERO,
            burst_allowance: config.max_burst,
            next_update: Timestamp::ZERO.saturating_add(config.update),
        }
    }

    /// Apply the updates that are due; a long silence stops counting once nothing changes any more.
    fn catch_up(&mut self, now: Timestamp) {
        while now >= self.next_update {
            self.update();
            self.next_update = self.next_update.saturating_add(self.config.update);
            let idle = self.drop_prob == 0.0 && self.delay == TimeDelta::ZERO && self.delay_before == TimeDelta::ZERO;
            if idle && now >= self.next_update {
                let steps = (now - self.next_update).as_nanos() / self.config.update.as_nanos().max(1) + 1;
                self.next_update = self.next_update.saturating_add(self.config.update * steps);
                self.burst_allowance = self.config.max_burst;
            }
        }
    }

    /// [rfc8033] §4.2: p += α·(delay − reference) + β·(delay − delay_before), scaled by p's size
    fn update(&mut self) {
        if self.line.bytes() == 0 {
            self.delay = TimeDelta::ZERO;
        }
        let from_reference = (self.delay - self.config.reference).as_secs_f64();
        let change = (self.delay - self.delay_before).as_secs_f64();
        let mut step = (self.config.alpha * from_reference + self.config.beta * change) * tuning(self.drop_prob);
        // [rfc8033] §5.5: no jump above 2 % once the probability is high.
        if self.drop_prob >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.drop_prob += step;
        // [rfc8033] §4.2: decay while the queue is idle.
        if self.delay == TimeDelta::ZERO && self.delay_before == TimeDelta::ZERO {
            self.drop_prob *= 0.98;
            if self.drop_prob < 1e-12 {
                self.drop_prob = 0.0;
            }
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = (self.burst_allowance - self.config.update).max(TimeDelta::ZERO);
        // [rfc8033] §4.4: a calm queue regains its burst allowance.
        let calm = self.config.reference / 2;
        if self.drop_prob == 0.0 && self.delay < calm && self.delay_before < calm {
            self.burst_allowance = self.config.max_burst;
        }
        self.delay_before = self.delay;
    }

    /// [rfc8033] §4.1 and §5.4
    fn hits(&mut self) -> bool {
        if self.burst_allowance > TimeDelta::ZERO {
            return false;
        }
        let calm = self.delay_before < self.config.reference / 2 && self.drop_prob < 0.2;
        if calm || self.line.bytes() <= 2 * MEAN_PACKET {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accumulated = 0.0;
            return false;
        }
        self.accumulated += self.drop_prob;
        if self.accumulated < 0.85 {
            return false;
        }
        let hit = self.accumulated >= 8.5 || unit(&mut self.rng) < self.drop_prob;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }
}

impl<P: Send> Queue<P> for Pie<P> {
    fn push(&mut self, now: Timestamp, mut packet: Packet<P>) -> Result<(), (Packet<P>, DropReason)> {
        self.catch_up(now);
        if !self.line.has_room(packet.size) {
            return Err((packet, DropReason::QueueFull));
        }
        if self.hits() && !(self.drop_prob <= MARK_UP_TO && mark(self.config.ecn, &mut packet.ecn)) {
            return Err((packet, DropReason::Aqm));
        }
        self.line.push(now, packet);
        Ok(())
    }

    fn pop(&mut self, now: Timestamp, _dropped: &mut Vec<Packet<P>>) -> Option<Packet<P>> {
        self.catch_up(now);
        let (came, packet) = self.line.pop()?;
        self.delay = now - came;
        Some(packet)
    }

    fn backlog(&self) -> DataSize {
        DataSize::from_bytes(self.line.bytes())
    }
    fn rescales(&self) -> bool {
        self.line.rescales()
    }
    fn rescale(&mut self, capacity: DataRate) {
        self.line.rescale(capacity);
    }
}

/// [rfc8033] §4.2: the smaller the probability, the smaller its steps.
fn tuning(drop_prob: f64) -> f64 {
    match drop_prob {
        p if p < 0.000_001 => 1.0 / 2_048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

/// [rfc8033] §4.1 leaves MEAN_PKTSIZE to the implementation.
const MEAN_PACKET: u64 = 1_000;
/// [rfc8033] §5.1: marks up to 10 %, drops above.
const MARK_UP_TO: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use rand_core::SeedableRng;
    use std::collections::VecDeque;

    fn pie(config: PieConfig) -> Pie<()> {
        Pie::new(config, ChaCha8Rng::seed_from_u64(1))
    }
    fn packet(ecn: Ecn) -> Packet<()> {
        Packet { size: DataSize::from_bytes(1_000), flow: 0, ecn, payload: () }
    }

    /// [rfc8033] §4.2, worked by hand: delay 35 ms after 15 ms at p = 0.05:
    /// (0.125 × 0.020 + 1.25 × 0.020) / 2 = 0.01375.
    #[test]
    fn the_probability_moves_by_distance_and_change() {
        let mut queue = pie(PieConfig::default());
        queue.line.push(Timestamp::ZERO, packet(Ecn::NotEct));
        (queue.drop_prob, queue.delay, queue.delay_before) =
            (0.05, TimeDelta::from_millis(35), TimeDelta::from_millis(15));
        queue.update();
        assert!((queue.drop_prob - 0.06375).abs() < 1e-12, "{}", queue.drop_prob);
        // [rfc8033] §5.5: at 10 % and above a step is no more than 2 %: 0.125 × 0.985 + 1.25 × 0.965 would be 1.33.
        (queue.drop_prob, queue.delay) = (0.2, TimeDelta::from_secs(1));
        queue.update();
        assert!((queue.drop_prob - 0.22).abs() < 1e-12, "{}", queue.drop_prob);
    }

    #[test]
    fn the_probability_decays_in_silence_and_long_silence_costs_nothing() {
        let mut queue = pie(PieConfig::default());
        queue.drop_prob = 0.05;
        queue.catch_up(Timestamp::from_millis(15));
        // (0.05 − 0.125 × 0.015 / 2) × 0.98
        assert!((queue.drop_prob - 0.048_081_25).abs() < 1e-12, "{}", queue.drop_prob);
        queue.catch_up(Timestamp::from_secs(1_000_000_000));
        assert_eq!(queue.drop_prob, 0.0);
        assert_eq!(queue.next_update.as_nanos() % 15_000_000, 0);
        assert!(queue.next_update > Timestamp::from_secs(1_000_000_000));
    }

    /// A 2 Mbit/s link (4 ms per packet) offered 2.5 Mbit/s without any reaction.
    fn overload(seconds: i64) -> (usize, f64) {
        let mut queue = pie(PieConfig::default());
        let (mut drops, mut waited) = (0, Vec::new());
        let mut came = VecDeque::new();
        let (mut arrival, mut departure) = (0, 0);
        while arrival < seconds * 1_000_000 {
            let us = arrival.min(departure);
            let now = Timestamp::from_nanos(us * 1_000);
            if arrival <= departure {
                match queue.push(now, packet(Ecn::NotEct)) {
                    Ok(()) => came.push_back(us),
                    Err((_, reason)) => {
                        assert_eq!(reason, DropReason::Aqm);
                        drops += 1;
                    }
                }
                arrival += 3_200;
            } else {
                if queue.pop(now, &mut Vec::new()).is_some() {
                    waited.push((us - came.pop_front().expect("in step")) as f64 / 1e3);
                }
                departure += 4_000;
            }
        }
        let late = &waited[waited.len() / 2..];
        (drops, late.iter().sum::<f64>() / late.len() as f64)
    }
    #[test]
    fn overload_is_held_at_the_reference_delay_by_dropping_the_excess() {
        let (drops, mean_ms) = overload(120);
        assert!((10.0..20.0).contains(&mean_ms), "{mean_ms} ms");
        // A fifth of 312.5 packets/s must go: 7,500 in 120 s, fewer while the probability grows.
        assert!((7_000..7_600).contains(&drops), "{drops}");
    }

    /// [rfc8033] §5.1 and §4.1: which packets are hit, and how.
    #[test]
    fn marks_replace_drops_up_to_ten_percent_and_not_above() {
        for (drop_prob, expect_marks) in [(0.05, true), (0.3, false)] {
            let mut queue = pie(PieConfig { ecn: true, ..PieConfig::default() });
            queue.burst_allowance = TimeDelta::ZERO;
            (queue.drop_prob, queue.delay, queue.delay_before) =
                (drop_prob, TimeDelta::from_millis(20), TimeDelta::from_millis(20));
            let refused = (0..900).filter(|_| queue.push(Timestamp::ZERO, packet(Ecn::Ect0)).is_err()).count();
            let mut marked = 0;
            while let Some(out) = queue.pop(Timestamp::ZERO, &mut Vec::new()) {
                marked += usize::from(out.ecn == Ecn::Ce);
            }
            let (hit, other) = if expect_marks { (marked, refused) } else { (refused, marked) };
            // [rfc8033] §5.4: 0.85/p packets pass after each hit before chance applies.
            let expected = 900.0 / (0.85 / drop_prob + 1.0 / drop_prob - 1.0);
            assert!((hit as f64 / expected - 1.0).abs() < 0.3, "{hit} hits, expected {expected}");
            assert_eq!(other, 0);
        }
    }

    /// [rfc8033] §4.4: 100 ms of burst are within the allowance of 150 ms.
    #[test]
    fn the_first_burst_passes() {
        let mut queue = pie(PieConfig::default());
        for n in 0..100 {
            assert!(queue.push(Timestamp::from_millis(n), packet(Ecn::NotEct)).is_ok());
        }
    }
}
