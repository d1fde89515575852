//! One row per call: what docs/reference/run-folder.md defines, column by column, in its order.

/// The figures of a call. Absent is `None`: never zero, −1 or infinity.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "docs/reference/run-folder.md defines each; the names carry the units")]
pub struct Summary {
    pub duration_s: f64,
    pub capacity_mean_bps: Option<f64>,
    pub target_bitrate_mean_bps: f64,
    pub sending_rate_bps: f64,
    pub receiver_rate_bps: f64,
    pub goodput_bps: Option<f64>,
    pub utilisation_ratio: Option<f64>,
    pub padding_ratio: Option<f64>,
    pub rtx_ratio: Option<f64>,
    pub fec_ratio: Option<f64>,
    pub feedback_rate_bps: f64,
    pub packets_sent: u64,
    pub packets_received: u64,
    pub loss_ratio: Option<f64>,
    pub residual_loss_ratio: Option<f64>,
    pub ce_ratio: Option<f64>,
    pub one_way_delay_mean_ms: Option<f64>,
    pub one_way_delay_std_ms: Option<f64>,
    pub one_way_delay_p50_ms: Option<f64>,
    pub one_way_delay_p95_ms: Option<f64>,
    pub one_way_delay_p98_ms: Option<f64>,
    pub queue_delay_mean_ms: Option<f64>,
    pub queue_delay_p95_ms: Option<f64>,
    pub rtt_mean_ms: Option<f64>,
    pub rtt_p50_ms: Option<f64>,
    pub rtt_p95_ms: Option<f64>,
    pub rtt_p98_ms: Option<f64>,
    pub pacer_delay_mean_ms: Option<f64>,
    pub pacer_delay_p95_ms: Option<f64>,
    pub frames_captured: u64,
    pub frames_encoded: u64,
    pub frames_rendered: u64,
    pub rendered_fps: f64,
    pub frame_drop_ratio: Option<f64>,
    pub frame_delay_mean_ms: Option<f64>,
    pub frame_delay_p50_ms: Option<f64>,
    pub frame_delay_p95_ms: Option<f64>,
    pub frame_delay_p98_ms: Option<f64>,
    pub render_delay_mean_ms: Option<f64>,
    pub render_delay_p95_ms: Option<f64>,
    pub render_delay_p98_ms: Option<f64>,
    pub viewed_delay_mean_ms: Option<f64>,
    pub viewed_delay_p50_ms: Option<f64>,
    pub viewed_delay_p95_ms: Option<f64>,
    pub viewed_delay_p98_ms: Option<f64>,
    pub on_time_150ms_ratio: Option<f64>,
    pub on_time_400ms_ratio: Option<f64>,
    pub ssim_db_mean: Option<f64>,
    pub psnr_db_mean: Option<f64>,
    pub viewed_ssim_db_mean: Option<f64>,
    pub viewed_psnr_db_mean: Option<f64>,
    pub viewed_vmaf_mean: Option<f64>,
    pub coded_psnr_db_mean: Option<f64>,
    pub qp_mean: Option<f64>,
    pub height_mean: Option<f64>,
    pub stalls_per_s: f64,
    pub stall_ratio: f64,
    pub stall_floor_ratio: Option<f64>,
    pub dead_link_s: Option<f64>,
    pub freezes: u64,
    pub freeze_ratio: f64,
    pub keyframes: u64,
    pub resolution_switches: u64,
    pub nacks: u64,
    pub plis: u64,
    pub probe_clusters: u64,
    pub target_bitrate_change_ratio: Option<f64>,
    pub mmsys21_score: Option<f64>,
    pub qoe_p: Option<f64>,
    pub qoe_d: Option<f64>,
    pub viewed_qoe_p: Option<f64>,
    pub viewed_qoe_d: Option<f64>,
}

/// A value of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// A figure, absent if not defined.
    Figure(Option<f64>),
}

macro_rules! columns {
    ($($kind:ident $name:ident),* $(,)?) => {
        impl Summary {
            /// Every column, in order, with whether it is a count.
            pub const COLUMNS: &'static [(&'static str, bool)] = &[$((stringify!($name), columns!(@count $kind))),*];

            /// Visit every column in order.
            pub fn for_each(&self, mut visit: impl FnMut(Value)) {
                $(visit(columns!(@value $kind, self.$name));)*
            }
        }
    };
    (@count count) => { true };
    (@count figure) => { false };
    (@count maybe) => { false };
    (@value count, $value:expr) => { Value::Count($value) };
    (@value figure, $value:expr) => { Value::Figure(Some($value)) };
    (@value maybe, $value:expr) => { Value::Figure($value) };
}

columns! {
    figure duration_s, maybe capacity_mean_bps, figure target_bitrate_mean_bps, figure sending_rate_bps,
    figure receiver_rate_bps, maybe goodput_bps, maybe utilisation_ratio, maybe padding_ratio, maybe rtx_ratio,
    maybe fec_ratio, figure feedback_rate_bps, count packets_sent, count packets_received, maybe loss_ratio,
    maybe residual_loss_ratio, maybe ce_ratio, maybe one_way_delay_mean_ms, maybe one_way_delay_std_ms,
    maybe one_way_delay_p50_ms, maybe one_way_delay_p95_ms,
    maybe one_way_delay_p98_ms, maybe queue_delay_mean_ms, maybe queue_delay_p95_ms, maybe rtt_mean_ms,
    maybe rtt_p50_ms, maybe rtt_p95_ms, maybe rtt_p98_ms, maybe pacer_delay_mean_ms, maybe pacer_delay_p95_ms,
    count frames_captured, count frames_encoded, count frames_rendered, figure rendered_fps, maybe frame_drop_ratio,
    maybe frame_delay_mean_ms, maybe frame_delay_p50_ms, maybe frame_delay_p95_ms, maybe frame_delay_p98_ms,
    maybe render_delay_mean_ms, maybe render_delay_p95_ms, maybe render_delay_p98_ms, maybe viewed_delay_mean_ms,
    maybe viewed_delay_p50_ms, maybe viewed_delay_p95_ms, maybe viewed_delay_p98_ms, maybe on_time_150ms_ratio,
    maybe on_time_400ms_ratio, maybe ssim_db_mean, maybe psnr_db_mean, maybe viewed_ssim_db_mean,
    maybe viewed_psnr_db_mean, maybe viewed_vmaf_mean, maybe coded_psnr_db_mean, maybe qp_mean, maybe height_mean,
    figure stalls_per_s, figure stall_ratio, maybe stall_floor_ratio, maybe dead_link_s, count freezes,
    figure freeze_ratio, count keyframes, count resolution_switches, count nacks, count plis, count probe_clusters,
    maybe target_bitrate_change_ratio, maybe mmsys21_score, maybe qoe_p, maybe qoe_d, maybe viewed_qoe_p,
    maybe viewed_qoe_d,
}
