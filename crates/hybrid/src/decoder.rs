//! The decoder: any packets of a frame give a picture.
//!
//! It keeps the last [`MOST_DISTANCE`] frames, since a frame may be predicted from any of them. A frame of which
//! nothing arrived is half the one before and half that one moved on. The encoder runs decoders too, to know the
//! receiver's picture.

use crate::conceal::{guess_motion, interpolate};
use crate::contexts::models;
use crate::guesses::Evidence;
use crate::interleave::Interleave;
use crate::macroblock::{self, BLOCKS, Expected, Levels, Macroblock};
use crate::motion::Field;
use crate::motion_copy::{self, Parts};
use crate::packet::{Header, MOST_DISTANCE};
use crate::picture::{Picture, Size};
use crate::pixel_sum::pixel_sum;
use crate::plane::Frame;
use crate::prediction::predict;
use crate::range_coder::Reader;
use crate::reconstruct::{finish, reconstruct};
use crate::reference::Reference;
use crate::shown::{ShownMacroblock, shown};
use crate::{Error, PacketSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// A decoded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// What the viewer sees.
    pub picture: Picture,
    /// Its number, modulo 65536.
    pub frame: u16,
    /// Which of its packets arrived: what the sender wants to hear.
    pub received: PacketSet,
    /// Packets given that were refused: foreign, truncated or of another frame.
    pub refused: usize,
}

/// A frame as the next ones need it.
#[derive(Clone, Debug)]
struct Kept {
    frame: Arc<Frame>,
    field: Arc<Field>,
}

/// What a frame is predicted from.
struct Past {
    reference: Arc<Reference>,
    /// The motion of the reference.
    field: Arc<Field>,
}

/// Decodes a stream, frame by frame.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// The latest is last.
    kept: VecDeque<Kept>,
    /// The number of the latest.
    last: Option<u16>,
    /// The latest frame that was predicted from, ready for it, and its number.
    ready: Option<(u16, Arc<Reference>)>,
    /// Frames in a row, up to the latest, of which nothing arrived.
    missed: u8,
    /// Of the latest frame: how far back it was predicted from, and its macroblocks.
    shown: Option<(u8, Arc<[ShownMacroblock]>)>,
}

impl Decoder {
    /// A decoder that waits for its first key frame.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the packets of one frame that arrived, in any order; duplicates and packets of other frames do no harm.
    /// An error leaves the decoder as it was.
    pub fn decode(&mut self, packets: &[&[u8]]) -> Result<Decoded, Error> {
        let mut refusal = Error::Nothing;
        let mut parsed: Vec<(Header, &[u8])> = Vec::with_capacity(packets.len());
        for bytes in packets {
            match Header::parse(bytes) {
                Ok((header, decisions)) => match parsed.first() {
                    Some((first, _)) if !first.same_frame(&header) => {}
                    _ => parsed.push((header, decisions)),
                },
                Err(error) => refusal = error,
            }
        }
        let Some(&(first, _)) = parsed.first() else { return Err(refusal) };
        let refused = packets.len() - parsed.len();
        self.skip_to(&first)?;
        let size = first.size.or(self.size()).ok_or(Error::NoKeyFrame)?;
        if let Some(distance) = first.distance
            && usize::from(distance) > self.kept.len()
        {
            return Err(Error::ReferenceMissing { frame: first.frame, distance });
        }
        let received = Received::read(size, &parsed);
        let past = first.distance.map(|distance| self.past(first.frame.wrapping_sub(u16::from(distance))));
        let (frame, field) = received.show(past.as_ref(), self.kept.back().filter(|kept| kept.frame.size == size));
        let picture = frame.picture();
        let macroblocks = shown(&received.macroblocks, &received.copied, &field, received.quantiser);
        self.keep(first.frame, frame, field);
        self.shown = Some((first.distance.unwrap_or(0), macroblocks.into()));
        Ok(Decoded { picture, frame: first.frame, received: received.packets, refused })
    }

    /// A frame of which nothing arrived: the picture shown is half the previous frame and half that frame moved on as
    /// before, because the end of its motion is unknown. After three such frames the picture stands still.
    pub fn miss(&mut self) {
        let (Some(last), Some(mut kept)) = (self.last, self.kept.back().cloned()) else { return };
        if self.missed < MOST_MOVED {
            let mut moved = Frame::clone(&kept.frame);
            predict(&self.reference(last), &kept.field, &mut moved);
            moved.mix(&kept.frame);
            kept.frame = Arc::new(moved);
        }
        self.missed = self.missed.saturating_add(1);
        self.shown = Some((1, vec![ShownMacroblock::REPEATED; kept.frame.size.macroblocks()].into()));
        self.push(last.wrapping_add(1), kept);
    }

    /// The frames up to one that begins to arrive did not.
    fn skip_to(&mut self, header: &Header) -> Result<(), Error> {
        let Some(last) = self.last else {
            return if header.distance.is_none() { Ok(()) } else { Err(Error::NoKeyFrame) };
        };
        let ahead = header.frame.wrapping_sub(last);
        if ahead == 0 || ahead > 0x8000 {
            return Err(Error::Old { frame: header.frame, last });
        }
        if header.distance.is_none() {
            return Ok(());
        }
        if ahead > u16::from(MOST_DISTANCE) {
            return Err(Error::ReferenceMissing { frame: header.frame, distance: header.distance.unwrap_or(0) });
        }
        // Refused before anything changes: the frame would be predicted from one older than all that is kept.
        let kept = (self.kept.len() + usize::from(ahead) - 1).min(usize::from(MOST_DISTANCE));
        if usize::from(header.distance.unwrap_or(0)) > kept {
            return Err(Error::ReferenceMissing { frame: header.frame, distance: header.distance.unwrap_or(0) });
        }
        (1..ahead).for_each(|_| self.miss());
        Ok(())
    }

    pub(crate) fn keep(&mut self, number: u16, frame: Frame, field: Field) {
        if self.size() != Some(frame.size) {
            self.kept.clear();
        }
        if self.last.is_some_and(|last| number != last.wrapping_add(1)) {
            // A key frame after a gap: nothing before it can be predicted from.
            self.kept.clear();
        }
        self.missed = 0;
        self.push(number, Kept { frame: Arc::new(frame), field: Arc::new(field) });
    }
    fn push(&mut self, number: u16, kept: Kept) {
        self.kept.push_back(kept);
        if self.kept.len() > usize::from(MOST_DISTANCE) {
            self.kept.pop_front();
        }
        self.last = Some(number);
    }
    /// The number of the latest frame, modulo 65536.
    pub const fn last(&self) -> Option<u16> {
        self.last
    }
    pub(crate) fn size(&self) -> Option<Size> {
        self.kept.back().map(|kept| kept.frame.size)
    }
    /// The latest picture, if there is one.
    pub fn picture(&self) -> Option<Picture> {
        self.kept.back().map(|kept| kept.frame.picture())
    }
    /// Of the latest picture: the distance in frames to its reference, 0 for a key frame, and its macroblocks in raster
    /// order. The last column and row may reach beyond the picture. `None` before the first.
    pub fn shown(&self) -> Option<(u8, &[ShownMacroblock])> {
        self.shown.as_ref().map(|(distance, macroblocks)| (*distance, &**macroblocks))
    }
    /// The check sum of a frame's pixels, as they were decoded; `None` for a frame that is not kept.
    pub fn pixel_sum(&self, frame: u16) -> Option<u16> {
        let back = usize::from(self.last?.wrapping_sub(frame));
        let place = self.kept.len().checked_sub(1 + back)?;
        Some(pixel_sum(&self.kept[place].frame))
    }
    pub(crate) fn field(&self) -> Option<&Field> {
        self.kept.back().map(|kept| &*kept.field)
    }
    /// A kept frame, ready to be predicted from.
    pub(crate) fn reference(&mut self, number: u16) -> Arc<Reference> {
        if let Some((ready, reference)) = &self.ready
            && *ready == number
        {
            return reference.clone();
        }
        let reference = Arc::new(Reference::of(&self.kept[self.place(number)].frame));
        self.ready = Some((number, reference.clone()));
        reference
    }
    /// Where a frame is kept; the oldest replaces one that is not.
    fn place(&self, number: u16) -> usize {
        let back = usize::from(self.last.unwrap_or(number).wrapping_sub(number));
        self.kept.len().saturating_sub(1 + back)
    }
    fn past(&mut self, number: u16) -> Past {
        Past { field: self.kept[self.place(number)].field.clone(), reference: self.reference(number) }
    }
}

/// Frames in a row of which nothing arrived that go on with the motion: more gained nothing with 80 % of packets lost,
/// and each takes as long as a decoded one.
const MOST_MOVED: u8 = 3;

/// The packets of a frame that arrived.
struct Received {
    size: Size,
    quantiser: u8,
    packets: PacketSet,
    macroblocks: Vec<Option<Macroblock>>,
    levels: Vec<Levels>,
    /// Motion that other packets repeat.
    copied: Vec<Option<Parts>>,
}

impl Received {
    /// Read all packets, each by itself.
    fn read(size: Size, packets: &[(Header, &[u8])]) -> Self {
        let (header, _) = packets[0];
        let order = Interleave::new(size.columns(), size.rows(), header.packets);
        let count = size.macroblocks();
        let mut received = Self {
            size,
            quantiser: header.quantiser,
            packets: PacketSet::none(header.packets),
            macroblocks: vec![None; count],
            levels: vec![[[0; 64]; BLOCKS]; count],
            copied: vec![None; count],
        };
        for (header, decisions) in packets {
            if received.packets.insert(header.packet) {
                received.read_packet(&order, header, decisions);
            }
        }
        received
    }

    fn read_packet(&mut self, order: &Interleave, header: &Header, decisions: &[u8]) {
        let columns = self.size.columns();
        let mut reader = Reader::new(models(header.quantiser), decisions);
        for (x, y) in order.of_packet(usize::from(header.packet)) {
            let index = y * columns + x;
            let near = order.near(x, y).map(|near| near.and_then(|near| self.macroblocks[near].as_ref()));
            let expected = Expected::of(near, header.distance.is_none());
            let mut macroblock = Macroblock::AT_REST;
            macroblock::code(&mut reader, &expected, &mut macroblock, &mut self.levels[index]);
            self.macroblocks[index] = Some(macroblock);
        }
        if header.distance.is_some() {
            let own = |index: usize| self.macroblocks[index].as_ref().and_then(motion_copy::of);
            let packet = usize::from(header.packet);
            motion_copy::code(&mut reader, order, packet, header.motion_copies, own, &mut self.copied);
        }
    }

    /// The frame, with what did not arrive concealed. A key frame is concealed by the frame before, if there is one.
    fn show(&self, past: Option<&Past>, before: Option<&Kept>) -> (Frame, Field) {
        let (columns, rows) = (self.size.columns(), self.size.rows());
        let mut field = Field::at_rest(columns, rows);
        for (index, macroblock) in self.macroblocks.iter().enumerate() {
            if let Some(macroblock) = macroblock {
                field.set(index % columns, index / columns, macroblock.vectors());
            }
        }
        let whole = self.macroblocks.iter().all(Option::is_some);
        let mut frame = Frame::grey(self.size);
        let shown: Vec<Macroblock> = self.macroblocks.iter().map(|mb| mb.unwrap_or(Macroblock::AT_REST)).collect();
        match (past, before) {
            (Some(past), _) if whole => predict(&past.reference, &field, &mut frame),
            (Some(past), before) => {
                let rest = Field::at_rest(columns, rows);
                let before = before.map_or(&rest, |kept| &*kept.field);
                guess_motion(&mut field, &self.macroblocks, &self.copied, before);
                field = self.predict_holed(past, field, &shown, &mut frame);
            }
            (None, Some(before)) if !whole => predict(&Reference::of(&before.frame), &field, &mut frame),
            _ => {}
        }
        reconstruct(&mut frame, &shown, &self.levels, self.quantiser);
        if past.is_none() && before.is_none() && !whole {
            interpolate(&mut frame, &self.macroblocks);
        }
        finish(&mut frame, &shown, self.quantiser);
        (frame, field)
    }

    /// Predict a frame of which only a part arrived, and give its motion. Decode the packets with a first guess of the
    /// rest: it serves to judge better guesses.
    fn predict_holed(&self, past: &Past, field: Field, shown: &[Macroblock], frame: &mut Frame) -> Field {
        predict(&past.reference, &field, frame);
        let mut decoded = frame.clone();
        reconstruct(&mut decoded, shown, &self.levels, self.quantiser);
        let evidence = Evidence { reference: &past.reference, before: &past.field, decoded: &decoded };
        let guesses = evidence.guesses(&field, &self.macroblocks, &self.copied);
        predict(&past.reference, guesses.first(), frame);
        guesses.predict(&past.reference, frame);
        guesses.first().clone()
    }
}
