//! Whether losses are ours: by sending less and looking whether fewer are lost.
//!
//! A policer or a full queue drops what is too much, and nothing once the rate fits. A radio link loses its share of
//! whatever is sent. One look at a share of losses does not tell the two apart, and delay does not either, since a
//! policer has no queue. So a rise of losses starts a trial: the rate is lowered by what was lost, and the losses of the
//! next moments decide. Where most are gone, or still more than any usable link loses, the lower rate stays, and climbs
//! slowly from there. Otherwise they are the link's own: the rate is what it was, and only more than those start another
//! trial.

use legato_units::Timestamp;

/// Decides what share of the measured rate is sent.
#[derive(Clone, Copy, Debug)]
pub struct LossTrial {
    /// Of the current look.
    lost: f64,
    sent: f64,
    since: Option<Timestamp>,
    /// The trial that runs: the losses and the rate before it.
    before: Option<(f64, f64)>,
    /// Losses that are the link's own.
    own_ratio: f64,
    /// The rate at which the last trial found losses to end.
    ceiling_ratio: f64,
    rate_ratio: f64,
}

/// A look takes this long and this many packets.
const LOOK_S: f64 = 0.5;
const LOOK_PACKETS: f64 = 40.0;
/// Losses by so much above the link's own start a trial; the own ones vary, in bursts by half and more.
const EXCESS_RATIO: f64 = 0.04;
const OWN_VARIES_BY: f64 = 1.6;
const MIN_CUT_RATIO: f64 = 0.05;
const MAX_CUT_RATIO: f64 = 0.8;
/// Less than this share of the losses is left: the cut helped.
const HELPED_RATIO: f64 = 0.5;
/// More than this is never taken for the link's own.
const MAX_OWN_RATIO: f64 = 0.2;
const MIN_RATE_RATIO: f64 = 0.02;
/// What the link loses is forgotten within this where less is lost.
const OWN_MEMORY_S: f64 = 20.0;
/// As fast as [draft-ietf-rmcat-gcc-02] grows, and slowly where losses began.
const GROWTH_PER_S: f64 = 0.08;
const GROWTH_NEAR_CEILING_PER_S: f64 = 0.02;
const NEAR_RATIO: f64 = 0.95;

impl Default for LossTrial {
    fn default() -> Self {
        Self {
            lost: 0.0,
            sent: 0.0,
            since: None,
            before: None,
            own_ratio: 0.0,
            ceiling_ratio: f64::INFINITY,
            rate_ratio: 1.0,
        }
    }
}

impl LossTrial {
    /// Count a packet.
    pub fn count(&mut self, lost: bool) {
        self.lost += f64::from(u8::from(lost));
        self.sent += 1.0;
    }

    /// Once per feedback, `since_s` after the one before. Of the allowed rate `used_ratio` is sent: a call has a maximum.
    pub fn react(&mut self, now: Timestamp, since_s: f64, round_trip_s: f64, used_ratio: f64) {
        let since = *self.since.get_or_insert(now);
        let looked_s = (now - since).as_secs_f64();
        // What was sent before the rate changed is reported for another round trip.
        if self.before.is_some() && looked_s < round_trip_s {
            (self.lost, self.sent) = (0.0, 0.0);
            return;
        }
        let look_s = if self.before.is_some() { LOOK_S + round_trip_s } else { LOOK_S };
        if looked_s >= look_s && self.sent >= LOOK_PACKETS {
            self.judge(self.lost / self.sent, looked_s, used_ratio);
            (self.lost, self.sent, self.since) = (0.0, 0.0, Some(now));
        } else if self.before.is_none() {
            self.grow(since_s);
        }
    }

    fn judge(&mut self, loss_ratio: f64, looked_s: f64, used_ratio: f64) {
        let excess = loss_ratio - (OWN_VARIES_BY * self.own_ratio).max(self.own_ratio + EXCESS_RATIO);
        match self.before.take() {
            Some((before, rate)) if loss_ratio > HELPED_RATIO * before && loss_ratio < MAX_OWN_RATIO => {
                self.own_ratio = self.own_ratio.max(0.5 * (before + loss_ratio));
                self.rate_ratio = rate;
            }
            Some(_) => self.ceiling_ratio = self.rate_ratio,
            None if excess > 0.0 => {
                self.before = Some((loss_ratio, self.rate_ratio));
                let cut = (loss_ratio - self.own_ratio).clamp(MIN_CUT_RATIO, MAX_CUT_RATIO);
                self.rate_ratio = (self.rate_ratio * used_ratio * (1.0 - cut)).max(MIN_RATE_RATIO);
            }
            None => {
                let forgotten = 1.0 - libm::exp(-looked_s / OWN_MEMORY_S);
                self.own_ratio += forgotten * (loss_ratio - self.own_ratio).min(0.0);
            }
        }
    }

    fn grow(&mut self, since_s: f64) {
        let near =
            self.rate_ratio > NEAR_RATIO * self.ceiling_ratio && self.rate_ratio < self.ceiling_ratio / NEAR_RATIO;
        let per_s = if near { GROWTH_NEAR_CEILING_PER_S } else { GROWTH_PER_S };
        self.rate_ratio = (self.rate_ratio * (1.0 + per_s * since_s)).min(1.0);
    }

    /// The share of packets that the link loses whatever is sent.
    pub fn own_ratio(&self) -> f64 {
        self.own_ratio
    }

    /// The share of the measured rate to send.
    pub fn rate_ratio(&self) -> f64 {
        self.rate_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feedback on ten packets per 50 ms, for `seconds`; `lost` decides by rate and packet.
    fn run(trial: &mut LossTrial, from_s: f64, seconds: f64, lost: impl Fn(f64, u32) -> bool) {
        for n in 0..(seconds / 0.05) as u32 {
            (0..10).for_each(|packet| trial.count(lost(trial.rate_ratio(), 10 * n + packet)));
            let now = Timestamp::from_millis((from_s * 1e3) as i64 + i64::from(n) * 50);
            trial.react(now, 0.05, 0.05, 1.0);
        }
    }

    #[test]
    fn a_link_that_loses_a_tenth_of_everything_keeps_its_rate() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 20.0, |_, packet| packet % 10 == 3);
        assert!(trial.rate_ratio() > 0.99, "{}", trial.rate_ratio());
    }

    /// A policer passes 0.6 of what was measured: at a rate of r the share 1 - 0.6 / r is lost.
    #[test]
    fn a_policer_is_found_and_stayed_below() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 30.0, |rate, packet| f64::from(packet % 100) < 100.0 * (1.0 - 0.6 / rate));
        assert!((0.5..0.68).contains(&trial.rate_ratio()), "{}", trial.rate_ratio());
    }

    #[test]
    fn losses_that_end_are_forgotten() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 5.0, |rate, packet| f64::from(packet % 100) < 100.0 * (1.0 - 0.6 / rate));
        run(&mut trial, 5.0, 60.0, |_, _| false);
        assert_eq!(trial.rate_ratio(), 1.0);
    }

    #[test]
    fn a_few_random_losses_change_nothing() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 20.0, |_, packet| packet % 50 == 7);
        assert_eq!(trial.rate_ratio(), 1.0);
    }
}
