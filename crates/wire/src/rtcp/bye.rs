//! BYE (RFC 3550 section 6.6): streams that end, and optionally why.

use super::{BYE, Packet};
use crate::Error;
use crate::reader::Reader;

/// A BYE packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bye<'a> {
    sources: &'a [u8],
    reason: &'a [u8],
}

impl<'a> Bye<'a> {
    /// Reads a BYE found in a compound.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(BYE, packet.format())?;
        let mut reader = Reader::new(packet.body());
        let sources = reader.bytes(4 * usize::from(packet.format()), "bye.sources")?;
        let reason = match reader.rest() {
            [] => &[],
            [len, text @ ..] => Reader::new(text).bytes((*len).into(), "bye.reason")?,
        };
        Ok(Self { sources, reason })
    }

    /// The SSRCs that end.
    pub fn ssrcs(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.sources.as_chunks().0.iter().map(|&ssrc| u32::from_be_bytes(ssrc))
    }

    /// The reason, in UTF-8 if the sender follows the RFC; empty if not given.
    pub fn reason(&self) -> &'a [u8] {
        self.reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_reason_are_read() {
        let bytes = [0x81, 203, 0, 2, 0, 0, 0, 7, 2, b'o', b'k', 0];
        let bye = Bye::from_packet(&Packet::parse(&bytes).unwrap()).unwrap();
        assert_eq!((bye.ssrcs().collect::<Vec<_>>(), bye.reason()), (vec![7], b"ok".as_slice()));
    }

    /// PJSIP CVE-2021-43804: the reason's length points past the packet.
    #[test]
    fn a_reason_or_sources_past_the_end_are_refused() {
        for bytes in [[0x81, 203, 0, 2, 0, 0, 0, 7, 4, b'o', b'k', 0], [0x83, 203, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0]] {
            let error = Bye::from_packet(&Packet::parse(&bytes).unwrap()).unwrap_err();
            assert!(matches!(error, Error::Truncated { .. }), "{error}");
        }
    }
}
