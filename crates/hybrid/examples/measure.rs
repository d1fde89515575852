//! Codes a Y4M file and prints rate and quality: `measure FILE KBPS [loss %] [run frames] [min packets] [delay] [motion copies]`.

use legato_hybrid::{Decoder, Encoder, PacketSet, PredictFrom, Settings};
use legato_media::quality::{Luma, mean_squared_error, psnr_db, ssim, ssim_to_db};
use std::time::Duration;

#[path = "clip/y4m.rs"]
mod y4m;

/// Time that this thread has had a processor: on a busy machine the clock says little (Linux).
fn now() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: f64| args.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (kbps, loss, run) = (number(2, 300.0), number(3, 0.0) / 100.0, number(4, 10.0) as usize);
    let settings = Settings {
        min_packets: number(5, 4.0) as u8,
        predict_from: if number(6, -1.0) >= 100.0 { PredictFrom::Reported } else { PredictFrom::Latest },
        ..Settings::default()
    };
    let settings = Settings { motion_copies: number(7, 1.0) as u8, ..settings };
    let delay = number(6, -1.0) as i64;
    let (size, fps, pictures) = y4m::read_y4m(&std::fs::read(&args[1])?)?;
    let budget = kbps * 1000.0 / 8.0 / fps;
    let (mut encoder, mut decoder) = (Encoder::new(size, settings), Decoder::new());
    let (mut coding, mut decoding) = (Duration::ZERO, Duration::ZERO);
    let (mut sizes, mut db, mut psnr, mut near, mut state) = (vec![], vec![], vec![], 0, 7_u32);
    let mut reports: Vec<(u16, PacketSet)> = vec![];
    for (index, picture) in pictures.iter().enumerate() {
        if delay >= 0 {
            let behind = (delay % 100) as usize;
            if reports.len() > behind {
                let (frame, received) = reports.remove(0);
                encoder.acknowledge(frame, &received);
            }
        }
        let bytes = if index == 0 { 8.0 * budget } else { budget };
        let start = now();
        let coded = encoder.encode(picture, bytes as usize)?;
        coding += now() - start;
        let lossy = index >= 10 && (index / run) % 2 == 1;
        let packets: Vec<&[u8]> = coded
            .packets
            .iter()
            .filter(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                !(lossy && f64::from(state >> 8) / f64::from(1 << 24) < loss)
            })
            .map(Vec::as_slice)
            .collect();
        let start = now();
        if packets.is_empty() {
            decoder.miss();
            reports.push((coded.frame, PacketSet::none(coded.packets.len() as u8)));
        } else {
            let decoded = decoder.decode(&packets)?;
            reports.push((decoded.frame, decoded.received));
        }
        decoding += now() - start;
        let shown = decoder.picture().ok_or("nothing shown")?;
        if loss == 0.0 {
            assert_eq!(Some(&shown), encoder.shown().as_ref(), "frame {index}");
        }
        let luma = |pixels| Luma::new(size.width(), size.height(), pixels).expect("sizes agree");
        if index >= 10 && (loss == 0.0 || lossy) {
            sizes.push(coded.bytes());
            near += usize::from((coded.bytes() as f64 - budget).abs() <= 0.05 * budget);
            db.push(ssim_to_db(ssim(luma(picture.luma()), luma(shown.luma())).unwrap_or(0.0)));
            psnr.push(psnr_db(mean_squared_error(luma(picture.luma()), luma(shown.luma())).unwrap_or(0.0)));
        }
        if args.len() > 8 {
            println!("{index} {} {} {:.2}", coded.bytes(), coded.quantiser, db.last().unwrap_or(&0.0));
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let rate = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64 * fps * 8.0 / 1000.0;
    let count = pictures.len() as f64;
    println!(
        "{:.0} kbit/s  SSIM {:.2} dB  PSNR {:.2} dB  near {:.0} %  {:.0} fps coded  {:.0} fps decoded",
        rate,
        mean(&db),
        mean(&psnr),
        100.0 * near as f64 / sizes.len() as f64,
        count / coding.as_secs_f64(),
        count / decoding.as_secs_f64()
    );
    Ok(())
}
