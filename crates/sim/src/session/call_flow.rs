//! A call among other flows. Alone on its link it comes out the same, byte for byte, as one that has its network to
//! itself: a test holds the two together.

use super::call_lanes::{CallLanes, OnLanes};
use super::call_log::CallLog;
use super::flow::Flow;
use super::lane::Network;
use super::parcel::Parcel;
use crate::route::Route;
use crate::truth::TruthLog;
use crate::video::{LoadedClip, aged_picture};
use legato_call::{Call, Dropped, Turn};
use legato_path::{DropNotice, Packet};
use legato_trace::{CallFacts, LogLevel, Record, Recorder, Summary, TraceSink};
use legato_units::Timestamp;

/// The parts of a call before it runs.
pub struct CallSetup {
    /// Its two ends.
    pub call: Call,
    /// The ways between them.
    pub lanes: CallLanes,
    /// The capacities on the way of its media, until the end needs them.
    pub route: Option<Route>,
    /// It begins …
    pub start: Timestamp,
    /// … and its end.
    pub stop: Timestamp,
    /// The clip it shows.
    pub clip: LoadedClip,
    /// The picture it begins with.
    pub first_picture: u32,
}

/// A call while it runs.
pub struct CallFlow {
    setup: CallSetup,
    log: CallLog,
    begun: bool,
    summary: Option<Summary>,
}

impl CallFlow {
    /// A call that writes into `recorder`, which starts over.
    pub fn new(setup: CallSetup, level: LogLevel, mut recorder: Recorder) -> Self {
        recorder.begin(level, setup.start);
        Self { log: CallLog { recorder, truth: None }, begun: false, summary: None, setup }
    }

    /// The call's figures and tables, once it has ended.
    pub fn finished(self) -> (Option<Summary>, Recorder) {
        (self.summary, self.log.recorder)
    }

    /// Gather what really happens from now on.
    pub fn observe_truth(&mut self) {
        self.log.truth = Some(TruthLog::new(self.setup.start));
    }

    /// What really happened, if it is gathered.
    pub fn truth(&mut self) -> Option<&mut TruthLog> {
        self.log.truth.as_mut()
    }

    /// The call itself.
    pub fn call(&mut self) -> &mut Call {
        &mut self.setup.call
    }

    /// When it ends.
    pub fn stop(&self) -> Timestamp {
        self.setup.stop
    }

    fn finish(&mut self, network: &mut Network) {
        let Self { setup: CallSetup { call, lanes, route, start, stop, clip, first_picture }, log, .. } = self;
        let (start, end) = (*start, *stop);
        call.finish(end, &mut OnLanes { lanes, network }, log);
        let link = route.take().and_then(|route| route.facts(start, end));
        let aged = aged_picture(clip, *first_picture);
        self.summary = Some(log.recorder.finish(CallFacts { end, link, aged: aged.as_deref() }));
    }
}

impl Flow for CallFlow {
    fn due(&self) -> Timestamp {
        if self.summary.is_some() {
            return Timestamp::MAX;
        }
        let lanes = &self.setup.lanes;
        match self.setup.call.due(|at| lanes.next_arrival(at)) {
            Turn::At(at) => at.min(self.setup.stop),
            Turn::Held(at) if at < self.setup.stop => Timestamp::MAX,
            Turn::Held(_) => self.setup.stop,
        }
    }

    fn turn(&mut self, now: Timestamp, network: &mut Network) {
        if now >= self.setup.stop {
            return self.finish(network);
        }
        let Self { setup: CallSetup { call, lanes, start, .. }, log, begun, .. } = self;
        let mut network = OnLanes { lanes, network };
        if !std::mem::replace(begun, true) {
            call.begin(*start, &mut network, log);
        }
        call.turn(now, &mut network, log);
    }

    fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp {
        self.setup.lanes.enter(at, packet)
    }

    fn dropped(&mut self, notice: DropNotice<Parcel>) {
        let Parcel::Media(ticket) = notice.packet.payload else { return };
        let lost = self.setup.lanes.lose(ticket, notice.reason);
        // A link may lose what a call sent shortly before it ended.
        if let (Some(Dropped { transport_seq, departure, reason }), None) = (lost, &self.summary) {
            self.log.record(notice.at, &Record::PacketDropped { transport_seq, departure, reason });
        }
    }
}
