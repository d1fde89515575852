//! From packets to what a viewer sees: assembly, decoding, playout, and how good the pictures are.

#[cfg(test)]
mod assembly_tests;
pub mod decoder;
pub mod playback;
pub mod seen;
pub mod viewed;
pub mod viewer;
pub mod vmaf;
