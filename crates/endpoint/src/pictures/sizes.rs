//! The sizes of a call's pictures: the clip's own and smaller ones, among which the rule of the simulator's encoders
//! (`legato_media::encoder::size_rule`) chooses while it is coded.
//!
//! The ladder is a browser's: three quarters, then two thirds of that, and again, in columns and rows, down to the number
//! of samples of 320x180. A smaller picture is scaled down and then stamped with its number again, in squares as large as
//! those of a whole one: scaled down they could not be read.

use crate::pictures::scaler::Scaler;
use crate::pictures::stamp;
use legato_media::encoder::size_rule::{SizeRule, Thresholds};
use legato_units::{DataRate, Timestamp};

/// Chooses sizes, and makes pictures of them.
pub struct Sizes {
    rule: SizeRule,
    /// Columns and rows, smallest first.
    ladder: Vec<(u16, u16)>,
    /// For luma and for chroma; `None`: pictures are sent as they are.
    scalers: Option<[Scaler; 2]>,
    scaled: Vec<u8>,
}

/// The minimum size of browsers' pictures.
const LEAST_SAMPLES: u32 = 320 * 180;

impl Sizes {
    /// For pictures of this size, in a codec of these thresholds. Unless `adapts`, they stay as they are.
    pub fn new(full: (u16, u16), thresholds: Thresholds, adapts: bool) -> Option<Self> {
        let ladder = if adapts { ladder(full) } else { vec![full] };
        let heights: Vec<u16> = ladder.iter().map(|&(_, height)| height).collect();
        let rule = SizeRule::new(&heights, thresholds)?;
        Some(Self { rule, ladder, scalers: None, scaled: Vec::new() })
    }

    /// A picture is about to be coded at a bitrate; returns whether its size differs from that of the one before.
    pub fn steps(&mut self, now: Timestamp, bitrate: DataRate) -> bool {
        let steps = self.rule.steps(now, bitrate);
        if steps {
            let (full, size) = (self.ladder[self.ladder.len() - 1], self.size());
            let halves = |(columns, rows): (u16, u16)| (usize::from(columns / 2), usize::from(rows / 2));
            let wholes = |(columns, rows): (u16, u16)| (usize::from(columns), usize::from(rows));
            let scalers = || [Scaler::new(wholes(full), wholes(size)), Scaler::new(halves(full), halves(size))];
            self.scalers = (size != full).then(scalers);
        }
        steps
    }

    /// It was coded with this quantiser.
    pub fn coded(&mut self, qp: u8) {
        self.rule.coded(f32::from(qp));
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.ladder[self.rule.place()]
    }

    /// Its place on the ladder, 0 the smallest.
    pub fn place(&self) -> u8 {
        self.rule.place() as u8
    }

    /// Scales picture `number`, planar 4:2:0 of full size, to the present size.
    pub fn fit<'a>(&'a mut self, picture: &'a [u8], number: u64) -> &'a [u8] {
        let width = usize::from(self.size().0);
        let Some([luma, chroma]) = &mut self.scalers else { return picture };
        let (first, rest) = picture.split_at(picture.len() * 2 / 3);
        self.scaled.clear();
        luma.scale(first, &mut self.scaled);
        rest.chunks(rest.len() / 2).for_each(|plane| chroma.scale(plane, &mut self.scaled));
        stamp::write(&mut self.scaled, width, number);
        &self.scaled
    }
}

/// Sizes of even columns and rows, smallest first.
fn ladder((width, height): (u16, u16)) -> Vec<(u16, u16)> {
    let even = |full: u16, (times, over): (u32, u32)| (u32::from(full) * times / over / 2 * 2) as u16;
    let fraction = |step: u32| if step.is_multiple_of(2) { (1, 1 << (step / 2)) } else { (3, 1 << (step / 2 + 2)) };
    let sizes = (1..).map(fraction).map(|share| (even(width, share), even(height, share)));
    let smaller = sizes.take_while(|&(columns, rows)| u32::from(columns) * u32::from(rows) >= LEAST_SAMPLES);
    let mut ladder: Vec<_> = smaller.collect();
    ladder.reverse();
    ladder.push((width, height));
    ladder
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::source::{PictureSource, Pictures};
    use legato_media::FrameRate;

    const THRESHOLDS: Thresholds = Thresholds { low_qp: 24.0, high_qp: 37.0 };

    #[test]
    fn a_ladder_is_that_of_the_shipped_profiles() {
        assert_eq!(ladder((1_280, 720)), [(320, 180), (480, 270), (640, 360), (960, 540), (1_280, 720)]);
        assert_eq!(ladder((640, 480)), [(320, 240), (480, 360), (640, 480)]);
        assert_eq!(ladder((320, 180)), [(320, 180)]);
        assert_eq!(ladder((64, 64)), [(64, 64)]);
    }

    #[test]
    fn a_call_that_starts_low_starts_small_and_its_pictures_keep_their_numbers() {
        let mut sizes = Sizes::new((640, 360), THRESHOLDS, true).unwrap();
        assert!(sizes.steps(Timestamp::ZERO, DataRate::from_kbps(200)));
        assert_eq!((sizes.size(), sizes.place()), ((320, 180), 0));
        let source = PictureSource::Generated { width: 640, height: 360, frame_rate: FrameRate::THIRTY };
        let (mut whole, mut picture) = (Pictures::open(&source).unwrap(), Vec::new());
        whole.draw(0xa5_0001, &mut picture).unwrap();
        let fitted = sizes.fit(&picture, 0xa5_0001);
        assert_eq!(fitted.len(), 320 * 180 * 3 / 2);
        assert_eq!(stamp::read(fitted, 320, 1.0), Some(0xa5_0001));
        let mean = |samples: &[u8]| samples.iter().map(|&sample| u64::from(sample)).sum::<u64>() / samples.len() as u64;
        let planes = [(0..640 * 360, 0..320 * 180), (640 * 360..640 * 450, 320 * 180..320 * 225)];
        for (large, small) in planes {
            assert!(mean(&picture[large]).abs_diff(mean(&fitted[small])) < 2);
        }
    }

    #[test]
    fn pictures_stay_as_they_are_where_nothing_adapts() {
        let mut sizes = Sizes::new((640, 360), THRESHOLDS, false).unwrap();
        assert!(!sizes.steps(Timestamp::ZERO, DataRate::from_kbps(100)));
        assert_eq!(sizes.fit(&[5; 9], 1), [5; 9]);
        assert_eq!(sizes.size(), (640, 360));
    }
}
