//! RTCP packets and compounds (RFC 3550 section 6, RFC 4585, reduced-size RFC 5506): the common
//! header, iteration over a compound, and which format a packet is of.
//!
//! ```
//! use legato_wire::rtcp::{self, Compound, Message};
//! let mut bytes = Vec::new();
//! rtcp::write_receiver_report(&mut bytes, 7, &[]);
//! rtcp::write_pli(&mut bytes, 7, 9);
//! let mut compound = Compound::parse(&bytes)?;
//! assert!(matches!(compound.next(), Some(Ok(packet)) if packet.packet_type() == rtcp::RECEIVER_REPORT));
//! let pli = compound.next().unwrap()?.message()?;
//! assert!(matches!(pli, Message::Pli { sender_ssrc: 7, media_ssrc: 9 }));
//! assert!(compound.next().is_none());
//! # Ok::<(), legato_wire::Error>(())
//! ```

mod bye;
mod extended_report;
mod feedback;
mod report;

pub use bye::Bye;
pub use extended_report::{ExtendedBlock, ExtendedReport, write_extended_report};
pub use feedback::{Fir, MAX_NACK_ITEMS, Nack, write_fir, write_nack, write_pli};
pub use report::{
    MAX_REPORT_BLOCKS, ReceiverReport, ReportBlock, SenderInfo, SenderReport, write_receiver_report,
    write_sender_report,
};

use crate::{Error, ccfb, remb, twcc};

/// Packet type of a sender report (SR).
pub const SENDER_REPORT: u8 = 200;
/// Packet type of a receiver report (RR).
pub const RECEIVER_REPORT: u8 = 201;
/// Packet type of BYE.
pub const BYE: u8 = 203;
/// Packet type of transport-layer feedback (RTPFB): NACK, transport-wide feedback, RFC 8888.
pub const TRANSPORT_FEEDBACK: u8 = 205;
/// Packet type of payload-specific feedback (PSFB): PLI, FIR, REMB.
pub const PAYLOAD_FEEDBACK: u8 = 206;
/// Packet type of an extended report (XR).
pub const EXTENDED_REPORT: u8 = 207;
/// The maximum compound accepted from a network; only recordings may hold longer ones.
pub const MAX_LIVE_COMPOUND_BYTES: usize = 1_500;
/// The maximum compound at all: what a UDP datagram holds.
pub const MAX_COMPOUND_BYTES: usize = 65_535;
/// The maximum number of packets read from one compound.
pub const MAX_COMPOUND_PACKETS: usize = 64;

/// One RTCP packet: a checked common header and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    packet_type: u8,
    format: u8,
    body: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the single packet in `bytes`.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        match Self::split_first(bytes)? {
            (packet, []) => Ok(packet),
            (_, rest) => Err(Error::Trailing { field: "rtcp.length", bytes: rest.len() }),
        }
    }

    /// Reads the first packet of `bytes`; also returns what follows it.
    #[inline]
    pub fn split_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let Some((&[first, packet_type, l0, l1], after_header)) = bytes.split_first_chunk() else {
            return Err(Error::Truncated { field: "rtcp.header", needed: 4, available: bytes.len() });
        };
        if first >> 6 != 2 {
            return Err(Error::Invalid { field: "rtcp.version", value: (first >> 6).into() });
        }
        let body_len = usize::from(u16::from_be_bytes([l0, l1])) * 4;
        let Some((padded, rest)) = after_header.split_at_checked(body_len) else {
            return Err(Error::Truncated { field: "rtcp.body", needed: body_len, available: after_header.len() });
        };
        let body = if first & PADDING_BIT == 0 { padded } else { strip_padding(padded)? };
        Ok((Self { packet_type, format: first & 0x1f, body }, rest))
    }

    /// The packet type (PT), e.g. [`SENDER_REPORT`].
    #[inline]
    pub fn packet_type(&self) -> u8 {
        self.packet_type
    }
    /// The five bits next to it: a count in reports, the format (FMT) in feedback.
    #[inline]
    pub fn format(&self) -> u8 {
        self.format
    }
    /// What follows the four bytes of common header, without padding.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Reads the body by its type. Types that Legato does not read are [`Message::Other`].
    pub fn message(&self) -> Result<Message<'a>, Error> {
        Ok(match (self.packet_type, self.format) {
            (SENDER_REPORT, _) => Message::SenderReport(SenderReport::from_packet(self)?),
            (RECEIVER_REPORT, _) => Message::ReceiverReport(ReceiverReport::from_packet(self)?),
            (BYE, _) => Message::Bye(Bye::from_packet(self)?),
            (TRANSPORT_FEEDBACK, feedback::NACK_FORMAT) => Message::Nack(Nack::from_packet(self)?),
            (TRANSPORT_FEEDBACK, ccfb::FORMAT) => Message::Ccfb(ccfb::Feedback::from_packet(self)?),
            (TRANSPORT_FEEDBACK, twcc::FORMAT) => Message::Twcc(twcc::Feedback::from_packet(self)?),
            (PAYLOAD_FEEDBACK, feedback::PLI_FORMAT) => feedback::read_pli(self)?,
            (PAYLOAD_FEEDBACK, feedback::FIR_FORMAT) => Message::Fir(Fir::from_packet(self)?),
            (PAYLOAD_FEEDBACK, remb::FORMAT) if remb::is_remb(self)? => Message::Remb(remb::Remb::from_packet(self)?),
            (EXTENDED_REPORT, _) => Message::ExtendedReport(ExtendedReport::from_packet(self)?),
            _ => Message::Other(*self),
        })
    }

    /// Refuses a packet of another type or format.
    #[inline]
    pub(crate) fn expect(&self, packet_type: u8, format: u8) -> Result<(), Error> {
        if self.packet_type != packet_type {
            return Err(Error::Invalid { field: "rtcp.packet_type", value: self.packet_type.into() });
        }
        if self.format != format {
            return Err(Error::Invalid { field: "rtcp.format", value: self.format.into() });
        }
        Ok(())
    }
}

/// The contents of an RTCP packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Streams end.
    Bye(Bye<'a>),
    /// RFC 8888 feedback.
    Ccfb(ccfb::Feedback<'a>),
    /// An extended report.
    ExtendedReport(ExtendedReport<'a>),
    /// Full intra request.
    Fir(Fir<'a>),
    /// Packets requested again.
    Nack(Nack<'a>),
    /// A type that Legato does not read.
    Other(Packet<'a>),
    /// Picture loss indication: a key frame is requested.
    Pli {
        /// The requesting end.
        sender_ssrc: u32,
        /// The requested stream.
        media_ssrc: u32,
    },
    /// A receiver report.
    ReceiverReport(ReceiverReport<'a>),
    /// The receiver's estimate of the bitrate.
    Remb(remb::Remb<'a>),
    /// A sender report.
    SenderReport(SenderReport<'a>),
    /// Transport-wide feedback.
    Twcc(twcc::Feedback<'a>),
}

/// The packets of a compound, one by one; ends after the first error.
#[derive(Clone, Debug)]
pub struct Compound<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Compound<'a> {
    /// A compound from the network. Any order and reduced size (RFC 5506) are accepted.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::bounded(bytes, MAX_LIVE_COMPOUND_BYTES)
    }

    /// A compound from a recording, up to the size of a datagram.
    pub fn parse_recorded(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::bounded(bytes, MAX_COMPOUND_BYTES)
    }

    fn bounded(bytes: &'a [u8], max: usize) -> Result<Self, Error> {
        match bytes.len() {
            0 => Err(Error::Truncated { field: "rtcp.compound", needed: 4, available: 0 }),
            len if len > max => Err(Error::Trailing { field: "rtcp.compound", bytes: len - max }),
            _ => Ok(Self { rest: bytes, left: MAX_COMPOUND_PACKETS }),
        }
    }
}

impl<'a> Iterator for Compound<'a> {
    type Item = Result<Packet<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = core::mem::take(&mut self.rest);
        if self.left == 0 {
            return Some(Err(Error::Trailing { field: "rtcp.compound", bytes: bytes.len() }));
        }
        self.left -= 1;
        Some(Packet::split_first(bytes).map(|(packet, rest)| {
            self.rest = rest;
            packet
        }))
    }
}

// [rfc3550] §6.4.1: the padding count includes itself.
/// The last byte gives the number of bytes of padding, itself included.
fn strip_padding(body: &[u8]) -> Result<&[u8], Error> {
    let Some(&count) = body.last() else {
        return Err(Error::Truncated { field: "rtcp.padding", needed: 1, available: 0 });
    };
    match body.len().checked_sub(count.into()) {
        Some(len) if count > 0 => Ok(&body[..len]),
        _ => Err(Error::Invalid { field: "rtcp.padding", value: count.into() }),
    }
}

/// Version 2, the padding bit, and the count or format.
#[inline]
pub(crate) const fn first_byte(padding: bool, format: u8) -> u8 {
    0x80 | if padding { PADDING_BIT } else { 0 } | (format & 0x1f)
}

/// Appends a packet without padding: a header, what `body` appends (whole words), and the length,
/// filled into the header.
pub(crate) fn write_packet(out: &mut Vec<u8>, packet_type: u8, format: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[first_byte(false, format), packet_type, 0, 0]);
    body(out);
    let len = out.len() - start;
    debug_assert!(len.is_multiple_of(4) && len <= 4 << 16, "{len} bytes are not an RTCP packet");
    let words = (len / 4 - 1) as u16;
    out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
}

const PADDING_BIT: u8 = 0x20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp;

    #[test]
    fn a_compound_yields_each_packet_and_then_ends() {
        let mut bytes = Vec::new();
        write_pli(&mut bytes, 1, 2);
        write_receiver_report(&mut bytes, 1, &[]);
        let types: Vec<u8> = Compound::parse(&bytes).unwrap().map(|packet| packet.unwrap().packet_type()).collect();
        assert_eq!(types, [PAYLOAD_FEEDBACK, RECEIVER_REPORT]);
    }

    #[test]
    fn a_compound_ends_after_its_first_error() {
        let mut compound = Compound::parse(&[0x80, 200, 0, 0, 0x40, 200, 0, 0, 0x80, 200, 0, 0]).unwrap();
        assert!(compound.next().unwrap().is_ok());
        assert_eq!(compound.next(), Some(Err(Error::Invalid { field: "rtcp.version", value: 1 })));
        assert_eq!(compound.next(), None);
    }

    #[test]
    fn compounds_are_bounded_in_bytes_and_packets() {
        let empty_packets = [0x80, 204, 0, 0].repeat(MAX_COMPOUND_PACKETS + 1);
        assert!(matches!(
            Compound::parse(&empty_packets).unwrap().last(),
            Some(Err(Error::Trailing { field: "rtcp.compound", bytes: 4 }))
        ));
        let long = vec![0; MAX_LIVE_COMPOUND_BYTES + 1];
        assert!(Compound::parse(&long).is_err());
        assert!(Compound::parse_recorded(&long).is_ok());
        assert!(Compound::parse_recorded(&vec![0; MAX_COMPOUND_BYTES + 1]).is_err());
        assert!(Compound::parse(&[]).is_err());
    }

    #[test]
    fn length_words_of_0_and_0xffff_are_taken_literally() {
        let (packet, rest) = Packet::split_first(&[0x80, 203, 0, 0, 9]).unwrap();
        assert_eq!((packet.body(), rest), ([].as_slice(), [9].as_slice()));
        let error = Packet::parse(&[0x80, 203, 0xff, 0xff, 0, 0]).unwrap_err();
        assert_eq!(error, Error::Truncated { field: "rtcp.body", needed: 262_140, available: 2 });
    }

    /// [rfc3550] §6.4.1.
    #[test]
    fn padding_of_zero_or_more_than_the_body_is_refused() {
        for (count, ok) in [(0, false), (1, true), (4, true), (5, false), (255, false)] {
            assert_eq!(Packet::parse(&[0xa0, 204, 0, 1, 0, 0, 0, count]).is_ok(), ok, "{count}");
        }
        assert!(Packet::parse(&[0xa0, 204, 0, 0]).is_err());
    }

    /// str0m 0.23.1 (upstream issue 1029): packets of 3 to 64 bytes that begin like a receiver report.
    #[test]
    fn short_receiver_reports_are_refused_at_every_length() {
        for len in 3..=64usize {
            let mut bytes = vec![0; len];
            bytes[..2].copy_from_slice(&[0x80, 0xc9]);
            // With any length word, each of these gives only an error or an empty report.
            for words in 0..=20u16 {
                if len >= 4 {
                    bytes[2..4].copy_from_slice(&words.to_be_bytes());
                }
                let complete = len == 4 * (usize::from(words) + 1) && words >= 1;
                assert_eq!(Packet::parse(&bytes).and_then(|p| p.message().map(|_| ())).is_ok(), complete);
            }
        }
    }

    #[test]
    fn types_we_do_not_read_are_passed_on() {
        let sdes = Packet::parse(&[0x81, 202, 0, 1, 0, 0, 0, 1]).unwrap();
        assert!(matches!(sdes.message(), Ok(Message::Other(packet)) if packet == sdes));
        let application_layer = Packet::parse(&[0x8f, rtcp::PAYLOAD_FEEDBACK, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
        assert!(matches!(application_layer.message(), Ok(Message::Other(_))));
        let too_short = Packet::parse(&[0x8f, rtcp::PAYLOAD_FEEDBACK, 0, 1, 0, 0, 0, 1]).unwrap();
        assert!(too_short.message().is_err());
    }
}
