//! Which packets are lost: those missing for longer than reordering explains. The reordering window
//! is learned: it is how long packets that were reported missing took to turn up after all.
//! [rfc8298] §4.1.2.4 and §4.2.1.1 of its second version say so in the same words.
//!
//! Neither says how the window shrinks again: here by a sixteenth with every packet that is lost for
//! good, so that one late packet does not delay the reaction to loss forever.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Missing packets, and the reordering delay learned from late ones.
#[derive(Clone, Debug)]
pub struct LossDetector {
    missing: VecDeque<Missing>,
    reordering_window: TimeDelta,
    /// Confirmed losses since the last call of `confirmed`.
    lost: u32,
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    transport_seq: u64,
    reported: Timestamp,
    /// Already counted as lost.
    lost: bool,
}

impl Default for LossDetector {
    fn default() -> Self {
        Self { missing: VecDeque::with_capacity(MAX_MISSING), reordering_window: TimeDelta::ZERO, lost: 0 }
    }
}

impl LossDetector {
    /// A packet was not received. Returns whether that is new.
    pub fn missing(&mut self, now: Timestamp, transport_seq: u64) -> bool {
        if self.missing.iter().any(|missing| missing.transport_seq == transport_seq) {
            return false;
        }
        if self.missing.len() == MAX_MISSING {
            let oldest = self.missing.pop_front().expect("full");
            self.lost += u32::from(!oldest.lost);
        }
        self.missing.push_back(Missing { transport_seq, reported: now, lost: false });
        true
    }

    /// A packet arrived. Returns whether it had been reported missing before.
    pub fn arrived(&mut self, now: Timestamp, transport_seq: u64) -> bool {
        // Nearly every packet is newer than all missing ones.
        if self.missing.back().is_none_or(|last| transport_seq > last.transport_seq) {
            return false;
        }
        let Some(place) = self.missing.iter().position(|missing| missing.transport_seq == transport_seq) else {
            return false;
        };
        let late = self.missing.remove(place).expect("found above");
        // [rfc8298] §4.1.2.4: the time between "lost" and "received" is the reordering delay.
        self.reordering_window = self.reordering_window.max(now - late.reported).min(LONGEST_WINDOW);
        true
    }

    /// The number of packets confirmed lost since the last call.
    pub fn confirmed(&mut self, now: Timestamp) -> u32 {
        for missing in &mut self.missing {
            if !missing.lost && now - missing.reported >= self.reordering_window {
                missing.lost = true;
                self.lost += 1;
                self.reordering_window -= self.reordering_window / 16;
            }
        }
        while self.missing.front().is_some_and(|missing| missing.lost && now - missing.reported > REMEMBERED) {
            self.missing.pop_front();
        }
        std::mem::take(&mut self.lost)
    }
}

/// Beyond this many missing packets the oldest are lost without waiting.
const MAX_MISSING: usize = 64;
/// How long after a packet was reported missing it may be reported as arrived.
const REMEMBERED: TimeDelta = TimeDelta::from_secs(2);
/// The maximum delay that reordering adds to the reaction to loss.
const LONGEST_WINDOW: TimeDelta = TimeDelta::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn without_reordering_a_missing_packet_is_lost_at_once_and_once() {
        let mut losses = LossDetector::default();
        assert!(losses.missing(at(0), 7));
        assert_eq!(losses.confirmed(at(0)), 1);
        assert!(!losses.missing(at(10), 7));
        assert_eq!(losses.confirmed(at(10)), 0);
    }

    /// [rfc8298] §4.1.2.4, worked by hand: a packet 30 ms late widens the window to 30 ms.
    #[test]
    fn loss_waits_as_long_as_reordering_has_taken() {
        let mut losses = LossDetector::default();
        losses.missing(at(0), 7);
        losses.confirmed(at(0));
        assert!(losses.arrived(at(30), 7));
        losses.missing(at(100), 8);
        assert_eq!(losses.confirmed(at(129)), 0);
        assert_eq!(losses.confirmed(at(130)), 1);
        // Minus a sixteenth: 28.125 ms.
        losses.missing(at(200), 9);
        assert_eq!(losses.confirmed(at(228)), 0);
        assert_eq!(losses.confirmed(at(229)), 1);
    }

    #[test]
    fn more_missing_packets_than_fit_are_lost_without_waiting() {
        let mut losses = LossDetector::default();
        losses.missing(at(0), 0);
        losses.arrived(at(50), 0);
        (1..=70).for_each(|seq| assert!(losses.missing(at(100), seq)));
        assert_eq!(losses.confirmed(at(100)), 6);
    }
}
