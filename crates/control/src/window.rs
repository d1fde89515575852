//! What a controller could know of one decision interval: the only source of features for learned
//! controllers, in training, in simulated and in real calls.
//!
//! The same struct serves both ends. At the sender, arrivals and losses are the ones that feedback reported in the
//! interval; at the receiver they are the observed ones. Delays are differences of two clocks: only their change means
//! something, so they are given above the minimum of the call.

use crate::{EncodedFrameInfo, Event, FrameReport, ReceivedPacket, ReportRun, RunFate, TransportFeedback};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// The statistics of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowStats {
    /// The interval's length.
    pub span: TimeDelta,
    /// Packets that left the pacer, and their bytes (sender).
    pub sent_packets: u32,
    /// See `sent_packets`.
    pub sent: DataSize,
    /// Packets that arrived, and their bytes.
    pub arrived_packets: u32,
    /// See `arrived_packets`.
    pub arrived: DataSize,
    /// Packets reported or seen to be missing.
    pub lost_packets: u32,
    /// The longest run of consecutive missing packets.
    pub longest_loss: u32,
    /// Mean one-way delay of the arrivals above the minimum of the call; without arrivals, that of the
    /// last interval that had any (`None`: nothing has arrived yet).
    pub delay: Option<TimeDelta>,
    /// The same for the interval before.
    pub delay_before: Option<TimeDelta>,
    /// Mean round-trip time: the minimum plus `delay` (`None`: none known yet).
    pub rtt: Option<TimeDelta>,
    /// Minimum round-trip time of the call.
    pub min_rtt: Option<TimeDelta>,
    /// Minimum mean round-trip time of any interval of the call.
    pub min_mean_rtt: Option<TimeDelta>,
    /// Mean time between arrivals (`None`: fewer than two in the call).
    pub packet_interval: Option<TimeDelta>,
    /// Arrived bytes over the last 200 ms.
    pub receiver_rate_200ms: DataRate,
    /// Frames of the interval: encoded ones at the sender, decoded ones at the receiver.
    pub frames: FrameStats,
    /// The target in force during the interval.
    pub target_bitrate: DataRate,
}

/// Frames of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameStats {
    /// Their number.
    pub count: u32,
    /// Their encoded bytes.
    pub size: DataSize,
    /// Frames given up (receiver).
    pub given_up: u32,
    /// Mean of the encoder's own PSNR in dB, if it reports one.
    pub psnr_db: Option<f32>,
    /// Maximum picture height in luma rows, 0 without a frame.
    pub height: u16,
    /// Mean time from the pacer to the decoder, above the minimum of the call (receiver).
    pub delay: Option<TimeDelta>,
    /// The same for the last earlier interval that had a frame.
    pub delay_before: Option<TimeDelta>,
}

impl WindowStats {
    /// Bytes sent over the interval (sender).
    pub fn sending_rate(&self) -> DataRate {
        self.sent / self.span
    }

    /// Bytes that arrived over the interval.
    pub fn receiver_rate(&self) -> DataRate {
        self.arrived / self.span
    }

    /// Of the packets reported on, the share missing; 0 without any.
    pub fn loss_ratio(&self) -> f64 {
        let reported = self.arrived_packets + self.lost_packets;
        if reported == 0 { 0.0 } else { f64::from(self.lost_packets) / f64::from(reported) }
    }

    /// Growth of the delay since the interval before, in seconds per second.
    pub fn delay_gradient(&self) -> f64 {
        match (self.delay, self.delay_before) {
            (Some(delay), Some(before)) if self.span > TimeDelta::ZERO => {
                (delay - before).as_secs_f64() / self.span.as_secs_f64()
            }
            _ => 0.0,
        }
    }
}

/// Gathers the events of an interval.
#[derive(Clone, Debug)]
pub struct Window {
    opened: Timestamp,
    now: Tally,
    /// Raw one-way delays (ns of two clocks): the minimum of the call.
    min_delay_ns: Option<i64>,
    /// Raw mean delays of the last two intervals that had arrivals.
    mean_delays_ns: [Option<i64>; 2],
    /// At the sender: minimum time from a departure to the report of its arrival.
    min_rtt: Option<TimeDelta>,
    min_mean_rtt: Option<TimeDelta>,
    /// A round-trip time measured elsewhere, for ends that see none.
    measured_rtt: Option<TimeDelta>,
    last_arrival: Option<i64>,
    packet_interval: Option<TimeDelta>,
    highest_seq: Option<u64>,
    /// Consecutive missing packets up to the last one reported.
    loss_run: u32,
    min_frame_delay_ns: Option<i64>,
    frame_delays_ns: [Option<i64>; 2],
    recent: Recent,
}

/// Sums that restart with each interval.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    sent_packets: u32,
    sent_bytes: u64,
    arrived_packets: u32,
    arrived_bytes: u64,
    lost_packets: u32,
    longest_loss: u32,
    delay_sum_ns: i64,
    delays: u32,
    interval_sum_ns: i64,
    intervals: u32,
    frames: u32,
    frame_bytes: u64,
    given_up: u32,
    psnr_sum: f32,
    psnrs: u32,
    height: u16,
    frame_delay_sum_ns: i64,
    frame_delays: u32,
}

impl Window {
    /// The first interval begins at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self {
            opened: start,
            now: Tally::default(),
            min_delay_ns: None,
            mean_delays_ns: [None; 2],
            min_rtt: None,
            min_mean_rtt: None,
            measured_rtt: None,
            last_arrival: None,
            packet_interval: None,
            highest_seq: None,
            loss_run: 0,
            min_frame_delay_ns: None,
            frame_delays_ns: [None; 2],
            recent: Recent::default(),
        }
    }

    /// Take an event; those not about packets or frames change nothing.
    pub fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketsSent(burst) => {
                self.now.sent_packets += u32::from(burst.packets);
                self.now.sent_bytes += burst.bytes();
            }
            Event::TransportFeedback(feedback) => self.take_feedback(now, feedback),
            Event::PacketReceived(packet) => self.take_packet(now, packet),
            Event::FrameEncoded(frame) => self.take_encoded(frame),
            Event::FrameReport(report) => self.take_frame(now, report),
            Event::RoundTripTime(rtt) => self.measured_rtt = Some(*rtt),
            Event::RouteChange => {
                // Delays of another path are not comparable.
                (self.min_delay_ns, self.mean_delays_ns) = (None, [None; 2]);
                (self.min_rtt, self.min_mean_rtt, self.measured_rtt) = (None, None, None);
                (self.min_frame_delay_ns, self.frame_delays_ns) = (None, [None; 2]);
            }
            _ => {}
        }
    }

    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        let mut bytes = 0;
        // Sums in registers, written once per report: a report covers a dozen packets or more.
        let mut tally = self.now;
        let (mut loss_run, mut min_delay_ns) = (self.loss_run, self.min_delay_ns.unwrap_or(i64::MAX));
        let mut last_arrival = self.last_arrival;
        let mut last_departure = None;
        for ReportRun { burst, fate, .. } in feedback.reports.runs() {
            let packets = u32::from(burst.packets);
            if fate == RunFate::Missing {
                tally.lost_packets += packets;
                loss_run += packets;
                tally.longest_loss = tally.longest_loss.max(loss_run);
                continue;
            }
            tally.arrived_packets += packets;
            bytes += burst.bytes();
            loss_run = 0;
            let RunFate::Arrived(times) = fate else { continue };
            let departure_ns = burst.first.departure.as_nanos();
            for at_ns in times.iter().map(|at| at.as_nanos()) {
                let delay_ns = at_ns - departure_ns;
                tally.delay_sum_ns += delay_ns;
                min_delay_ns = min_delay_ns.min(delay_ns);
                let last_ns = last_arrival.unwrap_or(at_ns);
                tally.interval_sum_ns += (at_ns - last_ns).max(0);
                tally.intervals += u32::from(last_arrival.is_some());
                last_arrival = Some(at_ns.max(last_ns));
            }
            tally.delays += packets;
            last_departure = Some(burst.first.departure);
        }
        tally.arrived_bytes += bytes;
        (self.now, self.loss_run, self.last_arrival) = (tally, loss_run, last_arrival);
        if last_departure.is_some() {
            self.min_delay_ns = Some(min_delay_ns);
        }
        // The last packet of a report waited for it the shortest time.
        if let Some(departure) = last_departure {
            let rtt = (now - departure).max(TimeDelta::ZERO);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        self.recent.push(now, bytes);
    }

    fn take_packet(&mut self, now: Timestamp, packet: &ReceivedPacket) {
        let tally = &mut self.now;
        let bytes = packet.size.as_bytes();
        tally.arrived_packets += 1;
        tally.arrived_bytes += bytes;
        if let Some(departure) = packet.departure {
            let delay_ns = now.as_nanos() - departure.as_nanos();
            tally.delay_sum_ns += delay_ns;
            tally.delays += 1;
            self.min_delay_ns = Some(self.min_delay_ns.map_or(delay_ns, |min| min.min(delay_ns)));
        }
        if let Some(last) = self.last_arrival {
            tally.interval_sum_ns += (now.as_nanos() - last).max(0);
            tally.intervals += 1;
        }
        self.last_arrival = Some(now.as_nanos());
        // A gap counts as loss until the missing packet arrives late.
        match self.highest_seq {
            Some(highest) if packet.transport_seq > highest => {
                let missing = u32::try_from(packet.transport_seq - highest - 1).unwrap_or(u32::MAX).min(MAX_GAP);
                tally.lost_packets += missing;
                tally.longest_loss = tally.longest_loss.max(missing);
                self.highest_seq = Some(packet.transport_seq);
            }
            Some(_) => tally.lost_packets = tally.lost_packets.saturating_sub(1),
            None => self.highest_seq = Some(packet.transport_seq),
        }
        self.recent.push(now, bytes);
    }

    fn take_encoded(&mut self, frame: &EncodedFrameInfo) {
        let tally = &mut self.now;
        tally.frames += 1;
        tally.frame_bytes += frame.size.as_bytes();
        tally.height = tally.height.max(frame.height);
        if let Some(psnr_db) = frame.psnr_db {
            tally.psnr_sum += psnr_db;
            tally.psnrs += 1;
        }
    }

    fn take_frame(&mut self, now: Timestamp, report: &FrameReport) {
        let tally = &mut self.now;
        if !report.rendered {
            tally.given_up += 1;
            return;
        }
        tally.frames += 1;
        tally.frame_bytes += report.size.as_bytes();
        tally.height = tally.height.max(report.height);
        if let Some(psnr_db) = report.psnr_db {
            tally.psnr_sum += psnr_db;
            tally.psnrs += 1;
        }
        if let Some(queued) = report.queued {
            let delay_ns = now.as_nanos() - queued.as_nanos();
            tally.frame_delay_sum_ns += delay_ns;
            tally.frame_delays += 1;
            let min = self.min_frame_delay_ns.map_or(delay_ns, |min| min.min(delay_ns));
            self.min_frame_delay_ns = Some(min);
        }
    }

    /// The statistics if the interval ends `now`; `target_bitrate` was in force during it.
    pub fn stats(&self, now: Timestamp, target_bitrate: DataRate) -> WindowStats {
        let tally = &self.now;
        let mean = |sum_ns: i64, count: u32| (count > 0).then(|| sum_ns / i64::from(count));
        let above = |mean: Option<i64>, min: Option<i64>| Some(TimeDelta::from_nanos(mean? - min?));
        let latest = mean(tally.delay_sum_ns, tally.delays);
        let (delay_ns, before_ns) = match latest {
            Some(_) => (latest, self.mean_delays_ns[0]),
            None => (self.mean_delays_ns[0], self.mean_delays_ns[0]),
        };
        let delay = above(delay_ns, self.min_delay_ns);
        let min_rtt = self.min_rtt.or(self.measured_rtt);
        let rtt = min_rtt.map(|min_rtt| min_rtt + delay.unwrap_or(TimeDelta::ZERO));
        let frame_delay = mean(tally.frame_delay_sum_ns, tally.frame_delays);
        WindowStats {
            span: now - self.opened,
            sent_packets: tally.sent_packets,
            sent: DataSize::from_bytes(tally.sent_bytes),
            arrived_packets: tally.arrived_packets,
            arrived: DataSize::from_bytes(tally.arrived_bytes),
            lost_packets: tally.lost_packets,
            longest_loss: tally.longest_loss,
            delay,
            delay_before: above(before_ns, self.min_delay_ns),
            rtt,
            min_rtt,
            min_mean_rtt: match (rtt, self.min_mean_rtt) {
                (Some(rtt), Some(min)) => Some(rtt.min(min)),
                (rtt, min) => rtt.or(min),
            },
            packet_interval: mean(tally.interval_sum_ns, tally.intervals)
                .map(TimeDelta::from_nanos)
                .or(self.packet_interval),
            receiver_rate_200ms: self.recent.rate(now),
            frames: FrameStats {
                count: tally.frames,
                size: DataSize::from_bytes(tally.frame_bytes),
                given_up: tally.given_up,
                psnr_db: (tally.psnrs > 0).then(|| tally.psnr_sum / tally.psnrs as f32),
                height: tally.height,
                delay: above(frame_delay.or(self.frame_delays_ns[0]), self.min_frame_delay_ns),
                delay_before: above(self.frame_delays_ns[0], self.min_frame_delay_ns),
            },
            target_bitrate,
        }
    }

    /// End the interval at `now` and begin the next.
    pub fn close(&mut self, now: Timestamp, target_bitrate: DataRate) -> WindowStats {
        let stats = self.stats(now, target_bitrate);
        let tally = &self.now;
        if tally.delays > 0 {
            self.mean_delays_ns = [Some(tally.delay_sum_ns / i64::from(tally.delays)), self.mean_delays_ns[0]];
        }
        if tally.frame_delays > 0 {
            let mean = tally.frame_delay_sum_ns / i64::from(tally.frame_delays);
            self.frame_delays_ns = [Some(mean), self.frame_delays_ns[0]];
        }
        self.min_mean_rtt = stats.min_mean_rtt;
        self.packet_interval = stats.packet_interval;
        self.now = Tally::default();
        self.opened = now;
        stats
    }
}

/// A sequence number that jumps further is another stream's or a broken sender's: not all of it is loss.
const MAX_GAP: u32 = 1_000;

/// Arrived bytes of the last 200 ms, in bins of 10 ms.
#[derive(Clone, Debug)]
struct Recent {
    bins: [u32; BINS as usize],
    /// Index of the newest bin since time zero, and its place in the ring.
    newest: i64,
    place: usize,
    sum: u64,
    /// When the first arrival became known.
    first: Option<Timestamp>,
}

/// 20 bins of 10 ms: the last 200 ms, which [nvc-cc]'s decrease begins from.
const BIN: TimeDelta = TimeDelta::from_millis(10);
const BINS: i64 = 20;

impl Default for Recent {
    fn default() -> Self {
        Self { bins: [0; BINS as usize], newest: i64::MIN / 2, place: 0, sum: 0, first: None }
    }
}

/// The next place of the ring.
#[inline]
fn after(place: usize) -> usize {
    if place + 1 == BINS as usize { 0 } else { place + 1 }
}

impl Recent {
    fn push(&mut self, now: Timestamp, bytes: u64) {
        let number = now.as_nanos().div_euclid(BIN.as_nanos());
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        debug_assert!(number >= self.newest, "time never goes back");
        for _ in 0..(number - self.newest).min(BINS) {
            self.place = after(self.place);
            let bin = &mut self.bins[self.place];
            self.sum -= u64::from(*bin);
            *bin = 0;
        }
        self.newest = number;
        let bin = &mut self.bins[self.place];
        let held = *bin;
        *bin = held.saturating_add(bytes);
        self.sum += u64::from(*bin - held);
        self.first.get_or_insert(now);
    }

    fn rate(&self, now: Timestamp) -> DataRate {
        let number = now.as_nanos().div_euclid(BIN.as_nanos());
        let gone = (number - self.newest).clamp(0, BINS);
        // The oldest come after the newest.
        let (mut place, mut old) = (self.place, 0);
        for _ in 0..gone {
            place = after(place);
            old += u64::from(self.bins[place]);
        }
        // Shorter at the beginning of a call, but not shorter than one report covers.
        let known = self.first.map_or(TimeDelta::ZERO, |first| now - first).max(BIN * 5).min(BIN * BINS);
        DataSize::from_bytes(self.sum - old) / known
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
