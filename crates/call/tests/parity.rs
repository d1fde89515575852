//! Parity in the path of media: a controller that spends part of its target on FEC loses one packet
//! of every frame and no frame. Also the minimal driver of a call: no path, no clock.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_call::{
    FeedbackFormat, Receiver, ReceiverConfig, ReceiverInput, ReceiverOutput, Sender, SenderConfig, SenderInput,
    SenderOutput,
};
use legato_control::{Decision, Event, FeedbackRule, PacketKind, RateController, SendingWishes};
use legato_media::decoder::strict::Strict;
use legato_media::encoder::statistical::{Config, Statistical};
use legato_media::pacer::PacerConfig;
use legato_media::playout::PlayoutConfig;
use legato_media::{Content, FrameRate, Source};
use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

#[derive(Clone)]
struct WithParity(DataRate);

impl RateController for WithParity {
    fn on_event(&mut self, _now: Timestamp, _event: &Event) {}
    fn decision(&self) -> Decision {
        let sending = SendingWishes { fec_rate: self.0, ..SendingWishes::default() };
        Decision { sending, ..Decision::of_target(DataRate::from_mbps(1)) }
    }
}

/// Frames sent, frames shown and the share of parity bytes in a call of `frames` frames whose path takes no time
/// and loses the first packet of every frame but the first.
fn call(fec_kbps: u64, frames: u64) -> (u64, u64, f64) {
    let (start, rate) = (Timestamp::ZERO, FrameRate::THIRTY);
    let encoder = Statistical::new(Config::default(), rate, ChaCha8Rng::seed_from_u64(1));
    let source = Source::new(Content::unmeasured(rate), start, 0);
    let config = SenderConfig {
        start,
        pacer: PacerConfig::default(),
        pad_to_target: false,
        retransmit: false,
        max_pacer_queue: TimeDelta::from_secs(2),
        encoder_interval: TimeDelta::ZERO,
        audio: None,
        feedback: FeedbackFormat::default(),
        ecn: Ecn::NotEct,
    };
    let controller = Box::new(WithParity(DataRate::from_kbps(fec_kbps)));
    let mut sender = Sender::new(config, controller, Box::new(encoder), source);
    let config = ReceiverConfig {
        start,
        feedback_interval: (TimeDelta::from_millis(50), TimeDelta::from_millis(250)),
        feedback_rule: FeedbackRule::BitrateShare,
        report_interval: (TimeDelta::from_secs(1), TimeDelta::from_secs(1)),
        nack: false,
        nack_interval: None,
        partial_wait: TimeDelta::ZERO,
        playout: PlayoutConfig::default(),
        feedback: FeedbackFormat::default(),
    };
    let mut receiver = Receiver::new(config, None, Box::new(Strict::new()), ChaCha8Rng::seed_from_u64(1));
    let (mut now, mut coded, mut shown, mut parity, mut sent) = (start, 0, 0, 0, 0);
    while coded < frames {
        sender.handle(now, SenderInput::Deadline, &mut ());
        let due = loop {
            match sender.poll(&mut ()) {
                SenderOutput::Coded(frame, captured) => {
                    coded += 1;
                    receiver.handle(now, ReceiverInput::Coded(frame, captured), &mut ());
                }
                SenderOutput::Media(burst) => {
                    for packet in burst.iter() {
                        sent += u64::from(packet.size_bytes);
                        let is_parity = packet.kind == PacketKind::Fec;
                        parity += if is_parity { u64::from(packet.size_bytes) } else { 0 };
                        if is_parity || packet.index > 0 || packet.frame == 0 {
                            receiver.handle(now, ReceiverInput::Media(&packet), &mut ());
                        }
                    }
                }
                SenderOutput::Rtcp(_) => {}
                SenderOutput::Deadline(due) => break due,
            }
        };
        loop {
            match receiver.poll(&mut ()) {
                ReceiverOutput::Render(_) => shown += 1,
                ReceiverOutput::Send(_) => {}
                ReceiverOutput::Deadline(at) if at <= due => receiver.handle(at, ReceiverInput::Deadline, &mut ()),
                ReceiverOutput::Deadline(_) => break,
            }
        }
        now = due;
    }
    (coded, shown, parity as f64 / sent as f64)
}

#[test]
fn one_parity_packet_per_frame_repairs_one_loss() {
    let (coded, shown, parity_ratio) = call(400, 300);
    // The last frames are still held against jitter.
    assert!(coded - shown <= 3, "{shown} of {coded}");
    // 0.4 of 1 Mbit/s is promised; headers and whole packets take their part.
    assert!((0.3..=0.45).contains(&parity_ratio), "{parity_ratio}");
}

#[test]
fn without_parity_the_same_losses_show_nothing_after_the_first_frame() {
    let (_, shown, parity_ratio) = call(0, 300);
    assert_eq!((shown, parity_ratio), (1, 0.0));
}
