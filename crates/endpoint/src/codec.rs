//! How a call carries its codec: one per call, chosen when it is set up and the only one in the offer.

use legato_call::rtp_assembly::PayloadFormat;
pub use legato_codec::{Codec, Recovery};
use legato_media::encoder::size_rule::Thresholds;

/// The hybrid codec's name in session descriptions: between ends of ours, and no registered one.
pub const HYBRID_NAME: &str = "x-legato-hybrid";

/// The name of parity there, likewise.
pub const PARITY_NAME: &str = "x-legato-parity";

/// A codec's name in session descriptions.
pub fn rtp_name(codec: Codec) -> &'static str {
    match codec {
        Codec::H264 | Codec::H264References => "H264",
        Codec::Vp8 => "VP8",
        Codec::Vp9 => "VP9",
        Codec::Hybrid => HYBRID_NAME,
    }
}

/// Mean quantisers that change the size of pictures: libwebrtc's for the codec; for the hybrid one, those of the same steps as
/// H.264's, 2^((24 - 4) / 6) = 10 and 45 grey levels, where its own double every 32 from 1 on.
pub fn thresholds(codec: Codec) -> Thresholds {
    let (low_qp, high_qp) = match codec {
        Codec::H264 | Codec::H264References => (24.0, 37.0),
        Codec::Vp8 => (29.0, 95.0),
        Codec::Vp9 => (149.0, 205.0),
        Codec::Hybrid => (106.0, 176.0),
    };
    Thresholds { low_qp, high_qp }
}

/// How RTP carries frames that are of use if they are whole; `None`: what came of a frame is of use.
pub fn payload_format(codec: Codec) -> Option<PayloadFormat> {
    match codec {
        Codec::H264 => Some(PayloadFormat::H264),
        Codec::Vp8 => Some(PayloadFormat::Vp8),
        Codec::Vp9 => Some(PayloadFormat::Vp9),
        Codec::Hybrid | Codec::H264References => None,
    }
}
