//! RTCP as it was on the wire, in either direction, with departure and arrival times.
//!
//! [rfc8868] §3.1 wants it kept with the RTP packets. Rows are the bytes themselves, so that any reader of RTCP can
//! take them. Not recorded: why a packet never arrived.

use legato_units::Timestamp;

/// One end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where media arrives.
    Receiver,
    /// Where it leaves.
    Sender,
}

impl End {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Sender => "sender",
        }
    }
}

/// The life of a compound RTCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtcpRow {
    /// When it left.
    pub sent: Timestamp,
    /// The end it left from.
    pub by: End,
    /// As it was on the wire, without IP and UDP headers.
    pub bytes: Vec<u8>,
    /// When it arrived at the other end.
    pub arrived: Option<Timestamp>,
}

/// The compounds of one call, in the order they left.
#[derive(Clone, Debug, Default)]
pub struct RtcpLog {
    rows: Vec<RtcpRow>,
}

/// At most this many are in flight in one direction: older ones were lost.
const MAX_UNDER_WAY: usize = 1_000;

impl RtcpLog {
    /// Forget everything.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// A compound left an end.
    pub fn sent(&mut self, now: Timestamp, by: End, bytes: &[u8]) {
        self.rows.push(RtcpRow { sent: now, by, bytes: bytes.to_vec(), arrived: None });
    }

    /// A compound that had left `by` arrived at the other end. Of two identical ones it is the earlier:
    /// they cannot be distinguished.
    pub fn arrived(&mut self, now: Timestamp, by: End, bytes: &[u8]) {
        let recent = self.rows.len().saturating_sub(MAX_UNDER_WAY);
        let same = |row: &&mut RtcpRow| row.arrived.is_none() && row.by == by && row.bytes == bytes;
        if let Some(row) = self.rows[recent..].iter_mut().find(same) {
            row.arrived = Some(now);
        }
    }

    /// Each compound.
    pub fn rows(&self) -> &[RtcpRow] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8868] §3.1: arrivals are matched with departures, whatever was lost or overtaken between.
    #[test]
    fn arrivals_find_the_departure_of_the_same_bytes_and_end() {
        let ms = Timestamp::from_millis;
        let mut log = RtcpLog::default();
        log.sent(ms(0), End::Receiver, b"one");
        log.sent(ms(5), End::Sender, b"one");
        log.sent(ms(10), End::Receiver, b"two");
        log.sent(ms(20), End::Receiver, b"one");
        log.arrived(ms(30), End::Receiver, b"two");
        log.arrived(ms(40), End::Receiver, b"one");
        log.arrived(ms(50), End::Sender, b"one");
        let arrivals: Vec<_> = log.rows().iter().map(|row| row.arrived).collect();
        assert_eq!(arrivals, [Some(ms(40)), Some(ms(50)), Some(ms(30)), None]);
        log.clear();
        log.arrived(ms(60), End::Receiver, b"one");
        assert!(log.rows().is_empty());
    }
}
