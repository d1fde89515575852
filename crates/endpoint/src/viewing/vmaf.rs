//! VMAF [vmaf] of pictures against the screen: both go to an ffmpeg with libvmaf, a separate process.
//!
//! They go through one pipe, one above the other in a picture of twice the height, and ffmpeg separates them again: two
//! streams could wait for each other, one cannot. The scores come back through another pipe when the first ends, so
//! nothing is on disk, and memory holds a picture and the scores. VMAF's default model (`vmaf_v0.6.1`) only uses luma, so
//! chroma is neutral. Motion is part of the model: the first picture has no predecessor, and scores some points less.

use crate::error::Error;
use serde::Deserialize;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::num::NonZero;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// An ffmpeg with the filter `libvmaf`, and a way to stop it.
#[derive(Clone)]
pub struct VmafProgram {
    ffmpeg: PathBuf,
    goes_on: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// A running instance: takes pictures in order. It ends when this is dropped.
pub struct VmafMeter {
    program: VmafProgram,
    size: (usize, usize),
    child: Child,
    /// Until all scores are returned.
    pictures: Option<ChildStdin>,
    log: Receiver<Vec<u8>>,
    complaints: Receiver<Vec<u8>>,
    /// Both halves of a picture's chroma.
    chroma: Vec<u8>,
    given: usize,
}

/// How often a wait checks whether the result is still wanted.
const LOOK_EACH: Duration = Duration::from_millis(50);
/// The neutral chroma sample.
const NEUTRAL: u8 = 128;

impl VmafProgram {
    /// The program at this path. `goes_on` is called on the thread that writes pictures, again and again: once it
    /// returns false the program is ended, and its task fails.
    pub fn new(ffmpeg: PathBuf, goes_on: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { ffmpeg, goes_on: Arc::new(goes_on) }
    }

    /// Start it for pictures of `width` columns and `height` rows, both even.
    pub fn start(&self, (width, height): (usize, usize)) -> Result<VmafMeter, Error> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        // The first input is scored, the second is the reference.
        let graph = format!(
            "[0:v]split[both][too];[both]crop=iw:ih/2:0:0[captured];[too]crop=iw:ih/2:0:ih/2[screen];\
             [screen][captured]libvmaf=log_fmt=json:log_path=/dev/stdout:n_threads={threads}"
        );
        let quiet = ["-hide_banner", "-nostdin", "-loglevel", "error"];
        let mut child = Command::new(&self.ffmpeg)
            .args(quiet)
            .args(["-f", "yuv4mpegpipe", "-i", "pipe:0", "-filter_complex", &graph, "-f", "null", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A separate group: Ctrl-C in the terminal must not reach it.
            .process_group(0)
            .spawn()
            .map_err(|error| failed(&self.ffmpeg, &error.to_string()))?;
        let (pictures, log, complaints) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (log, complaints) = (read_all(log), read_all(complaints));
        let (program, size, given) = (self.clone(), (width, height), 0);
        let chroma = vec![NEUTRAL; width * height];
        let mut meter = VmafMeter { program, size, child, pictures, log, complaints, chroma, given };
        // VMAF is independent of time: any rate will do.
        meter.write(format!("YUV4MPEG2 W{width} H{} F30:1 Ip A1:1 C420jpeg\n", 2 * height).as_bytes())?;
        Ok(meter)
    }
}

impl VmafMeter {
    /// A captured picture's luma and the screen's, each of the declared size.
    pub fn push(&mut self, captured: &[u8], screen: &[u8]) -> Result<(), Error> {
        let samples = self.size.0 * self.size.1;
        debug_assert!(captured.len() == samples && screen.len() == samples, "pictures of one size");
        let chroma = std::mem::take(&mut self.chroma);
        let written = [b"FRAME\n", captured, screen, &chroma].into_iter().try_for_each(|bytes| self.write(bytes));
        self.chroma = chroma;
        self.given += 1;
        written
    }

    /// A score for each pair, 0 to 100, in order.
    pub fn finish(mut self) -> Result<Vec<f32>, Error> {
        self.pictures = None;
        let log = self.wait_for(&self.log)?;
        if !self.child.wait().is_ok_and(|status| status.success()) {
            return Err(self.failure());
        }
        let log: Log = serde_json::from_slice(&log)
            .map_err(|error| failed(&self.program.ffmpeg, &format!("its log of VMAF: {error}")))?;
        if log.frames.len() != self.given {
            let told = format!("it judged {} pictures of {}", log.frames.len(), self.given);
            return Err(failed(&self.program.ffmpeg, &told));
        }
        Ok(log.frames.iter().map(|frame| frame.metrics.vmaf).collect())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            if !(self.program.goes_on)() {
                return Err(Error::Interrupted);
            }
            match self.pictures.as_mut().map_or(Ok(0), |pipe| pipe.write(bytes)) {
                Ok(written @ 1..) => bytes = &bytes[written..],
                // A signal came: whether to stop is checked above.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return Err(self.failure()),
            }
        }
        Ok(())
    }

    /// Why it ended, in its own words: the first line is the closest to the cause.
    fn failure(&mut self) -> Error {
        self.pictures = None;
        let said = match self.wait_for(&self.complaints) {
            Ok(said) => String::from_utf8_lossy(&said).into_owned(),
            Err(error) => return error,
        };
        let line = said.lines().map(without_origin).find(|line| !line.is_empty()).map(str::to_owned);
        let ended = || match self.child.wait() {
            Ok(status) => format!("ended with {status}"),
            Err(error) => error.to_string(),
        };
        failed(&self.program.ffmpeg, &line.unwrap_or_else(ended))
    }

    fn wait_for(&self, stream: &Receiver<Vec<u8>>) -> Result<Vec<u8>, Error> {
        loop {
            match stream.recv_timeout(LOOK_EACH) {
                Ok(bytes) => return Ok(bytes),
                Err(RecvTimeoutError::Timeout) if (self.program.goes_on)() => {}
                Err(RecvTimeoutError::Timeout) => return Err(Error::Interrupted),
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            }
        }
    }
}

impl Drop for VmafMeter {
    fn drop(&mut self) {
        self.pictures = None;
        // One that has already ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for VmafProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VmafProgram").field(&self.ffmpeg).finish()
    }
}

/// libvmaf's log, the relevant part of it.
#[derive(Deserialize)]
struct Log {
    frames: Vec<LoggedFrame>,
}

#[derive(Deserialize)]
struct LoggedFrame {
    metrics: Metrics,
}

#[derive(Deserialize)]
struct Metrics {
    vmaf: f32,
}

/// The output of a stream until its end, read on a separate thread so that it never waits for a reader.
fn read_all(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (told, all) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read: io::Result<usize> = stream.map_or(Ok(0), |mut stream| stream.read_to_end(&mut bytes));
        // Only the output before an error is available.
        let _ = (read, told.send(bytes));
    });
    all
}

/// A line of ffmpeg's without its origin, `[name @ 0x5570]`, which varies.
fn without_origin(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(line, |(_, what)| what)
}

fn failed(ffmpeg: &Path, what: &str) -> Error {
    Error::Vmaf(format!("{}: {what}", ffmpeg.display()))
}

/// A replacement for ffmpeg that runs this script, with a given output.
#[cfg(test)]
pub(crate) fn stand_in(name: &str, script: &str, goes_on: impl Fn() -> bool + Send + Sync + 'static) -> VmafProgram {
    let file = std::env::temp_dir().join(format!("legato-vmaf-{}-{name}", std::process::id()));
    // Not written by this process: a concurrent test that starts a program at that moment would hold the file open, and a
    // file being written cannot be run.
    let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 700 "$1""#;
    let written = Command::new("sh").args(["-c", write, "sh"]).arg(&file).arg(script).status();
    assert!(written.unwrap().success());
    VmafProgram::new(file, goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// More than a pipe holds.
    fn measured(program: &VmafProgram, pictures: usize) -> Result<Vec<f32>, Error> {
        let mut meter = program.start((64, 64))?;
        let luma = [1; 64 * 64];
        (0..pictures).try_for_each(|_| meter.push(&luma, &luma))?;
        meter.finish()
    }

    const TWO: &str = r#"cat > /dev/null; echo '{"frames": [{"metrics": {"vmaf": 91.5}}, {"metrics": {"vmaf": 7}}]}'"#;

    #[test]
    fn scores_are_those_of_the_log_in_its_order() {
        assert_eq!(measured(&stand_in("two", TWO, || true), 2), Ok(vec![91.5, 7.0]));
        let error = measured(&stand_in("two-of-three", TWO, || true), 3).unwrap_err().to_string();
        assert!(error.ends_with("it judged 2 pictures of 3"), "{error}");
    }

    #[test]
    fn pictures_go_out_one_above_the_other_without_colour() {
        let file = std::env::temp_dir().join(format!("legato-vmaf-{}-stream", std::process::id()));
        let script = format!("cat > {}; echo '{{\"frames\": [{{\"metrics\": {{\"vmaf\": 1}}}}]}}'", file.display());
        let mut meter = stand_in("keeps", &script, || true).start((4, 2)).unwrap();
        meter.push(&[1; 8], &[2; 8]).unwrap();
        assert_eq!(meter.finish(), Ok(vec![1.0]));
        let head = b"YUV4MPEG2 W4 H4 F30:1 Ip A1:1 C420jpeg\nFRAME\n";
        assert_eq!(fs::read(file).unwrap(), [&head[..], &[1; 8], &[2; 8], &[128; 8]].concat());
    }

    #[test]
    fn a_program_that_fails_is_quoted_with_its_first_line() {
        let fails = stand_in(
            "fails",
            "echo \"[AVFilterGraph @ 0x5570] No such filter: 'libvmaf'\" >&2; echo more >&2; exit 8",
            || true,
        );
        let error = measured(&fails, 100).unwrap_err().to_string();
        assert!(error.ends_with("-fails: No such filter: 'libvmaf'"), "{error}");
        let error = measured(&stand_in("mute", "exit 3", || true), 100).unwrap_err().to_string();
        assert!(error.ends_with("exit status: 3"), "{error}");
        let error = measured(&stand_in("gibberish", "cat > /dev/null; echo hm", || true), 1).unwrap_err().to_string();
        assert!(error.contains("its log of VMAF"), "{error}");
        let nowhere = VmafProgram::new("/nowhere/ffmpeg".into(), || true);
        let error = measured(&nowhere, 1).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/ffmpeg: No such file"), "{error}");
    }

    #[test]
    fn a_program_no_longer_wanted_is_ended() {
        let wanted = Arc::new(AtomicBool::new(true));
        let asked = Arc::clone(&wanted);
        // Its result would take a minute.
        let slow = stand_in("slow", "exec sleep 60", move || asked.load(Ordering::Relaxed));
        let mut meter = slow.start((64, 64)).unwrap();
        let child = meter.child.id();
        meter.push(&[1; 64 * 64], &[1; 64 * 64]).unwrap();
        wanted.store(false, Ordering::Relaxed);
        assert_eq!(meter.finish(), Err(Error::Interrupted));
        assert!(!Path::new(&format!("/proc/{child}")).exists());
    }
}
