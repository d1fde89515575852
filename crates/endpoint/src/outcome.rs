//! The progress of a call, and its final figures.

use crate::clock::Clock;
use crate::error::Error;
use crate::network::capacity_log::CapacityLog;
use crate::network::lateness::LatenessFigures;
use crate::viewing::seen::{Received, SeenPicture};
use crate::viewing::viewed::{CodedCall, Viewed};
use legato_media::Quality;
use legato_trace::{CallFacts, FrameDecoded, Record, Recorder, Summary, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::collections::BTreeMap;

/// The progress of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The connection is up; media flow once every call on the network can begin.
    pub reached: bool,
    /// Media flow.
    pub connected: bool,
    /// Its threads are done: [`Session::finish`](crate::Session::finish) does not wait.
    pub over: bool,
    /// Of the call's media.
    pub time: TimeDelta,
    /// The controller's.
    pub target: DataRate,
    /// Bytes that left the pacer.
    pub sent_bytes: u64,
    /// Bytes that came out of the forward path.
    pub arrived_bytes: u64,
    /// Pictures shown, if the receiving end is ours.
    pub shown_frames: u64,
}

/// The machine's and the connection's performance, next to the summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallReport {
    /// How late the emulated link was.
    pub lateness: LatenessFigures,
    /// From the answer to the first media.
    pub connecting: TimeDelta,
    /// Packets whose size on the wire differed from the sender's count.
    pub odd_sizes: u64,
    /// Packets that str0m numbered differently from the sender: must be zero, or feedback is about other packets.
    pub misnumbered: u64,
    /// Datagrams that reached the socket and were not part of the call.
    pub unreadable: u64,
    /// The call was stopped early.
    pub stopped: bool,
    /// Whether the shown pictures were compared with the captured ones.
    pub compared: bool,
    /// Pictures with another number in them than that of the frame they were sent as: must be zero.
    pub misread: u64,
    /// When media ended.
    pub end: Timestamp,
    /// Why there is no VMAF, if it was requested.
    pub vmaf_problem: Option<String>,
}

/// What the driver leaves behind.
pub(crate) struct Outcome {
    pub recorder: Recorder,
    pub report: CallReport,
    pub capacity: CapacityLog,
    /// It counts since the call's media began.
    pub clock: Clock,
    /// Captured frames by the RTP time of their packets.
    pub numbers: BTreeMap<u32, u64>,
    /// If the pictures were ours.
    pub coded: Option<CodedCall>,
    /// Pictures of Legato's receiving end, in decoding order.
    pub seen: Vec<SeenPicture>,
    /// The frames that Legato's receiving end decoded, by RTP time, where they differ from the coded ones.
    pub received: Option<Received>,
}

/// Figures of a call, their records, and the machine's performance.
pub type Finished = (Summary, Recorder, CallReport);

impl Outcome {
    /// Compute the figures, with the other end's reports on its pictures.
    pub fn figures(self, seen: &[SeenPicture]) -> Result<Finished, Error> {
        let Self { mut recorder, mut report, capacity, numbers, coded, .. } = self;
        let seen = known(seen, &numbers, report.end);
        let frames = seen.iter().filter(|(_, picture)| picture.shown.is_some()).map(|&(number, _)| number).collect();
        // A picture shown in part may show squares of the previous number.
        if coded.as_ref().is_some_and(|coded| !coded.shows_in_part()) {
            let stamp = |picture: &SeenPicture| picture.image.and_then(|image| image.stamp);
            let misread =
                |&(number, picture): &(u64, SeenPicture)| stamp(&picture).is_some_and(|stamp| stamp != number as u32);
            report.misread = seen.iter().filter(|told| misread(told)).count() as u64;
        }
        // A completed call is not lost because a clip can no longer be read or ffmpeg fails.
        let wants_vmaf = coded.as_ref().is_some_and(CodedCall::wants_vmaf);
        let viewed = match coded.map(|coded| coded.viewed(recorder.frames().len() as u64, &frames)) {
            Some(Err(Error::Interrupted)) => return Err(Error::Interrupted),
            viewed => viewed.and_then(|viewed| viewed.ok().flatten()),
        };
        let (qualities, vmaf) = viewed.map_or((None, None), |Viewed { qualities, vmaf }| (Some(qualities), vmaf));
        record_seen(&mut recorder, &seen, qualities.as_deref());
        match vmaf {
            Some(Ok(scores)) => recorder.judged(scores),
            Some(Err(error)) => report.vmaf_problem = Some(error.to_string()),
            None if wants_vmaf => report.vmaf_problem = Some("its pictures could not be compared".to_owned()),
            None => {}
        }
        let aged = qualities.as_deref().map(|qualities| {
            move |_: u64, quality: (f32, f32), frame: u64| quality_of(qualities, frame).unwrap_or(quality)
        });
        let facts = CallFacts { end: report.end, link: capacity.facts(), aged: aged.as_ref().map(|aged| aged as _) };
        let summary = recorder.finish(facts);
        Ok((summary, recorder, CallReport { compared: qualities.is_some(), ..report }))
    }
}

/// The recorded frames that came before `end`, by their numbers; frames shown later count as not shown.
fn known(seen: &[SeenPicture], numbers: &BTreeMap<u32, u64>, end: Timestamp) -> Vec<(u64, SeenPicture)> {
    let within = seen.iter().filter(|picture| picture.decodable_at < end);
    let shown = |picture: &SeenPicture| picture.shown.filter(|&at| at < end);
    let told = |picture| SeenPicture { shown: shown(picture), ..*picture };
    within.filter_map(|picture| Some((*numbers.get(&picture.rtp_timestamp)?, told(picture)))).collect()
}

/// SSIM and PSNR of the picture on the screen for a frame.
fn quality_of(qualities: &[Option<Quality>], frame: u64) -> Option<(f32, f32)> {
    let Quality { ssim_db, psnr_db } = (*qualities.get(frame as usize)?)?;
    Some((ssim_db, psnr_db))
}

/// Record the fate of frames, and then the pictures in the order they were shown.
fn record_seen(recorder: &mut Recorder, seen: &[(u64, SeenPicture)], qualities: Option<&[Option<Quality>]>) {
    for &(frame, picture) in seen {
        let quality_db = qualities.and_then(|qualities| quality_of(qualities, frame));
        let SeenPicture { lost_packets, decodable_at: at, .. } = picture;
        let decodable = picture.decoded;
        recorder.record(at, &Record::FrameDecoded(FrameDecoded { frame, lost_packets, decodable, quality_db }));
    }
    let mut shown: Vec<_> = seen.iter().filter_map(|&(frame, picture)| Some((picture.shown?, frame))).collect();
    shown.sort_unstable();
    for (at, frame) in shown {
        recorder.record(at, &Record::FrameRendered { frame });
    }
}
