//! Runs the assembly of pictures on streams of a hostile sender: mutations of the corpus, a few thousand in every test
//! run, a minute with `make fuzz`.

use legato_call::FrameAssembly;
use legato_call::parity::{Recovery, Restored};
use legato_call::rtp_assembly::{
    Assembled, Part, PartialAssembly, PayloadFormat, RtpAssembly, Sliced, SlicedAssembly, VideoPacket,
};
use legato_units::Timestamp;

#[path = "../../../fuzz/mutation.rs"]
mod mutation;

use mutation::{Target, run};

/// Packets by five bytes each, plus as many more as these state: step of the number and of the time, flags, length.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = (i64, i32, u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[seq_low, seq_high, time, flags, length], rest) = bytes.split_first_chunk()?;
        let (payload, rest) = rest.split_at(usize::from(length).min(rest.len()));
        bytes = rest;
        Some((i64::from(i16::from_le_bytes([seq_low, seq_high])), i32::from(time.cast_signed()), flags, payload))
    })
}

/// The same as packets of a video, with their times of arrival: those with the third flag jump far in RTP time.
fn video_packets(bytes: &[u8]) -> impl Iterator<Item = (Timestamp, VideoPacket<'_>)> {
    packets(bytes).scan((1_u64 << 16, 0_u32, 0), |(seq, time, ms), (step, time_step, flags, payload)| {
        *seq = seq.saturating_add_signed(step);
        *time = time.wrapping_add_signed(time_step.wrapping_mul(if flags & 4 == 0 { 1 } else { 1 << 24 }));
        *ms += i64::from(flags >> 4);
        let (marker, repeated) = (flags & 1 == 1, flags & 2 == 2);
        let packet = VideoPacket { seq: *seq, timestamp: *time, marker, repeated, psnr_db: None, payload };
        Some((Timestamp::from_millis(*ms), packet))
    })
}

/// What came out, and whether it still waits.
fn assembled(format: PayloadFormat, bytes: &[u8]) -> (Vec<Assembled>, RtpAssembly) {
    let (mut assembly, mut out) = (RtpAssembly::new(format), Vec::new());
    for (now, packet) in video_packets(bytes) {
        assembly.insert(now, &packet);
        out.extend(std::iter::from_fn(|| assembly.pop()));
        std::hint::black_box(assembly.is_hopeless());
    }
    (out, assembly)
}

fn check(format: PayloadFormat, bytes: &[u8]) {
    let (out, assembly) = assembled(format, bytes);
    let mut total = 0;
    for one in &out {
        let Assembled::Picture(picture) = one else { continue };
        match format {
            PayloadFormat::H264 => assert!(picture.bytes.starts_with(&[0, 0, 0, 1]) && picture.bytes.len() > 4),
            // A descriptor takes a byte at least.
            PayloadFormat::Vp8 | PayloadFormat::Vp9 => {
                assert!(!picture.bytes.is_empty() && picture.bytes.len() < picture.size_bytes as usize)
            }
        }
        assert!(picture.arrivals.0 <= picture.arrivals.1);
        total += picture.size_bytes as usize;
    }
    // Every byte is in at most one picture, and there are no more pictures than packets.
    assert!(total <= bytes.len() && out.len() <= packets(bytes).count());
    let first = assembly.waiting_since();
    assert!(first.is_none_or(|first| first >= Timestamp::ZERO));
}

fn outline(format: PayloadFormat, bytes: &[u8]) -> String {
    let (out, assembly) = assembled(format, bytes);
    let kinds = out.iter().take(8).map(|one| match one {
        Assembled::GivenUp { lost_packets: 0, .. } => 'g',
        Assembled::GivenUp { .. } => 'l',
        Assembled::Picture(picture) if picture.repair.is_some() => 'r',
        Assembled::Picture(picture) if picture.keyframe => 'k',
        Assembled::Picture(_) => 'p',
    });
    let waits = (assembly.waiting_since().is_some(), assembly.is_hopeless());
    format!("{} {waits:?}", kinds.collect::<String>())
}

#[test]
fn assembly() {
    let outline = |bytes: &[u8]| outline(PayloadFormat::H264, bytes);
    run(&Target { name: "assembly", check: |bytes| check(PayloadFormat::H264, bytes), outline });
}

#[test]
fn assembly_vp8() {
    let outline = |bytes: &[u8]| outline(PayloadFormat::Vp8, bytes);
    run(&Target { name: "assembly_vp8", check: |bytes| check(PayloadFormat::Vp8, bytes), outline });
}

#[test]
fn assembly_vp9() {
    let outline = |bytes: &[u8]| outline(PayloadFormat::Vp9, bytes);
    run(&Target { name: "assembly_vp9", check: |bytes| check(PayloadFormat::Vp9, bytes), outline });
}

/// What came out of an assembly of the hybrid codec's frames, the rest of it included.
fn partial(bytes: &[u8]) -> Vec<Part> {
    let (mut assembly, mut out) = (PartialAssembly::default(), Vec::new());
    for (now, packet) in video_packets(bytes) {
        assembly.insert(now, &packet);
        out.extend(std::iter::from_fn(|| assembly.pop()));
    }
    assembly.advance(Timestamp::from_secs(3_600));
    assert_eq!(assembly.due(), None);
    out.extend(std::iter::from_fn(|| assembly.pop()));
    out
}

fn check_partial(bytes: &[u8]) {
    let (mut total, parts) = (0, partial(bytes));
    for part in &parts {
        match part {
            Part::Frame(frame) => {
                assert!(!frame.packets.is_empty() && frame.packets.len() + usize::from(frame.lost_packets) <= 64);
                assert!(frame.arrivals.0 <= frame.arrivals.1);
                total += frame.size_bytes as usize;
            }
            Part::Late { packet, .. } => total += packet.len(),
        }
    }
    assert!(total <= bytes.len() && parts.len() <= packets(bytes).count());
}

#[test]
fn assembly_hybrid() {
    let outline = |bytes: &[u8]| {
        let kinds = partial(bytes).into_iter().take(8).map(|part| match part {
            Part::Late { .. } => 'l',
            Part::Frame(frame) if frame.lost_packets > 0 => 'p',
            Part::Frame(frame) if frame.keyframe => 'k',
            Part::Frame(_) => 'w',
        });
        kinds.collect()
    };
    run(&Target { name: "assembly_hybrid", check: check_partial, outline });
}

/// What came out of an assembly of slices of H.264.
fn sliced(bytes: &[u8]) -> Vec<Sliced> {
    let (mut assembly, mut out) = (SlicedAssembly::default(), Vec::new());
    for (now, packet) in video_packets(bytes) {
        assembly.insert(now, &packet);
        out.extend(std::iter::from_fn(|| assembly.pop()));
    }
    assembly.advance(Timestamp::from_secs(3_600));
    assert_eq!(assembly.due(), None);
    out.extend(std::iter::from_fn(|| assembly.pop()));
    out
}

fn check_sliced(bytes: &[u8]) {
    let (mut total, out) = (0, sliced(bytes));
    for one in &out {
        let Sliced::Frame(frame) = one else { continue };
        assert!(frame.bytes.starts_with(&[0, 0, 0, 1]) && frame.bytes.len() > 4);
        assert!(frame.arrivals.0 <= frame.arrivals.1);
        total += frame.size_bytes as usize;
    }
    assert!(total <= bytes.len() && out.len() <= packets(bytes).count());
}

#[test]
fn assembly_sliced() {
    let outline = |bytes: &[u8]| {
        let kinds = sliced(bytes).into_iter().take(8).map(|one| match one {
            Sliced::Late { .. } => 'l',
            Sliced::Frame(frame) if frame.lost_packets > 0 => 'p',
            Sliced::Frame(frame) if frame.keyframe => 'k',
            Sliced::Frame(_) => 'w',
        });
        kinds.collect()
    };
    run(&Target { name: "assembly_sliced", check: check_sliced, outline });
}

/// What parity restored, of packets of which those with the third flag are parity.
fn restored(bytes: &[u8]) -> Vec<Restored> {
    let (mut recovery, mut out) = (Recovery::default(), Vec::new());
    let (mut seq, mut time) = (1_u64 << 16, 0_u32);
    for (step, time_step, flags, payload) in packets(bytes) {
        seq = seq.saturating_add_signed(step);
        time = time.wrapping_add_signed(time_step);
        if flags & 4 == 4 {
            out.extend(recovery.take_parity(time, payload));
            continue;
        }
        let (marker, repeated) = (flags & 1 == 1, flags & 2 == 2);
        let packet = VideoPacket { seq, timestamp: time, marker, repeated, psnr_db: None, payload };
        out.extend(recovery.take_media(&packet));
    }
    assert_eq!(recovery.restored(), out.len() as u64);
    out
}

fn check_restored(bytes: &[u8]) {
    let (out, parity) = (restored(bytes), packets(bytes).filter(|(_, _, flags, _)| flags & 4 == 4).count());
    // Each takes a parity packet, and has a payload that fits into it.
    assert!(out.len() <= parity);
    assert!(out.iter().all(|packet| (1..=248).contains(&packet.payload.len())));
}

#[test]
fn recovery() {
    let outline = |bytes: &[u8]| {
        let out = restored(bytes);
        format!("{} {:?}", out.len().min(9), out.first().map(|packet| (packet.marker, packet.payload.len() > 4)))
    };
    run(&Target { name: "recovery", check: check_restored, outline });
}
