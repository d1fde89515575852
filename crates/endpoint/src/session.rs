//! A session of calls, seen from outside: set up, offered, answered, watched, stopped, and turned into figures.
//!
//! It is one way of media or two, each from the end that sends to the end that receives. Ends are ours, or others':
//! browsers or any programs, whose session descriptions the session's owner carries from one end to the other. A
//! direction between two Legato ends is connected at once, in this process: ICE, DTLS, SRTP, sockets, encoder and
//! decoder are those of any call. The scenario's link is then in the sending end, as towards a browser, and the
//! receiving end's link is a wire. Both share the system's clock, so capture and display times compare without an
//! estimate.

use crate::clock::Clock;
use crate::connection::other_end::OtherEnd;
use crate::connection::sdp::Answer;
use crate::error::Error;
use crate::mail::Mail;
use crate::network::link::Place;
use crate::outcome::{CallReport, Finished, Progress};
use crate::receiving::{self, ReceivingSetup};
use crate::relay::{self, Addresses, RelaySetup};
use crate::sending::{self, CallSetup};
use crate::thread::CallThread;
use crate::viewing::seen::{SeenPicture, ShownFrame};
use legato_codec::Coding;
use legato_control::RateController;
use legato_media::playout::PlayoutConfig;
use legato_path::Path;
use legato_trace::{LogLevel, Record, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// One way of media, by whose its ends are: the sending one, then the receiving one.
pub enum WaySetup {
    /// Ours and another's.
    Sent(Box<CallSetup>),
    /// Another's and ours.
    Received(Box<ReceivingSetup>),
    /// Both ours.
    Own(Box<PairSetup>),
    /// Both others'.
    Relayed(RelaySetup),
}

/// The parts of a direction between two Legato ends.
pub struct PairSetup {
    /// The sending end, and the link.
    pub call: CallSetup,
    /// The receiving end's, if it has one: its target goes back as REMB.
    pub controller: Option<Box<dyn RateController>>,
    /// When pictures are shown.
    pub playout: PlayoutConfig,
    /// Whether to request missing packets again.
    pub nack: bool,
}

/// A session under way; it ends when this is dropped.
pub struct Session {
    ways: Vec<Way>,
    opened: Clock,
}

/// One way of it.
struct Way {
    signals: Signals,
    /// Its records are the way's; absent until another end has made its offer.
    thread: Option<CallThread>,
    /// The receiving end's, where both are ours.
    receiving: Option<CallThread>,
}

/// The handling of session descriptions.
enum Signals {
    /// The sending end is ours: this is its offer.
    Offer(String, Coding),
    /// The receiving end is ours: it is set up by the other's offer, and answers. A setup may be shared by no threads.
    Answer(Mutex<Option<Box<ReceivingSetup>>>, String),
    /// They pass between two others, with these addresses in them where the two are on the loopback interface.
    Pass(Option<Addresses>),
    /// Both ends are ours and connected.
    Connected,
}

/// The receiving end gets an order to stop; this only ends one that was forgotten.
const LATEST_END: TimeDelta = TimeDelta::from_secs(60);
/// Two ways end together, within this time.
const SETTLE: Duration = Duration::from_secs(1);

impl Session {
    /// Set up its ways: two of them have opposite [`Place`]s on one network.
    pub fn open(ways: impl IntoIterator<Item = WaySetup>) -> Result<Self, Error> {
        let ways = ways.into_iter().map(Way::open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { ways, opened: Clock::starting_now() })
    }

    /// The offer of way `way`, as its receiving end is to see it. `theirs`: the sending end's own, where it is another's.
    pub fn offer(&mut self, way: usize, theirs: Option<&str>) -> Result<String, Error> {
        self.way_mut(way)?.offer(theirs)
    }

    /// The answer, as the sending end of way `way` is to see it. `theirs`: the receiving end's own, where it is another's.
    pub fn answer(&mut self, way: usize, theirs: Option<&str>) -> Result<String, Error> {
        self.way_mut(way)?.answer(theirs)
    }

    /// The present target of a foreign sender's rate control in direction `way`; of interest where no controller of
    /// Legato decides.
    pub fn aims_at(&self, way: usize, target: DataRate) {
        if let Some(thread) = self.ways.get(way).and_then(|way| way.thread.as_ref()) {
            // A call that is over ignores it.
            let _ = thread.send(Mail::Target(target));
        }
    }

    /// How far its first way is; over, once any is.
    pub fn progress(&self) -> Progress {
        let over = self.ways.iter().any(|way| way.progress().over);
        Progress { over, ..self.ways.first().map(Way::progress).unwrap_or_default() }
    }

    /// The session's time; before its media began, time since it was set up.
    pub fn now(&self) -> Timestamp {
        let first = self.ways.first().and_then(|way| way.thread.as_ref());
        first.map_or_else(|| self.opened.now(), CallThread::now)
    }

    /// End it early.
    pub fn stop(&self) {
        self.ways.iter().for_each(Way::stop);
    }

    /// Waits for the end and makes each direction's figures, with the other ends' reports of the frames that they
    /// showed. Also returns all pictures that Legato ends received, in decoding order, by the call's time.
    pub fn finish(self, shown: &[Vec<ShownFrame>]) -> Result<Vec<(Finished, Vec<SeenPicture>)>, Error> {
        if self.progress().over {
            let (opened, all_over) = (Clock::starting_now(), || self.ways.iter().all(|way| way.progress().over));
            while !all_over() && opened.now() < Timestamp::ZERO + TimeDelta::from_nanos(SETTLE.as_nanos() as i64) {
                thread::sleep(Duration::from_millis(10));
            }
            if !all_over() {
                self.stop();
            }
        }
        let shown = shown.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
        self.ways.into_iter().zip(shown).map(|(way, shown)| way.finish(shown)).collect()
    }

    fn way_mut(&mut self, way: usize) -> Result<&mut Way, Error> {
        let ways = self.ways.len();
        let absent = || Error::Connection(format!("way {way}: the session has {ways}, counted from 0"));
        self.ways.get_mut(way).ok_or_else(absent)
    }
}

impl Way {
    fn open(setup: WaySetup) -> Result<Self, Error> {
        let of = |signals, thread| Self { signals, thread, receiving: None };
        match setup {
            WaySetup::Sent(setup) => {
                let coding = setup.camera.coding();
                let (offer, thread) = sending::open(*setup, OtherEnd::Browser)?;
                Ok(of(Signals::Offer(offer, coding), Some(thread)))
            }
            WaySetup::Received(setup) => Ok(of(Signals::Answer(Mutex::new(Some(setup)), String::new()), None)),
            WaySetup::Own(setup) => Self::own(*setup),
            WaySetup::Relayed(setup) => {
                let (addresses, thread) = relay::open(setup)?;
                Ok(of(Signals::Pass(addresses), Some(thread)))
            }
        }
    }

    fn own(setup: PairSetup) -> Result<Self, Error> {
        let PairSetup { call, controller, playout, nack } = setup;
        let (duration, level) = (call.duration + LATEST_END, call.level.min(LogLevel::Series));
        let coding = call.camera.coding();
        let (offer, sending) = sending::open(call, OtherEnd::Ours { steers: controller.is_some() })?;
        let place = Place::alone(Path::new([]), Path::new([]))?;
        let setup = ReceivingSetup { coding, controller, place, duration, level, playout, nack, sent_width: None };
        let (answer, receiving) = receiving::open(setup, &offer)?;
        sending.send(Mail::Answer(Box::new(Answer::parse(&answer, coding)?)))?;
        Ok(Self { signals: Signals::Connected, thread: Some(sending), receiving: Some(receiving) })
    }

    fn offer(&mut self, theirs: Option<&str>) -> Result<String, Error> {
        let needed = || theirs.ok_or_else(|| Error::Sdp("the sending end's offer is needed".to_owned()));
        match &mut self.signals {
            Signals::Offer(offer, _) => Ok(offer.clone()),
            Signals::Answer(setup, answer) => {
                let setup = setup.get_mut().unwrap_or_else(PoisonError::into_inner).take();
                let setup = setup.ok_or_else(|| Error::Sdp("the offer was made before".to_owned()))?;
                let (made, thread) = receiving::open(*setup, needed()?)?;
                (*answer, self.thread) = (made, Some(thread));
                Ok(needed()?.to_owned())
            }
            Signals::Pass(addresses) => relay::pass_offer(needed()?, *addresses, self.thread.as_ref()),
            Signals::Connected => Ok(String::new()),
        }
    }

    fn answer(&mut self, theirs: Option<&str>) -> Result<String, Error> {
        let needed = || theirs.ok_or_else(|| Error::Sdp("the receiving end's answer is needed".to_owned()));
        match (&self.signals, &self.thread) {
            (Signals::Offer(_, coding), Some(thread)) => {
                thread.send(Mail::Answer(Box::new(Answer::parse(needed()?, *coding)?)))?;
                Ok(needed()?.to_owned())
            }
            (Signals::Answer(_, answer), _) => Ok(answer.clone()),
            (Signals::Pass(addresses), _) => relay::pass_answer(needed()?, *addresses),
            _ => Ok(String::new()),
        }
    }

    fn progress(&self) -> Progress {
        let progress = self.thread.as_ref().map(CallThread::progress).unwrap_or_default();
        let Some(receiving) = self.receiving.as_ref().map(CallThread::progress) else { return progress };
        Progress { over: progress.over || receiving.over, shown_frames: receiving.shown_frames, ..progress }
    }

    fn stop(&self) {
        if let Some(thread) = &self.thread {
            thread.stop();
        }
    }

    fn finish(self, shown: &[ShownFrame]) -> Result<(Finished, Vec<SeenPicture>), Error> {
        let Self { thread, receiving, .. } = self;
        let thread = thread.ok_or_else(|| Error::Connection("the other end made no offer".to_owned()))?;
        if receiving.as_ref().is_some_and(|receiving| receiving.progress().over) {
            // It has failed, and reports why.
            thread.stop();
        }
        let outcome = thread.join();
        let received = receiving.map(|receiving| {
            receiving.stop();
            receiving.join()
        });
        // If both fail, the one that could not reach the other says more.
        let mut outcome = outcome?;
        if let Some(received) = received.transpose()? {
            outcome.seen = received.seen.iter().map(|picture| picture.by(received.clock, outcome.clock)).collect();
            if let Some((coded, jobs)) = outcome.coded.as_mut().zip(received.received) {
                let numbered = |(time, bytes): (u32, Vec<u8>)| Some((*outcome.numbers.get(&time)?, bytes));
                coded.replace(jobs.into_iter().filter_map(numbered).collect());
            }
            for row in received.recorder.gauges() {
                let at = outcome.clock.at(received.clock.instant(row.at));
                outcome.recorder.record(at, &Record::Gauge { name: row.name, value: row.value });
            }
            let unreadable = outcome.report.unreadable + received.report.unreadable;
            outcome.report = CallReport { unreadable, ..outcome.report };
        }
        let ours = std::mem::take(&mut outcome.seen);
        let mut seen: Vec<_> = shown.iter().map(SeenPicture::of_browser).collect();
        seen.extend_from_slice(&ours);
        Ok((outcome.figures(&seen)?, ours))
    }
}
