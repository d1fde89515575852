//! The thread of a call whose sending end is ours: waits for mail or for the next deadline, and lets sender and
//! connection do what is due.
//!
//! It turns the sending half of the simulator's call (`legato_call::SendingHalf`) over a network of its own
//! (`real_network.rs`). What differs is what the wall clock asks for: it waits, in one place for all that may come, and
//! the encoder runs elsewhere, so nothing here takes long.

use crate::clock::{Clock, wait};
use crate::connection::peer::rtp_timestamp;
use crate::error::Error;
use crate::mail::Mail;
use crate::network::event::{LinkEvent, LinkSample, Media};
use crate::network::link::CapacityMean;
use crate::outcome::{CallReport, Outcome, Progress};
use crate::real_network::RealNetwork;
use legato_call::{NetworkSample, SendingHalf};
use legato_trace::{LogLevel, PacketArrived, Record, Recorder, SERIES_INTERVAL, TraceSink};
use legato_units::{Burst, TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

/// The thread's initial state.
pub(crate) struct Driver {
    pub sending: SendingHalf,
    pub network: RealNetwork,
    pub end: Timestamp,
    pub level: LogLevel,
    pub progress: Arc<Mutex<Progress>>,
    pub shared_clock: Arc<Mutex<Clock>>,
}

/// The call once media flow.
struct Running {
    driver: Driver,
    recorder: Recorder,
    report: CallReport,
    numbers: BTreeMap<u32, u64>,
    capacity: CapacityMean,
    arrived_bytes: u64,
}

/// The maximum time from the answer to media.
const CONNECT_TIMEOUT: TimeDelta = TimeDelta::from_secs(15);
/// The maximum wait for mail.
const MOST_WAIT: TimeDelta = TimeDelta::from_millis(200);

impl Driver {
    /// Connect, send, and report the result.
    pub fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        let connecting = self.connect(inbox)?;
        *self.shared_clock.lock().unwrap_or_else(PoisonError::into_inner) = self.network.clock;
        let mut recorder = Recorder::default();
        recorder.begin(self.level, Timestamp::ZERO);
        let running = Running {
            driver: self,
            recorder,
            report: CallReport { connecting, ..CallReport::default() },
            numbers: BTreeMap::new(),
            capacity: CapacityMean::default(),
            arrived_bytes: 0,
        };
        running.run(inbox)
    }

    /// Until the connection stands and the network begins, whose clock is the call's from then on; returns how
    /// long the connection took from the answer.
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
                self.progress.lock().unwrap_or_else(PoisonError::into_inner).reached = true;
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
}

impl Running {
    fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        loop {
            let now = self.driver.network.clock.now();
            if now >= self.driver.end {
                return Ok(self.finish(now));
            }
            self.turn(now)?;
            self.tell_progress(now);
            let Driver { sending, network, end, .. } = &self.driver;
            let due = sending.due().min(network.due).min(*end);
            let mail = inbox.recv_timeout(wait(network.clock.now(), due));
            let mut next = mail.map_err(|error| error == RecvTimeoutError::Disconnected);
            loop {
                match next {
                    Ok(Mail::Stop) | Err(true) => {
                        self.report.stopped = true;
                        return Ok(self.finish(now));
                    }
                    Ok(mail) => self.take(mail)?,
                    Err(false) => break,
                }
                next = inbox.try_recv().map_err(|_| false);
            }
        }
    }

    /// Let sender and connection do what is due.
    fn turn(&mut self, now: Timestamp) -> Result<(), Error> {
        let Driver { sending, network, .. } = &mut self.driver;
        sending.advance(now, network, &mut self.recorder);
        if network.due <= now {
            network.tick(now)?;
        }
        network.check(now)
    }

    fn take(&mut self, mail: Mail) -> Result<(), Error> {
        let Driver { sending, network, end, .. } = &mut self.driver;
        let now = network.clock.now();
        match mail {
            Mail::Encoded(coded) => {
                let coded = coded.map_err(Error::Encoder)?;
                self.numbers.insert(rtp_timestamp(coded.1), coded.0.frame);
                sending.take_coded(now, coded, network, &mut self.recorder);
            }
            Mail::Link(LinkEvent::Datagram { bytes, peer, entered, .. }) => {
                network.receive(now, (&bytes, peer, entered), &mut self.recorder)?;
                return self.turn(now);
            }
            Mail::Link(LinkEvent::Arrived(Media { transport_seq, size_bytes, departure }, at)) => {
                self.arrived_bytes += u64::from(size_bytes);
                let burst = Burst::single(PacketArrived { transport_seq, size_bytes, departure });
                self.recorder.record(at, &Record::PacketsArrived { burst, arrivals: &[at] });
            }
            Mail::Link(LinkEvent::Dropped(Media { transport_seq, departure, .. }, reason)) => {
                self.recorder.record(now, &Record::PacketDropped { transport_seq, departure, reason });
            }
            Mail::Link(LinkEvent::Sample(LinkSample { at, capacity, queue })) => {
                self.capacity.take(capacity);
                if self.recorder.wants_samples() && at <= *end {
                    sending.sample(at, NetworkSample { capacity, queue }, &mut self.recorder);
                }
            }
            // The rest belongs to calls with other senders of media.
            _ => {}
        }
        Ok(())
    }

    fn tell_progress(&self, now: Timestamp) {
        let progress = Progress {
            reached: true,
            connected: true,
            over: false,
            time: now - Timestamp::ZERO,
            target: self.driver.sending.sender().decision().target_bitrate,
            sent_bytes: self.driver.network.sent_bytes,
            arrived_bytes: self.arrived_bytes,
            shown_frames: 0,
        };
        *self.driver.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    fn finish(self, now: Timestamp) -> Outcome {
        let Self { driver, recorder, report, numbers, capacity, .. } = self;
        let end = now.min(driver.end).max(Timestamp::ZERO + SERIES_INTERVAL);
        let RealNetwork { peer, link, clock, misnumbered, .. } = driver.network;
        let (odd_sizes, unreadable) = (peer.odd_sizes, peer.unreadable);
        let lateness = link.finish().figures();
        Outcome {
            recorder,
            report: CallReport { lateness, odd_sizes, misnumbered, unreadable, end, ..report },
            capacity_mean: capacity.mean(),
            clock,
            numbers,
            coded: None,
            seen: Vec::new(),
        }
    }
}
