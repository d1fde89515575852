//! A scenario: everything a call depends on but its seed, as a TOML file. Every key has a default,
//! unknown ones are refused. docs/scenario.md lists them.

mod ends;
mod media;
mod network;

pub use ends::{ClockSpec, ControllerSpec, LimitsSpec, ReceiverSpec, SenderSpec};
pub use media::{AudioSpec, FrameSizesSpec, VideoSpec};
pub use network::{CapacitySpec, GilbertElliottSpec, JitterSpec, PathSpec, QueueSpec, ReorderSpec};

use crate::error::SimError;
use crate::flows::{CallSpec, Flows, LinkSpec, TcpSpec, UdpSpec};
use crate::pauses::{self, PauseSpec};
use legato_call::FeedbackFormat;
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
