//! When the next frame must be a key frame.

use legato_units::{TimeDelta, Timestamp};

/// Key frames that were requested, and the last one coded.
pub(super) struct Keyframes {
    wanted: bool,
    last: Timestamp,
}

/// [libwebrtc-m150] the minimum time between two key frames on request.
const MIN_INTERVAL: TimeDelta = TimeDelta::from_millis(300);

impl Keyframes {
    /// None requested in a call that begins at `start` with a key frame.
    pub fn new(start: Timestamp) -> Self {
        Self { wanted: false, last: start }
    }

    /// The receiver requests one.
    pub fn request(&mut self) {
        self.wanted = true;
    }

    /// The next frame must be one, however long ago the last was: nothing before it can be predicted from.
    pub fn require(&mut self, now: Timestamp) {
        self.wanted = true;
        self.last = self.last.min(now - MIN_INTERVAL);
    }

    /// Whether a frame coded at `now` must be one.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.wanted && now - self.last >= MIN_INTERVAL
    }

    /// One was coded.
    pub fn coded(&mut self, now: Timestamp) {
        (self.wanted, self.last) = (false, now);
    }
}
