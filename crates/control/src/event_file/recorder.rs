//! A controller that writes an event file of itself.

use super::answers::{NotedFuture, WithFuture};
use super::{CONTRACT_VERSION, EventLog, Header, Line};
use crate::{BuildError, Context, Decision, Entry, Event, FeedbackRule, ProbeCluster, RateController};
use legato_units::Timestamp;

impl EventLog {
    /// Build a controller that writes down its events and decisions. One log takes one controller, whose clones are
    /// not to go on beside it.
    ///
    /// # Errors
    /// The controller could not be built.
    pub fn record(
        &self,
        entry: &Entry,
        config: &toml::Table,
        context: Context<'_>,
    ) -> Result<Box<dyn RateController>, BuildError> {
        self.write(&Line::Header(Header {
            version: CONTRACT_VERSION,
            controller: entry.name.to_owned(),
            side: entry.side,
            config: config.clone(),
            limits: context.limits,
            start: context.start,
            seed: context.seed,
        }));
        let future = context.assets.future().map(|future| NotedFuture { future, log: self.clone() });
        let assets = WithFuture { assets: context.assets, future };
        let inner = entry.build(config, Context { assets: &assets, ..context })?;
        self.write(&Line::FeedbackRule(inner.feedback_rule()));
        let mut recorded = Recorded { inner, log: self.clone(), decision: None, deadline: None, has_estimate: None };
        recorded.write_changes();
        Ok(Box::new(recorded))
    }
}

#[derive(Clone)]
struct Recorded {
    inner: Box<dyn RateController>,
    log: EventLog,
    /// As last written.
    decision: Option<Decision>,
    deadline: Option<Option<Timestamp>>,
    has_estimate: Option<bool>,
}

impl Recorded {
    fn write_changes(&mut self) {
        let (decision, deadline, has_estimate) =
            (self.inner.decision(), self.inner.next_deadline(), self.inner.has_estimate());
        if self.decision.replace(decision) != Some(decision) {
            self.log.write(&Line::Decision(decision));
        }
        if self.deadline.replace(deadline) != Some(deadline) {
            self.log.write(&Line::DeadlineNs(deadline));
        }
        if self.has_estimate.replace(has_estimate) != Some(has_estimate) {
            self.log.write(&Line::HasEstimate(has_estimate));
        }
    }
}

impl RateController for Recorded {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        self.log.write(&Line::Event(now, event.clone()));
        self.inner.on_event(now, event);
        self.write_changes();
    }

    fn decision(&self) -> Decision {
        self.inner.decision()
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.inner.next_deadline()
    }

    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        let probe = self.inner.poll_probe();
        self.log.write(&Line::Probe(probe));
        self.write_changes();
        probe
    }

    fn has_estimate(&self) -> bool {
        self.inner.has_estimate()
    }

    fn feedback_rule(&self) -> FeedbackRule {
        self.inner.feedback_rule()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.inner.observe(gauge);
    }
}
