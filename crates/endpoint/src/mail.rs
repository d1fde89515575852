//! Messages to the call thread. One queue, so the thread waits in one place.

use crate::connection::sdp::Answer;
use crate::network::event::{LinkEvent, Report};
use crate::viewing::decoder::Decoded;
use legato_media::EncodedFrame;
use legato_units::{DataRate, Timestamp};
use std::sync::mpsc::Sender;

/// One message.
#[derive(Debug)]
pub enum Mail {
    /// The other end's answer to the offer.
    Answer(Box<Answer>),
    /// Our own decoder has finished a picture.
    Decoded(Decoded),
    /// The encoder has finished the picture captured then, or failed.
    Encoded(Result<(EncodedFrame, Timestamp), String>),
    /// A report of the emulated network.
    Link(LinkEvent),
    /// Payload types of retransmission by others.
    RepairTypes(Vec<u8>),
    /// End the call.
    Stop,
    /// The target bitrate of another sender.
    Target(DataRate),
}

/// Posts the network's reports. A call that is over no longer reads them.
pub fn link_report(mail: Sender<Mail>) -> Report {
    Box::new(move |event| drop(mail.send(Mail::Link(event))))
}
