//! Stand-in names for codecs that the WebRTC library does not know.
//!
//! It knows no codec but its own, and it reads no payload here: so the hybrid codec and parity go under names of codecs
//! that it knows, no two under one. Session descriptions have the true names: an offer is translated before the library
//! reads it, and its answer is translated back.

use crate::connection::PARITY_NAME;
use crate::connection::offered::OfferedVideo;
use legato_codec::RtpFormat;
use str0m::RtcConfig;
use str0m::format::{Codec, FormatParams};

/// Codecs whose names stand for others.
const STAND_INS: [RtpFormat; 2] =
    [RtpFormat { name: "VP8", parameters: None }, RtpFormat { name: "VP9", parameters: Some("profile-id=0") }];

/// A format that the library knows: the same, or one that stands for it.
fn known(format: RtpFormat) -> RtpFormat {
    if Codec::from(format.name).is_video() { format } else { STAND_INS[0] }
}

/// The library's codec and parameters for a format.
pub fn library_format(format: RtpFormat) -> (Codec, FormatParams) {
    let RtpFormat { name, parameters } = known(format);
    (name.into(), parameters.map(FormatParams::parse_line).unwrap_or_default())
}

/// The names of one offer, and those the library reads instead.
#[derive(Debug)]
pub struct KnownNames {
    video: RtpFormat,
    parity: Option<RtpFormat>,
    /// Payload type, true name, and its stand-in.
    translated: Vec<(u8, &'static str, RtpFormat)>,
}

impl KnownNames {
    /// Of an offer of video in this format.
    pub fn new(format: RtpFormat, offered: &OfferedVideo) -> Self {
        let video = known(format);
        let other = STAND_INS.into_iter().find(|stand_in| stand_in.name != video.name);
        let parity = other.filter(|_| !offered.parity.is_empty());
        let renamed = offered.types.iter().filter(|_| video != format).map(|&kind| (kind, format.name, video));
        let repairs = parity.into_iter().flat_map(|parity| offered.parity.iter().map(move |&kind| (kind, parity)));
        let repairs = repairs.map(|(kind, parity)| (kind, PARITY_NAME, parity));
        Self { video, parity, translated: renamed.chain(repairs).collect() }
    }

    /// Enable the codecs that this offer needs.
    pub fn enable(&self, config: RtcConfig) -> RtcConfig {
        let uses = |name| self.video.name == name || self.parity.is_some_and(|parity| parity.name == name);
        // Padding of a Legato end is offered as H.264, whatever the video is.
        config.clear_codecs().enable_h264(true).enable_vp8(uses("VP8")).enable_vp9(uses("VP9"))
    }

    /// The offer as the library is to read it.
    pub fn in_offer(&self, offer: &str) -> String {
        self.translated.iter().fold(offer.to_owned(), |offer, (kind, name, known)| {
            let parameters = known.parameters.map(|parameters| format!("a=fmtp:{kind} {parameters}\r\n"));
            let lines = format!("{}{}", parameters.unwrap_or_default(), line(*kind, known.name));
            offer.replace(&line(*kind, name), &lines)
        })
    }

    /// The library's answer as the other end is to read it.
    pub fn in_answer(&self, answer: &str) -> String {
        self.translated.iter().fold(answer.to_owned(), |answer, (kind, name, known)| {
            answer.replace(&line(*kind, known.name), &line(*kind, name))
        })
    }
}

fn line(kind: u8, name: &str) -> String {
    format!("a=rtpmap:{kind} {name}/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::connection::other_end::OtherEnd;
    use crate::connection::sdp::Offer;
    use legato_codec::{Coding, Recovery};
    use str0m::change::SdpOffer;

    /// The library takes the video, its padding and its parity, whatever it calls them.
    #[test]
    fn the_library_takes_the_video_and_its_parity() {
        let address = "127.0.0.1:5004".parse().unwrap();
        let fingerprint = format!("sha-256 {}", vec!["AB"; 32].join(":"));
        for name in legato_codec::CODECS.iter().map(|codec| codec.name) {
            let coding = Coding::new(name, Recovery::Nack).unwrap();
            let (other, ufrag, password) = (OtherEnd::Ours { steers: true }, "user", "a-password-of-22-bytes");
            let offer = Offer { address, coding, other, ufrag, password, fingerprint: &fingerprint }.to_sdp();
            let (format, video) = (coding.codec().rtp, OfferedVideo::of(&offer, coding));
            let parity: &[u8] = if coding.shows_in_part() { &[] } else { &[105] };
            // Padding is offered as H.264.
            assert!(video.types.contains(&102) && video.parity == parity, "{name}: {video:?}");
            let names = KnownNames::new(format, &video);
            let read = names.in_offer(&offer);
            assert!(!read.contains("x-legato-"), "{read}");
            let base = Clock::starting_now();
            let mut rtc = names.enable(RtcConfig::new()).set_rtp_mode(true).build(base.instant(base.now()));
            let parsed = SdpOffer::from_sdp_string(&read).unwrap();
            let answer = names.in_answer(&rtc.sdp_api().accept_offer(parsed).unwrap().to_sdp_string());
            let media = answer.lines().find(|line| line.starts_with("m=video ")).unwrap();
            let taken: Vec<&str> = media.split(' ').skip(3).collect();
            assert!(taken.contains(&"102") && (parity.is_empty() || taken.contains(&"105")), "{name}: {media}");
            assert!(answer.contains(&format!("a=rtpmap:102 {}/90000", format.name)), "{answer}");
        }
    }
}
