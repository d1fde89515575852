//! The common part of all controllers of the TFRC family: events go to the sender's part, and encoder and pacer get the
//! rates that the flavour derives from it. `tfrc`, `jm-tfrc` and `vtfrc` are flavours.

use super::config::Config;
use super::sender::TfrcSender;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, FeedbackRule, Pacing, RateController, RateLimits, Side,
};
use legato_units::{DataRate, Timestamp};
use serde::{Serialize, de::DeserializeOwned};

/// What distinguishes one controller of the family; by default it is plain TFRC.
pub trait Flavour: Clone + Send + Sized + 'static {
    /// As [`Construct::NAME`].
    const NAME: &'static str;
    /// As [`Construct::SUMMARY`].
    const SUMMARY: &'static str;
    /// As [`Construct::CITES`].
    const CITES: &'static [&'static str];
    /// Its parameters.
    type Config: Default + Serialize + DeserializeOwned + schemars::JsonSchema + 'static;

    /// The flavour and its sender's parameters.
    fn new(config: Self::Config) -> (Self, Config);

    /// The target bitrate and the pacing rate, before limits.
    ///
    /// [rfc5348] §4.6: packets leave at X_inst (which is X if oscillations are not damped). The encoder gets the same
    /// rate, so that the pacer never holds bytes that it cannot send.
    fn rates(&self, sender: &TfrcSender) -> [DataRate; 2] {
        [sender.instantaneous(); 2]
    }

    /// A picture was captured; `complexity` is its difference from the last one, if known.
    fn on_frame(&mut self, _complexity: Option<f32>, _sender: &TfrcSender) {}

    /// The path changed.
    fn on_route_change(&mut self) {}

    /// Its own inner state; the sender's is observed apart from it.
    fn observe(&self, _sender: &TfrcSender, _gauge: &mut dyn FnMut(&'static str, f64)) {}
}

/// A controller of the TFRC family.
#[derive(Clone)]
pub struct TfrcController<F> {
    pub(crate) flavour: F,
    pub(crate) sender: TfrcSender,
    limits: RateLimits,
    /// The result of `decision`; computed when something changes, as drivers read it after every packet.
    decision: Decision,
}

impl<F: Flavour> Construct for TfrcController<F> {
    const NAME: &'static str = F::NAME;
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = F::SUMMARY;
    const CITES: &'static [&'static str] = F::CITES;
    type Config = F::Config;

    fn new(config: F::Config, context: Context<'_>) -> Result<Self, BuildError> {
        let (flavour, parameters) = F::new(config);
        let Context { limits, start, .. } = context;
        let sender = TfrcSender::new(parameters, limits.start, start);
        let mut controller = Self { flavour, sender, limits, decision: Decision::of_target(limits.start) };
        controller.publish();
        Ok(controller)
    }
}

impl<F: Flavour> TfrcController<F> {
    fn publish(&mut self) {
        let [target, pacing_rate] = self.flavour.rates(&self.sender).map(|rate| self.limits.clamp(rate));
        self.decision = Decision { pacing: Pacing::at(pacing_rate), ..Decision::of_target(target) };
    }
}

impl<F: Flavour> RateController for TfrcController<F> {
    #[inline]
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketsSent(burst) => return self.sender.on_sent(burst.bytes()),
            Event::PacerQueue(queue) => return self.sender.on_pacer_queue(queue.drain),
            Event::TransportFeedback(feedback) => self.sender.on_feedback(now, feedback),
            Event::FrameCaptured(frame) => self.flavour.on_frame(frame.complexity, &self.sender),
            Event::Deadline => self.sender.on_deadline(now),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                self.sender.reset(self.limits.start, now);
                self.flavour.on_route_change();
            }
            _ => return,
        }
        self.publish();
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }

    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.sender.next_deadline())
    }

    fn feedback_rule(&self) -> FeedbackRule {
        // [rfc5348] §6: at least once a round trip, and whenever a new loss event is found; the edition of 2003 likewise.
        FeedbackRule::RoundTrip
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.sender.observe(gauge);
        self.flavour.observe(&self.sender, gauge);
    }
}
