//! The parts of another end's offer that the WebRTC library does not read: which packets are the video, and which
//! repeat it.

use crate::connection::PARITY_NAME;
use legato_codec::Coding;

/// The video of an offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedVideo {
    /// Its stream, if the offer names it together with that of its retransmission.
    pub ssrc: Option<u32>,
    /// Payload types of the codec.
    pub types: Vec<u8>,
    /// Payload types of retransmission.
    pub repair: Vec<u8>,
    /// Payload types of parity.
    pub parity: Vec<u8>,
}

impl OfferedVideo {
    /// Read it, in this coding; what is missing is absent.
    pub fn of(sdp: &str, coding: Coding) -> Self {
        // RFC 5576 §4.2, RFC 4588 §8.1: first the stream, then the one that repairs it.
        let pair = sdp.lines().find_map(|line| line.trim_end().strip_prefix("a=ssrc-group:FID "));
        let ssrc = pair.and_then(|pair| pair.split(' ').next()?.parse().ok());
        let video = types(sdp, coding.codec().rtp.name);
        Self { ssrc, types: video, repair: repair_types(sdp), parity: types(sdp, PARITY_NAME) }
    }
}

/// Payload types of retransmission in a session description.
pub fn repair_types(sdp: &str) -> Vec<u8> {
    types(sdp, "rtx")
}

fn types(sdp: &str, codec: &str) -> Vec<u8> {
    let maps = sdp.lines().filter_map(|line| line.strip_prefix("a=rtpmap:")?.split_once(' '));
    let named = maps.filter_map(|(number, name)| name.split_once('/').map(|(name, _)| (number, name)));
    named.filter(|(_, name)| *name == codec).filter_map(|(number, _)| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_codec::Recovery;

    #[test]
    fn the_video_is_the_first_of_the_pair_and_types_match_their_codec() {
        let sdp = "a=rtpmap:96 H264/90000\r\na=rtpmap:97 rtx/90000\r\na=rtpmap:98 VP8/90000\r\na=rtpmap:99 VP9/90000\r\n\
                   a=rtpmap:110 rtx/90000\r\na=rtpmap:111 x-legato-parity/90000\r\na=ssrc-group:FID 17 18\r\na=ssrc:17 cname:x\r\n";
        let video = |types| OfferedVideo { ssrc: Some(17), types, repair: vec![97, 110], parity: vec![111] };
        for (codec, payload_type) in [("h264", 96), ("vp8", 98), ("vp9", 99)] {
            let coding = Coding::new(codec, Recovery::Nack).unwrap();
            assert_eq!(OfferedVideo::of(sdp, coding), video(vec![payload_type]));
        }
        let nothing = "a=rtpmap:x rtx/90000\r\na=ssrc-group:FID y\r\n";
        assert_eq!(OfferedVideo::of(nothing, Coding::default()), OfferedVideo::default());
    }
}
