//! Whether loss is congestion, in libwebrtc: only after three round trips in a row with loss; two without
//! loss reset it, and so does the last missing packet that turns up. LossEstimator [libwebrtc-m150].

use super::VIRTUAL_RTT;
use crate::scream::feedback::Acknowledged;
use legato_units::{TimeDelta, Timestamp};

/// congestion_level, 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossLevel {
    level: f64,
    unrecovered: u32,
    lost_this_round_trip: bool,
    last_change: Option<Timestamp>,
    turned: Option<Timestamp>,
}

impl LossLevel {
    /// Take a feedback.
    pub fn update(&mut self, now: Timestamp, said: &Acknowledged, round_trip: TimeDelta) {
        let span = round_trip.max(VIRTUAL_RTT);
        if self.last_change.is_some_and(|last| now - last > span) {
            self.unrecovered = 0;
        }
        if said.packets_missing > 0 || said.packets_recovered > 0 {
            self.last_change = Some(now);
        }
        if said.packets_recovered > 0 {
            self.unrecovered = self.unrecovered.saturating_sub(said.packets_recovered);
            if self.unrecovered == 0 {
                self.level = 0.0;
                self.lost_this_round_trip = false;
            }
        }
        if said.packets_missing > 0 {
            self.unrecovered = self.unrecovered.saturating_add(said.packets_missing);
            self.lost_this_round_trip = true;
        }
        if self.turned.is_none_or(|turned| now - turned >= span) {
            self.turned = Some(now);
            self.level = if self.lost_this_round_trip {
                (self.level + 1.0 / RTTS_WITH_LOSS).min(1.0)
            } else {
                (self.level - 1.0 / LOSSLESS_RTTS).max(0.0)
            };
            self.lost_this_round_trip = false;
        }
    }

    /// Loss has lasted.
    pub fn is_congested(&self) -> bool {
        self.level >= 0.99
    }

    /// Hardly any loss lately.
    pub fn is_calm(&self) -> bool {
        self.level < 0.01
    }
}

// [libwebrtc-m150] LossEstimator.
/// Cut for loss after this many round trips with it.
const RTTS_WITH_LOSS: f64 = 3.0;
/// Forget loss after this many round trips without it.
const LOSSLESS_RTTS: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rounds: &[(u32, u32)]) -> LossLevel {
        let mut loss = LossLevel::default();
        for (n, &(packets_missing, packets_recovered)) in rounds.iter().enumerate() {
            let said = Acknowledged { packets_missing, packets_recovered, ..Acknowledged::default() };
            let now = Timestamp::from_millis(n as i64 * 100);
            loss.update(now, &said, TimeDelta::from_millis(100));
        }
        loss
    }

    /// [libwebrtc-m150], worked by hand: up by a third, down by a half.
    #[test]
    fn three_round_trips_with_loss_are_congestion_and_two_without_reset_it() {
        assert!(!after(&[(1, 0), (1, 0)]).is_congested());
        assert!(after(&[(1, 0), (2, 0), (1, 0)]).is_congested());
        assert!(!after(&[(1, 0), (0, 0), (1, 0), (0, 0), (1, 0)]).is_congested());
        assert!(after(&[(1, 0), (2, 0), (1, 0), (0, 0), (0, 0)]).is_calm());
    }

    #[test]
    fn packets_that_turn_up_were_not_lost() {
        assert!(after(&[(1, 0), (1, 0), (1, 1)]).is_congested(), "two of three are still missing");
        assert!(after(&[(1, 0), (1, 0), (0, 2)]).is_calm());
    }
}
