//! Retransmissions that are the last to come in time are sent twice, the second behind the next frame.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_call::{FeedbackFormat, Sender, SenderConfig, SenderInput, SenderOutput};
use legato_control::{Decision, Event, PacketKind, RateController, SendingWishes};
use legato_media::encoder::statistical::{Config, Statistical};
use legato_media::pacer::PacerConfig;
use legato_media::packet::VIDEO_SSRC;
use legato_media::{Content, FrameRate, Source};
use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
use legato_wire::rtcp;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

#[derive(Clone)]
struct WithDeadline(Option<TimeDelta>);

impl RateController for WithDeadline {
    fn on_event(&mut self, _now: Timestamp, _event: &Event) {}
    fn decision(&self) -> Decision {
        let sending = SendingWishes { repair_deadline: self.0, ..SendingWishes::default() };
        Decision { sending, ..Decision::of_target(DataRate::from_mbps(1)) }
    }
}

/// The packets that leave from a request for the first packet, 100 ms after the start, until 200 ms: whether each is a
/// retransmission. There is no round-trip sample, so another request would be as old as the first.
fn sent_after_a_request(deadline_ms: Option<i64>) -> Vec<bool> {
    let (start, rate) = (Timestamp::ZERO, FrameRate::THIRTY);
    let encoder = Statistical::new(Config::default(), rate, ChaCha8Rng::seed_from_u64(1));
    let config = SenderConfig {
        start,
        pacer: PacerConfig::default(),
        pad_to_target: false,
        retransmit: true,
        max_pacer_queue: TimeDelta::from_secs(2),
        encoder_interval: TimeDelta::ZERO,
        audio: None,
        feedback: FeedbackFormat::default(),
        ecn: Ecn::NotEct,
    };
    let controller = Box::new(WithDeadline(deadline_ms.map(TimeDelta::from_millis)));
    let mut sender =
        Sender::new(config, controller, Box::new(encoder), Source::new(Content::unmeasured(rate), start, 0));
    let requested = Timestamp::from_millis(100);
    let mut request = Vec::new();
    rtcp::write_nack(&mut request, VIDEO_SSRC, VIDEO_SSRC, [0]);
    let (mut now, mut sent, mut asked) = (start, Vec::new(), false);
    while now < Timestamp::from_millis(200) {
        if now >= requested && !asked {
            asked = true;
            sender.handle(now, SenderInput::Rtcp(&request), &mut ());
        } else {
            sender.handle(now, SenderInput::Deadline, &mut ());
        }
        now = loop {
            match sender.poll(&mut ()) {
                SenderOutput::Media(burst) if asked => {
                    sent.extend(burst.iter().map(|packet| packet.kind == PacketKind::Retransmission));
                }
                SenderOutput::Deadline(due) if asked => break due,
                SenderOutput::Deadline(due) => break due.min(requested),
                _ => {}
            }
        };
    }
    sent
}

#[test]
fn the_last_repair_in_time_is_sent_again_behind_the_next_frame() {
    let sent = sent_after_a_request(Some(90));
    let places: Vec<_> = (0..sent.len()).filter(|&place| sent[place]).collect();
    assert_eq!(places.len(), 2, "{sent:?}");
    assert!(places[0] == 0 && places[1] > 1, "a frame is between them: {sent:?}");
}

#[test]
fn a_repair_that_may_be_requested_again_is_sent_once() {
    for deadline_ms in [None, Some(400)] {
        let sent = sent_after_a_request(deadline_ms);
        assert_eq!(sent.iter().filter(|&&repair| repair).count(), 1, "{deadline_ms:?}: {sent:?}");
    }
}
