//! A file read in small pieces.
//!
//! Linux without kernel preemption runs no other thread before a read is over, not even one of the highest priority. A
//! picture of 1280x720 read at once held a processor for 2 to 5 ms, and a packet due there was as late. What the kernel
//! reads ahead, 8 MiB on some machines, counts as ours.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;

/// A processor copies this much in some 20 us.
const MOST_BYTES: usize = 64 << 10;

/// Whatever is requested, a read takes only a little of it.
#[derive(Debug)]
pub struct ShortReads<F>(F);

impl ShortReads<File> {
    /// With read-ahead disabled, if the system supports that.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        // Without it the clip plays all the same.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
        Ok(Self(file))
    }
}

impl<F: Read> Read for ShortReads<F> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let most = buffer.len().min(MOST_BYTES);
        self.0.read(&mut buffer[..most])
    }
}

impl<F: Seek> Seek for ShortReads<F> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.0.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// The size of each request.
    struct Asked(Cursor<Vec<u8>>, Vec<usize>);

    impl Read for Asked {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            self.1.push(buffer.len());
            self.0.read(buffer)
        }
    }

    #[test]
    fn a_picture_is_complete_after_small_reads() {
        let bytes: Vec<u8> = (0..100_000).map(|at| at as u8).collect();
        let mut file = ShortReads(Asked(Cursor::new(bytes.clone()), Vec::new()));
        let mut read = vec![0; bytes.len()];
        file.read_exact(&mut read).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(file.0.1.len(), 2);
        assert!(file.0.1.iter().all(|&asked| asked <= MOST_BYTES));
    }
}
