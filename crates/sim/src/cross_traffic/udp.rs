//! Background UDP: packets of one size at a constant rate, or at a rate that changes in steps, without
//! any feedback ([rfc8868] section 5.3; [rfc8867] varies the available capacity with it).

use legato_path::capacity::{AfterLast, Capacity, CapacityError, LinkCapacity, RateSteps, Steps};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A constant-rate UDP flow. Exactly one of `rate_bps` and `steps`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UdpConfig {
    /// One rate, headers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// `[[time_s, rate_bps], …]` from the flow's start; silent before the first, the last holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<(f64, u64)>>,
}

// [rfc8868] §5.3: 1,500 bytes, headers included.
const PACKET: DataSize = DataSize::from_bytes(1_500);

impl UdpConfig {
    /// Refuse invalid values, with the key (below `place`) and the reason.
    ///
    /// # Errors
    /// The first such value.
    pub fn check(&self, place: &str) -> Result<(), (String, String)> {
        if self.rate_bps.is_some() == self.steps.is_some() {
            return Err((place.to_owned(), "exactly one of rate_bps and steps is needed".to_owned()));
        }
        let key = if self.steps.is_some() { "steps" } else { "rate_bps" };
        self.schedule().map(|_| ()).map_err(|error| (format!("{place}.{key}"), error.to_string()))
    }

    /// The rate over time since the flow's start.
    fn schedule(&self) -> Result<RateSteps, CapacityError> {
        let constant = [(0.0, self.rate_bps.unwrap_or(0))];
        let steps = self.steps.as_deref().unwrap_or(&constant);
        let last_s = steps.last().map_or(0.0, |&(time_s, _)| time_s);
        let silence = steps.first().filter(|&&(first_s, _)| first_s > 0.0).map(|_| &(0.0, 0));
        let steps =
            silence.into_iter().chain(steps).map(|&(s, bps)| (TimeDelta::from_secs_f64(s), DataRate::from_bps(bps)));
        RateSteps::new(steps, TimeDelta::from_secs_f64(last_s + 1.0), AfterLast::Hold)
    }
}

/// A packet of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPacket {
    /// Counts from 0.
    pub seq: u64,
    /// When it left.
    pub sent: Timestamp,
    /// Headers included.
    pub size: DataSize,
}

/// The flow's sender. It paces like a link of its rate: the rate is exact over any number of packets and across
/// steps.
#[derive(Clone, Debug)]
pub struct UdpSender {
    pace: LinkCapacity,
    start: Timestamp,
    seq: u64,
    next: Timestamp,
    paused_at: Option<Timestamp>,
}

impl UdpSender {
    /// A sender that starts at `start`: the first packet leaves one packet's time later.
    ///
    /// # Errors
    /// An invalid schedule.
    pub fn new(config: &UdpConfig, start: Timestamp) -> Result<Self, CapacityError> {
        let pace = LinkCapacity::from(Steps::new(Arc::new(config.schedule()?)));
        let mut sender = Self { pace, start, seq: 0, next: start, paused_at: None };
        sender.schedule(start);
        Ok(sender)
    }

    /// The next packet that is due by `now`, until there is none.
    #[inline]
    pub fn poll(&mut self, now: Timestamp) -> Option<UdpPacket> {
        if self.next > now {
            return None;
        }
        let packet = UdpPacket { seq: self.seq, sent: now, size: PACKET };
        self.seq += 1;
        self.schedule(self.next);
        Some(packet)
    }

    /// When the next packet is due.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        (self.next < Timestamp::MAX).then_some(self.next)
    }

    /// Send nothing until [`UdpSender::resume`]; the schedule continues.
    pub fn pause(&mut self, now: Timestamp) {
        self.paused_at.get_or_insert(now);
        self.next = Timestamp::MAX;
    }

    /// Resume at the schedule's current rate.
    pub fn resume(&mut self, now: Timestamp) {
        if self.paused_at.take().is_some() {
            self.schedule(now);
        }
    }

    /// Never send anything again.
    pub fn stop(&mut self) {
        (self.next, self.paused_at) = (Timestamp::MAX, None);
    }

    fn schedule(&mut self, after: Timestamp) {
        let from = Timestamp::ZERO + (after - self.start);
        let due = self.pace.transmit_end(from, PACKET);
        self.next = if due == Timestamp::MAX { due } else { self.start.saturating_add(due - Timestamp::ZERO) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets_by_second(config: &UdpConfig, start_s: i64, until_s: i64) -> Vec<usize> {
        let mut sender = UdpSender::new(config, Timestamp::from_secs(start_s)).expect("valid");
        let mut seconds = vec![0; until_s as usize];
        while let Some(at) = sender.next_deadline().filter(|&at| at <= Timestamp::from_secs(until_s)) {
            let packet = sender.poll(at).expect("due");
            assert_eq!((packet.sent, packet.size.as_bytes()), (at, 1_500));
            // A packet at the end of a second belongs to it.
            seconds[((at.as_nanos() - 1) / 1_000_000_000) as usize] += 1;
        }
        seconds
    }

    /// [rfc8868] §5.3, by hand: 1.2 Mbit/s are 100 packets of 1,500 bytes per second, 0.6 are 50.
    #[test]
    fn packets_leave_at_the_rate_of_the_schedule() {
        let constant = UdpConfig { rate_bps: Some(1_200_000), ..UdpConfig::default() };
        assert_eq!(packets_by_second(&constant, 1, 4), [0, 100, 100, 100]);
        let steps = vec![(0.0, 1_200_000), (1.0, 600_000), (2.0, 0), (3.0, 2_400_000)];
        let stepped = UdpConfig { steps: Some(steps), ..UdpConfig::default() };
        assert_eq!(packets_by_second(&stepped, 0, 5), [100, 50, 0, 200, 200]);
        let late = UdpConfig { steps: Some(vec![(2.0, 600_000)]), ..UdpConfig::default() };
        assert_eq!(packets_by_second(&late, 0, 4), [0, 0, 50, 50]);
    }

    #[test]
    fn a_pause_silences_it_and_the_schedule_continues() {
        let steps = vec![(0.0, 1_200_000), (2.0, 2_400_000)];
        let mut sender =
            UdpSender::new(&UdpConfig { steps: Some(steps), ..UdpConfig::default() }, Timestamp::ZERO).expect("valid");
        sender.pause(Timestamp::from_secs(1));
        assert_eq!((sender.next_deadline(), sender.poll(Timestamp::from_secs(3))), (None, None));
        sender.resume(Timestamp::from_secs(3));
        assert_eq!(sender.next_deadline(), Some(Timestamp::from_millis(3_005)));
        sender.stop();
        sender.resume(Timestamp::from_secs(4));
        assert_eq!(sender.next_deadline(), None);
    }

    #[test]
    fn invalid_values_are_refused_by_key() {
        let refused = |config: UdpConfig| config.check("udp.0").expect_err("refused").0;
        assert_eq!(refused(UdpConfig::default()), "udp.0");
        assert_eq!(refused(UdpConfig { rate_bps: Some(1 << 50), ..UdpConfig::default() }), "udp.0.rate_bps");
        assert_eq!(refused(UdpConfig { steps: Some(vec![(1.0, 5), (1.0, 6)]), ..UdpConfig::default() }), "udp.0.steps");
    }
}
