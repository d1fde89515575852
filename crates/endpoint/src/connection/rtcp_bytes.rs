//! RTCP of the other end, as the bytes that `call::Sender` reads.
//!
//! str0m decrypts RTCP and returns it parsed. Here it is serialised again with `legato_wire`, so that feedback
//! crosses the same bytes and the same parser as in the simulator. Times in reports are converted from str0m's sender
//! reports to the sender's own clock: str0m writes those reports, and the sender does not know their times.

use legato_units::{DataRate, Timestamp};
use legato_wire::ntp::CompactNtp;
use legato_wire::rtcp::{self, ReportBlock};
use legato_wire::{remb, twcc};
use std::collections::VecDeque;
use std::time::{Duration, Instant, UNIX_EPOCH};
use str0m::rtp::rtcp::{ReceptionReport, Rtcp, Twcc};

/// Received RTCP, serialised again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// One or more RTCP packets.
    pub bytes: Vec<u8>,
    /// The number of packets it requests again.
    pub nacked: u32,
    /// Whether it requests a key frame.
    pub keyframe: bool,
}

/// Serialises RTCP again, and keeps the state required for it.
pub struct RtcpBytes {
    encoder: twcc::Encoder,
    feedback_count: u8,
    /// Times of the last sender reports, in NTP and ours.
    reports: VecDeque<(u32, Timestamp)>,
    /// str0m gives arrivals as instants after a given one; only differences matter.
    zero: Instant,
}

/// Reports kept: one leaves per second, and a reception report refers to the latest that arrived.
const REPORTS_KEPT: usize = 64;
/// Between the NTP and the Unix epoch.
const NTP_UNIX_SECONDS: u64 = 2_208_988_800;
/// str0m computes NTP times in floating point.
const NTP_SLACK: u32 = 8;

impl RtcpBytes {
    /// `zero`: any instant.
    pub fn counting_from(zero: Instant) -> Self {
        Self { encoder: twcc::Encoder::default(), feedback_count: 0, reports: VecDeque::new(), zero }
    }

    /// A sender report left.
    pub fn sent(&mut self, now: Timestamp, rtcp: &Rtcp) {
        let Rtcp::SenderReport(report) = rtcp else { return };
        let since = report.sender_info.ntp_time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let fraction = (u64::from(since.subsec_nanos()) << 16) / 1_000_000_000;
        let compact = ((since.as_secs() + NTP_UNIX_SECONDS) << 16 | fraction) as u32;
        self.reports.push_back((compact, now));
        if self.reports.len() > REPORTS_KEPT {
            self.reports.pop_front();
        }
    }

    /// A packet came; `None` if it is of no use to a sender.
    pub fn received(&mut self, rtcp: Rtcp) -> Option<Received> {
        let mut out = Received::default();
        match rtcp {
            Rtcp::Twcc(feedback) => self.write_feedback(&mut out.bytes, feedback),
            Rtcp::Nack(nack) => {
                let seqs: Vec<u16> = nack
                    .reports
                    .iter()
                    .flat_map(|entry| {
                        let (first, others) = (entry.pid, entry.blp);
                        let following = (0..16).filter(move |bit| others >> bit & 1 == 1);
                        std::iter::once(first).chain(following.map(move |bit| first.wrapping_add(bit + 1)))
                    })
                    .collect();
                out.nacked = seqs.len() as u32;
                rtcp::write_nack(&mut out.bytes, *nack.sender_ssrc, *nack.ssrc, seqs);
            }
            Rtcp::Pli(pli) => {
                out.keyframe = true;
                rtcp::write_pli(&mut out.bytes, *pli.sender_ssrc, *pli.ssrc);
            }
            Rtcp::Fir(fir) => {
                out.keyframe = true;
                for entry in fir.reports.iter() {
                    rtcp::write_fir(&mut out.bytes, *fir.sender_ssrc, *entry.ssrc, entry.seq_no);
                }
            }
            Rtcp::Remb(estimate) => {
                let bitrate = DataRate::from_bps(estimate.bitrate.max(0.0) as u64);
                remb::write(&mut out.bytes, *estimate.sender_ssrc, bitrate, &estimate.ssrcs);
            }
            Rtcp::ReceiverReport(report) => {
                let blocks: Vec<_> = report.reports.iter().map(|block| self.block(block)).collect();
                rtcp::write_receiver_report(&mut out.bytes, *report.sender_ssrc, &blocks);
            }
            _ => {}
        }
        (!out.bytes.is_empty()).then_some(out)
    }

    fn block(&self, report: &ReceptionReport) -> ReportBlock {
        let ours = self.reports.iter().rev().find(|(ntp, _)| {
            let apart = report.last_sr_time.wrapping_sub(*ntp);
            apart.min(apart.wrapping_neg()) <= NTP_SLACK
        });
        ReportBlock {
            ssrc: *report.ssrc,
            fraction_lost: report.fraction_lost,
            // 24 bits with a sign.
            cumulative_lost: (report.packets_lost << 8).cast_signed() >> 8,
            highest_seq: report.max_seq,
            interarrival_jitter: report.jitter,
            // Zero: as far as we know it has seen no report from here.
            last_sr: ours.map_or(CompactNtp(0), |&(_, at)| CompactNtp::from_timestamp(at)),
            delay_since_last_sr: report.last_sr_delay,
        }
    }

    fn write_feedback(&mut self, out: &mut Vec<u8>, feedback: Twcc) {
        let (sender_ssrc, media_ssrc) = (*feedback.sender_ssrc, *feedback.ssrc);
        let mut base_seq = feedback.base_seq;
        let zero = self.zero;
        // The base from which it extends sequence numbers; they are counted here.
        let extend_from = 1_u64 << 32;
        let arrivals: Vec<_> = feedback
            .into_iter(zero, extend_from.into())
            .map(|(_, _, at)| at.map(|at| Timestamp::from_nanos(at.saturating_duration_since(zero).as_nanos() as i64)))
            .collect();
        let mut rest = &arrivals[..];
        while !rest.is_empty() {
            let header = twcc::Header { sender_ssrc, media_ssrc, base_seq, feedback_count: self.feedback_count };
            self.feedback_count = self.feedback_count.wrapping_add(1);
            let told = self.encoder.encode(out, &header, rest.iter().copied());
            if told == 0 {
                return;
            }
            base_seq = base_seq.wrapping_add(told);
            rest = &rest[usize::from(told)..];
        }
    }
}
