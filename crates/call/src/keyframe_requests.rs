//! When a receiver asks for a key frame, in the simulator and in real calls ([libwebrtc-m150] VideoReceiveStream2).
//!
//! A receiver asks for one once a wait has lasted too long, a gap is hopeless, or its decoder cannot go on. In the last
//! two cases it wants nothing else, and asks again soon; after a wait it goes on waiting for repair, for as long again.
//! While one is coming it asks for no other: a large key frame takes longer than the wait to come, and each request
//! would make another.

use legato_media::frame_buffer::FrameAssembly;
use legato_units::{TimeDelta, Timestamp};

/// Why the receiver waits for a missing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Its retransmission.
    Repair,
    /// It is not sent again: it can only be late by another route.
    Reordering,
}

/// The policy and its state.
#[derive(Clone, Debug)]
pub struct KeyframeRequests {
    patience: Patience,
    wanted: bool,
    last: Option<Timestamp>,
}

/// [libwebrtc-m150] no decodable frame for this long asks for a key frame, and again after as long.
pub const MAX_WAIT_FOR_FRAME: TimeDelta = TimeDelta::from_secs(3);
/// The same once nothing but a key frame can be decoded; and how long after a part of one it is believed to be coming.
pub const MAX_WAIT_FOR_KEYFRAME: TimeDelta = TimeDelta::from_millis(200);
/// Without repair a gap is final after this: the time a reordered packet takes.
pub const REORDER_WAIT: TimeDelta = TimeDelta::from_millis(20);

impl KeyframeRequests {
    /// None asked for yet.
    pub fn new(patience: Patience) -> Self {
        Self { patience, wanted: false, last: None }
    }

    /// Whether only a key frame helps.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Whether only a key frame helps, from now on.
    pub fn set_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// When to ask if no more packets come; `None`: nothing is waited for.
    pub fn due(&self, now: Timestamp, frames: &(impl FrameAssembly + ?Sized)) -> Option<Timestamp> {
        if self.wanted {
            return Some(self.last_sign(frames).map_or(now, |last| last + MAX_WAIT_FOR_KEYFRAME));
        }
        Some(match self.patience {
            Patience::Repair => {
                let since = frames.waiting_since()?;
                since.max(self.last.unwrap_or(since)) + MAX_WAIT_FOR_FRAME
            }
            Patience::Reordering => frames.overtaken_since()? + REORDER_WAIT,
        })
    }

    /// Whether to ask now; true once for each request.
    pub fn take(&mut self, now: Timestamp, frames: &(impl FrameAssembly + ?Sized)) -> bool {
        let is_over = self.due(now, frames).is_some_and(|due| due <= now);
        if is_over && self.patience == Patience::Reordering {
            // Nothing is sent again: only a key frame helps.
            self.wanted = true;
        }
        if self.wanted {
            let asks = self.last_sign(frames).is_none_or(|last| last + MAX_WAIT_FOR_KEYFRAME <= now);
            if asks {
                self.last = Some(now);
            }
            return asks;
        }
        if is_over {
            // The wait begins anew, whether a request left or a key frame is coming.
            self.last = Some(now);
        }
        is_over && frames.last_of_keyframe().is_none_or(|at| at + MAX_WAIT_FOR_KEYFRAME <= now)
    }

    /// When a key frame was last requested, or a part of one came.
    fn last_sign(&self, frames: &(impl FrameAssembly + ?Sized)) -> Option<Timestamp> {
        self.last.max(frames.last_of_keyframe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        keyframe_ms: Option<i64>,
        overtaken_ms: Option<i64>,
        waiting_ms: Option<i64>,
    }

    impl FrameAssembly for Seen {
        fn last_of_keyframe(&self) -> Option<Timestamp> {
            self.keyframe_ms.map(MS)
        }
        fn overtaken_since(&self) -> Option<Timestamp> {
            self.overtaken_ms.map(MS)
        }
        fn waiting_since(&self) -> Option<Timestamp> {
            self.waiting_ms.map(MS)
        }
    }

    const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

    #[test]
    fn a_repair_is_waited_for_three_seconds_and_a_reordered_packet_twenty_milliseconds() {
        let seen = Seen { waiting_ms: Some(10), overtaken_ms: Some(15), ..Seen::default() };
        let due = |patience| KeyframeRequests::new(patience).due(MS(20), &seen);
        assert_eq!(due(Patience::Repair), Some(MS(3_010)));
        assert_eq!(due(Patience::Reordering), Some(MS(35)));
        assert_eq!(KeyframeRequests::new(Patience::Repair).due(MS(20), &Seen::default()), None);
    }

    #[test]
    fn a_key_frame_is_asked_for_every_200_ms_until_a_part_of_one_comes() {
        let mut requests = KeyframeRequests::new(Patience::Repair);
        let mut seen = Seen::default();
        assert!(!requests.take(MS(0), &seen));
        requests.set_wanted(true);
        assert_eq!(requests.due(MS(5), &seen), Some(MS(5)));
        let asked: Vec<_> = (5..500).filter(|&ms| requests.take(MS(ms), &seen)).collect();
        assert_eq!(asked, [5, 205, 405]);
        seen.keyframe_ms = Some(500);
        assert_eq!(requests.due(MS(501), &seen), Some(MS(700)));
        assert!(!requests.take(MS(699), &seen) && requests.take(MS(700), &seen));
    }

    /// [libwebrtc-m150] The decoder could go on with a repaired frame, so that the wait is that for a frame each time.
    #[test]
    fn while_repair_is_waited_for_a_key_frame_is_asked_for_every_three_seconds() {
        let mut requests = KeyframeRequests::new(Patience::Repair);
        let mut seen = Seen { waiting_ms: Some(10), ..Seen::default() };
        let asked: Vec<_> = (10..10_000).filter(|&ms| requests.take(MS(ms), &seen)).collect();
        assert_eq!(asked, [3_010, 6_010, 9_010]);
        assert!(!requests.is_wanted());
        // One is coming: not now, but three seconds later.
        seen.keyframe_ms = Some(11_900);
        let asked: Vec<_> = (10_000..16_000).filter(|&ms| requests.take(MS(ms), &seen)).collect();
        assert_eq!(asked, [15_010]);
    }

    #[test]
    fn without_repair_only_a_key_frame_helps() {
        let mut requests = KeyframeRequests::new(Patience::Reordering);
        let seen = Seen { overtaken_ms: Some(15), ..Seen::default() };
        let asked: Vec<_> = (0..300).filter(|&ms| requests.take(MS(ms), &seen)).collect();
        assert_eq!(asked, [35, 235]);
        assert!(requests.is_wanted());
    }
}
