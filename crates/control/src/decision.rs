//! A controller's decision. Its names in JSON carry units and are part of the contract (docs/reference/contract.md).

use legato_units::{DataRate, DataSize, TimeDelta};
use serde::{Deserialize, Serialize};

/// The sender's orders until the next event: the rate, how packets leave, what else it sends or throws away, and orders
/// to the encoder. Rates count bytes on the wire, packet headers included; the sender subtracts headers, parity and
/// retransmissions to get the encoder's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The rate for all media together.
    #[serde(rename = "target_bitrate_bps")]
    pub target_bitrate: DataRate,
    /// How packets leave.
    pub pacing: Pacing,
    /// Hold packets while this much is in flight (`None`: no window).
    #[serde(rename = "congestion_window_bytes")]
    pub congestion_window: Option<DataSize>,
    /// Packets sent in addition to media, and media not sent after all; most controllers have no such wish.
    pub sending: SendingWishes,
    /// How frames are coded and which; most controllers leave that to the encoder.
    pub encoder: EncoderWishes,
}

impl Decision {
    /// A target with pacing at 2.5 times the target, as libwebrtc starts, and nothing else.
    pub fn of_target(target_bitrate: DataRate) -> Self {
        Self {
            target_bitrate,
            pacing: Pacing::of_target(target_bitrate),
            congestion_window: None,
            sending: SendingWishes::default(),
            encoder: EncoderWishes::default(),
        }
    }
}

/// How packets leave the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// The rate at which the pacer releases packets. To spread one frame over a time, set it when the frame
    /// has been encoded.
    #[serde(rename = "rate_bps")]
    pub rate: DataRate,
    /// The bytes that the pacer may release at one instant: packets leave until this much is owed, then wait until it
    /// is paid at the pacing rate. `None`: the pacer's burst interval; zero: packets leave one by one.
    #[serde(rename = "burst_bytes")]
    pub burst: Option<DataSize>,
    /// Fill the pacer up to this with padding.
    #[serde(rename = "padding_bps")]
    pub padding_rate: DataRate,
}

impl Pacing {
    /// At a rate, in the pacer's own bursts, without padding.
    pub const fn at(rate: DataRate) -> Self {
        Self { rate, burst: None, padding_rate: DataRate::ZERO }
    }

    /// At 2.5 times a target, as libwebrtc starts.
    pub fn of_target(target_bitrate: DataRate) -> Self {
        Self::at(target_bitrate.scale(2.5))
    }
}

/// What a controller wants of the sender beyond media at a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendingWishes {
    /// The share of the target spent on parity.
    #[serde(rename = "fec_bps")]
    pub fec_rate: DataRate,
    /// Send a retransmission a second time, behind the next frame, if another request, a round trip later, would bring
    /// the packet later than this after it first left (`None`: never). For links that often lose repair as well.
    #[serde(rename = "repair_deadline_ns")]
    pub repair_deadline: Option<TimeDelta>,
    /// Before a picture is coded, throw away the frames of which no packet has left if the oldest of them has waited
    /// longer than this (`None`: never). The picture is then a key frame: its reference was never sent.
    #[serde(rename = "drop_queued_ns")]
    pub drop_queued: Option<TimeDelta>,
    /// Send nothing at all: a circuit breaker of [rfc8083] has tripped.
    pub cease: bool,
}

/// What a controller wants of the encoder beyond its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderWishes {
    /// The maximum size of encoded frames (`None`: given by the bitrate).
    #[serde(rename = "max_frame_bytes")]
    pub max_frame_size: Option<DataSize>,
    /// Skip one captured frame in this many, and its share of the target with it; 1 skips all (`None`:
    /// skip none).
    pub drop_one_frame_in: Option<u32>,
    /// Have each frame coded twice, slightly better and slightly worse than the last one sent, and
    /// send the larger that fits `max_frame_size`, or neither: [fouladi2018]'s way.
    pub best_of_two: bool,
}

/// A burst for the pacer to send at a given rate so that the path's capacity shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeCluster {
    /// Returned in the reports of its packets.
    pub id: u32,
    /// Send at this rate.
    #[serde(rename = "target_bps")]
    pub target_rate: DataRate,
    /// Send for at least this long …
    #[serde(rename = "min_duration_ns")]
    pub min_duration: TimeDelta,
    /// … and at least this many packets.
    pub min_packets: u32,
    /// The minimum time between two bursts of the cluster.
    #[serde(rename = "min_delta_ns")]
    pub min_delta: TimeDelta,
}
