//! A scenario: everything a call depends on but its seed, as a TOML file. Every key has a default,
//! unknown ones are refused. docs/scenario.md lists them.

use crate::error::SimError;
use crate::flows::{CallSpec, Flows, LinkSpec, TcpSpec, UdpSpec};
use crate::pauses::{self, PauseSpec};
use legato_call::FeedbackFormat;
use legato_path::generate::Generator;
use serde::{Deserialize, Serialize};

/// A scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// What reports call it.
    pub name: String,
    /// Simulated length.
    pub duration_s: f64,
    /// Bounds and start of the target bitrate.
    pub limits: LimitsSpec,
    /// The rate controller. A receiver-side one goes to the receiver, and `remote` to the sender.
    pub controller: ControllerSpec,
    /// A rate controller at the receiver, where `controller` says what is at the sender: `remote`, with
    /// its parameters, or one that takes the remote estimate as one word among others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_controller: Option<ControllerSpec>,
    /// What is sent.
    pub video: VideoSpec,
    /// An audio stream beside the video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioSpec>,
    /// The sending end.
    pub sender: SenderSpec,
    /// The receiving end.
    pub receiver: ReceiverSpec,
    /// From sender to receiver.
    pub forward: PathSpec,
    /// From receiver to sender.
    pub reverse: PathSpec,
    /// The receiver's clock.
    pub clock: ClockSpec,
    /// Calls beside each other on the same links; absent: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallSpec>>,
    /// TCP beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<TcpSpec>,
    /// Constant-rate UDP beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub udp: Vec<UdpSpec>,
    /// Further bottlenecks that flows are routed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSpec>,
    /// When the sender's media is paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseSpec>,
}

/// Bounds and start of the target bitrate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSpec {
    /// Never decide below this.
    pub min_bps: u64,
    /// Decide this until something is known.
    pub start_bps: u64,
    /// Never decide above this.
    pub max_bps: u64,
}

/// A controller and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// A name of `legato controllers list`.
    pub name: String,
    /// Its parameters; absent ones take their defaults.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub config: toml::Table,
}

/// What is sent and how it is coded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VideoSpec {
    /// A profile: a path, relative to the scenario's folder. Absent: no pixels, encoder
    /// `statistical`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<String>,
    /// Instead of a clip: logs of frame sizes at several bitrates, the ladder of RFC 8593's
    /// trace-driven source. No pixels either.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_sizes: Vec<FrameSizesSpec>,
    /// `x264`, `openh264`, or `grace_standin` with the decoder `loss_tolerant`.
    pub encoder: String,
    /// `strict`, `sliced` or `loss_tolerant`.
    pub decoder: String,
    /// The encoder's buffer: short ones follow the target closely.
    pub vbv_ms: u32,
    /// Change the resolution with the quantiser. Absent: simulated calls do, real ones, whose viewers see each key
    /// frame of another size as a freeze, do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapt_resolution: Option<bool>,
    /// Code no more rows than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u16>,
    /// Rows of what `grace_standin` codes: its figures are of pixels, so they hold for any size. Absent: the
    /// largest that the clip was measured at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standin_height: Option<u16>,
    /// The picture of the clip that calls begin with, counted round and round; absent: drawn from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_picture: Option<u32>,
    /// Pictures a second of the statistical source; clips have their own.
    pub fps: u32,
    /// A key frame every so many frames and at no other time; absent: when one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gop_frames: Option<u32>,
}

/// A log of frame sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSizesSpec {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// The target it was made at.
    pub bitrate_bps: u64,
}

/// A constant-rate audio stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AudioSpec {
    /// Coded, without headers.
    pub bitrate_bps: u64,
    /// One packet each.
    pub interval_ms: u32,
}

/// The sending end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SenderSpec {
    /// The pacer lets go at once what its rate passes in this time.
    pub burst_ms: f64,
    /// The pacer speeds up rather than hold media longer.
    pub queue_time_limit_ms: f64,
    /// Pictures are skipped while the pacer holds more.
    pub max_pacer_queue_ms: f64,
    /// Answer requests for lost packets.
    pub retransmit: bool,
    /// The ECN field media packets leave with: `off`, `ect0` or `ect1`.
    pub ecn: String,
    /// End the sending where RFC 8083 wants it ended.
    pub circuit_breakers: bool,
}

/// The receiving end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiverSpec {
    /// Feedback takes 5 % of the bitrate, no more often than this …
    pub min_feedback_interval_ms: f64,
    /// … and no less often than this.
    pub max_feedback_interval_ms: f64,
    /// Ask for lost packets again. Absent: yes, unless the decoder is `loss_tolerant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack: Option<bool>,
    /// Each so often, until it comes. Absent: once a round trip, which repairs show, ten times at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack_interval_ms: Option<f64>,
    /// How long a decoder that takes incomplete frames waits for what is missing once a later frame
    /// has begun. Absent: 150 with retransmission, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_wait_ms: Option<f64>,
    /// Least delay kept against jitter.
    pub min_playout_delay_ms: f64,
    /// Largest delay kept against jitter.
    pub max_playout_delay_ms: f64,
    /// How the sender is told what arrived: `twcc` or `ccfb`; the one excludes the other.
    pub feedback: String,
}

/// One direction of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathSpec {
    /// The bottleneck; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacitySpec>,
    /// What waits for the bottleneck.
    pub queue: QueueSpec,
    /// One way, without queue and transmission.
    pub propagation_ms: f64,
    /// Independent random loss.
    pub loss_ratio: f64,
    /// Loss in bursts, in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<GilbertElliottSpec>,
    /// Packet delay variation of RFC 8868.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// Packets that are overtaken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderSpec>,
}

/// The bottleneck's capacity: exactly one of the first four keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CapacitySpec {
    /// One rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant_bps: Option<u64>,
    /// `[[time_s, rate_bps], …]`, the first at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<(f64, u64)>>,
    /// A trace file, relative to the scenario's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// A random network, drawn from the seed: of a paper (`nvc-cc`, `clcc`), wider than any paper's (`broad`), or one of
    /// several (`clcc+broad`). Brings its own delay, loss and queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The trace's format, where its content does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Multiplies the trace's rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Where in the trace the call begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// How much of the trace is played before it repeats; absent: to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
}

/// The queue in front of the bottleneck. At most one limit; absent: 300 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSpec {
    /// `drop_tail`, `codel` or `pie`.
    pub kind: String,
    /// In ms at the reference rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<f64>,
    /// In bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// In packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
    /// What turns ms into bytes; absent: the constant rate, the largest step, the trace's mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_bps: Option<u64>,
    /// A limit in ms follows the capacity as it varies.
    pub rescale: bool,
    /// `codel` and `pie` mark packets that are capable of it in place of dropping them.
    pub ecn: bool,
    /// `drop_tail` marks capable packets that wait longer; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_above_ms: Option<f64>,
}

/// Loss in bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GilbertElliottSpec {
    /// From the good to the bad state, per packet.
    pub good_to_bad_ratio: f64,
    /// Back, per packet.
    pub bad_to_good_ratio: f64,
    /// Loss in the good state.
    pub loss_good_ratio: f64,
    /// Loss in the bad state.
    pub loss_bad_ratio: f64,
}

/// RFC 8868 section 2.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JitterSpec {
    /// Standard deviation.
    pub std_ms: f64,
    /// Where it is cut, in standard deviations.
    pub n_std: f64,
}

/// Packets that take longer, so that others overtake them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReorderSpec {
    /// How many.
    pub packet_ratio: f64,
    /// How much longer.
    pub extra_ms: f64,
}

/// The receiver's clock against the sender's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClockSpec {
    /// Ahead by this at the start.
    pub offset_ms: f64,
    /// Gains this many microseconds a second.
    pub drift_ppm: f64,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            name: "unnamed".to_owned(),
            duration_s: 60.0,
            limits: LimitsSpec::default(),
            controller: ControllerSpec { name: "gcc".to_owned(), config: toml::Table::new() },
            receiver_controller: None,
            video: VideoSpec::default(),
            audio: None,
            sender: SenderSpec::default(),
            receiver: ReceiverSpec::default(),
            forward: PathSpec::default(),
            reverse: PathSpec::default(),
            clock: ClockSpec::default(),
            calls: None,
            tcp: Vec::new(),
            udp: Vec::new(),
            links: Vec::new(),
            pauses: Vec::new(),
        }
    }
}

impl Default for LimitsSpec {
    fn default() -> Self {
        Self { min_bps: 50_000, start_bps: 300_000, max_bps: 6_000_000 }
    }
}

impl Default for VideoSpec {
    fn default() -> Self {
        Self {
            clip: None,
            frame_sizes: Vec::new(),
            encoder: "x264".to_owned(),
            decoder: "strict".to_owned(),
            vbv_ms: 500,
            adapt_resolution: None,
            max_height: None,
            standin_height: None,
            first_picture: None,
            fps: 30,
            gop_frames: None,
        }
    }
}

impl Default for AudioSpec {
    /// RFC 8867 section 4.3.
    fn default() -> Self {
        Self { bitrate_bps: 20_000, interval_ms: 20 }
    }
}

impl Default for SenderSpec {
    fn default() -> Self {
        Self {
            burst_ms: 40.0,
            queue_time_limit_ms: 2_000.0,
            max_pacer_queue_ms: 2_000.0,
            retransmit: true,
            ecn: "off".to_owned(),
            circuit_breakers: true,
        }
    }
}

impl Default for ReceiverSpec {
    fn default() -> Self {
        Self {
            min_feedback_interval_ms: 50.0,
            max_feedback_interval_ms: 250.0,
            nack: None,
            nack_interval_ms: None,
            partial_wait_ms: None,
            min_playout_delay_ms: 0.0,
            max_playout_delay_ms: 10_000.0,
            feedback: "twcc".to_owned(),
        }
    }
}

impl Default for PathSpec {
    fn default() -> Self {
        Self {
            capacity: None,
            queue: QueueSpec::default(),
            propagation_ms: 25.0,
            loss_ratio: 0.0,
            gilbert_elliott: None,
            jitter: None,
            reorder: None,
        }
    }
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            kind: "drop_tail".to_owned(),
            limit_ms: None,
            limit_bytes: None,
            limit_packets: None,
            reference_bps: None,
            rescale: false,
            ecn: true,
            mark_above_ms: None,
        }
    }
}

impl Default for GilbertElliottSpec {
    fn default() -> Self {
        Self { good_to_bad_ratio: 0.01, bad_to_good_ratio: 0.3, loss_good_ratio: 0.0, loss_bad_ratio: 0.5 }
    }
}

impl Default for JitterSpec {
    fn default() -> Self {
        Self { std_ms: 5.0, n_std: 3.0 }
    }
}

impl Default for ReorderSpec {
    fn default() -> Self {
        Self { packet_ratio: 0.01, extra_ms: 10.0 }
    }
}

impl Default for ClockSpec {
    fn default() -> Self {
        Self { offset_ms: 123_456.789, drift_ppm: 20.0 }
    }
}

/// No scenario text is larger.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// What `sender.ecn` may say.
const ECN_NAMES: [&str; 3] = ["ect0", "ect1", "off"];
/// A day.
pub(crate) const MAX_DURATION_S: f64 = 86_400.0;

impl Scenario {
    /// Read the text of `file`; the name is for messages.
    pub fn parse(text: &str, file: &str) -> Result<Self, SimError> {
        let refuse = |line, message: String| SimError::Scenario { file: file.to_owned(), line, key: None, message };
        if text.len() > MAX_TEXT_BYTES {
            return Err(refuse(None, format!("{} bytes are more than 1 MiB", text.len())));
        }
        let scenario: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            refuse(line, describe(&error, text))
        })?;
        scenario.check().map_err(|(key, message)| SimError::Scenario {
            file: file.to_owned(),
            line: None,
            key: Some(key),
            message,
        })?;
        Ok(scenario)
    }

    /// The text of the scenario with every default written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is tables of plain values")
    }

    /// Values that no part of the simulator could work with.
    fn check(&self) -> Result<(), (String, String)> {
        within("duration_s", self.duration_s, 0.1, MAX_DURATION_S)?;
        self.limits.check("limits")?;
        if self.video.clip.is_some() && !self.video.frame_sizes.is_empty() {
            let message = "video.clip and video.frame_sizes exclude one another".to_owned();
            return Err(("video".to_owned(), message));
        }
        within("video.fps", f64::from(self.video.fps), 1.0, 240.0)?;
        within("video.gop_frames", f64::from(self.video.gop_frames.unwrap_or(1)), 1.0, 1e6)?;
        within("video.vbv_ms", f64::from(self.video.vbv_ms), 20.0, 10_000.0)?;
        within("video.standin_height", f64::from(self.video.standin_height.unwrap_or(360)), 16.0, 4_320.0)?;
        one_of("video.decoder", &self.video.decoder, &legato_media::decoder::NAMES)?;
        if let Some(audio) = &self.audio {
            within("audio.bitrate_bps", audio.bitrate_bps as f64, 0.0, 1e6)?;
            within("audio.interval_ms", f64::from(audio.interval_ms), 1.0, 1_000.0)?;
        }
        within("sender.burst_ms", self.sender.burst_ms, 0.1, 1_000.0)?;
        within("sender.queue_time_limit_ms", self.sender.queue_time_limit_ms, 1.0, 60_000.0)?;
        within("sender.max_pacer_queue_ms", self.sender.max_pacer_queue_ms, 1.0, 60_000.0)?;
        one_of("sender.ecn", &self.sender.ecn, &ECN_NAMES)?;
        let receiver = &self.receiver;
        one_of("receiver.feedback", &receiver.feedback, &FeedbackFormat::NAMES)?;
        within("receiver.min_feedback_interval_ms", receiver.min_feedback_interval_ms, 1.0, 10_000.0)?;
        let least = receiver.min_feedback_interval_ms;
        within("receiver.max_feedback_interval_ms", receiver.max_feedback_interval_ms, least, 10_000.0)?;
        within("receiver.nack_interval_ms", receiver.nack_interval_ms.unwrap_or(100.0), 1.0, 10_000.0)?;
        within("receiver.partial_wait_ms", receiver.partial_wait_ms.unwrap_or(0.0), 0.0, 10_000.0)?;
        within("receiver.min_playout_delay_ms", receiver.min_playout_delay_ms, 0.0, 10_000.0)?;
        let least = receiver.min_playout_delay_ms;
        within("receiver.max_playout_delay_ms", receiver.max_playout_delay_ms, least, 60_000.0)?;
        self.forward.check("forward")?;
        self.reverse.check("reverse")?;
        pauses::check(&self.pauses)?;
        within("clock.offset_ms", self.clock.offset_ms, -1e12, 1e12)?;
        within("clock.drift_ppm", self.clock.drift_ppm, -1_000.0, 1_000.0)?;
        let Self { tcp, udp, links, .. } = self;
        Flows { calls: self.calls.as_deref().unwrap_or_default(), tcp, udp, links }.check(self.duration_s)
    }

    /// Whether flows share links; otherwise it is one call, alone.
    pub fn is_shared(&self) -> bool {
        self.calls.is_some() || !(self.tcp.is_empty() && self.udp.is_empty() && self.links.is_empty())
    }

    /// How many calls it makes for one seed.
    pub fn calls_per_session(&self) -> usize {
        self.calls.as_ref().map_or(1, Vec::len)
    }
}

impl LimitsSpec {
    pub(crate) fn check(&self, key: &str) -> Result<(), (String, String)> {
        let Self { min_bps, start_bps, max_bps } = self;
        if !(min_bps <= start_bps && start_bps <= max_bps) {
            let message = format!("min_bps = {min_bps}, start_bps = {start_bps}, max_bps = {max_bps} do not ascend");
            return Err((key.to_owned(), message));
        }
        within(&format!("{key}.max_bps"), *max_bps as f64, 1e3, 1e10)
    }
}

impl PathSpec {
    pub(crate) fn check(&self, path: &str) -> Result<(), (String, String)> {
        within(&format!("{path}.propagation_ms"), self.propagation_ms, 0.0, 60_000.0)?;
        within(&format!("{path}.loss_ratio"), self.loss_ratio, 0.0, 1.0)?;
        if let Some(burst) = &self.gilbert_elliott {
            let place = |key: &str| format!("{path}.gilbert_elliott.{key}");
            within(&place("good_to_bad_ratio"), burst.good_to_bad_ratio, 0.0, 1.0)?;
            within(&place("bad_to_good_ratio"), burst.bad_to_good_ratio, 0.0, 1.0)?;
            within(&place("loss_good_ratio"), burst.loss_good_ratio, 0.0, 1.0)?;
            within(&place("loss_bad_ratio"), burst.loss_bad_ratio, 0.0, 1.0)?;
        }
        if let Some(jitter) = &self.jitter {
            within(&format!("{path}.jitter.std_ms"), jitter.std_ms, 0.0, 10_000.0)?;
            within(&format!("{path}.jitter.n_std"), jitter.n_std, 0.0, 3.25)?;
        }
        if let Some(reorder) = &self.reorder {
            within(&format!("{path}.reorder.packet_ratio"), reorder.packet_ratio, 0.0, 1.0)?;
            within(&format!("{path}.reorder.extra_ms"), reorder.extra_ms, 0.0, 60_000.0)?;
        }
        self.queue.check(path)?;
        self.capacity.as_ref().map_or(Ok(()), |capacity| capacity.check(path))
    }
}

impl QueueSpec {
    fn check(&self, path: &str) -> Result<(), (String, String)> {
        one_of(&format!("{path}.queue.kind"), &self.kind, &["codel", "drop_tail", "pie"])?;
        within(&format!("{path}.queue.limit_ms"), self.limit_ms.unwrap_or(1.0), 0.0, 3_600_000.0)?;
        within(&format!("{path}.queue.mark_above_ms"), self.mark_above_ms.unwrap_or(0.0), 0.0, 3_600_000.0)?;
        if self.mark_above_ms.is_some() && self.kind != "drop_tail" {
            return Err((format!("{path}.queue.mark_above_ms"), "only drop_tail has it".to_owned()));
        }
        let limits = [self.limit_ms.is_some(), self.limit_bytes.is_some(), self.limit_packets.is_some()];
        if limits.iter().filter(|&&given| given).count() > 1 {
            let message = "limit_ms, limit_bytes and limit_packets exclude one another".to_owned();
            return Err((format!("{path}.queue"), message));
        }
        Ok(())
    }
}

impl CapacitySpec {
    fn check(&self, path: &str) -> Result<(), (String, String)> {
        let given = [self.constant_bps.is_some(), self.steps.is_some(), self.trace.is_some(), self.generator.is_some()];
        if given.iter().filter(|&&given| given).count() != 1 {
            let message = "exactly one of constant_bps, steps, trace and generator is needed".to_owned();
            return Err((format!("{path}.capacity"), message));
        }
        let place = |key: &str| format!("{path}.capacity.{key}");
        if let Some(bps) = self.constant_bps {
            within(&place("constant_bps"), bps as f64, 1.0, 1e11)?;
        }
        if let Some(names) = &self.generator {
            Generator::by_names(names).map_err(|problem| (place("generator"), problem))?;
        }
        for &(time_s, _) in self.steps.iter().flatten() {
            within(&place("steps"), time_s, 0.0, MAX_DURATION_S)?;
        }
        if self.trace.is_none() {
            let options = [("family", self.family.is_some()), ("scale", self.scale.is_some())];
            let more = [("start_s", self.start_s.is_some()), ("duration_s", self.duration_s.is_some())];
            if let Some((key, _)) = options.into_iter().chain(more).find(|(_, given)| *given) {
                return Err((place(key), "only a trace has it".to_owned()));
            }
        }
        within(&place("scale"), self.scale.unwrap_or(1.0), 1e-6, 1e6)?;
        within(&place("start_s"), self.start_s.unwrap_or(0.0), 0.0, MAX_DURATION_S)?;
        within(&place("duration_s"), self.duration_s.unwrap_or(1.0), 1e-3, MAX_DURATION_S)
    }
}

pub(crate) fn within(key: &str, value: f64, least: f64, most: f64) -> Result<(), (String, String)> {
    // Written so that NaN is refused.
    if value >= least && value <= most {
        return Ok(());
    }
    Err((key.to_owned(), format!("{value} is not within {least} to {most}")))
}

pub(crate) fn one_of(key: &str, value: &str, known: &[&str]) -> Result<(), (String, String)> {
    if known.contains(&value) {
        return Ok(());
    }
    Err((key.to_owned(), format!("{value:?} is not one of {}", known.join(", "))))
}

/// TOML's own message, and the line it is about: that names key and value.
fn describe(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().trim().replace('\n', ", ");
    let Some(span) = error.span() else { return message };
    let start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or("").trim();
    let shown: String = line.chars().take(80).collect();
    if shown.is_empty() { message } else { format!("{message}, in `{shown}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Scenario::parse(text, "a.toml").unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_the_default_call_and_defaults_come_back_from_their_own_text() {
        let scenario = Scenario::parse("", "a.toml").unwrap();
        assert_eq!(scenario, Scenario::default());
        assert_eq!(Scenario::parse(&scenario.to_toml(), "b.toml").unwrap(), scenario);
    }

    #[test]
    fn the_receivers_clock_is_never_the_senders_by_default() {
        let clock = Scenario::default().clock;
        assert!(clock.offset_ms != 0.0 && clock.drift_ppm != 0.0);
    }

    #[test]
    fn what_is_refused_is_named_with_file_line_key_and_value() {
        assert!(refused("duration = 3").contains("a.toml:1: unknown field `duration`"));
        let mistyped = refused("\n[video]\nfps = \"x\"");
        assert_eq!(mistyped, "a.toml:3: invalid type: string \"x\", expected u32, in `fps = \"x\"`");
        assert_eq!(refused("duration_s = -1.0"), "a.toml: duration_s: -1 is not within 0.1 to 86400");
        assert_eq!(refused("duration_s = nan"), "a.toml: duration_s: NaN is not within 0.1 to 86400");
        assert_eq!(refused("[forward]\nloss_ratio = 1.5"), "a.toml: forward.loss_ratio: 1.5 is not within 0 to 1");
        assert!(refused("[video]\ndecoder = \"magic\"").contains("video.decoder: \"magic\" is not one of"));
        assert!(refused("[forward.capacity]\nconstant_bps = 1\ntrace = \"x\"").contains("exactly one of"));
        assert!(refused("[limits]\nmin_bps = 9\nstart_bps = 5").contains("limits: min_bps = 9, start_bps = 5"));
        assert!(refused("[forward.queue]\nlimit_ms = 1.0\nlimit_packets = 2").contains("exclude one another"));
        assert_eq!(refused("[sender]\necn = \"on\""), "a.toml: sender.ecn: \"on\" is not one of ect0, ect1, off");
        assert!(refused("[receiver]\nfeedback = \"both\"").contains("is not one of ccfb, twcc"));
        let misplaced = refused("[forward.queue]\nkind = \"pie\"\nmark_above_ms = 1.0");
        assert_eq!(misplaced, "a.toml: forward.queue.mark_above_ms: only drop_tail has it");
        let overlapping = "[[pauses]]\nstart_s = 1.0\nend_s = 5.0\n[[pauses]]\nstart_s = 4.0\nend_s = 6.0";
        assert_eq!(refused(overlapping), "a.toml: pauses[1].start_s: 4 is not within 5 to 86400");
        assert!(refused(&"#".repeat(1 << 21)).contains("more than 1 MiB"));
    }
}
