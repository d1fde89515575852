//! The encoder of the hybrid codec as calls drive it (docs/concepts/hybrid-codec.md). Each frame meets its budget, and
//! packets are the codec's. Feedback decides from which of the receiver's pictures the next frame is predicted.
//!
//! A profile holds the clip at constant budgets. Where the budget changes, the picture follows: part of it within a few
//! frames, where it moves; the rest within a second or more, since a still background is not coded again (`Standing`).
//!
//! Calls add copies of motion where many bytes are lost (`legato_hybrid::Resilience`). Profiles were measured without any,
//! so frames have none here, and where so much is lost a call's picture is better than the model says.

use super::{Acknowledged, EncodedFrame, Encoder, EncoderBudget};
use crate::ledger::{Ledger, MOST_DISTANCE};
use crate::profile::Cell;
use crate::quality::SSIM_DB_MAX;
use crate::{Profile, Quality, SourceFrame};
use legato_control::{PacketKind, PacketReports};
use legato_units::elementary::exp2;
use legato_units::{DataSize, Timestamp};
use std::sync::Arc;

/// A stream of the hybrid codec at one size.
#[derive(Clone, Debug)]
pub struct Hybrid {
    profile: Arc<Profile>,
    rung: usize,
    fps: f32,
    sequence: u64,
    standing: Standing,
    last_bytes: u32,
    last_packets: u8,
    ledger: Ledger,
    /// A frame assumed to be at the receiver is not.
    is_wrong: bool,
}

impl Hybrid {
    /// A stream at a size of the ladder; `None` if the codec was not measured there.
    pub fn new(profile: Arc<Profile>, rung: usize) -> Option<Self> {
        profile.rungs.get(rung)?.hybrid.as_ref()?;
        let fps = profile.content.frame_rate.as_f64() as f32;
        let (standing, ledger) = (Standing::default(), Ledger::default());
        Some(Self {
            profile,
            rung,
            fps,
            sequence: 0,
            standing,
            last_bytes: 0,
            last_packets: 1,
            ledger,
            is_wrong: false,
        })
    }

    /// How many frames before the next one lies the one it is predicted from.
    fn distance(&self) -> u8 {
        let known = self.ledger.known().filter(|_| self.ledger.is_unsure());
        let behind = known.and_then(|known| u8::try_from(self.sequence - known).ok());
        behind.filter(|behind| *behind <= MOST_DISTANCE).unwrap_or(1)
    }

    /// Feedback: packets of frames by [`EncodedFrame::sequence`], and whether they arrived.
    pub fn take_reports(&mut self, reports: impl IntoIterator<Item = (u64, u16, bool)>) {
        self.is_wrong |= self.ledger.take(reports).is_wrong;
    }
}

impl Encoder for Hybrid {
    fn encode(&mut self, _now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        let keyframe =
            budget.keyframe || self.sequence == 0 || self.is_wrong || self.ledger.is_lost(self.sequence as u16);
        let shares = if keyframe { KEYFRAME_SHARES } else { 1.0 };
        let even = budget.bitrate.as_bps().max(1) as f32 / self.fps / 8.0 * shares;
        let share = match (budget.version.log2_size_step(), budget.max_frame_size) {
            (Some(step), _) if self.sequence > 0 => self.last_bytes as f32 * exp2(step),
            (_, Some(max)) => even.min(max.as_bytes() as f32),
            _ => even,
        };
        let (packets, bytes) = cut(share as u32);
        let distance = if keyframe { 1 } else { self.distance() };
        let rung = &self.profile.rungs[self.rung];
        let Some(tables) = &rung.hybrid else { unreachable!("checked in `new`") };
        let row = frame.content as usize;
        let level = tables.level_of(bytes as f32, keyframe);
        let cell = if keyframe {
            let stride = tables.key_stride as usize;
            let key_row = ((row + stride / 2) / stride).min(tables.key.rows() - 1);
            let cell = tables.key.at(key_row, level);
            self.standing = Standing::at(tables.level_that_shows(row, cell.shown_ssim_db));
            cell
        } else {
            if distance > 1 {
                // Measured as such: the previous picture plays no part.
                self.standing = Standing::at(level - tables.distance_cost(level, distance));
            } else {
                self.standing.follow(level);
            }
            let sized = tables.inter.log2_bytes(row, level);
            Cell { log2_bytes: sized, ..tables.inter.at(row, self.standing.level()) }
        };
        let coded = (exp2(cell.log2_bytes) as u32).max(u32::from(packets) * MIN_PACKET_BYTES);
        let settled = self.ledger.known();
        let from_known = keyframe || settled.is_some_and(|known| self.sequence - known == u64::from(distance));
        self.is_wrong = false;
        self.ledger.push(self.sequence, self.sequence as u16, packets, from_known);
        (self.last_bytes, self.last_packets) = (coded, packets);
        let sequence = self.sequence;
        self.sequence += 1;
        EncodedFrame {
            frame: frame.frame,
            sequence,
            content: frame.content,
            rung: self.rung as u8,
            qp: self.standing.level(),
            size: DataSize::from_bytes(u64::from(coded) + u64::from(packets) * OWN_BYTES_MORE),
            head_bytes: 0,
            keyframe,
            width: rung.width,
            height: rung.height,
            psnr_db: Some(cell.psnr_db),
            quality: Some(Quality { ssim_db: cell.shown_ssim_db.min(SSIM_DB_MAX), psnr_db: cell.shown_psnr_db }),
            bitrate: budget.bitrate,
            acknowledged: Some(Acknowledged { settled, distance }),
        }
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }

    fn pieces(&self, frame: &EncodedFrame) -> Option<Vec<u16>> {
        let (bytes, count) = (frame.size.as_bytes() as u32, u32::from(self.last_packets));
        let piece = |index: u32| (bytes / count + u32::from(index < bytes % count)).min(u32::from(u16::MAX)) as u16;
        Some((0..count).map(piece).collect())
    }

    fn reported(&mut self, reports: &PacketReports) {
        let of_frames = reports.iter().filter_map(|report| {
            let place = report.place.filter(|_| matches!(report.kind, PacketKind::Video | PacketKind::Fec))?;
            Some((u64::from(place.frame), place.index, report.arrived()))
        });
        self.take_reports(of_frames);
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("hybrid_level", f64::from(self.standing.level()));
    }
}

/// The level of the picture on display, in two parts: the area that is coded anew in a few frames, and the area that
/// stays. Each moves by a share of its distance to the level that the budget is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Standing {
    fast: f32,
    slow: f32,
}

impl Standing {
    const fn at(level: f32) -> Self {
        Self { fast: level, slow: level }
    }
    fn level(self) -> f32 {
        FAST_SHARE * self.fast + (1.0 - FAST_SHARE) * self.slow
    }
    /// One frame at a level's budget.
    fn follow(&mut self, level: f32) {
        let moved = |from: f32, [up, down]: [f32; 2]| from + if level > from { up } else { down } * (level - from);
        (self.fast, self.slow) = (moved(self.fast, FAST_RATIOS), moved(self.slow, SLOW_RATIOS));
    }
}

/// Per frame, up and down: fitted on schedules of the clips yes, lrwp9a and night (docs/measured/codec-truth.md).
const FAST_RATIOS: [f32; 2] = [0.48, 0.45];
const SLOW_RATIOS: [f32; 2] = [0.048, 0.027];
const FAST_SHARE: f32 = 0.37;

/// Packets of a frame and bytes in them all, for a share of the bitrate in bytes without headers: as calls cut frames
/// (`crates/codec/src/hybrid/live.rs`).
pub fn cut(share_bytes: u32) -> (u8, u32) {
    let wire = share_bytes + share_bytes.div_ceil(EVEN_MAX_BYTES).max(1) * EVEN_BYTES;
    let needed = wire.div_ceil(MAX_PACKET_BYTES * 9 / 10 + OWN_BYTES);
    let packets = (wire / SMALL_PACKET_BYTES).clamp(MIN_PACKETS, PACKETS).max(needed);
    let bytes = wire.saturating_sub(packets * OWN_BYTES).max(packets * MIN_PACKET_BYTES);
    (packets.min(MOST_PACKETS) as u8, bytes)
}

/// The rules of `Live::budget`, and `PacketCost::default`.
const KEYFRAME_SHARES: f32 = 4.0;
const MIN_PACKETS: u32 = 2;
const PACKETS: u32 = 4;
const MOST_PACKETS: u32 = 64;
const SMALL_PACKET_BYTES: u32 = 320;
const MAX_PACKET_BYTES: u32 = 1_159;
const OWN_BYTES: u32 = 69;
const EVEN_MAX_BYTES: u32 = 1_162;
const EVEN_BYTES: u32 = 66;
/// What a packet of this codec costs more than those the sender would cut.
const OWN_BYTES_MORE: u64 = (OWN_BYTES - EVEN_BYTES) as u64;
/// A packet in which all is skipped.
const MIN_PACKET_BYTES: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use legato_units::DataRate;

    /// 300 kbit/s at 30 a second: 1250 bytes and two times 66 of headers are 1382 on the wire; in four packets of 320 or
    /// more; without four times 69 bytes 1106 are left.
    #[test]
    fn frames_are_cut_as_calls_cut_them() {
        assert_eq!(cut(1_250), (4, 1_106));
        // 400 + 66 = 466: one packet of 320, but two at least; 466 - 138.
        assert_eq!(cut(400), (2, 328));
        // 8333 + 8 * 66 = 8861 at most 1043 + 69 each: eight; 8861 - 8 * 69.
        assert_eq!(cut(8_333), (8, 8_309));
        assert_eq!(cut(0), (2, 24));
    }

    fn encoder() -> (Hybrid, Source) {
        let profile = Arc::new(crate::profile::tests::example());
        let source = Source::new(profile.content.clone(), Timestamp::ZERO, 0);
        (Hybrid::new(profile, 0).unwrap(), source)
    }

    /// The share whose frames have 1414 bytes lies halfway between the levels: 15 dB. The key frame has four shares,
    /// 5,796 bytes, and looks like 12 + 6 * 0.535 = 15.2 dB: so do the frames after it, nearly.
    #[test]
    fn frames_meet_their_budget_and_the_picture_follows_it() {
        let (mut encoder, mut source) = encoder();
        let share = (1_300..1_700).find(|&share| cut(share).1 == 1_414).unwrap();
        let rate = DataRate::from_bps(u64::from(share) * 8 * 30);
        let mut shown = Vec::new();
        for n in 0..60 {
            let picture = source.capture();
            let coded = encoder.encode(picture.capture, picture, EncoderBudget::of_bitrate(rate));
            let pieces: u32 = encoder.pieces(&coded).unwrap().iter().map(|&piece| u32::from(piece)).sum();
            assert_eq!((u64::from(pieces), coded.keyframe), (coded.size.as_bytes(), n == 0));
            if n > 0 {
                let own = coded.size.as_bytes() - 4 * OWN_BYTES_MORE;
                assert!((1_400..=1_428).contains(&own), "{own}");
            }
            shown.push(coded.quality.unwrap().ssim_db);
        }
        assert!(shown.windows(2).skip(1).all(|pair| pair[1] < pair[0] + 1e-4), "{shown:?}");
        assert!((15.0..16.5).contains(&shown[0]) && (shown[59] - 15.0).abs() < 0.15, "{shown:?}");
    }

    /// From level 0 to 4: after one frame the fast part is at 0.48 * 4 = 1.92 and the slow one at 0.192, of which 37
    /// and 63 %. Down from 4 to 0: 4 * 0.55 = 2.2 and 4 * 0.973 = 3.892.
    #[test]
    fn a_picture_follows_its_budget_in_two_parts() {
        let mut standing = Standing::at(0.0);
        standing.follow(4.0);
        assert!((standing.level() - (0.37 * 1.92 + 0.63 * 0.192)).abs() < 1e-5);
        let mut standing = Standing::at(4.0);
        standing.follow(0.0);
        assert!((standing.level() - (0.37 * 2.2 + 0.63 * 3.892)).abs() < 1e-5);
    }

    fn frames(encoder: &mut Hybrid, source: &mut Source, frames: usize) -> Vec<EncodedFrame> {
        let budget = EncoderBudget::of_bitrate(DataRate::from_kbps(300));
        (0..frames).map(|_| source.capture()).map(|picture| encoder.encode(picture.capture, picture, budget)).collect()
    }

    /// Each frame has four packets. Of frame 1 feedback reports one, then all of frame 2: frame 4 is predicted from
    /// frame 0, and so is the next one until a report says that frame 4 is whole.
    #[test]
    fn after_a_lost_feedback_frames_are_predicted_from_the_last_known_one() {
        let (mut encoder, mut source) = encoder();
        frames(&mut encoder, &mut source, 4);
        let whole = |frame: u64| (0..8).map(move |packet| (frame, packet, true));
        encoder.take_reports(whole(0).chain([(1, 0, true)]).chain(whole(2)));
        let unsure = frames(&mut encoder, &mut source, 2);
        let known = |frame: &EncodedFrame| frame.acknowledged.map(|known| (known.settled, known.distance));
        assert_eq!((known(&unsure[0]), known(&unsure[1])), (Some((Some(0), 4)), Some((Some(0), 5))));
        encoder.take_reports(whole(4));
        assert_eq!(known(&frames(&mut encoder, &mut source, 1)[0]), Some((Some(4), 1)));
    }

    /// A packet that was reported lost comes after all: the receiver has another picture than was believed.
    #[test]
    fn a_report_that_was_wrong_is_answered_by_a_key_frame() {
        let (mut encoder, mut source) = encoder();
        frames(&mut encoder, &mut source, 2);
        encoder
            .take_reports((0..8).map(|packet| (0, packet, true)).chain((0..4).map(|packet| (1, packet, packet > 0))));
        assert!(!frames(&mut encoder, &mut source, 1)[0].keyframe);
        encoder.take_reports([(1, 0, true)]);
        let coded = frames(&mut encoder, &mut source, 2);
        assert_eq!((coded[0].keyframe, coded[1].keyframe), (true, false));
    }
}
