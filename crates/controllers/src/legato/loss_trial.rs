//! Whether losses are ours: by sending less and looking whether fewer are lost.
//!
//! A policer or a full queue drops the excess, and nothing once the rate fits. A radio link loses its share of whatever
//! is sent. One look at a share of losses does not tell the two apart, and delay does not either, since a policer has
//! no queue. So a rise of losses starts a trial: the rate falls by the lost share, and the losses of the next moments
//! decide. Where most are gone, or still more than any usable link loses, the lower rate stays, and climbs slowly from
//! there. Otherwise the link causes them: the rate is restored, and only more losses start another trial.

use super::loss_dispersion::LossDispersion;
use legato_units::{PerSecond, Seconds, Timestamp};

/// Decides what share of the measured rate is sent.
#[derive(Clone, Copy, Debug)]
pub struct LossTrial {
    /// Of the current look.
    lost: f64,
    sent: f64,
    /// Losses in a row count once.
    runs: u32,
    lost_before: bool,
    dispersion: LossDispersion,
    since: Option<Timestamp>,
    /// The trial that runs: the losses and the rate before it.
    before: Option<(f64, f64)>,
    /// Losses that are the link's own.
    own_ratio: f64,
    /// The usual losses, of any cause, and how long they have been observed.
    usual_ratio: f64,
    usual_for: Seconds,
    /// How long nothing was lost.
    clear_for: Seconds,
    ceiling: Option<Ceiling>,
    rate_ratio: f64,
}

/// A rate at which a trial found losses to end.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    rate_ratio: f64,
    /// The losses that began the trial.
    loss_ratio: f64,
    /// Further trials in a row that have found the same.
    found_again: i32,
    /// The losses that the link has anyway would explain those that ended there.
    is_doubted: bool,
}

/// A look takes this long and this many packets.
const LOOK: Seconds = Seconds::from_millis(500.0);
const LOOK_PACKETS: f64 = 40.0;
/// A trial that decides nothing in a look goes on, for three looks at most.
const LONGEST_TRIAL_LOOKS: f64 = 3.0;
/// Losses by so much above the link's own start a trial.
const EXCESS_RATIO: f64 = 0.04;
/// The same near a ceiling that trials have found.
const EXCESS_AT_CEILING_RATIO: f64 = 0.015;
/// Fewer runs of losses may be the bad moment of a link that loses a packet in a hundred.
const MIN_RUNS: u32 = 4;
/// More than one such moment loses.
const MIN_LOST: f64 = 10.0;
const SUDDEN_RATIO: f64 = 0.25;
/// The link's own losses vary from look to look, and a look has too few blocks to show by how much: three standard
/// deviations are often chance.
const DEVIATIONS: f64 = 4.0;
/// The same near a ceiling.
const DEVIATIONS_AT_CEILING: f64 = 1.5;
const MIN_CUT_RATIO: f64 = 0.05;
const MAX_CUT_RATIO: f64 = 0.8;
/// More than the first share of the losses is left: the cut did not help. Otherwise the trial goes on, and the second
/// decides in the end: chance is often less bad after a bad look.
const SURELY_OWN_RATIO: f64 = 0.7;
const HELPED_RATIO: f64 = 0.3;
/// More than this is never taken for the link's own.
const MAX_OWN_RATIO: f64 = 0.2;
const MIN_RATE_RATIO: f64 = 0.02;
/// The link's losses may change within this time; sooner where nothing is lost, and where losses should have ended but
/// did not.
const OWN_MEMORY: Seconds = Seconds::new(20.0);
const OWN_MEMORY_WITHOUT_LOSS: Seconds = Seconds::new(2.0);
const OWN_MEMORY_BELOW_CEILING: Seconds = Seconds::new(4.0);
/// The usual losses are established after so long; then they are tried, too.
const UNTRIED: Seconds = Seconds::new(4.0);
/// Losses in a row leave looks of half a second without any between them.
const CLEAR: Seconds = Seconds::new(2.0);
/// The usual losses are the mean of a call's first looks, but not of the very first.
const FIRST_MEMORY: Seconds = Seconds::new(4.0);
/// Fewer losses than this may be a rate that grows past what a policer passes.
const MIN_RELEASE_RATIO: f64 = 0.02;
/// A rate that has grown by so little is the one that a trial found.
const BELOW_RATIO: f64 = 1.05;
/// As fast as [draft-ietf-rmcat-gcc-02] grows, and slowly where losses began: slower each time that they did again.
const GROWTH: PerSecond = PerSecond::new(0.08);
const GROWTH_NEAR_CEILING: PerSecond = PerSecond::new(0.02);
const SLOWER_RATIO: f64 = 0.6;
const MOST_TIMES_SLOWER: i32 = 4;
const NEAR_RATIO: f64 = 0.9;

impl Default for LossTrial {
    fn default() -> Self {
        Self {
            lost: 0.0,
            sent: 0.0,
            runs: 0,
            lost_before: false,
            dispersion: LossDispersion::default(),
            since: None,
            before: None,
            own_ratio: 0.0,
            usual_ratio: 0.0,
            usual_for: Seconds::ZERO,
            clear_for: Seconds::ZERO,
            ceiling: None,
            rate_ratio: 1.0,
        }
    }
}

impl LossTrial {
    /// Count a packet.
    pub fn count(&mut self, lost: bool) {
        self.lost += f64::from(u8::from(lost));
        self.sent += 1.0;
        let begins = lost && !self.lost_before;
        self.runs += u32::from(begins);
        self.lost_before = lost;
        self.dispersion.count(lost);
    }

    /// Once per feedback, so long after the one before. Of the allowed rate `used_ratio` is sent: a call has a maximum.
    /// Of it, `delivered_ratio` has come at the last moment.
    pub fn react(
        &mut self,
        now: Timestamp,
        since: Seconds,
        round_trip: Seconds,
        used_ratio: f64,
        delivered_ratio: f64,
    ) {
        self.dispersion.end_block(since);
        let looked = Seconds::from(now - *self.since.get_or_insert(now));
        // Packets sent before the rate changed are reported for another round trip.
        if self.before.is_some() && looked < round_trip {
            self.look_anew();
            return;
        }
        let tried = if self.before.is_some() { looked - round_trip } else { looked };
        if (tried < LOOK && !self.is_sudden()) || self.sent < LOOK_PACKETS {
            if self.before.is_none() {
                self.grow(since);
            }
            return;
        }
        let loss_ratio = self.lost / self.sent;
        match self.before {
            Some((before, _)) if tried < LOOK * LONGEST_TRIAL_LOOKS && loss_ratio < SURELY_OWN_RATIO * before => {
                return;
            }
            Some((before, rate)) => self.conclude(loss_ratio, before, rate),
            None => self.judge(loss_ratio, looked, used_ratio, delivered_ratio),
        }
        self.look_anew();
        self.since = Some(now);
    }

    fn look_anew(&mut self) {
        (self.lost, self.sent, self.runs) = (0.0, 0.0, 0);
        self.dispersion.look_anew();
    }

    /// More is lost than any link loses at random: there is no time to look longer.
    fn is_sudden(&self) -> bool {
        self.before.is_none() && self.lost > SUDDEN_RATIO * self.sent && self.are_many()
    }

    /// Whether the losses of a look are more than the bad moment of a link.
    fn are_many(&self) -> bool {
        self.runs >= MIN_RUNS || self.lost >= MIN_LOST
    }

    /// A trial is over.
    fn conclude(&mut self, loss_ratio: f64, before: f64, rate: f64) {
        self.before = None;
        if loss_ratio > HELPED_RATIO * before && loss_ratio < MAX_OWN_RATIO {
            self.dispersion.learn();
            self.own_ratio = self.own_ratio.max(0.5 * (before + loss_ratio));
            self.rate_ratio = rate;
            return;
        }
        if before <= self.usual_ratio {
            // The call caused the usual losses.
            (self.usual_ratio, self.usual_for) = (0.0, Seconds::ZERO);
        }
        let again = self.near();
        self.ceiling = Some(Ceiling {
            rate_ratio: self.rate_ratio,
            loss_ratio: before,
            found_again: again.map_or(0, |ceiling| (ceiling.found_again + 1).min(MOST_TIMES_SLOWER)),
            is_doubted: self.expected_ratio() > HELPED_RATIO * before && again.is_none(),
        });
    }

    /// No trial runs: begin one, or learn from the losses.
    fn judge(&mut self, loss_ratio: f64, looked: Seconds, used_ratio: f64, delivered_ratio: f64) {
        let Some((suspected, excess)) = self.suspected(loss_ratio) else {
            self.learn(loss_ratio, looked);
            return;
        };
        self.before = Some((suspected, self.rate_ratio));
        let lower = self.rate_ratio * used_ratio * (1.0 - excess.clamp(MIN_CUT_RATIO, MAX_CUT_RATIO));
        // While the rate rises the lost share says little about the passed rate.
        let lower = if excess > SUDDEN_RATIO { lower.min(self.rate_ratio * delivered_ratio) } else { lower };
        // Losses near a ceiling were not at it.
        let lower = self.near().map_or(lower, |ceiling| lower.min(ceiling.rate_ratio));
        self.rate_ratio = lower.max(MIN_RATE_RATIO);
    }

    /// Losses that a trial has to explain, and by how much they are more than expected.
    fn suspected(&self, loss_ratio: f64) -> Option<(f64, f64)> {
        let expected = self.expected_ratio();
        let excess = loss_ratio - expected;
        let (minimum, surely) = match self.near().is_some() {
            true => (EXCESS_AT_CEILING_RATIO, DEVIATIONS_AT_CEILING),
            false => (EXCESS_RATIO, DEVIATIONS),
        };
        let deviations = self.dispersion.excess_deviations(self.lost, expected * self.sent);
        if self.are_many() && excess > minimum && deviations > surely {
            return Some((loss_ratio, excess));
        }
        // They have been there from the beginning, so that they never stood out.
        let untried = self.own_ratio == 0.0 && self.is_free() && self.usual_for > UNTRIED;
        (untried && self.usual_ratio > EXCESS_RATIO).then_some((self.usual_ratio, self.usual_ratio))
    }

    /// Nothing limits the rate.
    fn is_free(&self) -> bool {
        self.ceiling.is_none() && self.rate_ratio >= 1.0
    }

    fn learn(&mut self, loss_ratio: f64, looked: Seconds) {
        let below = self.ceiling.filter(|ceiling| self.rate_ratio <= ceiling.rate_ratio * BELOW_RATIO);
        self.clear_for = if self.lost > 0.0 { Seconds::ZERO } else { self.clear_for + looked };
        let memory = match below {
            Some(_) => OWN_MEMORY_BELOW_CEILING,
            None if self.clear_for > CLEAR => OWN_MEMORY_WITHOUT_LOSS,
            None => OWN_MEMORY,
        };
        // From nothing only a trial, or losses where there should be none, makes them the link's own. While the rate
        // grows they may be its cost.
        let change = loss_ratio - self.own_ratio;
        if below.is_some() || (self.own_ratio > 0.0 && (self.is_free() || change < 0.0)) {
            self.own_ratio += (1.0 - libm::exp(-(looked / memory))) * change;
        }
        if self.is_free() {
            self.dispersion.learn();
            self.usual_for += looked;
            let memory = self.usual_for.clamp(FIRST_MEMORY, OWN_MEMORY);
            self.usual_ratio += (1.0 - libm::exp(-(looked / memory))) * (loss_ratio - self.usual_ratio);
        }
        if below.is_some_and(|ceiling| self.own_ratio > (HELPED_RATIO * ceiling.loss_ratio).max(MIN_RELEASE_RATIO)) {
            self.ceiling = None;
        }
    }

    /// The ceiling, if the rate is near it.
    fn near(&self) -> Option<Ceiling> {
        let rate_ratio = self.rate_ratio;
        self.ceiling.filter(|at| rate_ratio > NEAR_RATIO * at.rate_ratio && rate_ratio < at.rate_ratio / NEAR_RATIO)
    }

    fn grow(&mut self, since: Seconds) {
        let growth = match self.near() {
            Some(Ceiling { found_again, is_doubted: false, .. }) => {
                GROWTH_NEAR_CEILING * libm::pow(SLOWER_RATIO, f64::from(found_again))
            }
            _ => GROWTH,
        };
        self.rate_ratio = (self.rate_ratio * (1.0 + growth * since)).min(1.0);
        if self.rate_ratio >= 1.0 && self.near().is_none() {
            self.ceiling = None;
        }
    }

    /// The share of packets that the link loses whatever is sent.
    pub fn own_ratio(&self) -> f64 {
        self.own_ratio
    }

    /// The share of packets that is expected to be lost, whatever the cause: what repair has to make good.
    pub fn expected_ratio(&self) -> f64 {
        self.own_ratio.max(self.usual_ratio)
    }

    /// The share of the measured rate to send.
    pub fn rate_ratio(&self) -> f64 {
        self.rate_ratio
    }

    /// Whether a trial runs: the present losses decide.
    pub fn is_on(&self) -> bool {
        self.before.is_some()
    }

    /// Whether fewer bytes than the link passes are sent, since more of them would be lost.
    pub fn limits(&self) -> bool {
        self.rate_ratio < 1.0 && (self.before.is_some() || self.ceiling.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEEDBACK: Seconds = Seconds::new(0.05);
    const ROUND_TRIP: Seconds = Seconds::new(0.05);

    /// Feedback on ten packets per 50 ms, for `seconds`; `lost` decides by rate and packet.
    fn run(trial: &mut LossTrial, from_s: f64, seconds: f64, lost: impl Fn(f64, u32) -> bool) {
        for n in 0..(seconds / 0.05) as u32 {
            (0..10).for_each(|packet| trial.count(lost(trial.rate_ratio(), 10 * n + packet)));
            let now = Timestamp::from_millis((from_s * 1e3) as i64 + i64::from(n) * 50);
            trial.react(now, FEEDBACK, ROUND_TRIP, 1.0, 1.0);
        }
    }

    /// From 0 to 1 over a hundred packets, neighbours far apart.
    fn spread(packet: u32) -> f64 {
        f64::from(packet * 37 % 100) / 100.0
    }

    #[test]
    fn a_link_that_loses_a_tenth_of_everything_keeps_its_rate() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 20.0, |_, packet| packet % 10 == 3);
        assert!(trial.rate_ratio() > 0.99, "{}", trial.rate_ratio());
    }

    /// A policer passes 0.6 of the measured rate: at a rate of r the share 1 - 0.6 / r is lost.
    #[test]
    fn a_policer_is_found_and_stayed_below() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 30.0, |rate, packet| spread(packet) < 1.0 - 0.6 / rate);
        assert!((0.5..0.68).contains(&trial.rate_ratio()), "{}", trial.rate_ratio());
    }

    /// The same where all that is too much is lost in a row.
    #[test]
    fn a_policer_that_drops_in_a_row_is_found() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 30.0, |rate, packet| f64::from(packet % 100) < 100.0 * (1.0 - 0.6 / rate));
        assert!((0.5..0.68).contains(&trial.rate_ratio()), "{}", trial.rate_ratio());
    }

    /// Five packets in a row every other second: bad moments.
    #[test]
    fn one_run_of_losses_is_no_evidence() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 20.0, |_, packet| packet % 400 < 5);
        assert_eq!((trial.rate_ratio(), trial.own_ratio()), (1.0, 0.0));
    }

    /// Two thirds are lost at once: 40 packets are enough, a fifth of a second here.
    #[test]
    fn heavy_losses_are_not_looked_at_for_long() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 0.25, |_, packet| packet % 3 != 0);
        assert!((trial.rate_ratio() - 1.0 / 3.0).abs() < 0.02, "{}", trial.rate_ratio());
        assert!(trial.limits());
    }

    /// A trial that seemed to help, by chance: the losses of the link go on below the ceiling that it found.
    #[test]
    fn a_ceiling_below_which_losses_go_on_is_none() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 0.55, |_, packet| packet % 5 == 0);
        run(&mut trial, 0.55, 0.6, |_, _| false);
        assert!(trial.limits() && trial.rate_ratio() < 0.85, "{}", trial.rate_ratio());
        run(&mut trial, 1.15, 20.0, |_, packet| packet % 8 == 0);
        assert!(!trial.limits() && (trial.own_ratio() - 0.125).abs() < 0.03, "{}", trial.own_ratio());
    }

    /// A link that loses a tenth lost a third for a moment, which ended while a trial ran: its rate is back within
    /// seconds. Where nothing was lost before, the trial has found a ceiling.
    #[test]
    fn a_ceiling_that_the_link_s_own_losses_explain_is_doubted() {
        let after = |usual: fn(u32) -> bool| {
            let mut trial = LossTrial::default();
            run(&mut trial, 0.0, 5.0, |_, packet| usual(packet));
            run(&mut trial, 5.0, 0.55, |_, packet| packet % 3 == 0);
            run(&mut trial, 5.55, 3.0, |_, packet| usual(packet));
            trial.rate_ratio()
        };
        let (lossy, clean) = (after(|packet| packet % 10 == 3), after(|_| false));
        assert!(lossy > 0.85 && clean < 0.75, "{lossy} {clean}");
    }

    /// Of every 40 packets three in a row: a twelfth. In the first looks they start a trial or not; later they are usual.
    #[test]
    fn usual_losses_in_a_row_start_no_trial() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 10.0, |_, packet| packet % 40 < 3);
        assert!((trial.expected_ratio() - 0.075).abs() < 0.02, "{}", trial.expected_ratio());
        run(&mut trial, 10.0, 20.0, |_, packet| packet % 40 < 3 || packet % 400 < 12);
        assert_eq!(trial.rate_ratio(), 1.0);
    }

    /// A policer drops three packets of 50 at the whole rate, too few to stand out in a look, and none below 0.97 of it.
    #[test]
    fn losses_from_the_beginning_are_tried_and_forgotten_if_they_were_ours() {
        let mut trial = LossTrial::default();
        for n in 0..200_u32 {
            for packet in 5 * n..5 * n + 5 {
                trial.count(trial.rate_ratio() > 0.97 && [3, 20, 37].contains(&(packet % 50)));
            }
            trial.react(Timestamp::from_millis(50 * i64::from(n)), FEEDBACK, ROUND_TRIP, 1.0, 1.0);
            if trial.ceiling.is_some() {
                break;
            }
        }
        assert!(trial.ceiling.is_some() && trial.expected_ratio() == 0.0, "{}", trial.expected_ratio());
    }

    /// A tenth is lost, most of it in bursts of four packets on average, at 100 packets per second. Trials that chance
    /// begins and ends cost a sixth of the rate at most, in the mean of 50 calls of 20 s.
    #[test]
    fn bursts_of_losses_hardly_lower_the_rate() {
        let mean = (1..=50_u64).map(rate_under_bursts).sum::<f64>() / 50.0;
        assert!(mean > 0.85, "{mean}");
    }

    fn rate_under_bursts(seed: u64) -> f64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let (mut trial, mut in_burst, mut rates) = (LossTrial::default(), false, 0.0);
        for n in 0..400 {
            for _ in 0..5 {
                in_burst = if in_burst { draw() < 0.75 } else { draw() < 0.02 };
                trial.count(in_burst || draw() < 0.025);
            }
            trial.react(Timestamp::from_millis(50 * n), FEEDBACK, ROUND_TRIP, 1.0, 1.0);
            rates += trial.rate_ratio();
        }
        rates / 400.0
    }

    /// While the rate rises half of the earlier packets are lost, and a fifth of the present ones come through.
    #[test]
    fn a_sudden_cut_falls_to_what_came() {
        let mut trial = LossTrial::default();
        (0..4).for_each(|n| {
            (0..10).for_each(|packet| trial.count(packet % 2 == 0));
            trial.react(Timestamp::from_millis(50 * n), FEEDBACK, ROUND_TRIP, 1.0, 0.2);
        });
        assert_eq!((trial.is_on(), trial.rate_ratio()), (true, 0.2));
    }

    /// A third was lost for a moment; from then on the whole rate passes.
    #[test]
    fn a_ceiling_is_forgotten_where_the_whole_rate_passes() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 0.55, |_, packet| packet % 3 == 0);
        run(&mut trial, 0.55, 5.0, |_, _| false);
        assert!(trial.limits() && trial.ceiling.is_some_and(|ceiling| ceiling.rate_ratio < 0.8));
        run(&mut trial, 5.55, 30.0, |_, _| false);
        assert!(!trial.limits() && trial.ceiling.is_none());
    }

    #[test]
    fn losses_that_end_are_forgotten() {
        let mut trial = LossTrial::default();
        run(&mut trial, 0.0, 5.0, |rate, packet| spread(packet) < 1.0 - 0.6 / rate);
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
