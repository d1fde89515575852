//! A call on the emulated network: its ways out, and what is reported of its packets.

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
    /// It could begin.
    pub(super) ready: bool,
    /// Of media between others.
    next_seq: u64,
    pub(super) lateness: Lateness,
}

/// What is numbered and reported of packets between others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// RTP on its way forward, the first of which is the begin, and RTCP on its way back.
    Media,
    /// All packets.
    Everything,
}

/// Both ways out, and how packets that come in are read.
pub struct Opened {
    /// Which way what the endpoint sends goes.
    pub sends: Way,
    /// Of the forward path.
    pub forward_exit: Exit,
    /// Of the reverse path.
    pub reverse_exit: Exit,
    /// What packets are.
    pub framing: Framing,
    /// What is reported.
    pub watched: Watched,
}

impl Flow {
    /// A call that has not begun.
    pub fn new(ends: Opened, report: Report, media: Way) -> Self {
        Self { ends, report, media, ready: false, next_seq: 0, lateness: Lateness::default() }
    }

    /// Number what came in, where it is media, and report it.
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

    /// A path delivers a packet, marked where the path has marked it.
    pub fn let_go(&self, delivered: Delivered<Datagram>, way: Way) {
        let mut datagram = delivered.packet.payload;
        if delivered.packet.ecn.is_ce() {
            self.ends.framing.mark_ce(&mut datagram.bytes);
        }
        self.put_out(datagram, way);
    }

    /// A packet leaves at the end of a way.
    pub fn put_out(&self, datagram: Datagram, way: Way) {
        let exit = match way {
            Way::Forward => &self.ends.forward_exit,
            Way::Reverse => &self.ends.reverse_exit,
        };
        exit.put_out(datagram, &self.report);
    }
}
