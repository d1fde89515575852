//! Pictures that wait for their playout, in the simulator and in real calls.

use crate::playout::{Playout, PlayoutConfig, Repair};
use legato_units::{PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Holds pictures until [`Playout`] has them shown. `T` is what the receiver keeps of a picture.
#[derive(Clone, Debug)]
pub struct JitterBuffer<T> {
    playout: Playout,
    waiting: VecDeque<(Timestamp, T)>,
    last_shown: Option<Timestamp>,
}

impl<T> JitterBuffer<T> {
    /// Nothing shown at `start`.
    pub fn new(config: PlayoutConfig, start: Timestamp) -> Self {
        Self { playout: Playout::new(config, start), waiting: VecDeque::new(), last_shown: None }
    }

    /// Capture times have jumped: forget the estimates. Pictures that wait are shown all the same.
    pub fn restart(&mut self, now: Timestamp) {
        self.playout = Playout::new(self.playout.config(), now);
    }

    /// A picture captured at `captured`, sender's clock, became decodable at `now`; returns when it is shown.
    pub fn push(
        &mut self,
        now: Timestamp,
        captured: PeerTimestamp,
        size_bytes: u32,
        repair: Repair,
        picture: T,
    ) -> Timestamp {
        let due = self.playout.render_time(now, captured, size_bytes, repair);
        // Two pictures due at one instant: the viewer sees the later one.
        if self.waiting.back().is_some_and(|(other, _)| *other == due) {
            self.waiting.pop_back();
        }
        self.waiting.push_back((due, picture));
        due
    }

    /// The next picture, and when it is shown.
    #[inline]
    pub fn front(&self) -> Option<(Timestamp, &T)> {
        self.waiting.front().map(|(due, picture)| (*due, picture))
    }

    /// Take the next picture out.
    pub fn pop(&mut self) -> Option<T> {
        self.waiting.pop_front().map(|(_, picture)| picture)
    }

    /// A picture was shown.
    pub fn shown(&mut self, now: Timestamp) {
        self.last_shown = Some(now);
    }

    /// Time since a picture was shown last; zero before the first.
    pub fn since_shown(&self, now: Timestamp) -> TimeDelta {
        self.last_shown.map_or(TimeDelta::ZERO, |last| now - last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_pictures_due_at_one_instant_the_later_is_kept() {
        let (at, captured) = (Timestamp::from_millis, |ms: i64| PeerTimestamp::from_nanos(ms * 1_000_000));
        let mut buffer = JitterBuffer::new(PlayoutConfig::default(), Timestamp::ZERO);
        // Both are late: each is due as it comes.
        assert_eq!(buffer.push(at(50), captured(0), 1_000, Repair::None, 'a'), at(50));
        assert_eq!(buffer.push(at(90), captured(33), 1_000, Repair::None, 'b'), at(90));
        assert_eq!(buffer.push(at(90), captured(34), 1_000, Repair::None, 'c'), at(90));
        assert_eq!(buffer.front(), Some((at(50), &'a')));
        assert_eq!(buffer.pop(), Some('a'));
        assert_eq!(buffer.since_shown(at(60)), TimeDelta::ZERO);
        buffer.shown(at(60));
        assert_eq!((buffer.front(), buffer.since_shown(at(90))), (Some((at(90), &'c')), TimeDelta::from_millis(30)));
    }
}
