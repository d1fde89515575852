//! What the sender knows of its frames at the receiver, from feedback on packets: in calls and in the simulator.
//!
//! Feedback comes in the order in which packets left. A packet that it passed over, because a feedback was lost, stays
//! unknown, and with it what the receiver shows from that frame on. Then frames are predicted from the last settled
//! one, until a report says that one of these arrived whole: from it on the receiver's picture is certain again. If no
//! frame is settled, or the last one is too old to predict from, only a key frame helps, and another one if that did
//! not arrive whole.

use legato_units::PacketSet;
use std::collections::VecDeque;

/// Frames sent and not settled.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    frames: VecDeque<Sent>,
    /// Frames settled lately as incomplete: their counts in the call, and their packets that were reported.
    incomplete: VecDeque<(u64, PacketSet)>,
    /// The latest frame of which feedback says anything.
    latest: Option<u64>,
    /// The receiver's picture is unknown.
    is_unsure: bool,
    /// The last frame for which the receiver's picture is certain: its count in the call, and its number.
    known: Option<(u64, u16)>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Counts the call's coded frames.
    sequence: u64,
    /// Its number in the stream.
    number: u16,
    told: PacketSet,
    came: PacketSet,
    /// Packets of parity that came: each replaces one that did not.
    parity: PacketSet,
    /// It needs only a frame that the receiver has acknowledged.
    from_known: bool,
}

/// The consequence of feedback.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Frames of which every packet is reported, in their order.
    pub reports: Vec<(u16, PacketSet)>,
    /// A packet came that was reported lost before: the receiver's picture differs from the assumed one.
    pub is_wrong: bool,
    /// Of each frame that is over, known or not: how many of its packets feedback named, and how many of these came.
    pub heard: Vec<(u8, u8)>,
}

impl Sent {
    fn is_whole(&self) -> bool {
        self.came.received() + self.parity.received() >= self.came.count()
    }
}

/// A frame of the hybrid codec may be predicted from one at most this many before it: that is how many both ends keep.
pub const MOST_DISTANCE: u8 = 32;
/// As many frames as the codec keeps.
const FRAMES_KEPT: usize = MOST_DISTANCE as usize;

impl Ledger {
    /// A frame leaves. `from_known`: it needs at most a frame that was reported.
    pub fn push(&mut self, sequence: u64, number: u16, packets: u8, from_known: bool) {
        let none = PacketSet::none(packets);
        self.frames.push_back(Sent {
            sequence,
            number,
            told: none,
            came: none,
            parity: PacketSet::none(u8::MAX),
            from_known,
        });
        if self.frames.len() > FRAMES_KEPT {
            self.frames.pop_front();
        }
    }

    /// Whether frames should be predicted from the last one reported.
    pub fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// The last frame for which the receiver's picture is certain, by its count in the call.
    pub fn known(&self) -> Option<u64> {
        self.known.map(|(sequence, _)| sequence)
    }

    /// Whether there is no settled frame to predict from, nor will be one by packets on their way; `next` is the number
    /// of the next frame.
    pub fn is_lost(&self, next: u16) -> bool {
        let reaches = |(_, known): (u64, u16)| next.wrapping_sub(known) <= u16::from(MOST_DISTANCE);
        self.is_unsure && !self.known.is_some_and(reaches) && !self.frames.iter().any(|sent| sent.from_known)
    }

    /// Feedback: packets of frames, and whether they arrived. Behind a frame's own packets are those of parity, any of
    /// which restores one.
    pub fn take(&mut self, reports: impl IntoIterator<Item = (u64, u16, bool)>) -> Settled {
        let mut settled = Settled::default();
        for (sequence, index, arrived) in reports {
            let Ok(packet) = u8::try_from(index) else { continue };
            self.latest = self.latest.max(Some(sequence));
            if let Some(sent) = self.frames.iter_mut().find(|sent| sent.sequence == sequence) {
                sent.told.insert(packet);
                match packet.checked_sub(sent.came.count()) {
                    _ if !arrived => false,
                    Some(parity) => sent.parity.insert(parity),
                    None => sent.came.insert(packet),
                };
            } else if arrived
                && let Some((_, came)) = self.incomplete.iter_mut().find(|(settled, _)| *settled == sequence)
            {
                settled.is_wrong |= came.insert(packet);
            }
        }
        while let Some(&sent) = self.frames.front() {
            let is_known = sent.is_whole() || sent.told.is_complete();
            if !is_known && self.latest.is_none_or(|latest| latest <= sent.sequence) {
                break;
            }
            self.frames.pop_front();
            settled.heard.push((sent.told.received(), sent.came.received()));
            if !is_known {
                self.is_unsure = true;
            } else if !self.is_unsure || (sent.from_known && sent.is_whole()) {
                self.is_unsure = false;
                self.known = Some((sent.sequence, sent.number));
                let came = if sent.is_whole() { PacketSet::all(sent.came.count()) } else { sent.came };
                settled.reports.push((sent.number, came));
                if !sent.is_whole() {
                    self.incomplete.push_back((sent.sequence, sent.came));
                    if self.incomplete.len() > FRAMES_KEPT {
                        self.incomplete.pop_front();
                    }
                }
            }
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(sequence: u64) -> [(u64, u16, bool); 2] {
        [(sequence, 0, true), (sequence, 1, true)]
    }

    fn of(bits: &[u8]) -> PacketSet {
        let mut packets = PacketSet::none(2);
        bits.iter().for_each(|&bit| assert!(packets.insert(bit)));
        packets
    }

    #[test]
    fn frames_are_settled_in_order_once_all_their_packets_are_known() {
        let mut ledger = Ledger::default();
        (0..4).for_each(|n| ledger.push(n, 100 + n as u16, 2, false));
        let settled = ledger.take([(0, 0, true), (0, 1, false), (1, 0, true)]);
        assert_eq!(settled, Settled { reports: vec![(100, of(&[0]))], is_wrong: false, heard: vec![(2, 1)] });
        assert_eq!(ledger.take([(1, 1, true)]).reports, [(101, of(&[0, 1]))]);
        // Nothing new, of frames that were never sent or are over.
        assert_eq!(ledger.take([(9, 700, true), (1, 1, true)]), Settled::default());
        assert!(!ledger.is_unsure());
        // A packet that was called lost has come after all.
        assert!(ledger.take([(0, 1, true)]).is_wrong);
        assert!(!ledger.take([(0, 1, true)]).is_wrong);
    }

    #[test]
    fn what_feedback_passes_over_is_unknown_until_a_whole_frame_needs_only_what_is_known() {
        let mut ledger = Ledger::default();
        (0..4).for_each(|n| ledger.push(n, n as u16, 2, false));
        assert_eq!(ledger.take(whole(0)).reports.len(), 1);
        // Only half of frame 1 is reported.
        let passed_over = ledger.take([(1, 0, true), (2, 0, true), (2, 1, true)]);
        assert_eq!((passed_over.reports, passed_over.heard), (vec![], vec![(1, 1), (2, 2)]));
        assert!(ledger.is_unsure());
        ledger.push(4, 4, 2, true);
        ledger.push(5, 5, 2, true);
        assert_eq!(ledger.take(whole(3)).reports, []);
        // Half of it was concealed by an unknown picture.
        assert_eq!(ledger.take([(4, 0, true), (4, 1, false)]).reports, []);
        assert!(ledger.is_unsure());
        assert_eq!(ledger.take(whole(5)).reports, [(5, of(&[0, 1]))]);
        assert!(!ledger.is_unsure());
    }

    #[test]
    fn where_nothing_is_known_only_a_frame_that_needs_nothing_helps() {
        let mut ledger = Ledger::default();
        ledger.push(0, 0, 2, true);
        ledger.push(1, 1, 2, false);
        assert!(!ledger.is_lost(2));
        // The beginning of frame 0 is passed over.
        ledger.take([(0, 1, true), (1, 0, true)]);
        assert!(ledger.is_unsure() && ledger.is_lost(2));
        // A key frame is on its way; it does not come whole; the next one does.
        ledger.push(2, 2, 2, true);
        assert!(!ledger.is_lost(3));
        ledger.take([(1, 1, true), (2, 0, true), (2, 1, false)]);
        assert!(ledger.is_lost(3));
        ledger.push(3, 3, 2, true);
        ledger.take(whole(3));
        assert!(!ledger.is_unsure() && !ledger.is_lost(4));
        // Unsure again, and the last settled frame is further back than references reach.
        ledger.push(4, 4, 2, false);
        ledger.push(5, 5, 2, false);
        ledger.take(whole(5));
        assert!(ledger.is_unsure() && !ledger.is_lost(35) && ledger.is_lost(36));
    }

    /// Parity replaces a lost packet in any case; the same report twice counts once.
    #[test]
    fn parity_makes_a_frame_whole() {
        let mut ledger = Ledger::default();
        (0..2).for_each(|n| ledger.push(n, n as u16, 2, false));
        assert_eq!(ledger.take([(0, 0, true), (0, 2, true)]).reports, [(0, of(&[0, 1]))]);
        assert_eq!(ledger.take([(1, 0, true), (1, 0, true), (1, 2, false)]).reports, []);
        assert_eq!(ledger.known(), Some(0));
        assert_eq!(ledger.take([(1, 3, true), (1, 3, true)]).reports, [(1, of(&[0, 1]))]);
    }
}
