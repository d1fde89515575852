//! From packets to what a viewer sees: decoding, playout, and the quality of the pictures.

pub mod decoder;
pub mod seen;
pub mod viewed;
pub mod viewer;
pub mod vmaf;
