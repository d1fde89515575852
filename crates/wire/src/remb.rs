//! REMB, the receiver's estimate of the bitrate (draft-alvestrand-rmcat-remb-03): payload-specific
//! feedback with the name `REMB`, an 18-bit mantissa with a 6-bit exponent, and the SSRCs it is for.

use crate::Error;
use crate::reader::Reader;
use crate::rtcp::{PAYLOAD_FEEDBACK, Packet, write_packet};
use legato_units::DataRate;

/// The FMT of application-layer feedback, within packet type 206; REMB is one kind of it.
pub const FORMAT: u8 = 15;
/// The maximum number of SSRCs a packet can count.
pub const MAX_SSRCS: usize = 255;

/// A REMB packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remb<'a> {
    /// The estimating end.
    pub sender_ssrc: u32,
    /// The estimate, for all streams named together.
    pub bitrate: DataRate,
    ssrcs: &'a [u8],
}

impl<'a> Remb<'a> {
    /// Reads one RTCP packet, header included.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_packet(&Packet::parse(bytes)?)
    }

    /// Reads a REMB found in a compound. The SSRCs must fill the packet exactly and the bitrate
    /// must fit 64 bits, as libwebrtc requires.
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        packet.expect(PAYLOAD_FEEDBACK, FORMAT)?;
        let mut reader = Reader::new(packet.body());
        let sender_ssrc = reader.u32("remb.sender_ssrc")?;
        reader.u32("remb.media_ssrc")?;
        let name: [u8; 4] = reader.array("remb.name")?;
        if name != NAME {
            return Err(Error::Invalid { field: "remb.name", value: u32::from_be_bytes(name).into() });
        }
        let [ssrc_count, high, middle, low] = reader.array("remb.bitrate")?;
        let exponent = u32::from(high >> 2);
        let mantissa = u64::from(u32::from_be_bytes([0, high & 3, middle, low]));
        let bps = mantissa << exponent;
        if bps >> exponent != mantissa {
            return Err(Error::Invalid { field: "remb.exponent", value: exponent.into() });
        }
        let ssrcs = reader.bytes(4 * usize::from(ssrc_count), "remb.ssrcs")?;
        match reader.rest().len() {
            0 => Ok(Self { sender_ssrc, bitrate: DataRate::from_bps(bps), ssrcs }),
            bytes => Err(Error::Trailing { field: "remb.ssrcs", bytes }),
        }
    }

    /// The streams the estimate is for.
    pub fn ssrcs(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.ssrcs.as_chunks().0.iter().map(|&ssrc| u32::from_be_bytes(ssrc))
    }
}

/// Whether application-layer feedback names itself REMB; an error if it lacks the two SSRCs.
pub(crate) fn is_remb(packet: &Packet<'_>) -> Result<bool, Error> {
    let mut reader = Reader::new(packet.body());
    reader.u32("feedback.sender_ssrc")?;
    reader.u32("feedback.media_ssrc")?;
    Ok(reader.rest().starts_with(&NAME))
}

/// Appends a REMB. The bitrate is rounded down to what 18 bits and the smallest exponent can
/// express, so it never promises more. At most [`MAX_SSRCS`] of the SSRCs are written.
pub fn write(out: &mut Vec<u8>, sender_ssrc: u32, bitrate: DataRate, ssrcs: &[u32]) {
    let bps = bitrate.as_bps();
    let exponent = (u64::BITS - bps.leading_zeros()).saturating_sub(MANTISSA_BITS);
    let mantissa = (bps >> exponent) as u32;
    let ssrcs = &ssrcs[..ssrcs.len().min(MAX_SSRCS)];
    write_packet(out, PAYLOAD_FEEDBACK, FORMAT, |out| {
        out.extend_from_slice(&sender_ssrc.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&NAME);
        out.extend_from_slice(&(((ssrcs.len() as u32) << 24) | (exponent << MANTISSA_BITS) | mantissa).to_be_bytes());
        for ssrc in ssrcs {
            out.extend_from_slice(&ssrc.to_be_bytes());
        }
    });
}

const NAME: [u8; 4] = *b"REMB";
const MANTISSA_BITS: u32 = 18;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From the tests of Pion and aiortc (both MIT/BSD).
    const ONE_SSRC: [u8; 24] = [
        0x8f, 0xce, 0x00, 0x05, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x52, 0x45, 0x4d, 0x42, 0x01, 0x1a,
        0x20, 0xdf, 0x48, 0x74, 0xed, 0x16,
    ];
    /// From libwebrtc's remb_unittest.cc (BSD-3).
    const THREE_SSRCS: [u8; 32] = [
        0x8f, 0xce, 0x00, 0x07, 0x12, 0x34, 0x56, 0x78, 0x00, 0x00, 0x00, 0x00, 0x52, 0x45, 0x4d, 0x42, 0x03, 0x07,
        0xfb, 0x93, 0x23, 0x45, 0x67, 0x89, 0x23, 0x45, 0x67, 0x8a, 0x23, 0x45, 0x67, 0x8b,
    ];

    #[test]
    fn golden_packets_read_and_write_the_same() {
        for (bytes, sender_ssrc, bps, ssrcs) in [
            (ONE_SSRC.as_slice(), 1, 8_927_168, vec![0x4874_ed16]),
            (&THREE_SSRCS, 0x1234_5678, 522_022, vec![0x2345_6789, 0x2345_678a, 0x2345_678b]),
        ] {
            let remb = Remb::parse(bytes).unwrap();
            assert_eq!((remb.sender_ssrc, remb.bitrate.as_bps()), (sender_ssrc, bps));
            assert_eq!(remb.ssrcs().collect::<Vec<_>>(), ssrcs);
            let mut written = Vec::new();
            write(&mut written, sender_ssrc, remb.bitrate, &ssrcs);
            assert_eq!(written, bytes);
        }
    }

    #[test]
    fn an_ssrc_count_that_does_not_fill_the_packet_is_refused() {
        for count in [0, 2, 255] {
            let mut bytes = ONE_SSRC;
            bytes[16] = count;
            assert!(Remb::parse(&bytes).is_err(), "{count}");
        }
    }

    #[test]
    fn a_bitrate_past_64_bits_is_refused() {
        let mut bytes = ONE_SSRC;
        bytes[17..20].copy_from_slice(&[0xff, 0xff, 0xff]);
        assert_eq!(Remb::parse(&bytes), Err(Error::Invalid { field: "remb.exponent", value: 63 }));
    }

    #[test]
    fn feedback_by_another_name_is_not_remb() {
        let mut bytes = ONE_SSRC;
        bytes[12] = b'r';
        assert!(Remb::parse(&bytes).is_err());
        let mut short = ONE_SSRC[..16].to_vec();
        short[3] = 3;
        assert!(Remb::parse(&short).is_err());
    }

    proptest! {
        #[test]
        fn bitrates_are_rounded_down_by_less_than_one_in_2_to_17(
            bps in (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift),
            ssrcs in prop::collection::vec(any::<u32>(), 0..=MAX_SSRCS),
        ) {
            let mut bytes = Vec::new();
            write(&mut bytes, 9, DataRate::from_bps(bps), &ssrcs);
            let remb = Remb::parse(&bytes).unwrap();
            let read = remb.bitrate.as_bps();
            prop_assert!(read <= bps && bps - read <= bps >> 17);
            prop_assert_eq!(remb.ssrcs().collect::<Vec<_>>(), ssrcs.clone());
            let mut again = Vec::new();
            write(&mut again, 9, remb.bitrate, &ssrcs);
            prop_assert_eq!(again, bytes);
        }
    }
}
