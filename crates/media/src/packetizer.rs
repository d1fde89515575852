//! Cuts a coded frame into packets of nearly equal size, like libwebrtc: equal pieces cost no more
//! headers than unequal ones and each loses no more than its share.

/// IPv4 20, UDP 8.
pub const IP_UDP_BYTES: u16 = 28;
/// RTP header 12, one-byte extension block with transport-wide sequence number, absolute send time
/// and frame descriptor 16, SRTP tag 10.
pub const RTP_OVERHEAD_BYTES: u16 = 38;
/// Everything that is not payload.
pub const PACKET_OVERHEAD_BYTES: u16 = IP_UDP_BYTES + RTP_OVERHEAD_BYTES;
/// libwebrtc's default maximum UDP payload.
pub const MAX_UDP_PAYLOAD_BYTES: u16 = 1200;
/// The maximum coded piece of one packet.
pub const MAX_PAYLOAD_BYTES: u16 = MAX_UDP_PAYLOAD_BYTES - RTP_OVERHEAD_BYTES;

/// The pieces of one frame: payload bytes each, larger ones first. Never empty: an empty frame is
/// one packet without payload.
pub fn pieces(frame_bytes: u32) -> Pieces {
    let count = frame_bytes.div_ceil(u32::from(MAX_PAYLOAD_BYTES)).clamp(1, u32::from(u16::MAX));
    // A frame above 65,535 full packets (73 MB) is cut short: no encoder makes one.
    let frame_bytes = frame_bytes.min(count * u32::from(MAX_PAYLOAD_BYTES));
    Pieces { count: count as u16, next: 0, base: (frame_bytes / count) as u16, larger: (frame_bytes % count) as u16 }
}

/// Iterates over payload sizes; made by [`pieces`].
#[derive(Clone, Debug)]
pub struct Pieces {
    count: u16,
    next: u16,
    base: u16,
    larger: u16,
}

impl Pieces {
    /// The number of packets of the frame.
    pub fn packets(&self) -> u16 {
        self.count
    }
    /// How many of the remaining ones, the last, carry one byte less than the next.
    pub fn smaller(&self) -> u16 {
        if self.larger > self.next { self.count - self.larger } else { 0 }
    }
    /// Coded bytes of the remaining ones.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count - self.next) * u64::from(self.base) + u64::from(self.larger.saturating_sub(self.next))
    }
}

impl Iterator for Pieces {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.next == self.count {
            return None;
        }
        self.next += 1;
        Some(self.base + u16::from(self.next <= self.larger))
    }
}

/// The rate left for coded bytes after headers at `fps` frames per second, in bit/s.
pub fn coded_bitrate(wire_bps: u64, fps: u32) -> u64 {
    let frame_bytes = wire_bps / 8 / u64::from(fps.max(1));
    let full = u64::from(MAX_UDP_PAYLOAD_BYTES + IP_UDP_BYTES);
    let overhead = frame_bytes.div_ceil(full).max(1) * u64::from(PACKET_OVERHEAD_BYTES);
    frame_bytes.saturating_sub(overhead) * 8 * u64::from(fps.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_nearly_equal_and_add_up() {
        for bytes in [0, 1, 1_162, 1_163, 10_417, 1_000_003] {
            let all: Vec<u16> = pieces(bytes).collect();
            assert_eq!(all.iter().map(|&piece| u32::from(piece)).sum::<u32>(), bytes);
            assert_eq!(all.len(), usize::from(pieces(bytes).packets()));
            let (min, max) = (all.iter().min().unwrap(), all.iter().max().unwrap());
            assert!(max - min <= 1 && *max <= MAX_PAYLOAD_BYTES, "{bytes}: {min}..{max}");
        }
    }

    #[test]
    fn headers_are_subtracted_from_the_wire_rate() {
        // 1 Mbit/s at 25 fps: 5,000 bytes per frame, 5 packets, 66 bytes of headers each.
        assert_eq!(coded_bitrate(1_000_000, 25), (5_000 - 5 * 66) * 8 * 25);
        assert_eq!(coded_bitrate(1_000, 30), 0);
    }
}
