//! The decoder of a receiving end: OpenH264 on a thread of its own, without the priority of those that keep a call's
//! times. It reads the number in each picture, and conceals nothing: after one that cannot be decoded it waits for a
//! key frame.

use crate::clock::Clock;
use crate::error::Error;
use crate::mail::Mail;
use crate::stamp;
use legato_h264::Playback;
use legato_units::TimeDelta;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// A picture to decode.
#[derive(Debug)]
pub struct Job {
    /// Comes back with what became of it.
    pub picture: usize,
    /// NAL units behind start codes.
    pub annex_b: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
}

/// What became of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Of the job.
    pub picture: usize,
    /// `None`: it could not be decoded.
    pub image: Option<Image>,
}

/// A decoded picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Luma columns.
    pub width: u16,
    /// Luma rows.
    pub height: u16,
    /// The number in it, where it can be read.
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
    /// Start the thread. `sent_width`: luma columns of the pictures that were numbered, where the sender may have made
    /// them smaller. Word of each picture goes to `mail`, in the order of jobs.
    pub fn start(sent_width: Option<u16>, mail: Sender<Mail>) -> Result<Self, Error> {
        let playback = Playback::new().map_err(|error| Error::Encoder(error.to_string()))?;
        let (jobs, inbox) = channel();
        let work = move || decode_all(playback, sent_width, &inbox, &mail);
        let started = thread::Builder::new().name("legato-decoder".to_owned()).spawn(work);
        let thread = started.map_err(|error| Error::System(format!("the decoder's thread: {error}")))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Decode a picture.
    pub fn decode(&self, job: Job) {
        // The thread ends with this alone.
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

fn decode_all(mut playback: Playback, sent_width: Option<u16>, inbox: &Receiver<Job>, mail: &Sender<Mail>) {
    let clock = Clock::starting_now();
    let mut lost = true;
    while let Ok(Job { picture, annex_b, keyframe }) = inbox.recv() {
        let begun = clock.now();
        let decodable = keyframe || !lost;
        let luma = decodable.then(|| playback.decode(&annex_b).ok().flatten()).flatten();
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
        if mail.send(Mail::Decoded(Decoded { picture, image })).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::{PictureSource, Pictures};
    use legato_h264::{Live, Mode, Settings};
    use legato_media::FrameRate;

    #[test]
    fn pictures_come_back_with_their_numbers_and_after_a_loss_with_the_next_key_frame() {
        let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
        let settings = Settings { width: 320, height: 180, frame_rate: 30.0, mode: Mode::Quantiser(0) };
        let mut live = Live::new(settings, 400_000).unwrap();
        let mut pictures = Pictures::open(&source).unwrap();
        let (mail, inbox) = channel();
        let decoder = Decoder::start(None, mail).unwrap();
        let mut buffer = Vec::new();
        for number in 0..8 {
            pictures.draw(number, &mut buffer).unwrap();
            let coded = live.encode(&buffer, 33 * number as i64, 30.0, 400_000, number == 6).unwrap();
            let mut annex_b = coded.bytes;
            if number == 4 {
                annex_b.truncate(4);
            }
            decoder.decode(Job { picture: number as usize, annex_b, keyframe: coded.keyframe });
        }
        drop(decoder);
        let told = inbox.iter().map(|mail| match mail {
            Mail::Decoded(Decoded { picture, image }) => (picture, image.and_then(|image| image.stamp)),
            other => panic!("{other:?}"),
        });
        let shown = |number: usize| (number, (number != 4 && number != 5).then_some(number as u32));
        assert!(told.eq((0..8).map(shown)));
    }
}
