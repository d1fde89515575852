//! How long a burst may be ([liu2026]): a frame's bytes are counted in pieces of 2 KB, and where later pieces are lost
//! more often than the best piece, bursts overflow a buffer somewhere.

use legato_control::PacketReport;
use legato_units::{TimeDelta, Timestamp};

/// M, and the losses by position.
#[derive(Clone, Debug)]
pub struct BurstLength {
    bytes: u64,
    excess_loss: f64,
    sent: [u64; PIECES],
    lost: [u64; PIECES],
    next_update: Timestamp,
    fallback: bool,
}

impl BurstLength {
    /// Starts at 12 KB.
    pub fn new(excess_loss: f64, start: Timestamp) -> Self {
        let next_update = start + INTERVAL;
        Self { bytes: FIRST, excess_loss, sent: [0; PIECES], lost: [0; PIECES], next_update, fallback: false }
    }

    /// Count a packet that is `offset` bytes into its frame.
    pub fn on_report(&mut self, report: &PacketReport, offset: u64) {
        let piece = ((offset / PIECE) as usize).min(PIECES - 1);
        let bytes = report.size.as_bytes();
        self.sent[piece] += bytes;
        self.lost[piece] += if report.arrived() { 0 } else { bytes };
    }

    /// Every five seconds: longer, or shorter where pieces are lost more than the best.
    // [liu2026]: M + 2 KB, or M - 2 KB if any L_i > L_0 + 0.1; at the minimum, the fallback
    pub fn update(&mut self, now: Timestamp) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + INTERVAL;
        let losses = self.sent.iter().zip(&self.lost).filter(|(sent, _)| **sent > 0);
        let losses = losses.map(|(sent, lost)| *lost as f64 / *sent as f64);
        let lowest = losses.clone().fold(f64::INFINITY, f64::min);
        let excess = losses.clone().any(|loss| loss > lowest + self.excess_loss);
        self.fallback = excess && self.bytes <= PIECE;
        self.bytes = if excess { (self.bytes - PIECE).max(PIECE) } else { (self.bytes + PIECE).min(LONGEST) };
        (self.sent, self.lost) = ([0; PIECES], [0; PIECES]);
    }

    /// The bytes that may leave at once.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Even the shortest burst loses its tail.
    pub fn fallback(&self) -> bool {
        self.fallback
    }
}

// [liu2026]'s public code.
const PIECE: u64 = 2_048;
const PIECES: usize = 64;
const FIRST: u64 = 12 * 1_024;
const LONGEST: u64 = 64 * 1_024;
const INTERVAL: TimeDelta = TimeDelta::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_reports::report;

    fn at(s: i64) -> Timestamp {
        Timestamp::from_secs(s)
    }

    /// Ten packets to each of two pieces, so many of the second lost.
    fn frames(length: &mut BurstLength, lost: u16) {
        for turn in 0..10 {
            let arrived = report((0, 0, 1), TimeDelta::ZERO, Some(TimeDelta::ZERO));
            length.on_report(&arrived, 500);
            let second = if turn < lost { report((0, 0, 1), TimeDelta::ZERO, None) } else { arrived };
            length.on_report(&second, 2_500);
        }
    }

    /// [liu2026], worked by hand: 12 KB, 14, 16; a loss of a tenth more than at the head is allowed, two tenths
    /// are not: 14, 12, … down to 2 KB, and the fallback there.
    #[test]
    fn bursts_grow_until_their_tails_are_lost() {
        let mut length = BurstLength::new(0.1, at(0));
        length.update(at(4));
        assert_eq!(length.bytes(), 12_288);
        length.update(at(5));
        frames(&mut length, 1);
        length.update(at(10));
        assert_eq!(length.bytes(), 16_384);
        for turn in 1..8 {
            frames(&mut length, 2);
            length.update(at(10 + 5 * turn));
            assert_eq!(length.bytes(), (16_384 - 2_048 * turn as u64).max(2_048));
            assert!(!length.fallback());
        }
        frames(&mut length, 2);
        length.update(at(50));
        assert!(length.fallback() && length.bytes() == 2_048);
        length.update(at(55));
        assert!(!length.fallback() && length.bytes() == 4_096);
    }
}
