//! What every flow of a session is to its driver.

use super::link::Links;
use super::parcel::{Parcel, Way};
use legato_path::{DropNotice, Packet, Path};
use legato_units::Timestamp;

/// A source and a sink, with the ways between them that no other flow uses.
pub trait Flow {
    /// When [`Flow::turn`] is next wanted.
    fn due(&self) -> Timestamp;

    /// Do the first of what is due at `now`. What it sends goes to `outbox`.
    fn turn(&mut self, now: Timestamp, links: &mut Links, outbox: &mut Vec<Packet<Parcel>>);

    /// The flow's own part of the way that packets enter behind the last link.
    fn tail(&mut self, way: Way) -> &mut Path<Parcel>;

    /// A link lost this packet of the flow.
    fn dropped(&mut self, notice: DropNotice<Parcel>);
}

/// The flow's own parts of the two ways.
pub struct Tails {
    /// To the sink.
    pub out: Path<Parcel>,
    /// To the source.
    pub back: Path<Parcel>,
}

impl Tails {
    /// That of one way.
    pub fn of(&mut self, way: Way) -> &mut Path<Parcel> {
        match way {
            Way::Back => &mut self.back,
            Way::Out => &mut self.out,
        }
    }

    /// When a packet is next due out of one of them.
    pub fn due(&self) -> Timestamp {
        arrival(&self.out).min(arrival(&self.back))
    }
}

/// When a packet is next due out of a path.
pub fn arrival(path: &Path<Parcel>) -> Timestamp {
    path.next_arrival().unwrap_or(Timestamp::MAX)
}
