use super::*;
use crate::pictures::source::{PictureSource, Pictures};
use legato_codec::h264::H264Frame;
use legato_codec::{EncoderSettings, LiveEncoder, Payloads, Wanted};
use legato_media::FrameRate;
use std::sync::mpsc::{Receiver, channel};

/// A sender of small pictures, and a viewer whose decoder is waited for.
struct Scene {
    pictures: Pictures,
    encoder: Box<dyn LiveEncoder>,
    buffer: Vec<u8>,
    seq: u64,
    viewer: Viewer,
    inbox: Receiver<Decoded>,
}

const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

impl Scene {
    fn new() -> Self {
        Self::with_nack(true)
    }

    fn with_nack(nack: bool) -> Self {
        let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
        let (reports, inbox) = channel();
        let settings = EncoderSettings { size: (320, 180), frame_rate: 30.0, bitrate_bps: 400_000 };
        let decoder = Decoder::start(Coding::default(), None, move |decoded| reports.send(decoded).is_ok()).unwrap();
        Self {
            pictures: Pictures::open(&source).unwrap(),
            encoder: Coding::default().encoder(settings).unwrap(),
            buffer: Vec::new(),
            seq: 0,
            viewer: Viewer::new(
                Coding::default(),
                decoder,
                ViewerConfig { playout: PlayoutConfig::default(), nack },
                Timestamp::ZERO,
            ),
            inbox,
        }
    }

    /// Packets of picture `number`, 33 ms after the one before.
    fn send(&mut self, number: u64, keyframe: bool) -> Vec<(u64, bool, Vec<u8>)> {
        self.pictures.draw(number, &mut self.buffer).unwrap();
        let time_ms = 33 * number as i64;
        let wanted = Wanted { time_ms, frame_rate: 30.0, bitrate_bps: 400_000, keyframe };
        let coded = self.encoder.encode(&self.buffer, wanted).unwrap();
        let frame = H264Frame::new(&coded.bytes, 0).unwrap();
        let payloads: Vec<_> = (0..).map_while(|index| frame.payload(index)).collect();
        let last = payloads.len() - 1;
        let packets = payloads.into_iter().enumerate().map(|(place, payload)| {
            self.seq += 1;
            (self.seq, place == last, payload)
        });
        packets.collect()
    }

    /// They come 50 ms after their capture, except those in `lost`, and are decoded at once.
    fn receive(&mut self, number: u64, packets: &[(u64, bool, Vec<u8>)], lost: &[usize]) {
        let now = MS(33 * number as i64 + 50);
        for (_, (seq, marker, payload)) in packets.iter().enumerate().filter(|(place, _)| !lost.contains(place)) {
            let timestamp = number as u32 * 2_970;
            let (seq, marker, psnr_db) = (*seq, *marker, Some(30.0 + number as f32));
            let packet = VideoPacket { seq, timestamp, marker, repeated: false, psnr_db, payload };
            self.viewer.take(now, &packet);
        }
        while self.viewer.undecoded > 0 {
            let decoded = self.inbox.recv().unwrap();
            self.viewer.decoded(now, decoded);
        }
    }

    fn shown(&self) -> Vec<u32> {
        let shown = self.viewer.pictures.iter().filter(|picture| picture.seen.shown.is_some());
        shown.map(|picture| picture.seen.image.unwrap().stamp.unwrap()).collect()
    }
}

#[test]
fn pictures_are_shown_in_order_when_they_are_due() {
    let mut scene = Scene::new();
    for number in 0..10 {
        let packets = scene.send(number, false);
        scene.receive(number, &packets, &[]);
        // If nothing is due any more it was shown on arrival: as with the first.
        let due = scene.viewer.due(MS(33 * number as i64 + 50));
        assert!(due < MS(33 * number as i64 + 100) || due == Timestamp::MAX, "{due}");
        let due = due.min(MS(33 * number as i64 + 50));
        scene.viewer.show(due.max(MS(33 * number as i64 + 80)));
        assert!(!scene.viewer.asks_for_keyframe(due));
    }
    assert_eq!(scene.shown(), (0..10).collect::<Vec<_>>());
    let reports: Vec<_> = std::iter::from_fn(|| scene.viewer.next_report()).collect();
    assert!(reports.iter().enumerate().all(|(n, report)| report.rendered && report.frame == n as u64));
    assert_eq!((reports[0].keyframe, reports[1].keyframe, reports[0].height), (true, false, 180));
    assert_eq!((reports[0].psnr_db, reports[9].psnr_db), (Some(30.0), Some(39.0)));
    // 33 ms per picture, by the sender's clock.
    let queued = reports.iter().map(|report| report.queued.unwrap().as_nanos() / 1_000_000);
    assert!(queued.eq((0..10).map(|n| 33 * n)));
}

#[test]
fn after_waiting_for_a_loss_a_key_frame_is_requested() {
    let mut scene = Scene::new();
    let packets = scene.send(0, false);
    scene.receive(0, &packets, &[]);
    let missed = scene.send(1, false);
    scene.receive(1, &missed, &[0]);
    let packets = scene.send(2, false);
    scene.receive(2, &packets, &[]);
    // The first picture is shown; the others wait, from when the first packet beyond the gap came.
    scene.viewer.show(MS(150));
    let since = scene.viewer.assembly.waiting_since().unwrap();
    assert_eq!(scene.viewer.due(since), since + TimeDelta::from_secs(3));
    assert!(!scene.viewer.asks_for_keyframe(since + TimeDelta::from_millis(2_999)));
    let asked = since + TimeDelta::from_secs(3);
    assert!(scene.viewer.asks_for_keyframe(asked) && !scene.viewer.asks_for_keyframe(asked));
    // Repair may still come: the next request is as long a wait away.
    let again = asked + TimeDelta::from_secs(3);
    assert_eq!(scene.viewer.due(asked), again);
    assert!(!scene.viewer.asks_for_keyframe(again - TimeDelta::from_millis(1)));
    // While a key frame is arriving no other is requested.
    let number = again.as_nanos() as u64 / 33_000_000 - 2;
    let packets = scene.send(number, true);
    let last = packets.len() - 1;
    scene.receive(number, &packets, &[last]);
    assert!(!scene.viewer.asks_for_keyframe(again));
    scene.receive(number, &packets[last..], &[]);
    assert!(!scene.viewer.keyframes.is_wanted());
    scene.viewer.show(MS(9_000));
    assert_eq!(scene.shown(), [0, number as u32]);
    let lost: u16 = scene.viewer.finish().0.iter().map(|picture| picture.lost_packets).sum();
    assert_eq!(lost, 1);
}

#[test]
fn a_loss_that_nobody_repairs_is_waited_for_as_long_as_a_reordered_packet() {
    let mut scene = Scene::with_nack(false);
    let packets = scene.send(0, false);
    scene.receive(0, &packets, &[]);
    // Long after the key frame, in addition to which no other is requested.
    let missed = scene.send(10, false);
    scene.receive(10, &missed, &[0]);
    let packets = scene.send(11, false);
    scene.receive(11, &packets, &[]);
    scene.viewer.show(MS(400));
    let overtaken = scene.viewer.assembly.overtaken_since().unwrap();
    assert!(!scene.viewer.asks_for_keyframe(overtaken + TimeDelta::from_millis(19)));
    assert_eq!(scene.viewer.due(overtaken), overtaken + TimeDelta::from_millis(20));
    assert!(scene.viewer.asks_for_keyframe(overtaken + TimeDelta::from_millis(20)));
}

#[test]
fn a_stream_that_jumps_in_time_is_still_shown() {
    let mut times = RtpTimes::default();
    assert_eq!(times.captured(MS(0), u32::MAX - 89_999), (PeerTimestamp::from_nanos(47_720_858_844_444), false));
    // A second later the 32 bits wrap; then they jump by an hour in 100 ms.
    let second = times.captured(MS(1_000), 0);
    assert_eq!(second, (PeerTimestamp::from_nanos(47_721_858_844_444), false));
    let third = times.captured(MS(1_100), 3_600 * 90_000);
    assert_eq!(third, (PeerTimestamp::from_nanos(47_721_958_844_444), true));
}
