//! The camera: pictures of a clip at a fixed rate, in an endless loop without a cut.

use crate::laplace;
use legato_control::SourceFrameInfo;
use legato_units::{TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Frames per second as a fraction, so that 29.97 stays exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    frames: u32,
    seconds: u32,
}

impl FrameRate {
    /// `frames` frames in `seconds` seconds; `None` unless both are at least 1 and the rate is at most 240.
    pub const fn new(frames: u32, seconds: u32) -> Option<Self> {
        if frames == 0 || seconds == 0 || frames as u64 > 240 * seconds as u64 {
            return None;
        }
        Some(Self { frames, seconds })
    }
    /// 30 frames per second.
    pub const THIRTY: Self = Self { frames: 30, seconds: 1 };

    /// The numerator and denominator: frames in seconds.
    pub const fn as_ratio(self) -> (u32, u32) {
        (self.frames, self.seconds)
    }

    /// Frames per second.
    pub fn as_f64(self) -> f64 {
        f64::from(self.frames) / f64::from(self.seconds)
    }
    /// The time of frame `n` after frame 0, rounded down to a nanosecond.
    #[inline]
    pub fn time_of(self, n: u64) -> TimeDelta {
        let (frames, seconds) = (u64::from(self.frames), u64::from(self.seconds));
        let whole = n / frames * seconds * 1_000_000_000;
        TimeDelta::from_nanos((whole + n % frames * seconds * 1_000_000_000 / frames) as i64)
    }
    /// The span of one frame, rounded down to a nanosecond.
    pub fn interval(self) -> TimeDelta {
        self.time_of(1)
    }
}

/// How a clip goes on after its last picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playback {
    /// The first picture follows the last without a cut (the clip holds its own way back).
    Loop,
    /// Backwards to the first picture, then forwards again.
    PingPong,
}

/// The content of a source: the order of its pictures. Shared by all calls that show the clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// Pictures per second.
    pub frame_rate: FrameRate,
    /// Distinct pictures, at least 1.
    pub frames: u32,
    /// The part after the last one.
    pub playback: Playback,
    /// Mean absolute luma difference of each picture to the one before it, 8-bit steps; one per
    /// picture, or empty if nothing was measured.
    pub complexity: Arc<[f32]>,
}

impl Content {
    /// Unmeasured pictures, for the statistical encoders.
    pub fn unmeasured(frame_rate: FrameRate) -> Self {
        Self { frame_rate, frames: 1, playback: Playback::Loop, complexity: Arc::from([]) }
    }
    /// The picture at a position of the endless play.
    pub fn picture_at(&self, position: u64) -> u32 {
        let period = self.period().max(1);
        let phase = (position % u64::from(period)) as u32;
        if phase < self.frames { phase } else { period - phase }
    }
    /// The number of frames after which the play repeats.
    pub fn period(&self) -> u32 {
        match self.playback {
            Playback::PingPong if self.frames > 1 => 2 * (self.frames - 1),
            _ => self.frames,
        }
    }
}

/// A picture the camera took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceFrame {
    /// Counts captured frames from 0.
    pub frame: u64,
    /// When it was taken.
    pub capture: Timestamp,
    /// Which picture of the clip it shows.
    pub content: u32,
    /// Mean absolute luma difference to the previous picture, 8-bit steps.
    pub complexity: Option<f32>,
}

impl SourceFrame {
    /// The controller's view of it.
    #[inline]
    pub fn info(&self) -> SourceFrameInfo {
        SourceFrameInfo { frame: self.frame, complexity: self.complexity }
    }
}

/// The camera of one call.
#[derive(Clone, Debug)]
pub struct Source {
    content: Content,
    /// Pictures are counted from here: the first, or the first after the last pause …
    start: Timestamp,
    /// … which had this number.
    start_frame: u64,
    next: u64,
    /// When it is due, so that querying costs nothing.
    due: Timestamp,
    /// Position within the period, so that no frame needs a division.
    phase: u32,
    period: u32,
    variation: Option<Variation>,
}

/// Frame intervals that vary around that of the frame rate.
#[derive(Clone, Debug)]
struct Variation {
    /// SCALE_t
    scale_ratio: f64,
    rng: ChaCha8Rng,
}

impl Variation {
    // [rfc8593] §5.3: (t - t0) / t0 is Laplacian with mean 0 and scale SCALE_t. It has no bounds: one interval in a
    // thousand would be shorter than a tenth of t0.
    fn interval(&mut self, reference: TimeDelta) -> TimeDelta {
        let deviation = self.scale_ratio * laplace::deviate(&mut self.rng);
        TimeDelta::from_secs_f64(reference.as_secs_f64() * (1.0 + deviation).max(0.1))
    }
}

impl Source {
    /// A camera that takes its first picture at `start`, beginning `offset` frames into the clip.
    pub fn new(content: Content, start: Timestamp, offset: u32) -> Self {
        let period = content.period();
        Self { phase: offset % period, period, content, start, start_frame: 0, next: 0, due: start, variation: None }
    }

    /// The same camera with intervals that vary by a Laplacian of the scale `scale_ratio`, drawn from `rng`: for
    /// synthetic video ([rfc8593] §5.3).
    pub fn varying(self, scale_ratio: f64, rng: ChaCha8Rng) -> Self {
        Self { variation: Some(Variation { scale_ratio, rng }), ..self }
    }

    /// Take no more pictures until [`Source::resume`].
    pub fn pause(&mut self) {
        self.due = Timestamp::MAX;
    }

    /// Take the next picture at `now` and continue from there: the clip stood still meanwhile, and
    /// the frame count goes on.
    pub fn resume(&mut self, now: Timestamp) {
        (self.start, self.start_frame, self.due) = (now, self.next, now);
    }

    /// When the next picture is due; [`Timestamp::MAX`] while paused.
    #[inline]
    pub fn next_capture(&self) -> Timestamp {
        self.due
    }

    /// Take the next picture; due at [`Source::next_capture`].
    #[inline]
    pub fn capture(&mut self) -> SourceFrame {
        let content = if self.phase < self.content.frames { self.phase } else { self.period - self.phase };
        let frame = SourceFrame {
            frame: self.next,
            capture: self.due,
            content,
            complexity: self.content.complexity.get(content as usize).copied(),
        };
        self.next += 1;
        self.due = match &mut self.variation {
            None => self.start + self.content.frame_rate.time_of(self.next - self.start_frame),
            Some(variation) => frame.capture + variation.interval(self.content.frame_rate.interval()),
        };
        self.phase = if self.phase + 1 == self.period { 0 } else { self.phase + 1 };
        frame
    }

    /// Its content.
    pub fn content(&self) -> &Content {
        &self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(playback: Playback, offset: u32) -> Vec<u32> {
        let content = Content { frames: 4, playback, ..Content::unmeasured(FrameRate::THIRTY) };
        let mut source = Source::new(content, Timestamp::ZERO, offset);
        (0..8).map(|_| source.capture().content).collect()
    }

    #[test]
    fn a_ping_pong_clip_turns_without_showing_a_picture_twice() {
        assert_eq!(contents(Playback::PingPong, 0), [0, 1, 2, 3, 2, 1, 0, 1]);
        assert_eq!(contents(Playback::Loop, 2), [2, 3, 0, 1, 2, 3, 0, 1]);
        let content = Content { frames: 4, playback: Playback::PingPong, ..Content::unmeasured(FrameRate::THIRTY) };
        let played: Vec<_> = (0..8).map(|position| content.picture_at(position)).collect();
        assert_eq!(played, contents(Playback::PingPong, 0));
    }

    #[test]
    fn captures_never_drift_from_the_frame_rate() {
        let ntsc = FrameRate::new(30_000, 1_001).unwrap();
        assert_eq!(ntsc.time_of(30_000), TimeDelta::from_secs(1_001));
        assert_eq!(ntsc.time_of(1), TimeDelta::from_nanos(33_366_666));
        assert_eq!(FrameRate::THIRTY.time_of(2), TimeDelta::from_nanos(66_666_666));
        assert_eq!(FrameRate::new(0, 1), None);
    }

    /// [rfc8593] §5.3, worked by hand: t0 = 33.3 ms, SCALE_t = 0.15: intervals have that mean, and the deviation of a
    /// Laplacian is sqrt 2 times its scale: 0.15 · 33.3 · 1.414 = 7.07 ms.
    #[test]
    fn intervals_vary_around_that_of_the_frame_rate() {
        use rand_core::SeedableRng;
        let camera = Source::new(Content::unmeasured(FrameRate::THIRTY), Timestamp::ZERO, 0);
        let mut camera = camera.varying(0.15, ChaCha8Rng::seed_from_u64(1));
        let captures: Vec<_> = (0..20_001).map(|_| camera.capture().capture.as_secs_f64() * 1e3).collect();
        let intervals: Vec<_> = captures.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = intervals.iter().sum::<f64>() / 20_000.0;
        let variance = intervals.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / 20_000.0;
        assert!((mean / 33.333 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / 7.07 - 1.0).abs() < 0.05, "{}", variance.sqrt());
        assert!(intervals.iter().all(|&t| t > 3.33));
    }

    #[test]
    fn a_pause_takes_no_pictures_and_the_clip_continues_where_it_stopped() {
        let content = Content { frames: 100, ..Content::unmeasured(FrameRate::THIRTY) };
        let mut source = Source::new(content, Timestamp::ZERO, 0);
        let taken: Vec<_> = (0..3).map(|_| source.capture().frame).collect();
        assert_eq!(taken, [0, 1, 2]);
        source.pause();
        assert_eq!(source.next_capture(), Timestamp::MAX);
        source.resume(Timestamp::from_secs(5));
        let frame = source.capture();
        assert_eq!((frame.frame, frame.content, frame.capture), (3, 3, Timestamp::from_secs(5)));
        assert_eq!(source.next_capture() - frame.capture, TimeDelta::from_nanos(33_333_333));
    }
}
