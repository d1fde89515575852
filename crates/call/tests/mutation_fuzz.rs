//! Runs the recovery of packets by parity on streams of a hostile sender: mutations of the corpus, a few thousand in
//! every test run, a minute with `make fuzz`.

use legato_call::VideoPacket;
use legato_call::parity::{Recovery, Restored};

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
