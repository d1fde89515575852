//! What losses say: random ones nothing about the rate, ones at the end of bursts that a queue is shallow, and very many
//! that the rate is too high.

use legato_units::{DataSize, Timestamp};

/// Counts losses by their place in a burst, and limits bursts and rate.
#[derive(Clone, Debug)]
pub struct Losses {
    head: Share,
    tail: Share,
    all: Share,
    burst_limit: f64,
    rate_ratio: f64,
    last: Option<Timestamp>,
    last_cut: Option<Timestamp>,
}

/// A decayed share of lost packets.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    lost: f64,
    sent: f64,
}

impl Share {
    fn forget(&mut self, kept: f64) {
        self.lost *= kept;
        self.sent *= kept;
    }

    fn add(&mut self, lost: bool) {
        self.lost += f64::from(u8::from(lost));
        self.sent += 1.0;
    }

    fn ratio(&self) -> f64 {
        if self.sent > 0.0 { self.lost / self.sent } else { 0.0 }
    }
}

/// A queue that holds two packets is as shallow as queues are.
const HEAD_PACKETS: u32 = 2;
const MEMORY_S: f64 = 1.0;
const LARGEST_BURST: f64 = 64e3;
const SMALLEST_BURST: f64 = 1_300.0;
/// Before a share of losses says anything.
const MIN_PACKETS: f64 = 8.0;
/// [liu2026] cuts a burst where losses at its place exceed those at its beginning by a tenth.
const TAIL_EXCESS_RATIO: f64 = 0.1;
/// [draft-ietf-rmcat-gcc-02] §6: more than a tenth of loss lowers the rate, less than a fiftieth lets it grow.
const HIGH_LOSS_RATIO: f64 = 0.1;
const LOW_LOSS_RATIO: f64 = 0.02;
/// 2 KB every three seconds, as [liu2026] has it.
const BURST_GROWTH_BYTES_PER_S: f64 = 700.0;
const BURST_DECREASE_RATIO: f64 = 0.6;
/// As fast as [draft-ietf-rmcat-gcc-02] grows: 8 % a second.
const RATE_GROWTH_PER_S: f64 = 0.08;
const MIN_RATE_RATIO: f64 = 0.1;
/// What caused a cut does not cause the next.
const KEPT_AFTER_CUT: f64 = 0.3;

impl Default for Losses {
    fn default() -> Self {
        Self {
            head: Share::default(),
            tail: Share::default(),
            all: Share::default(),
            burst_limit: LARGEST_BURST,
            rate_ratio: 1.0,
            last: None,
            last_cut: None,
        }
    }
}

impl Losses {
    /// Count a packet, `place` packets behind the first of its burst.
    pub fn read(&mut self, place: u32, lost: bool) {
        self.all.add(lost);
        if place < HEAD_PACKETS { self.head.add(lost) } else { self.tail.add(lost) }
    }

    /// Once per feedback: react, at most once in `round_trip_s`.
    pub fn react(&mut self, now: Timestamp, round_trip_s: f64, last_frame: DataSize) {
        let since_s = self.last.map_or(0.0, |last| (now - last).as_secs_f64().min(1.0));
        self.last = Some(now);
        let kept = libm::exp(-since_s / MEMORY_S);
        [&mut self.head, &mut self.tail, &mut self.all].into_iter().for_each(|share| share.forget(kept));
        let all = self.all.ratio();
        let may_cut = self.last_cut.is_none_or(|cut| (now - cut).as_secs_f64() > round_trip_s.max(0.1));
        let shallow = self.tail.sent >= MIN_PACKETS / 2.0 && self.tail.ratio() > self.head.ratio() + TAIL_EXCESS_RATIO;
        let flooded = self.all.sent >= MIN_PACKETS && all > HIGH_LOSS_RATIO;
        if may_cut && (shallow || flooded) {
            self.last_cut = Some(now);
            self.cut(shallow, flooded, last_frame);
        } else if all < LOW_LOSS_RATIO {
            self.burst_limit = (self.burst_limit + BURST_GROWTH_BYTES_PER_S * since_s).min(LARGEST_BURST);
            self.rate_ratio = (self.rate_ratio * (1.0 + RATE_GROWTH_PER_S * since_s)).min(1.0);
        }
    }

    fn cut(&mut self, shallow: bool, flooded: bool, last_frame: DataSize) {
        if shallow || self.burst_limit < LARGEST_BURST {
            let held = self.burst_limit.min(last_frame.as_bytes_f64());
            self.burst_limit = (held * BURST_DECREASE_RATIO).max(SMALLEST_BURST);
            self.tail = Share::default();
        }
        if flooded {
            // [draft-ietf-rmcat-gcc-02] §6: above a tenth of loss the rate falls by half of the loss.
            self.rate_ratio = (self.rate_ratio * (1.0 - 0.5 * self.all.ratio())).max(MIN_RATE_RATIO);
            [&mut self.all, &mut self.head].into_iter().for_each(|share| share.forget(KEPT_AFTER_CUT));
        }
    }

    /// The largest burst that queues have held, if any was cut short.
    pub fn burst_limit(&self) -> Option<DataSize> {
        (self.burst_limit < LARGEST_BURST).then(|| DataSize::from_bytes(self.burst_limit as u64))
    }

    /// The share of the link's rate that gets through without such losses.
    pub fn rate_ratio(&self) -> f64 {
        self.rate_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Ten frames of six packets, a third of a second; `lost` decides by frame and place.
    fn after(lost: impl Fn(i64, u32) -> bool) -> Losses {
        let mut losses = Losses::default();
        for frame in 0..10 {
            for place in 0..6 {
                losses.read(place, lost(frame, place));
            }
            losses.react(Timestamp::from_millis(frame * 33 + 30), 0.05, DataSize::from_bytes(7_200));
        }
        losses
    }

    #[test]
    fn losses_at_the_end_of_bursts_shorten_them() {
        let losses = after(|_, place| place == 5);
        let limit = losses.burst_limit().expect("a quarter of the tail is lost").as_bytes();
        assert!((1_300..=4_320).contains(&limit), "{limit}");
    }

    /// 60 packets, two of them lost: 3 %, at any place.
    #[test]
    fn a_few_random_losses_change_nothing() {
        let losses = after(|frame, place| (frame, place) == (2, 1) || (frame, place) == (7, 4));
        assert_eq!((losses.burst_limit(), losses.rate_ratio()), (None, 1.0));
    }

    /// [draft-ietf-rmcat-gcc-02] §6, worked by hand: half of the packets lost leave three quarters of the rate.
    #[test]
    fn a_flood_lowers_the_rate() {
        let mut losses = Losses::default();
        (0..20).for_each(|n| losses.read(0, n % 2 == 0));
        losses.react(Timestamp::from_millis(700), 0.05, DataSize::from_bytes(1_200));
        assert!((losses.rate_ratio() - 0.75).abs() < 1e-9, "{}", losses.rate_ratio());
        let mut calm = losses.clone();
        for n in 0..300 {
            calm.read(0, false);
            calm.react(Timestamp::from_millis(1_000 + n * 33), 0.05, DataSize::from_bytes(1_200));
        }
        assert_eq!(calm.rate_ratio(), 1.0);
    }
}
