//! `remote` obeys the receiver: the target is the last estimate that came back by REMB. It is the
//! sender's half of every receiver-side controller.
//!
//! The estimate describes the path as it was. If no new one comes, the path or the receiver is gone, so
//! the target is halved after every `timeout_ms` of silence, and the next estimate is obeyed as if
//! nothing had happened. The draft of REMB leaves silence open; [rfc8836] asks a sender to reduce its
//! rate when feedback is absent for a while, and halving on a timer is what [rfc5348] §4.4 does.
//!
//! With `loss_rule` the sender also judges loss, as it does where the receiver judges only delay: receiver reports
//! give a second limit, and the lower of the two applies.

use legato_control::{
    BuildError, Construct, Context, Decision, Event, RateController, RateLimits, ReceptionReport, Side,
};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Remote`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Halve the target whenever no estimate, or with `loss_rule` no receiver report either, came for this long.
    #[schemars(range(min = 10, max = 60_000))]
    pub timeout_ms: f64,
    /// Whether the loss in receiver reports limits the target too.
    pub loss_rule: bool,
    /// A report of less loss than this lets the limit grow.
    #[schemars(range(min = 0, max = 1))]
    pub low_loss_ratio: f64,
    /// A report of more loss than this cuts the limit by half the loss ratio; one in between keeps the target.
    #[schemars(range(min = 0, max = 1))]
    pub high_loss_ratio: f64,
    /// The factor by which the limit grows with a report of little loss.
    #[schemars(range(min = 1, max = 10))]
    pub increase_ratio: f64,
    /// Added in addition to that factor.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub increase_bps: u64,
}

impl Default for Config {
    /// Seven times the 200 ms at which a receiver repeats itself; two halvings within 3 s.
    // [draft-ietf-rmcat-gcc-02] §6: 2 %, 10 %, 1.05.
    fn default() -> Self {
        Self {
            timeout_ms: 1_400.0,
            loss_rule: false,
            low_loss_ratio: 0.02,
            high_loss_ratio: 0.1,
            increase_ratio: 1.05,
            increase_bps: 0,
        }
    }
}

/// The last remote estimate, or the start rate before the first.
#[derive(Clone)]
pub struct Remote {
    config: Config,
    timeout: TimeDelta,
    estimate: DataRate,
    loss: LossLimit,
    limits: RateLimits,
    next_halving: Timestamp,
}

impl Construct for Remote {
    const NAME: &'static str = "remote";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "obeys the receiver's estimate (REMB)";
    const CITES: &'static [&'static str] = &["draft-alvestrand-rmcat-remb", "draft-ietf-rmcat-gcc-02", "rfc8836"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let Config { low_loss_ratio, high_loss_ratio, .. } = config;
        if low_loss_ratio > high_loss_ratio {
            let message = format!("low_loss_ratio = {low_loss_ratio}: above high_loss_ratio = {high_loss_ratio}");
            return Err(BuildError::Config { controller: Self::NAME, message });
        }
        let timeout = TimeDelta::from_millis_f64(config.timeout_ms);
        let Context { limits, start, .. } = context;
        // With the loss rule the start rate is that rule's, until the receiver has an estimate.
        let estimate = if config.loss_rule { DataRate::MAX } else { limits.start };
        let loss = LossLimit::new(if config.loss_rule { limits.start } else { DataRate::MAX });
        Ok(Self { config, timeout, estimate, loss, limits, next_halving: start + timeout })
    }
}

impl Remote {
    fn target(&self) -> DataRate {
        self.limits.clamp(self.estimate.min(self.loss.limit))
    }

    fn heard(&mut self, now: Timestamp) {
        self.next_halving = now + self.timeout;
    }
}

impl RateController for Remote {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::RemoteEstimate(estimate) => {
                // Zero lifts the cap, as in libwebrtc; [draft-alvestrand-rmcat-remb] does not define it.
                let lifted = self.config.loss_rule && *estimate == DataRate::ZERO;
                self.estimate = if lifted { DataRate::MAX } else { *estimate };
                self.heard(now);
            }
            Event::ReceiverReport(report) if self.config.loss_rule => {
                let target = self.target();
                self.loss.take(&self.config, report, target);
                self.loss.limit = self.limits.clamp(self.loss.limit);
                self.heard(now);
            }
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                self.estimate = if self.config.loss_rule { DataRate::MAX } else { self.limits.start };
                if self.config.loss_rule {
                    self.loss = LossLimit::new(self.limits.start);
                }
                self.heard(now);
            }
            Event::Deadline if now >= self.next_halving => {
                // What the limits cut off needs no halving.
                self.estimate = self.target().scale(0.5);
                self.heard(now);
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.target())
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.next_halving)
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        if self.config.loss_rule {
            gauge("loss_based_bps", self.loss.limit.as_bps_f64());
            gauge("reported_loss_ratio", self.loss.ratio);
        }
    }
}

/// The sender's limit by loss.
#[derive(Clone)]
struct LossLimit {
    limit: DataRate,
    ratio: f64,
    /// By stream, in the order they were first reported.
    highest_seqs: Vec<(u32, u32)>,
    /// Since the last ratio: packets due, and 1/256ths of them lost.
    due: u64,
    lost: u64,
}

impl LossLimit {
    fn new(limit: DataRate) -> Self {
        Self { limit, ratio: 0.0, highest_seqs: Vec::new(), due: 0, lost: 0 }
    }

    /// Packets of its stream that were due since the last report; unknown at the first.
    fn due(&mut self, report: &ReceptionReport) -> Option<u32> {
        if let Some((_, highest)) = self.highest_seqs.iter_mut().find(|(ssrc, _)| *ssrc == report.ssrc) {
            return Some(report.highest_seq.wrapping_sub(std::mem::replace(highest, report.highest_seq)));
        }
        if self.highest_seqs.len() < MAX_STREAMS {
            self.highest_seqs.push((report.ssrc, report.highest_seq));
        }
        None
    }

    /// Take a report that came while `target` was in force. [libwebrtc-m150]: a ratio counts from 20 packets on.
    fn take(&mut self, config: &Config, report: &ReceptionReport, target: DataRate) {
        let Some(due) = self.due(report).filter(|due| *due < MAX_DUE) else { return };
        self.due += u64::from(due);
        self.lost += u64::from(due) * u64::from(report.fraction_lost);
        if self.due < ENOUGH_PACKETS {
            return;
        }
        self.ratio = self.lost as f64 / (256 * self.due) as f64;
        (self.due, self.lost) = (0, 0);
        // [draft-ietf-rmcat-gcc-02] §6: A_s(i) = A_s(i-1)(1-0.5p), p > 10 %; 1.05 A_s(i-1), p < 2 %; A_s(i-1), else
        // Deviates: cuts and holds begin from the target in force, not from a limit far above it, which would not bite.
        self.limit = if self.ratio > config.high_loss_ratio {
            target.scale(1.0 - 0.5 * self.ratio)
        } else if self.ratio < config.low_loss_ratio {
            self.limit.max(target).scale(config.increase_ratio) + DataRate::from_bps(config.increase_bps)
        } else {
            target
        };
    }
}

/// [libwebrtc-m150] send_side_bandwidth_estimation: losses of fewer packets are noise.
const ENOUGH_PACKETS: u64 = 20;
/// Numbers that jump further belong to another stream, or went back.
const MAX_DUE: u32 = 1 << 16;
/// Media and retransmissions of a call are two.
const MAX_STREAMS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::NoAssets;

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(2) };

    fn remote() -> Remote {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        Remote::new(Config::default(), context).unwrap()
    }

    /// Deadlines as a driver sends them until `until`.
    fn wait(remote: &mut Remote, until: Timestamp) {
        while let Some(due) = remote.next_deadline().filter(|due| *due <= until) {
            remote.on_event(due, &Event::Deadline);
        }
    }

    #[test]
    fn the_last_estimate_is_obeyed_within_the_limits() {
        let mut remote = remote();
        assert_eq!(remote.decision().target_bitrate, LIMITS.start);
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_kbps(700)));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(700));
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_mbps(9)));
        assert_eq!(remote.decision().target_bitrate, LIMITS.max);
    }

    /// [rfc5348] §4.4: without feedback the allowed rate is halved each time the timer expires. From
    /// 1,600 kbit/s: 800 at 1.4 s, 400 at 2.8 s; and finally no lower than the minimum.
    #[test]
    fn three_seconds_of_silence_quarter_the_rate_and_one_estimate_restores_it() {
        let mut remote = remote();
        remote.on_event(Timestamp::from_millis(500), &Event::RemoteEstimate(DataRate::from_kbps(1_600)));
        wait(&mut remote, Timestamp::from_millis(1_899));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(1_600));
        wait(&mut remote, Timestamp::from_millis(3_500));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(400));
        wait(&mut remote, Timestamp::from_secs(60));
        assert_eq!(remote.decision().target_bitrate, LIMITS.min);
        remote.on_event(Timestamp::from_secs(60), &Event::RemoteEstimate(DataRate::from_kbps(900)));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(900));
    }

    #[test]
    fn an_estimate_that_never_comes_is_not_waited_for_at_the_start_rate() {
        let mut remote = remote();
        wait(&mut remote, Timestamp::from_secs(3));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(75));
    }

    #[test]
    fn a_rate_above_the_limits_is_halved_from_the_limit() {
        let mut remote = remote();
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_mbps(9)));
        wait(&mut remote, Timestamp::from_secs(2));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_mbps(1));
    }

    fn with_loss_rule() -> Remote {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        Remote::new(Config { loss_rule: true, ..Config::default() }, context).unwrap()
    }

    /// A report after `packets` more packets of which `lost` 256ths were lost.
    fn report(remote: &mut Remote, highest_seq: u32, lost: u8) -> DataRate {
        let report = ReceptionReport { ssrc: 1, fraction_lost: lost, highest_seq };
        remote.on_event(Timestamp::ZERO, &Event::ReceiverReport(report));
        remote.decision().target_bitrate
    }

    /// [draft-ietf-rmcat-gcc-02] §6, worked by hand from 300 kbit/s: 1.05 twice, 64 / 256 lost, 12 / 256 lost.
    #[test]
    fn loss_in_receiver_reports_lets_the_limit_grow_keeps_it_or_cuts_it() {
        let mut remote = with_loss_rule();
        assert_eq!(report(&mut remote, 1_000, 0), LIMITS.start, "how many packets were due is unknown");
        assert_eq!(report(&mut remote, 1_100, 0), DataRate::from_kbps(315));
        assert_eq!(report(&mut remote, 1_200, 0), DataRate::from_bps(330_750));
        assert_eq!(report(&mut remote, 1_300, 64), DataRate::from_bps(289_406));
        assert_eq!(report(&mut remote, 1_400, 12), DataRate::from_bps(289_406), "4.7 % keeps it");
        assert_eq!(report(&mut remote, 1_419, 255), DataRate::from_bps(289_406), "nineteen packets are noise");
        assert_eq!(report(&mut remote, 1_420, 0), DataRate::from_bps(152_475), "added up: 94.6 % of 20");
    }

    /// libwebrtc's growth by hand: 300,000 * 1.08 + 1,000, and once more.
    #[test]
    fn the_limit_grows_by_a_factor_and_a_step() {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let config = Config { loss_rule: true, increase_ratio: 1.08, increase_bps: 1_000, ..Config::default() };
        let mut remote = Remote::new(config, context).unwrap();
        report(&mut remote, 1_000, 0);
        assert_eq!(report(&mut remote, 1_100, 0), DataRate::from_bps(325_000));
        assert_eq!(report(&mut remote, 1_200, 0), DataRate::from_bps(352_000));
    }

    #[test]
    fn the_lower_of_the_estimate_and_the_limit_applies_and_a_cut_begins_there() {
        let mut remote = with_loss_rule();
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_mbps(1)));
        assert_eq!(remote.decision().target_bitrate, LIMITS.start);
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_kbps(200)));
        report(&mut remote, 100, 0);
        assert_eq!(report(&mut remote, 200, 128), DataRate::from_kbps(150), "of 200, not of 300");
    }

    #[test]
    fn without_the_rule_reports_change_nothing() {
        let mut remote = remote();
        report(&mut remote, 100, 0);
        assert_eq!(report(&mut remote, 200, 255), LIMITS.start);
    }
}
