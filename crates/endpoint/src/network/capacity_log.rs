//! The capacity of the link over a call, as the bins of its series have it.

use legato_media::packetizer::PACKET_OVERHEAD_BYTES;
use legato_path::capacity::{AfterLast, Capacity, DeadTime, RateSteps, Steps};
use legato_trace::{LinkFacts, SERIES_INTERVAL};
use legato_units::{DataRate, DataSize};
use std::sync::Arc;

/// The bins from the beginning of media on.
#[derive(Clone, Debug, Default)]
pub struct CapacityLog {
    bins: Vec<DataRate>,
    dead: DeadTime,
}

impl CapacityLog {
    /// Adds a bin, if it has a capacity.
    pub fn take(&mut self, capacity: Option<DataRate>) {
        if let Some(capacity) = capacity {
            self.bins.push(capacity);
            self.dead.take(capacity);
        }
    }

    /// What the figures need of it; `None` without any bin.
    pub fn facts(&self) -> Option<LinkFacts<'static>> {
        let steps = (0..).zip(&self.bins).map(|(place, &rate)| (SERIES_INTERVAL * place, rate));
        let table = RateSteps::new(steps, SERIES_INTERVAL * self.bins.len() as i64, AfterLast::Hold).ok()?;
        let capacity_mean = table.mean_rate();
        let (mut link, smallest) = (Steps::new(Arc::new(table)), DataSize::from_bytes(PACKET_OVERHEAD_BYTES.into()));
        let pass = Box::new(move |at| link.transmit_end(at, smallest));
        Some(LinkFacts { capacity_mean, dead: self.dead.total(), pass })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{TimeDelta, Timestamp};

    #[test]
    fn a_call_over_an_outage_has_its_facts() {
        let mut log = CapacityLog::default();
        for kbps in [[528; 10], [0; 10], [264; 10]].concat() {
            log.take(Some(DataRate::from_kbps(kbps)));
        }
        let mut facts = log.facts().expect("the capacity is known");
        // The second that ends 100 ms after the outage has a mean of 26 kbit/s, and is dead too; the one that begins 100
        // ms before it has 53.
        assert_eq!((facts.capacity_mean, facts.dead), (DataRate::from_kbps(264), TimeDelta::from_millis(1_100)));
        // 528 bits of headers.
        let mut pass = |ms| (facts.pass)(Timestamp::from_millis(ms)) - Timestamp::from_millis(ms);
        assert_eq!([0, 1_000, 2_500].map(|ms| pass(ms).as_millis()), [1, 1_002, 2]);
        assert!(CapacityLog::default().facts().is_none());
    }
}
