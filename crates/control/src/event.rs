//! A controller's inputs. Events are owned values: recorded, replayed, fuzzed. Their names in JSON carry units and are
//! part of the contract (docs/reference/contract.md).

use crate::{FramePlace, PacketKind, PacketReports};
use legato_units::{Burst, BurstPacket, DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use serde::{Deserialize, Serialize};

/// One event, passed to a controller with the time it became known at this end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Event {
    /// The time the controller requested in `next_deadline` has come.
    Deadline,
    /// The source took a picture (sender).
    FrameCaptured(SourceFrameInfo),
    /// The encoder finished a frame (sender).
    FrameEncoded(EncodedFrameInfo),
    /// A frame was rendered or given up (receiver).
    FrameReport(FrameReport),
    /// The application changed the bounds.
    Limits(RateLimits),
    /// How much waits in the pacer, sent after every enqueue of a frame and before every feedback.
    PacerQueue(PacerQueue),
    /// A packet arrived (receiver).
    PacketReceived(ReceivedPacket),
    /// Packets left the pacer at one instant (sender). Stamped when they leave, not when they queue.
    PacketsSent(Burst<SentPacket>),
    /// A receiver report on one of the streams (sender); its round-trip time came just before.
    ReceiverReport(ReceptionReport),
    /// The receiver's estimate, carried by REMB (sender).
    #[serde(rename = "remote_estimate_bps")]
    RemoteEstimate(DataRate),
    /// A round-trip time measured from a receiver report (sender).
    #[serde(rename = "round_trip_time_ns")]
    RoundTripTime(TimeDelta),
    /// The route changed: everything learned about the old path is void.
    RouteChange,
    /// RTCP of any content came, before its content (sender).
    RtcpArrived,
    /// Transport-wide feedback, joined with the sent packets (sender).
    TransportFeedback(TransportFeedback),
}

/// Bounds and start of the target bitrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    /// The minimum.
    #[serde(rename = "min_bps")]
    pub min: DataRate,
    /// The target before the first feedback.
    #[serde(rename = "start_bps")]
    pub start: DataRate,
    /// The maximum.
    #[serde(rename = "max_bps")]
    pub max: DataRate,
}

impl RateLimits {
    /// `rate` clamped to `[min, max]`.
    #[inline]
    pub fn clamp(&self, rate: DataRate) -> DataRate {
        rate.max(self.min).min(self.max)
    }
}

/// The facts about a picture before it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFrameInfo {
    /// Counts captured frames from 0.
    pub frame: u64,
    /// Mean absolute luma difference to the previous frame, in 8-bit steps (`None`: not measured).
    pub complexity: Option<f32>,
}

/// The encoder's output for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncodedFrameInfo {
    /// Counts captured frames from 0.
    pub frame: u64,
    /// Coded size without packet headers.
    #[serde(rename = "size_bytes")]
    pub size: DataSize,
    /// Decodable without any other frame.
    pub keyframe: bool,
    /// Picture height in luma rows.
    pub height: u16,
    /// Mean quantiser, on the codec's own scale.
    pub qp: f32,
    /// The encoder's own luma PSNR in dB, if it reports one.
    pub psnr_db: Option<f32>,
    /// The rate requested from the encoder when it coded this frame.
    #[serde(rename = "encoder_bitrate_bps")]
    pub encoder_bitrate: DataRate,
}

/// The fate of a frame at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameReport {
    /// Counts frames as the receiver saw them.
    pub frame: u64,
    /// Rendered, or given up.
    pub rendered: bool,
    /// Decodable without any other frame.
    pub keyframe: bool,
    /// Coded bytes received of it.
    #[serde(rename = "size_bytes")]
    pub size: DataSize,
    /// First to last packet of the frame.
    #[serde(rename = "assembly_ns")]
    pub assembly: TimeDelta,
    /// Since the previous rendered frame.
    #[serde(rename = "interval_ns")]
    pub interval: TimeDelta,
    /// Picture height in luma rows.
    pub height: u16,
    /// The encoder's own luma PSNR in dB, if the stream carries it.
    pub psnr_db: Option<f32>,
    /// When it was passed to the pacer, by the sender's clock, if the stream carries it.
    #[serde(rename = "queued_ns")]
    pub queued: Option<PeerTimestamp>,
}

/// The pacer's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacerQueue {
    /// Bytes waiting, headers included.
    #[serde(rename = "size_bytes")]
    pub size: DataSize,
    /// Time to drain them at the pacing rate.
    #[serde(rename = "drain_ns")]
    pub drain: TimeDelta,
}

/// A packet that left the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentPacket {
    /// Transport-wide sequence number, unwrapped.
    pub transport_seq: u64,
    /// The stream.
    pub ssrc: u32,
    /// Bytes on the wire, IP and UDP headers included.
    #[serde(rename = "size_bytes")]
    pub size: DataSize,
    /// What it carries.
    pub kind: PacketKind,
    /// The probe cluster it is part of.
    pub probe_cluster: Option<u32>,
    /// Bytes sent and not yet reported, this packet included.
    #[serde(rename = "in_flight_bytes")]
    pub in_flight: DataSize,
    /// Its place in its frame, if it carries video or parity and the sender knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FramePlace>,
}

impl BurstPacket for SentPacket {
    #[inline]
    fn size_bytes(&self) -> u64 {
        self.size.as_bytes()
    }

    #[inline]
    fn behind(&self, place: u16, smaller: u16) -> Self {
        let size = self.size.behind(place, smaller);
        let before = self.size * u64::from(place);
        let in_flight = self.in_flight + before - DataSize::from_bytes(u64::from(smaller));
        let in_frame = self.place.map(|in_frame| in_frame.behind(place));
        Self { transport_seq: self.transport_seq + u64::from(place), size, in_flight, place: in_frame, ..*self }
    }
}

/// A packet that arrived, as a receiver-side controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedPacket {
    /// Transport-wide sequence number, unwrapped.
    pub transport_seq: u64,
    /// The stream.
    pub ssrc: u32,
    /// Bytes on the wire, IP and UDP headers included.
    #[serde(rename = "size_bytes")]
    pub size: DataSize,
    /// What it carries.
    pub kind: PacketKind,
    /// When it left, by the sender's clock (absolute send time extension).
    #[serde(rename = "departure_ns")]
    pub departure: Option<PeerTimestamp>,
    /// Congestion experienced.
    pub ce: bool,
}

/// A receiver report (RTCP) on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceptionReport {
    /// The stream.
    pub ssrc: u32,
    /// Share of packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Highest sequence number received, wraps above its 16 bits.
    pub highest_seq: u32,
}

/// Feedback of many packets, in send order, each reported once unless a later report corrects it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportFeedback {
    /// Every packet once, ascending `transport_seq`.
    pub reports: PacketReports,
    /// Bytes sent and not yet reported, after this feedback.
    #[serde(rename = "in_flight_bytes")]
    pub in_flight: DataSize,
    /// When the receiver wrote it, where the format says so: [rfc8888] does, transport-wide feedback does not.
    #[serde(rename = "written_ns", default, skip_serializing_if = "Option::is_none")]
    pub written: Option<PeerTimestamp>,
}

impl TransportFeedback {
    /// From the departure of the newest packet that arrived until the feedback came at `now`; zero if none arrived.
    pub fn round_trip(&self, now: Timestamp) -> TimeDelta {
        let newest = self.reports.iter().rev().find(|packet| packet.arrived());
        newest.map_or(TimeDelta::ZERO, |packet| (now - packet.departure).max(TimeDelta::ZERO))
    }
}
