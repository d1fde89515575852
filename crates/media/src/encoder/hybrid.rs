//! The encoder of the hybrid codec as calls drive it (docs/hybrid-codec.md): each frame meets its budget, packets are the
//! codec's own, and what feedback says of them decides from which of the receiver's pictures the next frame is predicted.
//!
//! A profile holds the clip at constant budgets. Where the budget changes, the picture follows: part of it within a few
//! frames, where it moves; the rest within a second or more, since what stands still stays as it is (`Standing`).

use super::{Acknowledged, EncodedFrame, Encoder, EncoderBudget};
use crate::profile::Cell;
use crate::quality::SSIM_DB_MAX;
use crate::{Profile, Quality, SourceFrame};
use legato_control::{PacketKind, PacketReports};
use legato_units::elementary::exp2;
use legato_units::{DataSize, Timestamp};
use std::collections::VecDeque;
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
}

impl Hybrid {
    /// A stream at a size of the ladder; `None` if the codec was not measured there.
    pub fn new(profile: Arc<Profile>, rung: usize) -> Option<Self> {
        profile.rungs.get(rung)?.hybrid.as_ref()?;
        let fps = profile.content.frame_rate.as_f64() as f32;
        let (standing, ledger) = (Standing::default(), Ledger::default());
        Some(Self { profile, rung, fps, sequence: 0, standing, last_bytes: 0, last_packets: 1, ledger })
    }

    /// Feedback: packets of frames by [`EncodedFrame::sequence`], and whether they arrived.
    pub fn take_reports(&mut self, reports: impl IntoIterator<Item = (u64, u16, bool)>) {
        self.ledger.take(reports);
    }
}

impl Encoder for Hybrid {
    fn encode(&mut self, _now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        let keyframe = budget.keyframe || self.sequence == 0 || self.ledger.is_lost(self.sequence);
        let shares = if keyframe { KEYFRAME_SHARES } else { 1.0 };
        let even = budget.bitrate.as_bps().max(1) as f32 / self.fps / 8.0 * shares;
        let share = match (budget.version.log2_size_step(), budget.max_frame_size) {
            (Some(step), _) if self.sequence > 0 => self.last_bytes as f32 * exp2(step),
            (_, Some(max)) => even.min(max.as_bytes() as f32),
            _ => even,
        };
        let (packets, bytes) = cut(share as u32);
        let distance = if keyframe { 1 } else { self.ledger.distance(self.sequence) };
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
                // Measured as such: what was on display just before plays no part.
                self.standing = Standing::at(level - tables.distance_cost(level, distance));
            } else {
                self.standing.follow(level);
            }
            let sized = tables.inter.log2_bytes(row, level);
            Cell { log2_bytes: sized, ..tables.inter.at(row, self.standing.level()) }
        };
        let coded = (exp2(cell.log2_bytes) as u32).max(u32::from(packets) * MIN_PACKET_BYTES);
        let settled = self.ledger.known;
        let from_known = keyframe || settled.is_some_and(|known| self.sequence - known == u64::from(distance));
        self.ledger.push(self.sequence, packets, from_known);
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

/// The level of the picture on display, in two parts: what is coded anew in a few frames, and what stays. Each moves by a
/// share of what is left to the level that the budget is worth.
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

/// Per frame, up and down: fitted on schedules of the clips yes, lrwp9a and night (docs/codec-truth.md).
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
/// The codec keeps so many frames to predict from.
const MOST_DISTANCE: u64 = 32;

/// What the sender knows of its frames at the receiver, as `crates/codec/src/hybrid/ledger.rs` has it: frames are settled
/// in order, once all their packets are known. One that feedback passed over leaves the receiver's picture unknown; then
/// frames are predicted from the last known one, until one of these is reported whole.
#[derive(Clone, Debug, Default)]
struct Ledger {
    frames: VecDeque<Sent>,
    latest: Option<u64>,
    is_unsure: bool,
    /// The last frame of which it is known what the receiver shows.
    known: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    sequence: u64,
    packets: u8,
    /// Packets that were reported, and how many came, parity included.
    told: u64,
    came: u8,
    /// It needs only a frame that the receiver is known to have.
    from_known: bool,
}

impl Ledger {
    fn push(&mut self, sequence: u64, packets: u8, from_known: bool) {
        self.frames.push_back(Sent { sequence, packets, told: 0, came: 0, from_known });
        if self.frames.len() > MOST_DISTANCE as usize {
            self.frames.pop_front();
        }
    }

    /// How many frames before `next` lies the one it is predicted from.
    fn distance(&self, next: u64) -> u8 {
        let known = self.known.filter(|_| self.is_unsure).map_or(1, |known| next - known);
        if known <= MOST_DISTANCE { known as u8 } else { 1 }
    }

    /// Nothing that `next` could be predicted from is known, nor will be by what is on its way.
    fn is_lost(&self, next: u64) -> bool {
        let reaches = |known: u64| next - known <= MOST_DISTANCE;
        self.is_unsure && !self.known.is_some_and(reaches) && !self.frames.iter().any(|sent| sent.from_known)
    }

    /// Feedback: packets of frames, and whether they arrived. A frame is whole if as many came as it has, whichever they
    /// are: parity restores the others.
    fn take(&mut self, reports: impl IntoIterator<Item = (u64, u16, bool)>) {
        for (sequence, index, arrived) in reports {
            self.latest = self.latest.max(Some(sequence));
            if let Some(sent) = self.frames.iter_mut().find(|sent| sent.sequence == sequence) {
                let bit = 1_u64.checked_shl(u32::from(index)).unwrap_or(0);
                let is_new = sent.told & bit == 0 || bit == 0;
                sent.told |= bit;
                sent.came = sent.came.saturating_add(u8::from(arrived && is_new));
            }
        }
        while let Some(&sent) = self.frames.front() {
            let all = u64::MAX >> (64 - u32::from(sent.packets.clamp(1, 64)));
            let is_whole = sent.came >= sent.packets;
            let is_known = is_whole || sent.told & all == all;
            if !is_known && self.latest.is_none_or(|latest| latest <= sent.sequence) {
                break;
            }
            self.frames.pop_front();
            if !is_known {
                self.is_unsure = true;
            } else if !self.is_unsure || (sent.from_known && is_whole) {
                self.is_unsure = false;
                self.known = Some(sent.sequence);
            }
        }
    }
}

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

    /// From level 0 to 4: after one frame the fast part is at 0.48 * 4 = 1.92 and the slow one at 0.192, of which 37 and
    /// 63 %; down from 4 to 0: 4 * 0.55 = 2.2 and 4 * 0.973 = 3.892.
    #[test]
    fn a_picture_follows_its_budget_in_two_parts() {
        let mut standing = Standing::at(0.0);
        standing.follow(4.0);
        assert!((standing.level() - (0.37 * 1.92 + 0.63 * 0.192)).abs() < 1e-5);
        let mut standing = Standing::at(4.0);
        standing.follow(0.0);
        assert!((standing.level() - (0.37 * 2.2 + 0.63 * 3.892)).abs() < 1e-5);
    }

    fn ledger(frames: u64) -> Ledger {
        let mut ledger = Ledger::default();
        (0..frames).for_each(|n| ledger.push(n, 2, n == 0));
        ledger
    }

    #[test]
    fn frames_are_settled_in_order_once_all_their_packets_are_known() {
        let mut ledger = ledger(4);
        ledger.take([(0, 0, true), (0, 1, false), (1, 0, true)]);
        assert_eq!((ledger.known, ledger.distance(4)), (Some(0), 1));
        ledger.take([(1, 1, true)]);
        assert_eq!(ledger.known, Some(1));
        // Parity stands in for a packet that is lost, whatever else is known.
        ledger.take([(2, 0, true), (2, 2, true)]);
        assert_eq!(ledger.known, Some(2));
        // The same report twice counts once.
        ledger.take([(3, 0, true), (3, 0, true)]);
        assert_eq!(ledger.known, Some(2));
    }

    #[test]
    fn after_a_lost_feedback_frames_are_predicted_from_the_last_known_one() {
        let mut ledger = ledger(4);
        ledger.take([(0, 0, true), (0, 1, true), (1, 0, true), (2, 0, true), (2, 1, true)]);
        assert_eq!((ledger.known, ledger.is_unsure, ledger.distance(4)), (Some(0), true, 4));
        ledger.push(4, 2, true);
        ledger.take([(3, 0, true), (3, 1, true), (4, 0, true), (4, 1, true)]);
        assert_eq!((ledger.known, ledger.is_unsure, ledger.distance(5)), (Some(4), false, 1));
    }

    #[test]
    fn where_nothing_is_known_only_a_key_frame_helps() {
        let mut ledger = ledger(2);
        ledger.take([(0, 1, true), (1, 0, true)]);
        assert!(ledger.is_unsure && ledger.is_lost(2));
        ledger.push(2, 2, true);
        assert!(!ledger.is_lost(3));
    }
}
