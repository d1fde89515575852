//! What a controller asks of the future: written down as it is answered, and answered again from what was written.

use super::{Answer, EventLog, Line};
use crate::policy::Model;
use crate::{Assets, CapacityStep, Entry, FutureLink, Host, KnownFuture};
use legato_units::{DataSize, Timestamp};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The assets of a recorded or replayed controller: those of its caller, with a future of our own.
pub(super) struct WithFuture<'a, F> {
    pub assets: &'a dyn Assets,
    pub future: Option<F>,
}

impl<F: KnownFuture> Assets for WithFuture<'_, F> {
    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.assets.file(name)
    }

    fn model(&self, name: &str) -> Result<Arc<Model>, String> {
        self.assets.model(name)
    }

    fn controller(&self, name: &str) -> Option<&'static Entry> {
        self.assets.controller(name)
    }

    fn future(&self) -> Option<&dyn KnownFuture> {
        self.future.as_ref().map(|future| future as &dyn KnownFuture)
    }

    fn host(&self) -> Option<&dyn Host> {
        self.assets.host()
    }
}

/// A future whose answers are written down.
pub(super) struct NotedFuture<'a> {
    pub future: &'a dyn KnownFuture,
    pub log: EventLog,
}

impl KnownFuture for NotedFuture<'_> {
    fn capacity(&self) -> Option<Arc<[CapacityStep]>> {
        let steps = self.future.capacity();
        self.log.write(&Line::Future(Answer::Capacity(steps.as_ref().map(|steps| steps.to_vec()))));
        steps
    }

    fn link(&self) -> Option<Box<dyn FutureLink>> {
        let link = self.future.link();
        self.log.write(&Line::Future(Answer::Link(link.is_some())));
        link.map(|link| Box::new(NotedLink { link, log: self.log.clone() }) as _)
    }
}

#[derive(Clone)]
struct NotedLink {
    link: Box<dyn FutureLink>,
    log: EventLog,
}

impl NotedLink {
    fn note(&self, answer: Answer) {
        self.log.write(&Line::Future(answer));
    }
}

impl FutureLink for NotedLink {
    fn take(&mut self, now: Timestamp, size: DataSize) -> Timestamp {
        let left = self.link.take(now, size);
        self.note(Answer::Take(now, size, left));
        left
    }

    fn idle_at(&self, now: Timestamp) -> Timestamp {
        let idle = self.link.idle_at(now);
        self.note(Answer::IdleAt(now, idle));
        idle
    }

    fn exit(&self, from: Timestamp, size: DataSize) -> Timestamp {
        let exit = self.link.exit(from, size);
        self.note(Answer::Exit(from, size, exit));
        exit
    }

    fn passes(&self, from: Timestamp, to: Timestamp) -> DataSize {
        let passed = self.link.passes(from, to);
        self.note(Answer::Passes(from, to, passed));
        passed
    }

    fn queue_limit(&self) -> Option<DataSize> {
        let limit = self.link.queue_limit();
        self.note(Answer::QueueLimit(limit));
        limit
    }
}

/// Recorded answers, in the order of their questions. Another question than the recorded one gets an empty or the
/// largest answer, so that the files differ there.
#[derive(Clone)]
pub(super) struct Answers(Arc<Mutex<VecDeque<Answer>>>);

impl Answers {
    /// `None` if there are none: nothing was asked.
    pub fn new(answers: VecDeque<Answer>) -> Option<Self> {
        (!answers.is_empty()).then(|| Self(Arc::new(Mutex::new(answers))))
    }

    fn next(&self) -> Option<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl KnownFuture for Answers {
    fn capacity(&self) -> Option<Arc<[CapacityStep]>> {
        if let Some(Answer::Capacity(steps)) = self.next() { steps.map(Into::into) } else { None }
    }

    fn link(&self) -> Option<Box<dyn FutureLink>> {
        let link = self.next() == Some(Answer::Link(true));
        link.then(|| Box::new(self.clone()) as _)
    }
}

impl FutureLink for Answers {
    fn take(&mut self, _now: Timestamp, _size: DataSize) -> Timestamp {
        if let Some(Answer::Take(_, _, left)) = self.next() { left } else { Timestamp::MAX }
    }

    fn idle_at(&self, _now: Timestamp) -> Timestamp {
        if let Some(Answer::IdleAt(_, idle)) = self.next() { idle } else { Timestamp::MAX }
    }

    fn exit(&self, _from: Timestamp, _size: DataSize) -> Timestamp {
        if let Some(Answer::Exit(_, _, exit)) = self.next() { exit } else { Timestamp::MAX }
    }

    fn passes(&self, _from: Timestamp, _to: Timestamp) -> DataSize {
        if let Some(Answer::Passes(_, _, passed)) = self.next() { passed } else { DataSize::ZERO }
    }

    fn queue_limit(&self) -> Option<DataSize> {
        if let Some(Answer::QueueLimit(limit)) = self.next() { limit } else { None }
    }
}
