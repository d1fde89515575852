//! What the viewer saw, from pixels, once the call is over: during it there is no time for that.
//!
//! The other end shows a frame only where it and all it refers to came whole, and H.264, VP8 and VP9 come out of every decoder
//! with the same samples. So what was shown of a frame is what a decoder makes of what was coded, and each captured picture
//! is drawn once more and compared with the one on the screen in its place: its own where it was shown, else the last
//! that was; smaller ones are scaled up for that, and where a smaller one has its number, in squares that are larger then,
//! it counts as right. Missing: an other end that conceals what it lacks.

use crate::codec::Codec;
use crate::error::Error;
use crate::pictures::{PictureSource, Pictures};
use crate::playback::{Playback, Shown};
use crate::scaler::Scaler;
use crate::stamp;
use legato_media::Quality;
use legato_media::quality::{self, Luma};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// All frames of a call as they were coded.
#[derive(Debug)]
pub struct CodedCall {
    source: PictureSource,
    codec: Codec,
    /// With the camera's number, in order.
    frames: Vec<(u64, Vec<u8>)>,
    bytes: usize,
}

/// What each captured picture was to the viewer; `None` before the first was shown.
pub type Viewed = Vec<Option<Quality>>;

/// Half an hour at 2 Mbit/s; of a longer call nothing is compared.
const MOST_BYTES: usize = 512 << 20;
/// Pictures drawn and not compared yet.
const AHEAD: usize = 4;

impl CodedCall {
    /// Nothing coded yet of a source.
    pub fn new(source: PictureSource, codec: Codec) -> Self {
        Self { source, codec, frames: Vec::new(), bytes: 0 }
    }

    /// Keep a frame.
    pub fn push(&mut self, frame: u64, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        if self.bytes <= MOST_BYTES {
            self.frames.push((frame, bytes));
        } else {
            self.frames = Vec::new();
        }
    }

    /// Compare all pictures captured with what was on the screen, where frames `shown` were shown; `None` of a call
    /// too long to keep.
    pub fn viewed(&self, captured: u64, shown: &BTreeSet<u64>) -> Result<Option<Viewed>, Error> {
        if self.bytes > MOST_BYTES {
            return Ok(None);
        }
        let mut pictures = Pictures::open(&self.source)?;
        let (width, height) = (usize::from(pictures.width), usize::from(pictures.height));
        let viewed = Mutex::new(vec![None; captured as usize]);
        let (pairs, drawn) = sync_channel::<Pair>(AHEAD);
        let drawn = Mutex::new(drawn);
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
                scope.spawn(|| compare_all(&drawn, (width, height), &viewed));
            }
            let walked = self.walk(captured, shown, &mut pictures, &mut |pair| pairs.send(pair).is_ok());
            drop(pairs);
            walked
        })?;
        Ok(Some(viewed.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Draw and decode everything in order.
    fn walk(
        &self,
        captured: u64,
        shown: &BTreeSet<u64>,
        pictures: &mut Pictures,
        compare: &mut dyn FnMut(Pair) -> bool,
    ) -> Result<(), Error> {
        let mut playback = Playback::new(self.codec)?;
        let size = (usize::from(pictures.width), usize::from(pictures.height));
        let mut coded = self.frames.iter().peekable();
        let mut on_screen = None;
        for frame in 0..captured {
            let mut source = Vec::new();
            pictures.draw(frame, &mut source)?;
            while let Some((number, bytes)) = coded.next_if(|(number, _)| *number <= frame) {
                let decoded = playback.decode(bytes)?;
                if shown.contains(number) {
                    on_screen = decoded.map(|shown| Arc::new(Screen::of(shown, size))).or(on_screen);
                }
            }
            if let Some(screen) = &on_screen
                && !compare(Pair { frame, source, screen: Arc::clone(screen) })
            {
                break;
            }
        }
        Ok(())
    }
}

/// A captured picture, and the luma that stood on the screen in its place.
struct Pair {
    frame: u64,
    source: Vec<u8>,
    screen: Arc<Screen>,
}

/// What a viewer sees of a decoded picture, as large as the clip.
struct Screen {
    samples: Vec<u8>,
    /// Columns and rows at the top left that say nothing: a number in other squares than the clip's.
    number: (usize, usize),
}

impl Screen {
    fn of(shown: Shown, (width, height): (usize, usize)) -> Self {
        if (shown.width, shown.height) == (width, height) {
            return Self { samples: shown.samples, number: (0, 0) };
        }
        let mut samples = Vec::with_capacity(width * height);
        Scaler::new((shown.width, shown.height), (width, height)).scale(&shown.samples, &mut samples);
        // Its edges are mixed with what is beside it.
        let reach = |squares: usize, full: usize, own: usize| ((squares + 1) * full).div_ceil(own).min(full);
        let (columns, rows) = stamp::extent();
        Self { samples, number: (reach(columns, width, shown.width), reach(rows, height, shown.height)) }
    }

    /// With the number as the clip's picture has it.
    fn beside(&self, luma: &[u8], width: usize) -> Cow<'_, [u8]> {
        let (columns, rows) = self.number;
        if rows == 0 {
            return Cow::Borrowed(&self.samples);
        }
        let mut samples = self.samples.clone();
        let both = samples.chunks_mut(width).zip(luma.chunks(width));
        both.take(rows).for_each(|(screen, source)| screen[..columns].copy_from_slice(&source[..columns]));
        Cow::Owned(samples)
    }
}

/// A worker: takes pairs until there are no more.
fn compare_all(drawn: &Mutex<Receiver<Pair>>, (width, height): (usize, usize), viewed: &Mutex<Viewed>) {
    loop {
        let next = drawn.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(pair) = next else { return };
        let luma = &pair.source[..width * height];
        let screen = pair.screen.beside(luma, width);
        let quality = Luma::new(width, height, luma).zip(Luma::new(width, height, &screen));
        let quality = quality.and_then(|(source, screen)| compare(source, screen));
        viewed.lock().unwrap_or_else(PoisonError::into_inner)[pair.frame as usize] = quality;
    }
}

fn compare(source: Luma<'_>, screen: Luma<'_>) -> Option<Quality> {
    let ssim_db = quality::ssim_to_db(quality::ssim(source, screen)?) as f32;
    let psnr_db = quality::psnr_db(quality::mean_squared_error(source, screen)?) as f32;
    Some(Quality { ssim_db, psnr_db })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahead::Measured;
    use crate::coder::{CodedSource, Coder};
    use legato_media::{EncoderBudget, FrameRate, SourceFrame};
    use legato_units::{DataRate, Timestamp};

    /// Ten pictures, of which the camera left out number 4; of whole macroblocks, because OpenH264's own figures count
    /// what it pads them with.
    fn coded(codec: Codec) -> (CodedCall, Vec<f32>) {
        let source = PictureSource::Generated { width: 320, height: 176, frame_rate: FrameRate::THIRTY };
        let mut coder =
            Coder::new(CodedSource::Pictures(Pictures::open(&source).unwrap()), codec, 0, Measured::default(), false)
                .unwrap();
        let (mut call, mut told) = (CodedCall::new(source, codec), Vec::new());
        let budget = EncoderBudget::of_bitrate(DataRate::from_bps(600_000));
        for frame in (0..10).filter(|&frame| frame != 4) {
            let capture = Timestamp::from_millis(33 * frame as i64);
            let picture = SourceFrame { frame, capture, content: 0, complexity: None };
            let coded = coder.code(&picture, &budget, frame as u32).unwrap();
            call.push(frame, coded.bytes);
            told.push(coded.psnr_db.unwrap());
        }
        (call, told)
    }

    #[test]
    fn frames_that_were_shown_are_worth_what_the_encoder_tells() {
        for codec in Codec::ALL.into_iter().filter(|codec| codec.check().is_ok()) {
            let (call, told) = coded(codec);
            let viewed = call.viewed(10, &(0..10).collect()).unwrap().unwrap();
            let shown = (0..10).filter(|&frame| frame != 4).map(|frame| viewed[frame].unwrap().psnr_db);
            for (seen, coded) in shown.zip(&told) {
                assert!((seen - coded).abs() < 0.1, "{codec:?}: {seen} {coded}");
            }
        }
    }

    #[test]
    fn a_picture_that_stays_is_compared_with_those_it_stands_for() {
        let (call, _) = coded(Codec::H264);
        // Nothing before 2; 3 to 6 are looked at 2, then 7.
        let viewed = call.viewed(10, &[2, 7, 8, 9].into()).unwrap().unwrap();
        let ssim: Vec<_> = viewed.iter().map(|quality| quality.map(|quality| quality.ssim_db)).collect();
        assert_eq!(ssim[..2], [None, None]);
        let stays: Vec<_> = ssim[2..7].iter().map(|ssim_db| ssim_db.unwrap()).collect();
        assert!(stays.is_sorted_by(|a, b| a > b) && ssim[7].unwrap() > stays[1], "{ssim:?}");
    }

    #[test]
    fn a_smaller_picture_is_compared_at_the_clips_own_size_and_its_number_is_not() {
        let source = PictureSource::Generated { width: 640, height: 360, frame_rate: FrameRate::THIRTY };
        let pictures = || Pictures::open(&source).unwrap();
        let viewed = [true, false].map(|adapts| {
            let mut coder =
                Coder::new(CodedSource::Pictures(pictures()), Codec::H264, 0, Measured::default(), adapts).unwrap();
            let mut call = CodedCall::new(source.clone(), Codec::H264);
            for frame in 0..6 {
                let capture = Timestamp::from_millis(33 * frame as i64);
                let picture = SourceFrame { frame, capture, content: 0, complexity: None };
                let budget = EncoderBudget::of_bitrate(DataRate::from_bps(240_000));
                let coded = coder.code(&picture, &budget, frame as u32).unwrap();
                // Less than 250 kbit/s begin at no more than 240 rows.
                assert_eq!((coded.size, coded.keyframe), (if adapts { (320, 180) } else { (640, 360) }, frame == 0));
                call.push(frame, coded.bytes);
            }
            let viewed = call.viewed(6, &(0..6).collect()).unwrap().unwrap();
            viewed.iter().map(|quality| f64::from(quality.unwrap().psnr_db)).sum::<f64>() / 6.0
        });
        assert!(viewed[0] > 18.0 && viewed[0] < 40.0 && viewed[1] > 18.0, "{viewed:?}");
        // Twice as large as they were, and the squares, 64 columns and 8 rows, with an edge beside them.
        let screen = Screen::of(Shown { width: 320, height: 180, samples: vec![50; 320 * 180] }, (640, 360));
        let beside = screen.beside(&[200; 640 * 360], 640);
        let of_source = beside.chunks(640).map(|row| row.iter().filter(|&&sample| sample == 200).count());
        assert!(of_source.eq((0..360).map(|row| if row < 18 { 130 } else { 0 })));
        assert!(beside.iter().all(|&sample| sample == 200 || sample == 50));
    }

    #[test]
    fn a_call_too_long_to_keep_is_not_compared() {
        let (mut call, _) = coded(Codec::H264);
        call.bytes = MOST_BYTES;
        call.push(10, vec![0]);
        assert_eq!((call.viewed(11, &BTreeSet::new()).unwrap(), call.frames.len()), (None, 0));
    }
}
