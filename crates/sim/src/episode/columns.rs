//! An interval as a row of numbers, for Python: rewards are functions of these. Names end in their
//! units; values the controller cannot know begin with `true_`.

use super::Outcome;
use legato_units::{DataRate, TimeDelta};

/// The names, in order.
pub const COLUMNS: &[&str] = &[
    "interval_s",
    "target_bitrate_bps",
    "sending_rate_bps",
    "receiver_rate_bps",
    "receiver_rate_200ms_bps",
    "loss_ratio",
    "longest_loss_packets",
    "delay_ms",
    "delay_gradient",
    "rtt_ms",
    "min_rtt_ms",
    "frames",
    "frame_psnr_db",
    "frame_height",
    "frame_delay_ms",
    "takeovers",
    "true_capacity_bps",
    "true_capacity_ahead_bps",
    "true_receiver_rate_bps",
    "true_loss_ratio",
    "true_one_way_delay_ms",
    "true_rtt_ms",
    "true_decoded_frames",
    "true_undecodable_frames",
    "true_ssim_db",
    "true_shown_ssim_db",
    "true_frame_delay_ms",
    "true_since_frame_ms",
];

/// Write the row; unknown values are NaN. `row` is as long as [`COLUMNS`].
pub fn columns(outcome: &Outcome, row: &mut [f32]) {
    let Outcome { stats, truth, capacity, capacity_ahead, .. } = outcome;
    let ms = |span: Option<TimeDelta>| span.map_or(f32::NAN, |span| span.as_millis_f64() as f32);
    let bps = |rate: Option<DataRate>| rate.map_or(f32::NAN, |rate| rate.as_bps_f64() as f32);
    let span_s = stats.span.as_secs_f64();
    let told = truth.arrived_packets + truth.lost_packets;
    let values = [
        span_s as f32,
        bps(Some(stats.target_bitrate)),
        bps(Some(stats.sending_rate())),
        bps(Some(stats.receiver_rate())),
        bps(Some(stats.receiver_rate_200ms)),
        stats.loss_ratio() as f32,
        stats.longest_loss as f32,
        ms(stats.delay),
        stats.delay_gradient() as f32,
        ms(stats.rtt),
        ms(stats.min_rtt),
        stats.frames.count as f32,
        stats.frames.psnr_db.unwrap_or(f32::NAN),
        f32::from(stats.frames.height),
        ms(stats.frames.delay),
        outcome.takeovers as f32,
        bps(*capacity),
        bps(*capacity_ahead),
        if span_s > 0.0 { (truth.arrived_bytes as f64 * 8.0 / span_s) as f32 } else { 0.0 },
        if told == 0 { 0.0 } else { truth.lost_packets as f32 / told as f32 },
        ms(truth.one_way_delay),
        ms(truth.rtt),
        truth.decoded_frames as f32,
        truth.undecodable_frames as f32,
        truth.ssim_db.unwrap_or(f32::NAN),
        truth.shown_ssim_db.unwrap_or(f32::NAN),
        ms(truth.frame_delay),
        ms(Some(truth.since_frame)),
    ];
    row.copy_from_slice(&values);
}
