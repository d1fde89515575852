//! From packets to what a viewer sees: assembly, decoding, playout, and how good the pictures are.

pub mod assembly;
pub mod decoder;
pub mod joining;
pub mod playback;
pub mod seen;
pub mod viewed;
pub mod viewer;
pub mod vmaf;
