//! The audio stream beside the video: packets of one size at one interval.

use super::AudioConfig;
use super::numbering::unplaced;
use legato_control::PacketKind;
use legato_media::packet::{AUDIO_SSRC, MediaPacket};
use legato_media::packetizer::PACKET_OVERHEAD_BYTES;
use legato_units::{DataRate, DataSize, Timestamp};

/// The stream, if the call has one.
pub(super) struct Audio {
    config: Option<AudioConfig>,
    /// When the next packet is due; `None` in a pause.
    next: Option<Timestamp>,
    seq: u32,
}

impl Audio {
    /// A stream that begins at `start`.
    pub fn new(config: Option<AudioConfig>, start: Timestamp) -> Self {
        Self { config, next: config.map(|_| start), seq: 0 }
    }

    /// When the next packet is due.
    #[inline]
    pub fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// Its share of the target, headers included.
    pub fn rate(&self) -> DataRate {
        self.config.map_or(DataRate::ZERO, |audio| {
            DataSize::from_bytes(u64::from(payload_bytes(audio) + PACKET_OVERHEAD_BYTES)) / audio.interval
        })
    }

    /// The microphone stops.
    pub fn pause(&mut self) {
        self.next = None;
    }

    /// It goes on at once.
    pub fn resume(&mut self, now: Timestamp) {
        self.next = self.config.map(|_| now);
    }

    /// The packet that is due; `None` if it may not be sent. The next one is due an interval later either way.
    pub fn pop(&mut self, now: Timestamp, may_send: bool) -> Option<MediaPacket> {
        let (audio, due) = self.config.zip(self.next)?;
        self.next = Some(due + audio.interval);
        may_send.then(|| {
            self.seq += 1;
            unplaced(now, (AUDIO_SSRC, PacketKind::Audio), self.seq - 1, payload_bytes(audio))
        })
    }
}

fn payload_bytes(audio: AudioConfig) -> u16 {
    (audio.bitrate * audio.interval).as_bytes().min(1_000) as u16
}
