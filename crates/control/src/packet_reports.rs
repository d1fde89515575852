//! The packets of a feedback. Packets that left together and had one fate are kept as one run, so that a feedback costs
//! little more per burst than per packet; [`PacketReports::iter`] gives each packet on its own.

use crate::{FramePlace, PacketKind};
use legato_units::{Burst, BurstPacket, DataSize, PeerTimestamp, Timestamp};
use serde::{Deserialize, Serialize};

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// Transport-wide sequence number, unwrapped.
    pub transport_seq: u64,
    /// The stream.
    pub ssrc: u32,
    /// Bytes on the wire, IP and UDP headers included.
    pub size: DataSize,
    /// When it left the pacer, own clock.
    pub departure: Timestamp,
    /// Whether and when it arrived.
    pub fate: Fate,
    /// Congestion experienced.
    pub ce: bool,
    /// What it carried.
    pub kind: PacketKind,
    /// The probe cluster it was part of.
    pub probe_cluster: Option<u32>,
    /// Where in its frame it stood, if it carried video or parity and the sender knows.
    pub place: Option<FramePlace>,
}

/// Whether a packet arrived. A later report may turn `Missing` to `Arrived`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived; when, by the receiver's clock, may be unknown.
    Arrived(Option<PeerTimestamp>),
    /// Not reported as received.
    Missing,
}

impl PacketReport {
    /// The arrival time, if the packet arrived and the report gives it.
    #[inline]
    pub fn arrival(&self) -> Option<PeerTimestamp> {
        match self.fate {
            Fate::Arrived(at) => at,
            Fate::Missing => None,
        }
    }

    /// Whether it arrived at all.
    #[inline]
    pub fn arrived(&self) -> bool {
        matches!(self.fate, Fate::Arrived(_))
    }
}

/// A packet that was sent, as its report describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedPacket {
    /// Transport-wide sequence number, unwrapped.
    pub transport_seq: u64,
    /// The stream.
    pub ssrc: u32,
    /// Bytes on the wire, IP and UDP headers included.
    #[serde(rename = "size_bytes")]
    pub size: DataSize,
    /// When it left the pacer, own clock.
    #[serde(rename = "departure_ns")]
    pub departure: Timestamp,
    /// What it carried.
    pub kind: PacketKind,
    /// The probe cluster it was part of.
    pub probe_cluster: Option<u32>,
    /// Where in its frame it stood, if it carried video or parity and the sender knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FramePlace>,
}

impl BurstPacket for ReportedPacket {
    #[inline]
    fn size_bytes(&self) -> u64 {
        self.size.as_bytes()
    }

    #[inline]
    fn behind(&self, place: u16, smaller: u16) -> Self {
        let size = self.size.behind(place, smaller);
        let in_frame = self.place.map(|in_frame| in_frame.behind(place));
        Self { transport_seq: self.transport_seq + u64::from(place), size, place: in_frame, ..*self }
    }
}

/// Packets of one burst that had one fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportRun<'a> {
    /// The packets.
    pub burst: Burst<ReportedPacket>,
    /// Whether they arrived.
    pub fate: RunFate<'a>,
    /// Congestion experienced, by all of them.
    pub ce: bool,
}

/// Whether the packets of a [`ReportRun`] arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFate<'a> {
    /// They arrived; when, one time per packet.
    Arrived(&'a [PeerTimestamp]),
    /// They arrived, nothing says when.
    ArrivedUntimed,
    /// Not reported as received.
    Missing,
}

/// The reports of a feedback, in ascending order of `transport_seq`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<WrittenRun>", into = "Vec<WrittenRun>")]
pub struct PacketReports {
    runs: Vec<StoredRun>,
    /// When the packets of the runs arrived, of all runs with times.
    arrivals: Vec<PeerTimestamp>,
    packets: usize,
}

#[derive(Clone, Copy, Debug)]
struct StoredRun {
    burst: Burst<ReportedPacket>,
    /// The place of its first packet in `arrivals`; none if there are no times.
    arrivals: Option<u32>,
    missing: bool,
    ce: bool,
}

impl PacketReports {
    /// The number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Whether no packet is reported.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Remove all.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.arrivals.clear();
        self.packets = 0;
    }

    /// Every packet.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = PacketReport> + Clone + '_ {
        self.runs().flat_map(|run| run.reports())
    }

    /// The packets as runs.
    #[inline]
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = ReportRun<'_>> + Clone + '_ {
        self.runs.iter().map(|run| self.view(run))
    }

    /// Append a run; its arrival times are one per packet.
    #[inline]
    pub fn push_run(&mut self, run: ReportRun<'_>) {
        let ReportRun { burst, fate, ce } = run;
        let (missing, times): (_, &[PeerTimestamp]) = match fate {
            RunFate::Arrived(times) => (false, times),
            RunFate::ArrivedUntimed => (false, &[]),
            RunFate::Missing => (true, &[]),
        };
        debug_assert!(times.is_empty() || times.len() == usize::from(burst.packets), "one time per packet");
        let arrivals = (!times.is_empty()).then_some(self.arrivals.len() as u32);
        self.arrivals.extend_from_slice(times);
        self.packets += usize::from(burst.packets);
        self.runs.push(StoredRun { burst, arrivals, missing, ce });
    }

    /// Append a packet.
    pub fn push(&mut self, report: PacketReport) {
        let PacketReport { transport_seq, ssrc, size, departure, fate, ce, kind, probe_cluster, place } = report;
        let packet = ReportedPacket { transport_seq, ssrc, size, departure, kind, probe_cluster, place };
        let (missing, time) = match fate {
            Fate::Arrived(time) => (false, time),
            Fate::Missing => (true, None),
        };
        let end = self.arrivals.len() as u32;
        self.arrivals.extend(time);
        self.packets += 1;
        if let Some(last) = self.runs.last_mut()
            && (last.missing, last.ce, last.arrivals.is_some()) == (missing, ce, time.is_some())
            && let Some(longer) = longer(&last.burst, &packet)
        {
            last.burst = longer;
            return;
        }
        self.runs.push(StoredRun { burst: Burst::single(packet), arrivals: time.map(|_| end), missing, ce });
    }

    /// Put the runs in ascending order of `transport_seq`; no two of them overlap.
    pub fn sort(&mut self) {
        self.runs.sort_unstable_by_key(|run| run.burst.first.transport_seq);
    }

    #[inline]
    fn view(&self, run: &StoredRun) -> ReportRun<'_> {
        let fate = match run.arrivals {
            Some(first) => RunFate::Arrived(&self.arrivals[first as usize..][..usize::from(run.burst.packets)]),
            None if run.missing => RunFate::Missing,
            None => RunFate::ArrivedUntimed,
        };
        ReportRun { burst: run.burst, fate, ce: run.ce }
    }
}

/// No IP packet is larger; a larger size stays alone, so that sums over a run are in range.
const MAX_SIZE_BYTES: u64 = u16::MAX as u64;

/// The burst with `packet` behind it, if it continues it.
fn longer(burst: &Burst<ReportedPacket>, packet: &ReportedPacket) -> Option<Burst<ReportedPacket>> {
    let smaller = burst.smaller + u16::from(packet.size < burst.first.size);
    let longer = Burst { packets: burst.packets.checked_add(1)?, smaller, ..*burst };
    ((1..=MAX_SIZE_BYTES).contains(&burst.first.size.as_bytes())
        && longer.get(burst.packets) == *packet
        && longer.smaller < longer.packets)
        .then_some(longer)
        .filter(|longer| burst.smaller == 0 || longer.smaller > burst.smaller)
}

impl<'a> ReportRun<'a> {
    /// Whether its packets arrived at all.
    #[inline]
    pub fn arrived(&self) -> bool {
        !matches!(self.fate, RunFate::Missing)
    }

    /// When the packet at a place arrived, if there is one and the report says so.
    #[inline]
    pub fn arrival(&self, place: u16) -> Option<PeerTimestamp> {
        match self.fate {
            RunFate::Arrived(times) => times.get(usize::from(place)).copied(),
            RunFate::ArrivedUntimed | RunFate::Missing => None,
        }
    }

    /// Its packets.
    #[inline]
    pub fn reports(self) -> impl DoubleEndedIterator<Item = PacketReport> + Clone + use<'a> {
        let Self { burst, fate, ce } = self;
        (0..burst.packets).map(move |place| {
            let packet = burst.get(place);
            let ReportedPacket { transport_seq, ssrc, size, departure, kind, probe_cluster, place: in_frame } = packet;
            let fate = match fate {
                RunFate::Arrived(times) => Fate::Arrived(Some(times[usize::from(place)])),
                RunFate::ArrivedUntimed => Fate::Arrived(None),
                RunFate::Missing => Fate::Missing,
            };
            PacketReport { transport_seq, ssrc, size, departure, fate, ce, kind, probe_cluster, place: in_frame }
        })
    }
}

impl PartialEq for PacketReports {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for PacketReports {}

impl FromIterator<PacketReport> for PacketReports {
    fn from_iter<T: IntoIterator<Item = PacketReport>>(reports: T) -> Self {
        let mut all = Self::default();
        reports.into_iter().for_each(|report| all.push(report));
        all
    }
}

impl From<Vec<PacketReport>> for PacketReports {
    fn from(reports: Vec<PacketReport>) -> Self {
        reports.into_iter().collect()
    }
}

/// A run as JSON has it. Runs are kept as they are, since sums of floats depend on them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRun {
    burst: Burst<ReportedPacket>,
    fate: WrittenFate,
    ce: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenFate {
    ArrivedNs(Vec<PeerTimestamp>),
    ArrivedUntimed,
    Missing,
}

impl From<PacketReports> for Vec<WrittenRun> {
    fn from(reports: PacketReports) -> Self {
        let written = |ReportRun { burst, fate, ce }| {
            let fate = match fate {
                RunFate::Arrived(times) => WrittenFate::ArrivedNs(times.to_vec()),
                RunFate::ArrivedUntimed => WrittenFate::ArrivedUntimed,
                RunFate::Missing => WrittenFate::Missing,
            };
            WrittenRun { burst, fate, ce }
        };
        reports.runs().map(written).collect()
    }
}

impl TryFrom<Vec<WrittenRun>> for PacketReports {
    type Error = String;

    fn try_from(written: Vec<WrittenRun>) -> Result<Self, String> {
        let mut reports = Self::default();
        for WrittenRun { burst, fate, ce } in &written {
            let fate = match fate {
                WrittenFate::ArrivedNs(times) if times.len() != usize::from(burst.packets) => {
                    return Err(format!("arrived_ns has {} times for {} packets", times.len(), burst.packets));
                }
                WrittenFate::ArrivedNs(times) => RunFate::Arrived(times),
                WrittenFate::ArrivedUntimed => RunFate::ArrivedUntimed,
                WrittenFate::Missing => RunFate::Missing,
            };
            reports.push_run(ReportRun { burst: *burst, fate, ce: *ce });
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(transport_seq: u64, bytes: u64, arrival_ms: Option<i64>) -> PacketReport {
        PacketReport {
            transport_seq,
            ssrc: 1,
            size: DataSize::from_bytes(bytes),
            departure: Timestamp::from_millis(5),
            fate: arrival_ms.map_or(Fate::Missing, |ms| Fate::Arrived(Some(PeerTimestamp::from_nanos(ms * 1_000_000)))),
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        }
    }

    #[test]
    fn packets_are_what_was_put_in_however_they_form_runs() {
        let mut state = 1_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for _ in 0..300 {
            let mut seq = 0;
            let reports: Vec<_> = (0..random(30))
                .map(|_| {
                    seq += u64::from(1 + random(8) / 7);
                    let mut report = report(seq, u64::from(random(2) * 900 + random(3)), Some(i64::from(random(50))));
                    report.ce = random(9) == 0;
                    report.departure = Timestamp::from_millis(i64::from(random(6) / 5));
                    report.probe_cluster = (random(9) == 0).then_some(3);
                    match random(8) {
                        0 => report.fate = Fate::Missing,
                        1 => report.fate = Fate::Arrived(None),
                        _ => {}
                    }
                    report
                })
                .collect();
            let kept = PacketReports::from(reports.clone());
            assert_eq!((kept.len(), kept.is_empty()), (reports.len(), reports.is_empty()));
            assert!(kept.iter().eq(reports.iter().copied()));
            assert!(kept.iter().rev().eq(reports.iter().rev().copied()));
            let mut by_runs = PacketReports::default();
            kept.runs().for_each(|run| by_runs.push_run(run));
            assert_eq!(by_runs, kept);
        }
    }

    #[test]
    fn json_keeps_runs_and_refuses_what_is_none() {
        let reports: PacketReports =
            [report(1, 900, Some(10)), report(2, 900, Some(11)), report(3, 900, None)].into_iter().collect();
        let json = serde_json::to_string(&reports).unwrap();
        let read: PacketReports = serde_json::from_str(&json).unwrap();
        assert!(read == reports && read.runs().eq(reports.runs()));
        for (right, wrong, message) in [
            ("[10000000,11000000]", "[10000000]", "arrived_ns has 1 times for 2 packets"),
            (r#""packets":2,"smaller":0"#, r#""packets":0,"smaller":0"#, "packets = 0"),
            (r#""packets":2,"smaller":0"#, r#""packets":2,"smaller":2"#, "smaller = 2"),
        ] {
            assert!(json.contains(right), "{json}");
            let error = serde_json::from_str::<PacketReports>(&json.replacen(right, wrong, 1)).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_burst_with_one_fate_is_one_run() {
        let reports = [
            report(1, 900, Some(10)),
            report(2, 900, Some(11)),
            report(3, 899, Some(12)),
            report(4, 899, None),
            report(5, 899, Some(13)),
            report(6, 900, Some(13)),
        ];
        let kept: PacketReports = reports.into_iter().collect();
        let runs: Vec<_> = kept.runs().map(|run| (run.burst.packets, run.burst.smaller)).collect();
        assert_eq!(runs, [(3, 1), (1, 0), (1, 0), (1, 0)]);
    }
}
