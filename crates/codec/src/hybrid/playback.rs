//! The player of a call: decodes the packets of each frame that came, and again when more of them come late.
//!
//! A late packet changes no picture that was shown. But the sender hears that it came, and predicts from what the receiver
//! would show with it; so the frames since then are decoded again. Where the sender is wrong about what the receiver has,
//! the sum it sends says so, and a key frame is needed ([`Playback::is_astray`]).

use super::bundle::Bundle;
use crate::{Error, Playback, Shown, failed};
use legato_hybrid::{Decoder, Header, MOST_DISTANCE};
use std::collections::VecDeque;

#[derive(Default)]
pub(crate) struct Player {
    decoder: Decoder,
    stream: Option<u8>,
    /// The number of the latest key frame.
    keyframe: Option<u16>,
    /// Frames that can still be predicted from, in their order.
    kept: VecDeque<Kept>,
    astray: bool,
}

/// A frame, and the decoder as it was before it.
struct Kept {
    frame: u16,
    packets: Vec<Vec<u8>>,
    before: Decoder,
}

impl Playback for Player {
    /// `None`: it came too late to be shown.
    fn decode(&mut self, bytes: &[u8]) -> Result<Option<Shown>, Error> {
        let Bundle { stream, confirmed, packets } = Bundle::parse(bytes)?;
        let header = packets.iter().find_map(|packet| Header::parse(packet).ok()).map(|(header, _)| header);
        let header = header.ok_or_else(|| Error("hybrid frame: none of its packets is one".to_owned()))?;
        if self.stream != Some(stream) {
            // A stream before the present one is of no use any more.
            if self.stream.is_some_and(|present| stream.wrapping_sub(present) >= 128) {
                return Ok(None);
            }
            if header.distance.is_some() {
                return Err(failed(legato_hybrid::Error::NoKeyFrame));
            }
            *self = Self { stream: Some(stream), ..Self::default() };
        }
        if self.decoder.last().is_some_and(|last| !is_after(header.frame, last)) {
            self.mend(header.frame, packets);
            return Ok(None);
        }
        let before = self.decoder.clone();
        let slices: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let decoded = self.decoder.decode(&slices).map_err(failed)?;
        if header.distance.is_none() {
            self.keyframe = Some(header.frame);
        }
        self.kept.push_back(Kept { frame: header.frame, packets, before });
        if self.kept.len() > usize::from(MOST_DISTANCE) {
            self.kept.pop_front();
        }
        self.astray =
            confirmed.is_some_and(|(behind, sum)| self.differs(header.frame.wrapping_sub(behind.into()), sum));
        let (size, samples) = (decoded.picture.size(), decoded.picture.luma().to_vec());
        Ok(Some(Shown { width: size.width(), height: size.height(), samples }))
    }

    fn is_astray(&self) -> bool {
        self.astray
    }
}

impl Player {
    /// What the sender believed before the last key frame does not matter any more.
    fn differs(&self, frame: u16, sum: u16) -> bool {
        let matters = self.keyframe.is_none_or(|keyframe| frame == keyframe || is_after(frame, keyframe));
        matters && self.decoder.pixel_sum(frame).is_some_and(|ours| ours != sum)
    }

    /// Packets of a frame that was decoded, or passed over: decode it and those behind it again.
    fn mend(&mut self, frame: u16, packets: Vec<Vec<u8>>) {
        let place = self.kept.iter().position(|kept| !is_after(frame, kept.frame)).unwrap_or(self.kept.len());
        let Some(kept) = self.kept.get_mut(place) else { return };
        if kept.frame == frame {
            let had = kept.packets.len();
            for packet in packets {
                if !kept.packets.contains(&packet) {
                    kept.packets.push(packet);
                }
            }
            if kept.packets.len() == had {
                return;
            }
        } else if kept.before.last().is_none_or(|last| !is_after(frame, last)) {
            // Older than the kept frames.
            return;
        } else {
            let before = kept.before.clone();
            self.kept.insert(place, Kept { frame, packets, before });
        }
        let mut decoder = self.kept[place].before.clone();
        for kept in self.kept.range_mut(place..) {
            kept.before = decoder.clone();
            let slices: Vec<&[u8]> = kept.packets.iter().map(Vec::as_slice).collect();
            // What cannot be decoded leaves the decoder as it was.
            let _ = decoder.decode(&slices);
        }
        self.decoder = decoder;
        if self.kept.len() > usize::from(MOST_DISTANCE) {
            self.kept.pop_front();
        }
    }
}

/// Whether a frame's number is after another's, modulo 65536.
fn is_after(frame: u16, other: u16) -> bool {
    (1..=0x8000).contains(&frame.wrapping_sub(other))
}
