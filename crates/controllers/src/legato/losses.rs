//! What losses say: ones at the end of bursts that a queue is shallow, and ones that fewer bytes would have avoided that
//! the rate is too high. All others are the link's own, and no reason to send less.

use super::limit::{Limit, Room, Why};
use super::loss_trial::LossTrial;
use legato_units::{ByteRate, Bytes, DataSize, Seconds, Timestamp};

/// Counts losses by their place in a burst, and limits bursts and rate.
#[derive(Clone, Debug)]
pub struct Losses {
    head: Share,
    tail: Share,
    /// Of packets right behind a lost one.
    following: Share,
    lost_before: bool,
    burst_limit: Bytes,
    /// Whether fewer bytes have fewer losses.
    pub trial: LossTrial,
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

/// Over the rate up to which packets are not lost, where trials have found one: frames are not all of one size.
pub const LIMITED_RATIO: f64 = 1.25;
/// A queue that holds two packets is as shallow as queues are.
const HEAD_PACKETS: u32 = 2;
const MEMORY: Seconds = Seconds::new(1.0);
/// An outage is no time to grow in.
const LONGEST_GROWTH: Seconds = Seconds::new(1.0);
/// Between two cuts, where a round trip is shorter.
const SHORTEST_CUT: Seconds = Seconds::from_millis(100.0);
const LARGEST_BURST: Bytes = Bytes::new(64e3);
const SMALLEST_BURST: Bytes = Bytes::new(1_300.0);
/// Losses that are independent of each other are followed by a tenth or a fifth of lost packets, as any packet is.
const IN_A_ROW_RATIO: f64 = 0.3;
/// Before a share of losses says anything.
const MIN_PACKETS: f64 = 4.0;
/// [liu2026] cuts a burst where losses at its place exceed those at its beginning by a tenth.
const TAIL_EXCESS_RATIO: f64 = 0.1;
/// 2 KB every three seconds, as [liu2026] has it.
const BURST_GROWTH: ByteRate = ByteRate::new(700.0);
const BURST_DECREASE_RATIO: f64 = 0.6;

impl Default for Losses {
    fn default() -> Self {
        Self {
            head: Share::default(),
            tail: Share::default(),
            following: Share::default(),
            lost_before: false,
            burst_limit: LARGEST_BURST,
            trial: LossTrial::default(),
            last: None,
            last_cut: None,
        }
    }
}

impl Losses {
    /// Count a packet, `place` packets behind the first of its burst.
    pub fn read(&mut self, place: u32, lost: bool) {
        self.trial.count(lost);
        if std::mem::replace(&mut self.lost_before, lost) {
            self.following.add(lost);
        }
        if place < HEAD_PACKETS { self.head.add(lost) } else { self.tail.add(lost) }
    }

    /// Once per feedback: react, to bursts at most once in a round trip. `used_ratio` of the allowed rate is sent,
    /// and `delivered_ratio` of it has come at the last moment.
    pub fn react(
        &mut self,
        now: Timestamp,
        round_trip: Seconds,
        last_frame: DataSize,
        used_ratio: f64,
        delivered_ratio: f64,
    ) {
        let since = self.last.map_or(Seconds::ZERO, |last| Seconds::from(now - last).min(LONGEST_GROWTH));
        self.last = Some(now);
        let kept = libm::exp(-(since / MEMORY));
        [&mut self.head, &mut self.tail, &mut self.following].into_iter().for_each(|share| share.forget(kept));
        self.trial.react(now, since, round_trip, used_ratio, delivered_ratio);
        let may_cut = self.last_cut.is_none_or(|cut| Seconds::from(now - cut) > round_trip.max(SHORTEST_CUT));
        let shallow = self.tail.sent >= MIN_PACKETS && self.tail.ratio() > self.head.ratio() + TAIL_EXCESS_RATIO;
        if may_cut && shallow {
            self.last_cut = Some(now);
            let held = self.burst_limit.min(Bytes::from(last_frame));
            self.burst_limit = (held * BURST_DECREASE_RATIO).max(SMALLEST_BURST);
            self.tail = Share::default();
        } else if !shallow {
            self.burst_limit = (self.burst_limit + BURST_GROWTH * since).min(LARGEST_BURST);
        }
    }

    /// The largest burst that queues have held, if any was cut short.
    pub fn burst_limit(&self) -> Option<DataSize> {
        (self.burst_limit < LARGEST_BURST).then(|| self.burst_limit.into())
    }

    /// Whether the link passed the lost packets, as far as losses show: the link causes them, and they come one by one.
    /// Where one brings the next, the link may have passed nothing for a while.
    pub fn were_passed(&self) -> bool {
        self.trial.own_ratio() > 0.0 && !self.come_in_rows()
    }

    /// Whether one loss brings the next.
    pub fn come_in_rows(&self) -> bool {
        self.following.ratio() >= IN_A_ROW_RATIO
    }

    /// The most to send of a rate that is `allowed`. What drops packets above a rate keeps no burst either.
    pub fn limit(&self, allowed: ByteRate, room: Room) -> Limit {
        let target = allowed * self.trial.rate_ratio();
        let max_frame = if self.trial.limits() { room.at(target * LIMITED_RATIO) } else { Bytes::INFINITY };
        Limit { target, max_frame, why: Why::Losses }
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
            losses.react(
                Timestamp::from_millis(frame * 33 + 30),
                Seconds::new(0.05),
                DataSize::from_bytes(7_200),
                1.0,
                1.0,
            );
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
        assert_eq!((losses.burst_limit(), losses.trial.rate_ratio()), (None, 1.0));
    }

    /// A tenth is lost, as every tenth packet, as three of thirty in a row, or as ten of a hundred.
    #[test]
    fn losses_in_a_row_were_not_passed() {
        let passed = |lost: fn(i64) -> bool| {
            let mut losses = Losses::default();
            for n in 0..4_000 {
                losses.read(0, lost(n));
                losses.react(Timestamp::from_millis(5 * n), Seconds::new(0.05), DataSize::from_bytes(1_200), 1.0, 1.0);
            }
            assert!(losses.trial.own_ratio() > 0.05, "{}", losses.trial.own_ratio());
            losses.were_passed()
        };
        assert!(passed(|n| n % 10 == 0));
        assert!(!passed(|n| n % 30 < 3));
        assert!(!passed(|n| n % 100 < 10));
    }
}
