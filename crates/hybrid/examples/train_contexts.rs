//! Counts decisions on Y4M files and prints `src/initial.rs`: `train_contexts FILE... > src/initial.rs`, run until it
//! changes little, since the choices of the encoder follow the probabilities.

use legato_hybrid::{Census, Encoder, Settings};

#[path = "clip/y4m.rs"]
mod y4m;

/// Bits per pixel of the streams that are counted, and their packets per frame.
const STREAMS: [(f64, u8); 6] = [(0.02, 4), (0.05, 4), (0.1, 6), (0.2, 8), (0.5, 8), (1.2, 12)];
const PICTURES: usize = 60;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut census = Census::default();
    for file in std::env::args().skip(1) {
        let (size, _, pictures) = y4m::read_y4m(&std::fs::read(file)?)?;
        for (bits_per_pixel, min_packets) in STREAMS {
            let budget = (bits_per_pixel * (size.width() * size.height()) as f64 / 8.0) as usize;
            let mut encoder = Encoder::new(
                size,
                Settings { min_packets, motion_copies: if min_packets > 4 { 3 } else { 1 }, ..Settings::default() },
            );
            for (index, picture) in pictures.iter().take(PICTURES).enumerate() {
                // A key frame now and then, a small one too: their decisions have separate models.
                if index % 20 == 0 {
                    encoder.request_keyframe();
                }
                let coded = encoder.encode(picture, if index % 20 == 0 { 4 * budget } else { budget })?;
                coded.packets.iter().for_each(|packet| census.add(size, packet));
            }
        }
    }
    println!("//! Initial probabilities of a one in 256ths, by range of the quantiser (`contexts.rs`).");
    println!("//!");
    println!(
        "//! Written by `examples/train_contexts.rs` from yes.mkv and lrwp9a.mpg of data/clips and four clips of the same"
    );
    println!("//! collections (again, please, night; bbaf2n).");
    let ranges = census.probabilities();
    println!();
    println!("#[rustfmt::skip]\npub(crate) const INITIAL: [[u8; {}]; {}] = [", ranges[0].len(), ranges.len());
    for range in ranges {
        println!("    [");
        for line in range.chunks(24) {
            println!("        {},", line.iter().map(u8::to_string).collect::<Vec<_>>().join(", "));
        }
        println!("    ],");
    }
    println!("];");
    Ok(())
}
