//! A stream with what libvpx has against losses: the sender chooses which references a frame is predicted from and
//! which it replaces. In addition to the last frame there are two references, of which the receiver has acknowledged at
//! least one. Once a loss is reported, the stream is predicted from that one again.
//!
//! A receiver decodes whole frames only, and a frame does not name its reference: it shows pictures that are wrong
//! until the frame that recovers. So frames are decodable without what entropy coding learnt from others ([rfc6386]
//! §9.11: probabilities are those of the key frame).

use crate::buffers::Buffers;
use crate::live::Live;
use crate::settings::Settings;
use crate::{Error, LiveFrame};
use std::collections::VecDeque;

/// One coded frame of a [`Resilient`] stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ResilientFrame {
    /// Counts coded frames, for [`Resilient::report`].
    pub number: u64,
    /// As the codec defines it.
    pub frame: LiveFrame,
    /// It is predicted from acknowledged frames, not from the one before it.
    pub recovers: bool,
}

/// A stream that gets reports of arrivals.
pub struct Resilient {
    live: Live,
    coded: u64,
    /// The two references in addition to the last frame.
    kept: [Kept; 2],
    /// Coded, and not reported so far: its number, and whether it is right whatever came before.
    unreported: VecDeque<(u64, bool)>,
    /// The next frame is predicted from acknowledged ones.
    recovering: bool,
    /// The next frame is a key frame: no reference is certainly right.
    begins_anew: bool,
    /// The receiver's picture was right at the last report.
    right: bool,
}

/// A frame in a reference.
#[derive(Clone, Copy, Debug)]
struct Kept {
    number: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unreported,
    Right,
    Wrong,
}

const LAST: u32 = 1;
const KEPT: [u32; 2] = [2, 4];
/// Frames that a report may still name.
const MAX_UNREPORTED: usize = 256;

impl Resilient {
    /// Open a stream at a bitrate in bit/s.
    pub fn new(settings: Settings, bits_per_second: u32) -> Result<Self, Error> {
        Ok(Self {
            live: Live::open(settings, bits_per_second, true)?,
            coded: 0,
            kept: [Kept { number: 0, state: State::Wrong }; 2],
            unreported: VecDeque::new(),
            recovering: false,
            begins_anew: true,
            right: true,
        })
    }

    /// Code one picture of planar 4:2:0 at `frame_rate` pictures per second, at a bitrate in bit/s.
    pub fn encode(
        &mut self,
        picture: &[u8],
        frame_rate: f32,
        bits_per_second: u32,
        keyframe: bool,
    ) -> Result<ResilientFrame, Error> {
        let keyframe = keyframe || self.begins_anew;
        let recovers = self.recovering && !keyframe;
        let buffers = self.buffers(recovers);
        let frame = self.live.encode_with(picture, frame_rate, bits_per_second, keyframe, Some(buffers))?;
        let (number, recovers) = (self.coded, recovers && !frame.keyframe);
        self.coded += 1;
        for (kept, bit) in self.kept.iter_mut().zip(KEPT) {
            if frame.keyframe || buffers.replaced & bit != 0 {
                *kept = Kept { number, state: State::Unreported };
            }
        }
        (self.recovering, self.begins_anew) = (false, false);
        self.unreported.push_back((number, frame.keyframe || recovers));
        if self.unreported.len() > MAX_UNREPORTED {
            self.unreported.pop_front();
        }
        Ok(ResilientFrame { number, frame, recovers })
    }

    /// References of the next frame, which is no key frame.
    fn buffers(&mut self, recovers: bool) -> Buffers {
        if recovers {
            // Every frame coded since the loss is wrong, whatever reports will say.
            for kept in self.kept.iter_mut().filter(|kept| kept.state == State::Unreported) {
                kept.state = State::Wrong;
            }
        }
        let of = |state: fn(State) -> bool| {
            self.kept.iter().zip(KEPT).filter(|(kept, _)| state(kept.state)).map(|(_, bit)| bit).sum::<u32>()
        };
        let right = of(|state| state == State::Right);
        let used = if recovers { right } else { LAST | of(|state| state != State::Wrong) };
        // One is acknowledged, or about to be; the other is replaced once it is settled.
        let settled = self.kept.iter().all(|kept| kept.state != State::Unreported);
        let oldest = self.kept.iter().zip(KEPT).min_by_key(|(kept, _)| (kept.state != State::Wrong, kept.number));
        let replaced = oldest.filter(|_| settled).map_or(0, |(_, bit)| bit);
        Buffers { used, replaced: LAST | replaced }
    }

    /// The receiver reports that all of a frame came, or not. Frames are reported in order; a frame without a report
    /// when a later one has one counts as lost.
    pub fn report(&mut self, number: u64, whole: bool) {
        while let Some(&(sent, fresh)) = self.unreported.front().filter(|(sent, _)| *sent <= number) {
            self.unreported.pop_front();
            self.take(sent, whole && sent == number && (fresh || self.right));
        }
    }

    fn take(&mut self, number: u64, right: bool) {
        self.right = right;
        for kept in self.kept.iter_mut().filter(|kept| kept.number == number && kept.state == State::Unreported) {
            kept.state = if right { State::Right } else { State::Wrong };
        }
        // A frame that recovers is under way already, unless this is it or one after it.
        if right || self.unreported.iter().any(|&(_, fresh)| fresh) {
            return;
        }
        self.recovering = self.kept.iter().any(|kept| kept.state == State::Right);
        self.begins_anew = !self.recovering;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, Playback, check};

    const SETTINGS: Settings = Settings { codec: Codec::Vp8, width: 160, height: 96, frame_rate: 30.0 };

    /// A texture that moves two columns per picture.
    fn picture(n: usize) -> Vec<u8> {
        let luma = (0..160 * 96).map(move |i| (((i % 160 + 2 * n) * (i / 160 + 3) * 5) % 200 + 20) as u8);
        luma.chain(std::iter::repeat_n(128, 160 * 96 / 2)).collect()
    }

    /// A stream of each codec; none if this build has none, which another test prints.
    fn streams() -> Vec<(Codec, Resilient)> {
        let both = [Codec::Vp8, Codec::Vp9].into_iter().filter(|_| check().is_ok());
        both.map(|codec| (codec, Resilient::new(Settings { codec, ..SETTINGS }, 300_000).unwrap())).collect()
    }

    fn coded(stream: &mut Resilient, n: usize) -> ResilientFrame {
        stream.encode(&picture(n), 30.0, 300_000, false).unwrap()
    }

    /// Frames 20 to 22 are lost, which is reported three frames later. Then one is predicted from a frame that the
    /// receiver has, and a decoder that never saw the lost ones shows it as one that saw all.
    #[test]
    fn after_a_reported_loss_prediction_begins_at_an_acknowledged_frame() {
        for (codec, mut stream) in streams() {
            let (mut all, mut some) = (Playback::new(codec).unwrap(), Playback::new(codec).unwrap());
            let mut recovered = Vec::new();
            for n in 0..60 {
                if let Some(reported) = usize::checked_sub(n, 3) {
                    stream.report(reported as u64, !(20..23).contains(&reported));
                }
                let ResilientFrame { frame, recovers, .. } = coded(&mut stream, n);
                assert_eq!(frame.keyframe, n == 0, "{codec:?} {n}");
                let whole = all.decode(&frame.bytes).unwrap();
                if recovers {
                    recovered.push(n);
                }
                if (20..23).contains(&n) {
                    continue;
                }
                let shown = some.decode(&frame.bytes).unwrap();
                let harmed = (20..*recovered.first().unwrap_or(&60)).contains(&n);
                assert!(harmed || shown == whole, "{codec:?} {n}");
            }
            assert_eq!(recovered, [23], "{codec:?}");
        }
    }

    /// A third of the frames is lost, which is reported of three at a time, five frames later.
    #[test]
    fn what_counts_as_right_is_what_a_decoder_of_all_frames_shows() {
        for (codec, mut stream) in streams() {
            let (mut all, mut some) = (Playback::new(codec).unwrap(), Playback::new(codec).unwrap());
            let (mut draw, mut keyframes, mut recovered, mut right) = (1_u32, 0, 0, true);
            let mut came = Vec::new();
            for n in 0..240 {
                if n >= 6 && n % 3 == 0 {
                    (n - 6..n - 3).for_each(|n| stream.report(n as u64, came[n]));
                }
                let ResilientFrame { frame, recovers, .. } = coded(&mut stream, n);
                let whole = all.decode(&frame.bytes).unwrap().unwrap();
                keyframes += usize::from(frame.keyframe);
                recovered += usize::from(recovers);
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                came.push(n == 0 || (draw >> 8) % 3 > 0);
                right = came[n] && (right || frame.keyframe || recovers);
                let shown = came[n].then(|| some.decode(&frame.bytes).unwrap()).flatten();
                assert!(!right || shown == Some(whole), "{codec:?} {n}");
            }
            assert!(keyframes == 1 && recovered > 20, "{codec:?}: {keyframes} key frames, {recovered} recovering");
        }
    }

    #[test]
    fn where_nothing_is_acknowledged_a_loss_is_answered_by_a_key_frame() {
        for (codec, mut stream) in streams() {
            for n in 0..12 {
                if let Some(reported) = usize::checked_sub(n, 3) {
                    stream.report(reported as u64, reported > 0);
                }
                let ResilientFrame { frame, recovers, .. } = coded(&mut stream, n);
                assert_eq!((frame.keyframe, recovers), (n == 0 || n == 3, false), "{codec:?} {n}");
            }
        }
    }
}
