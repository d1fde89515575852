//! The schema of a call's records. Sender, receiver and driver write them; sinks keep them.

use crate::rtcp_log::End;
use legato_control::{Decision, PacketKind, PacketReports};
use legato_units::{Burst, BurstPacket, DataRate, TimeDelta, Timestamp};

/// One thing worth recording.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// The camera took a picture (sender).
    FrameCaptured {
        /// Counts captured frames from 0.
        frame: u64,
    },
    /// The encoder made a frame (sender).
    FrameEncoded(FrameEncoded),
    /// A frame was passed to the decoder, whole or in part (receiver).
    FrameDecoded(FrameDecoded),
    /// A frame was shown (receiver).
    FrameRendered {
        /// Counts captured frames from 0.
        frame: u64,
    },
    /// The controller's decision changed (sender).
    Decision(&'a Decision),
    /// The rate requested from the encoder changed (sender).
    EncoderBitrate(DataRate),
    /// A controller's inner state (sender or receiver).
    Gauge {
        /// The controller's own name for it.
        name: &'static str,
        /// In the unit that the controller states.
        value: f64,
    },
    /// Packets left the pacer at one instant (sender).
    PacketsSent(Burst<PacketSent>),
    /// The packet that just came out of the forward path was marked on it: congestion experienced (driver).
    PacketMarked {
        /// Transport-wide sequence number.
        transport_seq: u64,
    },
    /// Packets that had left together came out of the forward path, one after the other (driver).
    PacketsArrived {
        /// The packets.
        burst: Burst<PacketArrived>,
        /// When each arrived, true time.
        arrivals: &'a [Timestamp],
    },
    /// A packet was lost on the forward path (driver).
    PacketDropped {
        /// Transport-wide sequence number.
        transport_seq: u64,
        /// When it left, true time.
        departure: Timestamp,
        /// `"aqm"`, `"policed"`, `"queue_full"` or `"random"`.
        reason: &'static str,
    },
    /// Feedback reached the sender.
    Feedback {
        /// The reports, joined with the sent packets.
        reports: &'a PacketReports,
    },
    /// A compound RTCP packet left one end for the other.
    RtcpSent {
        /// The end it left.
        by: End,
        /// Without IP and UDP headers.
        bytes: &'a [u8],
    },
    /// A compound RTCP packet arrived at the other end.
    RtcpArrived {
        /// The end it had left.
        by: End,
        /// Without IP and UDP headers.
        bytes: &'a [u8],
    },
    /// RTCP left the receiver.
    FeedbackSent {
        /// Bytes on the wire.
        size_bytes: u32,
    },
    /// The receiver requested packets again.
    Nack {
        /// How many.
        packets: u32,
    },
    /// The receiver requested a key frame.
    Pli,
    /// The application stops (true) or resumes (false) the capture of media (sender).
    Paused(bool),
    /// A probe cluster began (sender).
    Probe {
        /// Its rate.
        rate: DataRate,
    },
}

/// A coded frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameEncoded {
    /// Counts captured frames from 0.
    pub frame: u64,
    /// Counts coded frames from 0.
    pub sequence: u64,
    /// Coded bytes.
    pub size_bytes: u32,
    /// Media packets it was cut into.
    pub packets: u16,
    /// Mean quantiser on the codec's scale.
    pub qp: f32,
    /// Luma rows.
    pub height: u16,
    /// Decodable without any other frame.
    pub keyframe: bool,
    /// Luma PSNR of the coded frame, before the network; absent without measured pixels.
    pub psnr_db: Option<f32>,
}

/// The fate of a frame at the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameDecoded {
    /// Counts captured frames from 0.
    pub frame: u64,
    /// Packets still missing after all repair.
    pub lost_packets: u16,
    /// Whether something new can be shown.
    pub decodable: bool,
    /// SSIM (dB) and luma PSNR (dB) of what the viewer sees: the new picture if decodable,
    /// otherwise the one that stays; absent without measured pixels.
    pub quality_db: Option<(f32, f32)>,
}

/// A departure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketSent {
    /// Transport-wide sequence number: counts departures from 0.
    pub transport_seq: u64,
    /// The stream.
    pub ssrc: u32,
    /// Its contents.
    pub kind: PacketKind,
    /// Bytes on the wire.
    pub size_bytes: u16,
    /// The coded frame, for media packets.
    pub sequence: Option<u32>,
    /// Time spent in the pacer.
    pub queued: TimeDelta,
}

impl BurstPacket for PacketSent {
    #[inline]
    fn size_bytes(&self) -> u64 {
        u64::from(self.size_bytes)
    }

    #[inline]
    fn behind(&self, place: u16, smaller: u16) -> Self {
        let size_bytes = self.size_bytes - u16::from(smaller > 0);
        Self { transport_seq: self.transport_seq + u64::from(place), size_bytes, ..*self }
    }
}

/// An arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketArrived {
    /// Transport-wide sequence number.
    pub transport_seq: u64,
    /// Bytes on the wire.
    pub size_bytes: u16,
    /// When it left, true time.
    pub departure: Timestamp,
}

impl BurstPacket for PacketArrived {
    #[inline]
    fn size_bytes(&self) -> u64 {
        u64::from(self.size_bytes)
    }

    #[inline]
    fn behind(&self, place: u16, smaller: u16) -> Self {
        let size_bytes = self.size_bytes - u16::from(smaller > 0);
        Self { transport_seq: self.transport_seq + u64::from(place), size_bytes, ..*self }
    }
}
