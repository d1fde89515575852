//! A picture drawn ahead of time, so that its complexity is ready when it is captured: controllers that use the
//! complexity of pictures get it before they decide on a bitrate, as in a simulation.

use crate::error::Error;
use crate::pictures::source::Pictures;
use std::sync::{Arc, Mutex, PoisonError};

/// Pictures, the next of which is drawn while the camera is idle.
#[derive(Debug)]
pub struct Ahead {
    /// The source of the pictures.
    pub pictures: Pictures,
    current: Vec<u8>,
    next: Vec<u8>,
    /// Number of the picture in `current`.
    taken: Option<u64>,
    /// Number of the picture in `next`, if there is one.
    drawn: Option<u64>,
    measured: Measured,
}

/// The last picture that was measured, by its number: mean absolute luma difference to the one before it.
#[derive(Clone, Debug, Default)]
pub struct Measured(Arc<Mutex<Option<(u64, f32)>>>);

impl Measured {
    /// The measurement of a picture, if there is one.
    pub fn of(&self, frame: u64) -> Option<f32> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.filter(|&(number, _)| number == frame).map(|(_, complexity)| complexity)
    }

    fn set(&self, frame: u64, complexity: f32) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((frame, complexity));
    }
}

impl Ahead {
    /// Measurements go to `measured`.
    pub fn new(pictures: Pictures, measured: Measured) -> Self {
        Self { pictures, current: Vec::new(), next: Vec::new(), taken: None, drawn: None, measured }
    }

    /// The picture of camera frame `frame`, later than any taken before.
    pub fn take(&mut self, frame: u64) -> Result<&[u8], Error> {
        match self.drawn.take() {
            Some(drawn) if drawn == frame => std::mem::swap(&mut self.current, &mut self.next),
            _ => self.pictures.draw(frame, &mut self.current)?,
        }
        self.taken = Some(frame);
        Ok(&self.current)
    }

    /// Draw the picture after the last one taken, and measure it.
    pub fn look(&mut self) -> Result<(), Error> {
        let Some(taken) = self.taken else { return Ok(()) };
        if self.drawn.is_some() {
            return Ok(());
        }
        self.pictures.draw(taken + 1, &mut self.next)?;
        self.drawn = Some(taken + 1);
        let luma = usize::from(self.pictures.width) * usize::from(self.pictures.height);
        self.measured.set(taken + 1, difference(&self.current[..luma], &self.next[..luma]));
        Ok(())
    }
}

/// Mean absolute difference of two planes of the same size, in 8-bit steps.
fn difference(before: &[u8], after: &[u8]) -> f32 {
    let sum: u64 = before
        .chunks(1 << 16)
        .zip(after.chunks(1 << 16))
        .map(|(before, after)| {
            let steps = before.iter().zip(after).map(|(&before, &after)| u32::from(before.abs_diff(after)));
            u64::from(steps.sum::<u32>())
        })
        .sum();
    (sum as f64 / before.len().max(1) as f64) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::source::PictureSource;
    use legato_media::FrameRate;

    fn pictures() -> Pictures {
        let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
        Pictures::open(&source).unwrap()
    }

    #[test]
    fn differences_are_means_of_luma_steps() {
        assert_eq!(difference(&[10, 20, 30, 40], &[13, 20, 25, 40]), 2.0);
        assert_eq!(difference(&[], &[]), 0.0);
    }

    #[test]
    fn pictures_drawn_ahead_are_those_drawn_in_time() {
        let measured = Measured::default();
        let mut ahead = Ahead::new(pictures(), measured.clone());
        let (mut plain, mut picture, mut before) = (pictures(), Vec::new(), Vec::new());
        // Pictures between 3 and 7 are skipped; the first of them was drawn.
        for (frame, known) in [(0, false), (1, true), (2, true), (3, true), (7, false), (8, true)] {
            std::mem::swap(&mut picture, &mut before);
            plain.draw(frame, &mut picture).unwrap();
            let figure = measured.of(frame);
            assert_eq!(ahead.take(frame).unwrap(), picture, "{frame}");
            assert_eq!(figure.is_some(), known, "{frame}");
            if let Some(figure) = figure {
                assert_eq!(figure, difference(&before[..320 * 180], &picture[..320 * 180]));
                assert!(figure > 0.1 && figure < 20.0, "{figure}");
            }
            ahead.look().unwrap();
            ahead.look().unwrap();
        }
    }
}
