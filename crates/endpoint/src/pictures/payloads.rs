//! A coded frame, ready to be cut into packets.

/// The payloads of a frame's packets.
pub trait Payloads: Send {
    /// Bytes that the packetizer distributes.
    fn size_bytes(&self) -> u32;

    /// Of these, the bytes that go ahead in a packet of their own.
    fn head_bytes(&self) -> u16 {
        0
    }

    /// The bytes of each packet, for a codec that makes its packets itself; `None`: the packetizer cuts evenly.
    fn pieces(&self) -> Option<Vec<u16>> {
        None
    }

    /// The payload of packet `index`; `None` beyond the last.
    fn payload(&self, index: u16) -> Option<Vec<u8>>;
}
