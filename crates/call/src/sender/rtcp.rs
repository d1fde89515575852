//! RTCP at the sender: what the receiver reports, and the sender's own reports.

use super::{REPORT_INTERVAL, Sender};
use crate::FeedbackFormat;
use crate::send_history::SendHistory;
use legato_control::{Event, PacerQueue, PacketReports, ReceptionReport};
use legato_media::packet::VIDEO_SSRC;
use legato_trace::{Record, TraceSink};
use legato_units::{TimeDelta, Timestamp};
use legato_wire::ntp::{self, CompactNtp, Ntp};
use legato_wire::rtcp::{self, Compound, ExtendedBlock, Message};

impl Sender {
    /// Foreign bytes: what cannot be parsed is ignored, like a lost datagram.
    pub(super) fn take_rtcp(&mut self, bytes: &[u8], sink: &mut impl TraceSink) {
        let Ok(compound) = Compound::parse(bytes) else { return };
        // Changes no decision, so none is read anew.
        self.controller.on_event(self.now, &Event::RtcpArrived);
        for packet in compound {
            let Ok(message) = packet.and_then(|packet| packet.message()) else { return };
            match message {
                Message::Ccfb(feedback) if self.config.feedback == FeedbackFormat::Ccfb => {
                    self.take_feedback(sink, |history, now, reports| history.join_streams(now, &feedback, reports));
                }
                Message::Twcc(feedback) if self.config.feedback == FeedbackFormat::Twcc => {
                    self.take_feedback(sink, |history, now, reports| history.join(now, &feedback, reports));
                }
                Message::Nack(nack)
                    if self.config.retransmit && !self.decision.sending.cease && nack.media_ssrc == VIDEO_SSRC =>
                {
                    for seq in nack.seqs() {
                        // Repair that may not be sent now is requested again.
                        if !self.rtx_allowance.permits(self.now, self.decision.target_bitrate) {
                            break;
                        }
                        if let Some((packet, age)) = self.rtx_store.repeat(self.now, seq, self.round_trip_time) {
                            self.rtx_allowance.spend(u64::from(packet.size_bytes));
                            self.pacer.push(packet);
                            if self.is_last_repair(age) {
                                self.repeats.push(packet);
                            }
                        }
                    }
                }
                Message::Pli { media_ssrc, .. } => self.keyframe_wanted |= media_ssrc == VIDEO_SSRC,
                Message::Fir(fir) => self.keyframe_wanted |= fir.requests().any(|(ssrc, _)| ssrc == VIDEO_SSRC),
                Message::Remb(remb) => self.tell(&Event::RemoteEstimate(remb.bitrate)),
                Message::ExtendedReport(report) => {
                    for block in report.blocks() {
                        if let ExtendedBlock::ReferenceTime(ntp) = block {
                            self.reference_time = Some((report.ssrc, ntp.compact(), self.now));
                        }
                    }
                }
                Message::ReceiverReport(report) => {
                    for block in report.blocks() {
                        self.learn_round_trip_time(&block);
                        self.tell(&Event::ReceiverReport(ReceptionReport {
                            ssrc: block.ssrc,
                            fraction_lost: block.fraction_lost,
                            highest_seq: block.highest_seq,
                        }));
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether another request for a packet that left so long ago would be answered too late: that takes a round trip
    /// and the way to the receiver.
    fn is_last_repair(&self, age: TimeDelta) -> bool {
        let next = age + self.round_trip_time + self.round_trip_time / 2;
        self.decision.sending.repair_deadline.is_some_and(|deadline| next > deadline)
    }

    fn take_feedback(
        &mut self,
        sink: &mut impl TraceSink,
        join: impl FnOnce(&mut SendHistory, Timestamp, &mut PacketReports),
    ) {
        let mut event = std::mem::replace(&mut self.feedback, Event::Deadline);
        if let Event::TransportFeedback(told) = &mut event {
            told.reports.clear();
            join(&mut self.history, self.now, &mut told.reports);
            told.in_flight = self.history.in_flight();
            told.written = self.history.written();
            sink.record(self.now, &Record::Feedback { reports: &told.reports });
            if !told.reports.is_empty() {
                self.encoder.reported(&told.reports);
                self.parity.learn(&told.reports);
                self.tell(&Event::PacerQueue(PacerQueue { size: self.pacer.queued(), drain: self.pacer.drain_time() }));
                self.tell(&event);
            }
        }
        self.feedback = event;
    }

    fn learn_round_trip_time(&mut self, block: &rtcp::ReportBlock) {
        let arrival = CompactNtp::from_timestamp(self.now);
        if let Some(rtt) = ntp::round_trip_time(arrival, block.last_sr, block.delay_since_last_sr) {
            self.round_trip_time = rtt;
            self.tell(&Event::RoundTripTime(rtt));
        }
    }

    pub(super) fn report(&mut self) -> Vec<u8> {
        self.next_report += REPORT_INTERVAL;
        let mut bytes = Vec::with_capacity(64);
        let info = rtcp::SenderInfo {
            ssrc: VIDEO_SSRC,
            ntp: Ntp::from_timestamp(self.now),
            // A 90 kHz clock from the start of the run.
            rtp_timestamp: (i128::from(self.now.as_nanos()) * 9 / 100_000) as u32,
            packet_count: self.packets_sent,
            octet_count: self.octets_sent,
        };
        rtcp::write_sender_report(&mut bytes, &info, &[]);
        if let Some((ssrc, last_rr, at)) = self.reference_time {
            let delay_since_last_rr = ntp::compact_span(self.now - at);
            let answer = ExtendedBlock::DelaySinceLast { ssrc, last_rr, delay_since_last_rr };
            rtcp::write_extended_report(&mut bytes, VIDEO_SSRC, &answer);
        }
        bytes
    }
}
