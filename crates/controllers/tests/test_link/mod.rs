//! A sender, one bottleneck and a receiver in a hundred lines: enough of a call to close the loop
//! around a controller in a test. Packets of 1,200 bytes leave at the pacing rate as frames of the
//! target come in; a drop-tail queue serves them at a capacity that steps; feedback every 50 ms.

#![allow(dead_code, reason = "each test uses its part")]

use legato_control::{
    Decision, Event, Fate, FramePlace, PacerQueue, PacketKind, PacketReport, ProbeCluster, RateController, SentPacket,
    SourceFrameInfo, TransportFeedback,
};
use legato_units::{Burst, DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The path and the application.
#[derive(Clone)]
pub struct Link {
    /// The bottleneck's capacity from each time on.
    pub capacity: Vec<(Timestamp, DataRate)>,
    /// One-way delay, in each direction.
    pub propagation: TimeDelta,
    /// The queue holds this much time at the current capacity.
    pub queue: TimeDelta,
    /// The share of packets lost after the queue, from each time on.
    pub loss: Vec<(Timestamp, f64)>,
    /// Arrivals vary by up to this, in order.
    pub jitter: TimeDelta,
    /// The maximum sending rate of the application, from each time on.
    pub application_limit: Vec<(Timestamp, DataRate)>,
    /// The receiver's clock is ahead by this.
    pub peer_offset: TimeDelta,
    /// The granularity of reported arrival times.
    pub arrival_step: TimeDelta,
    /// From …, until …: all feedback is lost.
    pub feedback_gap: (Timestamp, Timestamp),
    /// The sender obeys the congestion window and reports pictures and the pacer's queue.
    pub windowed: bool,
    /// Seed of the random draws.
    pub seed: u64,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            capacity: vec![(Timestamp::ZERO, DataRate::from_mbps(1))],
            propagation: TimeDelta::from_millis(50),
            queue: TimeDelta::from_millis(400),
            loss: vec![(Timestamp::ZERO, 0.0)],
            jitter: TimeDelta::ZERO,
            application_limit: vec![(Timestamp::ZERO, DataRate::MAX)],
            peer_offset: TimeDelta::from_secs(1_000),
            arrival_step: TimeDelta::from_micros(250),
            feedback_gap: (Timestamp::MAX, Timestamp::MAX),
            windowed: false,
            seed: 1,
        }
    }
}

/// Observes the events on the link as they happen.
pub trait Observer {
    /// The controller is about to get `event`.
    fn on_event(&mut self, now: Timestamp, event: &Event);
    /// A probe will be sent.
    fn on_probe(&mut self, _cluster: &ProbeCluster) {}
    /// The decision after the events of a feedback interval.
    fn on_decision(&mut self, now: Timestamp, decision: &Decision, controller: &mut dyn RateController);
}

struct Flying {
    report: PacketReport,
    arrival: Timestamp,
    lost: bool,
}

/// Run `controller` over `link` for `duration`.
pub fn run(link: &Link, controller: &mut dyn RateController, duration: TimeDelta, observer: &mut dyn Observer) {
    Call::new(link).run(controller, Timestamp::ZERO + duration, observer);
}

struct Call<'a> {
    link: &'a Link,
    state: u64,
    seq: u64,
    in_flight: u64,
    /// Media that waits for the pacer, bytes.
    media: f64,
    /// The frame that is being sent: its number, its packets, and how many of them have left.
    frame: FramePlace,
    next_departure: Timestamp,
    free: Timestamp,
    last_arrival: Timestamp,
    flying: VecDeque<Flying>,
    probes: VecDeque<(ProbeCluster, u64, u32)>,
}

impl<'a> Call<'a> {
    fn new(link: &'a Link) -> Self {
        let start = Timestamp::ZERO;
        Self {
            link,
            state: link.seed,
            seq: 0,
            in_flight: 0,
            media: 0.0,
            frame: FramePlace { frame: 0, index: 0, packets: 0 },
            next_departure: start,
            free: start,
            last_arrival: start,
            flying: VecDeque::new(),
            probes: VecDeque::new(),
        }
    }

    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn run(&mut self, controller: &mut dyn RateController, end: Timestamp, observer: &mut dyn Observer) {
        let step = TimeDelta::from_millis(1);
        let mut now = Timestamp::ZERO;
        while now < end {
            if controller.next_deadline().is_some_and(|deadline| deadline <= now) {
                self.deliver(controller, now, &Event::Deadline, observer);
            }
            if now.as_nanos() % 50_000_000 == 0 {
                self.report_queue(controller, now, observer);
                self.feed_back(controller, now, observer);
                observer.on_decision(now, &controller.decision(), controller);
            }
            if now.as_nanos() % 33_000_000 == 0 {
                if self.link.windowed {
                    let picture = SourceFrameInfo { frame: now.as_nanos() as u64 / 33_000_000, complexity: None };
                    self.deliver(controller, now, &Event::FrameCaptured(picture), observer);
                }
                let rate = controller.decision().target_bitrate.min(at(&self.link.application_limit, now));
                self.media += rate.as_bps_f64() / 8.0 * 0.033;
                // The rest of the previous frame goes with this one.
                let packets = (self.media / PACKET as f64) as u16;
                self.frame = FramePlace { frame: self.frame.frame + 1, index: 0, packets };
                self.report_queue(controller, now, observer);
            }
            self.send(controller, now, now + step, observer);
            now += step;
        }
    }

    fn deliver(
        &mut self,
        controller: &mut dyn RateController,
        now: Timestamp,
        event: &Event,
        observer: &mut dyn Observer,
    ) {
        observer.on_event(now, event);
        controller.on_event(now, event);
        while let Some(cluster) = controller.poll_probe() {
            observer.on_probe(&cluster);
            let bytes = (cluster.target_rate * cluster.min_duration).as_bytes();
            self.probes.push_back((cluster, bytes, cluster.min_packets));
        }
    }

    fn report_queue(&mut self, controller: &mut dyn RateController, now: Timestamp, observer: &mut dyn Observer) {
        if self.link.windowed {
            // The rest of a frame goes with the next one.
            let size = DataSize::from_bytes(self.media as u64 / PACKET * PACKET);
            let drain = size / controller.decision().pacing.rate.max(DataRate::from_kbps(10));
            self.deliver(controller, now, &Event::PacerQueue(PacerQueue { size, drain }), observer);
        }
    }

    /// Send the packets that leave the pacer until `until`.
    fn send(
        &mut self,
        controller: &mut dyn RateController,
        now: Timestamp,
        until: Timestamp,
        observer: &mut dyn Observer,
    ) {
        self.next_departure = self.next_departure.max(now);
        while self.next_departure < until {
            let departure = self.next_departure;
            let window = controller.decision().congestion_window.filter(|_| self.link.windowed);
            if self.probes.is_empty() && window.is_some_and(|window| self.in_flight >= window.as_bytes()) {
                return;
            }
            let (rate, probe) = match self.probes.front_mut() {
                Some((cluster, bytes, packets)) => {
                    *bytes = bytes.saturating_sub(PACKET);
                    *packets = packets.saturating_sub(1);
                    let (rate, id, over) = (cluster.target_rate, cluster.id, *bytes == 0 && *packets == 0);
                    if over {
                        self.probes.pop_front();
                    }
                    (rate, Some(id))
                }
                None if self.media >= PACKET as f64 => (controller.decision().pacing.rate, None),
                None => return,
            };
            let kind = if self.media >= PACKET as f64 { PacketKind::Video } else { PacketKind::Padding };
            self.media = (self.media - PACKET as f64).max(0.0);
            let place = (kind == PacketKind::Video && self.frame.index < self.frame.packets).then_some(self.frame);
            self.frame.index += u16::from(place.is_some());
            let size = DataSize::from_bytes(PACKET);
            // Whole microseconds, like the clocks of real senders.
            let gap = size / rate.max(DataRate::from_kbps(10));
            self.next_departure = departure + TimeDelta::from_micros(gap.as_micros() + 1);
            self.in_flight += PACKET;
            let report = PacketReport {
                transport_seq: self.seq,
                ssrc: 1,
                size,
                departure,
                fate: Fate::Missing,
                ce: false,
                kind,
                probe_cluster: probe,
                place,
            };
            self.seq += 1;
            self.transmit(report);
            let in_flight = DataSize::from_bytes(self.in_flight);
            let sent = SentPacket {
                transport_seq: report.transport_seq,
                ssrc: 1,
                size,
                kind,
                probe_cluster: probe,
                in_flight,
                place,
            };
            self.deliver(controller, departure, &Event::PacketsSent(Burst::single(sent)), observer);
        }
    }

    fn transmit(&mut self, report: PacketReport) {
        let capacity = at(&self.link.capacity, report.departure);
        let begin = self.free.max(report.departure);
        let full = begin - report.departure > self.link.queue;
        let lost = full || self.draw() < at(&self.link.loss, report.departure);
        if !full {
            self.free = begin + report.size / capacity;
        }
        let jitter = TimeDelta::from_nanos((self.link.jitter.as_nanos() as f64 * self.draw()) as i64);
        let arrival = self.free + self.link.propagation + jitter;
        if !lost {
            self.last_arrival = self.last_arrival.max(arrival);
        }
        self.flying.push_back(Flying { report, arrival: self.last_arrival.max(arrival), lost });
    }

    /// The receiver reports its packets; it reports a gap as soon as a later packet has arrived.
    fn feed_back(&mut self, controller: &mut dyn RateController, now: Timestamp, observer: &mut dyn Observer) {
        if now >= self.link.feedback_gap.0 && now < self.link.feedback_gap.1 {
            return;
        }
        let sent_at = now - self.link.propagation;
        let known = self.flying.iter().rposition(|flying| !flying.lost && flying.arrival <= sent_at);
        let Some(known) = known else { return };
        let mut reports = Vec::new();
        for flying in self.flying.drain(..=known) {
            let arrival = flying.arrival - Timestamp::ZERO + self.link.peer_offset;
            let step = self.link.arrival_step.as_nanos();
            let arrival = PeerTimestamp::from_nanos(arrival.as_nanos() / step * step);
            let fate = if flying.lost { Fate::Missing } else { Fate::Arrived(Some(arrival)) };
            self.in_flight -= flying.report.size.as_bytes();
            reports.push(PacketReport { fate, ..flying.report });
        }
        let feedback = TransportFeedback {
            reports: reports.into(),
            in_flight: DataSize::from_bytes(self.in_flight),
            ..Default::default()
        };
        self.deliver(controller, now, &Event::TransportFeedback(feedback), observer);
    }
}

/// The value in force at `now`.
pub fn at<T: Copy>(steps: &[(Timestamp, T)], now: Timestamp) -> T {
    steps.iter().rev().find(|step| step.0 <= now).expect("steps begin at zero").1
}

const PACKET: u64 = 1_200;
