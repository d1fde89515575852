//! `fbra` believes that parity is the harmless way to ask for more: sent on top of the media it shows whether the path takes the rate, and if not, it repairs the losses it caused ([nagy2014]). The paper's text was not at hand. States, thresholds and their names follow others' reports of it, above all the simulator of [nvc-cc]; `report.rs` and the comments here mark Legato's additions.
//!
//! Over each report interval it measures losses, how many parity repaired, goodput, and the one-way delay against the
//! 40th and 80th percentile of its history. It probes with one parity packet per N of media, N from 2 to 14. If the
//! probe succeeded it replaces the parity by media. If it failed it undershoots the goodput, and returns once queues
//! have drained.
//!
//! Missing: discards (packets that came too late), which transport-wide feedback does not report.

mod config;
mod report;
mod state;

pub use config::Config;
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, PacketKind, RateController, RateLimits, SendingWishes, Side,
    TransportFeedback,
};
use legato_units::{DataRate, TimeDelta, Timestamp};
use report::{DelayHistory, Interval, OneWayDelay};
use state::{Action, Cues, Loss, State};

/// Probes with parity.
#[derive(Clone, Debug)]
pub struct Fbra {
    config: Config,
    limits: RateLimits,
    state: State,
    /// Of media, including parity while it protects; a probe comes on top.
    rate: DataRate,
    /// N: media packets per parity packet.
    fec_interval: u8,
    interval: Interval,
    /// The next report ends no earlier.
    next_report: Timestamp,
    delay: OneWayDelay,
    /// Of the last reports, the newest first.
    goodputs: [DataRate; 10],
    history: DelayHistory,
    /// The last report in STAY showed delay.
    delayed: bool,
    /// Correlated delays of the last report.
    correlated: (f64, f64),
    round_trip_time: TimeDelta,
    /// Media was lost recently: parity protects until then.
    protect_until: Option<Timestamp>,
    media: MediaPackets,
    silence: Silence,
}

/// Packets and frames since the last report, and packets per frame in the one before.
#[derive(Clone, Copy, Debug)]
struct MediaPackets {
    packets: u32,
    frames: u32,
    per_frame: u8,
}

impl Construct for Fbra {
    const NAME: &'static str = "fbra";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "FEC-based rate adaptation: parity as probe and protection";
    const CITES: &'static [&'static str] = &["nagy2014", "nvc-cc"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        config.check()?;
        let Context { limits, start, .. } = context;
        Ok(Self {
            fec_interval: config.start_fec_interval_packets,
            next_report: start + config.report_interval(),
            config,
            limits,
            state: State::Stay,
            rate: limits.start,
            interval: Interval::new(start, None),
            delay: OneWayDelay::default(),
            goodputs: [DataRate::ZERO; 10],
            history: DelayHistory::default(),
            delayed: false,
            correlated: (1.0, 1.0),
            round_trip_time: TimeDelta::ZERO,
            protect_until: None,
            media: MediaPackets { packets: 0, frames: 0, per_frame: MAX_FEC_INTERVAL },
            silence: Silence::default(),
        })
    }
}

impl Fbra {
    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        if feedback.reports.is_empty() {
            return;
        }
        self.silence.on_feedback(now, feedback.round_trip(now));
        for report in feedback.reports.iter() {
            let delay = self.delay.of(now, &report);
            self.interval.on_report(&report, delay);
            if report.arrived() {
                self.round_trip_time = (now - report.departure).max(TimeDelta::ZERO);
            }
        }
        if now >= self.next_report && !self.interval.is_empty() {
            self.report(now);
        }
    }

    /// A report interval has ended.
    fn report(&mut self, now: Timestamp) {
        let loss = self.interval.loss();
        let goodput = self.interval.goodput(now);
        self.goodputs.rotate_right(1);
        self.goodputs[0] = goodput;
        self.correlated = self.correlate(now, loss);
        if loss != Loss::None && self.config.protect {
            self.protect_until = Some(now + PROTECTION);
        }
        self.media.end_interval();
        let cues = Cues {
            loss,
            correlated_low: self.correlated.0,
            correlated_high: self.correlated.1,
            delayed_before: self.delayed,
            content: self.rate >= self.limits.max || goodput < self.rate.scale(USED_RATIO),
        };
        let (state, action) = state::next(self.state, &cues, &self.config.thresholds());
        self.delayed = state == State::Stay && cues.correlated_high > self.config.stay_above_ratio;
        let before = self.state;
        self.state = state;
        self.act(action, goodput);
        // Losses of packets that left before an undershoot do not count again; packets that left after it must have had
        // time to be reported.
        let undershot = action == Action::Undershoot;
        let news_since = undershot.then_some(now);
        let round_trip = self.round_trip_time.min(LONGEST_WAIT);
        let wait = if undershot || before == State::Down {
            // [nvc-cc]: the simulator's rate control pauses for 1.05 report intervals.
            self.config.report_interval() * 21 / 20 + round_trip
        } else {
            self.config.report_interval().max(round_trip)
        };
        self.interval = Interval::new(now, news_since);
        self.next_report = now + wait;
    }

    /// One-way delay of the interval over the percentiles of its history; 1 without a history.
    fn correlate(&mut self, now: Timestamp, loss: Loss) -> (f64, f64) {
        let Some(delay) = self.interval.delay() else { return (1.0, 1.0) };
        let delay_ms = delay.as_nanos() as f64 / 1e6;
        // Ours: a history from before this report, or a report would be compared with itself. A delay is
        // never below 1 ms, half the shortest round trip.
        let percentiles = self.history.percentiles();
        // [nvc-cc]: the simulator's history only takes delays of intervals without loss.
        // Ours: nor of DOWN, where the queue that caused it is still draining. With them the 80th percentile was that
        // queue, and for the next seconds every queue below it looked like an empty path.
        if (loss == Loss::None && self.state != State::Down) || self.history.is_empty() {
            self.history.push(now, delay_ms, self.config.history());
        }
        percentiles.map_or((1.0, 1.0), |(low_ms, high_ms)| (delay_ms / low_ms, delay_ms / high_ms))
    }

    fn act(&mut self, action: Action, goodput: DataRate) {
        let n = self.fec_interval;
        match action {
            Action::Hold => {}
            Action::MoreParity => self.fec_interval = (n - 1).max(MIN_FEC_INTERVAL),
            Action::FewerParity => self.fec_interval = (n + 1).min(MAX_FEC_INTERVAL),
            // Media replaces the probe: one packet per N. Ours: as far as the path has shown that it carries. The encoder may
            // use less than it is given, and then a probe that succeeded has proven less than the rate and its parity.
            Action::Climb => {
                let proven = self.goodputs[..usize::from(self.config.proven_reports)].iter().max();
                let proven = proven.copied().unwrap_or(goodput);
                self.rate = self.rate.max(self.rate.scale(1.0 + 1.0 / f64::from(n)).min(proven));
            }
            Action::Undershoot => self.rate = undershoot(self.rate, goodput),
            // [nvc-cc]: the simulator returns to 0.9 of the goodput. Deviates from it: never below the sending rate
            // while undershooting, which bounds the goodput if no queue drained.
            Action::BounceBack => self.rate = self.rate.max(goodput.scale(0.9).min(self.rate.scale(MAX_BOUNCE))),
        }
        self.rate = self.limits.clamp(self.rate);
    }

    /// N of the parity being sent, if any.
    fn parity(&self) -> Option<u8> {
        let probing = (self.state == State::Probe).then_some(self.fec_interval);
        // Ours: protection requires a parity packet in each frame.
        let protecting = self.protect_until.map(|_| self.media.per_frame.clamp(MIN_FEC_INTERVAL, MAX_FEC_INTERVAL));
        match (probing, protecting) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Ours, between two readings: [nagy2014] cuts below the goodput by as much as the rate exceeded it, the
/// simulator of [nvc-cc] to 0.85. The former if it cuts deeper, and never below half.
fn undershoot(rate: DataRate, goodput: DataRate) -> DataRate {
    let above = rate.saturating_sub(goodput).scale(2.0);
    rate.saturating_sub(above).min(rate.scale(0.85)).max(rate.scale(0.5))
}

impl MediaPackets {
    fn end_interval(&mut self) {
        if let Some(per_frame) = self.packets.checked_div(self.frames) {
            self.per_frame = per_frame.clamp(1, u32::from(u8::MAX)) as u8;
        }
        (self.packets, self.frames) = (0, 0);
    }
}

impl RateController for Fbra {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            self.state = State::Stay;
            self.rate = self.limits.clamp(self.rate.scale(0.5));
        }
        match event {
            Event::TransportFeedback(feedback) => {
                if self.protect_until.is_some_and(|until| until <= now) {
                    self.protect_until = None;
                }
                self.take_feedback(now, feedback);
            }
            Event::PacketsSent(burst) => {
                self.silence.on_packet_sent(now);
                if burst.first.kind == PacketKind::Video {
                    self.media.packets += u32::from(burst.packets);
                }
            }
            Event::FrameEncoded(_) => self.media.frames += 1,
            Event::Limits(limits) => {
                self.limits = *limits;
                self.rate = limits.clamp(self.rate);
            }
            Event::RouteChange => {
                self.state = State::Stay;
                self.rate = self.limits.start;
                self.interval = Interval::new(now, Some(now));
                self.next_report = now + self.config.report_interval();
                self.delay = OneWayDelay::default();
                self.goodputs = [DataRate::ZERO; 10];
                self.history = DelayHistory::default();
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let Some(n) = self.parity().map(f64::from) else { return Decision::of_target(self.rate) };
        // A probe comes on top of the media; protection is taken out of it.
        let wanted = if self.state == State::Probe { self.rate.scale(1.0 + 1.0 / n) } else { self.rate };
        let target = self.limits.clamp(wanted);
        let sending = SendingWishes { fec_rate: target.scale(1.0 / (n + 1.0)), ..SendingWishes::default() };
        Decision { sending, ..Decision::of_target(target) }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.next_deadline()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("fbra_state", f64::from(self.state.level()));
        gauge("fbra_fec_interval", self.parity().map_or(0.0, f64::from));
        gauge("fbra_correlated_delay_low_ratio", self.correlated.0);
        gauge("fbra_correlated_delay_high_ratio", self.correlated.1);
    }
}

/// [nagy2014]: N is from 2 to 14.
const MIN_FEC_INTERVAL: u8 = 2;
const MAX_FEC_INTERVAL: u8 = 14;
/// Ours: a goodput below this share of the rate means that the rate is not used, so there is nothing to probe for.
const USED_RATIO: f64 = 0.7;
/// Ours: no bounce ends further than this above the rate it came down to.
const MAX_BOUNCE: f64 = 1.5;
/// Ours: how long protection follows losses.
const PROTECTION: TimeDelta = TimeDelta::from_secs(2);
/// A report waits for a round trip, but not for a broken one.
const LONGEST_WAIT: TimeDelta = TimeDelta::from_millis(500);

#[cfg(test)]
#[path = "fbra_tests.rs"]
mod tests;
