//! Calls from our end to one of str0m, at a constant rate.

use legato_call::{FeedbackFormat, Pauses, Sender, SenderConfig};
use legato_control::{Construct, Context, NoAssets, RateLimits};
use legato_controllers::fixed::{Config, Fixed};
use legato_endpoint::{CallSetup, Camera, Clock, Coding, ParityRule, PictureSource, Place, Session, WaySetup};
use legato_media::Source;
use legato_media::pacer::PacerConfig;
use legato_media::packet::{RTX_SSRC, VIDEO_SSRC};
use legato_trace::LogLevel;
use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
use std::net::UdpSocket;
use std::time::Duration;
use str0m::change::SdpOffer;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig};

/// The other end: answers, takes packets, sends transport-wide feedback and requests missing packets.
pub struct Other {
    rtc: Rtc,
    /// Where it sends from.
    pub socket: UdpSocket,
    clock: Clock,
    /// Packets of video that came.
    pub video: u32,
    /// Of those sent again.
    pub repeated: u32,
    /// Last packets of their frames.
    pub markers: u32,
}

impl Other {
    /// Answers an offer.
    pub fn answering(offer: &str) -> (Self, String) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let clock = Clock::starting_now();
        let config =
            RtcConfig::new().clear_codecs().enable_h264(true).enable_vp8(true).enable_vp9(true).set_rtp_mode(true);
        let mut rtc = config.build(clock.instant(clock.now()));
        rtc.add_local_candidate(Candidate::host(socket.local_addr().unwrap(), "udp").unwrap());
        let answer = rtc.sdp_api().accept_offer(SdpOffer::from_sdp_string(offer).unwrap()).unwrap();
        (Self { rtc, socket, clock, video: 0, repeated: 0, markers: 0 }, answer.to_sdp_string())
    }

    /// Run until `over` returns true.
    pub fn run(&mut self, mut over: impl FnMut() -> bool) {
        let mut buffer = [0; 2_000];
        while !over() {
            match self.rtc.poll_output().unwrap() {
                Output::Transmit(transmit) => {
                    self.socket.send_to(&transmit.contents, transmit.destination).unwrap();
                }
                Output::Event(Event::RtpPacket(packet)) => {
                    self.video += u32::from(*packet.header.ssrc == VIDEO_SSRC);
                    self.repeated += u32::from(*packet.header.ssrc == RTX_SSRC);
                    self.markers += u32::from(packet.header.marker);
                }
                Output::Event(_) => {}
                Output::Timeout(at) => {
                    let now = self.clock.now();
                    let wait = at.saturating_duration_since(self.clock.instant(now));
                    let wait = wait.clamp(Duration::from_micros(100), Duration::from_millis(5));
                    self.socket.set_read_timeout(Some(wait)).unwrap();
                    let received = self.socket.recv_from(&mut buffer);
                    let now = self.clock.instant(self.clock.now());
                    let input = match &received {
                        Ok((length, from)) => {
                            let local = self.socket.local_addr().unwrap();
                            Input::Receive(now, Receive::new(Protocol::Udp, *from, local, &buffer[..*length]).unwrap())
                        }
                        Err(_) => Input::Timeout(now),
                    };
                    self.rtc.handle_input(input).unwrap();
                }
            }
        }
    }
}

/// A call of `source` in this coding at a constant rate.
pub fn constant_rate(
    (source, coding): (&PictureSource, Coding),
    place: Place,
    target: DataRate,
    duration: TimeDelta,
) -> CallSetup {
    let (camera, encoder) = Camera::open(source, coding).unwrap();
    let limits = RateLimits { min: DataRate::from_kbps(50), start: target, max: target };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    let config = SenderConfig {
        start: Timestamp::ZERO,
        pacer: PacerConfig::default(),
        pad_to_target: false,
        retransmit: true,
        max_pacer_queue: TimeDelta::from_secs(2),
        encoder_interval: TimeDelta::ZERO,
        audio: None,
        feedback: FeedbackFormat::Twcc,
        ecn: Ecn::NotEct,
    };
    let controller = Box::new(Fixed::new(Config::default(), context).unwrap());
    let sender = Sender::new(config, controller, encoder, Source::new(camera.content(), Timestamp::ZERO, 0));
    let (pauses, level, parity) = (Pauses::default(), LogLevel::Packets, ParityRule::default());
    CallSetup { sender, camera, place, duration, pauses, level, decide: None, parity }
}

/// A session of one way from our end to another's.
pub fn sent(setup: CallSetup) -> Session {
    Session::open([WaySetup::Sent(Box::new(setup))]).unwrap()
}

/// The other end of a session's only way, which has answered.
pub fn answered(call: &mut Session) -> Other {
    let (other, answer) = Other::answering(&call.offer(0, None).unwrap());
    call.answer(0, Some(&answer)).unwrap();
    other
}
