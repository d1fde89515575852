//! The share of the sending rate that the encoder is given: small enough that nine frames of ten leave the pacer
//! within their time ([karimi2023]).
//!
//! A frame's service time is from when its first packet heads the pacer's queue until its last packet has left.

use legato_control::SentPacket;
use legato_units::{Burst, DataRate, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// alpha, and the frames it was learned from.
#[derive(Clone, Debug)]
pub struct EncoderShare {
    target_ms: f64,
    percentile: f64,
    smoothing: f64,
    alpha: f64,
    /// Frames in the pacer, the oldest first.
    queued: VecDeque<Queued>,
    last_done: Timestamp,
    /// When a frame was done, and its service time times the sending rate over the encoder's.
    done: VecDeque<(Timestamp, f64)>,
    sorted: Vec<f64>,
    next_update: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    at: Timestamp,
    rate_ratio: f64,
}

impl EncoderShare {
    /// Begins with all of the sending rate.
    pub fn new(target_ms: f64, percentile: f64, smoothing: f64, start: Timestamp) -> Self {
        Self {
            target_ms,
            percentile,
            smoothing,
            alpha: 1.0,
            queued: VecDeque::new(),
            last_done: start,
            done: VecDeque::new(),
            sorted: Vec::new(),
            next_update: start + WINDOW,
        }
    }

    /// The share.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// A frame entered the pacer: coded at `encoder_bitrate` while `rate` was the sending rate.
    pub fn on_frame(&mut self, now: Timestamp, rate: DataRate, encoder_bitrate: DataRate) {
        let rate_ratio = rate.as_bps_f64() / encoder_bitrate.as_bps_f64().max(1.0);
        if self.queued.len() == MOST_FRAMES {
            self.queued.pop_front();
        }
        self.queued.push_back(Queued { at: now, rate_ratio });
    }

    /// Packets left the pacer.
    pub fn on_packets(&mut self, now: Timestamp, burst: &Burst<SentPacket>) {
        let last = burst.get(burst.packets - 1);
        let ends_frame = last.kind == legato_control::PacketKind::Video
            && last.place.is_some_and(|place| place.index.checked_add(1) == Some(place.packets));
        let Some(frame) = self.queued.front().filter(|_| ends_frame).copied() else { return };
        self.queued.pop_front();
        let served_ms = (now - frame.at.max(self.last_done)).as_secs_f64() * 1e3;
        self.last_done = now;
        // [karimi2023]: x_i = d_i R_i / T_i
        self.done.push_back((now, served_ms * frame.rate_ratio));
        if self.done.len() > MOST_FRAMES {
            self.done.pop_front();
        }
    }

    /// The pacer holds nothing: whatever was queued has left, or was thrown away.
    pub fn on_empty_pacer(&mut self) {
        self.queued.clear();
    }

    /// How long the oldest frame has waited.
    pub fn oldest(&self, now: Timestamp) -> TimeDelta {
        self.queued.front().map_or(TimeDelta::ZERO, |frame| now - frame.at)
    }

    /// Once a second, learn from the frames of the last one.
    pub fn update(&mut self, now: Timestamp) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + WINDOW;
        while self.done.front().is_some_and(|(at, _)| now - *at > WINDOW) {
            self.done.pop_front();
        }
        self.sorted.clear();
        self.sorted.extend(self.done.iter().map(|(_, x)| *x));
        self.sorted.sort_by(f64::total_cmp);
        let wanted = match percentile(&self.sorted, self.percentile) {
            // [karimi2023]: alpha = P / percentile(x)
            Some(x_ms) => (self.target_ms / x_ms.max(1e-6)).clamp(MIN_ALPHA, 1.0),
            None => 1.0,
        };
        self.alpha += self.smoothing * (wanted - self.alpha);
    }
}

/// Between the two values nearest to the rank, in proportion.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = share * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[rank as usize], sorted[(rank as usize + 1).min(sorted.len() - 1)]);
    Some(below + (above - below) * (rank - rank.trunc()))
}

/// How often alpha is learned, and from how much.
const WINDOW: TimeDelta = TimeDelta::from_secs(1);
const MIN_ALPHA: f64 = 0.05;
/// More cannot be in flight through a pacer that is limited in time.
const MOST_FRAMES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{FramePlace, PacketKind};
    use legato_units::DataSize;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn packet(frame: u32, index: u16, packets: u16) -> Burst<SentPacket> {
        Burst::single(SentPacket {
            transport_seq: 1,
            ssrc: 1,
            size: DataSize::from_bytes(1_200),
            kind: PacketKind::Video,
            probe_cluster: None,
            in_flight: DataSize::ZERO,
            place: Some(FramePlace { frame, index, packets }),
        })
    }

    /// [karimi2023], worked by hand: of ten frames nine take 20 ms and one 80, at a rate of 1.25 times the encoder's,
    /// so x is 25 and 100 ms. The 0.9-quantile of ten is at rank 8.1, 25 + 0.1 x 75 = 32.5. P = 26 ms makes 0.8, and a
    /// quarter of the way from 1 is 0.95.
    #[test]
    fn the_share_makes_nine_frames_of_ten_leave_in_time() {
        let mut share = EncoderShare::new(26.0, 0.9, 0.25, at(0));
        for frame in 0..10 {
            let begin = i64::from(frame) * 90;
            share.on_frame(at(begin), DataRate::from_kbps(1_250), DataRate::from_mbps(1));
            share.on_packets(at(begin), &packet(frame, 0, 2));
            let took = if frame == 4 { 80 } else { 20 };
            assert_eq!(share.oldest(at(begin + took)), TimeDelta::from_millis(took));
            share.on_packets(at(begin + took), &packet(frame, 1, 2));
            assert_eq!(share.oldest(at(begin + took)), TimeDelta::ZERO);
        }
        share.update(at(999));
        assert_eq!(share.alpha(), 1.0);
        share.update(at(1_000));
        assert!((share.alpha() - 0.95).abs() < 1e-9, "{}", share.alpha());
        // A second without frames asks for all of the rate again.
        share.update(at(2_500));
        assert!((share.alpha() - 0.9625).abs() < 1e-9, "{}", share.alpha());
    }

    #[test]
    fn a_frame_that_waits_for_the_one_before_is_served_from_then_on() {
        let mut share = EncoderShare::new(33.0, 0.9, 1.0, at(0));
        let mbps = DataRate::from_mbps(1);
        share.on_frame(at(0), mbps, mbps);
        share.on_frame(at(10), mbps, mbps);
        share.on_packets(at(50), &packet(0, 0, 1));
        share.on_packets(at(70), &packet(1, 0, 1));
        assert_eq!(share.done.iter().map(|(_, x)| *x).collect::<Vec<_>>(), [50.0, 20.0]);
    }
}
