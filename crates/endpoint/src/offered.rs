//! What a receiving end reads of another's offer beside what the WebRTC library reads: which packets are the video,
//! and which repeat it.

/// The video of an offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedVideo {
    /// Its stream, where the offer names it together with that of its retransmission.
    pub ssrc: Option<u32>,
    /// Payload types of H.264.
    pub h264: Vec<u8>,
    /// Payload types of retransmission.
    pub repair: Vec<u8>,
}

impl OfferedVideo {
    /// Read it; what is not there is absent.
    pub fn of(sdp: &str) -> Self {
        let lines = || sdp.lines().map(str::trim_end);
        let types = |codec: &str| {
            let maps = lines().filter_map(|line| line.strip_prefix("a=rtpmap:")?.split_once(' '));
            maps.filter(|(_, name)| name.starts_with(codec)).filter_map(|(number, _)| number.parse().ok()).collect()
        };
        // RFC 5576 §4.2, RFC 4588 §8.1: first the stream, then that which repairs it.
        let pair = lines().find_map(|line| line.strip_prefix("a=ssrc-group:FID "));
        let ssrc = pair.and_then(|pair| pair.split(' ').next()?.parse().ok());
        Self { ssrc, h264: types("H264/"), repair: types("rtx/") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_video_is_the_first_of_the_pair_and_types_go_by_their_codec() {
        let sdp = "a=rtpmap:96 H264/90000\r\na=rtpmap:97 rtx/90000\r\na=rtpmap:98 VP8/90000\r\n\
                   a=rtpmap:110 rtx/90000\r\na=ssrc-group:FID 17 18\r\na=ssrc:17 cname:x\r\n";
        let video = OfferedVideo { ssrc: Some(17), h264: vec![96], repair: vec![97, 110] };
        assert_eq!(OfferedVideo::of(sdp), video);
        assert_eq!(OfferedVideo::of("a=rtpmap:x rtx/90000\r\na=ssrc-group:FID y\r\n"), OfferedVideo::default());
    }
}
