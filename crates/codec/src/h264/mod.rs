//! H.264, by OpenH264, which every build has.

mod joining;
mod payloads;
mod references;

use crate::assembly::whole::WholeFrames;
use crate::{
    CallCodec, Coded, EncoderSettings, Error, LiveEncoder, PacketCost, Playback, Recovery, RtpFormat, Shown, Stream,
    Wanted, failed,
};
use legato_h264::{DecodedLuma, LiveFrame, Mode, Settings};
use legato_media::encoder::size_rule::Thresholds;

pub use joining::FORMAT;
pub use payloads::H264Frame;

/// The codec.
pub static H264: CallCodec = CallCodec {
    name: "h264",
    check: || Ok(()),
    remedy: None,
    ours_alone: false,
    rtp: RtpFormat {
        name: "H264",
        parameters: Some("level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
    },
    // libwebrtc's.
    thresholds: Thresholds { low_qp: 24.0, high_qp: 37.0 },
    streams: &[
        Stream {
            recovery: Recovery::Nack,
            label: "openh264 (real)",
            encoder: |settings| Ok(Box::new(live(settings)?)),
            packet_cost: |_| PacketCost::default(),
            payloads: |frame, room| Ok(Box::new(H264Frame::new(frame.bytes, room)?)),
            assembly: || Box::new(WholeFrames::new(&FORMAT)),
            playback: || Ok(Box::new(legato_h264::Playback::new().map_err(failed)?)),
        },
        references::STREAM,
    ],
    filling: |length, keyframe| [&[0, 0, 1, if keyframe { 0x65 } else { 0x41 }][..], &vec![0x55; length]].concat(),
};

fn live(settings: EncoderSettings) -> Result<legato_h264::Live, Error> {
    let EncoderSettings { size: (width, height), frame_rate, bitrate_bps } = settings;
    let settings = Settings { width, height, frame_rate, mode: Mode::Bitrate(bitrate_bps) };
    legato_h264::Live::new(settings, bitrate_bps).map_err(failed)
}

impl LiveEncoder for legato_h264::Live {
    fn encode(&mut self, picture: &[u8], wanted: Wanted) -> Result<Coded, Error> {
        let Wanted { time_ms, frame_rate, bitrate_bps, keyframe } = wanted;
        let coded = self.encode(picture, time_ms, frame_rate, bitrate_bps, keyframe).map_err(failed)?;
        let LiveFrame { bytes, keyframe, qp, psnr_db } = coded;
        Ok(Coded { bytes, keyframe, qp, psnr_db })
    }

    fn resize(&mut self, settings: EncoderSettings) -> Result<(), Error> {
        *self = live(settings)?;
        Ok(())
    }
}

impl Playback for legato_h264::Playback {
    fn decode(&mut self, frame: &[u8]) -> Result<Option<Shown>, Error> {
        let shown = self.decode(frame).map_err(failed)?;
        Ok(shown.map(|DecodedLuma { width, height, samples }| Shown { width, height, samples }))
    }
}
