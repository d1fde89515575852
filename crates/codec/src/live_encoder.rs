//! An encoder with a live bitrate, of any codec.

use crate::{Codec, Coded, Error, PacketCost, PacketReport, failed, hybrid, references};

/// A stream that is coded as it is captured.
pub struct LiveEncoder(Live);

enum Live {
    H264(legato_h264::Live),
    Vpx(legato_vpx::Live),
    Hybrid(Box<hybrid::Live>),
    References(Box<references::Live>),
}

impl LiveEncoder {
    /// Open a stream of pictures of `width` columns and `height` rows at `frame_rate` pictures per second, which begins
    /// at a bitrate in bit/s.
    pub fn open(codec: Codec, (width, height): (u16, u16), frame_rate: f32, bitrate_bps: u32) -> Result<Self, Error> {
        let vpx = |codec| {
            let settings = legato_vpx::Settings { codec, width, height, frame_rate };
            legato_vpx::Live::new(settings, bitrate_bps).map(Live::Vpx).map_err(failed)
        };
        let live = match codec {
            Codec::H264 => {
                let mode = legato_h264::Mode::Bitrate(bitrate_bps);
                let settings = legato_h264::Settings { width, height, frame_rate, mode };
                legato_h264::Live::new(settings, bitrate_bps).map(Live::H264).map_err(failed)
            }
            Codec::Vp8 => vpx(legato_vpx::Codec::Vp8),
            Codec::Vp9 => vpx(legato_vpx::Codec::Vp9),
            Codec::Hybrid => hybrid::Live::open(width, height, 0, 0).map(|live| Live::Hybrid(Box::new(live))),
            Codec::H264References => references::Live::open((width, height), frame_rate, bitrate_bps)
                .map(|live| Live::References(Box::new(live))),
        };
        Ok(Self(live?))
    }

    /// Code one picture of planar 4:2:0, captured at `time_ms`, at `frame_rate` pictures per second and a bitrate in
    /// bit/s; as a key frame if asked to.
    pub fn encode(
        &mut self,
        picture: &[u8],
        time_ms: i64,
        frame_rate: f32,
        bitrate_bps: u32,
        keyframe: bool,
    ) -> Result<Coded, Error> {
        Ok(match &mut self.0 {
            Live::H264(live) => {
                let coded = live.encode(picture, time_ms, frame_rate, bitrate_bps, keyframe).map_err(failed)?;
                Coded { bytes: coded.bytes, keyframe: coded.keyframe, qp: coded.qp, psnr_db: coded.psnr_db }
            }
            Live::Vpx(live) => {
                let coded = live.encode(picture, frame_rate, bitrate_bps, keyframe).map_err(failed)?;
                Coded { bytes: coded.bytes, keyframe: coded.keyframe, qp: coded.qp, psnr_db: coded.psnr_db }
            }
            Live::Hybrid(live) => live.encode(picture, frame_rate, bitrate_bps, keyframe)?,
            Live::References(live) => live.encode(picture, time_ms, frame_rate, bitrate_bps, keyframe)?,
        })
    }

    /// Go on with pictures of another size, which begin with a key frame.
    pub fn resize(&mut self, codec: Codec, size: (u16, u16), frame_rate: f32, bitrate_bps: u32) -> Result<(), Error> {
        match &mut self.0 {
            Live::Hybrid(live) => live.resize(size.0, size.1),
            Live::References(live) => live.resize(size, frame_rate, bitrate_bps),
            Live::H264(_) | Live::Vpx(_) => {
                *self = Self::open(codec, size, frame_rate, bitrate_bps)?;
                Ok(())
            }
        }
    }

    /// What packets cost, for a codec that makes them itself; by default those of 1200 bytes.
    pub fn set_packet_cost(&mut self, cost: PacketCost) {
        match &mut self.0 {
            Live::Hybrid(live) => live.set_cost(cost),
            Live::References(live) => live.set_cost(cost),
            Live::H264(_) | Live::Vpx(_) => {}
        }
    }

    /// Whether the next frames must not be larger than their shares of the bitrate. OpenH264 and libvpx know no such limit.
    pub fn set_strict(&mut self, strict: bool) {
        if let Live::Hybrid(live) = &mut self.0 {
            live.set_strict(strict);
        }
    }

    /// Feedback on packets, for a codec that predicts from what the receiver has.
    pub fn take_reports(&mut self, reports: &[PacketReport]) -> Result<(), Error> {
        match &mut self.0 {
            Live::Hybrid(live) => {
                let told = reports.iter().map(|report| (report.frame, report.place, report.arrived));
                live.take_reports(&told.collect::<Vec<_>>());
                Ok(())
            }
            Live::References(live) => live.take_reports(reports),
            Live::H264(_) | Live::Vpx(_) => Ok(()),
        }
    }
}
