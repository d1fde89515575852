//! Codes Y4M files and prints what losses cost: `losses KBPS PACKETS COPIES FILE...`.
//!
//! A line per file: SSIM without loss in dB, then how many dB it falls with 5, 10, 20, 30, 50 and 80 % of the packets
//! lost, the mean of five windows of ten frames. Nothing is reported.

use legato_hybrid::{Decoder, Encoder, Settings};

#[path = "clip/figures.rs"]
mod figures;
#[path = "clip/y4m.rs"]
mod y4m;

use figures::{draw, mean, ssim_db};

const LOSSES: [f64; 6] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.8];
const FIRST: usize = 10;
const WINDOW: usize = 10;
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, kbps, packets, copies, files @ ..] = &args[..] else {
        return Err("usage: losses KBPS PACKETS COPIES FILE...".into());
    };
    let settings = Settings { min_packets: packets.parse()?, motion_copies: copies.parse()?, ..Settings::default() };
    let mut sums = [0.0; LOSSES.len()];
    for name in files {
        let (size, fps, pictures) = y4m::read_y4m(&std::fs::read(name)?)?;
        let budget = kbps.parse::<f64>()? * 125.0 / fps;
        let mut encoder = Encoder::new(size, settings);
        // Of each frame: its packets, the decoder before it, and SSIM.
        let (mut decoder, mut frames) = (Decoder::new(), Vec::new());
        for (index, picture) in pictures.iter().enumerate() {
            let packets = encoder.encode(picture, (budget * if index == 0 { 8.0 } else { 1.0 }) as usize)?.packets;
            let before = decoder.clone();
            let shown = decoder.decode(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>())?.picture;
            frames.push((packets, before, ssim_db(picture, &shown)));
        }
        let clean: Vec<f64> = frames[FIRST..].iter().map(|(_, _, db)| *db).collect();
        print!("{name} {:6.2} ", mean(&clean));
        let mut random = 7_u32;
        for (loss, sum) in LOSSES.into_iter().zip(&mut sums) {
            let mut falls = Vec::new();
            for run in 0..RUNS {
                let first = FIRST + (pictures.len() - WINDOW - FIRST) * (run + 1) / RUNS;
                let mut decoder = frames[first].1.clone();
                for (picture, (packets, _, clean)) in pictures.iter().zip(&frames).skip(first).take(WINDOW) {
                    let arrived: Vec<&[u8]> =
                        packets.iter().map(Vec::as_slice).filter(|_| draw(&mut random) >= loss).collect();
                    if arrived.is_empty() {
                        decoder.miss();
                    } else {
                        decoder.decode(&arrived)?;
                    }
                    falls.push(clean - ssim_db(picture, &decoder.picture().ok_or("nothing shown")?));
                }
            }
            print!(" {:6.2}", mean(&falls));
            *sum += mean(&falls) / files.len() as f64;
        }
        println!();
    }
    println!("mean of files {}", sums.map(|sum| format!(" {sum:6.2}")).concat());
    Ok(())
}
