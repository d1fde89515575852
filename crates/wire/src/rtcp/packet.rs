//! The common header of RTCP packets (RFC 3550 section 6.4), read and written.

use crate::Error;

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

/// One RTCP packet: a checked common header and its body.
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

    /// Reads the first packet of `bytes`; also returns the bytes after it.
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
    /// The body after the four bytes of common header, without padding.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
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
}
