//! `clcc` believes that a receiver which sees packets and frames together knows more than one that sees only
//! packets: once quality is saturated, more bitrate is only risk ([clcc]). Every 200 ms it observes the delay, its
//! change and the longest loss burst, the encoder's PSNR, resolution and frame delay, and its own last action, and
//! scales its bitrate. Frame figures travel in band: the sender writes them next to each frame.

use super::{Learned, Scheme};
use crate::ukf::Ukf;
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Event, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// CLCC.
pub type Clcc = Learned<ClccScheme>;

/// [`Clcc`]'s features and actions.
#[derive(Clone)]
pub struct ClccScheme {
    /// Rows of the largest picture so far: "the resolution of the original video" is not transmitted.
    largest_height: u16,
    /// Of the frames of the current interval: PSNR times the share of the largest picture's pixels.
    quality_sum: f32,
    frames: u32,
    /// The last interval's, for intervals without frames.
    last_quality: f32,
    last_resolution: f32,
}

impl ClccScheme {
    fn pixels(&self, height: u16) -> f32 {
        let share = f32::from(height) / f32::from(self.largest_height.max(1));
        share * share
    }

    fn quality(&self) -> f32 {
        if self.frames == 0 { self.last_quality } else { self.quality_sum / self.frames as f32 }
    }

    fn resolution(&self, stats: &WindowStats) -> f32 {
        if stats.frames.count == 0 { self.last_resolution } else { self.pixels(stats.frames.height) }
    }
}

impl Scheme for ClccScheme {
    const NAME: &'static str = "clcc";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "learned from packets and frames, at the receiver";
    const CITES: &'static [&'static str] = &["clcc"];
    // [clcc] §II: τ = 200 ms
    const INTERVAL: TimeDelta = TimeDelta::from_millis(200);
    const LAYOUT: Layout = Layout {
        features: &[
            "packet_delay",
            "packet_delay_change",
            "burst_loss_ratio",
            "frame_quality",
            "frame_resolution",
            "frame_delay",
            "frame_delay_change",
            "last_action",
        ],
        width: 1,
        history: 1,
    };
    const ACTIONS: ActionSpace = ActionSpace::Continuous { low: 0.0, high: 1.0 };
    type Fallback = Ukf;

    fn new(_context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self { largest_height: 0, quality_sum: 0.0, frames: 0, last_quality: 0.0, last_resolution: 1.0 })
    }

    fn on_event(&mut self, _now: Timestamp, event: &Event) {
        if let Event::FrameReport(report) = event
            && report.rendered
        {
            self.largest_height = self.largest_height.max(report.height);
            // [clcc] eq. (1): q_frame = 1/n Σ PSNR_enc,i · r_i / maxR
            self.quality_sum += report.psnr_db.unwrap_or(0.0) * self.pixels(report.height);
            self.frames += 1;
        }
    }

    /// [clcc] Table I. Delays in seconds above the minimum of the call (the paper: above the first packet's);
    /// PSNR in units of 50 dB.
    fn features(&self, stats: &WindowStats, last_action: f32, out: &mut [f32]) {
        let seconds = |span: Option<TimeDelta>| span.map_or(0.0, |span| span.as_secs_f64() as f32);
        let change = |now: Option<TimeDelta>, before: Option<TimeDelta>| match (now, before) {
            (Some(now), Some(before)) => (now - before).as_secs_f64() as f32,
            _ => 0.0,
        };
        let reported = (stats.arrived_packets + stats.lost_packets).max(1);
        out[0] = seconds(stats.delay).min(5.0);
        out[1] = change(stats.delay, stats.delay_before).clamp(-5.0, 5.0);
        out[2] = stats.longest_loss as f32 / reported as f32;
        out[3] = self.quality() / 50.0;
        out[4] = self.resolution(stats);
        out[5] = seconds(stats.frames.delay).min(5.0);
        out[6] = change(stats.frames.delay, stats.frames.delay_before).clamp(-5.0, 5.0);
        out[7] = last_action;
    }

    fn target(&self, action: f32, _stats: &WindowStats, target: DataRate) -> DataRate {
        action::clcc(action, target)
    }

    fn close(&mut self, stats: &WindowStats) {
        (self.last_quality, self.last_resolution) = (self.quality(), self.resolution(stats));
        (self.quality_sum, self.frames) = (0.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::window::FrameStats;
    use legato_control::{FrameReport, NoAssets, RateLimits};
    use legato_units::DataSize;

    /// [clcc] eq. (1) and [clcc] Table I, worked by hand; [clcc] §II.
    #[test]
    fn quality_of_a_smaller_picture_counts_by_its_pixels() {
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let mut scheme = ClccScheme::new(context).unwrap();
        let frame = |height, psnr_db| {
            Event::FrameReport(FrameReport {
                frame: 0,
                rendered: true,
                keyframe: false,
                size: DataSize::ZERO,
                assembly: TimeDelta::ZERO,
                interval: TimeDelta::ZERO,
                height,
                psnr_db: Some(psnr_db),
                queued: None,
            })
        };
        scheme.on_event(Timestamp::ZERO, &frame(720, 40.0));
        scheme.on_event(Timestamp::ZERO, &frame(360, 40.0));
        let stats = WindowStats {
            arrived_packets: 8,
            lost_packets: 2,
            longest_loss: 2,
            delay: Some(TimeDelta::from_millis(30)),
            delay_before: Some(TimeDelta::from_millis(10)),
            frames: FrameStats { count: 2, height: 720, ..FrameStats::default() },
            ..WindowStats::default()
        };
        let mut seen = [0.0; 8];
        scheme.features(&stats, 0.3, &mut seen);
        // (40 + 40 / 4) / 2 = 25 dB of 50.
        assert_eq!(seen, [0.03, 0.02, 0.2, 0.5, 1.0, 0.0, 0.0, 0.3]);
        scheme.close(&stats);
        scheme.features(&WindowStats::default(), 0.3, &mut seen);
        assert_eq!((ClccScheme::INTERVAL.as_millis(), seen[3], seen[4]), (200, 0.5, 1.0));
    }
}
