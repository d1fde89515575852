//! The thread of a call whose sending end is Legato's: waits for mail or for the next deadline, and lets sender and
//! connection process due events.
//!
//! It turns the sending half of the simulator's call (`legato_call::SendingHalf`) over a real network
//! (`real_network.rs`). What differs is what the wall clock asks for: it waits, in one place for all that may come, and
//! the encoder runs elsewhere, so nothing here takes long.

use crate::call_log::CallLog;
use crate::clock::{Clock, wait};
use crate::connection::peer::rtp_timestamp;
use crate::error::Error;
use crate::mail::Mail;
use crate::network::event::{LinkEvent, LinkSample};
use crate::outcome::{CallReport, Outcome};
use crate::real_network::RealNetwork;
use legato_call::{NetworkSample, SendingHalf};
use legato_units::{TimeDelta, Timestamp};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// The thread's state.
pub(crate) struct Driver {
    pub sending: SendingHalf,
    pub network: RealNetwork,
    pub log: CallLog,
    pub report: CallReport,
}

/// The maximum time from the answer to media.
const CONNECT_TIMEOUT: TimeDelta = TimeDelta::from_secs(15);
/// The maximum wait for mail.
const MOST_WAIT: TimeDelta = TimeDelta::from_millis(200);

impl Driver {
    /// Connect, send, and report the result.
    pub fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        self.report.connecting = self.connect(inbox)?;
        loop {
            let now = self.network.clock.now();
            if now >= self.log.end {
                return Ok(self.finish());
            }
            self.turn(now)?;
            self.log.progress.target = self.sending.sender().decision().target_bitrate;
            self.log.progress.sent_bytes = self.network.sent_bytes;
            self.log.share(now);
            let due = self.sending.due().min(self.network.due).min(self.log.end);
            let mail = inbox.recv_timeout(wait(self.network.clock.now(), due));
            let mut next = mail.map_err(|error| error == RecvTimeoutError::Disconnected);
            loop {
                match next {
                    Ok(Mail::Stop) | Err(true) => {
                        self.report.stopped = true;
                        return Ok(self.finish());
                    }
                    Ok(mail) => self.take(mail)?,
                    Err(false) => break,
                }
                next = inbox.try_recv().map_err(|_| false);
            }
        }
    }

    /// Runs until the connection is up and the network begins, whose clock is the call's from then on. Returns how long
    /// the connection took from the answer.
    fn connect(&mut self, inbox: &Receiver<Mail>) -> Result<TimeDelta, Error> {
        let (mut answered, mut reached) = (None, None);
        let network = &mut self.network;
        loop {
            let now = network.clock.now();
            if let Some(since) = answered
                && now - since > CONNECT_TIMEOUT
            {
                let waited = CONNECT_TIMEOUT.as_millis() / 1_000;
                let end = if reached.is_none() { "the other end" } else { "the other way of the call" };
                return Err(Error::Connection(format!("{end} could not be reached in {waited} s")));
            }
            network.tick(now)?;
            if network.connected && reached.is_none() {
                reached = Some(answered.map_or(TimeDelta::ZERO, |since| now - since));
                self.log.progress.reached = true;
                self.log.share(Timestamp::ZERO);
                network.link.ready(Clock::starting_now());
            }
            let mail = inbox.recv_timeout(wait(now, network.due.min(now + MOST_WAIT)));
            let now = network.clock.now();
            match mail {
                Ok(Mail::Answer(answer)) => {
                    network.peer.answer(&answer)?;
                    answered = Some(now);
                }
                Ok(Mail::Link(LinkEvent::Begun(clock))) => {
                    network.begin(clock);
                    self.log.begin(clock);
                    return Ok(reached.unwrap_or(TimeDelta::ZERO));
                }
                Ok(Mail::Link(LinkEvent::Datagram { bytes, peer, entered, .. })) => {
                    network.receive(now, (&bytes, peer, entered), &mut ())?;
                }
                Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Connection("stopped before media began".to_owned()));
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Lets sender and connection process due events.
    fn turn(&mut self, now: Timestamp) -> Result<(), Error> {
        self.sending.advance(now, &mut self.network, &mut self.log.recorder);
        if self.network.due <= now {
            self.network.tick(now)?;
        }
        self.network.check(now)
    }

    fn take(&mut self, mail: Mail) -> Result<(), Error> {
        let now = self.network.clock.now();
        match mail {
            Mail::Encoded(coded) => {
                let coded = coded.map_err(Error::Encoder)?;
                self.log.numbers.insert(rtp_timestamp(coded.1), coded.0.frame);
                self.sending.take_coded(now, coded, &mut self.network, &mut self.log.recorder);
            }
            Mail::Link(LinkEvent::Datagram { bytes, peer, entered, .. }) => {
                self.network.receive(now, (&bytes, peer, entered), &mut self.log.recorder)?;
                return self.turn(now);
            }
            Mail::Link(LinkEvent::Sample(sample)) => {
                let wanted = self.log.count(&sample);
                if wanted {
                    let LinkSample { at, capacity, queue } = sample;
                    self.sending.sample(at, NetworkSample { capacity, queue }, &mut self.log.recorder);
                }
            }
            Mail::Link(event) => self.log.take(&event),
            // The rest belongs to calls with other senders of media.
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Outcome {
        let RealNetwork { peer, link, clock, misnumbered, .. } = self.network;
        let (odd_sizes, unreadable) = (peer.odd_sizes, peer.unreadable);
        self.log.finish(clock, link, CallReport { odd_sizes, misnumbered, unreadable, ..self.report })
    }
}
