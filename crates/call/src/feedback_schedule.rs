//! When transport feedback is due, by the rule that the call's controller asks for.

use legato_control::{FeedbackRule, PacketKind};
use legato_media::packet::MediaPacket;
use legato_units::{DataSize, TimeDelta, Timestamp};

/// Counts arrivals and gives the time of the next feedback.
#[derive(Clone, Debug)]
pub struct FeedbackSchedule {
    rule: FeedbackRule,
    /// The minimum and maximum interval of [`FeedbackRule::BitrateShare`].
    bounds: (TimeDelta, TimeDelta),
    next: Timestamp,
    last: Timestamp,
    /// Bytes and packets since the last feedback, and of these the bytes of media.
    bytes: u64,
    packets: u32,
    media_bytes: u64,
    /// The rate of the media over about a second, in bit/s; zero before the first feedback.
    media_bps: f64,
    round_trip: Option<TimeDelta>,
    losses: LossWatch,
    /// When feedback was last sent early because of a loss.
    early: Option<Timestamp>,
}

impl FeedbackSchedule {
    /// A schedule that begins at `start`.
    pub fn new(rule: FeedbackRule, bounds: (TimeDelta, TimeDelta), start: Timestamp) -> Self {
        Self {
            rule,
            bounds,
            next: start + if rule == FeedbackRule::BitrateShare { bounds.0 } else { TimeDelta::ZERO },
            last: start,
            bytes: 0,
            packets: 0,
            media_bytes: 0,
            media_bps: 0.0,
            round_trip: None,
            losses: LossWatch::default(),
            early: None,
        }
    }

    /// Not earlier than this, unless [`FeedbackSchedule::take`] says so.
    #[inline]
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// Something arrived at `now` after a time in which nothing did.
    #[inline]
    pub fn resume(&mut self, now: Timestamp) {
        self.next = self.next.max(now);
    }

    /// A packet arrived; returns whether feedback is due at once.
    #[inline]
    pub fn take(&mut self, now: Timestamp, packet: &MediaPacket) -> bool {
        self.bytes += u64::from(packet.size_bytes);
        // Nearly all calls have this rule.
        self.rule != FeedbackRule::BitrateShare && self.take_closely(now, packet)
    }

    #[inline(never)]
    fn take_closely(&mut self, now: Timestamp, packet: &MediaPacket) -> bool {
        self.count(u64::from(packet.size_bytes), 1, packet.kind);
        match self.rule {
            FeedbackRule::BitrateShare | FeedbackRule::MediaRate => return false,
            FeedbackRule::DataUnits => {
                let last_of_frame = packet.kind == PacketKind::Video && packet.index + 1 == packet.count;
                if self.packets < MAX_UNITS && !last_of_frame {
                    return false;
                }
            }
            FeedbackRule::RoundTrip => {
                let found = self.losses.take(packet.transport_seq, packet.ecn.is_ce());
                if !found || self.early.is_some_and(|early| now - early < self.interval(now)) {
                    return false;
                }
                self.early = Some(now);
            }
        }
        self.next = now;
        true
    }

    /// Packets arrived in order, of one kind; only while [`FeedbackSchedule::is_plain`].
    #[inline]
    pub fn take_plain(&mut self, first: &MediaPacket, packets: u16, bytes: u64) {
        self.bytes += bytes;
        if self.rule != FeedbackRule::BitrateShare {
            self.count(bytes, u32::from(packets), first.kind);
            self.losses.next = Some(first.transport_seq + u64::from(packets));
        }
    }

    /// Packets in order make nothing due, whatever they are.
    #[inline]
    pub fn is_plain(&self) -> bool {
        match self.rule {
            FeedbackRule::BitrateShare | FeedbackRule::MediaRate => true,
            FeedbackRule::DataUnits => false,
            FeedbackRule::RoundTrip => self.losses.is_calm(),
        }
    }

    /// Whether the receiver has to measure round trips.
    pub fn needs_round_trips(&self) -> bool {
        self.rule == FeedbackRule::RoundTrip
    }

    /// The round trip was measured.
    pub fn set_round_trip(&mut self, round_trip: TimeDelta) {
        self.round_trip = Some(round_trip);
    }

    /// Feedback was sent.
    pub fn sent(&mut self, now: Timestamp) {
        let since = now - self.last;
        if since > TimeDelta::ZERO {
            let latest_bps = (DataSize::from_bytes(self.media_bytes) / since).as_bps_f64();
            // Over a second, and from the first feedback on.
            let weight = if self.media_bps > 0.0 { since.as_secs_f64().min(1.0) } else { 1.0 };
            self.media_bps += weight * (latest_bps - self.media_bps);
        }
        self.next = now + self.interval(now);
        (self.bytes, self.packets, self.media_bytes) = (0, 0, 0);
        self.last = now;
    }

    #[inline]
    fn count(&mut self, bytes: u64, packets: u32, kind: PacketKind) {
        self.packets += packets;
        if kind != PacketKind::Padding {
            self.media_bytes += bytes;
        }
    }

    fn interval(&self, now: Timestamp) -> TimeDelta {
        match self.rule {
            FeedbackRule::BitrateShare => {
                let rate = DataSize::from_bytes(self.bytes) / (now - self.last);
                let interval = DataSize::from_bytes(FEEDBACK_BYTES * FEEDBACK_SHARE) / rate;
                interval.max(self.bounds.0).min(self.bounds.1)
            }
            // [draft-johansson-ccwg-rfc8298bis-screamv2] §5: a maximum interval between reports, 40 ms.
            FeedbackRule::DataUnits => MAX_UNITS_INTERVAL,
            FeedbackRule::MediaRate => media_rate_interval(self.media_bps),
            // [rfc5348] §6.2: the timer expires after R_m.
            FeedbackRule::RoundTrip => self.round_trip.unwrap_or(self.bounds.0).max(MIN_ROUND_TRIP),
        }
    }
}

/// fb_int
fn media_rate_interval(media_bps: f64) -> TimeDelta {
    // [rfc8298] §4.2.2: fb_int = 1.0 / min(50, max(2.5, rate_media / 10000)).
    TimeDelta::from_secs_f64(1.0 / (media_bps / 10_000.0).clamp(2.5, 50.0))
}

/// [libwebrtc-m150] feedback takes 5 % of the bitrate; the assumed size of one report.
const FEEDBACK_BYTES: u64 = 68;
const FEEDBACK_SHARE: u64 = 20;
// [draft-johansson-ccwg-rfc8298bis-screamv2] §5: after N = 16 data units.
const MAX_UNITS: u32 = 16;
const MAX_UNITS_INTERVAL: TimeDelta = TimeDelta::from_millis(40);
/// Within one machine a round trip takes less than a millisecond; feedback for each packet would be more bytes than it.
const MIN_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(10);

/// Finds losses as TFRC's receiver does.
#[derive(Clone, Debug, Default)]
struct LossWatch {
    /// Above the highest number that arrived.
    next: Option<u64>,
    /// Packets that may be lost, and how many later ones have come.
    missing: u64,
    later: u8,
}

impl LossWatch {
    /// No packet is missing that may yet be found lost.
    #[inline]
    fn is_calm(&self) -> bool {
        self.missing == 0
    }

    /// A packet arrived; returns whether it shows a new loss or a mark.
    fn take(&mut self, seq: u64, ce: bool) -> bool {
        let next = self.next.unwrap_or(seq);
        if seq < next {
            // A missing packet came late.
            self.missing = self.missing.saturating_sub(1);
            return ce;
        }
        self.next = Some(seq + 1);
        if self.missing == 0 {
            self.later = 0;
        }
        self.missing += seq - next;
        if self.missing > 0 {
            self.later += 1;
        }
        // [rfc5348] §5.1: lost once NDUPACK = 3 packets with higher numbers have arrived; marks count at once.
        let found = self.later >= NDUPACK;
        if found {
            (self.missing, self.later) = (0, 0);
        }
        found || ce
    }
}

// [rfc5348] §5.1: NDUPACK.
const NDUPACK: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_media::packet::VIDEO_SSRC;
    use legato_units::Ecn;

    const BOUNDS: (TimeDelta, TimeDelta) = (TimeDelta::from_millis(50), TimeDelta::from_millis(250));

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn schedule(rule: FeedbackRule) -> FeedbackSchedule {
        FeedbackSchedule::new(rule, BOUNDS, Timestamp::ZERO)
    }

    /// Packet `index` of a frame of `count`.
    fn packet(seq: u64, index: u16, count: u16) -> MediaPacket {
        MediaPacket {
            transport_seq: seq,
            enqueued: Timestamp::ZERO,
            departure: Timestamp::ZERO,
            rtp_seq: seq as u32,
            rtx_seq: 0,
            ssrc: VIDEO_SSRC,
            frame: 0,
            index,
            count,
            size_bytes: 1_250,
            payload_bytes: 1_184,
            kind: PacketKind::Video,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        }
    }

    /// [rfc8298] §4.2.2, worked by hand: 20 ms from 500 kbit/s on, 100 ms at 100 kbit/s, 400 ms at 25 kbit/s and below.
    #[test]
    fn the_media_rate_gives_the_interval() {
        let ms = |kbps: f64| media_rate_interval(kbps * 1e3).as_millis();
        assert_eq!([5_000.0, 500.0, 250.0, 100.0, 25.0, 0.0].map(ms), [20, 20, 40, 100, 400, 400]);
    }

    /// [rfc8298] §4.2.2: 1,250 bytes every 20 ms are 500 kbit/s.
    #[test]
    fn the_media_rate_is_that_of_what_arrived() {
        let mut schedule = schedule(FeedbackRule::MediaRate);
        for n in 1..=10 {
            let now = at(20 * n);
            assert!(!schedule.take(now, &packet(n as u64, 0, 1)));
            schedule.sent(now);
            assert_eq!(schedule.next(), now + TimeDelta::from_millis(20));
        }
        // Silence for a second and a half: from 500 kbit/s it falls to nothing.
        schedule.sent(at(1_700));
        assert_eq!(schedule.next(), at(2_100));
    }

    /// [libwebrtc-m150] worked by hand: 68 · 20 bytes at 1,250 bytes in 50 ms are 54.4 ms; at ten times that rate 50.
    #[test]
    fn a_share_of_the_bitrate_gives_the_interval() {
        let mut schedule = schedule(FeedbackRule::BitrateShare);
        assert_eq!(schedule.next(), at(50));
        schedule.take(at(20), &packet(1, 0, 1));
        schedule.sent(at(50));
        assert_eq!(schedule.next(), at(50) + TimeDelta::from_micros(54_400));
        (2..12).for_each(|seq| assert!(!schedule.take(at(60), &packet(seq, 0, 1))));
        schedule.sent(at(100));
        assert_eq!(schedule.next(), at(150));
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §5: after 16 packets, with the last of a frame, or 40 ms later.
    #[test]
    fn data_units_bring_feedback_with_the_frame() {
        let mut schedule = schedule(FeedbackRule::DataUnits);
        let due = (0..20).filter(|&n| {
            let due = schedule.take(at(5), &packet(u64::from(n), n, 20));
            if due {
                schedule.sent(at(5));
            }
            due
        });
        assert_eq!(due.collect::<Vec<_>>(), [15, 19]);
        assert_eq!(schedule.next(), at(45));
        assert!(!schedule.is_plain());
    }

    /// [rfc5348] §6: once a round trip, and at once for a new loss event, of that cause once a round trip.
    #[test]
    fn a_new_loss_event_brings_feedback_at_once() {
        let mut schedule = schedule(FeedbackRule::RoundTrip);
        schedule.sent(at(10));
        assert_eq!(schedule.next(), at(60), "before the first round trip");
        schedule.set_round_trip(TimeDelta::from_millis(100));
        schedule.sent(at(60));
        assert_eq!(schedule.next(), at(160));
        let mut found = |now, seqs: &[u64]| -> Vec<u64> {
            seqs.iter().copied().filter(|&seq| schedule.take(at(now), &packet(seq, 0, 9))).collect()
        };
        // Packet 3 is lost: three later ones show it.
        assert_eq!(found(70, &[1, 2, 4, 5, 6, 7]), [6]);
        // Packet 8 is only late.
        assert!(found(90, &[9, 10, 8, 11, 12]).is_empty());
        // Packet 13 is lost within the same round trip, packet 17 in the next.
        assert!(found(100, &[14, 15, 16]).is_empty());
        assert_eq!(found(180, &[18, 19, 20]), [20]);
        assert!(schedule.next() == at(180) && schedule.is_plain());
        let marked = MediaPacket { ecn: Ecn::Ce, ..packet(21, 0, 9) };
        assert!(schedule.take(at(290), &marked), "a mark shows congestion as soon as it comes");
    }
}
