//! Sharing a link with other flows: by the delay that all of them see.
//!
//! Alone a sender may take what it measures at once. In company the share of the link that it measures is what the
//! others leave it, and each size of share keeps itself: so there the rate climbs by equal steps and falls by an equal
//! ratio, [chiu1989]'s rule, until all have the same. Company shows in waits that are not our own: a frame's first packet
//! waits although none of ours is in front of it. Where a queue stands however much is given way, the others fill it
//! until it overflows, as TCP does, and the rate follows losses instead of delay.

use super::arrivals::Arrival;
use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// What others on the link leave.
#[derive(Clone, Debug)]
pub struct Share {
    /// The share of frames that waited for others.
    waited: f64,
    in_company: bool,
    /// The queue that the first packets of the last frames met.
    met: VecDeque<(Timestamp, f64)>,
    /// In bytes a second; only in company.
    limit: f64,
    last: Option<Timestamp>,
    last_cut: Option<Timestamp>,
    /// Since when a queue has stood.
    standing_since: Option<Timestamp>,
    competing: bool,
}

/// A wait shorter than this is delay variation; on a slow link it may be twice as long, for this many packets.
const MIN_WAIT_S: f64 = 0.005;
const MAX_WAIT_S: f64 = 0.016;
const GRID_PACKETS: f64 = 2.5;
const PACKET_BYTES: f64 = 1_200.0;
/// About the last twenty frames decide.
const WAITED_GAIN: f64 = 0.05;
const ENTER_RATIO: f64 = 0.3;
const LEAVE_RATIO: f64 = 0.1;
/// The queue stands where every frame of this long met it.
const STANDING: TimeDelta = TimeDelta::from_millis(300);
/// Flow scaling of [kumar2020]: the slower flow tolerates the longer queue.
const BASE_TARGET_S: f64 = 0.008;
const SCALED_TARGET_S: f64 = 0.035;
const SCALE_BYTES_PER_S: f64 = 100e3 / 8.0;
/// Additive increase, the same for all flows whatever their round trips; multiplicative decrease.
const INCREASE_BYTES_PER_S2: f64 = 200e3 / 8.0;
const DECREASE_RATIO: f64 = 0.85;
/// The limit runs ahead of what arrives by this ratio at most: a call that sends less learns nothing of its share.
const MAX_AHEAD_RATIO: f64 = 1.8;
/// A queue this long for this long although we gave way: others do not.
const COMPETING_QUEUE_S: f64 = 0.08;
const COMPETING_AFTER_S: f64 = 2.0;
const LOSS_DECREASE_RATIO: f64 = 0.7;

impl Default for Share {
    fn default() -> Self {
        Self {
            waited: 0.0,
            in_company: false,
            met: VecDeque::new(),
            limit: f64::INFINITY,
            last: None,
            last_cut: None,
            standing_since: None,
            competing: false,
        }
    }
}

impl Share {
    /// Read the arrival of the first packet of a burst; the link passes `bytes_per_s`.
    pub fn read(&mut self, arrival: &Arrival, bytes_per_s: f64) {
        let queuing_s = arrival.queuing.as_secs_f64();
        self.met.push_back((arrival.departure, queuing_s));
        while self.met.front().is_some_and(|&(at, _)| arrival.departure - at > STANDING) {
            self.met.pop_front();
        }
        if arrival.found_idle {
            let others = queuing_s > (GRID_PACKETS * PACKET_BYTES / bytes_per_s).clamp(MIN_WAIT_S, MAX_WAIT_S);
            self.waited += WAITED_GAIN * (f64::from(u8::from(others)) - self.waited);
        }
    }

    /// Once per feedback; `delivered` is what arrives, in bytes a second.
    pub fn react(&mut self, now: Timestamp, round_trip_s: f64, delivered: f64, lost: bool) {
        let since_s = self.last.map_or(0.0, |last| (now - last).as_secs_f64().min(0.5));
        self.last = Some(now);
        let standing_s = self.standing_s();
        self.watch_others(now, standing_s);
        let company = if self.in_company { self.waited > LEAVE_RATIO } else { self.waited > ENTER_RATIO };
        if company && !self.in_company {
            self.limit = delivered;
        }
        self.in_company = company || self.competing;
        if !self.in_company {
            self.limit = f64::INFINITY;
            return;
        }
        let limit = self.limit.min(MAX_AHEAD_RATIO * delivered.max(1.0));
        let may_cut = self.last_cut.is_none_or(|cut| (now - cut).as_secs_f64() > round_trip_s + 0.1);
        let (cut, ratio) = match self.competing {
            true => (lost, LOSS_DECREASE_RATIO),
            false => (standing_s > target_s(limit), DECREASE_RATIO),
        };
        self.limit = if cut && may_cut {
            self.last_cut = Some(now);
            limit * ratio
        } else if cut {
            limit
        } else {
            limit + INCREASE_BYTES_PER_S2 * since_s
        };
    }

    fn watch_others(&mut self, now: Timestamp, standing_s: f64) {
        let long = standing_s > if self.competing { COMPETING_QUEUE_S / 2.0 } else { COMPETING_QUEUE_S };
        if long == self.competing {
            self.standing_since = None;
            return;
        }
        let since = *self.standing_since.get_or_insert(now);
        if (now - since).as_secs_f64() > COMPETING_AFTER_S {
            self.competing = long;
            self.standing_since = None;
        }
    }

    /// The shortest queue that the frames of the last moments met.
    fn standing_s(&self) -> f64 {
        if self.met.len() < 3 {
            return 0.0;
        }
        self.met.iter().map(|&(_, queuing_s)| queuing_s).fold(f64::INFINITY, f64::min)
    }

    /// The rate is halved for want of feedback.
    pub fn halve(&mut self) {
        self.limit *= 0.5;
    }

    /// The most to send, in bytes a second.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether the rate follows losses, since others fill the queue.
    pub fn is_competing(&self) -> bool {
        self.competing
    }

    /// Whether others use the link too.
    pub fn in_company(&self) -> bool {
        self.in_company
    }
}

/// The queue up to which a flow of this rate does not give way.
fn target_s(bytes_per_s: f64) -> f64 {
    BASE_TARGET_S + SCALED_TARGET_S / libm::sqrt(bytes_per_s.max(1_000.0) / SCALE_BYTES_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::PeerTimestamp;

    const FRAME_MS: i64 = 33;
    const RATE: f64 = 125e3;

    /// Frames that meet a queue of so many ms, which is not of our packets.
    fn meet(share: &mut Share, frames: std::ops::Range<i64>, queuing_ms: i64, lost: bool) {
        for n in frames {
            let departure = Timestamp::from_millis(n * FRAME_MS);
            let queuing = TimeDelta::from_millis(queuing_ms);
            let arrival = PeerTimestamp::from_nanos((departure + queuing).as_nanos());
            share.read(&Arrival { departure, arrival, queuing, service: queuing, found_idle: true }, RATE);
            share.react(departure, 0.05, RATE, lost);
        }
    }

    #[test]
    fn alone_nothing_limits() {
        let mut share = Share::default();
        meet(&mut share, 0..100, 3, false);
        assert!(!share.in_company() && share.limit() == f64::INFINITY);
    }

    /// The queue of 17 ms is below the target of 8 + 35 / sqrt(10) = 19 ms at 1 Mbit/s, one of 40 ms is above it.
    #[test]
    fn in_company_it_climbs_by_equal_steps_and_falls_by_a_ratio() {
        assert!((target_s(RATE) - 0.01907).abs() < 1e-5);
        let mut share = Share::default();
        meet(&mut share, 0..30, 17, false);
        assert!(share.in_company());
        let before = share.limit();
        meet(&mut share, 30..60, 17, false);
        // [chiu1989]: 200 kbit/s a second are 25,000 bytes in 30 frames of 33 ms.
        assert!((share.limit() - before - 24_750.0).abs() < 1.0, "{before} {}", share.limit());
        meet(&mut share, 60..72, 40, false);
        let cut = share.limit();
        assert!(cut < before + 24_750.0);
        meet(&mut share, 72..78, 40, false);
        assert!((share.limit() / cut - 0.85).abs() < 0.13, "once in a round trip and 100 ms");
    }

    #[test]
    fn it_is_alone_again_when_nobody_is_met() {
        let mut share = Share::default();
        meet(&mut share, 0..60, 17, false);
        meet(&mut share, 60..130, 1, false);
        assert!(!share.in_company());
    }

    /// A queue of 200 ms stands although the limit falls: from then on only losses lower it.
    #[test]
    fn beside_flows_that_fill_the_queue_losses_decide() {
        let mut share = Share::default();
        meet(&mut share, 0..120, 200, false);
        assert!(share.is_competing());
        let before = share.limit();
        meet(&mut share, 120..150, 200, false);
        assert!(share.limit() > before);
        let before = share.limit();
        meet(&mut share, 150..151, 200, true);
        assert!((share.limit() / before - 0.7).abs() < 0.05);
        meet(&mut share, 151..260, 5, false);
        assert!(!share.is_competing());
    }

    #[test]
    fn the_slower_of_two_flows_tolerates_the_longer_queue() {
        assert!(target_s(25e3) > 1.3 * target_s(250e3));
    }
}
