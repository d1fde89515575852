//! A frame coded twice, of which the sender takes the one that fits the network at the moment: [fouladi2018].
//!
//! Each picture is tried slightly finer and slightly coarser than the last frame sent; the larger one
//! that fits is sent, or neither. This replaces a rate control that is off by a factor by a choice that
//! is never wrong by more than one frame. A picture costs up to three codings of the model here: two on
//! copies of the encoder, and the chosen one again on the encoder itself.
//!
//! The paper says only that the sender may skip a frame; its public sender skips at most three in a
//! row and then sends the smaller version whatever the budget: so do we.

use legato_media::{EncodedFrame, Encoder, EncoderBudget, SourceFrame, Version};
use legato_units::{DataSize, Timestamp};

/// Pictures skipped since the last one sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestOfTwo {
    left_out: u32,
}

impl BestOfTwo {
    /// The frame of `picture` to send, coded; `None`: none fits `budget.max_frame_size`, or the encoder works in
    /// parallel with the call.
    pub fn code(
        &mut self,
        encoder: &mut dyn Encoder,
        now: Timestamp,
        picture: SourceFrame,
        budget: EncoderBudget,
    ) -> Option<EncodedFrame> {
        let most = budget.max_frame_size.unwrap_or(DataSize::MAX);
        let asked = |version| EncoderBudget { max_frame_size: None, version, ..budget };
        let Some(finer) = encoder.try_out(now, picture, asked(Version::Finer)) else {
            // An encoder that cannot be copied keeps the size by its own means.
            return encoder.begin(now, picture, budget);
        };
        let fits = |frame: EncodedFrame| frame.size <= most;
        let version = if fits(finer) {
            Version::Finer
        } else if self.left_out == MOST_LEFT_OUT
            || encoder.try_out(now, picture, asked(Version::Coarser)).is_some_and(fits)
        {
            Version::Coarser
        } else {
            self.left_out += 1;
            return None;
        };
        self.left_out = 0;
        encoder.begin(now, picture, asked(version))
    }
}

/// The maximum number of consecutive skipped pictures in the public sender of [fouladi2018].
const MOST_LEFT_OUT: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_media::encoder::statistical::{Config, Statistical};
    use legato_media::{Content, FrameRate, Source};
    use legato_units::DataRate;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    struct Camera {
        encoder: Statistical,
        source: Source,
        choice: BestOfTwo,
    }

    impl Camera {
        /// No noise: a frame has 960,000 / 8 / 30 = 4,000 bytes, its versions 4,000 x 2^0.925 = 7,594 and
        /// 4,000 x 2^-1.075 = 1,898.
        fn new() -> Self {
            let config = Config { size_scale_ratio: 0.0, max_bitrate_bps: 3_000_000, ..Config::default() };
            Self {
                encoder: Statistical::new(config, FrameRate::THIRTY, ChaCha8Rng::seed_from_u64(1)),
                source: Source::new(Content::unmeasured(FrameRate::THIRTY), Timestamp::ZERO, 0),
                choice: BestOfTwo::default(),
            }
        }
        fn size(&mut self, most: u64) -> Option<u64> {
            let picture = self.source.capture();
            let budget = EncoderBudget {
                max_frame_size: Some(DataSize::from_bytes(most)),
                ..EncoderBudget::of_bitrate(DataRate::from_kbps(960))
            };
            let coded = self.choice.code(&mut self.encoder, picture.capture, picture, budget);
            coded.map(|frame| frame.size.as_bytes())
        }
    }

    #[test]
    fn the_larger_version_that_fits_is_sent() {
        assert_eq!(Camera::new().size(7_594), Some(7_594));
        assert_eq!(Camera::new().size(7_593), Some(1_898));
        assert_eq!(Camera::new().size(1_897), None);
    }

    /// A skipped picture changes nothing: the versions of the next are those of this.
    #[test]
    fn after_three_skipped_pictures_the_smaller_version_is_sent_anyway() {
        let mut camera = Camera::new();
        let sizes: Vec<_> = (0..5).map(|_| camera.size(1_000)).collect();
        // 1,898 fits nothing; the step after it, 1,898 x 2^-1.075 = 901, fits.
        assert_eq!(sizes, [None, None, None, Some(1_898), Some(901)]);
    }

    #[test]
    fn frames_grow_to_the_largest_that_fits_and_stay_around_it() {
        let mut camera = Camera::new();
        let sizes: Vec<_> = (0..40).map(|_| camera.size(5_000).unwrap()).collect();
        assert!(sizes[10..].iter().all(|&size| size <= 5_000));
        let mean = sizes[10..].iter().sum::<u64>() / 30;
        assert!((2_500..=4_000).contains(&mean), "{mean}");
    }
}
