//! A video codec whose every packet decodes alone: a loss costs quality, not the frame.
//!
//! Motion-compensated and without learned parts: blocks of 8x8 pixels displaced by quarters of a pixel and overlapped,
//! an integer cosine transform, and range coding with models that each packet begins anew. Neighbouring macroblocks
//! travel in different packets, so that a lost packet leaves holes with neighbours around. The sender hears which
//! packets of which frames came, decodes what the receiver could, and predicts from that. All arithmetic of the format
//! is in integers. docs/reference/codec-format.md describes the bytes, docs/concepts/hybrid-codec.md has measurements.
//!
//! ```
//! use legato_hybrid::{Decoder, Encoder, Picture, Settings, Size};
//!
//! let size = Size::new(64, 48)?;
//! let picture = Picture::from_planar(size, &[100; 64 * 48 * 3 / 2])?;
//! let (mut encoder, mut decoder) = (Encoder::new(size, Settings::default()), Decoder::new());
//! let coded = encoder.encode(&picture, 1200)?;
//! let packets: Vec<&[u8]> = coded.packets.iter().map(Vec::as_slice).collect();
//! let decoded = decoder.decode(&packets)?;
//! encoder.acknowledge(decoded.frame, &decoded.received);
//! assert_eq!(decoded.picture.size(), size);
//! # Ok::<(), legato_hybrid::Error>(())
//! ```

mod census;
mod coefficients;
mod conceal;
mod contexts;
mod costs;
mod deblock;
mod decoder;
mod encoder;
mod error;
mod guesses;
mod initial;
mod interleave;
mod logarithm;
mod macroblock;
mod motion;
mod motion_copy;
mod packet;
mod picture;
mod pixel_sum;
mod places;
mod plane;
mod prediction;
mod quantise;
mod range_coder;
mod rate;
mod reconstruct;
mod reference;
mod resilience;
mod search;
mod shown;
mod size_curve;
mod step;
mod transform;

pub use census::Census;
pub use decoder::{Decoded, Decoder};
pub use encoder::{Coded, Encoder, PredictFrom, Settings};
pub use error::Error;
pub use legato_units::PacketSet;
pub use packet::{Header, MOST_DISTANCE};
pub use picture::{Picture, Size};
pub use resilience::Resilience;
pub use shown::{Origin, ShownMacroblock};
