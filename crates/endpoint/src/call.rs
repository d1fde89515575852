//! A call, seen from outside: set up, offered, answered, watched, stopped, and turned into figures.

use crate::clock::Clock;
use crate::codec::Codec;
use crate::connection::other_end::OtherEnd;
use crate::connection::peer::Peer;
use crate::connection::sdp::Answer;
use crate::driver::Driver;
use crate::error::Error;
use crate::mail::{Mail, link_report};
use crate::network::ends::Ends;
use crate::network::link::Place;
use crate::outcome::{Finished, Outcome, Progress};
use crate::pictures::camera::Camera;
use crate::viewing::seen::{SeenPicture, ShownFrame};
use legato_call::Sender;
use legato_trace::LogLevel;
use legato_units::{TimeDelta, Timestamp};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// What a call is made of.
pub struct CallSetup {
    /// Encoder and controller inside; its encoder is the camera's.
    pub sender: Sender,
    /// Pictures.
    pub camera: Camera,
    /// The network; forward leads from us to the other end.
    pub place: Place,
    /// How long media flow.
    pub duration: TimeDelta,
    /// When media pause (true) and go on (false), the next one last.
    pub turns: Vec<(Timestamp, bool)>,
    /// How much is recorded.
    pub level: LogLevel,
}

/// A call under way; it ends when this is dropped.
pub struct Call {
    offer: String,
    codec: Codec,
    thread: CallThread,
}

impl Call {
    /// Bind a socket on the loopback interface and make the offer, for a browser. Nothing else listens.
    pub fn open(setup: CallSetup) -> Result<Self, Error> {
        Self::open_to(setup, OtherEnd::Browser)
    }

    /// The same for another end.
    pub(crate) fn open_to(setup: CallSetup, other: OtherEnd) -> Result<Self, Error> {
        let (socket, local) = bind()?;
        let base = Clock::starting_now();
        let codec = setup.camera.codec();
        let mut peer = Peer::new(local, base, codec, other)?;
        let offer = peer.offer();
        let CallSetup { sender, mut camera, place, duration, turns, level } = setup;
        camera.leave_room(other.further_extension_bytes());
        let thread = CallThread::start(base, |mail, inbox, progress, shared_clock| {
            let (frames, camera) = {
                let mail = mail.clone();
                camera.start(move |coded| mail.send(Mail::Encoded(coded)).is_ok())?
            };
            let link = place.open(Ends::Endpoint(socket), link_report(mail))?;
            let end = Timestamp::ZERO + duration;
            let driver = Driver { sender, peer, frames, link, clock: base, end, turns, level, progress, shared_clock };
            Ok(move || {
                let outcome = driver.run(&inbox);
                // The sender, and with it the camera's encoder, is gone by now.
                let coded = camera.join().ok().flatten();
                outcome.map(|outcome| Outcome { coded, ..outcome })
            })
        })?;
        Ok(Self { offer, codec, thread })
    }

    /// The offer, for the other end.
    pub fn offer(&self) -> &str {
        &self.offer
    }

    /// The other end's answer: connect, and begin.
    pub fn answer(&self, sdp: &str) -> Result<(), Error> {
        self.thread.send(Mail::Answer(Box::new(Answer::parse(sdp, self.codec)?)))
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.thread.progress()
    }

    /// The call's time; before its media began, time since it was set up.
    pub fn now(&self) -> Timestamp {
        self.thread.now()
    }

    /// End it before its time.
    pub fn stop(&self) {
        self.thread.stop();
    }

    /// Wait for the end and make the figures, with what the other end has told of the frames it showed.
    pub fn finish(self, shown: &[ShownFrame]) -> Result<Finished, Error> {
        self.thread.finish(shown)
    }

    /// The work of its thread, for who makes the figures otherwise.
    pub(crate) fn into_thread(self) -> CallThread {
        self.thread
    }
}

/// A socket at any free port of the loopback interface, and where it is.
pub(crate) fn bind() -> Result<(UdpSocket, SocketAddr), Error> {
    let refused = |error: std::io::Error| Error::System(format!("a socket on the loopback interface: {error}"));
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    let local = socket.local_addr().map_err(refused)?;
    Ok((socket, local))
}

/// The thread that drives a call, as its owner sees it. It ends when this is dropped.
pub(crate) struct CallThread {
    mail: mpsc::Sender<Mail>,
    progress: Arc<Mutex<Progress>>,
    clock: Arc<Mutex<Clock>>,
    thread: Option<JoinHandle<Result<Outcome, Error>>>,
}

impl CallThread {
    /// `set_up` makes the thread's work out of where mail goes and comes from, and of what the thread tells.
    pub fn start<Work>(
        clock: Clock,
        set_up: impl FnOnce(
            mpsc::Sender<Mail>,
            mpsc::Receiver<Mail>,
            Arc<Mutex<Progress>>,
            Arc<Mutex<Clock>>,
        ) -> Result<Work, Error>,
    ) -> Result<Self, Error>
    where
        Work: FnOnce() -> Result<Outcome, Error> + Send + 'static,
    {
        let (mail, inbox) = mpsc::channel();
        let progress = Arc::new(Mutex::new(Progress::default()));
        let clock = Arc::new(Mutex::new(clock));
        let work = set_up(mail.clone(), inbox, Arc::clone(&progress), Arc::clone(&clock))?;
        let started = thread::Builder::new().name("legato-call".to_owned()).spawn(work);
        let thread = Some(started.map_err(|error| Error::System(format!("the call's thread: {error}")))?);
        Ok(Self { mail, progress, clock, thread })
    }

    pub fn send(&self, mail: Mail) -> Result<(), Error> {
        self.mail.send(mail).map_err(|_| Error::Connection("the call is over".to_owned()))
    }

    pub fn progress(&self) -> Progress {
        let progress = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        Progress { over: progress.over || self.thread.as_ref().is_none_or(JoinHandle::is_finished), ..progress }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    pub fn stop(&self) {
        let _ = self.mail.send(Mail::Stop);
    }

    /// Wait for the end.
    pub fn join(mut self) -> Result<Outcome, Error> {
        let thread = self.thread.take().ok_or_else(|| Error::System("the call was finished before".to_owned()))?;
        thread.join().map_err(|_| Error::System("the call's thread died: this is a bug in Legato".to_owned()))?
    }

    pub fn finish(self, shown: &[ShownFrame]) -> Result<Finished, Error> {
        let seen: Vec<_> = shown.iter().map(SeenPicture::of_browser).collect();
        self.join()?.figures(&seen)
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
