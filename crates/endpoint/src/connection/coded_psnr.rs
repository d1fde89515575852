//! The encoder's report on a frame, with each of its packets: the luma PSNR, in a header extension of Legato.
//!
//! A receiver-side controller may use it ([clcc]), and no standard carries it. Two bytes, in units of 1/256 dB, zero if
//! there is no report: always the same length, so that packets are as large as the sender counts them.

use str0m::rtp::{Extension, ExtensionSerializer, ExtensionValues};

/// As it is on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodedPsnr(u16);

/// The extension's name.
pub const URI: &str = "urn:x-legato:coded-psnr";
const UNITS_PER_DB: f32 = 256.0;

/// The extension, for a configuration.
pub fn extension() -> Extension {
    Extension::with_serializer(URI, Serializer)
}

impl CodedPsnr {
    /// From the encoder's figure, up to 255 dB.
    pub fn of_db(psnr_db: Option<f32>) -> Self {
        Self(psnr_db.map_or(0, |db| (db * UNITS_PER_DB) as u16))
    }

    /// The figure, if there is one.
    pub fn db(self) -> Option<f32> {
        (self.0 > 0).then(|| f32::from(self.0) / UNITS_PER_DB)
    }
}

#[derive(Debug)]
struct Serializer;

impl ExtensionSerializer for Serializer {
    fn write_to(&self, buffer: &mut [u8], values: &ExtensionValues) -> usize {
        let CodedPsnr(units) = values.user_values.get().copied().unwrap_or_default();
        buffer[..2].copy_from_slice(&units.to_be_bytes());
        2
    }

    fn parse_value(&self, bytes: &[u8], values: &mut ExtensionValues) -> bool {
        let &[high, low] = bytes else { return false };
        values.user_values.set(CodedPsnr(u16::from_be_bytes([high, low])));
        true
    }

    fn is_video(&self) -> bool {
        true
    }

    fn is_audio(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_preserved_to_the_256th_of_a_decibel() {
        for (told, heard) in
            [(Some(38.123), Some(38.121_094)), (None, None), (Some(-3.0), None), (Some(1e9), Some(255.996_1))]
        {
            let mut values = ExtensionValues::default();
            values.user_values.set(CodedPsnr::of_db(told));
            let mut bytes = [9; 4];
            assert_eq!(Serializer.write_to(&mut bytes, &values), 2);
            let mut read = ExtensionValues::default();
            assert!(Serializer.parse_value(&bytes[..2], &mut read));
            assert_eq!(read.user_values.get().copied().and_then(CodedPsnr::db), heard);
        }
        assert!(!Serializer.parse_value(&[1], &mut ExtensionValues::default()));
        assert_eq!(Serializer.write_to(&mut [0; 2], &ExtensionValues::default()), 2);
    }
}
