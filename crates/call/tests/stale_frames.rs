//! Frames that wait too long are dropped whole, and the next one is a key frame that takes over their numbers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_call::{FeedbackFormat, Sender, SenderConfig, SenderInput, SenderOutput};
use legato_control::{Decision, Event, Pacing, RateController, SendingWishes};
use legato_media::encoder::statistical::{Config, Statistical};
use legato_media::pacer::PacerConfig;
use legato_media::packet::MediaPacket;
use legato_media::{Content, FrameRate, Source};
use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Asks for 1 Mbit/s of video and lets a fifth of it out: frames of 4 kB each wait longer and longer.
#[derive(Clone)]
struct Slow(Option<TimeDelta>);

impl RateController for Slow {
    fn on_event(&mut self, _now: Timestamp, _event: &Event) {}
    fn decision(&self) -> Decision {
        let pacing = Pacing::at(DataRate::from_kbps(200));
        let sending = SendingWishes { drop_queued: self.0, ..SendingWishes::default() };
        Decision { pacing, sending, ..Decision::of_target(DataRate::from_mbps(1)) }
    }
}

/// Packets that leave within two seconds, and the frames that are key frames.
fn call(drop_after_ms: Option<i64>) -> (Vec<MediaPacket>, Vec<u64>) {
    let (start, rate) = (Timestamp::ZERO, FrameRate::THIRTY);
    let encoder = Statistical::new(Config::default(), rate, ChaCha8Rng::seed_from_u64(1));
    let config = SenderConfig {
        start,
        pacer: PacerConfig { queue_time_limit: TimeDelta::from_secs(60), ..PacerConfig::default() },
        pad_to_target: false,
        retransmit: true,
        max_pacer_queue: TimeDelta::from_secs(60),
        encoder_interval: TimeDelta::ZERO,
        audio: None,
        feedback: FeedbackFormat::default(),
        ecn: Ecn::NotEct,
    };
    let controller = Box::new(Slow(drop_after_ms.map(TimeDelta::from_millis)));
    let mut sender =
        Sender::new(config, controller, Box::new(encoder), Source::new(Content::unmeasured(rate), start, 0));
    let (mut now, mut sent, mut keyframes) = (start, Vec::new(), Vec::new());
    while now < Timestamp::from_secs(2) {
        sender.handle(now, SenderInput::Deadline, &mut ());
        now = loop {
            match sender.poll(&mut ()) {
                SenderOutput::Media(burst) => sent.extend(burst.iter()),
                SenderOutput::Coded(frame, _) if frame.keyframe => keyframes.push(frame.sequence),
                SenderOutput::Deadline(due) => break due,
                _ => {}
            }
        };
    }
    (sent, keyframes)
}

#[test]
fn no_frame_leaves_late_and_numbers_have_no_gap() {
    let (sent, keyframes) = call(Some(200));
    assert!(keyframes.len() > 3, "{keyframes:?}");
    for (place, packet) in sent.iter().enumerate() {
        assert_eq!(packet.rtp_seq as usize, place);
        if packet.index == 0 {
            let waited = packet.departure - packet.enqueued;
            // Until the next picture at most, which is when it would have been dropped.
            assert!(waited <= TimeDelta::from_millis(234), "frame {} waited {waited:?}", packet.frame);
        }
    }
    // Behind a frame that was dropped comes a key frame.
    for pair in sent.windows(2).filter(|pair| pair[1].frame > pair[0].frame + 1) {
        assert!(keyframes.contains(&u64::from(pair[1].frame)), "frame {}", pair[1].frame);
    }
    let frames: Vec<_> = sent.iter().filter(|packet| packet.index == 0).map(|packet| packet.frame).collect();
    assert!(frames.windows(2).any(|pair| pair[1] > pair[0] + 1), "some were dropped: {frames:?}");
}

#[test]
fn without_a_limit_every_frame_waits_its_turn() {
    let (sent, keyframes) = call(None);
    let frames: Vec<_> = sent.iter().filter(|packet| packet.index == 0).map(|packet| packet.frame).collect();
    assert!(frames.windows(2).all(|pair| pair[1] == pair[0] + 1), "{frames:?}");
    assert_eq!(keyframes, [0]);
    let last = sent.last().unwrap();
    assert!(last.departure - last.enqueued > TimeDelta::from_secs(1));
}
