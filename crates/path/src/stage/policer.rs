//! A policer: what exceeds a rate is dropped, and nothing waits, so that no delay shows it.
//!
//! [rfc2697] §3 with a second bucket of size zero: packets are green and pass, or red and are dropped.

use super::token_meter::TokenMeter;
use super::{DropReason, Eager, MeterError, Stage};
use crate::Ecn;
use legato_units::{DataRate, DataSize, Timestamp};

/// The stage; see the module.
#[derive(Clone, Debug)]
pub struct Policer {
    meter: TokenMeter,
}

impl Policer {
    /// Lets `rate` pass, and bursts of up to `burst` above it.
    ///
    /// # Errors
    /// A rate or a burst of zero.
    pub fn new(rate: DataRate, burst: DataSize) -> Result<Self, MeterError> {
        Ok(Self { meter: TokenMeter::new(rate, burst)? })
    }
}

impl Stage for Policer {
    fn capacity(&self, _from: Timestamp, _to: Timestamp) -> Option<DataRate> {
        Some(self.meter.rate())
    }
}

impl Eager for Policer {
    fn transit(&mut self, now: Timestamp, size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        if self.meter.ready(now, size) > now {
            return Err(DropReason::Policed);
        }
        self.meter.take(now, size);
        Ok(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Mbit/s and 3,000 bytes: of packets of 1,250 every 5 ms, twice the rate, every second passes once the bucket
    /// is empty; a packet that passes is not delayed.
    #[test]
    fn what_exceeds_the_rate_is_dropped_and_nothing_waits() {
        let mut stage = Policer::new(DataRate::from_mbps(1), DataSize::from_bytes(3_000)).expect("valid");
        let passed: Vec<bool> = (0..200)
            .map(|n| {
                let now = Timestamp::from_millis(n * 5);
                let fate = stage.transit(now, DataSize::from_bytes(1_250), &mut Ecn::NotEct);
                assert!(fate == Ok(now) || fate == Err(DropReason::Policed));
                fate.is_ok()
            })
            .collect();
        assert_eq!(passed[..3], [true; 3]);
        // 995 ms at 125 bytes per ms and the bucket's 3,000 are 127,375 bytes: 101 packets.
        assert_eq!(passed.iter().filter(|&&passed| passed).count(), 101);
    }
}
