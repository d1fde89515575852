//! Camera and encoder of a real call: pictures are drawn and coded on a separate thread, so that the pacer keeps its
//! times meanwhile. The sender sees a [`legato_media::Encoder`] whose frames come later.
//!
//! One picture is in progress at a time: one captured before the last is coded is skipped, as in libwebrtc.
//! [`PictureSource::Filling`] does without pictures and codec. The bitrate changes with each picture, the size with
//! the quantiser if the scenario enables it (`sizes.rs`).

use crate::error::Error;
use crate::pictures::ahead::Measured;
use crate::pictures::coder::{Coded, CodedSource, Coder};
use crate::pictures::source::{PictureSource, Pictures};
use crate::viewing::viewed::CodedCall;
use crate::viewing::vmaf::VmafProgram;
use legato_codec::{Coding, PacketReport, Payloads};
use legato_control::{FramePlace, PacketKind, PacketReports};
use legato_media::{Content, EncodedFrame, Encoder, EncoderBudget, SourceFrame};
use legato_units::{DataSize, Timestamp};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The camera's side that a call drives.
pub struct Camera {
    source: CodedSource,
    coding: Coding,
    /// Bytes of each packet's piece that frames leave empty.
    room: u16,
    adapts: bool,
    coded: Option<CodedCall>,
    jobs: Receiver<Work>,
    busy: Arc<AtomicBool>,
    measured: Measured,
    frames: CodedFrames,
}

/// The encoder that the sender holds.
struct Remote {
    jobs: Sender<Work>,
    busy: Arc<AtomicBool>,
    measured: Measured,
    frames: CodedFrames,
    /// The codec predicts from what the receiver has.
    hears: bool,
    /// A key frame was requested for a skipped picture.
    keyframe_due: bool,
    skipped: u64,
}

/// What the thread is to do, in this order.
enum Work {
    Code(Job),
    /// Feedback on packets.
    Hear(Vec<PacketReport>),
}

struct Job {
    picture: SourceFrame,
    budget: EncoderBudget,
}

/// Coded frames that packets may still be cut from.
#[derive(Clone, Default)]
pub struct CodedFrames(Arc<Mutex<VecDeque<CodedFrame>>>);

struct CodedFrame {
    sequence: u32,
    capture: Timestamp,
    psnr_db: Option<f32>,
    frame: Box<dyn Payloads>,
}

/// What a packet carries of a coded frame.
pub struct Payload {
    /// Without an RTP header.
    pub bytes: Vec<u8>,
    /// When the picture was captured.
    pub capture: Timestamp,
    /// Of the frame, by its encoder.
    pub psnr_db: Option<f32>,
}

/// Frames kept for retransmission: longer than the sender answers NACKs.
const FRAMES_KEPT: usize = 600;

impl Camera {
    /// Open the pictures in this coding; the encoder is for the sender. Refuses a codec that this build lacks.
    pub fn open(source: &PictureSource, coding: Coding) -> Result<(Self, Box<dyn Encoder>), Error> {
        coding.check()?;
        let (source, coded) = match *source {
            PictureSource::Filling { frame_rate } => (CodedSource::Filling(frame_rate), None),
            _ => (CodedSource::Pictures(Pictures::open(source)?), Some(CodedCall::new(source.clone(), coding))),
        };
        let (sender, jobs) = mpsc::channel();
        let busy = Arc::new(AtomicBool::new(false));
        let measured = Measured::default();
        let (told, busy_too) = (measured.clone(), Arc::clone(&busy));
        let frames = CodedFrames::default();
        let remote = Remote {
            jobs: sender,
            busy: busy_too,
            measured: told,
            frames: frames.clone(),
            hears: coding.shows_in_part(),
            keyframe_due: false,
            skipped: 0,
        };
        let (room, adapts) = (0, false);
        let camera = Self { source, coding, room, adapts, coded, jobs, busy, measured, frames };
        Ok((camera, Box::new(remote)))
    }

    /// The content of the sender's source: its picture rate.
    pub fn content(&self) -> Content {
        Content::unmeasured(match &self.source {
            CodedSource::Filling(frame_rate) => *frame_rate,
            CodedSource::Pictures(pictures) => pictures.frame_rate,
        })
    }

    /// The pictures' name in tables.
    pub fn label(&self) -> &str {
        match &self.source {
            CodedSource::Filling(_) => "filling",
            CodedSource::Pictures(pictures) => &pictures.label,
        }
    }

    /// What its pictures are coded with.
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// Let the size of pictures change with the quantiser, by the rule of the simulated encoders.
    pub fn adapt_resolution(&mut self, adapts: bool) {
        self.adapts = adapts;
    }

    /// Have the viewed pictures scored by this program too, once the call is over.
    pub fn measure_vmaf(&mut self, program: VmafProgram) {
        self.coded.iter_mut().for_each(|coded| coded.measure_vmaf(program.clone()));
    }

    /// Leave this many bytes of each packet empty, for header extensions.
    pub(crate) fn leave_room(&mut self, bytes: u16) {
        self.room = bytes;
    }

    /// Start the thread, which reports each coded frame with its capture time, or why it failed. It ends when the
    /// sender's encoder is gone or `report` returns false, and returns everything coded.
    pub(crate) fn start(
        self,
        report: impl Fn(Result<(EncodedFrame, Timestamp), String>) -> bool + Send + 'static,
    ) -> Result<(CodedFrames, JoinHandle<Option<CodedCall>>), Error> {
        let Self { source, coding, room, adapts, coded: mut whole, jobs, busy, measured, frames } = self;
        let mut coder = Coder::new(source, coding, room, measured, adapts)?;
        let kept = frames.clone();
        let work = move || {
            let mut sequence = 0;
            while let Ok(work) = jobs.recv() {
                let job = match work {
                    Work::Code(job) => job,
                    Work::Hear(reports) => match coder.take_reports(&reports) {
                        Ok(()) => continue,
                        Err(error) => {
                            report(Err(error.to_string()));
                            break;
                        }
                    },
                };
                let coded = coder.code(&job.picture, &job.budget, sequence);
                busy.store(false, Ordering::Release);
                let word = coded.map_err(|error| error.to_string()).map(|coded| {
                    let encoded = describe(&job, sequence, &coded);
                    if let Some(whole) = &mut whole {
                        whole.push(job.picture.frame, coded.bytes);
                    }
                    let (capture, psnr_db) = (job.picture.capture, coded.psnr_db);
                    kept.push(CodedFrame { sequence, capture, psnr_db, frame: coded.frame });
                    sequence += 1;
                    (encoded, capture)
                });
                let failed = word.is_err();
                if !report(word) || failed {
                    break;
                }
                if let Err(error) = coder.look_ahead() {
                    // As for a picture that could not be coded: the call ends with this error.
                    report(Err(error.to_string()));
                    break;
                }
            }
            whole
        };
        let started = thread::Builder::new().name("legato-camera".to_owned()).spawn(work);
        let thread = started.map_err(|error| Error::System(format!("the camera's thread: {error}")))?;
        Ok((frames, thread))
    }
}

fn describe(job: &Job, sequence: u32, coded: &Coded) -> EncodedFrame {
    let (width, height) = coded.size;
    EncodedFrame {
        acknowledged: None,
        frame: job.picture.frame,
        sequence: u64::from(sequence),
        content: job.picture.content,
        rung: coded.rung,
        qp: f32::from(coded.qp),
        size: DataSize::from_bytes(u64::from(coded.frame.size_bytes())),
        head_bytes: coded.frame.head_bytes(),
        keyframe: coded.keyframe,
        width,
        height,
        psnr_db: coded.psnr_db,
        quality: None,
        bitrate: job.budget.bitrate,
    }
}

impl Encoder for Remote {
    fn encode(&mut self, _now: Timestamp, _frame: SourceFrame, _budget: EncoderBudget) -> EncodedFrame {
        unreachable!("a sender begins a frame and gets it later")
    }

    fn begin(&mut self, _now: Timestamp, picture: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        if self.busy.swap(true, Ordering::Acquire) {
            self.skipped += 1;
            self.keyframe_due |= budget.keyframe;
            return None;
        }
        let budget = EncoderBudget { keyframe: budget.keyframe || self.keyframe_due, ..budget };
        self.keyframe_due = false;
        // A camera that failed has reported it by mail.
        let _ = self.jobs.send(Work::Code(Job { picture, budget }));
        None
    }

    fn look(&self, frame: SourceFrame) -> SourceFrame {
        SourceFrame { complexity: self.measured.of(frame.frame), ..frame }
    }

    fn pieces(&self, frame: &EncodedFrame) -> Option<Vec<u16>> {
        self.frames.of(frame.sequence as u32, |coded| coded.frame.pieces())?
    }

    fn reported(&mut self, reports: &PacketReports) {
        if !self.hears {
            return;
        }
        let videos = reports.iter().filter(|report| report.kind == PacketKind::Video);
        let told = videos.filter_map(|report| {
            let FramePlace { frame, index, packets } = report.place?;
            Some(PacketReport { frame, place: index, packets, arrived: report.arrived() })
        });
        // A camera that failed has reported it by mail.
        let _ = self.jobs.send(Work::Hear(told.collect()));
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("encoder.skipped_frames", self.skipped as f64);
    }
}

impl CodedFrames {
    fn push(&self, frame: CodedFrame) {
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push_back(frame);
        if frames.len() > FRAMES_KEPT {
            frames.pop_front();
        }
    }

    /// The payload of packet `index` of coded frame `sequence`, if it is still kept.
    pub fn payload(&self, sequence: u32, index: u16) -> Option<Payload> {
        self.of(sequence, |CodedFrame { capture, psnr_db, frame, .. }| {
            Some(Payload { bytes: frame.payload(index)?, capture: *capture, psnr_db: *psnr_db })
        })?
    }

    /// The requested data of a frame, if it is still kept.
    fn of<T>(&self, sequence: u32, wanted: impl FnOnce(&CodedFrame) -> T) -> Option<T> {
        let frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = sequence.checked_sub(frames.front()?.sequence)?;
        frames.get(place as usize).map(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_codec::Recovery;
    use legato_media::FrameRate;
    use legato_units::DataRate;

    /// Three pictures, the second of which comes before the first is coded; returns the first and the third as coded.
    fn two_of_three(coding: Coding) -> [EncodedFrame; 2] {
        let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
        let (camera, mut encoder) = Camera::open(&source, coding).unwrap();
        let (reports, inbox) = mpsc::channel();
        let picture = |frame: u64| SourceFrame {
            frame,
            capture: Timestamp::from_millis(33 * frame as i64),
            content: 0,
            complexity: None,
        };
        let budget = EncoderBudget::of_bitrate(DataRate::from_bps(400_000));
        // A key frame was requested for the second.
        assert!(encoder.begin(Timestamp::ZERO, picture(0), budget).is_none());
        assert!(encoder.begin(Timestamp::ZERO, picture(1), EncoderBudget { keyframe: true, ..budget }).is_none());
        let (frames, thread) = camera.start(move |coded| reports.send(coded).is_ok()).unwrap();
        let next = |number| {
            let (frame, capture) = inbox.recv().unwrap().unwrap();
            assert_eq!(capture, picture(number).capture);
            frame
        };
        let first = next(0);
        assert!(first.keyframe && first.psnr_db.unwrap() > 20.0);
        encoder.begin(Timestamp::ZERO, picture(2), budget);
        let second = next(2);
        assert_eq!((second.frame, second.sequence, second.keyframe), (2, 1, true));
        let sizes = (0..).map_while(|index| frames.payload(1, index)).map(|payload| {
            assert_eq!((payload.capture, payload.psnr_db), (picture(2).capture, second.psnr_db));
            payload.bytes.len() as u64 - 2
        });
        assert_eq!(sizes.sum::<u64>(), second.size.as_bytes());
        assert!(frames.payload(2, 0).is_none());
        drop(encoder);
        thread.join().unwrap();
        [first, second]
    }

    #[test]
    fn frames_come_by_mail_with_their_payloads_and_a_busy_encoder_skips_pictures() {
        let coding = |codec| Coding::new(codec, Recovery::Nack).unwrap();
        let frames = two_of_three(coding("h264"));
        assert!(frames.iter().all(|frame| frame.head_bytes > 0));
        if let Err(error) = coding("vp8").check() {
            let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
            assert_eq!(Camera::open(&source, coding("vp8")).err(), Some(error.into()));
            return;
        }
        for codec in ["vp8", "vp9"] {
            assert!(two_of_three(coding(codec)).iter().all(|frame| frame.head_bytes == 0));
        }
    }
}
