//! A call on the emulated network: its ways out, and the reports on its packets.

use crate::network::datagram::Datagram;
use crate::network::event::{LinkEvent, Media, Report, Way};
use crate::network::exit::Exit;
use crate::network::framing::{Framing, is_rtcp, media_header};
use crate::network::lateness::Lateness;
use legato_path::Delivered;

/// A call on the network.
pub struct Flow {
    pub(super) ends: Opened,
    pub(super) report: Report,
    /// The path that its media take.
    pub(super) media: Way,
    /// Whether it is ready to begin.
    pub(super) ready: bool,
    /// Of media between others.
    next_seq: u64,
    pub(super) lateness: Lateness,
}

/// Which packets between others are numbered and reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// RTP in the forward direction, the first of which begins the call, and RTCP in the reverse direction.
    Media,
    /// All packets.
    Everything,
}

/// Both ways out, and how incoming packets are read.
pub struct Opened {
    /// The direction of what the endpoint sends.
    pub sends: Way,
    /// Of the forward path.
    pub forward_exit: Exit,
    /// Of the reverse path.
    pub reverse_exit: Exit,
    /// The format of packets.
    pub framing: Framing,
    /// The reports.
    pub watched: Watched,
}

impl Flow {
    /// A call that has not begun.
    pub fn new(ends: Opened, report: Report, media: Way) -> Self {
        Self { ends, report, media, ready: false, next_seq: 0, lateness: Lateness::default() }
    }

    /// Number an incoming packet, if it is media, and report it.
    pub fn note(&mut self, datagram: &mut Datagram, way: Way) {
        let forward = way == Way::Forward;
        let everything = self.ends.watched == Watched::Everything;
        let payload = self.ends.framing.payload(&datagram.bytes);
        let size_bytes = self.ends.framing.size_bytes(&datagram.bytes) as u16;
        let media = if forward { media_header(payload) } else { None };
        let header = if forward && everything { Some(media.unwrap_or_default()) } else { media };
        let is_feedback = !forward && (everything || is_rtcp(payload));
        if let Some(header) = header {
            let media = Media { transport_seq: self.next_seq, size_bytes, departure: datagram.entered };
            self.next_seq += 1;
            datagram.media = Some(media);
            (self.report)(LinkEvent::Sent(media, header));
        }
        let others = matches!(self.ends.reverse_exit, Exit::Others(..) | Exit::Tun(_));
        if others && is_feedback {
            (self.report)(LinkEvent::FeedbackSent(datagram.entered, size_bytes.into()));
        }
    }

    /// A path delivers a packet, with the path's mark if any.
    pub fn let_go(&self, delivered: Delivered<Datagram>, way: Way) {
        let mut datagram = delivered.packet.payload;
        if delivered.packet.ecn.is_ce() {
            self.ends.framing.mark_ce(&mut datagram.bytes);
        }
        self.put_out(datagram, way);
    }

    /// A packet leaves at the end of a direction.
    pub fn put_out(&self, datagram: Datagram, way: Way) {
        let exit = match way {
            Way::Forward => &self.ends.forward_exit,
            Way::Reverse => &self.ends.reverse_exit,
        };
        exit.put_out(datagram, &self.report);
    }
}
