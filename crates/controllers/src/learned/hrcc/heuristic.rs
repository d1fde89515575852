//! The heuristic that HRCC's network guides: Google congestion control in its older form, entirely at the
//! receiver. The lower of a delay-based and a loss-based rate applies.
//!
//! The delay-based rate is the one of [`gcc`](crate::gcc): arrival groups, a trend line, an adaptive
//! threshold, additive increase, and multiplicative decrease of the receiver rate ([libwebrtc-m150]). The loss-based
//! one is the rule of [draft-ietf-rmcat-gcc-02], which has no model of a path's inherent loss. Compared with the
//! sender's `gcc` it lacks probes, the model of inherent loss, pushback, and the application-limited region.

use crate::gcc::aimd::AimdConfig;
use crate::gcc::delay_based::DelayBased;
use legato_control::ReceivedPacket;
use legato_control::estimate::overuse::BandwidthUsage;
use legato_control::estimate::robust_throughput::RobustThroughput;
use legato_control::estimate::trendline::Trendline;
use legato_units::{DataRate, PeerTimestamp, TimeDelta, Timestamp};

/// The heuristic's estimate and its inputs.
#[derive(Clone)]
pub struct Heuristic {
    delay_based: DelayBased,
    throughput: RobustThroughput,
    losses: Losses,
    loss_based: DataRate,
    estimate: DataRate,
    min: DataRate,
    last_step: Timestamp,
}

impl Heuristic {
    /// Start at `rate`; never below `min`.
    pub fn new(rate: DataRate, min: DataRate, start: Timestamp) -> Self {
        let mut delay_based = DelayBased::new(AimdConfig::default(), Trendline::default(), min);
        delay_based.set_bitrates(rate, min);
        Self {
            delay_based,
            throughput: RobustThroughput::default(),
            losses: Losses::default(),
            loss_based: rate,
            estimate: rate,
            min,
            last_step: start,
        }
    }

    /// The bandwidth by the two rates, or as last set.
    #[inline]
    pub fn estimate(&self) -> DataRate {
        self.estimate
    }

    /// Whether queues are growing.
    #[inline]
    pub fn overuses(&self) -> bool {
        self.delay_based.trendline().usage() == BandwidthUsage::Overusing
    }

    /// Set the round-trip time: continued over-use is acted on once per round trip.
    pub fn set_rtt(&mut self, rtt: TimeDelta) {
        self.delay_based.set_rtt(rtt);
    }

    /// Continue from `rate`: a network's output, or the result of bounds.
    pub fn set_estimate(&mut self, rate: DataRate, now: Timestamp) {
        if rate != self.estimate {
            self.delay_based.set_estimate(rate, now);
            (self.loss_based, self.estimate) = (rate, rate);
        }
    }

    /// Take a packet; true if it changed the estimate.
    pub fn on_packet(&mut self, now: Timestamp, packet: &ReceivedPacket) -> bool {
        self.losses.push(packet.transport_seq);
        if let Some(departure) = packet.departure {
            let (departure, arrival) = swapped(departure, now);
            self.delay_based.begin_feedback(now);
            self.delay_based.on_packet(departure, arrival, now, packet.size);
            self.throughput.on_packet(departure, arrival, packet.size);
        }
        (now - self.last_step >= STEP || self.overuses()) && self.step(now)
    }

    fn step(&mut self, now: Timestamp) -> bool {
        self.throughput.trim();
        let update = self.delay_based.end_feedback(self.throughput.rate(), None, false, now);
        if now - self.last_step >= STEP {
            self.last_step = now;
            if let Some(loss_ratio) = self.losses.take() {
                self.loss_based = after_losses(self.estimate, loss_ratio);
            }
        } else if update.estimate.is_none() {
            return false;
        }
        // [draft-ietf-rmcat-gcc-02] §6: the lower of the delay-based and the loss-based rate.
        let wanted = self.delay_based.aimd().rate().min(self.loss_based).max(self.min);
        let changed = wanted != self.estimate;
        self.estimate = wanted;
        changed
    }
}

/// At the receiver, departures are by the peer's clock and arrivals by its own. The estimators only ever subtract
/// like from like; they were written for the sender, where it is the other way round.
#[inline]
fn swapped(departure: PeerTimestamp, arrival: Timestamp) -> (Timestamp, PeerTimestamp) {
    (Timestamp::from_nanos(departure.as_nanos()), PeerTimestamp::from_nanos(arrival.as_nanos()))
}

/// The rate after losses at that rate.
// [draft-ietf-rmcat-gcc-02] §6: A_s(i) = A_s(i−1)(1 − p/2), p > 10 %; 1.05 A_s(i−1), p < 2 %; A_s(i−1), else
fn after_losses(rate: DataRate, loss_ratio: f64) -> DataRate {
    if loss_ratio > 0.1 {
        rate.scale(1.0 - 0.5 * loss_ratio)
    } else if loss_ratio < 0.02 {
        rate.scale(1.05)
    } else {
        rate
    }
}

/// Counts missing packets by gaps in the numbers, until enough packets were due to give a ratio.
#[derive(Clone, Default)]
struct Losses {
    highest: Option<u64>,
    due: u64,
    arrived: u64,
}

impl Losses {
    #[inline]
    fn push(&mut self, seq: u64) {
        self.arrived += 1;
        match self.highest {
            // Numbers that jump further belong to another stream.
            Some(highest) if seq > highest && seq - highest <= MAX_GAP => self.due += seq - highest,
            Some(highest) if seq <= highest && highest - seq <= MAX_GAP => return,
            _ => self.due += 1,
        }
        self.highest = Some(seq);
    }

    /// The loss ratio since the last call that returned one; `None` before enough packets were due.
    fn take(&mut self) -> Option<f64> {
        if self.due < ENOUGH_PACKETS {
            return None;
        }
        let ratio = 1.0 - self.arrived.min(self.due) as f64 / self.due as f64;
        (self.due, self.arrived) = (0, 0);
        Some(ratio)
    }
}

/// How often [hrcc]'s public code requests an estimate.
const STEP: TimeDelta = TimeDelta::from_millis(200);
/// [libwebrtc-m150] send_side_bandwidth_estimation: losses of fewer packets are noise.
const ENOUGH_PACKETS: u64 = 20;
const MAX_GAP: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::PacketKind;
    use legato_units::DataSize;

    const START: DataRate = DataRate::from_kbps(300);
    const MIN: DataRate = DataRate::from_kbps(50);

    /// Packets of 1,250 bytes sent at `rate_kbps` into a link of `capacity_kbps`; every `lost_nth` is lost.
    struct Link {
        heuristic: Heuristic,
        seq: u64,
        sent_us: i64,
        free_us: i64,
    }

    impl Link {
        fn new() -> Self {
            Self { heuristic: Heuristic::new(START, MIN, Timestamp::ZERO), seq: 0, sent_us: 0, free_us: 0 }
        }

        fn run(&mut self, seconds: i64, capacity_kbps: i64, lost_nth: u64) {
            let end_us = self.sent_us + 1_000_000 * seconds;
            while self.sent_us < end_us {
                let rate_kbps = self.heuristic.estimate().as_bps() as i64 / 1_000;
                self.sent_us += 10_000_000 / rate_kbps.max(1);
                self.seq += 1;
                if self.seq.is_multiple_of(lost_nth) {
                    continue;
                }
                self.free_us = self.free_us.max(self.sent_us) + 10_000_000 / capacity_kbps;
                let packet = ReceivedPacket {
                    transport_seq: self.seq,
                    ssrc: 1,
                    size: DataSize::from_bytes(1_250),
                    kind: PacketKind::Video,
                    // The sender's clock is an hour ahead.
                    departure: Some(PeerTimestamp::from_nanos((3_600_000_000 + self.sent_us) * 1_000)),
                    ce: false,
                };
                self.heuristic.on_packet(Timestamp::from_nanos(1_000 * (self.free_us + 20_000)), &packet);
            }
        }

        fn kbps(&self) -> u64 {
            self.heuristic.estimate().as_bps() / 1_000
        }
    }

    /// [draft-ietf-rmcat-gcc-02] §6, worked by hand.
    #[test]
    fn losses_cut_by_half_their_ratio_hold_or_allow_five_percent_growth() {
        let megabit = DataRate::from_mbps(1);
        assert_eq!(after_losses(megabit, 0.2), DataRate::from_kbps(900));
        assert_eq!(after_losses(megabit, 0.1), megabit);
        assert_eq!(after_losses(megabit, 0.02), megabit);
        assert_eq!(after_losses(megabit, 0.01), DataRate::from_kbps(1_050));
    }

    #[test]
    fn the_estimate_climbs_to_a_free_links_capacity_and_stays_near_it() {
        let mut link = Link::new();
        link.run(10, 2_000, u64::MAX);
        assert!((500..1_000).contains(&link.kbps()), "8 % a second from 300: {}", link.kbps());
        link.run(30, 2_000, u64::MAX);
        assert!((1_400..2_300).contains(&link.kbps()), "{}", link.kbps());
    }

    #[test]
    fn a_growing_queue_takes_the_estimate_below_the_receiver_rate() {
        let mut link = Link::new();
        link.heuristic.set_estimate(DataRate::from_kbps(1_500), Timestamp::ZERO);
        link.run(5, 2_000, u64::MAX);
        link.run(3, 500, u64::MAX);
        assert!(link.kbps() < 500, "{}", link.kbps());
    }

    #[test]
    fn a_few_losses_hold_the_estimate_and_many_cut_it() {
        let mut link = Link::new();
        link.run(10, 2_000, 20);
        // With one lost in twenty it counts groups of twenty as 5 %.
        assert!((290..=330).contains(&link.kbps()), "{}", link.kbps());
        link.run(5, 2_000, 4);
        assert!(link.kbps() < 200, "{}", link.kbps());
    }

    #[test]
    fn it_continues_from_the_estimate_it_is_set_to() {
        let mut link = Link::new();
        link.run(2, 2_000, u64::MAX);
        let now = Timestamp::from_nanos(1_000 * link.free_us);
        link.heuristic.set_estimate(DataRate::from_kbps(800), now);
        assert_eq!(link.heuristic.estimate(), DataRate::from_kbps(800));
        link.run(1, 2_000, u64::MAX);
        assert!((800..900).contains(&link.kbps()), "{}", link.kbps());
    }

    #[test]
    fn late_packets_and_another_streams_numbers_are_not_losses() {
        let mut losses = Losses::default();
        for seq in [1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] {
            losses.push(seq);
        }
        assert_eq!(losses.take(), None);
        losses.push(5_000_000);
        assert_eq!(losses.take(), Some(0.0));
        assert_eq!((losses.due, losses.arrived), (0, 0));
    }
}
