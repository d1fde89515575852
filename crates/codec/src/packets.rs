//! Packets, for encoders that make them themselves and predict from what the receiver has.

/// What a packet costs on the wire, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketCost {
    /// The largest packet of the codec.
    pub max_bytes: u16,
    /// Of each packet, in addition to its payload.
    pub own_bytes: u16,
    /// The largest piece of a frame that the sender would cut by itself …
    pub even_max_bytes: u16,
    /// … and what each of these costs: as much of them as the bitrate accounts for already.
    pub even_bytes: u16,
}

impl Default for PacketCost {
    /// RTP over SRTP, UDP and IPv4 in datagrams of 1200 bytes.
    fn default() -> Self {
        Self { max_bytes: 1_159, own_bytes: 69, even_max_bytes: 1_162, even_bytes: 66 }
    }
}

/// The fate of a packet of video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// Its frame's place among those coded.
    pub frame: u32,
    /// Its place in the frame.
    pub place: u16,
    /// Packets of the frame.
    pub packets: u16,
    /// Whether it arrived.
    pub arrived: bool,
}
