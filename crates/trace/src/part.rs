//! One part of a run folder: the tables of some calls, gathered in memory and written at once.

use crate::recorder::{LogLevel, Recorder};
use crate::sink::SERIES_INTERVAL;
use crate::summary::{Summary, Value};
use crate::table::{Column, write_table};
use crate::traffic::{TRAFFIC_INTERVAL, TrafficFigures};
use legato_control::PacketKind;
use legato_units::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// The columns that identify a call in every table.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "docs/reference/run-folder.md defines each")]
pub struct CallLabels {
    pub call: u64,
    pub session: u64,
    pub flow: Option<Arc<str>>,
    pub start_s: f64,
    pub scenario: Arc<str>,
    pub controller: Arc<str>,
    pub trace: Arc<str>,
    pub trace_family: Option<Arc<str>>,
    pub clip: Arc<str>,
    pub encoder: Arc<str>,
    pub decoder: Arc<str>,
    pub seed: u64,
}

/// Rows of the calls of one part, in order.
#[derive(Debug, Default)]
pub struct Part {
    level: LogLevel,
    calls: Vec<(CallLabels, Summary)>,
    series: Table,
    frames: Table,
    freezes: Table,
    gauges: Table,
    packets: Table,
    rtcp: Table,
    traffic: Table,
    traffic_series: Table,
}

/// Columns under construction.
#[derive(Debug, Default)]
struct Table(Vec<(&'static str, Column)>);

macro_rules! push {
    ($table:expr, $($name:literal: $kind:ident = $value:expr),* $(,)?) => {{
        let table = &mut $table.0;
        if table.is_empty() {
            $(table.push(($name, Column::$kind(Vec::new())));)*
        }
        let mut columns = table.iter_mut();
        $(match columns.next() {
            Some((_, Column::$kind(values))) => values.push($value),
            _ => unreachable!("each row has the columns of the first"),
        })*
    }};
}

impl Part {
    /// A part at this level.
    pub fn new(level: LogLevel) -> Self {
        Self { level, ..Self::default() }
    }

    /// Append a finished call.
    pub fn push(&mut self, labels: CallLabels, summary: Summary, recorder: &Recorder) {
        let call = labels.call;
        self.calls.push((labels, summary));
        if self.level < LogLevel::Series {
            return;
        }
        let start = recorder.start;
        let ms = |at: Timestamp| (at - start).as_millis_f64();
        for (n, row) in recorder.series().iter().enumerate() {
            let sample = &row.sample;
            push!(self.series,
                "call": U64 = call,
                "time_ms": U32 = Some((n as i64 * SERIES_INTERVAL.as_millis()) as u32),
                "capacity_bps": F32 = sample.capacity.map(|rate| rate.as_bps() as f32),
                "target_bitrate_bps": F32 = Some(sample.target_bitrate.as_bps() as f32),
                "encoder_bitrate_bps": F32 = Some(sample.encoder_bitrate.as_bps() as f32),
                "pacing_rate_bps": F32 = Some(sample.pacing_rate.as_bps() as f32),
                "sending_rate_bps": F32 = Some(row.sending_rate_bps()),
                "receiver_rate_bps": F32 = Some(row.receiver_rate_bps()),
                "queue_ms": F32 = sample.queue.map(|queue| queue.as_millis_f64() as f32),
                "one_way_delay_ms": F32 = row.one_way_delay_ms(),
                "rtt_ms": F32 = row.rtt_ms(),
                "loss_ratio": F32 = row.loss_ratio(),
                "pacer_queue_ms": F32 = Some(sample.pacer_queue.as_millis_f64() as f32),
                "rendered_frames": U32 = Some(u32::from(row.rendered_frames())),
                "ssim_db": F32 = row.ssim_db(),
                "height": U32 = row.height().map(u32::from),
            );
        }
        for (n, row) in recorder.frames().iter().enumerate() {
            let encoded = row.encoded;
            let decodable = row.decoded.filter(|(_, decoded)| decoded.decodable).map(|(at, _)| at);
            let quality = row.decoded.filter(|_| row.rendered.is_some()).and_then(|(_, decoded)| decoded.quality_db);
            push!(self.frames,
                "call": U64 = call,
                "frame": U32 = Some(n as u32),
                "captured_ms": F64 = Some(ms(row.captured)),
                "encoded": Bool = encoded.is_some(),
                "sequence": U32 = encoded.map(|encoded| encoded.sequence as u32),
                "size_bytes": U32 = encoded.map(|encoded| encoded.size_bytes),
                "packets": U32 = encoded.map(|encoded| u32::from(encoded.packets)),
                "lost_packets": U32 = row.decoded.map(|(_, decoded)| u32::from(decoded.lost_packets)),
                "qp": F32 = encoded.map(|encoded| encoded.qp),
                "height": U32 = encoded.map(|encoded| u32::from(encoded.height)),
                "keyframe": Bool = encoded.is_some_and(|encoded| encoded.keyframe),
                "decodable_ms": F64 = decodable.map(ms),
                "rendered_ms": F64 = row.rendered.map(ms),
                "frame_delay_ms": F32 = decodable.map(|at| (at - row.captured).as_millis_f64() as f32),
                "ssim_db": F32 = quality.map(|(ssim_db, _)| ssim_db),
                "psnr_db": F32 = quality.map(|(_, psnr_db)| psnr_db),
                "coded_psnr_db": F32 = encoded.and_then(|encoded| encoded.psnr_db),
                "viewed_vmaf": F32 = recorder.viewed_vmaf(n),
            );
        }
        for freeze in recorder.freezes() {
            push!(self.freezes,
                "call": U64 = call,
                "start_ms": F64 = Some(ms(freeze.start)),
                "duration_ms": F64 = Some(freeze.duration.as_millis_f64()),
            );
        }
        for gauge in recorder.gauges() {
            push!(self.gauges,
                "call": U64 = call,
                "time_ms": U32 = Some((gauge.at - start).as_millis() as u32),
                "name": Text = Some(Arc::from(gauge.name)),
                "value": F64 = Some(gauge.value),
            );
        }
        for row in recorder.packets() {
            push!(self.packets,
                "call": U64 = call,
                "sent_ns": I64 = Some((row.sent - start).as_nanos()),
                "transport_seq": U64 = row.packet.transport_seq,
                "ssrc": U32 = Some(row.packet.ssrc),
                "kind": Text = Some(Arc::from(kind_name(row.packet.kind))),
                "size_bytes": U32 = Some(u32::from(row.packet.size_bytes)),
                "sequence": U32 = row.packet.sequence,
                "arrived_ns": I64 = row.arrived.map(|at| (at - start).as_nanos()),
                "drop": Text = row.dropped.map(Arc::from),
                "ce": Bool = row.ce,
            );
        }
        for row in recorder.rtcp() {
            push!(self.rtcp,
                "call": U64 = call,
                "sent_ns": I64 = Some((row.sent - start).as_nanos()),
                "by": Text = Some(Arc::from(row.by.name())),
                "bytes": Bytes = row.bytes.clone(),
                "arrived_ns": I64 = row.arrived.map(|at| (at - start).as_nanos()),
            );
        }
    }

    /// Append a flow of a session that is not a call.
    pub fn push_traffic(&mut self, session: u64, flow: &TrafficFigures) {
        let name: Arc<str> = flow.name.as_str().into();
        push!(self.traffic,
            "session": U64 = session,
            "flow": Text = Some(name.clone()),
            "kind": Text = Some(Arc::from(flow.kind)),
            "start_s": F64 = Some(flow.start_s),
            "stop_s": F64 = Some(flow.stop_s),
            "sending_rate_bps": F64 = Some(flow.sending_rate_bps()),
            "receiver_rate_bps": F64 = Some(flow.receiver_rate_bps()),
            "goodput_bps": F64 = Some(flow.goodput_bps()),
            "packets_sent": U64 = flow.packets_sent,
            "packets_received": U64 = flow.packets_received,
            "packets_lost": U64 = flow.packets_lost,
            "retransmissions": U32 = flow.retransmissions.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            "one_way_delay_mean_ms": F64 = flow.one_way_delay_mean_ms(),
            "one_way_delay_std_ms": F64 = flow.one_way_delay_std_ms(),
        );
        if self.level < LogLevel::Series {
            return;
        }
        for (n, bin) in flow.bins().enumerate() {
            push!(self.traffic_series,
                "session": U64 = session,
                "flow": Text = Some(name.clone()),
                "time_ms": U32 = Some((n as i64 * TRAFFIC_INTERVAL.as_millis()) as u32),
                "sending_rate_bps": F32 = Some(bin.sending_rate_bps),
                "receiver_rate_bps": F32 = Some(bin.receiver_rate_bps),
                "packets_lost": U32 = Some(bin.packets_lost),
            );
        }
    }

    /// Write every table as `FOLDER/TABLE/NAME.parquet`, `summary` last: it marks the part as complete.
    pub fn write(self, folder: &Path, name: &str) -> Result<(), std::io::Error> {
        let write_one = |table: &str, columns: &[(&str, Column)]| {
            let place = folder.join(table);
            std::fs::create_dir_all(&place)?;
            write_table(&place.join(format!("{name}.parquet")), columns)
        };
        let tables = [
            ("series", &self.series),
            ("frames", &self.frames),
            ("freezes", &self.freezes),
            ("gauges", &self.gauges),
            ("packets", &self.packets),
            ("rtcp", &self.rtcp),
            ("traffic", &self.traffic),
            ("traffic_series", &self.traffic_series),
        ];
        for (table, columns) in tables {
            if !columns.0.is_empty() {
                write_one(table, &columns.0)?;
            }
        }
        write_one("summary", &self.summary_columns())
    }

    fn summary_columns(&self) -> Vec<(&'static str, Column)> {
        let text = |pick: fn(&CallLabels) -> Option<Arc<str>>| {
            Column::Text(self.calls.iter().map(|(labels, _)| pick(labels)).collect())
        };
        let mut columns = vec![
            ("call", Column::U64(self.calls.iter().map(|(labels, _)| labels.call).collect())),
            ("session", Column::U64(self.calls.iter().map(|(labels, _)| labels.session).collect())),
            ("flow", text(|labels| labels.flow.clone())),
            ("start_s", Column::F64(self.calls.iter().map(|(labels, _)| Some(labels.start_s)).collect())),
            ("scenario", text(|labels| Some(labels.scenario.clone()))),
            ("controller", text(|labels| Some(labels.controller.clone()))),
            ("trace", text(|labels| Some(labels.trace.clone()))),
            ("trace_family", text(|labels| labels.trace_family.clone())),
            ("clip", text(|labels| Some(labels.clip.clone()))),
            ("encoder", text(|labels| Some(labels.encoder.clone()))),
            ("decoder", text(|labels| Some(labels.decoder.clone()))),
            ("seed", Column::U64(self.calls.iter().map(|(labels, _)| labels.seed).collect())),
        ];
        let first = columns.len();
        for &(name, count) in Summary::COLUMNS {
            columns.push((name, if count { Column::U64(Vec::new()) } else { Column::F64(Vec::new()) }));
        }
        for (_, summary) in &self.calls {
            let mut place = first;
            summary.for_each(|value| {
                match (&mut columns[place].1, value) {
                    (Column::U64(values), Value::Count(count)) => values.push(count),
                    (Column::F64(values), Value::Figure(figure)) => values.push(figure),
                    _ => unreachable!("columns and values come from one list"),
                }
                place += 1;
            });
        }
        columns
    }
}

fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Audio => "audio",
        PacketKind::Fec => "fec",
        PacketKind::Padding => "padding",
        PacketKind::Retransmission => "retransmission",
        PacketKind::Video => "video",
    }
}
