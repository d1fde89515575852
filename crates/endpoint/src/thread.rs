//! The thread that drives one way of a call, as its owner sees it.

use crate::clock::Clock;
use crate::error::Error;
use crate::mail::Mail;
use crate::outcome::{Outcome, Progress};
use legato_units::Timestamp;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// What a call's thread shows its owner.
pub struct Shared {
    progress: Mutex<Progress>,
    clock: Mutex<Clock>,
}

impl Shared {
    /// How far the call is.
    pub fn set_progress(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// The call's clock.
    pub fn set_clock(&self, clock: Clock) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
    }
}

/// The thread; it ends when this is dropped.
pub(crate) struct CallThread {
    mail: mpsc::Sender<Mail>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<Outcome, Error>>>,
}

impl CallThread {
    /// `set_up` makes the thread's work out of where mail goes and comes from, and of what the thread reports.
    pub fn start<Work>(
        clock: Clock,
        set_up: impl FnOnce(mpsc::Sender<Mail>, mpsc::Receiver<Mail>, Arc<Shared>) -> Result<Work, Error>,
    ) -> Result<Self, Error>
    where
        Work: FnOnce() -> Result<Outcome, Error> + Send + 'static,
    {
        let (mail, inbox) = mpsc::channel();
        let shared = Arc::new(Shared { progress: Mutex::default(), clock: Mutex::new(clock) });
        let work = set_up(mail.clone(), inbox, Arc::clone(&shared))?;
        let started = thread::Builder::new().name("legato-call".to_owned()).spawn(work);
        let thread = Some(started.map_err(|error| Error::System(format!("the call's thread: {error}")))?);
        Ok(Self { mail, shared, thread })
    }

    pub fn send(&self, mail: Mail) -> Result<(), Error> {
        self.mail.send(mail).map_err(|_| Error::Connection("the call is over".to_owned()))
    }

    pub fn progress(&self) -> Progress {
        let progress = *self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
        Progress { over: progress.over || self.thread.as_ref().is_none_or(JoinHandle::is_finished), ..progress }
    }

    /// The call's time; before its media began, time since it was set up.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    /// End it early.
    pub fn stop(&self) {
        let _ = self.mail.send(Mail::Stop);
    }

    /// Wait for the end.
    pub fn join(mut self) -> Result<Outcome, Error> {
        let thread = self.thread.take().ok_or_else(|| Error::System("the call was finished before".to_owned()))?;
        thread.join().map_err(|_| Error::System("the call's thread died: this is a bug in Legato".to_owned()))?
    }
}

impl Drop for CallThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
