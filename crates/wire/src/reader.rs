//! Reads big-endian fields from the front of a slice. Every length is compared with the remaining bytes before anything
//! is read.

use crate::Error;

/// The remaining bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes not read yet.
    #[inline]
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next `N` bytes; the error names `field` if they are missing.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        match self.0.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.0 = tail;
                Ok(*head)
            }
            None => Err(Error::Truncated { field, needed: N, available: self.0.len() }),
        }
    }

    #[inline]
    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Error> {
        self.array(field).map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// The next `len` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Error> {
        match self.0.split_at_checked(len) {
            Some((head, tail)) => {
                self.0 = tail;
                Ok(head)
            }
            None => Err(Error::Truncated { field, needed: len, available: self.0.len() }),
        }
    }
}

/// `[a, b, c]` as a 24-bit number.
#[inline]
pub(crate) const fn be_u24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}
