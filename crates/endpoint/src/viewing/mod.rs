//! From packets to what a viewer sees: assembly, decoding, playout, and the quality of the pictures.

mod assembly;
#[cfg(test)]
mod assembly_tests;
pub mod decoder;
pub mod seen;
pub mod viewed;
pub mod viewer;
pub mod vmaf;
