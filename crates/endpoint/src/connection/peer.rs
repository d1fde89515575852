//! The WebRTC connection: ICE, DTLS and SRTP by str0m in its RTP mode, without its pacing, retransmission or
//! estimation. It takes finished packets one by one and returns the RTCP of the other end as bytes.
//!
//! Here the sender makes retransmissions and padding, with the same transport-wide numbering as video. The library
//! str0m would make them itself, so it is configured with unrelated streams and payload types; the offer states their
//! meaning. Parity, which str0m does not know, is one more of them. str0m assigns transport-wide numbers from 0 in the
//! order packets leave: the very numbers of `call::Sender`, which is checked on every packet.
//!
//! Not ours: sender reports, which str0m writes. The times in them are its own; replies to them are translated
//! into the sender's.

use crate::clock::Clock;
use crate::connection::coded_psnr::{self, CodedPsnr};
use crate::connection::known_names::library_format;
use crate::connection::other_end::OtherEnd;
use crate::connection::rtcp_bytes::{Received, RtcpBytes};
use crate::connection::sdp::{
    Answer, CODED_PSNR_ID, Offer, PADDING_PT, PADDING_SSRC, PARITY_PT, RTX_PT, SEND_TIME_ID, TRANSPORT_SEQ_ID, VIDEO_PT,
};
use crate::error::Error;
use crate::network::event::Media;
use crate::pictures::camera::Payload;
use legato_codec::Coding;
use legato_control::PacketKind;
use legato_media::packet::{FEC_SSRC, MediaPacket, RTX_SSRC, VIDEO_SSRC};
use legato_media::packetizer::IP_UDP_BYTES;
use legato_units::Timestamp;
use legato_wire::rtp::{self, ExtensionIds};
use std::net::SocketAddr;
use std::time::Instant;
use str0m::media::{Frequency, MediaKind, Mid};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{Extension, ExtensionValues, RawPacket, RtpWrite, Ssrc};
use str0m::{Candidate, Event, IceConnectionState, IceCreds, Input, Output, Rtc, RtcConfig};

/// One end of a connection.
pub struct Peer {
    rtc: Rtc,
    local: SocketAddr,
    coding: Coding,
    other: OtherEnd,
    rtx_seq: u64,
    padding_seq: u64,
    rtcp: RtcpBytes,
    /// Packets whose size on the wire differed from the sender's count.
    pub odd_sizes: u64,
    /// Datagrams that were not part of the call.
    pub unreadable: u64,
}

/// The actions and reports of a connection.
#[derive(Debug)]
pub enum PeerOutput {
    /// Encrypted in both directions: media may begin.
    Connected,
    /// Nothing more until then.
    Deadline(Instant),
    /// The other end no longer answers.
    Lost,
    /// RTCP came.
    Rtcp(Received),
    /// Put this on the network.
    Transmit(Vec<u8>, SocketAddr),
}

/// RTP header, and the extension with the transport-wide number.
const RTP_BYTES: u16 = 12 + 8;
/// The tag of AES-GCM (RFC 7714), which every current browser uses.
const SRTP_TAG_BYTES: u16 = 16;
/// Of video over RTP.
const CLOCK_HZ: i128 = 90_000;

impl Peer {
    /// A connection at `local`, a bound address.
    pub fn new(local: SocketAddr, clock: Clock, coding: Coding, other: OtherEnd) -> Result<Self, Error> {
        let mut config = RtcConfig::new()
            .clear_codecs()
            .clear_extension_map()
            .set_extension(TRANSPORT_SEQ_ID, Extension::TransportSequenceNumber)
            .set_rtp_mode(true)
            .enable_raw_packets(true);
        if other.steers() {
            config = config.set_extension(SEND_TIME_ID, Extension::AbsoluteSendTime);
            config = config.set_extension(CODED_PSNR_ID, coded_psnr::extension());
        }
        let (codec, parameters) = library_format(coding.codec().rtp);
        for payload_type in [VIDEO_PT, RTX_PT, PADDING_PT, PARITY_PT] {
            let rate = Frequency::NINETY_KHZ;
            config.codec_config().add_config(payload_type.into(), None, codec, rate, None, parameters);
        }
        let mut rtc = config.build(clock.instant(clock.now()));
        let candidate = Candidate::host(local, "udp").map_err(|error| Error::System(format!("{local}: {error}")))?;
        rtc.add_local_candidate(candidate);
        let mut api = rtc.direct_api();
        for (mid, ssrc) in [("0", VIDEO_SSRC), ("rtx", RTX_SSRC), ("pad", PADDING_SSRC), ("par", FEC_SSRC)] {
            let mid = Mid::from(mid);
            api.declare_media(mid, MediaKind::Video);
            api.declare_stream_tx(Ssrc::from(ssrc), None, mid, None);
        }
        let rtcp = RtcpBytes::counting_from(clock.instant(clock.now()));
        Ok(Self { rtc, local, coding, other, rtx_seq: 0, padding_seq: 0, rtcp, odd_sizes: 0, unreadable: 0 })
    }

    /// Whether the other end restores packets by parity.
    pub fn takes_parity(&self) -> bool {
        self.other.takes_parity(self.coding)
    }

    /// The offer for the other end.
    pub fn offer(&mut self) -> String {
        let api = self.rtc.direct_api();
        let IceCreds { ufrag, pass } = api.local_ice_credentials();
        let fingerprint = api.local_dtls_fingerprint().to_string();
        let (address, coding, other) = (self.local, self.coding, self.other);
        Offer { address, coding, other, ufrag: &ufrag, password: &pass, fingerprint: &fingerprint }.to_sdp()
    }

    /// Take the other end's answer; ICE begins. The certificate must be the one named in the answer.
    pub fn answer(&mut self, answer: &Answer) -> Result<(), Error> {
        let refused = |what: String| Error::Sdp(format!("the answer of the other end: {what}"));
        let fingerprint = answer.fingerprint.parse().map_err(|error| refused(format!("a=fingerprint: {error}")))?;
        for line in &answer.candidates {
            // Candidates of other transports and families are useless here, and any answer may have them.
            if let Ok(candidate) = Candidate::from_sdp_string(line)
                && candidate.addr().is_ipv4()
                && candidate.proto() == Protocol::Udp
            {
                self.rtc.add_remote_candidate(candidate);
            }
        }
        let mut api = self.rtc.direct_api();
        api.set_ice_controlling(true);
        api.set_remote_ice_credentials(IceCreds { ufrag: answer.ufrag.clone(), pass: answer.password.clone() });
        api.set_remote_fingerprint(fingerprint);
        api.start_dtls(!answer.begins_dtls).map_err(|error| Error::Connection(format!("DTLS cannot begin: {error}")))
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) -> Result<(), Error> {
        self.rtc.handle_input(Input::Timeout(now)).map_err(|error| lost(&error))
    }

    /// A datagram came. Anyone may have sent it, so nothing in it ends the call. Unreadable bytes are dropped (as RFC
    /// 6347 §4.1.2.7 requires for DTLS), and the next poll reports a certificate that differs from the answer's.
    pub fn receive(&mut self, now: Instant, bytes: &[u8], from: SocketAddr) {
        let Ok(received) = Receive::new(Protocol::Udp, from, self.local, bytes) else {
            self.unreadable += 1;
            return;
        };
        let input = Input::Receive(now, received);
        if !self.rtc.accepts(&input) || self.rtc.handle_input(input).is_err() {
            self.unreadable += 1;
        }
    }

    /// Encrypt a packet; it comes out of the next [`Peer::poll`]. `payload` is its content, without the original
    /// sequence number; `None`: only filler, of a picture captured `last`.
    pub fn write(&mut self, now: Instant, packet: &MediaPacket, payload: Option<Payload>, last: Timestamp) {
        let (ssrc, payload_type, sequence) = match packet.kind {
            PacketKind::Video if payload.is_some() => (VIDEO_SSRC, VIDEO_PT, u64::from(packet.rtp_seq)),
            PacketKind::Retransmission if payload.is_some() => (RTX_SSRC, RTX_PT, self.next_rtx()),
            PacketKind::Fec if payload.is_some() => (FEC_SSRC, PARITY_PT, u64::from(packet.rtp_seq)),
            _ if self.other != OtherEnd::Browser => (PADDING_SSRC, PADDING_PT, self.next_padding()),
            _ => (RTX_SSRC, PADDING_PT, self.next_rtx()),
        };
        let filler = || {
            let framing = IP_UDP_BYTES + RTP_BYTES + SRTP_TAG_BYTES + self.other.further_extension_bytes();
            let bytes = vec![0; usize::from(packet.size_bytes.saturating_sub(framing).max(1))];
            Payload { bytes, capture: last, psnr_db: None }
        };
        let Payload { bytes, capture, psnr_db } = payload.unwrap_or_else(filler);
        let bytes = if payload_type == RTX_PT { again(packet.rtp_seq, &bytes) } else { bytes };
        let ticks = rtp_timestamp(capture);
        let last = packet.kind != PacketKind::Padding && packet.index + 1 == packet.count;
        let mut write = RtpWrite::new(payload_type.into(), sequence.into(), ticks, now, bytes).marker(last);
        if self.other.steers() {
            let mut values = ExtensionValues::default();
            values.user_values.set(CodedPsnr::of_db(psnr_db));
            write = write.ext_vals(values);
        }
        if let Some(stream) = self.rtc.direct_api().stream_tx(&Ssrc::from(ssrc)) {
            stream.write_rtp(write);
        }
    }

    fn next_rtx(&mut self) -> u64 {
        self.rtx_seq += 1;
        self.rtx_seq - 1
    }

    fn next_padding(&mut self) -> u64 {
        self.padding_seq += 1;
        self.padding_seq - 1
    }

    /// The next action.
    pub fn poll(&mut self, now: Timestamp) -> Result<PeerOutput, Error> {
        loop {
            match self.rtc.poll_output().map_err(|error| lost(&error))? {
                Output::Timeout(at) => return Ok(PeerOutput::Deadline(at)),
                Output::Transmit(transmit) => {
                    return Ok(PeerOutput::Transmit(transmit.contents.to_vec(), transmit.destination));
                }
                Output::Event(Event::Connected) => return Ok(PeerOutput::Connected),
                Output::Event(Event::IceConnectionStateChange(IceConnectionState::Disconnected)) => {
                    return Ok(PeerOutput::Lost);
                }
                Output::Event(Event::RawPacket(raw)) => match *raw {
                    RawPacket::RtcpRx(rtcp) => {
                        if let Some(received) = self.rtcp.received(rtcp) {
                            return Ok(PeerOutput::Rtcp(received));
                        }
                    }
                    RawPacket::RtcpTx(rtcp) => self.rtcp.sent(now, &rtcp),
                    _ => {}
                },
                Output::Event(_) => {}
            }
        }
    }

    /// Whether `datagram`, just encrypted, is the packet `media`, by the number in its clear header; counts sizes
    /// that differ from the sender's.
    pub fn is_packet(&mut self, datagram: &[u8], media: &Media) -> bool {
        let ids = ExtensionIds { transport_seq: Some(TRANSPORT_SEQ_ID), absolute_send_time: None };
        let is_rtp = matches!(datagram, [first, second, ..] if first >> 6 == 2 && !(64..96).contains(&(second & 0x7f)));
        if !is_rtp {
            return false;
        }
        let seq = rtp::Packet::parse(datagram, &ids).ok().and_then(|packet| packet.header.transport_seq);
        if datagram.len() + usize::from(IP_UDP_BYTES) != usize::from(media.size_bytes) {
            self.odd_sizes += 1;
        }
        seq == Some(media.transport_seq as u16)
    }
}

/// [rfc4588] §4: the original sequence number, then the original payload.
fn again(rtp_seq: u32, payload: &[u8]) -> Vec<u8> {
    [&(rtp_seq as u16).to_be_bytes()[..], payload].concat()
}

/// The RTP time of a picture: 90 kHz since the call's media began, modulo 2^32.
pub fn rtp_timestamp(capture: Timestamp) -> u32 {
    (i128::from(capture.as_nanos()) * CLOCK_HZ / 1_000_000_000) as u32
}

fn lost(error: &dyn std::fmt::Display) -> Error {
    Error::Connection(format!("the connection failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtp_time_counts_ninety_thousand_per_second_and_wraps() {
        assert_eq!(rtp_timestamp(Timestamp::from_millis(33)), 2_970);
        assert_eq!(rtp_timestamp(Timestamp::from_secs(47_722)), (47_722_u64 * 90_000 % (1 << 32)) as u32);
    }

    /// [rfc4588] §4, worked by hand: packet 65,538 had number 2.
    #[test]
    fn a_retransmission_begins_with_its_original_number() {
        assert_eq!(again(65_538, &[9, 8]), [0, 2, 9, 8]);
    }

    #[test]
    fn an_offer_names_the_socket() {
        let address = "127.0.0.1:4321".parse().unwrap();
        let mut peer = Peer::new(address, Clock::starting_now(), Coding::default(), OtherEnd::Browser).unwrap();
        let sdp = peer.offer();
        assert!(sdp.contains("127.0.0.1 4321 typ host") && sdp.contains("a=fingerprint:sha-256 "), "{sdp}");
    }
}
