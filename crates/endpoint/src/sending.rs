//! The sending end of a call, ours: camera, encoder, `call::Sender` and connection, put together and offered.

use crate::call_log::CallLog;
use crate::clock::Clock;
use crate::connection::other_end::OtherEnd;
use crate::connection::peer::Peer;
use crate::driver::Driver;
use crate::error::Error;
use crate::mail::{Mail, link_report};
use crate::network::ends::Ends;
use crate::network::link::Place;
use crate::outcome::{CallReport, Outcome};
use crate::pictures::camera::Camera;
use crate::real_network::RealNetwork;
use crate::thread::CallThread;
use legato_call::parity::ParityRule;
use legato_call::{Decide, Pauses, Sender, SendingHalf};
use legato_trace::LogLevel;
use legato_units::{TimeDelta, Timestamp};

/// The parts of a sending end.
pub struct CallSetup {
    /// Encoder and controller inside; its encoder is the camera's.
    pub sender: Sender,
    /// Pictures.
    pub camera: Camera,
    /// The network; forward leads from us to the other end.
    pub place: Place,
    /// The duration of the media.
    pub duration: TimeDelta,
    /// When media pauses and resumes.
    pub pauses: Pauses,
    /// The level of recording.
    pub level: LogLevel,
    /// What sets the controller's actions, where it is steered.
    pub decide: Option<Decide>,
    /// Parity towards a Legato end. Other ends take none, nor does a coding that shows frames in part.
    pub parity: ParityRule,
}

/// Make the offer, for another end: its text, and the thread that takes the answer.
pub(crate) fn open(setup: CallSetup, other: OtherEnd) -> Result<(String, CallThread), Error> {
    let CallSetup { sender, mut camera, place, duration, pauses, level, decide, parity } = setup;
    let takes_parity = other.takes_parity(camera.coding());
    if parity != ParityRule::Controller && !takes_parity {
        let why = match other {
            OtherEnd::Browser => "only a Legato end restores packets by it",
            OtherEnd::Ours { .. } => "frames are shown in part, and nothing is restored",
        };
        return Err(Error::Parity(why.to_owned()));
    }
    let (outside, local) = place.outside()?;
    let base = Clock::starting_now();
    let mut peer = Peer::new(local, base, camera.coding(), other)?;
    let offer = peer.offer();
    camera.leave_room(other.further_extension_bytes());
    let thread = CallThread::start(base, |mail, inbox, shared| {
        let (frames, camera) = {
            let mail = mail.clone();
            camera.start(move |coded| mail.send(Mail::Encoded(coded)).is_ok())?
        };
        let link = place.open(Ends::Endpoint(outside), link_report(mail))?;
        // The connection writes the reports.
        let sender = sender.without_reports();
        let sender = if takes_parity { sender.with_parity(parity) } else { sender };
        let sending = SendingHalf::new(sender, pauses, Timestamp::ZERO).steered_by(decide);
        let network = RealNetwork::new(peer, link, base, frames);
        let log = CallLog::new(duration, level, shared);
        let driver = Driver { sending, network, log, report: CallReport::default() };
        Ok(move || {
            let outcome = driver.run(&inbox);
            // The sender, and with it the camera's encoder, is gone by now.
            let coded = camera.join().ok().flatten();
            outcome.map(|outcome| Outcome { coded, ..outcome })
        })
    })?;
    Ok((offer, thread))
}
