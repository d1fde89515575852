//! What really happened in one decision interval, which no controller may see: only for rewards and
//! labels. It takes the records of a call in place of a recorder, and keeps sums.

use legato_trace::{Record, TraceSink};
use legato_units::{TimeDelta, Timestamp};

/// One interval, in truth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// Packets that came out of the forward path.
    pub arrived_packets: u32,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Mean of their one-way delays.
    pub one_way_delay: Option<TimeDelta>,
    /// Packets that were lost on it, known the moment it happens.
    pub lost_packets: u32,
    /// Pictures the decoder could decode.
    pub decoded_frames: u32,
    /// Frames it could not decode.
    pub undecodable_frames: u32,
    /// Mean SSIM of the decoded pictures; absent without a picture or without measured pixels.
    pub ssim_db: Option<f32>,
    /// The same; if none was decoded, that of the last picture before.
    pub shown_ssim_db: Option<f32>,
    /// `one_way_delay` plus the last feedback's way back.
    pub rtt: Option<TimeDelta>,
    /// Mean delay from capture to decodable.
    pub frame_delay: Option<TimeDelta>,
    /// Time without a picture at the interval's end.
    pub since_frame: TimeDelta,
}

/// Gathers the truth of a call, one interval at a time.
#[derive(Clone, Debug)]
pub struct TruthLog {
    now: Truth,
    delay_sum_ns: i64,
    ssim_sum_db: f32,
    scored: u32,
    frame_delay_sum_ns: i64,
    last_frame: Timestamp,
    last_ssim_db: Option<f32>,
    way_back: TimeDelta,
    /// When the latest pictures were captured, by number.
    captured: Box<[Timestamp; CAPTURES]>,
    next_capture: u64,
}

/// A frame that is decoded more than this many frames later is too old to matter.
const CAPTURES: usize = 512;

impl TruthLog {
    /// A call begins at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self {
            now: Truth::default(),
            delay_sum_ns: 0,
            ssim_sum_db: 0.0,
            scored: 0,
            frame_delay_sum_ns: 0,
            last_frame: start,
            last_ssim_db: None,
            way_back: TimeDelta::ZERO,
            captured: Box::new([start; CAPTURES]),
            next_capture: 0,
        }
    }

    /// End the interval at `now` and begin the next.
    pub fn close(&mut self, now: Timestamp) -> Truth {
        let mean = |sum_ns: i64, count: u32| (count > 0).then(|| TimeDelta::from_nanos(sum_ns / i64::from(count)));
        let one_way_delay = mean(self.delay_sum_ns, self.now.arrived_packets);
        let ssim_db = (self.scored > 0).then(|| self.ssim_sum_db / self.scored as f32);
        let truth = Truth {
            one_way_delay,
            rtt: one_way_delay.map(|forth| forth + self.way_back),
            ssim_db,
            shown_ssim_db: ssim_db.or(self.last_ssim_db),
            frame_delay: mean(self.frame_delay_sum_ns, self.now.decoded_frames),
            since_frame: now - self.last_frame,
            ..self.now
        };
        self.now = Truth::default();
        (self.delay_sum_ns, self.ssim_sum_db, self.scored, self.frame_delay_sum_ns) = (0, 0.0, 0, 0);
        truth
    }
}

impl TraceSink for TruthLog {
    #[inline(always)]
    fn record(&mut self, now: Timestamp, record: &Record<'_>) {
        match *record {
            Record::PacketsArrived { ref burst, arrivals } => {
                self.now.arrived_packets += arrivals.len() as u32;
                self.now.arrived_bytes += burst.bytes();
                let departure = burst.first.departure;
                self.delay_sum_ns += arrivals.iter().map(|&at| (at - departure).as_nanos()).sum::<i64>();
            }
            Record::PacketDropped { .. } => self.now.lost_packets += 1,
            Record::FrameCaptured { frame } => {
                self.captured[frame as usize % CAPTURES] = now;
                self.next_capture = frame + 1;
            }
            Record::FrameDecoded(decoded) => {
                if !decoded.decodable {
                    self.now.undecodable_frames += 1;
                    return;
                }
                self.now.decoded_frames += 1;
                self.last_frame = now;
                if self.next_capture - decoded.frame <= CAPTURES as u64 {
                    let captured = self.captured[decoded.frame as usize % CAPTURES];
                    self.frame_delay_sum_ns += (now - captured).as_nanos();
                }
                if let Some((ssim_db, _)) = decoded.quality_db {
                    self.ssim_sum_db += ssim_db;
                    self.last_ssim_db = Some(ssim_db);
                    self.scored += 1;
                }
            }
            _ => {}
        }
    }

    /// Pictures count as they are decoded; renderings are not needed.
    #[inline]
    fn wants_renderings(&self) -> bool {
        false
    }

    #[inline]
    fn feedback_took(&mut self, delay: TimeDelta) {
        self.way_back = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_trace::{FrameDecoded, PacketArrived};
    use legato_units::Burst;

    #[test]
    fn an_interval_holds_what_happened_in_it_and_the_next_begins_empty() {
        let ms = Timestamp::from_millis;
        let mut log = TruthLog::new(ms(0));
        log.feedback_took(TimeDelta::from_millis(20));
        log.record(ms(10), &Record::FrameCaptured { frame: 0 });
        let burst = Burst::single(PacketArrived { transport_seq: 0, size_bytes: 100, departure: ms(10) });
        log.record(ms(30), &Record::PacketsArrived { burst, arrivals: &[ms(30)] });
        let arrivals = [ms(35), ms(40)];
        let first = PacketArrived { transport_seq: 1, size_bytes: 100, departure: ms(10) };
        let burst = Burst { first, packets: arrivals.len() as u16, smaller: 1 };
        log.record(ms(35), &Record::PacketsArrived { burst, arrivals: &arrivals });
        log.record(ms(36), &Record::PacketDropped { transport_seq: 3, departure: ms(12), reason: "random" });
        let frame = FrameDecoded { frame: 0, lost_packets: 1, decodable: true, quality_db: Some((15.0, 40.0)) };
        log.record(ms(42), &Record::FrameDecoded(frame));
        let truth = log.close(ms(50));
        assert_eq!((truth.arrived_packets, truth.arrived_bytes, truth.lost_packets), (3, 299, 1));
        assert_eq!(truth.one_way_delay, Some(TimeDelta::from_millis(25)));
        assert_eq!(truth.rtt, Some(TimeDelta::from_millis(45)));
        assert_eq!((truth.ssim_db, truth.frame_delay), (Some(15.0), Some(TimeDelta::from_millis(32))));
        assert_eq!(truth.since_frame, TimeDelta::from_millis(8));
        let since_frame = TimeDelta::from_millis(58);
        let empty = Truth { since_frame, shown_ssim_db: Some(15.0), ..Truth::default() };
        assert_eq!(log.close(ms(100)), empty);
    }
}
