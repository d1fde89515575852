//! Round-trip times from feedback alone: how long after its departure a packet's report came back.
//! The longest in one feedback includes the time the report was held at the receiver; the shortest,
//! taken relative to the last arrival, does not.

use legato_units::TimeDelta;

/// The longest round trips of the last 32 feedbacks.
#[derive(Clone, Debug)]
pub struct FeedbackRtts {
    rtts: [TimeDelta; WINDOW],
    len: usize,
    next: usize,
    sum: TimeDelta,
}

impl Default for FeedbackRtts {
    fn default() -> Self {
        Self { rtts: [TimeDelta::MAX; WINDOW], len: 0, next: 0, sum: TimeDelta::ZERO }
    }
}

impl FeedbackRtts {
    /// Take the longest round trip of one feedback.
    #[inline]
    pub fn push(&mut self, rtt: TimeDelta) {
        if self.len == WINDOW {
            self.sum -= self.rtts[self.next];
        } else {
            self.len += 1;
        }
        self.rtts[self.next] = rtt;
        self.sum += rtt;
        self.next = (self.next + 1) % WINDOW;
    }

    /// The shortest of them.
    #[inline]
    pub fn min(&self) -> Option<TimeDelta> {
        // Empty places hold the maximum span.
        (self.len > 0).then(|| self.rtts.iter().fold(TimeDelta::MAX, |minimum, &rtt| minimum.min(rtt)))
    }

    /// Their mean.
    #[inline]
    pub fn mean(&self) -> Option<TimeDelta> {
        (self.len > 0).then(|| self.sum / self.len as i64)
    }
}

/// [libwebrtc-m150] goog_cc_network_control: kMaxFeedbackRttWindow.
const WINDOW: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_and_mean_are_over_the_last_32() {
        let mut rtts = FeedbackRtts::default();
        assert_eq!((rtts.min(), rtts.mean()), (None, None));
        for ms in 1..=40 {
            rtts.push(TimeDelta::from_millis(ms));
        }
        // 9..=40: mean 24.5.
        assert_eq!(rtts.min(), Some(TimeDelta::from_millis(9)));
        assert_eq!(rtts.mean(), Some(TimeDelta::from_micros(24_500)));
    }
}
