//! The decoder of a receiving end, on a separate thread, without the priority of the threads that keep a call's times.
//! It reads the number in each picture, and conceals nothing: after one that cannot be decoded it waits for a key
//! frame.

use crate::clock::Clock;
use crate::error::Error;
use crate::pictures::stamp;
use legato_codec::{Coding, Playback};
use legato_units::TimeDelta;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// A picture to decode.
#[derive(Debug)]
pub struct Job {
    /// Returned with the result.
    pub picture: usize,
    /// As its encoder made it, or its received part.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
}

/// The result for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Of the job.
    pub picture: usize,
    /// `None`: it could not be decoded.
    pub image: Option<Image>,
    /// Only a key frame helps, although it was decoded: the sender is wrong about the picture here.
    pub astray: bool,
}

/// A decoded picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Luma columns.
    pub width: u16,
    /// Luma rows.
    pub height: u16,
    /// The number in it, if it can be read.
    pub stamp: Option<u32>,
    /// How long decoding took.
    pub took: TimeDelta,
}

/// The thread; it ends when this is dropped.
pub struct Decoder {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Decoder {
    /// Start the thread. `sent_width`: luma columns of the numbered pictures, if the sender may have scaled them down.
    /// Each picture is reported, in the order of jobs; the thread ends once `report` returns false.
    pub fn start(
        coding: Coding,
        sent_width: Option<u16>,
        report: impl Fn(Decoded) -> bool + Send + 'static,
    ) -> Result<Self, Error> {
        let playback = coding.playback()?;
        let (jobs, inbox) = channel();
        // The decoder itself decides whether it can decode a frame.
        let tolerant = coding.shows_in_part();
        let work = move || decode_all(playback, tolerant, sent_width, &inbox, &report);
        let started = thread::Builder::new().name("legato-decoder".to_owned()).spawn(work);
        let thread = started.map_err(|error| Error::System(format!("the decoder's thread: {error}")))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Decode a picture.
    pub fn decode(&self, job: Job) {
        // Only this ends the thread.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn decode_all(
    mut playback: Box<dyn Playback>,
    tolerant: bool,
    sent_width: Option<u16>,
    inbox: &Receiver<Job>,
    report: &dyn Fn(Decoded) -> bool,
) {
    let clock = Clock::starting_now();
    let mut lost = true;
    while let Ok(Job { picture, bytes, keyframe }) = inbox.recv() {
        let begun = clock.now();
        let decodable = keyframe || !lost || tolerant;
        let luma = decodable.then(|| playback.decode(&bytes).ok().flatten()).flatten();
        lost = luma.is_none();
        let image = luma.map(|luma| {
            let scale = sent_width.map_or(1.0, |sent| luma.width as f64 / f64::from(sent));
            Image {
                width: luma.width as u16,
                height: luma.height as u16,
                stamp: stamp::read(&luma.samples, luma.width, scale),
                took: clock.now() - begun,
            }
        });
        if !report(Decoded { picture, image, astray: playback.is_astray() }) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::ahead::Measured;
    use crate::pictures::coder::{CodedSource, Coder};
    use crate::pictures::source::{PictureSource, Pictures};
    use legato_media::{EncoderBudget, FrameRate, SourceFrame};
    use legato_units::{DataRate, Timestamp};

    #[test]
    fn pictures_come_back_with_their_numbers_and_after_a_loss_from_the_next_key_frame() {
        for coding in Coding::all() {
            let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
            let pictures = CodedSource::Pictures(Pictures::open(&source).unwrap());
            let mut coder = Coder::new(pictures, coding, 0, Measured::default(), false).unwrap();
            let (reports, inbox) = channel();
            let decoder = Decoder::start(coding, None, move |decoded| reports.send(decoded).is_ok()).unwrap();
            for number in 0..8 {
                let capture = Timestamp::from_millis(33 * number as i64);
                let picture = SourceFrame { frame: number, capture, content: 0, complexity: None };
                let budget = EncoderBudget::of_bitrate(DataRate::from_bps(400_000));
                let budget = EncoderBudget { keyframe: number == 6, ..budget };
                let mut coded = coder.code(&picture, &budget, number as u32).unwrap();
                if number == 4 {
                    coded.bytes.truncate(2);
                }
                decoder.decode(Job { picture: number as usize, bytes: coded.bytes, keyframe: coded.keyframe });
            }
            drop(decoder);
            let told: Vec<_> = inbox.iter().map(|Decoded { picture, image, .. }| (picture, image)).collect();
            let numbers: Vec<_> = told.iter().map(|(n, image)| (*n, image.and_then(|image| image.stamp))).collect();
            if coding.shows_in_part() {
                // Picture 5 is shown with the squares that 4 left unchanged.
                let images: Vec<_> = told.iter().map(|(_, image)| image.is_some()).collect();
                assert_eq!(images, (0..8).map(|number| number != 4).collect::<Vec<_>>());
                assert!([0, 1, 2, 3, 6, 7].into_iter().all(|n| numbers[n] == (n, Some(n as u32))), "{numbers:?}");
                continue;
            }
            let shown = |number: usize| (number, (number != 4 && number != 5).then_some(number as u32));
            assert_eq!(numbers, (0..8).map(shown).collect::<Vec<_>>(), "{coding:?}");
        }
    }
}
