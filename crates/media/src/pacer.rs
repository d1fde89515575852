//! The pacer: releases packets at the controller's pacing rate, in bursts of at most
//! `burst_interval`, fills up with padding, and sends probe clusters at their own rate.
//!
//! Modelled on libwebrtc's PacingController and BitrateProber ([libwebrtc-m150]): a debt grows by
//! every packet and drains at the pacing rate; packets may leave while the debt is worth less than
//! the burst interval. The debt is kept as the instant at which it will be drained.

use crate::packet::{MediaPacket, RTX_SSRC};
use crate::packetizer::{IP_UDP_BYTES, MAX_UDP_PAYLOAD_BYTES, Pieces};
use legato_control::{Decision, PacketKind, ProbeCluster};
use legato_units::{Burst, DataRate, DataSize, Ecn, TimeDelta, Timestamp};
use std::collections::VecDeque;

mod stale_frames;

pub use stale_frames::DroppedFrames;

/// Parameters of [`Pacer`].
#[derive(Clone, Copy, Debug)]
pub struct PacerConfig {
    /// Release at once what the pacing rate would send in this time.
    pub burst_interval: TimeDelta,
    /// Pace faster than the controller's rate rather than hold media longer than this.
    pub queue_time_limit: TimeDelta,
}

impl Default for PacerConfig {
    fn default() -> Self {
        Self { burst_interval: TimeDelta::from_millis(40), queue_time_limit: TimeDelta::from_secs(2) }
    }
}

/// Queues by priority, a debt, and probes.
#[derive(Clone, Debug)]
pub struct Pacer {
    config: PacerConfig,
    audio: VecDeque<MediaPacket>,
    retransmissions: VecDeque<MediaPacket>,
    media: VecDeque<Burst<MediaPacket>>,
    queued: DataSize,
    packets: u32,
    /// Sum over queued packets of their enqueue times since the start, for the mean waiting time.
    enqueued_us: i64,
    start: Timestamp,
    /// The controller's rate; a long queue increases it.
    asked: DataRate,
    pacing: DrainRate,
    /// The controller's limit on a burst, and the debt in time at which a burst ends.
    burst: Option<DataSize>,
    burst_interval: TimeDelta,
    padding: DrainRate,
    media_drained: Timestamp,
    padding_drained: Timestamp,
    last_departure: Timestamp,
    congested: bool,
    clusters: VecDeque<ActiveCluster>,
    probing_allowed: bool,
    padding_seq: u32,
}

/// A rate as the time per byte, so that a packet costs a multiplication and no division.
#[derive(Clone, Copy, Debug)]
struct DrainRate {
    rate: DataRate,
    /// Nanoseconds per byte, times 2^20.
    ns_per_byte_q20: u64,
}

impl DrainRate {
    fn new(rate: DataRate) -> Self {
        let ns_per_byte_q20 = match rate.as_bps() {
            0 => 0,
            bps => (8_000_000_000u64 << 20).div_ceil(bps),
        };
        Self { rate, ns_per_byte_q20 }
    }

    #[inline]
    fn time_of(self, bytes: u64) -> TimeDelta {
        TimeDelta::from_nanos(((u128::from(bytes) * u128::from(self.ns_per_byte_q20)) >> 20) as i64)
    }
}

#[derive(Clone, Copy, Debug)]
struct ActiveCluster {
    cluster: ProbeCluster,
    requested: Timestamp,
    /// When its first packet left, once it has.
    started: Option<Timestamp>,
    /// When its next burst leaves, and how many bytes are sent by that burst's end.
    due: Timestamp,
    burst_end_bytes: u64,
    sent_bytes: u64,
    sent_packets: u32,
}

/// Padding fills whole packets: with RTX negotiated libwebrtc pads by repeating old packets.
const PADDING_PACKET_BYTES: u16 = MAX_UDP_PAYLOAD_BYTES + IP_UDP_BYTES;
/// [libwebrtc-m150] PacingController: keep-alive while congested, debt cap.
const CONGESTED_KEEPALIVE: TimeDelta = TimeDelta::from_millis(500);
const MAX_DEBT: TimeDelta = TimeDelta::from_millis(500);
/// [libwebrtc-m150] BitrateProber: forget a cluster that could not start or continue in time.
const CLUSTER_TIMEOUT: TimeDelta = TimeDelta::from_secs(5);
const MAX_PROBE_DELAY: TimeDelta = TimeDelta::from_millis(20);
const MAX_PENDING_CLUSTERS: usize = 5;
/// [libwebrtc-m150] BitrateProber: probing starts with the first packet of at least this size.
const MIN_PROBE_PACKET_BYTES: u16 = 200;

impl Pacer {
    /// An empty pacer.
    pub fn new(config: PacerConfig, start: Timestamp) -> Self {
        Self {
            config,
            audio: VecDeque::new(),
            retransmissions: VecDeque::new(),
            media: VecDeque::with_capacity(64),
            queued: DataSize::ZERO,
            packets: 0,
            enqueued_us: 0,
            start,
            asked: DataRate::ZERO,
            pacing: DrainRate::new(DataRate::ZERO),
            burst: None,
            burst_interval: config.burst_interval,
            padding: DrainRate::new(DataRate::ZERO),
            media_drained: start,
            padding_drained: start,
            last_departure: start,
            congested: false,
            clusters: VecDeque::new(),
            probing_allowed: false,
            padding_seq: 0,
        }
    }

    /// Obey a decision; `in_flight` is the bytes sent and not yet reported.
    pub fn obey(&mut self, now: Timestamp, decision: &Decision, in_flight: DataSize) {
        self.set_in_flight(decision, in_flight);
        if decision.pacing.padding_rate != self.padding.rate {
            rescale(&mut self.padding_drained, now, self.padding.rate, decision.pacing.padding_rate);
            self.padding = DrainRate::new(decision.pacing.padding_rate);
        }
        self.asked = decision.pacing.rate;
        if decision.pacing.burst != self.burst {
            self.burst = decision.pacing.burst;
            self.limit_burst();
        }
        self.pace(now);
    }

    /// A burst in bytes is another time at each pacing rate.
    fn limit_burst(&mut self) {
        let in_time = |burst: DataSize| self.pacing.time_of(burst.as_bytes()).max(TimeDelta::from_nanos(1));
        self.burst_interval = self.burst.map_or(self.config.burst_interval, in_time);
    }

    /// Pace at the requested rate, or faster if the queue has become long.
    fn pace(&mut self, now: Timestamp) {
        let pacing_rate = self.drain_within_limit(now, self.asked);
        if pacing_rate != self.pacing.rate {
            rescale(&mut self.media_drained, now, self.pacing.rate, pacing_rate);
            self.pacing = DrainRate::new(pacing_rate);
            self.limit_burst();
        }
    }

    /// Set the bytes in flight; the congestion window holds media back while it is full.
    #[inline]
    pub fn set_in_flight(&mut self, decision: &Decision, in_flight: DataSize) {
        self.congested = decision.congestion_window.is_some_and(|window| in_flight >= window);
    }

    /// [libwebrtc-m150] PacingController "queue time limit": a long queue must be gone in time.
    fn drain_within_limit(&self, now: Timestamp, rate: DataRate) -> DataRate {
        if self.packets < 2 {
            return rate;
        }
        let mean_enqueued = self.start + TimeDelta::from_micros(self.enqueued_us / i64::from(self.packets));
        let left = (self.config.queue_time_limit - (now - mean_enqueued)).max(TimeDelta::from_millis(1));
        rate.max(self.queued / left)
    }

    /// Start a probe cluster after those already pending.
    pub fn add_probe(&mut self, now: Timestamp, cluster: ProbeCluster) {
        if self.clusters.len() == MAX_PENDING_CLUSTERS {
            self.clusters.pop_front();
        }
        self.clusters.push_back(ActiveCluster {
            cluster,
            requested: now,
            started: None,
            due: Timestamp::from_nanos(i64::MIN),
            burst_end_bytes: 0,
            sent_bytes: 0,
            sent_packets: 0,
        });
    }

    /// Forget probe clusters, begun or not.
    pub fn forget_probes(&mut self) {
        self.clusters.clear();
    }

    /// Queue a packet.
    pub fn push(&mut self, packet: MediaPacket) {
        self.count_in(&packet, 1, u64::from(packet.size_bytes));
        match packet.kind {
            PacketKind::Audio => self.audio.push_back(packet),
            PacketKind::Retransmission => self.retransmissions.push_back(packet),
            _ => self.media.push_back(Burst::single(packet)),
        }
    }

    /// Queue a packet behind all that waits, whatever its kind.
    pub fn push_behind(&mut self, packet: MediaPacket) {
        self.count_in(&packet, 1, u64::from(packet.size_bytes));
        self.media.push_back(Burst::single(packet));
    }

    /// Queue the packets of a frame with these payloads; `first` is the first of them, and index and
    /// number within the stream count on from it.
    pub fn push_frame(&mut self, first: MediaPacket, pieces: &Pieces) {
        let overhead = u64::from(first.size_bytes - first.payload_bytes);
        let packets = u64::from(pieces.packets());
        self.count_in(&first, pieces.packets(), overhead * packets + pieces.bytes());
        self.media.push_back(Burst { first, packets: pieces.packets(), smaller: pieces.smaller() });
    }

    fn count_in(&mut self, packet: &MediaPacket, packets: u16, bytes: u64) {
        self.queued += DataSize::from_bytes(bytes);
        self.packets += u32::from(packets);
        self.enqueued_us += (packet.enqueued - self.start).as_micros() * i64::from(packets);
        if packet.size_bytes >= MIN_PROBE_PACKET_BYTES {
            self.probing_allowed = true;
        }
        // A queue that drains within the limit at the requested rate needs no further check.
        let calm = self.pacing.rate == self.asked && self.drain_time() * 2 < self.config.queue_time_limit;
        if !calm {
            self.pace(packet.enqueued);
        }
    }

    /// The next retransmission or piece of media.
    #[inline]
    fn pop_queued(&mut self) -> Option<MediaPacket> {
        if let Some(packet) = self.retransmissions.pop_front() {
            return Some(packet);
        }
        self.media.front()?;
        Some(self.cut_off(1).first)
    }

    /// The first `packets` of the media in front; there are that many.
    #[inline]
    fn cut_off(&mut self, packets: u16) -> Burst<MediaPacket> {
        let burst = &mut self.media[0];
        if packets < burst.packets {
            return burst.cut_off(packets);
        }
        let burst = *burst;
        self.media.pop_front();
        burst
    }

    /// Bytes waiting, headers included.
    #[inline]
    pub fn queued(&self) -> DataSize {
        self.queued
    }

    /// Nothing waits and there is nothing to fill up or probe: nothing to pop before something changes.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.packets == 0 && self.padding.rate == DataRate::ZERO && self.clusters.is_empty() && !self.congested
    }

    /// Time to drain them at the pacing rate; zero if nothing waits.
    pub fn drain_time(&self) -> TimeDelta {
        match (self.queued, self.pacing.rate) {
            (DataSize::ZERO, _) => TimeDelta::ZERO,
            // Half of the maximum span: leaves room for arithmetic.
            (_, DataRate::ZERO) => TimeDelta::MAX / 2,
            (queued, _) => self.pacing.time_of(queued.as_bytes()),
        }
    }

    /// How long the media in front have waited while a full congestion window holds them; zero if it does not. Beyond the
    /// limit on the queue's time the pacing rate rises, and [`Pacer::drain_time`] says nothing about such media.
    pub fn held_for(&self, now: Timestamp) -> TimeDelta {
        let front = self.media.front().filter(|_| self.congested);
        front.map_or(TimeDelta::ZERO, |burst| now - burst.first.enqueued)
    }

    /// The next packet that may leave at `now`, stamped, or `None` until [`Pacer::next_deadline`].
    pub fn pop(&mut self, now: Timestamp) -> Option<MediaPacket> {
        if self.probing_allowed
            && !self.clusters.is_empty()
            && let Some(packet) = self.pop_probe(now)
        {
            return Some(packet);
        }
        if let Some(packet) = self.audio.pop_front() {
            // Audio is not held back; it counts towards the debt all the same.
            return Some(self.depart(now, packet, None));
        }
        // Media waits for its place in the cluster, or the cluster would be faster than its rate.
        if self.clusters.front().is_some_and(|active| active.started.is_some() && now < active.due) {
            return None;
        }
        if self.congested {
            let due = self.last_departure + CONGESTED_KEEPALIVE;
            return (now >= due)
                .then(|| self.padding_packet(now, IP_UDP_BYTES + 40))
                .map(|p| self.depart(now, p, None));
        }
        if self.pacing.rate == DataRate::ZERO {
            return None;
        }
        let ready = self.media_drained - now < self.burst_interval;
        if ready && let Some(packet) = self.pop_queued() {
            return Some(self.depart(now, packet, None));
        }
        if self.queued == DataSize::ZERO && self.padding_due().is_some_and(|due| due <= now) {
            let packet = self.padding_packet(now, PADDING_PACKET_BYTES);
            return Some(self.depart(now, packet, None));
        }
        None
    }

    /// Like [`Pacer::pop`], but with all packets of a frame at once that may leave now. For a driver
    /// without a congestion window to check between two packets.
    #[inline]
    pub fn pop_burst(&mut self, now: Timestamp) -> Option<Burst<MediaPacket>> {
        let probing = self.probing_allowed && !self.clusters.is_empty();
        if probing || self.congested || !self.audio.is_empty() || !self.retransmissions.is_empty() {
            return self.pop(now).map(Burst::single);
        }
        let Some(front) = self.media.front().filter(|_| self.pacing.rate > DataRate::ZERO) else {
            return self.pop(now).map(Burst::single);
        };
        let packets = self.departing(now, *front);
        if packets == 0 {
            return None;
        }
        let mut burst = self.cut_off(packets);
        self.queued -= DataSize::from_bytes(burst.bytes());
        self.packets -= u32::from(packets);
        self.enqueued_us -= (burst.first.enqueued - self.start).as_micros() * i64::from(packets);
        burst.first.departure = now;
        burst.first.probe_cluster = None;
        self.last_departure = now;
        Some(burst)
    }

    /// How many packets of `burst` may leave at `now`; they are added to the debts.
    #[inline]
    fn departing(&mut self, now: Timestamp, burst: Burst<MediaPacket>) -> u16 {
        // Called at every turn of the sender; mostly nothing may leave yet.
        if self.media_drained - now >= self.burst_interval {
            return 0;
        }
        let most = now + MAX_DEBT;
        let times = |rate: DrainRate| [0, 1].map(|less| rate.time_of(u64::from(burst.first.size_bytes) - less));
        let (drain, fill) = (times(self.pacing), times(self.padding));
        // The first leaves whatever it costs; from then on the debt is not below zero.
        let (mut packets, mut drained) = (1, (self.media_drained.max(now) + drain[0]).min(most));
        while packets < burst.packets && drained - now < self.burst_interval {
            drained = (drained + drain[usize::from(burst.smaller_among(packets + 1) > 0)]).min(most);
            packets += 1;
        }
        self.media_drained = drained;
        if self.padding.rate > DataRate::ZERO {
            // The debt only grows up to its maximum, so their sum gives the same as one by one.
            let smaller = i64::from(burst.smaller_among(packets));
            let owed = fill[0] * (i64::from(packets) - smaller) + fill[1] * smaller;
            self.padding_drained = (self.padding_drained.max(now) + owed).min(most);
        }
        packets
    }

    /// When `pop` may next have something, if nothing else happens.
    pub fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let probing = self.clusters.front().is_some_and(|active| active.started.is_some());
        let media = if !self.audio.is_empty() {
            Some(now)
        } else if probing {
            None
        } else if self.congested {
            Some(self.last_departure + CONGESTED_KEEPALIVE)
        } else if self.queued == DataSize::ZERO {
            self.padding_due()
        } else if self.pacing.rate == DataRate::ZERO {
            None
        } else if self.media_drained - now < self.burst_interval {
            Some(now)
        } else {
            // Bursts start from no debt, so that one burst is followed by its full pause.
            Some(self.media_drained)
        };
        let probe = match self.clusters.front() {
            Some(active) if self.probing_allowed => Some(active.next_send()),
            _ => None,
        };
        match (media, probe) {
            (Some(media), Some(probe)) => Some(media.min(probe)),
            (media, probe) => media.or(probe),
        }
    }

    fn padding_due(&self) -> Option<Timestamp> {
        (self.padding.rate > DataRate::ZERO && self.pacing.rate > DataRate::ZERO)
            .then(|| self.padding_drained.max(self.media_drained))
    }

    fn pop_probe(&mut self, now: Timestamp) -> Option<MediaPacket> {
        loop {
            let active = *self.clusters.front()?;
            let too_late = match active.started {
                Some(_) => now - active.next_send() > MAX_PROBE_DELAY,
                None => now - active.requested > CLUSTER_TIMEOUT,
            };
            if too_late || active.done() {
                self.clusters.pop_front();
                continue;
            }
            if now < active.next_send() {
                return None;
            }
            let packet = self.pop_queued().unwrap_or_else(|| self.padding_packet(now, PADDING_PACKET_BYTES));
            let packet = self.depart(now, packet, Some(active.cluster.id));
            let front = self.clusters.front_mut().expect("checked above");
            front.count(now, packet.size_bytes);
            return Some(packet);
        }
    }

    fn padding_packet(&mut self, now: Timestamp, size_bytes: u16) -> MediaPacket {
        self.padding_seq += 1;
        MediaPacket {
            transport_seq: 0,
            enqueued: now,
            departure: now,
            rtp_seq: self.padding_seq,
            rtx_seq: 0,
            ssrc: RTX_SSRC,
            frame: 0,
            index: 0,
            count: 0,
            size_bytes,
            payload_bytes: 0,
            kind: PacketKind::Padding,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        }
    }

    #[inline]
    fn depart(&mut self, now: Timestamp, mut packet: MediaPacket, probe_cluster: Option<u32>) -> MediaPacket {
        let bytes = u64::from(packet.size_bytes);
        if packet.kind != PacketKind::Padding {
            self.queued -= DataSize::from_bytes(bytes);
            self.packets -= 1;
            self.enqueued_us -= (packet.enqueued - self.start).as_micros();
        }
        packet.departure = now;
        packet.probe_cluster = probe_cluster;
        self.last_departure = now;
        self.media_drained = (self.media_drained.max(now) + self.pacing.time_of(bytes)).min(now + MAX_DEBT);
        if self.padding.rate > DataRate::ZERO {
            self.padding_drained = (self.padding_drained.max(now) + self.padding.time_of(bytes)).min(now + MAX_DEBT);
        }
        packet
    }
}

impl ActiveCluster {
    fn next_send(&self) -> Timestamp {
        self.due
    }

    /// A packet of it leaves. The cluster runs at its rate in bursts of what that rate sends in
    /// `min_delta`; the next burst leaves when the bytes sent so far are paid for.
    fn count(&mut self, now: Timestamp, size_bytes: u16) {
        let started = *self.started.get_or_insert(now);
        let burst = (self.cluster.target_rate * self.cluster.min_delta).as_bytes().max(1);
        if self.sent_packets == 0 {
            (self.due, self.burst_end_bytes) = (now, burst);
        }
        self.sent_bytes += u64::from(size_bytes);
        self.sent_packets += 1;
        if self.sent_bytes >= self.burst_end_bytes {
            self.due = started + DataSize::from_bytes(self.sent_bytes) / self.cluster.target_rate;
            self.burst_end_bytes = self.sent_bytes + burst;
        }
    }

    fn done(&self) -> bool {
        self.sent_packets >= self.cluster.min_packets
            && self.sent_bytes >= (self.cluster.target_rate * self.cluster.min_duration).as_bytes()
    }
}

/// The same debt in bytes drains at another rate from now on.
fn rescale(drained: &mut Timestamp, now: Timestamp, old: DataRate, new: DataRate) {
    let left = *drained - now;
    *drained = if left <= TimeDelta::ZERO || new == DataRate::ZERO {
        now.max(*drained)
    } else {
        now + TimeDelta::from_nanos(
            (i128::from(left.as_nanos()) * i128::from(old.as_bps()) / i128::from(new.as_bps()))
                .min(i128::from(MAX_DEBT.as_nanos())) as i64,
        )
    };
}

#[cfg(test)]
#[path = "pacer_tests.rs"]
mod tests;
