//! Codes Y4M files for a receiver that reports, and prints what losses leave: `reported KBPS PACKETS COPIES HEADER FROM
//! FILE...`.
//!
//! Prints one line per file: SSIM in dB with 0, 10, 20, 30, 50 and 80 % of the packets lost from the tenth frame on,
//! the mean of frames 20 to 69. Each frame is reported three frames later. Each packet beyond four takes HEADER bytes
//! of the frame's budget, each below four gives as many. COPIES may be `adaptive`: as many as calls have. FROM is
//! `latest` or `reported`: what frames are predicted from.

use legato_hybrid::{Decoder, Encoder, PacketSet, Picture, PredictFrom, Resilience, Settings};

#[path = "clip/figures.rs"]
mod figures;
#[path = "clip/y4m.rs"]
mod y4m;

use figures::{draw, mean, ssim_db};

const LOSSES: [f64; 6] = [0.0, 0.1, 0.2, 0.3, 0.5, 0.8];
const FIRST_LOSS: usize = 10;
const FIRST: usize = 20;
const END: usize = 70;
const REPORT_AFTER: usize = 3;
/// The first frame has the budget of so many.
const KEY_WORTH: f64 = 8.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, kbps, packets, copies, header, from, files @ ..] = &args[..] else {
        return Err("usage: reported KBPS PACKETS COPIES HEADER latest|reported FILE...".into());
    };
    let predict_from = match from.as_str() {
        "latest" => PredictFrom::Latest,
        "reported" => PredictFrom::Reported,
        other => return Err(format!("{other}: neither latest nor reported").into()),
    };
    let (min_packets, adaptive) = (packets.parse()?, copies == "adaptive");
    let motion_copies = if adaptive { 0 } else { copies.parse()? };
    let settings = Settings { min_packets, motion_copies, predict_from, ..Settings::default() };
    let header = header.parse::<f64>()? * (4.0 - f64::from(min_packets));
    let mut sums = [0.0; LOSSES.len()];
    for name in files {
        let (_, fps, mut pictures) = y4m::read_y4m(&std::fs::read(name)?)?;
        pictures.truncate(END);
        let budget = kbps.parse::<f64>()? * 125.0 / fps + header;
        print!("{name}");
        for (loss, sum) in LOSSES.into_iter().zip(&mut sums) {
            let db = code(&pictures, settings, adaptive, budget, loss)?;
            print!(" {db:6.2}");
            *sum += db / files.len() as f64;
        }
        println!();
    }
    println!("mean of files {}", sums.map(|sum| format!(" {sum:6.2}")).concat());
    Ok(())
}

fn code(
    pictures: &[Picture],
    settings: Settings,
    adaptive: bool,
    budget: f64,
    loss: f64,
) -> Result<f64, Box<dyn std::error::Error>> {
    let size = pictures[0].size();
    let (mut encoder, mut decoder, mut random) = (Encoder::new(size, settings), Decoder::new(), 7);
    let mut resilience = Resilience::default();
    let (mut reports, mut shown): (Vec<(u16, PacketSet)>, _) = (Vec::new(), Vec::new());
    for (index, picture) in pictures.iter().enumerate() {
        if let Some((frame, received)) = index.checked_sub(REPORT_AFTER).map(|reported| reports[reported]) {
            encoder.acknowledge(frame, &received);
            resilience.take(received.count(), received.received());
        }
        if adaptive {
            encoder.set(Settings { motion_copies: resilience.motion_copies(size, budget as usize), ..settings });
        }
        let coded = encoder.encode(picture, (budget * if index == 0 { KEY_WORTH } else { 1.0 }) as usize)?;
        let mut received = PacketSet::none(coded.packets.len() as u8);
        let mut arrived = Vec::new();
        for (place, packet) in coded.packets.iter().enumerate() {
            if index < FIRST_LOSS || draw(&mut random) >= loss {
                received.insert(place as u8);
                arrived.push(packet.as_slice());
            }
        }
        if arrived.is_empty() {
            decoder.miss();
        } else {
            decoder.decode(&arrived)?;
        }
        reports.push((coded.frame, received));
        if index >= FIRST {
            shown.push(ssim_db(picture, &decoder.picture().ok_or("nothing shown")?));
        }
    }
    Ok(mean(&shown))
}
