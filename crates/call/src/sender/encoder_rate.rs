//! The bitrate that the encoder works with: what repair leaves of the target, given at intervals.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// The bitrate given last, and the rate of retransmissions.
pub(super) struct EncoderRate {
    /// How long the encoder keeps a bitrate.
    interval: TimeDelta,
    given: DataRate,
    next: Timestamp,
    last_budget: Timestamp,
    /// Retransmitted since the last budget.
    repair_bytes: u64,
    repair: DataRate,
}

impl EncoderRate {
    /// Nothing given or retransmitted in a call that begins at `start`.
    pub fn new(interval: TimeDelta, start: Timestamp) -> Self {
        let (given, repair) = (DataRate::ZERO, DataRate::ZERO);
        Self { interval, given, next: start, last_budget: start, repair_bytes: 0, repair }
    }

    /// The bitrate given last.
    pub fn given(&self) -> DataRate {
        self.given
    }

    /// A retransmission left.
    #[inline]
    pub fn repaired(&mut self, bytes: u64) {
        self.repair_bytes += bytes;
    }

    /// A budget is made at `now`: the rate of retransmissions, mean over about one second. Pictures, one every
    /// `frame_interval`, may have been skipped since the last budget.
    pub fn repair(&mut self, now: Timestamp, frame_interval: TimeDelta) -> DataRate {
        let since = (now - self.last_budget).max(frame_interval);
        self.last_budget = now;
        // Most calls lose nothing for a long time.
        if self.repair_bytes > 0 || self.repair > DataRate::ZERO {
            let latest = DataSize::from_bytes(self.repair_bytes) / since;
            self.repair_bytes = 0;
            let weight = since.as_secs_f64().min(1.0);
            self.repair = self.repair.scale(1.0 - weight) + latest.scale(weight);
        }
        self.repair
    }

    /// The bitrate for a frame: `latest`, which is what the target leaves now, or the one given before.
    pub fn give(&mut self, now: Timestamp, latest: DataRate) -> DataRate {
        if now >= self.next {
            (self.given, self.next) = (latest, now + self.interval);
        }
        self.given
    }
}
