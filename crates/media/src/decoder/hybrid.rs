//! The decoder of the hybrid codec: any packets of a frame give a picture, and damage lasts until the sender has heard of
//! the loss and corrected it, as measured (docs/reference/profile-format.md).
//!
//! Damage adds up in 1 - SSIM and in the squared error. The damage of frame t is *drift*: frames inherit it as long as
//! the encoder predicts them from a picture that it believes whole. From the first frame on whose encoder knew of t
//! ([`crate::encoder::Acknowledged`]), both ends predict from the damaged picture. Later frames then correct the rest
//! of the damage within their budgets, as far as their packets arrive.
//!
//! Damage was measured in pictures that were whole before. In a picture that is damaged already, new damage is exp(-D / C)
//! times as large: D is the damage there is, C that of showing the picture of a second before instead.

use super::display::Display;
use super::{AssembledFrame, DecodedFrame, Decoder};
use crate::encoder::Acknowledged;
use crate::profile::{Damage, HybridTables, Inherited};
use crate::{EncodedFrame, Profile, Quality, SourceFrame};
use legato_units::Timestamp;
use legato_units::elementary::{exp, exp2};
use std::collections::VecDeque;
use std::sync::Arc;

/// Decodes any packets of a frame.
#[derive(Clone, Debug)]
pub struct Hybrid {
    profile: Arc<Profile>,
    /// The last frame decoded, or of which nothing came.
    last: Option<u64>,
    /// The share of the known damage that a whole frame leaves, in [0, 1].
    later: f32,
    /// The rest of the damage of frames of which the encoder has not heard.
    drift: VecDeque<(u64, Damage)>,
    /// The rest of the damage that the encoder has heard of.
    known: Damage,
    /// The last frame decoded as it would look if nothing had been lost.
    clean: Option<Quality>,
    /// The last frame (as [`EncodedFrame::frame`]) of which nothing came, and what `clean` looks like in its place, with
    /// all damage.
    missed: Option<(u64, Quality)>,
    display: Display,
}

impl Hybrid {
    /// A decoder of streams of `profile`; waits for its first key frame.
    pub fn new(profile: Arc<Profile>) -> Self {
        let display = Display::new(Some(profile.clone()));
        Self {
            profile,
            last: None,
            later: LATER,
            drift: VecDeque::new(),
            known: Damage::default(),
            clean: None,
            missed: None,
            display,
        }
    }

    /// The same decoder with another share of known damage that a whole frame leaves, in [0, 1]: for fitting it.
    pub fn with_later(self, later: f32) -> Self {
        Self { later, ..self }
    }

    /// The damage is passed on to the next frame, of which a share of the packets is lost: their corrections are
    /// missing.
    fn pass_on(&mut self, inherited: &Inherited, ratio: f32) {
        let later = Damage { dissimilarity: self.later, mse: self.later };
        self.known = self.known.scaled(uncorrected(later, ratio));
        let share = if ratio > 0.0 { inherited.lossy } else { inherited.whole };
        self.drift.iter_mut().for_each(|(_, damage)| *damage = damage.scaled(share));
    }

    /// The drift of frames up to this one is drift no longer: the encoder has heard of them.
    fn settle(&mut self, settled: Option<u64>) -> Damage {
        let mut heard = Damage::default();
        while let Some(&(sequence, damage)) = self.drift.front()
            && settled.is_some_and(|settled| sequence <= settled)
        {
            self.drift.pop_front();
            heard = heard.plus(damage);
        }
        heard
    }

    /// A frame that shows `content` is damaged, by `damage` if everything before it was intact.
    fn hit(&mut self, sequence: u64, content: u32, damage: Damage) {
        if damage == Damage::default() {
            return;
        }
        let stale = self.profile.freeze.loss(content, STALE_FRAMES);
        let damage = stale.map_or(damage, |stale| damage.scaled(saturation(self.damage(), stale)));
        if self.drift.len() == MOST_FRAMES
            && let Some((_, oldest)) = self.drift.pop_front()
            && let Some((_, next)) = self.drift.front_mut()
        {
            *next = next.plus(oldest);
        }
        self.drift.push_back((sequence, damage));
    }

    fn damage(&self) -> Damage {
        self.drift.iter().fold(self.known, |sum, (_, damage)| sum.plus(*damage))
    }

    /// All of frame `sequence` is lost, of the content and level of `encoded`.
    fn lose(&mut self, tables: &HybridTables, sequence: u64, encoded: &EncodedFrame) {
        let (content, level) = (encoded.content, encoded.qp);
        self.pass_on(&tables.inherited(level), 1.0);
        self.hit(sequence, content, tables.hits.hit(content, level, 1.0));
    }

    /// Nothing came of this frame.
    fn miss(&mut self, tables: &HybridTables, encoded: &EncodedFrame) {
        self.lose(tables, encoded.sequence, encoded);
        self.last = Some(encoded.sequence);
        self.missed = self.clean.map(|clean| (encoded.frame, self.damage().applied_to(clean)));
    }

    /// The damage that a frame, decoded in part, shows: the earlier one and the new one.
    fn advance(&mut self, tables: &HybridTables, encoded: &EncodedFrame, ratio: f32) {
        let (sequence, content, level) = (encoded.sequence, encoded.content, encoded.qp);
        let inherited = tables.inherited(level);
        let acknowledged = encoded.acknowledged.unwrap_or(Acknowledged { settled: None, distance: 1 });
        let first = if encoded.keyframe { sequence } else { self.last.map_or(sequence, |last| last + 1) };
        // Frames that were never passed on are taken to be of this one's content and level.
        for skipped in first.max(sequence.saturating_sub(MOST_FRAMES as u64))..sequence {
            self.lose(tables, skipped, encoded);
        }
        if encoded.keyframe {
            self.drift.clear();
            self.known = Damage::default();
            let hits = if self.last.is_none() { &tables.key_hits } else { &tables.hits };
            self.hit(sequence, content, hits.hit(content, level, ratio));
            return;
        }
        if acknowledged.distance > 1 {
            // Nothing after the frame it is predicted from counts.
            let from = sequence.saturating_sub(u64::from(acknowledged.distance));
            self.drift.retain(|(lost, _)| *lost <= from);
        }
        let heard = self.settle(acknowledged.settled);
        self.pass_on(&inherited, ratio);
        self.known = self.known.plus(heard.scaled(uncorrected(inherited.reported, ratio)));
        // Where the picture becomes better, the lost share of that is missing too.
        let gain = self.clean.zip(encoded.quality).map_or(Damage::default(), |(before, now)| gained(before, now));
        let lost = Damage { dissimilarity: ratio, mse: ratio };
        self.hit(sequence, content, tables.hits.hit(content, level, ratio).plus(gain.scaled(lost)));
        if self.drift.is_empty() && self.known.dissimilarity < NEGLIGIBLE {
            self.known = Damage::default();
        }
    }
}

impl Decoder for Hybrid {
    #[inline]
    fn decode(&mut self, _now: Timestamp, frame: &AssembledFrame) -> DecodedFrame {
        let encoded = &frame.encoded;
        let started = encoded.keyframe || self.last.is_some();
        let nothing = DecodedFrame { frame: encoded.frame, decodable: false, keyframe_needed: !started, quality: None };
        let profile = self.profile.clone();
        let tables = profile.rungs.get(usize::from(encoded.rung)).and_then(|rung| rung.hybrid.as_ref());
        let Some(tables) = tables.filter(|_| started) else { return nothing };
        if frame.pieces_received == 0 {
            if self.last.is_some() {
                self.miss(tables, encoded);
            }
            return nothing;
        }
        self.advance(tables, encoded, frame.loss_ratio());
        self.last = Some(encoded.sequence);
        self.clean = encoded.quality;
        let damage = self.damage();
        let untouched = damage == Damage::default();
        let quality = encoded.quality.map(|clean| if untouched { clean } else { damage.applied_to(clean) });
        self.display.show(encoded, quality);
        DecodedFrame { frame: encoded.frame, decodable: true, keyframe_needed: false, quality }
    }

    fn accepts_partial(&self) -> bool {
        true
    }

    /// The better of two estimates: the displayed picture with the loss of its age, and the last clean picture with the
    /// damage of all frames since. Both add up losses that overlap, so both are too pessimistic.
    fn frozen(&self, current: &SourceFrame) -> Option<Quality> {
        let aged = self.display.frozen(current)?;
        let missed = self.missed.filter(|(frame, _)| *frame == current.frame);
        Some(missed.map_or(aged, |(_, damaged)| Quality {
            ssim_db: aged.ssim_db.max(damaged.ssim_db),
            psnr_db: aged.psnr_db.max(damaged.psnr_db),
        }))
    }
}

/// The rest of damage of which a whole frame would leave `share`, if so much of the frame is lost.
fn uncorrected(share: Damage, ratio: f32) -> Damage {
    let left = |share: f32| share * (1.0 - ratio) + ratio;
    Damage { dissimilarity: left(share.dissimilarity), mse: left(share.mse) }
}

/// What new damage is multiplied by: exp(-D / C) of the damage that is `present` and that of a `stale` picture, which is
/// above zero in any profile.
fn saturation(present: Damage, stale: Damage) -> Damage {
    let share = |present: f32, stale: f32| exp(-present / stale);
    Damage { dissimilarity: share(present.dissimilarity, stale.dissimilarity), mse: share(present.mse, stale.mse) }
}

/// By how much a picture is nearer to its source than the one before.
fn gained(before: Quality, now: Quality) -> Damage {
    // 10 log10(2) dB per doubling.
    const DB: f32 = 3.010_3;
    let fallen = |before: f32, now: f32| (exp2(before * (-1.0 / DB)) - exp2(now * (-1.0 / DB))).max(0.0);
    Damage { dissimilarity: fallen(before.ssim_db, now.ssim_db), mse: 65_025.0 * fallen(before.psnr_db, now.psnr_db) }
}

/// The share of the known damage that a whole frame leaves to the next: fitted to SSIM on the clips yes, lrwp9a and
/// night under loss (`python -m legato_studies.codecs.hybrid_fit`, docs/measured/codec-truth.md), and used for the
/// squared error too. Each profile has its share, of streams that are intact otherwise; there the encoder corrects
/// faster.
const LATER: f32 = 0.77;
/// The age in frames of the stale picture: a second at 30 frames per second.
const STALE_FRAMES: u64 = 30;
/// As many frames as the codec keeps; more cannot be waiting for a report.
const MOST_FRAMES: usize = 32;
/// Damage below this shows in no figure and is forgotten.
const NEGLIGIBLE: f32 = 1e-5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::tests::coded;
    use crate::profile::FreezeTable;

    /// Frames of 20 dB at level 4, of which these shares are lost, with what their encoder knew: the damage shown.
    fn damages(frames: &[(f32, Option<u64>)]) -> Vec<f32> {
        damages_in(example(), frames)
    }

    fn damages_in(mut decoder: Hybrid, frames: &[(f32, Option<u64>)]) -> Vec<f32> {
        let tables = HybridTables::example();
        let steps = frames.iter().enumerate().map(|(n, &(ratio, settled))| {
            let acknowledged = Some(Acknowledged { settled, distance: 1 });
            let encoded = EncodedFrame { qp: 4.0, acknowledged, ..coded(n as u64, n == 0) };
            decoder.advance(&tables, &encoded, ratio);
            decoder.last = Some(n as u64);
            decoder.damage().dissimilarity
        });
        steps.collect()
    }

    fn example() -> Hybrid {
        Hybrid { display: Display::new(None), ..Hybrid::new(Arc::new(crate::profile::tests::example())) }
    }

    /// A decoder of a clip in which a picture of any age is off by 1 - SSIM of 0.1 (10 dB).
    fn example_of_a_moving_clip() -> Hybrid {
        let stale = Quality { ssim_db: 10.0, psnr_db: 20.0 };
        let mut profile = crate::profile::tests::example();
        profile.freeze = FreezeTable::constant(stale);
        Hybrid::new(Arc::new(profile))
    }

    /// Decode a frame in four packets, of which so many came: the SSIM shown.
    fn shown(decoder: &mut Hybrid, sequence: u64, received: u16) -> f32 {
        let encoded = EncodedFrame { qp: 4.0, ..coded(sequence, sequence == 0) };
        let frame = AssembledFrame { encoded, pieces_received: received, pieces_total: 4 };
        let decoded = decoder.decode(Timestamp::ZERO, &frame);
        assert_eq!(decoded.decodable, received > 0);
        let now = SourceFrame { frame: sequence, capture: Timestamp::ZERO, content: 0, complexity: None };
        decoded.quality.or_else(|| decoder.frozen(&now)).unwrap().ssim_db
    }

    fn assert_close(found: &[f32], expected: &[f32]) {
        let same = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(same, "{found:?}, expected {expected:?}");
    }

    /// Half of frame 1 is lost: 0.1, then 0.8 of it per frame. Frame 3 was coded after the report: 0.4 of what frame 2
    /// showed; then 0.77 per frame.
    #[test]
    fn damage_drifts_until_the_encoder_has_heard_of_it() {
        let reported = [(0.0, None), (0.5, None), (0.0, Some(0)), (0.0, Some(1)), (0.0, Some(2))];
        assert_close(&damages(&reported), &[0.0, 0.1, 0.08, 0.032, 0.02464]);
        let unreported = [(0.0, None), (0.5, None), (0.0, None), (0.0, None), (0.0, None)];
        assert_close(&damages(&unreported), &[0.0, 0.1, 0.08, 0.064, 0.0512]);
    }

    /// A later report means longer drift: the drift of frame 4 is 0.4 of it in frame 5.
    #[test]
    fn a_report_that_takes_longer_lets_the_damage_be_seen_longer() {
        let late = [(0.0, None), (0.5, None), (0.0, Some(0)), (0.0, Some(0)), (0.0, Some(0)), (0.0, Some(1))];
        assert_close(&damages(&late), &[0.0, 0.1, 0.08, 0.064, 0.0512, 0.02048]);
    }

    /// Frame 2 is hit too: it inherits half of 0.1 and adds 0.1. Frame 4 knows of the first alone.
    #[test]
    fn hits_add_up_and_are_reported_one_by_one() {
        let frames = [(0.0, None), (0.5, None), (0.5, None), (0.0, None), (0.0, Some(1))];
        assert_close(&damages(&frames), &[0.0, 0.1, 0.15, 0.12, 0.04 * 0.4 + 0.08 * 0.8]);
    }

    /// Frame 3 is coded after the report: 0.4 of 0.08; frame 4 leaves half of that.
    #[test]
    fn the_share_that_is_left_of_known_damage_can_be_set() {
        let frames = [(0.0, None), (0.5, None), (0.0, Some(0)), (0.0, Some(1)), (0.0, Some(2))];
        assert_close(&damages_in(example().with_later(0.5), &frames), &[0.0, 0.1, 0.08, 0.032, 0.016]);
    }

    /// A stale picture costs 0.1. Frame 1: 0.1, as measured. Frame 2: half of that, and exp(-0.05 / 0.1) of 0.1. Frame 3:
    /// half of 0.1106531, and exp(-0.553) of 0.1.
    #[test]
    fn damage_saturates_at_that_of_a_stale_picture() {
        let frames = [(0.0, None), (0.5, None), (0.5, None), (0.5, None)];
        assert_close(&damages_in(example_of_a_moving_clip(), &frames), &[0.0, 0.1, 0.110_653_1, 0.112_833_2]);
        assert_close(&damages(&frames), &[0.0, 0.1, 0.15, 0.175]);
    }

    /// However long half of every packet is lost, 1 - SSIM rises by less than the 0.2 that it does without saturation.
    #[test]
    fn a_long_burst_does_little_more_than_a_short_one() {
        let frames = [vec![(0.0, None)], vec![(0.5, None); 60]].concat();
        let (saturated, sum) = (damages_in(example_of_a_moving_clip(), &frames), damages(&frames));
        assert!(saturated[1..].iter().all(|damage| (0.1..0.114).contains(damage)), "{saturated:?}");
        assert!((sum[60] - 0.2).abs() < 1e-6, "{sum:?}");
    }

    /// Nothing came of frame 1. Aged: 0.01 + 0.1, 9.586 dB. Damaged: 0.01 + 0.2, 6.778 dB. Then half of frame 2 is lost:
    /// half of 0.2, and exp(-1) of 0.1: 0.01 + 0.1367879. Nothing came of frame 3 either: half of that damage, and
    /// exp(-0.683940) of 0.2: 0.01 + 0.1693190, 7.464 dB; aged it is 0.1467879 + 0.1, 6.077 dB.
    #[test]
    fn a_frame_of_which_nothing_came_shows_the_better_of_an_aged_and_a_damaged_picture() {
        let mut decoder = example_of_a_moving_clip();
        let seen: Vec<f32> = [4, 0, 2, 0].iter().zip(0..).map(|(&came, n)| shown(&mut decoder, n, came)).collect();
        let expected = [20.0, 9.586_1, 8.333_1, 7.463_7];
        assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3), "{seen:?}, expected {expected:?}");
    }

    /// Two hits add up in full. A picture that stays is taken to be as good as when it was new; 0.8 of the damage of frame 1
    /// is left in frame 2: 0.01 + 0.16, 7.696 dB.
    #[test]
    fn an_empty_freeze_table_is_no_ceiling() {
        assert!(crate::profile::tests::example().freeze.loss(0, STALE_FRAMES).is_none());
        assert_close(&damages(&[(0.0, None), (0.5, None), (0.5, None)]), &[0.0, 0.1, 0.15]);
        let mut decoder = Hybrid::new(Arc::new(crate::profile::tests::example()));
        let seen: Vec<f32> = [4, 0, 4].iter().zip(0..).map(|(&came, n)| shown(&mut decoder, n, came)).collect();
        assert!((seen[1] - 20.0).abs() < 1e-3 && (seen[2] - 7.695_5).abs() < 1e-3, "{seen:?}");
    }

    /// The camera went on before the next frame was passed on: the picture ages, as it did before.
    #[test]
    fn a_freeze_beyond_the_last_frame_is_one_of_age() {
        let mut decoder = example_of_a_moving_clip();
        let _ = (shown(&mut decoder, 0, 4), shown(&mut decoder, 1, 2), shown(&mut decoder, 2, 0));
        let at = |frame| SourceFrame { frame, capture: Timestamp::ZERO, content: 0, complexity: None };
        let (missed, later) = (decoder.frozen(&at(2)).unwrap().ssim_db, decoder.frozen(&at(3)).unwrap().ssim_db);
        // 0.01 + 0.05 + exp(-0.5) of 0.2, and 0.01 + 0.1 + 0.1.
        assert!((missed - 7.415_9).abs() < 1e-3 && (later - 6.777_8).abs() < 1e-3, "{missed}, {later}");
    }

    #[test]
    fn frames_before_the_first_picture_leave_no_damage() {
        let mut decoder = example_of_a_moving_clip();
        let frame = AssembledFrame { encoded: coded(0, true), pieces_received: 0, pieces_total: 4 };
        assert!(!decoder.decode(Timestamp::ZERO, &frame).decodable);
        assert_eq!((decoder.last, decoder.damage()), (None, Damage::default()));
    }

    #[test]
    fn a_key_frame_ends_all_damage() {
        let (tables, mut decoder) = (HybridTables::example(), example());
        for (n, keyframe, ratio) in [(0, true, 0.0), (1, false, 1.0), (2, true, 0.0)] {
            decoder.advance(&tables, &EncodedFrame { qp: 4.0, ..coded(n, keyframe) }, ratio);
            decoder.last = Some(n);
        }
        assert_eq!(decoder.damage(), Damage::default());
    }

    /// Frame 3 knows of frame 1, of which 0.08 is left, but half of frame 3 is lost. So half of the 0.08 stays, and 0.4
    /// of the other half, and frame 3 adds 0.1; then 0.77 and 0.8 per frame.
    #[test]
    fn what_a_lost_packet_would_have_corrected_stays() {
        let frames = [(0.0, None), (0.5, None), (0.0, Some(0)), (0.5, Some(1)), (0.0, Some(2))];
        let known = 0.04 + 0.4 * 0.04;
        assert_close(&damages(&frames), &[0.0, 0.1, 0.08, known + 0.1, 0.77 * known + 0.08]);
    }

    /// From 10 to 20 dB, 1 - SSIM falls by 0.09: half the frame lost keeps 0.045 of it, in addition to the 0.1 of the
    /// table.
    #[test]
    fn half_of_a_frame_brings_half_of_its_gain() {
        let (tables, mut decoder) = (HybridTables::example(), example());
        decoder.advance(&tables, &coded(0, true), 0.0);
        (decoder.last, decoder.clean) = (Some(0), Some(Quality { ssim_db: 10.0, psnr_db: 38.0 }));
        decoder.advance(&tables, &coded(1, false), 0.5);
        assert!((decoder.damage().dissimilarity - 0.145).abs() < 1e-4, "{:?}", decoder.damage());
    }

    /// Frames 1 and 2 never came: 0.2 each, the first passed on twice, the second once; frame 3 is whole.
    #[test]
    fn frames_that_never_came_count_as_lost_whole() {
        let (tables, mut decoder) = (HybridTables::example(), example());
        decoder.advance(&tables, &coded(0, true), 0.0);
        decoder.last = Some(0);
        decoder.advance(&tables, &coded(3, false), 0.0);
        assert_close(&[decoder.damage().dissimilarity], &[(0.2 * 0.5 + 0.2) * 0.8]);
    }

    /// Feedback was lost: frame 3 is predicted from frame 0, which is whole, and not from the damaged ones since.
    #[test]
    fn a_frame_predicted_from_a_known_picture_has_none_of_the_damage_since() {
        let (tables, mut decoder) = (HybridTables::example(), example());
        for (n, ratio, distance) in [(0, 0.0, 1), (1, 0.5, 1), (2, 0.0, 1), (3, 0.0, 3), (4, 0.0, 1)] {
            let acknowledged = Some(Acknowledged { settled: Some(0), distance });
            decoder.advance(&tables, &EncodedFrame { acknowledged, ..coded(n, n == 0) }, ratio);
            decoder.last = Some(n);
        }
        assert_eq!(decoder.damage(), Damage::default());
    }

    /// Whatever is lost and whenever it is reported, a frame is at most as good as its coding.
    #[test]
    fn no_loss_makes_a_picture_better() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..50 {
            let tables = HybridTables::example();
            let mut decoder = if round % 2 == 0 { example() } else { example_of_a_moving_clip() };
            let mut settled = None;
            for n in 0..200_u64 {
                let ratio = draw(5) as f32 / 4.0 * f32::from(u8::from(draw(3) == 0));
                let behind = draw(8);
                settled = settled.max(n.checked_sub(1 + behind));
                let acknowledged = Some(Acknowledged { settled, distance: 1 });
                let encoded = EncodedFrame { acknowledged, ..coded(n, n == 0) };
                if ratio == 1.0 && n > 0 {
                    decoder.miss(&tables, &encoded);
                } else {
                    decoder.advance(&tables, &encoded, ratio);
                }
                decoder.last = Some(n);
                let damage = decoder.damage();
                assert!((0.0..=1.0).contains(&damage.dissimilarity) && (0.0..=65_025.0).contains(&damage.mse));
            }
        }
    }
}
