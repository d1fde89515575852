//! A call over a real socket with str0m at the other end: connection, numbering, sizes, link, repair and feedback,
//! without a browser.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod on_time;
mod str0m_end;

use legato_control::PacketKind;
use legato_endpoint::{
    CallReport, CallSetup, Coding, Datagram, Finished, PairSetup, ParityRule, PictureSource, Place, ReceivingSetup,
    Recovery, SeenPicture, Session, WaySetup,
};
use legato_media::FrameRate;
use legato_media::playout::PlayoutConfig;
use legato_path::Path;
use legato_path::capacity::LinkCapacity;
use legato_path::queue::QueueLimit;
use legato_path::stage::{Bottleneck, Loss, Propagation};
use legato_trace::{LogLevel, Recorder, Summary};
use legato_units::{DataRate, TimeDelta};
use on_time::on_time;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;
use str0m_end::{Other, answered, constant_rate, sent};

fn setup(forward: Path<Datagram>, target_bps: u64, duration: TimeDelta) -> CallSetup {
    setup_in(Coding::default(), forward, target_bps, duration)
}

fn setup_in(coding: Coding, forward: Path<Datagram>, target_bps: u64, duration: TimeDelta) -> CallSetup {
    let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
    let reverse = Path::new([Propagation::fixed(TimeDelta::from_millis(10)).into()]);
    let place = Place::alone(forward, reverse).unwrap();
    constant_rate((&source, coding), place, DataRate::from_bps(target_bps), duration)
}

/// VP8 and VP9, where this build has them.
fn by_libvpx() -> Vec<Coding> {
    let codings = ["vp8", "vp9"].map(|codec| Coding::new(codec, Recovery::Nack).unwrap());
    codings.into_iter().filter(|coding| coding.check().is_ok()).collect()
}

/// H.264 in slices.
fn references() -> Coding {
    Coding::new("h264", Recovery::References).unwrap()
}

/// A direction between two Legato ends.
fn own(call: CallSetup) -> WaySetup {
    WaySetup::Own(Box::new(PairSetup { call, controller: None, playout: PlayoutConfig::default(), nack: true }))
}

/// The outcome of a session's only direction.
fn finished(call: Session) -> Result<(Finished, Vec<SeenPicture>), String> {
    call.finish(&[]).map(|mut ways| ways.remove(0)).map_err(|error| error.to_string())
}

fn call(coding: Coding, forward: Path<Datagram>, target_bps: u64) -> (Other, Summary, Recorder, CallReport) {
    let mut call = sent(setup_in(coding, forward, target_bps, TimeDelta::from_secs(3)));
    let mut other = answered(&mut call);
    other.run(|| call.progress().over);
    let ((summary, recorder, report), _) = finished(call).unwrap();
    (other, summary, recorder, report)
}

#[test]
fn packets_keep_their_numbers_and_sizes_and_feedback_comes_back() {
    on_time(|| {
        let link = LinkCapacity::constant(DataRate::from_mbps(4));
        let forward = Path::new([
            Bottleneck::new(link, QueueLimit::Packets(100)).into(),
            Propagation::fixed(TimeDelta::from_millis(20)).into(),
        ]);
        let (other, summary, recorder, report) = call(Coding::default(), forward, 600_000);
        assert_eq!((report.misnumbered, report.odd_sizes, report.stopped), (0, 0, false));
        assert!((summary.sending_rate_bps - 600e3).abs() < 120e3, "{}", summary.sending_rate_bps);
        assert_eq!(summary.loss_ratio, Some(0.0));
        // 20 ms, and a packet of some 1,200 bytes takes up to 2.4 ms at 4 Mbit/s; the rest is the machine's.
        let delay = summary.one_way_delay_p50_ms.unwrap();
        assert!((20.0..40.0).contains(&delay), "{delay}");
        let rtt = summary.rtt_p50_ms.unwrap();
        assert!((30.0..80.0).contains(&rtt), "{rtt}");
        assert!(summary.feedback_rate_bps > 0.0 && summary.frames_encoded > 60);
        let arrived = recorder.packets().iter().filter(|row| row.arrived.is_some()).count() as u32;
        // The last ones are in flight when the call ends.
        assert!(other.video <= arrived && other.video + 20 > arrived, "{} of {arrived}", other.video);
        assert!(u64::from(other.markers) <= summary.frames_encoded && other.markers > 50);
        assert_eq!(other.repeated, 0);
    });
}

#[test]
fn packets_of_vp8_and_vp9_have_the_sizes_that_the_sender_counts() {
    on_time(|| {
        for coding in by_libvpx() {
            let (other, summary, _, report) = call(coding, plain_link(), 600_000);
            assert_eq!((report.misnumbered, report.odd_sizes), (0, 0), "{coding:?}");
            assert!((summary.sending_rate_bps - 600e3).abs() < 150e3, "{coding:?} {}", summary.sending_rate_bps);
            assert!(other.video > 100 && other.markers > 50, "{} packets, {} frames", other.video, other.markers);
        }
    });
}

#[test]
fn a_call_that_is_stopped_or_never_answered_ends_at_once() {
    on_time(|| {
        let direct = || Path::new([Propagation::fixed(TimeDelta::from_millis(1)).into()]);
        let call = sent(setup(direct(), 300_000, TimeDelta::from_secs(60)));
        call.stop();
        let error = finished(call).err().unwrap();
        assert_eq!(error, "stopped before media began");
        let mut call = sent(setup(direct(), 300_000, TimeDelta::from_secs(60)));
        let mut other = answered(&mut call);
        let mut seen = false;
        other.run(|| {
            let progress = call.progress();
            if progress.time > TimeDelta::from_secs(1) && !seen {
                seen = true;
                call.stop();
            }
            progress.over
        });
        let ((summary, _, report), _) = finished(call).unwrap();
        assert!(report.stopped && summary.duration_s < 2.0, "{}", summary.duration_s);
    });
}

#[test]
fn an_end_with_another_certificate_is_refused() {
    on_time(|| {
        let mut call = sent(setup(Path::new([]), 300_000, TimeDelta::from_secs(5)));
        let (mut other, answer) = Other::answering(&call.offer(0, None).unwrap());
        let line = answer.lines().find(|line| line.starts_with("a=fingerprint:")).unwrap();
        let first = line.rfind(' ').unwrap() + 1;
        let wrong = format!("{}{}", &line[..first], line[first..].replace('A', "B").replace('1', "2"));
        call.answer(0, Some(&answer.replace(line, &wrong))).unwrap();
        other.run(|| call.progress().over);
        let error = finished(call).err().unwrap();
        assert!(error.contains("fingerprint"), "{error}");
    });
}

/// A link of 2 Mbit/s and 20 ms in each direction.
fn plain_link() -> Path<Datagram> {
    let link = LinkCapacity::constant(DataRate::from_mbps(2));
    Path::new([
        Bottleneck::new(link, QueueLimit::Packets(100)).into(),
        Propagation::fixed(TimeDelta::from_millis(20)).into(),
    ])
}

fn address_in(offer: &str) -> SocketAddr {
    let line = offer.lines().find(|line| line.starts_with("a=candidate:")).unwrap();
    let fields: Vec<_> = line.split(' ').collect();
    format!("{}:{}", fields[4], fields[5]).parse().unwrap()
}

/// Datagrams that look like STUN, DTLS, RTP, RTCP or nothing, but are invalid.
fn malformed(number: u32) -> Vec<u8> {
    let mut state = number.wrapping_mul(2_654_435_761);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let length = [0, 1, 3, 4, 11, 12, 19, 20, 21, 60, 400, 1_500][number as usize % 12];
    let mut bytes: Vec<u8> = (0..length).map(|_| next()).collect();
    let heads: [&[u8]; 8] = [
        &[0, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42],
        &[1, 1, 255, 255, 0x21, 0x12, 0xa4, 0x42],
        &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255],
        &[21, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40],
        &[0x90, 102, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0xbe, 0xde, 255, 255],
        &[0x8f, 205, 255, 255],
        &[0xaf, 201, 0, 0],
        &[77],
    ];
    let head = heads[number as usize % 8];
    let shared = head.len().min(bytes.len());
    bytes[..shared].copy_from_slice(&head[..shared]);
    bytes
}

#[test]
fn a_thousand_malformed_datagrams_from_peer_and_stranger_change_nothing() {
    on_time(|| {
        let mut call = sent(setup(plain_link(), 500_000, TimeDelta::from_secs(4)));
        let at = address_in(&call.offer(0, None).unwrap());
        let (mut other, answer) = Other::answering(&call.offer(0, None).unwrap());
        let (as_peer, stranger) = (other.socket.try_clone().unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        // Before the answer only strangers can send.
        (0..50).for_each(|number| drop(stranger.send_to(&malformed(number), at)));
        call.answer(0, Some(&answer)).unwrap();
        let mut number = 50;
        other.run(|| {
            for _ in 0..2 {
                if number < 1_050 {
                    let from = if number % 3 == 0 { &stranger } else { &as_peer };
                    let _ = from.send_to(&malformed(number), at);
                    number += 1;
                }
            }
            call.progress().over
        });
        let ((summary, _, report), _) = finished(call).unwrap();
        assert_eq!((number, report.misnumbered, report.stopped), (1_050, 0, false));
        assert!(report.unreadable > 500, "{}", report.unreadable);
        assert!((summary.sending_rate_bps - 500e3).abs() < 100e3 && other.video > 150, "{}", summary.sending_rate_bps);
        assert!(summary.feedback_rate_bps > 0.0);
    });
}

#[test]
fn a_peer_that_goes_away_ends_the_call_with_one_line_and_frees_the_port() {
    on_time(|| {
        let mut call = sent(setup(plain_link(), 300_000, TimeDelta::from_secs(120)));
        let at = address_in(&call.offer(0, None).unwrap());
        let mut other = answered(&mut call);
        other.run(|| call.progress().time > TimeDelta::from_secs(1));
        drop(other);
        let error = finished(call).err().unwrap();
        assert!(error.starts_with("the other end no longer answers") && !error.contains('\n'), "{error}");
        UdpSocket::bind(at).unwrap();
    });
}

fn shown_to_us(coding: Coding) {
    let call = setup_in(coding, plain_link(), 500_000, TimeDelta::from_secs(3));
    let call = Session::open([own(call)]).unwrap();
    while !call.progress().over {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ((summary, recorder, report), seen) = finished(call).unwrap();
    assert_eq!((report.misnumbered, report.odd_sizes, report.misread, report.stopped), (0, 0, 0, false));
    // The last ones are in flight when the call ends.
    let rendered = recorder.frames().iter().filter(|row| row.rendered.is_some()).count() as u64;
    assert!(rendered <= summary.frames_encoded && rendered + 10 > summary.frames_encoded, "{rendered} of {summary:?}");
    let whole = |picture: &SeenPicture| picture.decoded && picture.lost_packets == 0;
    let broken: Vec<_> = seen.iter().filter(|picture| !whole(picture)).collect();
    assert!(broken.is_empty(), "{coding:?}: {broken:?}");
    let stamps: Vec<_> = seen.iter().filter_map(|picture| picture.image?.stamp).collect();
    assert!(stamps.len() == seen.len() && stamps.is_sorted(), "{stamps:?}");
    // 20 ms forth and 10 back, and decoding comes before showing.
    let delay = summary.frame_delay_p50_ms.unwrap();
    assert!((20.0..80.0).contains(&delay), "{delay}");
    assert!(summary.render_delay_mean_ms.unwrap() > delay && summary.rtt_p50_ms.unwrap() > 30.0);
}

#[test]
fn two_ends_of_ours_show_every_picture_that_was_coded() {
    on_time(|| {
        Coding::all().for_each(shown_to_us);
    });
}

/// A call that loses a tenth of its packets: nothing is sent again, and all that can be decoded is shown. How many pictures
/// could not be, how many key frames there were, and the mean SSIM in dB.
fn shown_although_packets_are_lost(coding: Coding) -> (usize, usize, f64) {
    let link = LinkCapacity::constant(DataRate::from_mbps(4));
    let forward = Path::new([
        Loss::new(0.1, ChaCha8Rng::seed_from_u64(1)).unwrap().into(),
        Bottleneck::new(link, QueueLimit::Packets(100)).into(),
        Propagation::fixed(TimeDelta::from_millis(20)).into(),
    ]);
    let call = setup_in(coding, forward, 600_000, TimeDelta::from_secs(4));
    let call = Session::open([own(call)]).unwrap();
    while !call.progress().over {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ((summary, recorder, report), seen) = finished(call).unwrap();
    assert_eq!((report.misnumbered, report.odd_sizes, report.stopped), (0, 0, false));
    let loss = summary.loss_ratio.unwrap();
    assert!((0.05..0.16).contains(&loss), "{loss}");
    let rendered = recorder.frames().iter().filter(|row| row.rendered.is_some()).count() as u64;
    assert!(rendered + 10 > summary.frames_encoded && summary.frames_encoded > 80, "{rendered} of {summary:?}");
    let missed = seen.iter().filter(|picture| !picture.decoded).count();
    let in_part = seen.iter().filter(|picture| picture.lost_packets > 0).count();
    assert!(in_part > 10, "{in_part} of {}", seen.len());
    assert!(recorder.packets().iter().all(|row| row.packet.kind != PacketKind::Retransmission));
    assert!(report.compared);
    let keyframes = recorder.frames().iter().filter(|row| row.encoded.is_some_and(|frame| frame.keyframe)).count();
    (missed, keyframes, summary.viewed_ssim_db_mean.unwrap())
}

#[cfg(feature = "hybrid")]
#[test]
fn the_hybrid_codec_shows_every_picture_although_packets_are_lost() {
    on_time(|| {
        let (missed, keyframes, mean) =
            shown_although_packets_are_lost(Coding::new("hybrid", Recovery::References).unwrap());
        assert_eq!(missed, 0);
        assert_eq!(keyframes, 1, "the sender knows what the receiver has");
        // Whole, the scene is at some 11 dB at this bitrate; a picture that drifts apart is soon below 5.
        assert!(mean > 7.0, "{mean}");
    });
}

#[test]
fn h264_with_references_shows_what_came_although_packets_are_lost() {
    on_time(|| {
        let (missed, keyframes, mean) = shown_although_packets_are_lost(references());
        // Without its parameter sets a key frame cannot be decoded, nor the frames after it until the next.
        assert!(missed < 20, "{missed}");
        // Until one has come whole there is nothing to predict from.
        assert!((1..10).contains(&keyframes), "{keyframes}");
        assert!(mean > 7.0, "{mean}");
    });
}

/// A tenth of the packets is lost and nothing is requested again: half of all packets are parity, without which one frame
/// in four would be torn.
fn shown_by_parity(coding: Coding) {
    let link = LinkCapacity::constant(DataRate::from_mbps(4));
    let forward = Path::new([
        Loss::new(0.1, ChaCha8Rng::seed_from_u64(1)).unwrap().into(),
        Bottleneck::new(link, QueueLimit::Packets(100)).into(),
        Propagation::fixed(TimeDelta::from_millis(20)).into(),
    ]);
    let call = setup_in(coding, forward, 1_200_000, TimeDelta::from_secs(4));
    let call = CallSetup { parity: ParityRule::Share(0.5), ..call };
    let setup = PairSetup { call, controller: None, playout: PlayoutConfig::default(), nack: false };
    let call = Session::open([WaySetup::Own(Box::new(setup))]).unwrap();
    while !call.progress().over {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ((summary, recorder, report), seen) = finished(call).unwrap();
    assert_eq!((report.misnumbered, report.odd_sizes, report.stopped), (0, 0, false), "{coding:?}");
    let of_kind = |kind| recorder.packets().iter().filter(|row| row.packet.kind == kind).count();
    let (media, parity) = (of_kind(PacketKind::Video), of_kind(PacketKind::Fec));
    // Of the last frame not all packets may have left.
    assert!(media.abs_diff(parity) < 20 && media > 150, "{coding:?}: {media} packets, {parity} of parity");
    assert_eq!(of_kind(PacketKind::Retransmission), 0);
    let restored = recorder.gauges().iter().filter(|row| row.name == "receiver.restored_packets");
    let restored = restored.map(|row| row.value).fold(0.0, f64::max);
    assert!(restored > 10.0, "{coding:?}: {restored} restored");
    let shown = seen.iter().filter(|picture| picture.decoded).count() as u64;
    assert!(shown + 25 > summary.frames_encoded && summary.frames_encoded > 80, "{coding:?}: {shown} of {summary:?}");
}

#[test]
fn parity_restores_what_is_lost() {
    on_time(|| shown_by_parity(Coding::default()));
}

#[test]
fn parity_protects_vp8_and_vp9_too() {
    on_time(|| by_libvpx().into_iter().for_each(shown_by_parity));
}

#[test]
fn parity_is_refused_where_none_can_be() {
    let refused = |setup: CallSetup, own_end: bool| {
        let call = CallSetup { parity: ParityRule::Adaptive, ..setup };
        let way = if own_end { own(call) } else { WaySetup::Sent(Box::new(call)) };
        Session::open([way]).err().unwrap().to_string()
    };
    let second = TimeDelta::from_secs(1);
    let towards_a_browser = refused(setup(plain_link(), 300_000, second), false);
    assert_eq!(towards_a_browser, "parity: only a Legato end restores packets by it");
    let in_part = refused(setup_in(references(), plain_link(), 300_000, second), true);
    assert_eq!(in_part, "parity: frames are shown in part, and nothing is restored");
}

#[test]
fn media_both_ways_over_one_network_show_every_picture() {
    on_time(|| {
        let both = Place::opposite(plain_link(), plain_link()).unwrap();
        let ways = both.map(|place| own(CallSetup { place, ..setup(Path::new([]), 500_000, TimeDelta::from_secs(3)) }));
        let call = Session::open(ways).unwrap();
        while !call.progress().over {
            std::thread::sleep(Duration::from_millis(20));
        }
        let ways = call.finish(&[]).unwrap();
        assert_eq!(ways.len(), 2);
        for ((summary, _, report), seen) in ways {
            assert_eq!((report.misnumbered, report.odd_sizes, report.misread, report.stopped), (0, 0, 0, false));
            assert!(summary.frames_encoded > 60 && seen.len() as u64 + 10 > summary.frames_encoded, "{summary:?}");
            assert!(seen.iter().all(|picture| picture.decoded && picture.lost_packets == 0));
        }
    });
}

#[test]
fn one_of_two_calls_on_a_network_does_not_begin_alone() {
    on_time(|| {
        let [place, _waiting] = Place::opposite(plain_link(), plain_link()).unwrap();
        let call = CallSetup { place, ..setup(Path::new([]), 300_000, TimeDelta::from_secs(3)) };
        let call = Session::open([own(call)]).unwrap();
        // Certificates take time on a busy machine.
        for _ in 0..2_000 {
            if call.progress().reached {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // As long as a call that may begin takes to.
        std::thread::sleep(Duration::from_millis(500));
        let progress = call.progress();
        assert!(progress.reached && !progress.connected && !progress.over, "{progress:?}");
        call.stop();
        assert_eq!(finished(call).err().unwrap(), "stopped before media began");
    });
}

#[test]
fn a_call_between_two_ends_of_ours_can_be_stopped_at_any_time() {
    on_time(|| {
        for wait_ms in [0, 1_500] {
            let call = Session::open([own(setup(plain_link(), 300_000, TimeDelta::from_secs(60)))]).unwrap();
            std::thread::sleep(Duration::from_millis(wait_ms));
            call.stop();
            match finished(call) {
                Ok(((_, _, report), _)) => assert!(report.stopped),
                Err(error) => assert_eq!(error, "stopped before media began"),
            }
        }
    });
}

#[test]
fn malformed_datagrams_at_our_receiving_end_cost_no_picture() {
    on_time(|| {
        let mut call = sent(setup(plain_link(), 500_000, TimeDelta::from_secs(3)));
        let receiving = ReceivingSetup {
            coding: Coding::default(),
            controller: None,
            place: Place::alone(Path::new([]), Path::new([])).unwrap(),
            duration: TimeDelta::from_secs(20),
            level: LogLevel::Summary,
            playout: PlayoutConfig::default(),
            nack: true,
            sent_width: None,
        };
        let mut receiving = Session::open([WaySetup::Received(Box::new(receiving))]).unwrap();
        receiving.offer(0, Some(&call.offer(0, None).unwrap())).unwrap();
        let answer = receiving.answer(0, None).unwrap();
        let at = address_in(&answer);
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        call.answer(0, Some(&answer)).unwrap();
        let mut number = 0;
        while !call.progress().over {
            // Not before the call has begun: the first media begins it, whatever its source.
            if call.progress().time > TimeDelta::from_millis(500) && number < 1_000 {
                (number..number + 10).for_each(|number| drop(stranger.send_to(&malformed(number), at)));
                number += 10;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let ((summary, _, _), _) = finished(call).unwrap();
        receiving.stop();
        let ((_, _, report), seen) = finished(receiving).unwrap();
        assert!(number == 1_000 && report.unreadable > 500, "{number} {}", report.unreadable);
        let shown = seen.iter().filter(|picture| picture.shown.is_some()).count() as u64;
        assert!(seen.iter().all(|picture| picture.decoded) && shown + 10 > summary.frames_encoded, "{shown}");
    });
}
