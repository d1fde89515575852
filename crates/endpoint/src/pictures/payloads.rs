//! A coded frame, ready to be cut into packets.

/// The payloads of a frame's packets.
pub trait Payloads: Send {
    /// Bytes that the packetizer distributes.
    fn size_bytes(&self) -> u32;

    /// Of these, the bytes that go ahead in a packet of their own.
    fn head_bytes(&self) -> u16 {
        0
    }

    /// The payload of packet `index`; `None` beyond the last.
    fn payload(&self, index: u16) -> Option<Vec<u8>>;
}
