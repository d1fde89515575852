//! The ECN field of an IP header. Not a quantity, but paths, packets and feedback all name it.

/// The ECN field (RFC 3168, RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not capable.
    #[default]
    NotEct,
    /// Capable, L4S.
    Ect1,
    /// Capable.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether it was marked on the path.
    #[inline]
    pub const fn is_ce(self) -> bool {
        matches!(self, Self::Ce)
    }

    /// Whether a queue may mark it instead of dropping the packet.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}
