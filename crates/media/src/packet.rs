//! A media packet as sender and receiver know it. In a real call `wire` turns it into RTP bytes; in
//! the simulator it travels as it is.

use legato_control::PacketKind;
use legato_units::Timestamp;

/// One packet of a media stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPacket {
    /// Transport-wide sequence number, unwrapped. Given when the packet leaves the pacer.
    pub transport_seq: u64,
    /// When it was put into the pacer, sender's clock.
    pub enqueued: Timestamp,
    /// When it left the pacer, sender's clock (the absolute send time extension).
    pub departure: Timestamp,
    /// Sequence number within its stream, unwrapped. A retransmission carries that of the packet it
    /// repeats (RFC 4588's original sequence number).
    pub rtp_seq: u32,
    /// The stream.
    pub ssrc: u32,
    /// The captured frame it belongs to; meaningless for padding and audio.
    pub frame: u32,
    /// Its place among the frame's packets; parity counts on from the last one.
    pub index: u16,
    /// How many media packets the frame has.
    pub count: u16,
    /// Bytes on the wire, IP and UDP headers included.
    pub size_bytes: u16,
    /// Coded bytes it carries.
    pub payload_bytes: u16,
    /// What it carries.
    pub kind: PacketKind,
    /// The probe cluster it was sent in. Given when the packet leaves the pacer.
    pub probe_cluster: Option<u32>,
}

/// SSRC of the video stream.
pub const VIDEO_SSRC: u32 = 0x1e6a_0001;
/// SSRC of the retransmission stream (RFC 4588), which carries padding too.
pub const RTX_SSRC: u32 = 0x1e6a_0002;
/// SSRC of the parity stream.
pub const FEC_SSRC: u32 = 0x1e6a_0003;
/// SSRC of the audio stream.
pub const AUDIO_SSRC: u32 = 0x1e6a_0004;
