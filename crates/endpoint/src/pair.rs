//! A call between two ends of ours, in one process: what is left of a real call without a browser.
//!
//! ICE, DTLS, SRTP, sockets, encoder and decoder are those of any call of ours. The scenario's link stands in the
//! sending end, as towards a browser; the receiving end's own is a wire. Both ends share the system's clock, so what the
//! receiving end tells of pictures needs no estimate to be compared with when they were captured, and each picture's
//! number tells whether it is the one that it is taken for.

use crate::call::{Call, CallSetup, CallThread};
use crate::connection::other_end::OtherEnd;
use crate::error::Error;
use crate::network::link::Place;
use crate::outcome::{CallReport, Finished, Progress};
use crate::receiving::{ReceivingCall, ReceivingSetup};
use crate::viewing::seen::SeenPicture;
use legato_control::RateController;
use legato_media::playout::PlayoutConfig;
use legato_path::Path;
use legato_trace::{LogLevel, Record, TraceSink};
use legato_units::{TimeDelta, Timestamp};

/// What a call between two of ours is made of.
pub struct PairSetup {
    /// The sending end, and the link.
    pub call: CallSetup,
    /// Of the receiving end, where it has one: its target goes back as REMB.
    pub controller: Option<Box<dyn RateController>>,
    /// When pictures are shown.
    pub playout: PlayoutConfig,
    /// Ask for missing packets again.
    pub nack: bool,
}

/// A call between two of ours under way; it ends when this is dropped.
pub struct PairCall {
    sending: CallThread,
    receiving: CallThread,
}

/// The receiving end is told when to stop; this only ends one that was forgotten.
const LATEST_END: TimeDelta = TimeDelta::from_secs(60);

impl PairCall {
    /// Bind both sockets on the loopback interface and connect.
    pub fn open(setup: PairSetup) -> Result<Self, Error> {
        let PairSetup { call, controller, playout, nack } = setup;
        let (duration, level) = (call.duration + LATEST_END, call.level.min(LogLevel::Series));
        let codec = call.camera.codec();
        let sending = Call::open_to(call, OtherEnd::Ours { steers: controller.is_some() })?;
        let place = Place::alone(Path::new([]), Path::new([]))?;
        let receiving = ReceivingSetup { codec, controller, place, duration, level, playout, nack, sent_width: None };
        let receiving = ReceivingCall::open(receiving, sending.offer())?;
        sending.answer(receiving.answer())?;
        Ok(Self { sending: sending.into_thread(), receiving: receiving.into_thread() })
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let (sending, receiving) = (self.sending.progress(), self.receiving.progress());
        Progress { over: sending.over || receiving.over, shown_frames: receiving.shown_frames, ..sending }
    }

    /// The call's time; before its media began, time since it was set up.
    pub fn now(&self) -> Timestamp {
        self.sending.now()
    }

    /// End it before its time.
    pub fn stop(&self) {
        self.sending.stop();
    }

    /// Wait for the end and make the figures; and all pictures that came, in decoding order, by the call's time.
    pub fn finish(self) -> Result<(Finished, Vec<SeenPicture>), Error> {
        let Self { sending, receiving } = self;
        if receiving.progress().over {
            // It has failed, and says why.
            sending.stop();
        }
        let sent = sending.join();
        receiving.stop();
        let received = receiving.join();
        // Of two that fail the one that could not reach the other says more.
        let mut sent = sent?;
        let received = received?;
        let seen: Vec<_> = received.seen.iter().map(|picture| picture.by(received.clock, sent.clock)).collect();
        for row in received.recorder.gauges() {
            let at = sent.clock.at(received.clock.instant(row.at));
            sent.recorder.record(at, &Record::Gauge { name: row.name, value: row.value });
        }
        let unreadable = sent.report.unreadable + received.report.unreadable;
        sent.report = CallReport { unreadable, ..sent.report };
        Ok((sent.figures(&seen)?, seen))
    }
}
