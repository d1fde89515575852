//! A call between two others, over the emulated link: the reference that our own calls are measured against.
//!
//! Two sockets on the loopback interface stand between the two ends. Each end takes one of them for the other end,
//! because the session descriptions pass through here and come out with these addresses in place of the ends' own.
//! Nothing is decrypted: ICE, DTLS and media are between the two, and what is recorded of packets is what their
//! clear headers tell. So there are no feedback, frame or encoder records, frames count as captured when their
//! first packet leaves, and what the sender aims at is what its browser says.

use crate::call::{CallReport, CallThread, Outcome, Progress, ShownFrame, bind};
use crate::clock::{Clock, wait};
use crate::error::Error;
use crate::link::{Datagram, Ends, Link};
use crate::mail::{Mail, Media};
use legato_control::{Decision, PacketKind};
use legato_path::Path;
use legato_trace::{LogLevel, PacketSent, Record, Recorder, SERIES_INTERVAL, Sample, Summary, TraceSink, TrainSent};
use legato_units::{DataRate, TimeDelta, Timestamp};
use legato_wire::rtp;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

/// What a call between others is made of.
pub struct RelaySetup {
    /// From the one who sends media to the one who shows them.
    pub forward: Path<Datagram>,
    /// And back.
    pub reverse: Path<Datagram>,
    /// How long it is recorded, from the first media packet.
    pub duration: TimeDelta,
    /// How much is recorded.
    pub level: LogLevel,
}

/// A call between others under way; it ends when this is dropped.
pub struct Relay {
    near: SocketAddr,
    far: SocketAddr,
    thread: CallThread,
}

/// Media come within this time, or not at all.
const BEGIN_TIMEOUT: TimeDelta = TimeDelta::from_secs(20);

impl Relay {
    /// Bind both sockets on the loopback interface.
    pub fn open(setup: RelaySetup) -> Result<Self, Error> {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ((near_socket, near), (far_socket, far)) = (bind(loopback)?, bind(loopback)?);
        let RelaySetup { forward, reverse, duration, level } = setup;
        let base = Clock::starting_now();
        let thread = CallThread::start(base, |mail, inbox, progress, shared_clock| {
            let link = Link::start(Ends::Others { near: near_socket, far: far_socket }, forward, reverse, mail)?;
            let mut recorder = Recorder::default();
            recorder.begin(level, Timestamp::ZERO);
            let end = Timestamp::ZERO + duration;
            let listener = Listener {
                link,
                clock: base,
                begun: false,
                end,
                recorder,
                progress,
                shared_clock,
                repair_types: Vec::new(),
                numbers: BTreeMap::new(),
                target: DataRate::ZERO,
                capacity: (0, 0),
                told: Progress::default(),
            };
            Ok(move || listener.run(&inbox))
        })?;
        Ok(Self { near, far, thread })
    }

    /// The sending end's offer, as the receiving end is to see it.
    pub fn pass_offer(&self, sdp: &str) -> Result<String, Error> {
        self.thread.send(Mail::RepairTypes(repair_types(sdp)))?;
        readdressed(sdp, self.far)
    }

    /// The receiving end's answer, as the sending end is to see it.
    pub fn pass_answer(&self, sdp: &str) -> Result<String, Error> {
        readdressed(sdp, self.near)
    }

    /// What the sending end aims at, from now on.
    pub fn aims_at(&self, target: DataRate) {
        // A call that is over has no use for it.
        let _ = self.thread.send(Mail::Target(target));
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

    /// Wait for the end and make the figures, with what the receiving end has told of the frames it showed.
    pub fn finish(self, shown: &[ShownFrame]) -> Result<(Summary, Recorder, CallReport), Error> {
        self.thread.finish(shown)
    }
}

/// `sdp` with one candidate at `address` in place of its own.
fn readdressed(sdp: &str, address: SocketAddr) -> Result<String, Error> {
    let (ip, port) = (address.ip(), address.port());
    let mut out = String::with_capacity(sdp.len());
    let mut written = false;
    for line in sdp.lines() {
        if line.starts_with("a=candidate:") {
            if !written {
                out.push_str(&format!("a=candidate:1 1 udp 2130706431 {ip} {port} typ host\r\n"));
                written = true;
            }
            continue;
        }
        out.push_str(line.trim_end());
        out.push_str("\r\n");
    }
    if !written {
        return Err(Error::Sdp(
            "a session description names no candidate: it was made before any was found".to_owned(),
        ));
    }
    Ok(out)
}

/// Payload types of retransmission.
fn repair_types(sdp: &str) -> Vec<u8> {
    let maps = sdp.lines().filter_map(|line| line.trim_end().strip_prefix("a=rtpmap:")?.split_once(' '));
    maps.filter(|(_, name)| name.starts_with("rtx/")).filter_map(|(number, _)| number.parse().ok()).collect()
}

/// The work of the call's thread.
struct Listener {
    link: Link,
    clock: Clock,
    begun: bool,
    end: Timestamp,
    recorder: Recorder,
    progress: Arc<Mutex<Progress>>,
    shared_clock: Arc<Mutex<Clock>>,
    repair_types: Vec<u8>,
    /// Frames by their RTP time, numbered as they come.
    numbers: BTreeMap<u32, u64>,
    target: DataRate,
    /// Sum and number of the link's capacities, one a bin of the series.
    capacity: (u128, u64),
    told: Progress,
}

impl Listener {
    fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        let mut stopped = false;
        while !stopped {
            let now = self.clock.now();
            if self.begun && now >= self.end {
                break;
            }
            if !self.begun && now - Timestamp::ZERO > BEGIN_TIMEOUT {
                let waited = BEGIN_TIMEOUT.as_millis() / 1_000;
                return Err(Error::Connection(format!("no media passed between the two ends in {waited} s")));
            }
            let due = if self.begun { self.end } else { Timestamp::ZERO + BEGIN_TIMEOUT };
            match inbox.recv_timeout(wait(now, due)) {
                Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) if !self.begun => {
                    return Err(Error::Connection("stopped before media began".to_owned()));
                }
                Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => stopped = true,
                Ok(mail) => self.take(mail),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Ok(self.finish(stopped))
    }

    fn take(&mut self, mail: Mail) {
        match mail {
            Mail::Begun(clock) => {
                (self.clock, self.begun) = (clock, true);
                *self.shared_clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
            }
            Mail::RepairTypes(types) => self.repair_types = types,
            Mail::Target(target) => {
                self.target = target;
                let now = self.clock.now();
                if self.begun {
                    self.recorder.record(now, &Record::Decision(&Decision::of_target(target)));
                }
            }
            Mail::Sent(media, header) => self.sent(media, &header),
            Mail::Arrived(Media { transport_seq, size_bytes, departure }, at) => {
                self.told.arrived_bytes += u64::from(size_bytes);
                self.recorder.record(at, &Record::PacketArrived { transport_seq, size_bytes, departure });
            }
            Mail::Dropped(Media { transport_seq, departure, .. }, reason) => {
                self.recorder.record(departure, &Record::PacketDropped { transport_seq, departure, reason });
            }
            Mail::FeedbackSent(at, size_bytes) => self.recorder.record(at, &Record::FeedbackSent { size_bytes }),
            Mail::Sample(sample) => {
                if let Some(capacity) = sample.capacity {
                    self.capacity.0 += u128::from(capacity.as_bps());
                    self.capacity.1 += 1;
                }
                let (capacity, queue) = (sample.capacity, sample.queue);
                if self.recorder.wants_samples() && sample.at <= self.end {
                    let sample_of = Sample { capacity, queue, target_bitrate: self.target, ..Sample::default() };
                    self.recorder.sample(sample.at, sample_of);
                }
            }
            Mail::Answer(_) | Mail::Datagram { .. } | Mail::Encoded(_) | Mail::Stop => {}
        }
        let time = self.clock.now() - Timestamp::ZERO;
        self.told = Progress { connected: self.begun, time, target: self.target, ..self.told };
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = self.told;
    }

    fn sent(&mut self, Media { transport_seq, size_bytes, departure }: Media, header: &rtp::Header) {
        let again = self.repair_types.contains(&header.payload_type);
        let kind = if again { PacketKind::Retransmission } else { PacketKind::Video };
        if !again && !self.numbers.contains_key(&header.timestamp) {
            let frame = self.numbers.len() as u64;
            self.numbers.insert(header.timestamp, frame);
            self.recorder.record(departure, &Record::FrameCaptured { frame });
        }
        self.told.sent_bytes += u64::from(size_bytes);
        let (ssrc, queued) = (header.ssrc, TimeDelta::ZERO);
        let packet = PacketSent { transport_seq, ssrc, kind, size_bytes, sequence: None, queued };
        self.recorder.record(departure, &Record::TrainSent(TrainSent::single(packet)));
    }

    fn finish(self, stopped: bool) -> Outcome {
        let Self { link, recorder, numbers, capacity: (sum, bins), .. } = self;
        let end = self.clock.now().min(self.end).max(Timestamp::ZERO + SERIES_INTERVAL);
        let lateness = link.finish().figures();
        Outcome {
            recorder,
            report: CallReport { lateness, stopped, end, ..CallReport::default() },
            capacity_mean: (bins > 0).then(|| DataRate::from_bps((sum / u128::from(bins)) as u64)),
            numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_out_with_the_relays_address_alone() {
        let sdp = "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96 97\r\na=candidate:1 1 udp 5 10.0.0.1 9 typ host\r\n\
                   a=candidate:2 1 tcp 5 10.0.0.1 9 typ host\r\na=rtpmap:97 rtx/90000\r\na=mid:0\r\n";
        let passed = readdressed(sdp, "127.0.0.1:4000".parse().unwrap()).unwrap();
        assert!(passed.contains("a=candidate:1 1 udp 2130706431 127.0.0.1 4000 typ host\r\n"));
        assert!(!passed.contains("10.0.0.1 9") && passed.ends_with("a=mid:0\r\n"));
        assert_eq!(repair_types(sdp), [97]);
        assert!(readdressed("v=0\r\n", "127.0.0.1:4000".parse().unwrap()).is_err());
    }
}
