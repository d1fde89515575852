//! A stream with what OpenH264 has against losses: slices that decode without each other, and long-term references that
//! the receiver has acknowledged, from which it predicts again once a loss is reported.
//!
//! A receiver that runs OpenH264's decoder would send these messages itself. Here they are made at the sending end from
//! reports on frames, as transport-wide feedback gives them: a frame is right at the receiver if all of it came and its
//! reference is right there. What the decoder makes of a damaged frame is not of interest to the encoder.

use crate::live::{Live, LiveFrame};
use crate::rate::Rate;
use crate::raw::{FrameId, Resilience};
use crate::slice_header::{frame_of, is_slice};
use crate::{Error, Settings};
use std::collections::VecDeque;

/// One coded frame of a [`Resilient`] stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ResilientFrame {
    /// Counts coded frames, for [`Resilient::report`].
    pub number: u64,
    /// Its NAL units, start codes included; whether each is a slice.
    pub units: Vec<(Vec<u8>, bool)>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// It is predicted from an acknowledged frame, not from the one before it.
    pub recovers: bool,
    /// The mean quantiser over macroblocks, rounded.
    pub qp: u8,
    /// Luma PSNR of the coded picture, as the encoder reports it.
    pub psnr_db: Option<f32>,
}

/// A stream that gets reports of arrivals.
pub struct Resilient {
    live: Live,
    rate: Rate,
    /// It keeps references until they are acknowledged.
    long_term: bool,
    coded: u64,
    /// Coded, and not reported so far.
    unreported: VecDeque<Sent>,
    /// The last key frame's number in the stream.
    idr: u16,
    /// The last frame that was reported and is right at the receiver.
    last_right: Option<FrameId>,
    /// A frame that may be confirmed, once the frame after it is right too: that one's header says that it is kept.
    to_confirm: Option<FrameId>,
    /// To be confirmed, one with each picture: the encoder forgets one for the next.
    confirmed: VecDeque<FrameId>,
    /// The last frame coded.
    newest: Option<FrameId>,
    /// The next frame is predicted from an acknowledged one.
    recovering: bool,
    /// The next frame is a key frame: no frame since the last one is certainly right.
    begins_anew: bool,
    /// The receiver's picture was right at the last report.
    right: bool,
}

struct Sent {
    number: u64,
    id: FrameId,
    /// Right whatever came before.
    fresh: bool,
}

/// The fewest frames from one kept picture to the next: the confirmation takes about as long.
const LONG_TERM_FRAMES: u8 = 4;
/// Frames that a report may still name.
const MAX_UNREPORTED: usize = 256;

impl Resilient {
    /// Open a stream at a bitrate in bit/s, of pictures in so many slices. [`Settings::mode`] is overwritten.
    /// `long_term`: it keeps references until they are acknowledged.
    pub fn new(settings: Settings, bits_per_second: u32, slices: u8, long_term: bool) -> Result<Self, Error> {
        if !(1..=32).contains(&slices) {
            return Err(Error(format!("OpenH264: {slices} slices are outside 1 … 32")));
        }
        let resilience = Resilience { slices, long_term_frames: long_term.then_some(LONG_TERM_FRAMES) };
        Ok(Self {
            live: Live::with(settings, bits_per_second, resilience)?,
            rate: Rate::new(),
            long_term,
            coded: 0,
            unreported: VecDeque::new(),
            idr: 0,
            last_right: None,
            to_confirm: None,
            confirmed: VecDeque::new(),
            newest: None,
            recovering: false,
            begins_anew: false,
            right: true,
        })
    }

    /// Code one picture of planar 4:2:0, as [`Live::encode`] does.
    pub fn encode(
        &mut self,
        picture: &[u8],
        time_ms: i64,
        frame_rate: f32,
        bits_per_second: u32,
        keyframe: bool,
    ) -> Result<ResilientFrame, Error> {
        let keyframe = keyframe || self.begins_anew;
        if let Some(id) = self.confirmed.pop_front() {
            self.live.encoder().confirm(id)?;
        }
        let recovers = std::mem::take(&mut self.recovering) && !keyframe;
        let share_bytes = f64::from(bits_per_second) / 8.0 / f64::from(frame_rate.max(1.0));
        let quantiser = if keyframe { None } else { self.rate.quantiser(recovers, share_bytes) };
        self.live.encoder().fix_quantiser(quantiser)?;
        let LiveFrame { bytes, keyframe, qp, psnr_db } =
            self.live.encode(picture, time_ms, frame_rate, bits_per_second, keyframe)?;
        let recovers = recovers && !keyframe;
        if !keyframe {
            self.rate.take(recovers, qp, bytes.len(), share_bytes);
        }
        self.begins_anew = false;
        let units: Vec<(Vec<u8>, bool)> =
            split(&bytes).map(|(unit, from)| (unit.to_vec(), is_slice(&unit[from..]))).collect();
        let slice = split(&bytes).map(|(unit, from)| &unit[from..]).find(|unit| is_slice(unit));
        let id = frame_of(slice.ok_or_else(|| Error("OpenH264: a picture without a slice".to_owned()))?, self.idr)?;
        (self.idr, self.newest) = (id.idr, Some(id));
        if keyframe {
            self.confirmed.clear();
        }
        let number = self.coded;
        self.coded += 1;
        self.unreported.push_back(Sent { number, id, fresh: keyframe || recovers });
        if self.unreported.len() > MAX_UNREPORTED {
            self.unreported.pop_front();
        }
        Ok(ResilientFrame { number, units, keyframe, recovers, qp, psnr_db })
    }

    /// The receiver reports that all of a frame came, or not. Frames are reported in order; a frame without a report
    /// when a later one has one counts as lost.
    pub fn report(&mut self, number: u64, whole: bool) -> Result<(), Error> {
        while let Some(sent) = self.unreported.front().filter(|sent| sent.number <= number) {
            let (id, fresh) = (sent.id, sent.fresh);
            let came = whole && sent.number == number;
            self.unreported.pop_front();
            self.take(id, came && (fresh || self.right))?;
        }
        Ok(())
    }

    fn take(&mut self, id: FrameId, right: bool) -> Result<(), Error> {
        self.right = right;
        if right {
            if let Some(earlier) = self.to_confirm.replace(id).filter(|earlier| earlier.idr == id.idr) {
                self.confirmed.push_back(earlier);
            }
            self.last_right = Some(id);
            return Ok(());
        }
        self.to_confirm = None;
        if !self.long_term {
            return Ok(());
        }
        // A frame that recovers is under way already, unless this is it or one after it.
        if self.unreported.iter().any(|sent| sent.fresh) {
            return Ok(());
        }
        if let Some(last) = self.last_right.filter(|last| last.idr == id.idr) {
            // All frames coded since are predicted from a wrong one.
            self.live.encoder().recover(last, self.newest.unwrap_or(id))?;
            self.recovering = true;
        } else {
            self.begins_anew = true;
        }
        Ok(())
    }
}

/// NAL units with their start codes, and where each begins behind its start code.
fn split(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let begin = find(rest)? + 3;
        let end = find(&rest[begin..]).map_or(rest.len(), |next| {
            let at = begin + next;
            // The first byte of a start code of four.
            if rest[at - 1] == 0 { at - 1 } else { at }
        });
        let (unit, after) = rest.split_at(end);
        rest = after;
        Some((unit, begin))
    })
}

fn find(bytes: &[u8]) -> Option<usize> {
    bytes.windows(3).position(|window| window == [0, 0, 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Playback};

    fn picture(n: usize) -> Vec<u8> {
        let luma = (0..160 * 128).map(move |i| (((i % 160 + 2 * n) * (i / 160 + 3) * 5) % 200 + 20) as u8);
        luma.chain(std::iter::repeat_n(128, 160 * 128 / 2)).collect()
    }

    fn stream(slices: u8, long_term: bool) -> Resilient {
        let settings = Settings { width: 160, height: 128, frame_rate: 30.0, mode: Mode::Quantiser(0) };
        Resilient::new(settings, 400_000, slices, long_term).unwrap()
    }

    /// At 30 pictures a second and 400 kbit/s.
    fn coded(stream: &mut Resilient, n: usize) -> ResilientFrame {
        stream.encode(&picture(n), n as i64 * 33, 30.0, 400_000, false).unwrap()
    }

    fn bytes(frame: &ResilientFrame) -> Vec<u8> {
        frame.units.iter().flat_map(|(unit, _)| unit.clone()).collect()
    }

    #[test]
    fn units_are_split_behind_their_start_codes() {
        let units: Vec<_> = split(&[0, 0, 0, 1, 7, 9, 0, 0, 1, 5]).collect();
        assert_eq!(units, [(&[0, 0, 0, 1, 7, 9][..], 4), (&[0, 0, 1, 5][..], 3)]);
    }

    #[test]
    fn a_picture_is_in_slices() {
        let frame = coded(&mut stream(4, false), 0);
        let slices = frame.units.iter().filter(|(_, slice)| *slice).count();
        assert!(frame.keyframe && slices == 4 && frame.units.len() == 6, "{slices} of {}", frame.units.len());
        assert_eq!(bytes(&frame).len(), frame.units.iter().map(|(unit, _)| unit.len()).sum::<usize>());
    }

    /// Frames 20 to 22 are lost, which is reported three frames later. Then one is predicted from a frame that the
    /// receiver has, and a decoder that never saw the lost ones shows it as one that saw all.
    #[test]
    fn after_a_reported_loss_prediction_begins_at_an_acknowledged_frame() {
        let mut stream = stream(1, true);
        let (mut all, mut some) = (Playback::new().unwrap(), Playback::new().unwrap());
        let mut recovered = Vec::new();
        for n in 0..60 {
            if let Some(reported) = usize::checked_sub(n, 3) {
                stream.report(reported as u64, !(20..23).contains(&reported)).unwrap();
            }
            let frame = coded(&mut stream, n);
            assert_eq!(frame.keyframe, n == 0, "{n}");
            let whole = all.decode(&bytes(&frame)).unwrap();
            if frame.recovers {
                recovered.push(n);
            }
            if (20..23).contains(&n) {
                continue;
            }
            let shown = some.decode(&bytes(&frame)).ok().flatten();
            let harmed = (20..*recovered.first().unwrap_or(&60)).contains(&n);
            assert!(harmed || shown.map(|shown| shown.samples) == whole.map(|whole| whole.samples), "{n}");
        }
        assert_eq!(recovered, [23]);
    }

    /// The output of a decoder that conceals, for frames with lost slices and for the whole stream.
    #[test]
    fn a_decoder_that_conceals_is_right_again_from_the_recovering_frame_on() {
        let mut stream = stream(4, true);
        let (mut all, mut some) = (Playback::new().unwrap(), Playback::concealing().unwrap());
        // Of frame 20 a slice is lost, 30 is lost whole, and of 40 to 42 two slices each.
        let lost = |n: usize, place: usize| match n {
            20 => place == 2,
            30 => true,
            40..43 => place % 2 == 1,
            _ => false,
        };
        let mut right_since = 0;
        for n in 0..60 {
            if let Some(reported) = usize::checked_sub(n, 3) {
                stream.report(reported as u64, !(0..4).any(|place| lost(reported, place))).unwrap();
            }
            let frame = coded(&mut stream, n);
            assert_eq!(frame.keyframe, n == 0, "{n}");
            let whole = all.decode(&bytes(&frame)).unwrap().unwrap();
            let slices = frame.units.iter().filter(|(_, slice)| *slice).map(|(unit, _)| unit);
            let came = slices.enumerate().filter(|&(place, _)| !lost(n, place)).map(|(_, unit)| &unit[..]);
            let parameters = frame.units.iter().filter(|(_, slice)| !slice).map(|(unit, _)| &unit[..]);
            let came: Vec<u8> = parameters.chain(came).flatten().copied().collect();
            right_since = if frame.recovers { n } else { right_since };
            if lost(n, 1) && lost(n, 2) {
                continue;
            }
            let shown = some.decode(&came).unwrap();
            assert!(shown.is_some(), "{n} is not shown");
            let harmed = [20, 30, 40].iter().any(|&first| (first..first + 3).contains(&n)) && right_since < n;
            assert!(harmed || shown == Some(whole), "{n} after {right_since}");
        }
    }

    #[test]
    fn where_nothing_is_acknowledged_a_loss_is_answered_by_a_key_frame() {
        let mut stream = stream(2, true);
        for n in 0..12 {
            if let Some(reported) = usize::checked_sub(n, 3) {
                stream.report(reported as u64, reported > 0).unwrap();
            }
            let frame = coded(&mut stream, n);
            assert_eq!((frame.keyframe, frame.recovers), (n == 0 || n == 3, false), "{n}");
        }
    }

    /// A third of the frames is lost, which is reported of three at a time, five frames later.
    #[test]
    fn references_are_kept_although_reports_come_together_and_losses_are_many() {
        let mut stream = stream(4, true);
        let (mut all, mut some) = (Playback::new().unwrap(), Playback::concealing().unwrap());
        let (mut draw, mut keyframes, mut recovered, mut right) = (1_u32, 0, 0, true);
        let mut came = Vec::new();
        for n in 0..240 {
            if n >= 6 && n % 3 == 0 {
                (n - 6..n - 3).for_each(|n| stream.report(n as u64, came[n]).unwrap());
            }
            let frame = coded(&mut stream, n);
            let whole = all.decode(&bytes(&frame)).unwrap().unwrap();
            keyframes += usize::from(frame.keyframe);
            recovered += usize::from(frame.recovers);
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            came.push(n == 0 || (draw >> 8) % 3 > 0);
            right = came[n] && (right || frame.keyframe || frame.recovers);
            let shown = came[n].then(|| some.decode(&bytes(&frame)).unwrap()).flatten();
            assert!(!right || shown == Some(whole), "{n}");
        }
        assert!(keyframes == 1 && recovered > 20, "{keyframes} key frames, {recovered} recovering");
    }

    /// More slices than such a picture can have: the encoder takes fewer.
    #[test]
    fn a_stream_of_fewer_slices_than_requested_recovers_too() {
        let mut stream = stream(8, true);
        for n in 0..40 {
            if let Some(reported) = usize::checked_sub(n, 3) {
                stream.report(reported as u64, reported != 20).unwrap();
            }
            let frame = coded(&mut stream, n);
            assert!(frame.units.len() < 8 || n == 0, "{n}");
            assert_eq!((frame.keyframe, frame.recovers), (n == 0, n == 23), "{n}");
        }
    }

    /// Without references to keep, reports change nothing.
    #[test]
    fn a_stream_without_long_term_references_goes_on_as_it_was() {
        let (mut hears, mut deaf) = (stream(4, false), stream(4, false));
        for n in 0..40 {
            if let Some(reported) = usize::checked_sub(n, 3) {
                hears.report(reported as u64, reported % 10 != 0).unwrap();
            }
            assert_eq!(coded(&mut hears, n), coded(&mut deaf, n), "{n}");
        }
    }

    /// Frames that recover are no larger than others, but for the first.
    #[test]
    fn recovering_frames_have_their_share_of_the_bitrate() {
        let mut stream = stream(4, true);
        let (mut draw, mut came, mut recovering) = (1_u32, Vec::new(), Vec::new());
        for n in 0..300 {
            if n >= 4 {
                stream.report(n as u64 - 4, came[n - 4]).unwrap();
            }
            let frame = coded(&mut stream, n);
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            came.push(n == 0 || (draw >> 8) % 5 > 0);
            if frame.recovers {
                recovering.push(bytes(&frame).len());
            }
        }
        let share = 400_000 / 8 / 30;
        let late = &recovering[5..];
        let mean = late.iter().sum::<usize>() / late.len();
        assert!(late.len() > 20 && mean < share * 13 / 10, "{mean} of {share}");
        assert!(late.iter().all(|&bytes| bytes < 5 * share / 2), "{late:?} of {share}");
    }

    #[test]
    fn settings_that_cannot_be_are_refused() {
        let settings = Settings { width: 160, height: 128, frame_rate: 30.0, mode: Mode::Quantiser(0) };
        assert!(Resilient::new(settings, 400_000, 0, false).is_err());
        assert!(stream(1, false).encode(&[0; 5], 0, 30.0, 400_000, false).is_err());
    }
}
