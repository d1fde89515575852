//! The receiver's half of NADA, at the sender: it turns joined reports into the queuing delay, the ratios of lost and
//! marked packets and the receiving rate. From these it makes the signal x_curr and the mode. One `update` stands for
//! one feedback message of the RFC.

use super::base_delay::BaseDelay;
use super::config::{ALPHA, Config, DFILT, FILTER_PACKETS, LOGWIN, QEPS_MS};
use super::log_window::LogWindow;
use super::loss_memory::LossMemory;
use super::signal;
use super::smoothed_ratio::SmoothedRatio;
use legato_control::{Fate, PacketReport};
use legato_units::{DataRate, PeerTimestamp, TimeDelta, Timestamp};

/// The path as seen from its far end.
#[derive(Clone, Debug)]
pub struct Congestion {
    /// Departure and arrival of the first packet: delays are relative to it.
    first: Option<(Timestamp, PeerTimestamp)>,
    base: BaseDelay,
    /// When the last packets arrived, and their queuing delays; the newest at `next − 1`.
    delays: [(TimeDelta, TimeDelta); FILTER_PACKETS],
    known: usize,
    next: usize,
    window: LogWindow,
    losses: LossMemory,
    /// p_loss and p_mark.
    loss_ratio: SmoothedRatio,
    mark_ratio: SmoothedRatio,
    /// The newest packet reported on.
    newest_seq: Option<u64>,
    /// When, in the receiver's time, a queue, a loss or a mark was last seen.
    last_queue: Option<TimeDelta>,
    last_loss: Option<TimeDelta>,
    last_mark: Option<TimeDelta>,
}

/// What one feedback message of the RFC carries (its section 5.3): rmode, x_curr and r_recv.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message {
    /// x_curr.
    pub signal_ms: f64,
    /// Accelerated ramp-up (rmode 0), or gradual update (rmode 1).
    pub ramp_up: bool,
    /// r_recv.
    pub received: DataRate,
    /// d_queue, for the gauges.
    pub queuing_ms: f64,
}

impl Congestion {
    /// Nothing seen.
    pub fn new() -> Self {
        Self {
            first: None,
            base: BaseDelay::default(),
            delays: [(TimeDelta::ZERO, TimeDelta::ZERO); FILTER_PACKETS],
            known: 0,
            next: 0,
            window: LogWindow::new(LOGWIN),
            losses: LossMemory::default(),
            loss_ratio: SmoothedRatio::default(),
            mark_ratio: SmoothedRatio::default(),
            newest_seq: None,
            last_queue: None,
            last_loss: None,
            last_mark: None,
        }
    }

    /// Take the report of one packet; `rtt` groups losses.
    #[inline]
    pub fn push(&mut self, packet: &PacketReport, rtt: TimeDelta) {
        // A packet older than the newest already counted as lost when the newest arrived: out of order is lost.
        let is_new = self.newest_seq.is_none_or(|newest| packet.transport_seq > newest);
        if !is_new {
            if packet.arrived() {
                self.window.push_late(packet.size);
            }
            return;
        }
        self.newest_seq = Some(packet.transport_seq);
        match packet.fate {
            Fate::Arrived(Some(arrival)) => self.push_arrival(packet, arrival),
            Fate::Arrived(None) => self.window.push_late(packet.size),
            Fate::Missing => {
                self.window.push_lost();
                self.losses.push_loss(packet.transport_seq, packet.departure, rtt);
                self.last_loss = Some(self.window.latest());
            }
        }
    }

    #[inline]
    fn push_arrival(&mut self, packet: &PacketReport, arrival: PeerTimestamp) {
        let (first_departure, first_arrival) = *self.first.get_or_insert((packet.departure, arrival));
        let elapsed = arrival - first_arrival;
        // [rfc8698] §4.2: d_fwd, up to the difference of the clocks; d_queue = d_fwd − d_base.
        let delay = elapsed - (packet.departure - first_departure);
        let queuing = delay - self.base.update(elapsed, delay);
        self.window.push_arrived(elapsed, packet.size, packet.ce);
        self.loss_ratio.push(ALPHA, self.window.loss_ratio());
        self.mark_ratio.push(ALPHA, self.window.mark_ratio());
        if packet.ce {
            self.last_mark = Some(self.window.latest());
        }
        self.delays[self.next] = (elapsed, queuing);
        self.next = (self.next + 1) % FILTER_PACKETS;
        self.known = (self.known + 1).min(FILTER_PACKETS);
    }

    /// d_queue: the minimum of the last packets, which filters out jitter and bursts.
    // [rfc8698] §5.1.1: a minimum filter of 15 samples. DFILT bounds the delay of that filter (its Figure 3, and gamma
    // counts on it), so samples older than DFILT are left out: below 125 packets/s, 1.2 Mbit/s, 15 samples are more.
    fn queuing_delay(&self) -> TimeDelta {
        let since = self.window.latest() - DFILT;
        let recent = self.delays[..self.known].iter().filter(|(arrival, _)| *arrival >= since);
        recent.map(|&(_, queuing)| queuing).min().unwrap_or(TimeDelta::ZERO)
    }

    /// One interval is over: what a receiver would report now.
    pub fn update(&mut self, config: &Config) -> Message {
        let queuing_ms = self.queuing_delay().as_millis_f64();
        let now = self.window.latest();
        if queuing_ms >= QEPS_MS {
            self.last_queue = Some(now);
        }
        let share = self.losses.warp_share(self.newest_seq.unwrap_or(0), config.loss_memory_factor);
        let delay_ms = signal::blend(queuing_ms, share);
        let (loss_ratio, mark_ratio) = self.ratios();
        let long_ago = |at: Option<TimeDelta>| at.is_none_or(|at| now - at > LOGWIN);
        Message {
            signal_ms: signal::aggregate(config, delay_ms, loss_ratio, mark_ratio),
            // [rfc8698] §4.2: no loss and no queue in the window. Deviates: no mark either, or ramp-up
            // would never end on a queue that marks before it is QEPS long.
            ramp_up: long_ago(self.last_loss) && long_ago(self.last_queue) && long_ago(self.last_mark),
            received: self.window.received_rate(),
            queuing_ms,
        }
    }

    /// p_loss and p_mark, for the gauges.
    pub fn ratios(&self) -> (f64, f64) {
        (self.loss_ratio.value(), self.mark_ratio.value())
    }
}
