//! A controller's decision.

use legato_units::{DataRate, DataSize, TimeDelta};
use serde::{Deserialize, Serialize};

/// What the sender shall do until the next event. Rates count bytes on the wire, packet headers
/// included; the sender subtracts headers, FEC and retransmissions to get the encoder's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The rate for all media together.
    pub target_bitrate: DataRate,
    /// The rate at which the pacer releases packets. To spread one frame over a time, set it when the frame
    /// has been encoded.
    pub pacing_rate: DataRate,
    /// What the pacer may release at one instant: packets leave until this much is owed, then wait until it is paid
    /// at the pacing rate (`None`: the pacer's own burst interval; zero: packets leave one by one).
    pub burst: Option<DataSize>,
    /// Fill the pacer up to this with padding.
    pub padding_rate: DataRate,
    /// The share of the target spent on parity.
    pub fec_rate: DataRate,
    /// Send a retransmission a second time, behind the next frame, if another request, a round trip later, would bring
    /// the packet later than this after it first left (`None`: never). For links that often lose repair as well.
    pub repair_deadline: Option<TimeDelta>,
    /// Before a picture is coded, throw away the frames of which no packet has left if the oldest of them has waited longer
    /// than this (`None`: never). The picture is then a key frame: what it would be predicted from was never sent.
    pub drop_queued: Option<TimeDelta>,
    /// Hold packets while this much is in flight (`None`: no window).
    pub congestion_window: Option<DataSize>,
    /// How frames are coded and which; most controllers leave that to the encoder.
    pub encoder: EncoderWishes,
    /// Send nothing at all: a circuit breaker of [rfc8083] has tripped.
    pub cease: bool,
}

impl Decision {
    /// A target with pacing at 2.5 times the target, as libwebrtc starts, and nothing else.
    pub fn of_target(target_bitrate: DataRate) -> Self {
        Self {
            target_bitrate,
            pacing_rate: target_bitrate.scale(2.5),
            burst: None,
            padding_rate: DataRate::ZERO,
            fec_rate: DataRate::ZERO,
            repair_deadline: None,
            drop_queued: None,
            congestion_window: None,
            encoder: EncoderWishes::default(),
            cease: false,
        }
    }
}

/// What a controller wants of the encoder beyond its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncoderWishes {
    /// The maximum size of encoded frames (`None`: given by the bitrate).
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
pub struct ProbeCluster {
    /// Returned in the reports of its packets.
    pub id: u32,
    /// Send at this rate.
    pub target_rate: DataRate,
    /// Send for at least this long …
    pub min_duration: TimeDelta,
    /// … and at least this many packets.
    pub min_packets: u32,
    /// The minimum time between two bursts of the cluster.
    pub min_delta: TimeDelta,
}
