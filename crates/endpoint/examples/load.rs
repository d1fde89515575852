//! The load of calls on a machine apart from their codec: several at once, frames of filler, str0m at the other ends.
//!
//! `cargo run --release -p legato-endpoint --example load -- CALLS SECONDS`; Linux, for the threads' times.

use legato_call::{FeedbackFormat, Pauses, Sender, SenderConfig};
use legato_control::controllers::fixed::{Config, Fixed};
use legato_control::{Construct, Context, NoAssets, RateLimits};
use legato_endpoint::{CallSetup, Camera, Clock, Codec, LatenessFigures, PictureSource, Place, Session, WaySetup};
use legato_media::pacer::PacerConfig;
use legato_media::{FrameRate, Source};
use legato_path::Path;
use legato_path::capacity::LinkCapacity;
use legato_path::queue::QueueLimit;
use legato_path::stage::{Bottleneck, Propagation};
use legato_trace::LogLevel;
use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
use std::error::Error;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;
use str0m::change::SdpOffer;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Input, Output, RtcConfig};

const TARGET: DataRate = DataRate::from_bps(1_500_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let calls = arguments.next().transpose()?.unwrap_or(8);
    let seconds = arguments.next().transpose()?.unwrap_or(20).max(6);
    let run = move || call(seconds).map_err(|error| error.to_string());
    let threads: Vec<_> = (0..calls).map(|_| thread::spawn(run)).collect();
    // From when all are connected to before the first ends.
    thread::sleep(Duration::from_secs(2));
    let before = cpu_ticks()?;
    thread::sleep(Duration::from_secs(u64::from(seconds - 4)));
    let spent_s = (cpu_ticks()? - before) as f64 / 100.0;
    for (number, thread) in threads.into_iter().enumerate() {
        let (late, rate_bps) = thread.join().map_err(|_| "a call died")??;
        println!(
            "call {number}: {:.2} Mbit/s, late {:.2} ms p99, {:.2} p99.9",
            rate_bps / 1e6,
            late.p99_ms,
            late.p999_ms
        );
    }
    let share = spent_s / f64::from(seconds - 4) / f64::from(calls);
    println!("endpoint and link: {:.1} % of a processor per call", 100.0 * share);
    Ok(())
}

fn call(seconds: u32) -> Result<(LatenessFigures, f64), Box<dyn Error>> {
    let (camera, encoder) = Camera::open(&PictureSource::Filling { frame_rate: FrameRate::THIRTY }, Codec::H264)?;
    let limits = RateLimits { min: TARGET, start: TARGET, max: TARGET };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    let config = SenderConfig {
        start: Timestamp::ZERO,
        pacer: PacerConfig::default(),
        retransmit: true,
        max_pacer_queue: TimeDelta::from_secs(2),
        audio: None,
        feedback: FeedbackFormat::Twcc,
        ecn: Ecn::NotEct,
    };
    let controller = Box::new(Fixed::new(Config::default(), context)?);
    let sender = Sender::new(config, controller, encoder, Source::new(camera.content(), Timestamp::ZERO, 0));
    let capacity = LinkCapacity::constant(DataRate::from_mbps(3));
    let delay = || Propagation::fixed(TimeDelta::from_millis(20)).into();
    let forward = Path::new([Bottleneck::new(capacity, QueueLimit::Packets(100)).into(), delay()]);
    let duration = TimeDelta::from_secs(i64::from(seconds));
    let (reverse, pauses, level) = (Path::new([delay()]), Pauses::default(), LogLevel::Summary);
    let place = Place::alone(forward, reverse)?;
    let setup = CallSetup { sender, camera, place, duration, pauses, level };
    let mut call = Session::open([WaySetup::Sent(Box::new(setup))])?;
    answer(&mut call)?;
    let ((summary, _, report), _) = call.finish(&[])?.remove(0);
    Ok((report.lateness, summary.receiver_rate_bps))
}

/// The other end, until the call is over.
fn answer(call: &mut Session) -> Result<(), Box<dyn Error>> {
    let (socket, clock) = (UdpSocket::bind("127.0.0.1:0")?, Clock::starting_now());
    let local = socket.local_addr()?;
    let config = RtcConfig::new().clear_codecs().enable_h264(true).set_rtp_mode(true);
    let mut rtc = config.build(clock.instant(clock.now()));
    rtc.add_local_candidate(Candidate::host(local, "udp")?);
    let offer = SdpOffer::from_sdp_string(&call.offer(0, None)?)?;
    call.answer(0, Some(&rtc.sdp_api().accept_offer(offer)?.to_sdp_string()))?;
    let mut buffer = [0; 2_000];
    while !call.progress().over {
        match rtc.poll_output()? {
            Output::Transmit(transmit) => drop(socket.send_to(&transmit.contents, transmit.destination)),
            Output::Event(_) => {}
            Output::Timeout(at) => {
                let wait = at.saturating_duration_since(clock.instant(clock.now()));
                socket.set_read_timeout(Some(wait.clamp(Duration::from_millis(1), Duration::from_millis(50))))?;
                let received = socket.recv_from(&mut buffer);
                let now = clock.instant(clock.now());
                let input = match received {
                    Ok((length, from)) => {
                        Input::Receive(now, Receive::new(Protocol::Udp, from, local, &buffer[..length])?)
                    }
                    Err(_) => Input::Timeout(now),
                };
                rtc.handle_input(input)?;
            }
        }
    }
    Ok(())
}

/// CPU time of the calls' own threads, in hundredths of a second.
fn cpu_ticks() -> Result<u64, Box<dyn Error>> {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("stat"))?;
        let (name, rest) = stat.rsplit_once(") ").ok_or("a thread without a name")?;
        if name.contains("(legato-") {
            ticks += rest.split(' ').skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum::<u64>();
        }
    }
    Ok(ticks)
}
