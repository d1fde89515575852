//! The encoder: a live bitrate that pays for the headers of its packets, and feedback on packets put together to
//! reports on frames.

use crate::{Coded, EncoderSettings, Error, LiveEncoder, PacketCost, PacketReport, Wanted, failed};
use legato_h264::{Mode, Resilient, ResilientFrame, Settings};
use std::collections::{BTreeMap, BTreeSet};

/// A stream that is coded as it is captured.
pub(crate) struct Live {
    stream: Resilient,
    /// The stream's first frame and the next one, among all that were coded.
    first: u32,
    next: u32,
    cost: PacketCost,
    /// Packets of the last predicted frame.
    packets: usize,
    /// Frames in part reported: their packets that arrived.
    arrived: BTreeMap<u32, BTreeSet<u16>>,
}

/// Slices of a picture, each a packet unless it is too large for one: as many as the hybrid codec has packets.
const SLICES: u8 = 4;
/// Of each slice, which the payloads leave out.
const START_CODE_BYTES: usize = 4;

impl Live {
    pub fn open(settings: EncoderSettings) -> Result<Self, Error> {
        Self::from(0, PacketCost::default(), settings)
    }

    /// `first`: how many frames were coded before, in other streams.
    fn from(first: u32, cost: PacketCost, settings: EncoderSettings) -> Result<Self, Error> {
        let EncoderSettings { size: (width, height), frame_rate, bitrate_bps } = settings;
        let settings = Settings { width, height, frame_rate, mode: Mode::Bitrate(bitrate_bps) };
        let stream = Resilient::new(settings, bitrate_bps, SLICES, true).map_err(failed)?;
        Ok(Self { stream, first, next: first, cost, packets: SLICES.into(), arrived: BTreeMap::new() })
    }

    /// What the encoder may spend: the bitrate accounts for the headers of full packets only.
    fn without_headers(&self, bitrate_bps: u32, frame_rate: f32) -> u32 {
        let PacketCost { own_bytes, even_max_bytes, even_bytes, .. } = self.cost;
        let frames_per_s = f64::from(frame_rate.max(1.0));
        let share = f64::from(bitrate_bps) / 8.0 / frames_per_s;
        let even = (share / f64::from(even_max_bytes)).ceil() * f64::from(even_bytes);
        let own = self.packets * usize::from(own_bytes).saturating_sub(START_CODE_BYTES);
        let left = (share + even - own as f64).clamp(share / 2.0, share);
        (left * 8.0 * frames_per_s) as u32
    }
}

impl LiveEncoder for Live {
    /// The same call goes on with another stream.
    fn resize(&mut self, settings: EncoderSettings) -> Result<(), Error> {
        *self = Self::from(self.next, self.cost, settings)?;
        Ok(())
    }

    fn set_packet_cost(&mut self, cost: PacketCost) {
        self.cost = cost;
    }

    fn encode(&mut self, picture: &[u8], wanted: Wanted) -> Result<Coded, Error> {
        let Wanted { time_ms, frame_rate, bitrate_bps, keyframe } = wanted;
        let bps = self.without_headers(bitrate_bps, frame_rate);
        let coded = self.stream.encode(picture, time_ms, frame_rate, bps, keyframe).map_err(failed)?;
        let ResilientFrame { units, keyframe, qp, psnr_db, .. } = coded;
        self.next = self.next.wrapping_add(1);
        if !keyframe {
            let max = usize::from(self.cost.max_bytes);
            self.packets = units.iter().map(|(unit, _)| unit.len().div_ceil(max)).sum();
        }
        let bytes = units.into_iter().flat_map(|(unit, _)| unit).collect();
        Ok(Coded { bytes, keyframe, qp, psnr_db })
    }

    /// A frame is whole once all of its packets arrived, and is not once one is lost.
    fn take_reports(&mut self, reports: &[PacketReport]) -> Result<(), Error> {
        for &PacketReport { frame, place, packets, arrived } in reports {
            if arrived {
                let came = self.arrived.entry(frame).or_default();
                came.insert(place);
                if came.len() < packets.into() {
                    continue;
                }
            }
            // This report settles older frames too.
            self.arrived.retain(|&other, _| other.wrapping_sub(frame).cast_signed() > 0);
            if let Some(number) = frame.checked_sub(self.first) {
                self.stream.report(number.into(), arrived).map_err(failed)?;
            }
        }
        Ok(())
    }
}
