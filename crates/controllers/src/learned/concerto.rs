//! `concerto` believes that codec and transport conflict because neither sees the other: a network that sees the
//! losses, inter-packet delays and rates of both, in detail, can imitate an expert that knows the future ([concerto]).
//! Each second it observes 15 reports of 4 packets of each kind, for the last three seconds, and picks one of 26
//! bitrates. `rl-v` has the same features and actions and is trained by reward instead ([concerto] §5.1).

use super::{Learned, Scheme};
use crate::gcc::Gcc;
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Event, Fate, Side, TransportFeedback};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// Concerto.
pub type Concerto = Learned<ConcertoScheme>;
/// Concerto's input and output, trained by reinforcement.
pub type RlV = Learned<RlVScheme>;

/// Reports per second and packets per report that are observed.
const REPORTS: usize = 15;
const PACKETS: usize = 4;
const PLACES: usize = REPORTS * PACKETS;
/// [concerto] §3.2: one decision per second, on the last k = 3 seconds.
const INTERVAL: TimeDelta = TimeDelta::from_secs(1);
const LAYOUT: Layout =
    Layout { features: &["loss_ratio", "packet_interval", "encoder_rate", "receiver_rate"], width: PLACES, history: 3 };
/// 0 to 2.5 Mbit/s in steps of 0.1.
const ACTIONS: ActionSpace = ActionSpace::Discrete(26);
/// Scales packet intervals to about one.
const INTERVAL_S: f64 = 0.1;

/// A rate as a feature: its logarithm above 0.1 Mbit/s, 0 for no rate, 1 at 2.5 Mbit/s, 2 at 67 Mbit/s.
///
/// Packets that arrive together read as tens of Mbit/s: the mean of such rates is unrelated to the link's
/// capacity; the mean of their logarithms is not.
fn logarithm(rate_bps: f64) -> f32 {
    (libm::log2(1.0 + rate_bps / 0.1e6) / libm::log2(26.0)).min(3.0) as f32
}

/// The current second, report by report. Places that no packet filled stay zero, the paper's padding.
#[derive(Clone)]
struct Second {
    opened: Timestamp,
    rows: Box<[[f32; PLACES]; 4]>,
    /// Reports taken so far.
    reports: usize,
    last_arrival_ns: Option<i64>,
    last_frame: Option<Timestamp>,
    /// The current place and its number of frames.
    frames: (usize, usize),
}

impl Second {
    fn new(start: Timestamp) -> Self {
        Self {
            opened: start,
            rows: Box::new([[0.0; PLACES]; 4]),
            reports: 0,
            last_arrival_ns: None,
            last_frame: None,
            frames: (0, 0),
        }
    }

    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::TransportFeedback(feedback) => self.take_report(now, feedback),
            Event::FrameEncoded(frame) => {
                // The place within the second, in fifteenths; up to four frames each are recorded.
                let place = self.place(now);
                self.frames = if self.frames.0 == place { (place, self.frames.1 + 1) } else { (place, 1) };
                let slot = (self.frames.1 - 1).min(PACKETS - 1);
                // The rate over the time since the previous frame; for the first, a 30th of a second is assumed.
                let since_s = self.last_frame.map_or(1.0 / 30.0, |last| (now - last).as_secs_f64()).max(1e-3);
                self.last_frame = Some(now);
                self.rows[2][place * PACKETS + slot] = logarithm(frame.size.as_bytes_f64() * 8.0 / since_s);
            }
            _ => {}
        }
    }

    fn place(&self, now: Timestamp) -> usize {
        let into = (now - self.opened).as_nanos().clamp(0, INTERVAL.as_nanos() - 1);
        (into * REPORTS as i64 / INTERVAL.as_nanos()) as usize
    }

    /// A report's packets form four groups in order, one number per group.
    fn take_report(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        let reports = &feedback.reports;
        if reports.is_empty() {
            return;
        }
        let place = self.place(now);
        self.reports += 1;
        for group in 0..PACKETS {
            let (from, to) = (reports.len() * group / PACKETS, reports.len() * (group + 1) / PACKETS);
            if from == to {
                continue;
            }
            let (mut lost, mut bytes, mut gaps_ns, mut gaps) = (0, 0, 0, 0);
            for packet in reports.iter().skip(from).take(to - from) {
                match packet.fate {
                    Fate::Missing => lost += 1,
                    Fate::Arrived(at) => {
                        bytes += packet.size.as_bytes();
                        if let Some(at) = at.map(legato_units::PeerTimestamp::as_nanos) {
                            if let Some(last) = self.last_arrival_ns {
                                gaps_ns += (at - last).max(0);
                                gaps += 1;
                            }
                            self.last_arrival_ns = Some(at);
                        }
                    }
                }
            }
            let at = place * PACKETS + group;
            self.rows[0][at] = lost as f32 / (to - from) as f32;
            if gaps > 0 {
                self.rows[1][at] = ((gaps_ns as f64 / f64::from(gaps) / 1e9 / INTERVAL_S) as f32).min(10.0);
                self.rows[3][at] = logarithm(bytes as f64 * 8.0 / (gaps_ns.max(1) as f64 / 1e9));
            }
        }
    }

    fn write(&self, out: &mut [f32]) {
        for (row, kind) in out.chunks_exact_mut(PLACES).zip(self.rows.iter()) {
            row.copy_from_slice(kind);
        }
    }

    fn close(&mut self, now: Timestamp) {
        (self.opened, self.reports, self.frames) = (now, 0, (0, 0));
        *self.rows = [[0.0; PLACES]; 4];
    }
}

macro_rules! scheme {
    ($scheme:ident, $name:literal, $summary:literal, $cites:expr) => {
        #[doc = concat!("The features and actions of `", $name, "`.")]
        #[derive(Clone)]
        pub struct $scheme(Second);

        impl Scheme for $scheme {
            const NAME: &'static str = $name;
            const SIDE: Side = Side::Sender;
            const SUMMARY: &'static str = $summary;
            const CITES: &'static [&'static str] = $cites;
            const INTERVAL: TimeDelta = INTERVAL;
            const LAYOUT: Layout = LAYOUT;
            const ACTIONS: ActionSpace = ACTIONS;
            type Fallback = Gcc;

            fn new(context: Context<'_>) -> Result<Self, BuildError> {
                Ok(Self(Second::new(context.start)))
            }

            fn on_event(&mut self, now: Timestamp, event: &Event) {
                self.0.on_event(now, event);
            }

            fn features(&self, _stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
                self.0.write(out);
            }

            fn target(&self, action: f32, _stats: &WindowStats, _target: DataRate) -> DataRate {
                action::concerto(action)
            }

            fn close(&mut self, stats: &WindowStats) {
                let now = self.0.opened + stats.span;
                self.0.close(now);
            }
        }
    };
}

scheme!(ConcertoScheme, "concerto", "imitates an expert that knows the future", &["concerto"]);
scheme!(RlVScheme, "rl-v", "Pensieve's learner on video calls", &["concerto"]);

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{EncodedFrameInfo, PacketKind, PacketReport};
    use legato_units::{DataSize, PeerTimestamp};

    /// [concerto] §3.2: fifteen reports of four packets a second, four kinds, three seconds.
    #[test]
    fn a_report_fills_four_places_of_its_fifteenth() {
        assert_eq!((LAYOUT.row(), LAYOUT.len()), (240, 720));
        let mut second = Second::new(Timestamp::ZERO);
        let report = |n: i64, arrived: bool| PacketReport {
            transport_seq: n as u64,
            ssrc: 1,
            size: DataSize::from_bytes(1_250),
            departure: Timestamp::ZERO,
            fate: if arrived { Fate::Arrived(Some(PeerTimestamp::from_nanos(n * 10_000_000))) } else { Fate::Missing },
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        };
        // 100 ms into the second: in its second fifteenth. Eight packets, two a group, 10 ms apart.
        let reports = (0..8).map(|n| report(n, n != 7)).collect();
        let feedback = TransportFeedback { reports, in_flight: DataSize::ZERO, ..Default::default() };
        second.on_event(Timestamp::from_millis(100), &Event::TransportFeedback(feedback));
        let frame = EncodedFrameInfo {
            frame: 0,
            size: DataSize::from_bytes(6_250),
            keyframe: false,
            height: 360,
            qp: 30.0,
            psnr_db: None,
            encoder_bitrate: DataRate::ZERO,
        };
        second.on_event(Timestamp::from_millis(999), &Event::FrameEncoded(frame));
        let mut row = [0.0; 240];
        second.write(&mut row);
        assert_eq!(row[4..8], [0.0, 0.0, 0.0, 0.5]);
        // 10 ms of 100; 1,250 bytes in 10 ms are 1 Mbit/s: log 11 / log 26, and the first group has two of them per gap.
        assert_eq!(row[60 + 4..60 + 8], [0.1, 0.1, 0.1, 0.1]);
        let expected = [0.9345, 0.7360, 0.7360, 0.7360];
        assert!(row[180 + 4..180 + 8].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{row:?}");
        // 1.5 Mbit/s: log 16 / log 26.
        assert!((row[120 + 14 * 4] - 0.8510).abs() < 1e-4);
        second.close(Timestamp::from_secs(1));
        second.write(&mut row);
        assert_eq!(row, [0.0; 240]);
    }
}
