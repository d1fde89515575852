//! From packets to eyes at our own receiving end: assembly, decoder, playout, and key frame requests.
//!
//! Key frame requests ([`KeyframeRequests`]), the jitter buffer with its playout ([`JitterBuffer`]) and the times of
//! frame reports are the parts that `call::Receiver` holds in the simulator. Decoding takes time here: a picture that
//! is not yet decoded when it is due is shown once it is. The renderer's 10 ms in the playout delay are room enough for
//! it on a machine that is not busy. A stream that jumps in time, or a decoder that falls behind, costs pictures, and
//! no memory.

use crate::viewing::decoder::{Decoded, Decoder, Job};
use crate::viewing::seen::{Received, SeenPicture};
use legato_call::parity::{Recovery, Restored};
use legato_call::{KeyframeRequests, Patience, VideoPacket};
use legato_codec::{Assembled, Assembly, CodedPicture, Coding};
use legato_control::FrameReport;
use legato_media::JitterBuffer;
use legato_media::playout::{PlayoutConfig, Repair};
use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Parameters of a [`Viewer`].
#[derive(Clone, Copy, Debug)]
pub struct ViewerConfig {
    /// When pictures are shown.
    pub playout: PlayoutConfig,
    /// Missing packets are asked for, so that a gap is worth waiting for.
    pub nack: bool,
}

/// Watches the video.
pub struct Viewer {
    assembly: Box<dyn Assembly>,
    /// Of a video that parity is sent for.
    recovery: Option<Recovery>,
    decoder: Decoder,
    /// Pictures to be shown, by their places in `pictures`.
    waiting: JitterBuffer<usize>,
    times: RtpTimes,
    /// Something is missing before the next picture.
    torn: bool,
    undecoded: usize,
    pictures: Vec<Picture>,
    keyframes: KeyframeRequests,
    shown: u64,
    /// Given to the decoder, by RTP time, of a codec that shows pictures in part.
    jobs: Option<Received>,
    reports: VecDeque<FrameReport>,
}

#[derive(Clone, Copy, Debug)]
struct Picture {
    seen: SeenPicture,
    fate: Fate,
    captured: PeerTimestamp,
    keyframe: bool,
    size: DataSize,
    assembly: TimeDelta,
    psnr_db: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Decoded,
    Pending,
    Undecodable,
}

/// Two seconds of pictures; a decoder further behind skips to the next key frame.
const MAX_UNDECODED: usize = 60;
/// The place of packets that came too late for their picture.
const NO_PICTURE: usize = usize::MAX;

impl Viewer {
    /// Nothing seen at `start` of a video in this coding, which `decoder` decodes.
    pub fn new(coding: Coding, decoder: Decoder, config: ViewerConfig, start: Timestamp) -> Self {
        let patience = if config.nack { Patience::Repair } else { Patience::Reordering };
        Self {
            assembly: coding.assembly(),
            recovery: None,
            decoder,
            waiting: JitterBuffer::new(config.playout, start),
            times: RtpTimes::default(),
            torn: false,
            undecoded: 0,
            pictures: Vec::new(),
            keyframes: KeyframeRequests::new(patience),
            shown: 0,
            jobs: coding.shows_in_part().then(Vec::new),
            reports: VecDeque::new(),
        }
    }

    /// The same of a video for which the other end may send parity.
    pub fn expecting_parity(self) -> Self {
        Self { recovery: Some(Recovery::default()), ..self }
    }

    /// A packet came.
    pub fn take(&mut self, now: Timestamp, packet: &VideoPacket<'_>) {
        self.assembly.insert(now, packet);
        let restored = self.recovery.as_mut().map(|recovery| recovery.take_media(packet));
        self.take_restored(now, restored.unwrap_or_default());
    }

    /// Parity came, in a packet of this RTP time.
    pub fn take_parity(&mut self, now: Timestamp, timestamp: u32, payload: &[u8]) {
        let restored = self.recovery.as_mut().map(|recovery| recovery.take_parity(timestamp, payload));
        self.take_restored(now, restored.unwrap_or_default());
    }

    /// Packets that parity has restored so far; `None`: none is expected.
    pub fn restored_packets(&self) -> Option<u64> {
        self.recovery.as_ref().map(Recovery::restored)
    }

    fn take_restored(&mut self, now: Timestamp, restored: Vec<Restored>) {
        for packet in restored {
            self.assembly.insert(now, &packet.packet());
        }
        self.gather(now);
    }

    /// Take what the assembly has.
    fn gather(&mut self, now: Timestamp) {
        while let Some(assembled) = self.assembly.pop() {
            match assembled {
                Assembled::GivenUp { timestamp, lost_packets } => self.give_up(now, timestamp, lost_packets),
                Assembled::Late { timestamp, bytes } => self.take_late(timestamp, bytes),
                Assembled::Picture { picture, lost_packets } => self.take_picture(now, picture, lost_packets),
            }
        }
    }

    /// Packets of a picture that came after it was handed over: for later pictures.
    fn take_late(&mut self, timestamp: u32, bytes: Vec<u8>) {
        if self.undecoded < MAX_UNDECODED {
            self.undecoded += 1;
            self.keep(timestamp, &bytes);
            self.decoder.decode(Job { picture: NO_PICTURE, bytes, keyframe: false });
        }
    }

    /// The decoded frames, where they differ from the coded ones.
    fn keep(&mut self, timestamp: u32, bytes: &[u8]) {
        if let Some(jobs) = &mut self.jobs {
            jobs.push((timestamp, bytes.to_vec()));
        }
    }

    /// The decoder has finished a picture.
    pub fn decoded(&mut self, now: Timestamp, Decoded { picture: place, image, astray }: Decoded) {
        self.undecoded = self.undecoded.saturating_sub(1);
        let Some(picture) = self.pictures.get_mut(place) else { return };
        (picture.seen.image, picture.seen.decoded) = (image, image.is_some());
        picture.fate = if image.is_some() { Fate::Decoded } else { Fate::Undecodable };
        // A decoded picture shows that nothing it refers to is missing.
        self.keyframes.set_wanted(image.is_none() || astray);
        self.torn |= image.is_none();
        self.report(now, place);
        self.show(now);
    }

    /// Show due pictures.
    pub fn show(&mut self, now: Timestamp) {
        if self.assembly.due().is_some_and(|due| due <= now) {
            self.assembly.advance(now);
            self.gather(now);
        }
        let mut latest = None;
        while let Some((due, &place)) = self.waiting.front() {
            let fate = self.pictures[place].fate;
            if due > now || fate == Fate::Pending {
                break;
            }
            if fate == Fate::Decoded {
                latest = Some(place);
            }
            self.waiting.pop();
        }
        // Of the pictures due by one instant the viewer sees the last.
        if let Some(place) = latest {
            self.pictures[place].seen.shown = Some(now);
            self.waiting.shown(now);
            self.shown += 1;
        }
    }

    /// When something is due by itself.
    pub fn due(&self, now: Timestamp) -> Timestamp {
        let next = self.waiting.front().filter(|&(_, &place)| self.pictures[place].fate != Fate::Pending);
        let (show, request) = (next.map(|(due, _)| due), self.keyframes.due(now, self.assembly.as_ref()));
        [show, request, self.assembly.due()].into_iter().flatten().fold(Timestamp::MAX, Timestamp::min)
    }

    /// Whether to request a key frame now; true once for each time.
    pub fn asks_for_keyframe(&mut self, now: Timestamp) -> bool {
        if self.assembly.is_hopeless() {
            self.keyframes.set_wanted(true);
        }
        self.keyframes.take(now, self.assembly.as_ref())
    }

    /// The next report for a controller, in order.
    pub fn next_report(&mut self) -> Option<FrameReport> {
        self.reports.pop_front()
    }

    /// Pictures shown so far.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// The end: all pictures, in decoding order; and the decoded frames, by RTP time, where they differ from the coded
    /// ones.
    pub fn finish(self) -> (Vec<SeenPicture>, Option<Received>) {
        (self.pictures.iter().map(|picture| picture.seen).collect(), self.jobs)
    }

    fn take_picture(&mut self, now: Timestamp, picture: CodedPicture, lost_packets: u16) {
        let CodedPicture { bytes, timestamp, keyframe, size_bytes, arrivals, psnr_db, repair } = picture;
        self.torn &= !keyframe;
        if self.torn || self.undecoded >= MAX_UNDECODED {
            self.give_up(now, timestamp, 0);
            return;
        }
        let (captured, jumped) = self.times.captured(now, timestamp);
        if jumped {
            self.waiting.restart(now);
        }
        let repair = repair.map_or(Repair::None, Repair::Took);
        let place = self.pictures.len();
        let due = self.waiting.push(now, captured, size_bytes, repair, place);
        let seen = SeenPicture {
            rtp_timestamp: timestamp,
            decodable_at: now,
            lost_packets,
            decoded: false,
            image: None,
            due,
            shown: None,
        };
        let (size, assembly) = (DataSize::from_bytes(u64::from(size_bytes)), arrivals.1 - arrivals.0);
        self.pictures.push(Picture { seen, fate: Fate::Pending, captured, keyframe, size, assembly, psnr_db });
        self.undecoded += 1;
        self.keep(timestamp, &bytes);
        self.decoder.decode(Job { picture: place, bytes, keyframe });
    }

    fn give_up(&mut self, now: Timestamp, rtp_timestamp: u32, lost_packets: u16) {
        self.torn = true;
        self.keyframes.set_wanted(true);
        let seen = SeenPicture {
            rtp_timestamp,
            decodable_at: now,
            lost_packets,
            decoded: false,
            image: None,
            due: now,
            shown: None,
        };
        let (captured, _) = self.times.captured(now, rtp_timestamp);
        let (size, assembly) = (DataSize::ZERO, TimeDelta::ZERO);
        let picture =
            Picture { seen, fate: Fate::Undecodable, captured, keyframe: false, size, assembly, psnr_db: None };
        self.pictures.push(picture);
        self.report(now, self.pictures.len() - 1);
    }

    /// As reported by `call::Receiver`.
    fn report(&mut self, now: Timestamp, place: usize) {
        let picture = &self.pictures[place];
        self.reports.push_back(FrameReport {
            frame: place as u64,
            rendered: picture.fate == Fate::Decoded,
            keyframe: picture.keyframe,
            size: picture.size,
            assembly: picture.assembly,
            interval: self.waiting.since_shown(now),
            height: picture.seen.image.map_or(0, |image| image.height),
            psnr_db: picture.psnr_db,
            queued: Some(picture.captured),
        });
    }
}

/// RTP times of a video as times of the sender's clock.
#[derive(Debug, Default)]
struct RtpTimes {
    /// The last one: its 32 bits, the time they stand for, and when it came.
    last: Option<(u32, i64, Timestamp)>,
}

/// The maximum drift between a picture's time and its arrival at once; beyond it the sender has restarted its count.
const MAX_JUMP: TimeDelta = TimeDelta::from_secs(10);

impl RtpTimes {
    /// Capture time of a picture that came `now`, and whether its stream jumped in time.
    fn captured(&mut self, now: Timestamp, rtp: u32) -> (PeerTimestamp, bool) {
        let (ticks, jumped) = match self.last {
            None => (i64::from(rtp), false),
            Some((last, ticks, at)) => {
                let step = i64::from(rtp.wrapping_sub(last).cast_signed());
                let passed = ticks_of(now - at);
                let jumped = (step - passed).abs() > ticks_of(MAX_JUMP);
                (ticks + if jumped { passed } else { step }, jumped)
            }
        };
        self.last = Some((rtp, ticks, now));
        // 90,000 ticks per second.
        (PeerTimestamp::from_nanos(ticks * 100_000 / 9), jumped)
    }
}

fn ticks_of(span: TimeDelta) -> i64 {
    span.as_micros() * 9 / 100
}

#[cfg(test)]
#[path = "viewer_tests.rs"]
mod tests;
