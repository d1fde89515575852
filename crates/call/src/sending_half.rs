//! The sender's half of a call's loop: its pauses, when it is due, and where its output goes.
//!
//! [`Call`](crate::Call) holds it and a receiver. The driver of a real call, whose receiver is at the other end of a
//! socket, holds it alone.

use crate::{Arrival, Dropped, Network, NetworkSample, Pauses, Rtcp, Sender, SenderInput, SenderOutput, Sent};
use legato_control::Side;
use legato_control::steering::Steered;
use legato_media::EncodedFrame;
use legato_trace::{Record, Sample, TraceSink};
use legato_units::{DataRate, PeerTimestamp, Timestamp};

/// Sets the next action of a steered controller, before a deadline of the sender. It must return at once.
pub type Decide = Box<dyn FnMut(Timestamp, &mut dyn Steered) + Send>;

/// A sender, and when it is due.
pub struct SendingHalf {
    sender: Sender,
    pauses: Pauses,
    /// The sender's deadline.
    due: Timestamp,
    /// Where the controller is steered from outside and nothing stops the call for it.
    decide: Option<Decide>,
}

impl SendingHalf {
    /// The sender of a call that begins at `start`.
    pub fn new(sender: Sender, pauses: Pauses, start: Timestamp) -> Self {
        Self { sender, pauses, due: start, decide: None }
    }

    /// The same, whose steered controller `decide` sets the actions of.
    pub fn steered_by(self, decide: Option<Decide>) -> Self {
        Self { decide, ..self }
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The sender.
    pub(crate) fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// When the sender or a pause is due.
    #[inline]
    pub fn due(&self) -> Timestamp {
        self.due.min(self.pauses.due())
    }

    /// Whether the sender's deadline is due at `now`; a pause at that time would meet it too.
    #[inline]
    pub(crate) fn is_senders(&self, now: Timestamp) -> bool {
        self.due == now
    }

    /// Do all that is due by `now`, at `now`: take RTCP that came, begin or end a pause, meet the sender's deadline.
    pub fn advance(&mut self, now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        loop {
            if network.next_arrival(Side::Sender) <= now {
                self.take_reply(now, network, sink);
            } else if self.due() <= now {
                self.decide(now);
                self.meet(now, sink);
            } else {
                return;
            }
            while self.drain(now, network, sink).is_some() {}
        }
    }

    /// A frame is coded, by an encoder that works in parallel with the call.
    pub fn take_coded(
        &mut self,
        now: Timestamp,
        (frame, capture): (EncodedFrame, Timestamp),
        network: &mut impl Network,
        sink: &mut impl TraceSink,
    ) {
        // The sender meets its deadlines then too.
        self.decide(now);
        self.sender.handle(now, SenderInput::Encoded(frame, capture), sink);
        while self.drain(now, network, sink).is_some() {}
    }

    fn decide(&mut self, now: Timestamp) {
        if let (Some(decide), Some(steered)) = (&mut self.decide, self.sender.steered()) {
            decide(now, steered);
        }
    }

    /// Pass on RTCP that reached the sender by `now`; its bytes, to be used again.
    #[inline]
    pub(crate) fn take_reply(
        &mut self,
        now: Timestamp,
        network: &mut impl Network,
        sink: &mut impl TraceSink,
    ) -> Option<Vec<u8>> {
        let Arrival::Rtcp(Rtcp { left, bytes }) = network.pop(Side::Sender, now)? else { return None };
        sink.feedback_took(now - left);
        self.sender.handle(now, SenderInput::Rtcp(&bytes), sink);
        Some(bytes)
    }

    /// Do what [`SendingHalf::due`] found due at `now`.
    #[inline]
    pub(crate) fn meet(&mut self, now: Timestamp, sink: &mut impl TraceSink) {
        let input = self.pauses.pop(now).map_or(SenderInput::Deadline, SenderInput::Pause);
        self.sender.handle(now, input, sink);
    }

    /// Do what the sender wants, until it has coded a frame (with its capture time, before its packets) or names its
    /// next deadline.
    #[inline]
    pub(crate) fn drain(
        &mut self,
        now: Timestamp,
        network: &mut impl Network,
        sink: &mut impl TraceSink,
    ) -> Option<(EncodedFrame, PeerTimestamp)> {
        loop {
            match self.sender.poll(sink) {
                SenderOutput::Media(burst) => network.send(Side::Sender, now, Sent::Media(burst)),
                SenderOutput::Rtcp(bytes) => network.send(Side::Sender, now, Sent::Rtcp(bytes)),
                SenderOutput::Coded(frame, captured) => return Some((frame, captured)),
                SenderOutput::Deadline(due) => {
                    self.due = due;
                    break;
                }
            }
        }
        record_drops(now, network, sink);
        None
    }

    /// Record a sample of the bottleneck and of the sender's decision.
    pub fn sample(&self, now: Timestamp, NetworkSample { capacity, queue }: NetworkSample, sink: &mut impl TraceSink) {
        let decision = self.sender.decision();
        let sample = Sample {
            capacity,
            target_bitrate: decision.target_bitrate,
            encoder_bitrate: DataRate::ZERO,
            pacing_rate: decision.pacing.rate,
            queue,
            pacer_queue: self.sender.pacer_queue(),
        };
        sink.sample(now, sample);
    }
}

/// Record what the network has lost.
#[inline]
pub(crate) fn record_drops(now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
    while let Some(Dropped { transport_seq, departure, reason }) = network.pop_drop() {
        sink.record(now, &Record::PacketDropped { transport_seq, departure, reason });
    }
}
