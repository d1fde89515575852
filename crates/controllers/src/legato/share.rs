//! Sharing a link with other flows: by the delay that all of them see.
//!
//! Alone a sender may take the measured rate at once. In company it measures the share that the others leave, and every
//! split of the link perpetuates itself. So there the rate climbs by equal steps and falls by an equal ratio,
//! [chiu1989]'s rule, until all have the same. Company shows in waits that the call did not cause: a frame's first
//! packet waits although no packet of the call is in front of it.
//!
//! All flows must see the same queue, or the ones that see less of it take the rest. Bursts see it at one moment of
//! each frame interval: a flow whose pictures always come right behind another's would always find that one's frame in
//! front of it, and give way alone. So frames are spread over their interval in company, and the shortest queue that
//! any of their packets met decides.
//!
//! If a queue persists however far the rate falls, others hold it there: the target rises (`queue_target.rs`). If it
//! stays at 70 ms and more, they fill the queue until it overflows, as TCP does, and the rate follows losses instead of
//! delay.

use super::limit::{Limit, Room, TRICKLE, Why};
use super::queue_target::QueueTarget;
use legato_control::estimate::arrivals::Arrival;
use legato_control::estimate::windowed_min::WindowedMin;
use legato_units::{ByteRate, Bytes, Seconds, TimeDelta, Timestamp};

/// What others on the link leave.
#[derive(Clone, Debug)]
pub struct Share {
    /// Among flows that are alike: so many times their rate is the share.
    priority: f64,
    /// The share of frames that waited for others.
    waited: f64,
    in_company: bool,
    /// The shortest queue that packets of the last moments met.
    standing: WindowedMin<TimeDelta>,
    target: QueueTarget,
    /// Only in company.
    limit: ByteRate,
    last: Option<Timestamp>,
    last_cut: Option<Timestamp>,
    /// Since when a queue has persisted, and how long it was then.
    standing_since: Option<(Timestamp, Seconds)>,
    competing: bool,
}

/// A wait shorter than this is delay variation; on a slow link it may be twice as long, for this many packets.
const MIN_WAIT: Seconds = Seconds::from_millis(5.0);
const MAX_WAIT: Seconds = Seconds::from_millis(16.0);
const GRID_PACKETS: f64 = 2.5;
const PACKET: Bytes = Bytes::new(1_200.0);
/// About the last twenty frames decide.
const WAITED_GAIN: f64 = 0.05;
const ENTER_RATIO: f64 = 0.3;
const LEAVE_RATIO: f64 = 0.1;
/// A queue persists if every packet for this long met it.
const STANDING: TimeDelta = TimeDelta::from_millis(300);
const STANDING_QUEUE: Seconds = Seconds::from_millis(30.0);
/// Additive increase in each second, the same for all flows whatever their round trips; multiplicative decrease.
const INCREASE: ByteRate = ByteRate::new(200e3 / 8.0);
const SECOND: Seconds = Seconds::new(1.0);
/// An outage is no time to climb in.
const LONGEST_CLIMB: Seconds = Seconds::from_millis(500.0);
/// Over a round trip, between two cuts.
const CUT_MARGIN: Seconds = Seconds::from_millis(100.0);
const DECREASE_RATIO: f64 = 0.85;
/// The limit runs ahead of the receiver rate by this ratio at most: a call that sends less learns nothing of its share.
const MAX_AHEAD_RATIO: f64 = 1.8;
/// A queue so many times the target is the work of a link that fell: the limit begins anew at the receiver rate.
const FALL_RATIO: f64 = 3.0;
/// A queue this long for this long although we gave way: others do not.
const COMPETING_QUEUE: Seconds = Seconds::from_millis(70.0);
const COMPETING_AFTER: TimeDelta = TimeDelta::from_secs(2);
/// A queue below this share of its earlier length drains.
const DRAINING_RATIO: f64 = 0.95;
/// Buffers that TCP keeps full are rarely longer.
const LONGEST_QUEUE: Seconds = Seconds::from_millis(600.0);
const LOSS_DECREASE_RATIO: f64 = 0.7;
/// Room for frames above their mean.
const PRESSED_FRAME_RATIO: f64 = 1.5;

impl Default for Share {
    fn default() -> Self {
        Self {
            priority: 1.0,
            waited: 0.0,
            in_company: false,
            standing: WindowedMin::default(),
            target: QueueTarget::default(),
            limit: ByteRate::INFINITY,
            last: None,
            last_cut: None,
            standing_since: None,
            competing: false,
        }
    }
}

impl Share {
    /// One that takes `priority` times what others alike take.
    pub fn with_priority(priority: f64) -> Self {
        Self { priority, ..Self::default() }
    }

    /// Read an arrival.
    pub fn read(&mut self, arrival: &Arrival) {
        self.standing.after(arrival.departure, arrival.queuing, STANDING);
    }

    /// The first packet of a frame found no packet of the call in front of it and met `queuing`; the link passes
    /// packets at this rate.
    pub fn count_wait(&mut self, queuing: TimeDelta, passing: ByteRate) {
        let delay_variation = (PACKET * GRID_PACKETS / passing).clamp(MIN_WAIT, MAX_WAIT);
        let others = Seconds::from(queuing) > delay_variation;
        self.waited += WAITED_GAIN * (f64::from(u8::from(others)) - self.waited);
    }

    /// Once per feedback; bytes arrive at the rate `delivered`.
    pub fn react(&mut self, now: Timestamp, round_trip: Seconds, delivered: ByteRate, lost: bool) {
        let since = self.last.map_or(Seconds::ZERO, |last| Seconds::from(now - last).min(LONGEST_CLIMB));
        self.last = Some(now);
        let standing = self.standing();
        self.watch_others(now, standing);
        let company = if self.in_company { self.waited > LEAVE_RATIO } else { self.waited > ENTER_RATIO };
        if company && !self.in_company {
            self.limit = delivered;
        }
        self.in_company = company || self.competing;
        if !self.in_company {
            self.limit = ByteRate::INFINITY;
            self.target = QueueTarget::default();
            return;
        }
        let limit = self.limit.min(delivered.max(TRICKLE) * MAX_AHEAD_RATIO);
        let may_cut = self.last_cut.is_none_or(|cut| Seconds::from(now - cut) > round_trip + CUT_MARGIN);
        self.target.relax(since);
        let target = self.target.of(limit / self.priority);
        let cut = if self.competing { lost } else { standing > target };
        if !cut {
            self.target.on_met();
            self.limit = limit + INCREASE * self.priority * (since / SECOND);
            return;
        }
        self.limit = limit;
        if may_cut {
            self.last_cut = Some(now);
            self.cut(standing > target * FALL_RATIO, delivered);
        }
    }

    fn cut(&mut self, link_fell: bool, delivered: ByteRate) {
        self.limit = match (self.competing, link_fell) {
            (true, _) => self.limit * LOSS_DECREASE_RATIO,
            (false, true) => self.limit.min(delivered.max(TRICKLE)) * DECREASE_RATIO,
            (false, false) => {
                self.target.on_cut(self.limit / self.priority);
                self.limit * DECREASE_RATIO
            }
        };
    }

    fn watch_others(&mut self, now: Timestamp, standing: Seconds) {
        let long = standing > if self.competing { COMPETING_QUEUE / 2.0 } else { COMPETING_QUEUE };
        if long == self.competing {
            self.standing_since = None;
            return;
        }
        let (since, queue) = *self.standing_since.get_or_insert((now, standing));
        // A queue that drains, or is longer than buffers are, is our own, of before the link fell.
        if long && (standing < queue * DRAINING_RATIO || standing > LONGEST_QUEUE) {
            self.standing_since = Some((now, standing));
            return;
        }
        if now - since > COMPETING_AFTER {
            self.competing = long;
            self.standing_since = None;
        }
    }

    /// The shortest queue that packets of the last moments met.
    pub fn standing(&self) -> Seconds {
        self.standing.min().unwrap_or(TimeDelta::ZERO).into()
    }

    /// Whether there is a persistent queue that would hide the minimum delay.
    pub fn queue_stands(&self) -> bool {
        self.standing() > STANDING_QUEUE || self.is_pressed()
    }

    /// The rate is halved for want of feedback.
    pub fn halve(&mut self) {
        self.limit *= 0.5;
    }

    /// The most to send in company, over a link whose capacity for us was measured; `None` alone.
    pub fn limit(&self, capacity: ByteRate, room: Room) -> Option<Limit> {
        let max_frame = room.at(capacity.max(self.limit));
        self.in_company.then_some(Limit { target: self.limit, max_frame, why: Why::Sharing })
    }

    /// The size that frames of a call at this rate may have at least. In a queue that others hold, frames within the time
    /// budget would give the link to them. The same holds for a flow that takes more than the others on purpose.
    pub fn least_frame(&self, target: ByteRate, interval: Seconds) -> Bytes {
        if self.is_pressed() || self.is_ahead() { target * PRESSED_FRAME_RATIO * interval } else { Bytes::ZERO }
    }

    /// What others leave; infinite alone.
    pub fn rate(&self) -> ByteRate {
        self.limit
    }

    /// Whether the rate follows losses, since others fill the queue.
    pub fn is_competing(&self) -> bool {
        self.competing
    }

    /// Whether others hold a queue however much is given way.
    pub fn is_pressed(&self) -> bool {
        self.competing || self.target.is_raised()
    }

    /// Whether others use the link, and shall have less of it.
    pub fn is_ahead(&self) -> bool {
        self.in_company && self.priority > 1.0
    }

    /// Whether others use the link too.
    pub fn in_company(&self) -> bool {
        self.in_company
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::PeerTimestamp;

    const FRAME_MS: i64 = 33;
    const RATE: ByteRate = ByteRate::new(125e3);

    /// Frames that meet a queue of so many ms, which is not of our packets.
    fn meet(share: &mut Share, frames: std::ops::Range<i64>, queuing_ms: i64, lost: bool) {
        for n in frames {
            let departure = Timestamp::from_millis(n * FRAME_MS);
            let queuing = TimeDelta::from_millis(queuing_ms);
            let arrival = PeerTimestamp::from_nanos((departure + queuing).as_nanos());
            share.read(&Arrival { departure, arrival, queuing, service: queuing, found_idle: true });
            share.count_wait(queuing, RATE);
            share.react(departure, Seconds::new(0.05), RATE, lost);
        }
    }

    #[test]
    fn alone_nothing_limits() {
        let mut share = Share::default();
        meet(&mut share, 0..100, 3, false);
        assert!(!share.in_company() && share.rate() == ByteRate::INFINITY);
    }

    /// The queue of 17 ms is below the target of 8 + 35 / sqrt(10) = 19 ms at 1 Mbit/s, one of 40 ms is above it.
    #[test]
    fn in_company_it_climbs_by_equal_steps_and_falls_by_a_ratio() {
        let mut share = Share::default();
        meet(&mut share, 0..30, 17, false);
        assert!(share.in_company());
        let before = share.rate().get();
        meet(&mut share, 30..60, 17, false);
        // [chiu1989]: 200 kbit/s a second are 25,000 bytes in 30 frames of 33 ms.
        assert!((share.rate().get() - before - 24_750.0).abs() < 1.0, "{before} {}", share.rate().get());
        meet(&mut share, 60..72, 40, false);
        let cut = share.rate().get();
        assert!(cut < before + 24_750.0);
        meet(&mut share, 72..78, 40, false);
        assert!((share.rate().get() / cut - 0.85).abs() < 0.13, "once in a round trip and 100 ms");
    }

    /// [rfc8867] §6.1: with a priority of 2 it climbs by twice the step. With one of 3 it bears the queue that a flow of a
    /// third of its rate bears: 22 ms is above 19, the target at 1 Mbit/s, and below 27.
    #[test]
    fn a_priority_multiplies_the_share() {
        let climbed = |priority, queuing_ms| {
            let mut share = Share::with_priority(priority);
            meet(&mut share, 0..30, 17, false);
            let before = share.rate().get();
            meet(&mut share, 30..60, queuing_ms, false);
            share.rate().get() - before
        };
        assert!((climbed(2.0, 17) - 2.0 * climbed(1.0, 17)).abs() < 1.0);
        assert!(climbed(1.0, 22) < 0.0 && climbed(3.0, 22) > 0.0);
    }

    #[test]
    fn it_is_alone_again_when_nobody_is_met() {
        let mut share = Share::default();
        meet(&mut share, 0..60, 17, false);
        meet(&mut share, 60..130, 1, false);
        assert!(!share.in_company());
    }

    /// A queue of 200 ms persists although the limit falls: from then on only losses lower it.
    #[test]
    fn beside_flows_that_fill_the_queue_losses_decide() {
        let mut share = Share::default();
        meet(&mut share, 0..120, 200, false);
        assert!(share.is_competing());
        let before = share.rate().get();
        meet(&mut share, 120..150, 200, false);
        assert!(share.rate().get() > before);
        let before = share.rate().get();
        meet(&mut share, 150..151, 200, true);
        assert!((share.rate().get() / before - 0.7).abs() < 0.05);
        meet(&mut share, 151..260, 5, false);
        assert!(!share.is_competing());
    }
}
