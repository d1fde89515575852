//! RTCP packets and compounds (RFC 3550 section 6, RFC 4585, reduced-size RFC 5506): iteration over a
//! compound, and which format a packet is of.
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
mod packet;
mod report;

pub use bye::Bye;
pub use extended_report::{ExtendedBlock, ExtendedReport, write_extended_report};
pub use feedback::{Fir, MAX_NACK_ITEMS, Nack, write_fir, write_nack, write_pli};
pub use packet::{BYE, EXTENDED_REPORT, PAYLOAD_FEEDBACK, Packet, RECEIVER_REPORT, SENDER_REPORT, TRANSPORT_FEEDBACK};
pub(crate) use packet::{first_byte, write_packet};
pub use report::{
    MAX_REPORT_BLOCKS, ReceiverReport, ReportBlock, SenderInfo, SenderReport, write_receiver_report,
    write_sender_report,
};

use crate::{Error, ccfb, remb, twcc};

/// The maximum compound accepted from a network; only recordings may hold longer ones.
pub const MAX_LIVE_COMPOUND_BYTES: usize = 1_500;
/// The maximum compound at all: what a UDP datagram holds.
pub const MAX_COMPOUND_BYTES: usize = 65_535;
/// The maximum number of packets read from one compound.
pub const MAX_COMPOUND_PACKETS: usize = 64;

impl<'a> Packet<'a> {
    /// Reads the body by its type. Types that Legato does not read are [`Message::Other`].
    pub fn message(&self) -> Result<Message<'a>, Error> {
        Ok(match (self.packet_type(), self.format()) {
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
