//! A shaper with a token bucket, as Linux's `tbf`: a burst passes at the link's speed until the bucket is empty; later
//! packets wait for tokens. A sender that measures the burst believes in a link that it will not have.
//!
//! A packet leaves once those before it have left and [rfc2697] §3's bucket has tokens for it. The queue is drop-tail.

use super::token_meter::TokenMeter;
use super::{DropReason, Eager, MeterError, Stage};
use crate::Ecn;
use legato_units::{DataRate, DataSize, Timestamp};
use std::collections::VecDeque;

/// The stage; see the module.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    meter: TokenMeter,
    limit_bytes: u64,
    /// When each packet that waits will leave, and its size.
    waiting: VecDeque<(Timestamp, u64)>,
    waiting_bytes: u64,
    last: Timestamp,
}

impl TokenBucket {
    /// Shapes to `rate` with bursts of up to `burst`; at most `limit` waits.
    ///
    /// # Errors
    /// A rate or a burst of zero.
    pub fn new(rate: DataRate, burst: DataSize, limit: DataSize) -> Result<Self, MeterError> {
        Ok(Self {
            meter: TokenMeter::new(rate, burst)?,
            limit_bytes: limit.as_bytes(),
            waiting: VecDeque::with_capacity(64),
            waiting_bytes: 0,
            last: Timestamp::ZERO,
        })
    }

    fn serve(&mut self, now: Timestamp) {
        while let Some(&(_, bytes)) = self.waiting.front().filter(|&&(at, _)| at <= now) {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
    }
}

impl Stage for TokenBucket {
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        self.serve(now);
        DataSize::from_bytes(self.waiting_bytes)
    }

    fn capacity(&self, _from: Timestamp, _to: Timestamp) -> Option<DataRate> {
        Some(self.meter.rate())
    }
}

impl Eager for TokenBucket {
    fn transit(&mut self, now: Timestamp, size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        self.serve(now);
        let exit = self.meter.ready(now.max(self.last), size);
        if exit > now {
            if self.waiting_bytes.saturating_add(size.as_bytes()) > self.limit_bytes {
                return Err(DropReason::QueueFull);
            }
            self.waiting.push_back((exit, size.as_bytes()));
            self.waiting_bytes += size.as_bytes();
        }
        self.meter.take(exit, size);
        self.last = exit;
        Ok(exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(stage: &mut TokenBucket, ms: i64) -> Option<f64> {
        let at = Timestamp::from_millis(ms);
        stage.transit(at, DataSize::from_bytes(1_250), &mut Ecn::NotEct).ok().map(Timestamp::as_millis_f64)
    }

    /// 1 Mbit/s (1,250 bytes are 10 ms), a bucket of three packets, room for two that wait.
    #[test]
    fn a_burst_passes_at_once_and_what_follows_at_the_rate() {
        let bytes = DataSize::from_bytes;
        let mut stage = TokenBucket::new(DataRate::from_mbps(1), bytes(3_750), bytes(2_500)).expect("valid");
        let first: Vec<_> = (0..6).map(|_| send(&mut stage, 0)).collect();
        assert_eq!(first, [Some(0.0), Some(0.0), Some(0.0), Some(10.0), Some(20.0), None]);
        assert_eq!(Stage::backlog(&mut stage, Timestamp::from_millis(0)), bytes(2_500));
        assert_eq!(Stage::backlog(&mut stage, Timestamp::from_millis(10)), bytes(1_250));
        assert_eq!(send(&mut stage, 10), Some(30.0));
        // At 60 ms it is full again.
        assert_eq!((0..4).filter_map(|_| send(&mut stage, 60)).collect::<Vec<_>>(), [60.0, 60.0, 60.0, 70.0]);
    }
}
