//! Gzip, transparent and bounded: a bomb stops at the maximum size of a plain file.

use super::error::Fault;
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::io::Read;

/// The maximum size of a trace file, plain or inflated: 64 MiB.
pub const MAX_FILE: usize = 64 << 20;

/// The bytes themselves, or their inflated content.
pub(super) fn inflated(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    let too_large = || Fault::whole("is larger than 64 MiB");
    if bytes.len() > MAX_FILE {
        return Err(too_large());
    }
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(MAX_FILE as u64 + 1).read_to_end(&mut plain);
    read.map_err(|error| Fault::whole(format!("is not valid gzip: {error}")))?;
    if plain.len() > MAX_FILE { Err(too_large()) } else { Ok(Cow::Owned(plain)) }
}
