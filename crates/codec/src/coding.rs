//! What the video of a call is coded with: a codec, and how it recovers from losses.

use crate::table::{self, CODECS};
use crate::{
    Assembly, CallCodec, CodedFrame, EncoderSettings, Error, LiveEncoder, PacketCost, Payloads, Playback, Recovery,
    Stream,
};
use std::fmt;

/// A codec together with a recovery that it can.
#[derive(Clone, Copy)]
pub struct Coding {
    codec: &'static CallCodec,
    stream: &'static Stream,
}

impl Coding {
    /// The codec of this name, recovering as asked. [`Recovery::Nack`] asks for what the codec does by itself. Refuses an
    /// unknown codec, and a recovery that it cannot; [`CallCodec::check`] says whether this build codes it.
    pub fn new(codec: &str, recovery: Recovery) -> Result<Self, Error> {
        let codec = table::find(codec)?;
        let own = codec.streams.first().filter(|_| recovery == Recovery::default());
        let stream = codec.recovering_by(recovery).or(own).ok_or_else(|| cannot(codec, recovery))?;
        Ok(Self { codec, stream })
    }

    /// All that this build can code and decode.
    pub fn all() -> impl Iterator<Item = Self> {
        let codecs = CODECS.iter().filter(|codec| (codec.check)().is_ok());
        codecs.flat_map(|&codec| codec.streams.iter().map(move |stream| Self { codec, stream }))
    }

    /// The codec.
    pub fn codec(self) -> &'static CallCodec {
        self.codec
    }

    /// The name in tables of our own encoder and decoder.
    pub fn label(self) -> &'static str {
        self.stream.label
    }

    /// Whether incomplete frames are shown, and no packet is requested again.
    pub fn shows_in_part(self) -> bool {
        self.stream.recovery == Recovery::References
    }

    /// Whether this build codes and decodes it; if not, why.
    pub fn check(self) -> Result<(), Error> {
        (self.codec.check)()
    }

    /// Open an encoder.
    pub fn encoder(self, settings: EncoderSettings) -> Result<Box<dyn LiveEncoder>, Error> {
        (self.stream.encoder)(settings)
    }

    /// As [`Stream::packet_cost`].
    pub fn packet_cost(self, room: u16) -> PacketCost {
        (self.stream.packet_cost)(room)
    }

    /// Cut a coded frame into the payloads of its packets, each of which leaves `room` bytes empty.
    pub fn payloads(self, frame: &CodedFrame<'_>, room: u16) -> Result<Box<dyn Payloads>, Error> {
        (self.stream.payloads)(frame, room)
    }

    /// What puts frames together from packets; nothing has come yet.
    pub fn assembly(self) -> Box<dyn Assembly> {
        (self.stream.assembly)()
    }

    /// A decoder in its initial state.
    pub fn playback(self) -> Result<Box<dyn Playback>, Error> {
        (self.stream.playback)()
    }
}

impl CallCodec {
    fn recovering_by(&self, recovery: Recovery) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.recovery == recovery)
    }
}

impl Default for Coding {
    /// The first of the table, as it recovers by itself.
    fn default() -> Self {
        Self { codec: CODECS[0], stream: &CODECS[0].streams[0] }
    }
}

impl PartialEq for Coding {
    fn eq(&self, other: &Self) -> bool {
        (self.codec.name, self.stream.recovery) == (other.codec.name, other.stream.recovery)
    }
}

impl fmt::Debug for Coding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} by {}", self.codec.name, self.stream.recovery)
    }
}

fn cannot(codec: &CallCodec, recovery: Recovery) -> Error {
    let can = CODECS.iter().filter(|codec| codec.recovering_by(recovery).is_some());
    let names: Vec<_> = can.map(|codec| codec.name).collect();
    Error(format!("recovery {recovery}: not of codec {}: one of {} is needed", codec.name, names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wanted;

    fn refused(codec: &str, recovery: Recovery) -> String {
        Coding::new(codec, recovery).unwrap_err().to_string()
    }

    #[test]
    fn codings_are_found_by_name() {
        let h264 = Coding::new("h264", Recovery::Nack).unwrap();
        assert_eq!((h264.codec().name, h264.label()), ("h264", "openh264 (real)"));
        assert!(!h264.shows_in_part());
        let references = Coding::new("h264", Recovery::References).unwrap();
        assert!(references.shows_in_part() && references != h264);
        assert_eq!(references.label(), "openh264 references (real)");
        let names: Vec<_> = table::names().collect();
        let expected = format!("codec av1: one of {} is needed", names.join(", "));
        assert_eq!(refused("av1", Recovery::Nack), expected);
    }

    #[test]
    fn a_codec_recovers_by_itself_or_as_it_can() {
        assert!(!Coding::new("vp8", Recovery::Nack).unwrap().shows_in_part());
        let why = refused("vp8", Recovery::References);
        assert!(why.starts_with("recovery references: not of codec vp8: one of h264"), "{why}");
        let by_itself = Coding::new("hybrid", Recovery::Nack);
        #[cfg(feature = "hybrid")]
        assert!(by_itself.is_ok_and(|hybrid| hybrid.shows_in_part()));
        #[cfg(not(feature = "hybrid"))]
        assert_eq!(
            by_itself.unwrap_err().to_string(),
            "codec hybrid: not in this build, which lacks the feature hybrid"
        );
    }

    /// What one end codes the other shows, in every coding of this build.
    #[test]
    fn coded_pictures_are_shown_again() {
        let (width, height) = (64_usize, 48_usize);
        let picture = vec![100; width * height * 3 / 2];
        for coding in Coding::all() {
            let settings = EncoderSettings { size: (64, 48), frame_rate: 30.0, bitrate_bps: 100_000 };
            let mut encoder = coding.encoder(settings).unwrap();
            let mut playback = coding.playback().unwrap();
            for number in 0..3 {
                let wanted = Wanted { time_ms: number * 33, frame_rate: 30.0, bitrate_bps: 100_000, keyframe: false };
                let coded = encoder.encode(&picture, wanted).unwrap();
                assert!(encoder.encode(&picture[1..], wanted).is_err());
                let shown = playback.decode(&coded.bytes).unwrap().unwrap();
                assert_eq!((shown.width, shown.height, coded.keyframe), (width, height, number == 0));
                let error = shown.samples.iter().map(|&sample| sample.abs_diff(100)).max();
                assert!(error <= Some(2), "{coding:?}: off by {error:?}");
            }
        }
    }
}
