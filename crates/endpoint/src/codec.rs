//! How a call carries its codec: one per call, chosen when it is set up and the only one in the offer.

use legato_call::rtp_assembly::PayloadFormat;
pub use legato_codec::Codec;
use legato_media::encoder::size_rule::Thresholds;

/// A codec's name in session descriptions.
pub fn rtp_name(codec: Codec) -> &'static str {
    match codec {
        Codec::H264 => "H264",
        Codec::Vp8 => "VP8",
        Codec::Vp9 => "VP9",
    }
}

/// Mean quantisers that change the size of pictures: libwebrtc's for the codec.
pub fn thresholds(codec: Codec) -> Thresholds {
    let (low_qp, high_qp) = match codec {
        Codec::H264 => (24.0, 37.0),
        Codec::Vp8 => (29.0, 95.0),
        Codec::Vp9 => (149.0, 205.0),
    };
    Thresholds { low_qp, high_qp }
}

/// How RTP carries a codec's frames.
pub fn payload_format(codec: Codec) -> PayloadFormat {
    match codec {
        Codec::H264 => PayloadFormat::H264,
        Codec::Vp8 => PayloadFormat::Vp8,
        Codec::Vp9 => PayloadFormat::Vp9,
    }
}
