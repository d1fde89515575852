//! Plain TFRC as a controller, under whatever name and of whatever edition: events go to the sender's part, and
//! encoder and pacer get the rate it allows. `tfrc` and `jm-tfrc` are both this, with other parameters.

use super::config::Config;
use super::sender::TfrcSender;
use crate::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, SentTrain, Side};
use legato_units::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;

/// What one controller of this kind is called and is told.
pub trait Flavour: Clone + Send + 'static {
    /// As [`Construct::NAME`].
    const NAME: &'static str;
    /// As [`Construct::SUMMARY`].
    const SUMMARY: &'static str;
    /// As [`Construct::CITES`].
    const CITES: &'static [&'static str];
    /// Its parameters.
    type Config: Default + Serialize + DeserializeOwned;

    /// The sender's parameters, or which of `config` makes no sense.
    fn parameters(config: Self::Config) -> Result<Config, String>;
}

/// Plain TFRC.
#[derive(Clone)]
pub struct Plain<F> {
    pub(crate) sender: TfrcSender,
    limits: RateLimits,
    /// What `decision` answers; formed when something changed, as drivers ask after every packet.
    decision: Decision,
    flavour: PhantomData<F>,
}

impl<F: Flavour> Construct for Plain<F> {
    const NAME: &'static str = F::NAME;
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = F::SUMMARY;
    const CITES: &'static [&'static str] = F::CITES;
    type Config = F::Config;

    fn new(config: F::Config, context: Context<'_>) -> Result<Self, BuildError> {
        let parameters =
            F::parameters(config).map_err(|message| BuildError::Config { controller: F::NAME, message })?;
        let Context { limits, start, .. } = context;
        let sender = TfrcSender::new(parameters, limits.start, start);
        let mut plain = Self { sender, limits, decision: Decision::of_target(limits.start), flavour: PhantomData };
        plain.publish();
        Ok(plain)
    }
}

impl<F> Plain<F> {
    /// [rfc5348] §4.6: packets leave at X_inst (which is X where oscillations are not damped). The encoder is asked
    /// for the same, so that the pacer need not hold what it cannot send.
    fn publish(&mut self) {
        let rate = self.limits.clamp(self.sender.instantaneous());
        self.decision = Decision { pacing_rate: rate, ..Decision::of_target(rate) };
    }
}

impl<F: Flavour> RateController for Plain<F> {
    #[inline]
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketSent(packet) => return self.sender.on_sent(packet.size.as_bytes()),
            Event::PacerQueue(queue) => return self.sender.on_pacer_queue(queue.drain),
            Event::TransportFeedback(feedback) => self.sender.on_feedback(now, feedback),
            Event::Deadline => self.sender.on_deadline(now),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => self.sender.reset(self.limits.start, now),
            _ => return,
        }
        self.publish();
    }

    #[inline]
    fn on_train_sent(&mut self, _now: Timestamp, train: &SentTrain) {
        self.sender.on_sent((train.first.size + train.rest()).as_bytes());
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }

    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.sender.next_deadline())
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.sender.observe(gauge);
    }

    fn clone_box(&self) -> Box<dyn RateController> {
        Box::new(self.clone())
    }
}
