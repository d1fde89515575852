//! The offer of a call and its answer (RFC 8866, RFC 8829): one video stream from us in one codec, with retransmission,
//! transport-wide feedback, no simulcast, no audio. Written and parsed here instead of by the WebRTC library, because the
//! retransmission and padding packets are ours too: the library must treat them as separate streams.

use crate::connection::other_end::OtherEnd;
use crate::connection::{PARITY_NAME, coded_psnr};
use crate::error::Error;
use legato_codec::{Coding, RtpFormat};
use legato_media::packet::{FEC_SSRC, RTX_SSRC, VIDEO_SSRC};
use std::fmt::Write;
use std::net::SocketAddr;

/// Payload type of the video.
pub const VIDEO_PT: u8 = 102;
/// Payload type of its retransmission (RFC 4588).
pub const RTX_PT: u8 = 103;
/// Payload type of padding. It is not in an offer to browsers: they count such packets in their feedback and then
/// discard them, which is the purpose of padding.
pub const PADDING_PT: u8 = 104;
/// Stream of padding, towards a Legato end.
pub const PADDING_SSRC: u32 = 0x1e6a_0005;
/// Payload type of parity (`legato_wire::parity`), towards a Legato end.
pub const PARITY_PT: u8 = 105;
/// Identifier of the header extension with the transport-wide number …
pub const TRANSPORT_SEQ_ID: u8 = 1;
/// … of the one with the departure time, and of the one with the frame's PSNR, for ends that use them.
pub const SEND_TIME_ID: u8 = 2;
/// As above.
pub const CODED_PSNR_ID: u8 = 3;
/// URI of the first.
pub const TRANSPORT_SEQ_URI: &str = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";

/// URI of the second.
const SEND_TIME_URI: &str = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time";

/// What the offer states about this end.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// Where the socket listens.
    pub address: SocketAddr,
    /// What the video is coded with.
    pub coding: Coding,
    /// The end it is for.
    pub other: OtherEnd,
    /// ICE user name fragment …
    pub ufrag: &'a str,
    /// … and password.
    pub password: &'a str,
    /// Of the DTLS certificate: `sha-256 AB:CD:…`.
    pub fingerprint: &'a str,
}

impl Offer<'_> {
    /// The session description.
    pub fn to_sdp(&self) -> String {
        let (ip, port) = (self.address.ip(), self.address.port());
        let mut sdp = String::new();
        let mut line = |text: std::fmt::Arguments<'_>| {
            // Writing to a string does not fail.
            let _ = write!(sdp, "{text}\r\n");
        };
        line(format_args!("v=0"));
        line(format_args!("o=- 1 1 IN IP4 {ip}"));
        line(format_args!("s=-"));
        line(format_args!("t=0 0"));
        line(format_args!("a=group:BUNDLE 0"));
        let ours = self.other != OtherEnd::Browser;
        let parity = self.other.takes_parity(self.coding);
        let further = [(ours, PADDING_PT), (parity, PARITY_PT)];
        let further: String = further.iter().filter(|(has, _)| *has).map(|(_, kind)| format!(" {kind}")).collect();
        line(format_args!("m=video {port} UDP/TLS/RTP/SAVPF {VIDEO_PT} {RTX_PT}{further}"));
        line(format_args!("c=IN IP4 {ip}"));
        line(format_args!("a=candidate:1 1 udp 2130706431 {ip} {port} typ host"));
        line(format_args!("a=end-of-candidates"));
        line(format_args!("a=ice-ufrag:{}", self.ufrag));
        line(format_args!("a=ice-pwd:{}", self.password));
        line(format_args!("a=fingerprint:{}", self.fingerprint));
        // The other end chooses which begins the DTLS handshake.
        line(format_args!("a=setup:actpass"));
        line(format_args!("a=mid:0"));
        line(format_args!("a=extmap:{TRANSPORT_SEQ_ID} {TRANSPORT_SEQ_URI}"));
        if self.other.steers() {
            line(format_args!("a=extmap:{SEND_TIME_ID} {SEND_TIME_URI}"));
            line(format_args!("a=extmap:{CODED_PSNR_ID} {}", coded_psnr::URI));
        }
        line(format_args!("a=sendonly"));
        line(format_args!("a=msid:legato video"));
        line(format_args!("a=rtcp-mux"));
        line(format_args!("a=rtcp-rsize"));
        let RtpFormat { name, parameters } = self.coding.codec().rtp;
        line(format_args!("a=rtpmap:{VIDEO_PT} {name}/90000"));
        let repair: &[&str] = if self.coding.shows_in_part() { &[] } else { &["nack"] };
        for feedback in repair.iter().chain(&["nack pli", "ccm fir", "transport-cc"]) {
            line(format_args!("a=rtcp-fb:{VIDEO_PT} {feedback}"));
        }
        if self.other.steers() {
            line(format_args!("a=rtcp-fb:{VIDEO_PT} goog-remb"));
        }
        if let Some(parameters) = parameters {
            line(format_args!("a=fmtp:{VIDEO_PT} {parameters}"));
        }
        line(format_args!("a=rtpmap:{RTX_PT} rtx/90000"));
        line(format_args!("a=fmtp:{RTX_PT} apt={VIDEO_PT}"));
        line(format_args!("a=ssrc-group:FID {VIDEO_SSRC} {RTX_SSRC}"));
        line(format_args!("a=ssrc:{VIDEO_SSRC} cname:legato"));
        line(format_args!("a=ssrc:{RTX_SSRC} cname:legato"));
        if ours {
            // Another mode, so that the two are not confused.
            line(format_args!("a=rtpmap:{PADDING_PT} H264/90000"));
            line(format_args!("a=rtcp-fb:{PADDING_PT} transport-cc"));
            line(format_args!("a=fmtp:{PADDING_PT} packetization-mode=0;profile-level-id=42e01f"));
            line(format_args!("a=ssrc:{PADDING_SSRC} cname:legato"));
        }
        if parity {
            line(format_args!("a=rtpmap:{PARITY_PT} {PARITY_NAME}/90000"));
            line(format_args!("a=rtcp-fb:{PARITY_PT} transport-cc"));
            line(format_args!("a=ssrc:{FEC_SSRC} cname:legato"));
        }
        sdp
    }
}

/// What the answer states about the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The other end begins the DTLS handshake, as browsers do.
    pub begins_dtls: bool,
    /// ICE user name fragment.
    pub ufrag: String,
    /// ICE password.
    pub password: String,
    /// Of the DTLS certificate: `sha-256 AB:CD:…`.
    pub fingerprint: String,
    /// `candidate:…` lines, without the `a=`.
    pub candidates: Vec<String>,
}

/// The maximum length; no answer of a browser is longer.
const MAX_SDP_BYTES: usize = 64 << 10;

impl Answer {
    /// Parse an answer to our offer of video in `coding`; refuses one that does not accept the offer.
    pub fn parse(sdp: &str, coding: Coding) -> Result<Self, Error> {
        let refused = |what: &str| Error::Sdp(format!("the answer of the other end: {what}"));
        if sdp.len() > MAX_SDP_BYTES {
            return Err(refused("more than 64 KiB"));
        }
        let lines = || sdp.lines().map(str::trim_end);
        let value = |key: &str| lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
        let needed = |key: &str| value(key).ok_or_else(|| refused(&format!("no line {key}")));
        let media = needed("m=video ")?;
        if media.starts_with("0 ") {
            return Err(refused("it takes no video"));
        }
        if !media.split(' ').skip(2).any(|format| format == VIDEO_PT.to_string()) {
            let name = coding.codec().rtp.name;
            return Err(refused(&format!("it cannot decode {name}: a build of the browser with that codec is needed")));
        }
        if !lines().any(|line| line == format!("a=extmap:{TRANSPORT_SEQ_ID} {TRANSPORT_SEQ_URI}")) {
            return Err(refused("it gives no transport-wide feedback"));
        }
        let begins_dtls = match needed("a=setup:")?.as_str() {
            "active" => true,
            "passive" => false,
            other => return Err(refused(&format!("a=setup:{other}, where active or passive is needed"))),
        };
        let answer = Self {
            begins_dtls,
            ufrag: needed("a=ice-ufrag:")?,
            password: needed("a=ice-pwd:")?,
            fingerprint: needed("a=fingerprint:")?,
            candidates: lines()
                .filter_map(|line| line.strip_prefix("a="))
                .filter(|line| line.starts_with("candidate:"))
                .map(str::to_owned)
                .collect(),
        };
        if !answer.fingerprint.to_ascii_lowercase().starts_with("sha-256 ") {
            return Err(refused(&format!("a=fingerprint:{}: not of SHA-256", answer.fingerprint)));
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_codec::Recovery;

    fn answer(setup: &str, media: &str) -> String {
        format!(
            "v=0\r\n{media}\r\na=ice-ufrag:ab\r\na=ice-pwd:cd\r\na=fingerprint:sha-256 00:11\r\n{setup}\r\n\
             a=extmap:1 {TRANSPORT_SEQ_URI}\r\na=candidate:1 1 udp 5 127.0.0.1 9 typ host\r\n"
        )
    }

    #[test]
    fn the_answer_to_an_offer_is_read() {
        let read =
            Answer::parse(&answer("a=setup:active", "m=video 9 UDP/TLS/RTP/SAVPF 102 103"), Coding::default()).unwrap();
        assert_eq!((read.ufrag.as_str(), read.password.as_str()), ("ab", "cd"));
        assert!(read.begins_dtls);
        assert_eq!(read.candidates, ["candidate:1 1 udp 5 127.0.0.1 9 typ host"]);
    }

    #[test]
    fn unusable_answers_are_refused_with_the_reason() {
        let media = "m=video 9 UDP/TLS/RTP/SAVPF 102 103";
        let cases = [
            (answer("a=setup:holdconn", media), "a=setup:holdconn, where active or passive is needed"),
            (answer("a=setup:active", "m=video 0 UDP/TLS/RTP/SAVPF 102"), "it takes no video"),
            (answer("a=setup:active", "m=video 9 UDP/TLS/RTP/SAVPF 96"), "it cannot decode H264"),
            (String::new(), "no line m=video"),
        ];
        for (sdp, why) in cases {
            let error = Answer::parse(&sdp, Coding::default()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_offer_names_the_socket_and_both_streams() {
        let address = "127.0.0.1:5004".parse().unwrap();
        let of_coding = |coding, other| {
            Offer { address, coding, other, ufrag: "u", password: "p", fingerprint: "sha-256 AA" }.to_sdp()
        };
        let of = |codec, other| of_coding(Coding::new(codec, Recovery::Nack).unwrap(), other);
        let sdp = of("h264", OtherEnd::Browser);
        assert!(sdp.contains("a=candidate:1 1 udp 2130706431 127.0.0.1 5004 typ host\r\n"));
        assert!(sdp.contains(&format!("a=ssrc-group:FID {VIDEO_SSRC} {RTX_SSRC}\r\n")));
        assert!(sdp.contains("a=rtpmap:102 H264/90000\r\n") && sdp.contains("a=fmtp:102 level"));
        assert!(!sdp.contains(SEND_TIME_URI) && !sdp.contains(&format!("a=ssrc:{PADDING_SSRC}")));
        let sdp = of("h264", OtherEnd::Ours { steers: true });
        assert!(sdp.contains(SEND_TIME_URI) && sdp.contains(&format!("a=ssrc:{PADDING_SSRC}")));
        assert!(sdp.contains("SAVPF 102 103 104 105\r\n") && sdp.contains("a=rtpmap:105 x-legato-parity/90000\r\n"));
        // [rfc7741] §6.2.1: VP8 has only its name and clock.
        let sdp = of("vp8", OtherEnd::Browser);
        assert!(sdp.contains("a=rtpmap:102 VP8/90000\r\n") && !sdp.contains("a=fmtp:102"));
        let sdp = of("vp9", OtherEnd::Browser);
        assert!(sdp.contains("a=rtcp-fb:102 nack\r\n"));
        assert!(sdp.contains("a=rtpmap:102 VP9/90000\r\n") && sdp.contains("a=fmtp:102 profile-id=0\r\n"));
        assert!(!sdp.contains("x-legato-parity"));
        for coding in Coding::all().filter(|coding| coding.shows_in_part()) {
            let sdp = of_coding(coding, OtherEnd::Ours { steers: false });
            let name = coding.codec().rtp.name;
            assert!(
                sdp.contains(&format!("a=rtpmap:102 {name}/90000\r\n")) && sdp.contains("a=rtcp-fb:102 nack pli\r\n")
            );
            assert!(!sdp.contains("a=rtcp-fb:102 nack\r\n"), "nothing is sent again");
            assert!(!sdp.contains("x-legato-parity"));
        }
    }
}
