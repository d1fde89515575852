//! RTCP at the sender: what the receiver reports, and the sender's own reports.

use super::Sender;
use crate::FeedbackFormat;
use crate::send_history::SendHistory;
use legato_control::{Event, PacerQueue, PacketReports, ReceptionReport};
use legato_media::packet::VIDEO_SSRC;
use legato_trace::{Record, TraceSink};
use legato_units::Timestamp;
use legato_wire::ntp::{self, CompactNtp};
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
                    for packet in self.repair.answer(self.now, nack.seqs(), &self.decision) {
                        self.pacer.push(packet);
                    }
                }
                Message::Pli { media_ssrc: VIDEO_SSRC, .. } => self.keyframes.request(),
                Message::Fir(fir) if fir.requests().any(|(ssrc, _)| ssrc == VIDEO_SSRC) => self.keyframes.request(),
                Message::Remb(remb) => self.tell(&Event::RemoteEstimate(remb.bitrate)),
                Message::ExtendedReport(report) => {
                    for block in report.blocks() {
                        if let ExtendedBlock::ReferenceTime(ntp) = block {
                            self.reports.take_reference_time(report.ssrc, ntp.compact(), self.now);
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
                self.parity.share.learn(&told.reports);
                self.tell(&Event::PacerQueue(PacerQueue { size: self.pacer.queued(), drain: self.pacer.drain_time() }));
                self.tell(&event);
            }
        }
        self.feedback = event;
    }

    fn learn_round_trip_time(&mut self, block: &rtcp::ReportBlock) {
        let arrival = CompactNtp::from_timestamp(self.now);
        if let Some(rtt) = ntp::round_trip_time(arrival, block.last_sr, block.delay_since_last_sr) {
            self.repair.learn(rtt);
            self.tell(&Event::RoundTripTime(rtt));
        }
    }
}
