//! The simulated receiver knows frames in advance, that of a real call reads RTP headers. Whatever a path does to
//! a stream, both hand over the same decodable frames at the same packets, wait since the same time and ask for key
//! frames alike. Frames that refer to one that was given up differ: the simulated receiver leaves them to its decoder,
//! the real one gives them up itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_call::{FrameAssembly, KeyframeRequests, Patience, VideoPacket};
use legato_codec::assembly::whole::WholeFrames;
use legato_codec::{Assembled, Assembly, vp8};
use legato_control::PacketKind;
use legato_media::EncodedFrame;
use legato_media::frame_buffer::FrameBuffer;
use legato_media::packet::{MediaPacket, VIDEO_SSRC};
use legato_units::{DataRate, DataSize, Ecn, PeerTimestamp, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A frame that came whole: its number, and when its first and last packets came.
type Whole = (u64, Timestamp, Timestamp);

struct Frame {
    keyframe: bool,
    packets: u16,
    first_seq: u32,
}

/// VP8 payloads ([rfc7741] §4.2): the first begins the frame.
fn payload(frame: &Frame, index: u16) -> &'static [u8] {
    match (index, frame.keyframe) {
        (0, true) => &[0x90, 0x80, 0x81, 2, 0x50, 5],
        (0, false) => &[0x90, 0x80, 3, 0x51],
        _ => &[0x80, 0x80, 3, 7, 8],
    }
}

fn media_packet(number: usize, frame: &Frame, index: u16, kind: PacketKind) -> MediaPacket {
    MediaPacket {
        transport_seq: 0,
        enqueued: Timestamp::ZERO,
        departure: Timestamp::ZERO,
        rtp_seq: frame.first_seq + u32::from(index),
        rtx_seq: 0,
        ssrc: VIDEO_SSRC,
        frame: number as u32,
        index,
        count: frame.packets,
        size_bytes: 1_000,
        payload_bytes: 900,
        kind,
        ecn: Ecn::NotEct,
        probe_cluster: None,
    }
}

fn encoded(sequence: u64, keyframe: bool) -> EncodedFrame {
    EncodedFrame {
        acknowledged: None,
        frame: sequence,
        sequence,
        content: 0,
        rung: 0,
        qp: 30.0,
        size: DataSize::from_bytes(1_000),
        head_bytes: 0,
        keyframe,
        width: 640,
        height: 360,
        psnr_db: None,
        quality: None,
        bitrate: DataRate::ZERO,
    }
}

/// As `call::Receiver` has it for a decoder that takes whole frames; `torn`: a frame was given up since the last key
/// frame.
fn handed_over(buffer: &mut FrameBuffer, torn: &mut bool) -> Vec<Whole> {
    let mut whole = Vec::new();
    while buffer.next_is_complete() || buffer.frames_before_keyframe().is_some() {
        let frame = buffer.pop().unwrap();
        *torn = !frame.assembled.is_complete() || (*torn && !frame.assembled.encoded.keyframe);
        if !*torn {
            whole.push((frame.assembled.encoded.sequence, frame.arrivals.0, frame.arrivals.1));
        }
    }
    whole
}

fn assembled(assembly: &mut dyn Assembly) -> Vec<Whole> {
    let pictures = std::iter::from_fn(|| assembly.pop()).filter_map(|assembled| match assembled {
        Assembled::Picture { picture, .. } => {
            Some((u64::from(picture.timestamp / 3_000), picture.arrivals.0, picture.arrivals.1))
        }
        Assembled::GivenUp { .. } | Assembled::Late { .. } => None,
    });
    pictures.collect()
}

/// A packet: its arrival in ms, its frame, its place there, and its kind.
type Arrived = (i64, usize, u16, PacketKind);

/// Frames of 1 to 6 packets, every `gop`th a key frame, and their packets in the order in which they come. One in `1 /
/// loss` is lost, of which two thirds come again, and some overtake each other.
fn stream(rng: &mut ChaCha8Rng, loss: u32, gop: usize) -> (Vec<Frame>, Vec<Arrived>) {
    let mut next_seq = 0;
    let frames: Vec<_> = (0..200)
        .map(|number| {
            let frame =
                Frame { keyframe: number % gop == 0, packets: 1 + (rng.next_u32() % 6) as u16, first_seq: next_seq };
            next_seq += u32::from(frame.packets);
            frame
        })
        .collect();
    let mut packets = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        for index in 0..frame.packets {
            let at = 33 * number as i64 + i64::from(index) + i64::from(rng.next_u32() % 8) / 7 * 20;
            // The stream begins with a packet that comes: before it there is nothing to be missed.
            match rng.next_u32() % loss {
                0 if (number, index) != (0, 0) => {
                    if !rng.next_u32().is_multiple_of(3) {
                        packets.push((
                            at + 60 + i64::from(rng.next_u32() % 200),
                            number,
                            index,
                            PacketKind::Retransmission,
                        ));
                    }
                }
                _ => packets.push((at, number, index, PacketKind::Video)),
            }
        }
    }
    packets.sort_by_key(|&(at, number, index, _)| (at, number, index));
    (frames, packets)
}

#[test]
fn both_assemblies_hand_over_the_same_frames_and_ask_for_key_frames_alike() {
    let (mut whole, mut requests) = (0, 0);
    for seed in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (frames, packets) = stream(&mut rng, 10 + 40 * (seed as u32 % 3), if seed % 2 == 0 { 20 } else { 1_000 });
        let (mut buffer, mut assembly) = (FrameBuffer::default(), WholeFrames::new(&vp8::FORMAT));
        for (number, frame) in frames.iter().enumerate() {
            buffer.expect(encoded(number as u64, frame.keyframe), PeerTimestamp::from_nanos(0));
        }
        let mut torn = false;
        let mut policies = [(); 2].map(|()| KeyframeRequests::new(Patience::Repair));
        for (at, number, index, kind) in packets {
            let (now, frame) = (Timestamp::from_millis(at), &frames[number]);
            buffer.insert(now, &media_packet(number, frame, index, kind));
            let marker = index + 1 == frame.packets;
            let packet = VideoPacket {
                seq: u64::from(frame.first_seq + u32::from(index)),
                timestamp: number as u32 * 3_000,
                marker,
                repeated: kind == PacketKind::Retransmission,
                psnr_db: None,
                payload: payload(frame, index),
            };
            assembly.insert(now, &packet);
            let (simulated, real) = (handed_over(&mut buffer, &mut torn), assembled(&mut assembly));
            assert_eq!(simulated, real, "seed {seed}, {at} ms");
            assert_eq!(buffer.waiting_since(), FrameAssembly::waiting_since(&assembly), "seed {seed}, {at} ms");
            whole += simulated.len();
            let asked = [ask(&mut policies[0], now, &buffer), ask(&mut policies[1], now, &assembly)];
            assert_eq!(asked[0], asked[1], "seed {seed}, {at} ms");
            requests += u32::from(asked[0]);
            for policy in policies.iter_mut().filter(|_| !real.is_empty()) {
                policy.set_wanted(false);
            }
        }
    }
    assert!(whole > 20_000 && requests > 150, "{whole} frames, {requests} requests");
}

fn ask(policy: &mut KeyframeRequests, now: Timestamp, frames: &impl FrameAssembly) -> bool {
    policy.take(now, frames)
}
