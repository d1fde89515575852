//! The encoder: a picture and a budget of bytes become packets.
//!
//! Motion first, for the whole frame; then the overlapped prediction; then the differences, coded at one quantiser after
//! another until the bytes meet the budget. What the receiver reports is decoded again here, so that the next frame is
//! predicted from what the receiver has.

use crate::contexts::{CODED_LUMA, models};
use crate::costs::Costs;
use crate::decoder::Decoder;
use crate::interleave::{Interleave, MOST_PACKETS};
use crate::logarithm::{exp2, log2};
use crate::macroblock::{self, BLOCKS, Expected, Levels, MEAN_STEP, Macroblock, Source, vector_bits};
use crate::motion::{Field, Vector};
use crate::motion_copy::{self, MOST_COPIES, Parts};
use crate::packet::{Header, MOST_DISTANCE};
use crate::picture::{Picture, Size};
use crate::plane::Frame;
use crate::prediction::predict;
use crate::quantise::{Weights, quantise};
use crate::range_coder::Writer;
use crate::rate::{Grade, RateSearch};
use crate::reconstruct::{fill_flat, finish, place, reconstruct};
use crate::search::Search;
use crate::size_curve::{SizeCurve, Sizes, USUAL_BITS, foreseen_bits};
use crate::step::{OFFSET_LIMIT, step, with_offset};
use crate::transform::{Block, Spectrum, forward};
use crate::{Error, PacketSet};
use std::collections::VecDeque;

/// From which frame a frame is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PredictFrom {
    /// The previous frame, assumed to be whole: smallest, but a loss is visible until it is reported.
    #[default]
    Latest,
    /// The latest frame that the receiver reported: larger, but a loss is seen in one frame only.
    Reported,
}

/// How to code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Packets of a frame, at least: 4 to 8 where loss is feared.
    pub min_packets: u8,
    /// Other packets whose motion each packet repeats, at most 3: 0 where no loss is feared.
    pub motion_copies: u8,
    /// The largest packet, in bytes.
    pub max_packet_bytes: u16,
    /// From which frame to predict.
    pub predict_from: PredictFrom,
}

impl Default for Settings {
    fn default() -> Self {
        Self { min_packets: 4, motion_copies: 0, max_packet_bytes: 1200, predict_from: PredictFrom::Latest }
    }
}

/// A coded frame.
#[derive(Clone, Debug)]
pub struct Coded {
    /// Its number, modulo 65536.
    pub frame: u16,
    /// Each decodes alone.
    pub packets: Vec<Vec<u8>>,
    /// The quantiser that met the budget.
    pub quantiser: u8,
    /// Predicted from no other.
    pub keyframe: bool,
}

impl Coded {
    /// All packets together.
    pub fn bytes(&self) -> usize {
        self.packets.iter().map(Vec::len).sum()
    }
}

/// A frame that was sent and not reported yet.
#[derive(Clone, Debug)]
struct Sent {
    frame: u16,
    packets: Vec<Vec<u8>>,
    /// The receiver after it, if nothing else is lost.
    after: Decoder,
}

/// Codes a stream, frame by frame.
#[derive(Clone, Debug)]
pub struct Encoder {
    size: Size,
    settings: Settings,
    /// The receiver after the last frame that it reported.
    reported: Decoder,
    /// The receiver after all that was sent, if nothing else is lost.
    expected: Decoder,
    sent: VecDeque<Sent>,
    next: u16,
    /// Of the last frame that was no key frame, and its size over the size that its coefficients promised.
    grade: Grade,
    factor: f32,
    key_wanted: bool,
    /// Memory of the frame before, to be written over.
    memory: Memory,
}

/// What takes long to allocate for every frame.
#[derive(Clone, Debug, Default)]
struct Memory {
    spectra: Vec<[Spectrum; BLOCKS]>,
    levels: [Vec<Levels>; 2],
}

impl Encoder {
    /// An encoder of pictures of one size.
    pub fn new(size: Size, settings: Settings) -> Self {
        Self {
            size,
            settings,
            reported: Decoder::new(),
            expected: Decoder::new(),
            sent: VecDeque::new(),
            next: 0,
            grade: Grade::of(128),
            factor: 0.0,
            key_wanted: true,
            memory: Memory::default(),
        }
    }

    /// How the next frames are coded.
    pub const fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// The next frame is a key frame: for a receiver that begins or has lost its way.
    pub const fn request_keyframe(&mut self) {
        self.key_wanted = true;
    }

    /// Whether the next frame is a key frame.
    pub fn wants_keyframe(&self) -> bool {
        self.key_wanted || self.expected.last().is_none()
    }

    /// The receiver's picture after all packets sent, if no more is lost than was reported.
    pub fn shown(&self) -> Option<Picture> {
        self.expected.picture()
    }

    /// The number of the last frame that the receiver reported, and the check sum of its picture then.
    pub fn reported(&self) -> Option<(u16, u16)> {
        let last = self.reported.last()?;
        Some((last, self.reported.pixel_sum(last)?))
    }

    /// The number of the next frame, modulo 65536.
    pub fn next_frame(&self) -> u16 {
        self.next
    }

    /// The receiver reports which packets of a frame came. Reports come in the order of frames; a frame that is passed
    /// over did not come at all. Reports of other frames are ignored.
    pub fn acknowledge(&mut self, frame: u16, received: &PacketSet) {
        self.acknowledge_all([(frame, *received)]);
    }

    /// Several reports, in the order of frames: later frames are decoded again only once.
    pub fn acknowledge_all(&mut self, reports: impl IntoIterator<Item = (u16, PacketSet)>) {
        let mut lost = false;
        for (frame, received) in reports {
            if !self.sent.iter().any(|sent| sent.frame == frame) {
                continue;
            }
            while let Some(sent) = self.sent.pop_front() {
                let is_it = sent.frame == frame;
                if is_it && received.is_complete() && !lost {
                    self.reported = sent.after;
                    break;
                }
                let came = |packet: usize| is_it && received.contains(packet as u8);
                replay(&mut self.reported, &sent.packets, came);
                lost = true;
                if is_it {
                    break;
                }
            }
        }
        if !lost {
            return;
        }
        let mut receiver = self.reported.clone();
        for sent in &mut self.sent {
            replay(&mut receiver, &sent.packets, |_| true);
            sent.after = receiver.clone();
        }
        self.expected = receiver;
        if self.expected.last().is_none() {
            self.key_wanted = true;
        }
    }

    /// Code a picture into about `budget_bytes`, all headers included.
    pub fn encode(&mut self, picture: &Picture, budget_bytes: usize) -> Result<Coded, Error> {
        let usable = usize::from(self.settings.max_packet_bytes).max(64) * 9 / 10;
        let wanted = budget_bytes.div_ceil(usable).max(usize::from(self.settings.min_packets));
        let packets = wanted.clamp(1, usize::from(MOST_PACKETS)) as u8;
        let factor = self.factor;
        self.code(picture, packets, |plan, levels| plan.within(budget_bytes, factor, levels))
    }

    /// Code a picture at a quantiser, in `min_packets` packets of any size: for measuring.
    pub fn encode_at(&mut self, picture: &Picture, quantiser: u8) -> Result<Coded, Error> {
        self.grade = Grade::of(quantiser);
        let (grade, factor) = (self.grade, self.factor);
        let packets = self.settings.min_packets.clamp(1, MOST_PACKETS);
        self.code(picture, packets, |plan, [levels, spare]| match plan.code(grade, levels, None) {
            Coding::Done(pass) => (grade, factor, pass, spare),
            Coding::GivenUp { .. } => unreachable!("there is no goal to give up"),
        })
    }

    fn code(
        &mut self,
        picture: &Picture,
        packets: u8,
        choose: impl Fn(&Plan, [Vec<Levels>; 2]) -> Chosen,
    ) -> Result<Coded, Error> {
        if picture.size() != self.size {
            return Err(Error::SizeChanged);
        }
        let source = Frame::of(picture);
        let key = self.wants_keyframe();
        let distance = if key { None } else { Some(self.distance()) };
        let order = Interleave::new(self.size.columns(), self.size.rows(), packets);
        let plan = Plan::new(self, &source, distance, order, packets);
        let mut levels = std::mem::take(&mut self.memory.levels);
        levels.iter_mut().for_each(|levels| levels.resize(plan.macroblocks.len(), [[0; 64]; BLOCKS]));
        let (grade, factor, pass, spare) = choose(&plan, levels);
        let quantiser = grade.quantiser();
        let mut frame = plan.prediction;
        reconstruct(&mut frame, &pass.macroblocks, &pass.levels, quantiser);
        finish(&mut frame, &pass.macroblocks, quantiser);
        self.memory = Memory { spectra: plan.spectra, levels: [pass.levels, spare] };
        let number = self.next;
        self.expected.keep(number, frame, plan.field);
        self.sent.push_back(Sent { frame: number, packets: pass.packets.clone(), after: self.expected.clone() });
        if self.sent.len() > usize::from(MOST_DISTANCE)
            && let Some(unreported) = self.sent.pop_front()
        {
            // Without reports, all is taken to arrive.
            self.reported = unreported.after;
        }
        self.next = number.wrapping_add(1);
        if !key {
            (self.grade, self.factor) = (grade, factor);
        }
        self.key_wanted = false;
        Ok(Coded { frame: number, packets: pass.packets, quantiser, keyframe: key })
    }

    /// How many frames before the next one lies the one it is predicted from.
    fn distance(&self) -> u8 {
        let reported = match (self.settings.predict_from, self.reported.last()) {
            (PredictFrom::Reported, Some(last)) => self.next.wrapping_sub(last),
            _ => 1,
        };
        if reported <= u16::from(MOST_DISTANCE) { reported as u8 } else { 1 }
    }
}

/// What the receiver makes of a frame's packets.
fn replay(receiver: &mut Decoder, packets: &[Vec<u8>], came: impl Fn(usize) -> bool) {
    let arrived: Vec<&[u8]> =
        packets.iter().enumerate().filter(|(packet, _)| came(*packet)).map(|(_, bytes)| bytes.as_slice()).collect();
    if arrived.is_empty() || receiver.decode(&arrived).is_err() {
        receiver.miss();
    }
}

/// A frame before its quantiser is chosen.
struct Plan {
    order: Interleave,
    header: Header,
    /// Without offset adjustments of the code.
    macroblocks: Vec<Macroblock>,
    vectors: Vec<Option<Parts>>,
    spectra: Vec<[Spectrum; BLOCKS]>,
    /// Their promised size.
    curve: SizeCurve,
    prediction: Frame,
    field: Field,
}

/// A frame coded at one quantiser.
struct Pass {
    macroblocks: Vec<Macroblock>,
    levels: Vec<Levels>,
    packets: Vec<Vec<u8>>,
    /// By how many octaves a bit weighed more than the grade says, the mean of packets.
    shift: f32,
}

/// What a pass comes to.
enum Coding {
    Done(Pass),
    /// The first packet said that all would miss the goal: roughly their bytes.
    GivenUp {
        levels: Vec<Levels>,
        bytes: usize,
    },
}

/// How large a pass shall become.
struct Goal<'a> {
    bytes: usize,
    /// Octaves of size per octave of the step.
    slope: f32,
    /// Whether to give up after the first packet if the goal is far away.
    give_up: bool,
    /// Which share of the bytes each packet is expected to take.
    shares: &'a [f32],
}

impl Goal<'_> {
    /// The share of the bytes that the first `packets` take.
    fn share(&self, packets: usize) -> f32 {
        self.shares[..packets].iter().sum::<f32>().clamp(0.01, 0.99)
    }
}

/// The grade, the factor of its size, the coding and memory that it left over.
type Chosen = (Grade, f32, Pass, Vec<Levels>);

impl Plan {
    fn new(encoder: &mut Encoder, source: &Frame, distance: Option<u8>, order: Interleave, packets: u8) -> Self {
        let size = encoder.size;
        let (columns, rows) = (size.columns(), size.rows());
        let header = Header {
            frame: encoder.next,
            packet: 0,
            packets,
            motion_copies: encoder.settings.motion_copies.min(MOST_COPIES),
            quantiser: 0,
            distance,
            size: if distance.is_none() { Some(size) } else { None },
        };
        let mut prediction = Frame::grey(size);
        let mut field = Field::at_rest(columns, rows);
        let offsets = offsets(source);
        let mut macroblocks = vec![Macroblock::AT_REST; size.macroblocks()];
        let mut motion_bits = 0;
        if let Some(distance) = distance {
            let reference = encoder.expected.reference(encoder.next.wrapping_sub(u16::from(distance)));
            let rest = Field::at_rest(columns, rows);
            let before = encoder.expected.field().unwrap_or(&rest);
            let times = 1.0 + COPY_WORTH * f32::from(header.motion_copies);
            let bit_worth = (step(encoder.grade.quantiser()) as f32 * BIT_WORTH * times) as u32;
            let search = Search { reference: &reference, source: &source.planes[0], bit_worth };
            motion_bits = find_motion(&search, source, &order, before, &mut macroblocks, &mut field);
            predict(&reference, &field, &mut prediction);
        } else {
            for (index, macroblock) in macroblocks.iter_mut().enumerate() {
                macroblock.source = Source::Flat(means(source, index % columns, index / columns));
                field.set(index % columns, index / columns, [None; 4]);
            }
        }
        let mut spectra = std::mem::take(&mut encoder.memory.spectra);
        spectra.resize(macroblocks.len(), [Spectrum::NONE; BLOCKS]);
        let sample = (macroblocks.len() / SAMPLE).max(1);
        let mut sizes = Sizes::new(motion_bits / sample as u32 * (1 + u32::from(header.motion_copies)));
        let finest = if distance.is_none() { 0 } else { encoder.grade.quantiser().saturating_sub(COUNTED) };
        let costs = Costs::new(encoder.grade.quantiser());
        let smallest = (step(finest) * 3 / 5) as i16;
        for (index, macroblock) in macroblocks.iter_mut().enumerate() {
            macroblock.offset = offsets[index];
            let (x, y) = (index % columns, index / columns);
            if let Source::Flat(means) = macroblock.source {
                fill_flat(&mut prediction, x, y, means);
            }
            for (block, spectrum) in spectra[index].iter_mut().enumerate() {
                *spectrum = Spectrum::of(&forward(&residual(source, &prediction, block, x, y)));
                if (x + y) % sample == 0 {
                    sizes.add(spectrum, costs.of_kind(macroblock.kind(block)).lone(), macroblock.offset, smallest);
                }
            }
        }
        let vectors = macroblocks.iter().map(motion_copy::of).collect();
        Self { order, header, macroblocks, vectors, spectra, curve: sizes.curve(finest), prediction, field }
    }

    /// The coding that comes nearest to the budget.
    fn within(&self, budget: usize, factor: f32, [levels, spare]: [Vec<Levels>; 2]) -> Chosen {
        let mut search = RateSearch::new(budget, self.curve.clone());
        let mut grade = search.first(factor);
        let (mut spare, mut memory) = (Some(levels), Some(spare));
        let mut best: Option<(Grade, f32, Pass)> = None;
        let shares = self.shares(grade);
        for attempt in 0.. {
            let levels = spare.take().or_else(|| memory.take()).unwrap_or_default();
            let goal = Goal { bytes: budget, slope: search.slope(grade), give_up: attempt < PROBES, shares: &shares };
            let bytes = match self.code(grade, levels, Some(&goal)) {
                Coding::Done(pass) => {
                    let bytes = pass.bytes();
                    let found = (grade, search.factor(grade, bytes, pass.shift), pass);
                    let worse = match best.take() {
                        Some(before) if before.2.bytes().abs_diff(budget) <= bytes.abs_diff(budget) => {
                            best = Some(before);
                            Some(found)
                        }
                        before => {
                            best = Some(found);
                            before
                        }
                    };
                    spare = spare.or(worse.map(|worse| worse.2.levels));
                    bytes
                }
                Coding::GivenUp { levels, bytes } => {
                    spare = Some(levels);
                    bytes
                }
            };
            match search.next(grade, bytes) {
                Some(next) => grade = next,
                None if best.is_some() => break,
                None => {}
            }
        }
        let (grade, factor, pass) = best.expect("the last attempt does not give up");
        (grade, factor, pass, spare.or(memory).unwrap_or_default())
    }

    /// The share of the bytes that each packet is expected to take at about this grade.
    fn shares(&self, grade: Grade) -> Vec<f32> {
        let columns = self.field.columns / 2;
        let steps: [i32; OFFSETS] =
            std::array::from_fn(|offset| step(with_offset(grade.quantiser(), offset as i8 - OFFSET_LIMIT)));
        let bits = |(x, y): (usize, usize)| {
            let index = y * columns + x;
            let step = steps[(self.macroblocks[index].offset + OFFSET_LIMIT) as usize];
            USUAL_BITS + self.spectra[index].iter().map(|spectrum| foreseen_bits(spectrum, step)).sum::<u32>()
        };
        let packets = (0..self.order.packets()).map(|packet| self.order.of_packet(packet).map(bits).sum::<u32>());
        let packets: Vec<u32> = packets.collect();
        let sum = packets.iter().sum::<u32>().max(1) as f32;
        packets.into_iter().map(|bits| bits as f32 / sum).collect()
    }

    /// Code all packets at a grade. With a goal, a bit weighs more or less from packet to packet, so that all of them
    /// come near it: packets have about equal shares.
    fn code(&self, grade: Grade, levels: Vec<Levels>, goal: Option<&Goal<'_>>) -> Coding {
        let quantiser = grade.quantiser();
        let costs = Costs::new(quantiser);
        let count = self.order.packets();
        let mut pass = Pass { macroblocks: self.macroblocks.clone(), levels, packets: Vec::new(), shift: 0.0 };
        // The size of all packets so far without shifts.
        let (mut shift, mut unshifted, mut coded) = (0.0_f32, 0.0, 0);
        for packet in 0..count {
            if let Some(goal) = goal
                && packet > 0
            {
                let left = goal.bytes.saturating_sub(coded).max(goal.bytes / 16) as f32;
                let share = goal.share(packet);
                let expected = unshifted / share * (1.0 - share);
                let over = log2((16.0 * expected) as usize) - log2((16.0 * left) as usize);
                shift = SHIFT_GAIN * over / goal.slope;
                if packet == 1 && shift.abs() > FARTHEST_SHIFT && goal.give_up {
                    return Coding::GivenUp { levels: pass.levels, bytes: (unshifted / share) as usize };
                }
                shift = shift.clamp(-FARTHEST_SHIFT, FARTHEST_SHIFT);
            }
            let bit_weight = grade.bit_weight() * exp2(shift);
            let weights: [Weights<'_>; OFFSETS] = std::array::from_fn(|offset| {
                let step = step(with_offset(quantiser, offset as i8 - OFFSET_LIMIT));
                Weights::new(&costs, step, bit_weight)
            });
            let header = Header { packet: packet as u8, quantiser, ..self.header };
            let bytes = self.code_packet(&header, &weights, &costs, &mut pass.macroblocks, &mut pass.levels);
            coded += bytes.len();
            unshifted += bytes.len() as f32 * exp2(0.5 * shift * goal.map_or(0.0, |goal| goal.slope));
            pass.shift += shift / count as f32;
            pass.packets.push(bytes);
        }
        Coding::Done(pass)
    }

    fn code_packet(
        &self,
        header: &Header,
        weights: &[Weights<'_>; OFFSETS],
        costs: &Costs,
        macroblocks: &mut [Macroblock],
        levels: &mut [Levels],
    ) -> Vec<u8> {
        let columns = self.field.columns / 2;
        let key = header.distance.is_none();
        let mut writer = Writer::new(models(header.quantiser));
        for (x, y) in self.order.of_packet(usize::from(header.packet)) {
            let index = y * columns + x;
            let near = self.order.near(x, y).map(|near| near.map(|near| &macroblocks[near]));
            let expected = Expected::of(near, key);
            let mut macroblock = macroblocks[index];
            let weights = &weights[(macroblock.offset + OFFSET_LIMIT) as usize];
            macroblock.coded = 0;
            for (block, (spectrum, levels)) in self.spectra[index].iter().zip(&mut levels[index]).enumerate() {
                let left = quantise(spectrum, macroblock.kind(block), weights, coded_bits(costs, block), levels);
                macroblock.coded |= u8::from(left) << block;
            }
            let expected_source = Source::Moved([expected.vector; 4]);
            macroblock.present = key || macroblock.coded != 0 || macroblock.source != expected_source;
            macroblock::code(&mut writer, &expected, &mut macroblock, &mut levels[index]);
            macroblocks[index] = macroblock;
        }
        if !key {
            let own = |index: usize| motion_copy::of(&self.macroblocks[index]);
            let mut vectors = self.vectors.clone();
            let packet = usize::from(header.packet);
            motion_copy::code(&mut writer, &self.order, packet, header.motion_copies, own, &mut vectors);
        }
        header.write(&writer.finish())
    }
}

impl Pass {
    fn bytes(&self) -> usize {
        self.packets.iter().map(Vec::len).sum()
    }
}

/// Of a large frame, coefficients of about so many macroblocks are counted.
const SAMPLE: usize = 600;
/// Attempts that may give up after the first packet.
const PROBES: u32 = 3;
/// Octaves of a bit's weight per octave of the step that would meet the budget. This is half of the change with the
/// same effect where coefficients are many, and enough where they are noise about as large as the step.
const SHIFT_GAIN: f32 = 1.0;
/// How much more or less a bit may weigh to meet a budget, in octaves.
const FARTHEST_SHIFT: f32 = 0.4;
/// Quantisers a macroblock may have within a frame.
const OFFSETS: usize = 2 * OFFSET_LIMIT as usize + 1;
/// Coefficients are counted for the curve of sizes down to so many quantisers finer than the frame before.
const COUNTED: u8 = 28;

/// The rough cost of saying that a block has coefficients, in 256ths of a bit.
fn coded_bits(costs: &Costs, block: usize) -> i64 {
    let model = CODED_LUMA + 5 + usize::from(block < 4);
    i64::from(costs.of(model, true) - costs.of(model, false))
}

/// The motion of every macroblock, in raster order; returns roughly its bits.
fn find_motion(
    search: &Search<'_>,
    source: &Frame,
    order: &Interleave,
    before: &Field,
    macroblocks: &mut [Macroblock],
    field: &mut Field,
) -> u32 {
    let (columns, rows) = (field.columns / 2, field.rows / 2);
    let mut bits = 0;
    for y in 0..rows {
        for x in 0..columns {
            let near = order.near(x, y).map(|near| near.map(|near| &macroblocks[near]));
            let expected = Expected::of(near, false).vector;
            let (bx, by) = (2 * x as isize, 2 * y as isize);
            let around = [
                field.at(bx - 1, by).filter(|_| x > 0),
                field.at(bx, by - 1),
                field.at(bx + 2, by - 1),
                before.at(bx, by),
                before.at(bx + 2, by),
                before.at(bx, by + 2),
                Some(Vector::default()),
            ];
            let mut candidates = [Vector::default(); 7];
            let known = candidates.iter_mut().zip(around.into_iter().flatten()).map(|(to, from)| *to = from).count();
            let candidates = &candidates[..known];
            let whole = search.whole(16 * x, 16 * y, expected, candidates);
            let mut chosen = (Source::Moved([whole.vectors[0]; 4]), whole.cost);
            if whole.cost > SPLIT_ABOVE {
                let split = search.split(16 * x, 16 * y, whole.vectors[0], candidates);
                if split.cost < chosen.1 {
                    chosen = (Source::Moved(split.vectors), split.cost);
                }
                let means = means(source, x, y);
                let flat = flatness(source, x, y) + FLAT_BITS * search.bit_worth / 16;
                if flat < chosen.1 {
                    chosen = (Source::Flat(means), flat);
                }
            }
            let macroblock = &mut macroblocks[y * columns + x];
            macroblock.source = chosen.0;
            macroblock.present = true;
            field.set(x, y, macroblock.vectors());
            bits += match macroblock.source {
                Source::Moved(parts) if parts == [expected; 4] => 0,
                Source::Moved(parts) if parts == [parts[0]; 4] => vector_bits(expected, parts[0]),
                Source::Moved(parts) => parts.iter().map(|&part| vector_bits(whole.vectors[0], part)).sum(),
                Source::Flat(_) => FLAT_BITS,
            };
        }
    }
    bits
}

/// Absolute difference that a bit of motion is worth, in steps.
const BIT_WORTH: f32 = 0.35;
/// A bit of motion costs so much more for each copy.
const COPY_WORTH: f32 = 0.8;
/// A macroblock that fits better than this is not searched further.
const SPLIT_ABOVE: u32 = 512;
/// What a flat macroblock costs more than a moved one.
const FLAT_BITS: u32 = 24;

fn residual(source: &Frame, prediction: &Frame, block: usize, x: usize, y: usize) -> Block {
    let (plane, left, top) = place(block, x, y);
    let mut residual = [0; 64];
    for row in 0..8 {
        let from = source.planes[plane].row(left as isize, (top + row) as isize, 8);
        let with = prediction.planes[plane].row(left as isize, (top + row) as isize, 8);
        for i in 0..8 {
            residual[8 * row + i] = i16::from(from[i]) - i16::from(with[i]);
        }
    }
    residual
}

/// The mean of each plane of a macroblock in steps of [`MEAN_STEP`].
fn means(source: &Frame, x: usize, y: usize) -> [u8; 3] {
    let mean = |plane: usize, side: usize| {
        let rows = (0..side).map(|row| source.planes[plane].row((side * x) as isize, (side * y + row) as isize, side));
        let sum: usize = rows.flatten().map(|&pixel| usize::from(pixel)).sum();
        (sum / (side * side)) as u8 / MEAN_STEP
    };
    [mean(0, 16), mean(1, 8), mean(2, 8)]
}

/// Sum of absolute differences of luma to its mean.
fn flatness(source: &Frame, x: usize, y: usize) -> u32 {
    let row = |row: usize| source.planes[0].row((16 * x) as isize, (16 * y + row) as isize, 16);
    let sum: u32 = (0..16).flat_map(row).map(|&pixel| u32::from(pixel)).sum();
    let mean = (sum / 256) as u8;
    (0..16).flat_map(row).map(|&pixel| u32::from(pixel.abs_diff(mean))).sum()
}

/// Coarser quantisers where there is much texture, which hides errors: by the logarithm of a macroblock's variance.
fn offsets(source: &Frame) -> Vec<i8> {
    let (columns, rows) = (source.size.columns(), source.size.rows());
    let spread = |x: usize, y: usize| {
        let (mut sum, mut squares) = (0_u64, 0_u64);
        for row in 0..16 {
            for &pixel in source.planes[0].row((16 * x) as isize, (16 * y + row) as isize, 16) {
                sum += u64::from(pixel);
                squares += u64::from(pixel) * u64::from(pixel);
            }
        }
        log2((squares - sum * sum / 256 + 256) as usize)
    };
    let spreads: Vec<f32> = (0..columns * rows).map(|index| spread(index % columns, index / columns)).collect();
    let mean = spreads.iter().sum::<f32>() / spreads.len() as f32;
    let limit = f32::from(OFFSET_LIMIT);
    spreads
        .iter()
        .map(|spread| {
            let offset = ((spread - mean) * OFFSET_PER_OCTAVE).clamp(-limit, limit);
            (offset + limit + 0.5) as i8 - OFFSET_LIMIT
        })
        .collect()
}

/// Offset steps per octave of variance.
const OFFSET_PER_OCTAVE: f32 = 1.0;
