//! What the viewer saw, from pixels, once the call is over: during it there is no time for that.
//!
//! The other end shows a frame only if it and everything it refers to came complete, and H.264, VP8 and VP9 have the
//! same samples in every decoder. So the picture shown for a frame is a decoder's output for the coded frame. Each
//! captured picture is drawn again and compared with the one on the screen at that time: itself if it was shown, else
//! the last that was. Smaller ones are scaled up for that, and their number, in squares that are then larger, counts as
//! correct. With the hybrid codec, whose frames are shown in part, the packets that the receiving end decoded are
//! decoded again, in the same order. Missing: another's end that conceals losses.

use crate::error::Error;
use crate::pictures::scaler::Scaler;
use crate::pictures::source::{PictureSource, Pictures};
use crate::pictures::stamp;
use crate::viewing::vmaf::{VmafMeter, VmafProgram};
use legato_codec::{Coding, Shown};
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
    coding: Coding,
    /// With the camera's number, in order.
    frames: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    vmaf: Option<VmafProgram>,
}

/// What the viewer had for each captured picture; `None` before the first was shown.
pub struct Viewed {
    pub qualities: Vec<Option<Quality>>,
    /// If it was requested.
    pub vmaf: Option<Result<Vec<Option<f32>>, Error>>,
}

/// Half an hour at 2 Mbit/s; a longer call is not compared.
const MOST_BYTES: usize = 512 << 20;
/// Pictures drawn and not compared yet.
const AHEAD: usize = 4;

impl CodedCall {
    /// Nothing coded yet from a source.
    pub fn new(source: PictureSource, coding: Coding) -> Self {
        Self { source, coding, frames: Vec::new(), bytes: 0, vmaf: None }
    }

    /// Have each pair of pictures scored by this program too.
    pub fn measure_vmaf(&mut self, program: VmafProgram) {
        self.vmaf = Some(program);
    }

    /// Whether pictures are shown of which packets are missing.
    pub fn shows_in_part(&self) -> bool {
        self.coding.shows_in_part()
    }

    /// Whether a program is to score too.
    pub fn wants_vmaf(&self) -> bool {
        self.vmaf.is_some()
    }

    /// The frames as the receiving end decoded them, in its order, in place of the coded ones.
    pub fn replace(&mut self, frames: Vec<(u64, Vec<u8>)>) {
        self.bytes = frames.iter().map(|(_, bytes)| bytes.len()).sum();
        self.frames = frames;
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

    /// Compares all captured pictures with the screen, given that frames `shown` were shown; `None` for a call too long
    /// to keep. A program's failure is reported in place of its scores; a stopped one ends everything.
    pub fn viewed(&self, captured: u64, shown: &BTreeSet<u64>) -> Result<Option<Viewed>, Error> {
        if self.bytes > MOST_BYTES {
            return Ok(None);
        }
        let mut pictures = Pictures::open(&self.source)?;
        let (width, height) = (usize::from(pictures.width), usize::from(pictures.height));
        let qualities = Mutex::new(vec![None; captured as usize]);
        let mut vmaf = self.vmaf.as_ref().map(|program| Judged::by(program, (width, height)));
        let (pairs, drawn) = sync_channel::<Pair>(AHEAD);
        let drawn = Mutex::new(drawn);
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
                scope.spawn(|| compare_all(&drawn, (width, height), &qualities));
            }
            let walked = self.walk(captured, shown, &mut pictures, &mut |pair| {
                // In order, so here; the others are compared meanwhile.
                let goes_on = vmaf.as_mut().is_none_or(|judged| judged.take(&pair));
                goes_on && pairs.send(pair).is_ok()
            });
            drop(pairs);
            walked
        })?;
        let qualities = qualities.into_inner().unwrap_or_else(PoisonError::into_inner);
        match vmaf.map(|judged| judged.finish(captured)) {
            Some(Err(Error::Interrupted)) => Err(Error::Interrupted),
            vmaf => Ok(Some(Viewed { qualities, vmaf })),
        }
    }

    /// Draw and decode everything in order.
    fn walk(
        &self,
        captured: u64,
        shown: &BTreeSet<u64>,
        pictures: &mut Pictures,
        compare: &mut dyn FnMut(Pair) -> bool,
    ) -> Result<(), Error> {
        let mut playback = self.coding.playback()?;
        let size = (usize::from(pictures.width), usize::from(pictures.height));
        let mut coded = self.frames.iter().peekable();
        let mut on_screen = None;
        for frame in 0..captured {
            let mut source = Vec::new();
            pictures.draw(frame, &mut source)?;
            while let Some((number, bytes)) = coded.next_if(|(number, _)| *number <= frame) {
                // The received part of a frame may be useless; a coded frame never is.
                let decoded = match playback.decode(bytes) {
                    Err(_) if self.shows_in_part() => None,
                    decoded => decoded?,
                };
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

/// A captured picture, and the luma on the screen at that time.
struct Pair {
    frame: u64,
    source: Vec<u8>,
    screen: Arc<Screen>,
}

/// What a viewer sees of a decoded picture, as large as the clip.
struct Screen {
    samples: Vec<u8>,
    /// Columns and rows at the top left to ignore: a number in other squares than the clip's.
    number: (usize, usize),
}

impl Screen {
    fn of(shown: Shown, (width, height): (usize, usize)) -> Self {
        if (shown.width, shown.height) == (width, height) {
            return Self { samples: shown.samples, number: (0, 0) };
        }
        let mut samples = Vec::with_capacity(width * height);
        Scaler::new((shown.width, shown.height), (width, height)).scale(&shown.samples, &mut samples);
        // Its edges are mixed with their neighbours.
        let reach = |squares: usize, full: usize, own: usize| ((squares + 1) * full).div_ceil(own).min(full);
        let (columns, rows) = stamp::extent();
        Self { samples, number: (reach(columns, width, shown.width), reach(rows, height, shown.height)) }
    }

    /// With the number as in the clip's picture.
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

/// Pairs passed to a program that measures VMAF, until it fails.
struct Judged {
    meter: Result<VmafMeter, Error>,
    size: (usize, usize),
    frames: Vec<u64>,
}

impl Judged {
    fn by(program: &VmafProgram, size: (usize, usize)) -> Self {
        Self { meter: program.start(size), size, frames: Vec::new() }
    }

    /// False once the result is no longer wanted.
    fn take(&mut self, pair: &Pair) -> bool {
        let Ok(meter) = &mut self.meter else { return self.is_wanted() };
        let (width, height) = self.size;
        let luma = &pair.source[..width * height];
        if let Err(error) = meter.push(luma, &pair.screen.beside(luma, width)) {
            self.meter = Err(error);
        }
        self.frames.push(pair.frame);
        self.is_wanted()
    }

    fn is_wanted(&self) -> bool {
        !matches!(self.meter, Err(Error::Interrupted))
    }

    fn finish(self, captured: u64) -> Result<Vec<Option<f32>>, Error> {
        let mut scores = vec![None; captured as usize];
        if self.frames.is_empty() {
            // A program that gets no input reports an error.
            return self.meter.map(|_| scores);
        }
        for (frame, score) in self.frames.iter().zip(self.meter?.finish()?) {
            scores[*frame as usize] = Some(score);
        }
        Ok(scores)
    }
}

/// A worker: takes pairs until there are no more.
fn compare_all(
    drawn: &Mutex<Receiver<Pair>>,
    (width, height): (usize, usize),
    qualities: &Mutex<Vec<Option<Quality>>>,
) {
    loop {
        let next = drawn.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(pair) = next else { return };
        let luma = &pair.source[..width * height];
        let screen = pair.screen.beside(luma, width);
        let quality = Luma::new(width, height, luma).zip(Luma::new(width, height, &screen));
        let quality = quality.and_then(|(source, screen)| compare(source, screen));
        qualities.lock().unwrap_or_else(PoisonError::into_inner)[pair.frame as usize] = quality;
    }
}

fn compare(source: Luma<'_>, screen: Luma<'_>) -> Option<Quality> {
    let ssim_db = quality::ssim_to_db(quality::ssim(source, screen)?) as f32;
    let psnr_db = quality::psnr_db(quality::mean_squared_error(source, screen)?) as f32;
    Some(Quality { ssim_db, psnr_db })
}

#[cfg(test)]
#[path = "viewed_tests.rs"]
mod tests;
