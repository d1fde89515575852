//! The received part of a frame: packets of the codec, and the other fields of the payloads.

use crate::Error;

/// Some packets of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Which stream of the codec it belongs to, modulo 256.
    pub stream: u8,
    /// A frame that the sender takes the receiver to have: how many before this one, 1 to 32, and the sum of its pixels.
    pub confirmed: Option<(u8, u16)>,
    /// Each decodes alone.
    pub packets: Vec<Vec<u8>>,
}

/// A frame has no more.
const MAX_PACKETS: usize = 64;

impl Bundle {
    /// As one string of bytes: stream, distance and sum; then each packet behind its length in two bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (behind, sum) = self.confirmed.unwrap_or((0, 0));
        let mut bytes = vec![self.stream, behind];
        bytes.extend(sum.to_be_bytes());
        for packet in &self.packets {
            bytes.extend((packet.len() as u16).to_be_bytes());
            bytes.extend_from_slice(packet);
        }
        bytes
    }

    /// Reads it back; refuses bytes that have no packet, too many, or end within one.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let refused = |what: &str| Error(format!("hybrid frame: {what}"));
        let (&[stream, behind, high, low], mut rest) =
            bytes.split_first_chunk().ok_or_else(|| refused("shorter than its head"))?;
        let confirmed = (behind > 0).then(|| (behind, u16::from_be_bytes([high, low])));
        let mut packets = Vec::new();
        while let Some((length, behind_it)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes(*length));
            let (packet, more) = behind_it.split_at_checked(length).ok_or_else(|| refused("ends within a packet"))?;
            packets.push(packet.to_vec());
            rest = more;
        }
        if !rest.is_empty() || packets.is_empty() || packets.len() > MAX_PACKETS {
            return Err(refused("must be 1 to 64 whole packets"));
        }
        Ok(Self { stream, confirmed, packets })
    }
}
