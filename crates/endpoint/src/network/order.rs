//! The orders to the network's thread.

use crate::clock::Clock;
use crate::network::datagram::Datagram;
use crate::network::event::Way;
use crate::network::flow::Flow;
use crate::network::lateness::Lateness;
use std::sync::mpsc::Sender;

/// An order by, or about, the call at a place.
pub enum Order {
    /// A call takes the place.
    Join(u16, Flow),
    /// It is over; it wants to know how late the network was for it.
    Leave(u16, Sender<Lateness>),
    /// It is ready, by this clock.
    Ready(u16, Clock),
    /// A packet came in at one of its ends, at a time by this clock, in this direction.
    Received(u16, Datagram, Clock, Way),
    /// Its endpoint sends, at a time by this clock: until it knows of the begin, its own.
    Send(u16, Datagram, Clock),
    /// End.
    Stop,
}
