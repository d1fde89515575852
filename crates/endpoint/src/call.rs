//! A call, seen from outside: set up, offered, answered, watched, stopped, and turned into figures.

use crate::clock::Clock;
use crate::codec::Codec;
use crate::connection::peer::{OtherEnd, Peer};
use crate::connection::sdp::Answer;
use crate::driver::Driver;
use crate::error::Error;
use crate::mail::Mail;
use crate::network::ends::Ends;
use crate::network::lateness::LatenessFigures;
use crate::network::link::Place;
use crate::pictures::camera::Camera;
use crate::viewing::viewed::{CodedCall, Viewed};
use crate::viewing::viewer::SeenPicture;
use legato_call::Sender;
use legato_media::Quality;
use legato_trace::{CallFacts, FrameDecoded, LogLevel, Record, Recorder, Summary, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::collections::BTreeMap;
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

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The connection stands; media flow once those of every call on the network can.
    pub reached: bool,
    /// Media flow.
    pub connected: bool,
    /// The thread is done: [`Call::finish`] does not wait.
    pub over: bool,
    /// Of the call's media.
    pub time: TimeDelta,
    /// The controller's.
    pub target: DataRate,
    /// Bytes that left the pacer.
    pub sent_bytes: u64,
    /// Bytes that came out of the forward path.
    pub arrived_bytes: u64,
    /// Pictures shown, where the receiving end is ours.
    pub shown_frames: u64,
}

/// What the machine and the connection did, beside the summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallReport {
    /// How late the emulated link was.
    pub lateness: LatenessFigures,
    /// From the answer to the first media.
    pub connecting: TimeDelta,
    /// Packets whose size on the wire was not what the sender counted.
    pub odd_sizes: u64,
    /// Packets that str0m numbered otherwise than the sender: none, or feedback means nothing.
    pub misnumbered: u64,
    /// Datagrams that came to the socket and were no part of the call.
    pub unreadable: u64,
    /// The call was stopped before its time.
    pub stopped: bool,
    /// What was shown was compared with what was captured.
    pub compared: bool,
    /// Pictures that came with another number in them than that of the frame they were sent as: none.
    pub misread: u64,
    /// When media ended.
    pub end: Timestamp,
    /// Why there is no VMAF, where it was wanted.
    pub vmaf_problem: Option<String>,
}

/// A frame as the other end tells of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownFrame {
    /// Of its RTP packets.
    pub rtp_timestamp: u32,
    /// When its last packet came, by the call's clock.
    pub received: Option<Timestamp>,
    /// When it was put on the screen, by the call's clock.
    pub shown: Timestamp,
}

/// What the driver leaves behind.
pub(crate) struct Outcome {
    pub recorder: Recorder,
    pub report: CallReport,
    pub capacity_mean: Option<DataRate>,
    /// It counts since the call's media began.
    pub clock: Clock,
    /// Captured frames by the RTP time of their packets.
    pub numbers: BTreeMap<u32, u64>,
    /// Where the pictures were ours.
    pub coded: Option<CodedCall>,
    /// Pictures that our own receiving end had, in decoding order.
    pub seen: Vec<SeenPicture>,
}

/// Figures of a call, what they are of, and how the machine did.
pub type Finished = (Summary, Recorder, CallReport);

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
            let (frames, camera) = camera.start(mail.clone())?;
            let link = place.open(Ends::Endpoint(socket), mail)?;
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

impl Outcome {
    /// Make the figures, with what the other end has told of the pictures it had.
    pub fn figures(self, seen: &[SeenPicture]) -> Result<Finished, Error> {
        let Self { mut recorder, mut report, capacity_mean, numbers, coded, .. } = self;
        let seen = known(seen, &numbers, report.end);
        let frames = seen.iter().filter(|(_, picture)| picture.shown.is_some()).map(|&(number, _)| number).collect();
        if coded.is_some() {
            let stamp = |picture: &SeenPicture| picture.image.and_then(|image| image.stamp);
            let misread =
                |&(number, picture): &(u64, SeenPicture)| stamp(&picture).is_some_and(|stamp| stamp != number as u32);
            report.misread = seen.iter().filter(|told| misread(told)).count() as u64;
        }
        // A call that was made is not lost for a clip that can no longer be read, or for an ffmpeg that fails.
        let wants_vmaf = coded.as_ref().is_some_and(CodedCall::wants_vmaf);
        let viewed = match coded.map(|coded| coded.viewed(recorder.frames().len() as u64, &frames)) {
            Some(Err(Error::Interrupted)) => return Err(Error::Interrupted),
            viewed => viewed.and_then(|viewed| viewed.ok().flatten()),
        };
        let (qualities, vmaf) = viewed.map_or((None, None), |Viewed { qualities, vmaf }| (Some(qualities), vmaf));
        record_seen(&mut recorder, &seen, qualities.as_deref());
        match vmaf {
            Some(Ok(scores)) => recorder.judged(scores),
            Some(Err(error)) => report.vmaf_problem = Some(error.to_string()),
            None if wants_vmaf => report.vmaf_problem = Some("its pictures could not be compared".to_owned()),
            None => {}
        }
        let aged = qualities.as_deref().map(|qualities| {
            move |_: u64, quality: (f32, f32), frame: u64| quality_of(qualities, frame).unwrap_or(quality)
        });
        let facts = CallFacts { end: report.end, capacity_mean, aged: aged.as_ref().map(|aged| aged as _) };
        let summary = recorder.finish(facts);
        Ok((summary, recorder, CallReport { compared: qualities.is_some(), ..report }))
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

/// What came before `end` of the frames we know, by their numbers; what was shown later was not shown.
fn known(seen: &[SeenPicture], numbers: &BTreeMap<u32, u64>, end: Timestamp) -> Vec<(u64, SeenPicture)> {
    let within = seen.iter().filter(|picture| picture.decodable_at < end);
    let shown = |picture: &SeenPicture| picture.shown.filter(|&at| at < end);
    let told = |picture| SeenPicture { shown: shown(picture), ..*picture };
    within.filter_map(|picture| Some((*numbers.get(&picture.rtp_timestamp)?, told(picture)))).collect()
}

/// SSIM and PSNR of what stood on the screen in place of a frame.
fn quality_of(qualities: &[Option<Quality>], frame: u64) -> Option<(f32, f32)> {
    let Quality { ssim_db, psnr_db } = (*qualities.get(frame as usize)?)?;
    Some((ssim_db, psnr_db))
}

/// Record what became of frames, and then the pictures in the order they were shown.
fn record_seen(recorder: &mut Recorder, seen: &[(u64, SeenPicture)], qualities: Option<&[Option<Quality>]>) {
    for &(frame, picture) in seen {
        let quality_db = qualities.and_then(|qualities| quality_of(qualities, frame));
        let SeenPicture { lost_packets, decodable_at: at, .. } = picture;
        let decodable = picture.decoded;
        recorder.record(at, &Record::FrameDecoded(FrameDecoded { frame, lost_packets, decodable, quality_db }));
    }
    let mut shown: Vec<_> = seen.iter().filter_map(|&(frame, picture)| Some((picture.shown?, frame))).collect();
    shown.sort_unstable();
    for (at, frame) in shown {
        recorder.record(at, &Record::FrameRendered { frame });
    }
}
