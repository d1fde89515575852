//! A pause of the media (RFC 8867 section 5.8): camera and microphone stop, and with them padding and probes, which
//! only replace media. Packets in the pacer still leave, lost packets are still repeated, and RTCP goes on, so that
//! round-trip samples continue. The controller gets no event: as in a real call it sees that nothing is sent.

use super::Sender;
use legato_control::{Decision, Pacing};
use legato_media::pacer::Pacer;
use legato_trace::{Record, TraceSink};
use legato_units::DataRate;

impl Sender {
    /// Stop or resume. After a pause the next picture is taken at once and coded as a key frame: a
    /// viewer that joins or returns meanwhile has no reference.
    pub(super) fn pause(&mut self, paused: bool, sink: &mut impl TraceSink) {
        if paused == self.paused {
            return;
        }
        self.paused = paused;
        sink.record(self.now, &Record::Paused(paused));
        if paused {
            self.source.pause();
            self.audio.pause();
            self.pacer.forget_probes();
        } else {
            self.source.resume(self.now);
            self.audio.resume(self.now);
            self.keyframes.require(self.now);
        }
        self.pacer.obey(self.now, &self.paced(), self.history.in_flight());
    }

    /// A circuit breaker lets media flow again: what waited since is too old to be sent, and the picture begins anew.
    pub(super) fn begin_again(&mut self) {
        self.pacer = Pacer::new(self.config.pacer, self.now);
        self.keyframes.require(self.now);
    }

    /// The decision as the pacer obeys it.
    pub(super) fn paced(&self) -> Decision {
        let padding_rate = match (self.paused, self.config.pad_to_target) {
            (true, _) => DataRate::ZERO,
            (false, true) => self.allowed(),
            (false, false) => self.decision.pacing.padding_rate,
        };
        Decision { pacing: Pacing { padding_rate, ..self.decision.pacing }, ..self.decision }
    }

    /// What the encoder may use of the target: no more than frames of the size that the controller allows.
    fn allowed(&self) -> DataRate {
        let Decision { target_bitrate, encoder, .. } = &self.decision;
        match encoder.max_frame_size {
            Some(size) => (size / self.source.content().frame_rate.interval()).min(*target_bitrate),
            None => *target_bitrate,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AudioConfig, FeedbackFormat, Sender, SenderConfig, SenderInput, SenderOutput};
    use legato_control::{Decision, Event, Pacing, PacketKind, ProbeCluster, RateController};
    use legato_media::encoder::statistical::{Config, Statistical};
    use legato_media::pacer::PacerConfig;
    use legato_media::{Content, FrameRate, Source};
    use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Pads up to 1 Mbit/s and probes every second.
    #[derive(Clone)]
    struct Pushy {
        next_probe: Timestamp,
        due: bool,
    }

    impl RateController for Pushy {
        fn on_event(&mut self, now: Timestamp, event: &Event) {
            if matches!(event, Event::Deadline) && now >= self.next_probe {
                (self.next_probe, self.due) = (now + TimeDelta::from_secs(1), true);
            }
        }
        fn decision(&self) -> Decision {
            let target = DataRate::from_kbps(500);
            let pacing = Pacing { padding_rate: DataRate::from_mbps(1), ..Pacing::of_target(target) };
            Decision { pacing, ..Decision::of_target(target) }
        }
        fn next_deadline(&self) -> Option<Timestamp> {
            Some(self.next_probe)
        }
        fn poll_probe(&mut self) -> Option<ProbeCluster> {
            std::mem::take(&mut self.due).then_some(ProbeCluster {
                id: 1,
                target_rate: DataRate::from_mbps(2),
                min_duration: TimeDelta::from_millis(15),
                min_packets: 5,
                min_delta: TimeDelta::from_millis(2),
            })
        }
    }

    /// The departures with their times: `'k'` a key frame coded, `'f'` another frame, `'a'` audio, `'v'` video,
    /// `'p'` padding or a probe's, `'r'` RTCP. Paused from `pause_ms` to `resume_ms` of 4 s.
    fn call(pause_ms: i64, resume_ms: i64) -> Vec<(i64, char)> {
        let (start, rate) = (Timestamp::ZERO, FrameRate::THIRTY);
        let encoder = Statistical::new(Config::default(), rate, ChaCha8Rng::seed_from_u64(1));
        let config = SenderConfig {
            start,
            pacer: PacerConfig::default(),
            pad_to_target: false,
            retransmit: true,
            max_pacer_queue: TimeDelta::from_secs(2),
            encoder_interval: TimeDelta::ZERO,
            audio: Some(AudioConfig { bitrate: DataRate::from_kbps(20), interval: TimeDelta::from_millis(20) }),
            feedback: FeedbackFormat::default(),
            ecn: Ecn::NotEct,
        };
        let controller = Pushy { next_probe: start, due: false };
        let source = Source::new(Content::unmeasured(rate), start, 0);
        let mut sender = Sender::new(config, Box::new(controller), Box::new(encoder), source);
        let mut turns = [(pause_ms, true), (resume_ms, false)].into_iter().peekable();
        let (mut now, mut out) = (start, Vec::new());
        while now < Timestamp::from_secs(4) {
            match turns.next_if(|turn| Timestamp::from_millis(turn.0) == now) {
                Some((_, paused)) => sender.handle(now, SenderInput::Pause(paused), &mut ()),
                None => sender.handle(now, SenderInput::Deadline, &mut ()),
            }
            let due = loop {
                let what = match sender.poll(&mut ()) {
                    SenderOutput::Coded(frame, _) => {
                        if frame.keyframe {
                            'k'
                        } else {
                            'f'
                        }
                    }
                    SenderOutput::Media(train) => match train.first.kind {
                        PacketKind::Audio => 'a',
                        PacketKind::Padding => 'p',
                        _ => 'v',
                    },
                    SenderOutput::Rtcp(_) => 'r',
                    SenderOutput::Deadline(due) => break due,
                };
                out.push(((now - start).as_millis(), what));
            };
            assert!(
                due > now || turns.peek().is_some_and(|turn| Timestamp::from_millis(turn.0) == now),
                "it stands still"
            );
            now = turns.peek().map_or(due, |turn| due.min(Timestamp::from_millis(turn.0)));
        }
        out
    }

    #[test]
    fn in_a_pause_only_rtcp_and_what_the_pacer_held_leave() {
        let sent = call(1_005, 3_005);
        let of = |kinds: &str, from, to| {
            sent.iter().filter(|(ms, what)| kinds.contains(*what) && (from..to).contains(ms)).count()
        };
        assert!(of("p", 0, 1_005) > 10, "the controller pads and probes before it");
        assert_eq!((of("kfap", 1_005, 3_005), of("v", 1_200, 3_005)), (0, 0));
        assert_eq!(of("r", 1_005, 3_005), 2);
    }

    #[test]
    fn after_a_pause_media_resumes_at_once_with_a_key_frame() {
        let sent = call(1_005, 3_005);
        let coded: Vec<_> = sent.iter().filter(|(ms, what)| "kf".contains(*what) && *ms >= 3_005).copied().collect();
        assert_eq!(coded[..3], [(3_005, 'k'), (3_038, 'f'), (3_071, 'f')]);
        assert!(sent.contains(&(3_005, 'a')) && sent.contains(&(3_025, 'a')));
        assert!(sent.iter().any(|(ms, what)| *what == 'p' && *ms > 3_005));
    }

    #[test]
    fn a_pause_shorter_than_the_key_frame_interval_still_ends_with_one() {
        let sent = call(40, 90);
        let keyframes: Vec<_> = sent.iter().filter(|(_, what)| *what == 'k').map(|(ms, _)| *ms).collect();
        assert_eq!(keyframes, [0, 90]);
    }
}
