//! Runs the assembly of pictures on streams of a hostile sender: mutations of the corpus, a few thousand in every test
//! run, a minute with `make fuzz`.

use legato_call::VideoPacket;
use legato_codec::{Assembled, Coding, Recovery};
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

/// A stream of a codec, whether or not this build has its encoder.
type Kind = (&'static str, Recovery);

const H264: Kind = ("h264", Recovery::Nack);
const VP8: Kind = ("vp8", Recovery::Nack);
const VP9: Kind = ("vp9", Recovery::Nack);
const SLICED: Kind = ("h264", Recovery::References);
#[cfg(feature = "hybrid")]
const HYBRID: Kind = ("hybrid", Recovery::References);

/// What came out, in the end all that was due; and whether something waits before that, and in vain.
fn assembled((codec, recovery): Kind, bytes: &[u8]) -> (Vec<Assembled>, [bool; 2]) {
    let coding = Coding::new(codec, recovery).expect("a coding");
    let (mut assembly, mut out) = (coding.assembly(), Vec::new());
    for (now, packet) in video_packets(bytes) {
        assembly.insert(now, &packet);
        out.extend(std::iter::from_fn(|| assembly.pop()));
        std::hint::black_box(assembly.is_hopeless());
    }
    assert!(assembly.waiting_since().is_none_or(|first| first >= Timestamp::ZERO));
    let waits = [assembly.waiting_since().is_some(), assembly.is_hopeless()];
    assembly.advance(Timestamp::from_secs(3_600));
    assert_eq!(assembly.due(), None);
    out.extend(std::iter::from_fn(|| assembly.pop()));
    (out, waits)
}

/// `is_picture`: what a codec promises of the bytes of a picture, of so many bytes of payloads and packets lost.
fn check(kind: Kind, bytes: &[u8], is_picture: fn(&[u8], usize, u16) -> bool) {
    let (out, _) = assembled(kind, bytes);
    let mut total = 0;
    for one in &out {
        let Assembled::Picture { picture, lost_packets } = one else { continue };
        assert!(is_picture(&picture.bytes, picture.size_bytes as usize, *lost_packets));
        assert!(picture.arrivals.0 <= picture.arrivals.1);
        total += picture.size_bytes as usize;
    }
    // Every byte is in at most one picture, and there are no more pictures than packets.
    assert!(total <= bytes.len() && out.len() <= packets(bytes).count());
}

fn outline(kind: Kind, bytes: &[u8]) -> String {
    let (out, waits) = assembled(kind, bytes);
    let kinds = out.iter().take(8).map(|one| match one {
        Assembled::GivenUp { lost_packets: 0, .. } => 'g',
        Assembled::GivenUp { .. } => 'l',
        Assembled::Late { .. } => 'a',
        Assembled::Picture { lost_packets: 1.., .. } => 'w',
        Assembled::Picture { picture, .. } if picture.repair.is_some() => 'r',
        Assembled::Picture { picture, .. } if picture.keyframe => 'k',
        Assembled::Picture { .. } => 'p',
    });
    format!("{} {waits:?}", kinds.collect::<String>())
}

/// NAL units after start codes.
fn units(picture: &[u8]) -> bool {
    picture.starts_with(&[0, 0, 0, 1]) && picture.len() > 4
}

/// A descriptor takes a byte at least.
fn described(picture: &[u8], payload_bytes: usize, lost: u16) -> bool {
    !picture.is_empty() && picture.len() < payload_bytes && lost == 0
}

#[test]
fn assembly() {
    let check = |bytes: &[u8]| check(H264, bytes, |picture, _, lost| units(picture) && lost == 0);
    run(&Target { name: "assembly", check, outline: |bytes| outline(H264, bytes) });
}

#[test]
fn assembly_vp8() {
    let check = |bytes: &[u8]| check(VP8, bytes, described);
    run(&Target { name: "assembly_vp8", check, outline: |bytes| outline(VP8, bytes) });
}

#[test]
fn assembly_vp9() {
    let check = |bytes: &[u8]| check(VP9, bytes, described);
    run(&Target { name: "assembly_vp9", check, outline: |bytes| outline(VP9, bytes) });
}

#[cfg(feature = "hybrid")]
#[test]
fn assembly_hybrid() {
    use legato_codec::hybrid::Bundle;
    let check = |bytes: &[u8]| {
        check(HYBRID, bytes, |picture, _, lost| {
            Bundle::parse(picture).is_ok_and(|bundle| bundle.packets.len() + usize::from(lost) <= 64)
        });
    };
    run(&Target { name: "assembly_hybrid", check, outline: |bytes| outline(HYBRID, bytes) });
}

#[test]
fn assembly_sliced() {
    let check = |bytes: &[u8]| check(SLICED, bytes, |picture, _, _| units(picture));
    run(&Target { name: "assembly_sliced", check, outline: |bytes| outline(SLICED, bytes) });
}
