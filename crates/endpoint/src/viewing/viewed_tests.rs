//! What the viewer saw in calls whose frames were shown, not shown, or smaller.

use super::*;
use crate::pictures::ahead::Measured;
use crate::pictures::coder::{CodedSource, Coder};
use crate::viewing::vmaf::stand_in;
use legato_media::{EncoderBudget, FrameRate, SourceFrame};
use legato_units::{DataRate, Timestamp};

/// Ten pictures, of which the camera skipped number 4; of whole macroblocks, because OpenH264's own figures include
/// its padding.
fn coded(coding: Coding) -> (CodedCall, Vec<f32>) {
    let source = PictureSource::Generated { width: 320, height: 176, frame_rate: FrameRate::THIRTY };
    let mut coder =
        Coder::new(CodedSource::Pictures(Pictures::open(&source).unwrap()), coding, 0, Measured::default(), false)
            .unwrap();
    let (mut call, mut told) = (CodedCall::new(source, coding), Vec::new());
    let budget = EncoderBudget::of_bitrate(DataRate::from_bps(600_000));
    for frame in (0..10).filter(|&frame| frame != 4) {
        let capture = Timestamp::from_millis(33 * frame as i64);
        let picture = SourceFrame { frame, capture, content: 0, complexity: None };
        let coded = coder.code(&picture, &budget, frame as u32).unwrap();
        call.push(frame, coded.bytes);
        told.push(coded.psnr_db.unwrap());
    }
    (call, told)
}

#[test]
fn shown_frames_have_the_quality_that_the_encoder_reports() {
    for coding in Coding::all() {
        let (call, told) = coded(coding);
        let viewed = call.viewed(10, &(0..10).collect()).unwrap().unwrap().qualities;
        let shown = (0..10).filter(|&frame| frame != 4).map(|frame| viewed[frame].unwrap().psnr_db);
        for (seen, coded) in shown.zip(&told) {
            assert!((seen - coded).abs() < 0.1, "{coding:?}: {seen} {coded}");
        }
    }
}

#[test]
fn a_picture_that_stays_is_compared_with_those_it_stands_for() {
    let (call, _) = coded(Coding::default());
    // Nothing before 2; 3 to 6 show 2, then 7.
    let viewed = call.viewed(10, &[2, 7, 8, 9].into()).unwrap().unwrap().qualities;
    let ssim: Vec<_> = viewed.iter().map(|quality| quality.map(|quality| quality.ssim_db)).collect();
    assert_eq!(ssim[..2], [None, None]);
    let stays: Vec<_> = ssim[2..7].iter().map(|ssim_db| ssim_db.unwrap()).collect();
    assert!(stays.is_sorted_by(|a, b| a > b) && ssim[7].unwrap() > stays[1], "{ssim:?}");
}

#[test]
fn a_smaller_picture_is_compared_at_the_clips_own_size_and_its_number_is_not() {
    let source = PictureSource::Generated { width: 640, height: 360, frame_rate: FrameRate::THIRTY };
    let pictures = || Pictures::open(&source).unwrap();
    let viewed = [true, false].map(|adapts| {
        let mut coder =
            Coder::new(CodedSource::Pictures(pictures()), Coding::default(), 0, Measured::default(), adapts).unwrap();
        let mut call = CodedCall::new(source.clone(), Coding::default());
        for frame in 0..6 {
            let capture = Timestamp::from_millis(33 * frame as i64);
            let picture = SourceFrame { frame, capture, content: 0, complexity: None };
            let budget = EncoderBudget::of_bitrate(DataRate::from_bps(240_000));
            let coded = coder.code(&picture, &budget, frame as u32).unwrap();
            // Less than 250 kbit/s begins at 240 rows or less.
            assert_eq!((coded.size, coded.keyframe), (if adapts { (320, 180) } else { (640, 360) }, frame == 0));
            call.push(frame, coded.bytes);
        }
        let viewed = call.viewed(6, &(0..6).collect()).unwrap().unwrap().qualities;
        viewed.iter().map(|quality| f64::from(quality.unwrap().psnr_db)).sum::<f64>() / 6.0
    });
    assert!(viewed[0] > 18.0 && viewed[0] < 40.0 && viewed[1] > 18.0, "{viewed:?}");
    // Twice as large as they were, and the squares, 64 columns and 8 rows, with an edge around them.
    let screen = Screen::of(Shown { width: 320, height: 180, samples: vec![50; 320 * 180] }, (640, 360));
    let beside = screen.beside(&[200; 640 * 360], 640);
    let of_source = beside.chunks(640).map(|row| row.iter().filter(|&&sample| sample == 200).count());
    assert!(of_source.eq((0..360).map(|row| if row < 18 { 130 } else { 0 })));
    assert!(beside.iter().all(|&sample| sample == 200 || sample == 50));
}

#[test]
fn vmaf_compares_the_captured_picture_with_the_one_on_the_screen() {
    let (mut call, _) = coded(Coding::default());
    let stream = std::env::temp_dir().join(format!("legato-viewed-{}", std::process::id()));
    let frames: Vec<_> = (0..8).map(|score| format!("{{\"metrics\": {{\"vmaf\": {score}}}}}")).collect();
    let script = format!("cat > {}; echo '{{\"frames\": [{}]}}'", stream.display(), frames.join(","));
    call.measure_vmaf(stand_in("viewed", &script, || true));
    let Viewed { qualities, vmaf } = call.viewed(10, &[2, 7, 8, 9].into()).unwrap().unwrap();
    let scores: Vec<_> = [None, None].into_iter().chain((0..8).map(|score| Some(score as f32))).collect();
    assert_eq!(vmaf, Some(Ok(scores)));
    let (width, height) = (320, 176);
    let samples = width * height;
    let bytes = std::fs::read(stream).unwrap();
    let pairs = bytes[bytes.len() - 8 * (6 + 3 * samples)..].chunks(6 + 3 * samples).map(|pair| &pair[6..]);
    let (mut pictures, mut drawn) = (Pictures::open(&call.source).unwrap(), Vec::new());
    let mut stood = None;
    for (frame, pair) in (2..).zip(pairs) {
        let (captured, screen) = (&pair[..samples], &pair[samples..2 * samples]);
        pictures.draw(frame, &mut drawn).unwrap();
        assert!(captured == &drawn[..samples], "{frame}");
        let luma = |samples| Luma::new(width, height, samples).unwrap();
        assert_eq!(compare(luma(captured), luma(screen)), qualities[frame as usize]);
        // 2 stays until 7 is shown.
        assert_eq!(*stood.get_or_insert(screen) == screen, frame < 7, "{frame}");
    }
}

#[test]
fn a_program_that_fails_costs_its_scores_and_one_that_is_stopped_the_rest() {
    let (mut call, _) = coded(Coding::default());
    let shown = (0..10).collect();
    call.measure_vmaf(stand_in("broken", "echo broken >&2; exit 1", || true));
    let viewed = call.viewed(10, &shown).unwrap().unwrap();
    assert!(viewed.vmaf.unwrap().unwrap_err().to_string().ends_with("broken"));
    assert!(viewed.qualities[9].is_some());
    call.measure_vmaf(stand_in("stopped", "exec sleep 60", || false));
    assert_eq!(call.viewed(10, &shown).err(), Some(Error::Interrupted));
}

#[test]
fn a_call_that_showed_nothing_has_no_vmaf_and_no_error() {
    let (mut call, _) = coded(Coding::default());
    call.measure_vmaf(stand_in("unused", "cat > /dev/null; echo nothing >&2; exit 1", || true));
    assert_eq!(call.viewed(10, &BTreeSet::new()).unwrap().unwrap().vmaf, Some(Ok(vec![None; 10])));
}

#[test]
fn a_call_too_long_to_keep_is_not_compared() {
    let (mut call, _) = coded(Coding::default());
    call.bytes = MOST_BYTES;
    call.push(10, vec![0]);
    assert!(call.viewed(11, &BTreeSet::new()).unwrap().is_none() && call.frames.is_empty());
}
