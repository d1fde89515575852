//! The media of a call: pictures, encoders, packets' contents, decoders and what the viewer saw.
//!
//! Encoders and decoders are models: they give a frame's size and quality from tables measured with
//! real encoders on real clips ([`Profile`]), and hold no pixels. All arithmetic is deterministic:
//! the same calls give the same bits on every machine.

pub mod decoder;
pub mod encoder;
pub mod frame_buffer;
mod grace_standin;
mod jitter_buffer;
pub mod jitter_estimator;
mod laplace;
pub mod ledger;
pub mod pacer;
pub mod packet;
pub mod packetizer;
mod picture_rate;
pub mod playout;
pub mod profile;
pub mod quality;
mod source;

pub use decoder::{AssembledFrame, DecodedFrame, Decoder, DecoderKind};
pub use encoder::{EncodedFrame, Encoder, EncoderBudget, Version};
pub use jitter_buffer::JitterBuffer;
pub use picture_rate::PictureRate;
pub use profile::Profile;
pub use quality::Quality;
pub use source::{Content, FrameRate, Playback, Source, SourceFrame};
