//! Versions of a frame around the last one kept: how [fouladi2018] has its encoder search for the
//! frame size that the network takes at the moment.
//!
//! There a functional codec, whose state is a value, codes each picture twice, slightly finer and slightly coarser than
//! the last frame sent, and the sender keeps one of the two, or neither. Here the state of every model is a value too:
//! a copy of it codes a version, and the encoder itself codes the version that is kept again. Missing: coding against
//! any state that the receiver has acknowledged.

/// Which version of a frame to code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// By the bitrate.
    #[default]
    Budgeted,
    /// A step below the quality of the last frame, whatever the bitrate.
    Coarser,
    /// A step above the quality of the last frame, whatever the bitrate.
    Finer,
}

impl Version {
    /// Added to the last frame's quantiser, in QP of H.264; `None`: the bitrate decides.
    #[inline]
    pub(super) fn qp_step(self) -> Option<f32> {
        match self {
            Self::Budgeted => None,
            Self::Coarser => Some(COARSER_QP),
            Self::Finer => Some(FINER_QP),
        }
    }

    /// The same as log2 of the last frame's size, for models without a quantiser.
    #[inline]
    pub(super) fn log2_size_step(self) -> Option<f32> {
        self.qp_step().map(|step| step * -LOG2_SIZE_PER_QP)
    }
}

/// The public encoder of [fouladi2018] moves VP8's quantiser index, 0 to 127, by 17 down and 23 up.
/// From the middle of the scale, 64, that is a quantiser of 78 to 51 and to 128: log2 of the ratios,
/// six QP to the doubling, is 3.7 down and 4.3 up.
const FINER_QP: f32 = -3.7;
const COARSER_QP: f32 = 4.3;
/// A frame halves in some four QP.
const LOG2_SIZE_PER_QP: f32 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    /// [fouladi2018], worked by hand: 6 log2(51 / 78) = -3.68, 6 log2(128 / 78) = 4.29.
    #[test]
    fn steps_are_those_of_the_papers_quantiser_index() {
        let qp = |ratio: f64| (6.0 * libm::log2(ratio)) as f32;
        assert!((qp(51.0 / 78.0) - FINER_QP).abs() < 0.05);
        assert!((qp(128.0 / 78.0) - COARSER_QP).abs() < 0.05);
        assert_eq!(Version::Finer.log2_size_step(), Some(0.925));
        assert_eq!(Version::Budgeted.qp_step(), None);
    }
}
