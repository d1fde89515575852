//! The encoder of a call: frames of a budget on the wire, none of whose packets is too large.
//!
//! Each packet costs headers, so small frames are cut into fewer packets; reported losses decide how many copies of
//! motion they carry. A key frame comes at the beginning of a stream, on request, and when the receiver's picture is
//! unknown; it may take [`KEYFRAME_SHARES`] of the bitrate's share of a frame.

use super::bundle::Bundle;
use crate::{Coded, EncoderSettings, Error, LiveEncoder, PacketCost, PacketReport, Wanted, failed};
use legato_hybrid::{Encoder, Header, Picture, PredictFrom, Resilience, Settings, Size};
use legato_media::ledger::{Ledger, MOST_DISTANCE, Settled};

/// A stream that is coded as it is captured.
pub(crate) struct Live {
    encoder: Encoder,
    size: Size,
    stream: u8,
    /// Counts coded frames, of all streams.
    sequence: u32,
    cost: PacketCost,
    /// A frame must not be larger than its share.
    strict: bool,
    ledger: Ledger,
    resilience: Resilience,
}

// What the sender counts on is what the codec keeps.
const _: () = assert!(MOST_DISTANCE == legato_hybrid::MOST_DISTANCE);

/// Packets of a frame, if it is large enough: with more each loss costs less, and headers more.
const PACKETS: usize = 4;
/// Two at least, so that a loss leaves something.
const MIN_PACKETS: usize = 2;
/// A frame is not cut into packets that would be smaller on the wire: a fifth of it would be headers.
const SMALL_PACKET_BYTES: usize = 320;
/// A key frame may take this many shares.
const KEYFRAME_SHARES: usize = 4;
/// How often a frame is coded again because it, or a packet, is too large.
const TRIES: usize = 16;
/// A frame that must not be larger than its share aims at this part of it, since sizes scatter by 4.5 %.
const STRICT_PERCENT: usize = 95;

impl Live {
    /// `sequence`: how many frames were coded before, in other streams.
    pub fn open((width, height): (u16, u16), stream: u8, sequence: u32) -> Result<Self, Error> {
        let size = Size::new(width, height).map_err(failed)?;
        let encoder = Encoder::new(size, Settings::default());
        Ok(Self {
            encoder,
            size,
            stream,
            sequence,
            cost: PacketCost::default(),
            strict: false,
            ledger: Ledger::default(),
            resilience: Resilience::default(),
        })
    }

    /// Code within a share of the bitrate; again, in smaller packets and fewer bytes, while something is too large.
    fn within(&mut self, picture: &Picture, share: usize, settings: Settings) -> Result<legato_hybrid::Coded, Error> {
        let before = self.encoder.clone();
        let (max_bytes, limit) = (usize::from(self.cost.max_bytes), self.budget(share));
        let wanted = self.budget(if self.strict { share } else { share * self.shares() });
        let mut bytes = if self.strict { wanted.1 * STRICT_PERCENT / 100 } else { wanted.1 };
        let mut packets = wanted.0.min(64);
        for attempt in 0..TRIES {
            let min_packets = packets as u8;
            self.encoder.set(Settings { min_packets, max_packet_bytes: self.cost.max_bytes, ..settings });
            let coded = self.encoder.encode(picture, bytes).map_err(failed)?;
            let largest = coded.packets.iter().map(Vec::len).max().unwrap_or(0);
            let (fits, total) = (largest <= max_bytes, coded.bytes());
            if fits && (!self.strict || total <= limit.1) {
                return Ok(coded);
            }
            self.encoder.clone_from(&before);
            if !fits {
                let more = ((coded.packets.len() * largest).div_ceil(max_bytes) + 1).min(64);
                // More packets cost headers; and where those are not enough, the frame is made smaller.
                let own = usize::from(self.cost.own_bytes) * more.saturating_sub(packets);
                bytes = bytes.saturating_sub(own).max(bytes / 2);
                bytes = if attempt > 0 || more == 64 { bytes * 3 / 4 } else { bytes };
                packets = more;
            } else {
                bytes = bytes * limit.1 / total.max(1) * STRICT_PERCENT / 100;
            }
        }
        Err(Error(format!(
            "hybrid: no frame of {}x{} fits {max_bytes} bytes per packet",
            self.size.width(),
            self.size.height()
        )))
    }

    /// Shares of the bitrate that the next frame may take.
    fn shares(&self) -> usize {
        if self.encoder.wants_keyframe() { KEYFRAME_SHARES } else { 1 }
    }

    /// Packets of a frame, and bytes in them all, for a share of the bitrate.
    fn budget(&self, share: usize) -> (usize, usize) {
        let PacketCost { max_bytes, own_bytes, even_max_bytes, even_bytes } = self.cost;
        let [max, own, even_max, even] = [max_bytes, own_bytes, even_max_bytes, even_bytes].map(usize::from);
        let wire = share + share.div_ceil(even_max).max(1) * even;
        // The codec fills packets by nine tenths at most.
        let needed = wire.div_ceil(max * 9 / 10 + own);
        let packets = (wire / SMALL_PACKET_BYTES).clamp(MIN_PACKETS, PACKETS).max(needed);
        (packets, wire.saturating_sub(packets * own))
    }
}

impl LiveEncoder for Live {
    /// The same call goes on with another stream.
    fn resize(&mut self, settings: EncoderSettings) -> Result<(), Error> {
        let next = Self::open(settings.size, self.stream.wrapping_add(1), self.sequence)?;
        *self = Self { cost: self.cost, resilience: self.resilience, ..next };
        Ok(())
    }

    fn set_packet_cost(&mut self, cost: PacketCost) {
        self.cost = cost;
    }

    fn set_strict(&mut self, strict: bool) {
        self.strict = strict;
    }

    fn take_reports(&mut self, reports: &[PacketReport]) -> Result<(), Error> {
        let told = reports.iter().map(|report| (report.frame.into(), report.place, report.arrived));
        let Settled { reports, is_wrong, heard } = self.ledger.take(told);
        self.encoder.acknowledge_all(reports);
        heard.into_iter().for_each(|(named, came)| self.resilience.take(named, came));
        if is_wrong {
            self.encoder.request_keyframe();
        }
        Ok(())
    }

    fn encode(&mut self, picture: &[u8], wanted: Wanted) -> Result<Coded, Error> {
        let Wanted { frame_rate, bitrate_bps, keyframe, .. } = wanted;
        let picture = Picture::from_planar(self.size, picture).map_err(failed)?;
        if keyframe || self.ledger.is_lost(self.encoder.next_frame()) {
            self.encoder.request_keyframe();
        }
        let known = self.encoder.reported();
        let predict_from = if self.ledger.is_unsure() { PredictFrom::Reported } else { PredictFrom::Latest };
        let share = (f64::from(bitrate_bps) / 8.0 / f64::from(frame_rate.max(1.0))) as usize;
        let motion_copies = self.resilience.motion_copies(self.size, share);
        let coded = self.within(&picture, share, Settings { predict_from, motion_copies, ..Settings::default() })?;
        let first = coded.packets.first().and_then(|packet| Header::parse(packet).ok());
        let (header, _) = first.ok_or_else(|| Error("hybrid frame without a packet".to_owned()))?;
        let behind = |(number, _): (u16, u16)| coded.frame.wrapping_sub(number);
        let from = header.distance.map(u16::from);
        let from_known = from.is_none() || from == known.map(behind);
        self.ledger.push(self.sequence.into(), coded.frame, header.packets, from_known);
        self.sequence = self.sequence.wrapping_add(1);
        let confirmed = known.filter(|&known| (1..=u16::from(MOST_DISTANCE)).contains(&behind(known)));
        let confirmed = confirmed.map(|known| (behind(known) as u8, known.1));
        let psnr_db = self.encoder.shown().and_then(|shown| psnr_db(picture.luma(), shown.luma()));
        let (keyframe, qp) = (coded.keyframe, coded.quantiser);
        let bytes = Bundle { stream: self.stream, confirmed, packets: coded.packets }.to_bytes();
        Ok(Coded { bytes, keyframe, qp, psnr_db })
    }
}

#[cfg(test)]
impl Live {
    /// The receiver's picture if no more is lost than was reported.
    pub fn encoder_shown(&self) -> Option<Picture> {
        self.encoder.shown()
    }
}

/// PSNR of luma in dB, at most 100; `None` for planes of different sizes.
fn psnr_db(source: &[u8], shown: &[u8]) -> Option<f32> {
    let squares = |(a, b): (&[u8], &[u8])| {
        let row = a.iter().zip(b).map(|(&a, &b)| u32::from(a.abs_diff(b)).pow(2));
        u64::from(row.sum::<u32>())
    };
    let sum: u64 = source.chunks(4_096).zip(shown.chunks(4_096)).map(squares).sum();
    let mean = sum as f64 / source.len().max(1) as f64;
    (source.len() == shown.len()).then(|| (10.0 * libm::log10(65_025.0 / mean.max(6.5e-6))) as f32)
}
