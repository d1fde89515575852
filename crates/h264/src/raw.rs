//! The encoder behind its C interface, and what of the decoder its Rust interface lacks; every `unsafe` of the crate is
//! here.

use crate::{Error, Mode, Settings};
use openh264::decoder::Decoder;
use openh264_sys2::source::APILoader;
use openh264_sys2::{
    CAMERA_VIDEO_REAL_TIME, DECODER_OPTION_ERROR_CON_IDC, ENCODER_LTR_MARKING_FEEDBACK, ENCODER_LTR_RECOVERY_REQUEST,
    ENCODER_OPTION, ENCODER_OPTION_BITRATE, ENCODER_OPTION_DATAFORMAT, ENCODER_OPTION_FRAME_RATE,
    ENCODER_OPTION_GET_STATISTICS, ENCODER_OPTION_RC_MODE, ENCODER_OPTION_SVC_ENCODE_PARAM_EXT,
    ENCODER_OPTION_TRACE_LEVEL, ERROR_CON_SLICE_MV_COPY_CROSS_IDR, ISVCEncoder, ISVCEncoderVtbl, LTR_MARKING_SUCCESS,
    LTR_RECOVERY_REQUEST, RC_BITRATE_MODE, RC_OFF_MODE, SBitrateInfo, SBufferInfo, SEncParamExt, SEncoderStatistics,
    SFrameBSInfo, SLTRMarkingFeedback, SLTRRecoverRequest, SM_FIXEDSLCNUM_SLICE, SM_SINGLE_SLICE, SPATIAL_LAYER_ALL,
    SSourcePicture, WELS_LOG_QUIET, videoFormatI420, videoFrameTypeIDR, videoFrameTypeSkip,
};
use std::ffi::c_void;
use std::ptr::{from_mut, null_mut};

/// The encoder's output for a picture.
pub(crate) struct Frame {
    pub bytes: Vec<u8>,
    pub keyframe: bool,
    /// The mean quantiser, rounded.
    pub qp: u8,
    /// Luma PSNR, if requested.
    pub psnr_db: Option<f32>,
}

pub(crate) struct Encoder {
    api: Api,
    width: i32,
    height: i32,
    quantiser: Option<u8>,
}

// SAFETY: the encoder is one object without ties to the thread that made it, and only `&mut` reaches it.
unsafe impl Send for Encoder {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Encoder {}

impl Encoder {
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        Self::resilient(settings, Resilience::default())
    }

    pub(crate) fn resilient(settings: Settings, resilience: Resilience) -> Result<Self, Error> {
        let api = Api::new()?;
        let mut params = SEncParamExt::default();
        // SAFETY: `params` outlives the call, which fills it.
        check(unsafe { api.get_default_params(&raw mut params) }, "default parameters")?;
        let (width, height) = (i32::from(settings.width), i32::from(settings.height));
        params.iUsageType = CAMERA_VIDEO_REAL_TIME;
        (params.iPicWidth, params.iPicHeight) = (width, height);
        params.fMaxFrameRate = settings.frame_rate;
        params.iTemporalLayerNum = 1;
        params.iSpatialLayerNum = 1;
        params.uiIntraPeriod = 0; // Key frames come on request.
        params.bEnableFrameSkip = false;
        params.iMultipleThreadIdc = 1;
        params.bEnableSceneChangeDetect = false;
        let layer = &mut params.sSpatialLayers[0];
        (layer.iVideoWidth, layer.iVideoHeight) = (width, height);
        layer.fFrameRate = settings.frame_rate;
        let slices = u32::from(resilience.slices.max(1));
        layer.sSliceArgument.uiSliceMode = if slices > 1 { SM_FIXEDSLCNUM_SLICE } else { SM_SINGLE_SLICE };
        layer.sSliceArgument.uiSliceNum = slices;
        if let Some(frames) = resilience.long_term_frames {
            params.bEnableLongTermReference = true;
            params.iLTRRefNum = 2; // All that it has for cameras.
            params.iLtrMarkPeriod = u32::from(frames);
        }
        // A maximum bitrate equal to the target would hold the actual one below it; libwebrtc
        // leaves it unspecified too (webrtc:11543), which is the default.
        let mut quantiser = None;
        match settings.mode {
            Mode::Bitrate(bps) => {
                params.iRCMode = RC_BITRATE_MODE;
                params.iTargetBitrate = signed(bps)?;
                layer.iSpatialBitrate = signed(bps)?;
            }
            Mode::Quantiser(qp) => {
                params.iRCMode = RC_OFF_MODE;
                params.bEnableAdaptiveQuant = false;
                layer.iDLayerQp = i32::from(qp);
                quantiser = Some(qp);
            }
        }
        let (mut quiet, mut format) = (WELS_LOG_QUIET, videoFormatI420);
        // SAFETY: the encoder exists, and every pointer is to a live local of the option's type.
        unsafe {
            check(api.set_option(ENCODER_OPTION_TRACE_LEVEL, from_mut(&mut quiet).cast()), "log level")?;
            check(api.initialize_ext(&raw const params), "parameters")?;
            check(api.set_option(ENCODER_OPTION_DATAFORMAT, from_mut(&mut format).cast()), "format")?;
        }
        Ok(Self { api, width, height, quantiser })
    }

    pub(crate) fn set_bitrate(&mut self, bits_per_second: u32) -> Result<(), Error> {
        let mut info = SBitrateInfo { iLayer: SPATIAL_LAYER_ALL, iBitrate: signed(bits_per_second)? };
        // SAFETY: the option takes an SBitrateInfo and reads it during the call.
        check(unsafe { self.api.set_option(ENCODER_OPTION_BITRATE, from_mut(&mut info).cast()) }, "bitrate")
    }

    /// Pictures come at this rate from now on: the rate control shares the bitrate out among them.
    pub(crate) fn set_frame_rate(&mut self, mut frames_per_second: f32) -> Result<(), Error> {
        let pointer = from_mut(&mut frames_per_second).cast();
        // SAFETY: the option takes a float and reads it during the call.
        check(unsafe { self.api.set_option(ENCODER_OPTION_FRAME_RATE, pointer) }, "frame rate")
    }

    /// The next pictures have this quantiser, and the rate control takes no notice of them; `None`: it chooses again. Of a
    /// stream with a bitrate.
    pub(crate) fn fix_quantiser(&mut self, quantiser: Option<u8>) -> Result<(), Error> {
        if quantiser == self.quantiser {
            return Ok(());
        }
        if let Some(quantiser) = quantiser {
            let mut params = SEncParamExt::default();
            let pointer: *mut c_void = from_mut(&mut params).cast();
            // SAFETY: the option fills an SEncParamExt during the call.
            check(unsafe { self.api.get_option(ENCODER_OPTION_SVC_ENCODE_PARAM_EXT, pointer) }, "parameters")?;
            // Its own parameters but for these: a difference in others, as the number of slices, makes it begin anew.
            params.iRCMode = RC_OFF_MODE;
            params.sSpatialLayers[0].iDLayerQp = quantiser.into();
            let pointer: *mut c_void = from_mut(&mut params).cast();
            // SAFETY: the option reads an SEncParamExt during the call.
            check(unsafe { self.api.set_option(ENCODER_OPTION_SVC_ENCODE_PARAM_EXT, pointer) }, "quantiser")?;
        }
        let mut mode = if quantiser.is_some() { RC_OFF_MODE } else { RC_BITRATE_MODE };
        let pointer = from_mut(&mut mode).cast();
        // SAFETY: the option takes an RC_MODES and reads it during the call.
        check(unsafe { self.api.set_option(ENCODER_OPTION_RC_MODE, pointer) }, "rate control")?;
        self.quantiser = quantiser;
        Ok(())
    }

    /// The receiver has the frame of this number, with all that it is predicted from. Of interest where it was marked to be
    /// kept. The encoder remembers one until the next picture.
    pub(crate) fn confirm(&mut self, id: FrameId) -> Result<(), Error> {
        let mut feedback = SLTRMarkingFeedback {
            uiFeedbackType: LTR_MARKING_SUCCESS as u32,
            uiIDRPicId: id.idr.into(),
            iLTRFrameNum: id.number.into(),
            iLayerId: 0,
        };
        let pointer = from_mut(&mut feedback).cast();
        // SAFETY: the option takes an SLTRMarkingFeedback and reads it during the call.
        check(unsafe { self.api.set_option(ENCODER_LTR_MARKING_FEEDBACK, pointer) }, "a confirmed reference")
    }

    /// The receiver's pictures are right up to `last`, and wrong up to `now`: the next is predicted from a confirmed
    /// one, and marks between the two are dropped.
    pub(crate) fn recover(&mut self, last: FrameId, now: FrameId) -> Result<(), Error> {
        let mut request = SLTRRecoverRequest {
            uiFeedbackType: LTR_RECOVERY_REQUEST as u32,
            uiIDRPicId: last.idr.into(),
            iLastCorrectFrameNum: last.number.into(),
            iCurrentFrameNum: now.number.into(),
            iLayerId: 0,
        };
        let pointer = from_mut(&mut request).cast();
        // SAFETY: the option takes an SLTRRecoverRequest and reads it during the call.
        check(unsafe { self.api.set_option(ENCODER_LTR_RECOVERY_REQUEST, pointer) }, "a recovery request")
    }

    /// `picture` is as long as the size requires; `psnr` costs the encoder another pass over the picture.
    pub(crate) fn encode(&mut self, picture: &[u8], time_ms: i64, key: bool, psnr: bool) -> Result<Frame, Error> {
        let luma = (self.width * self.height) as usize;
        let (y, chroma) = picture.split_at(luma);
        let (u, v) = chroma.split_at(luma / 4);
        // The encoder reads the planes and writes to none of them.
        let source = SSourcePicture {
            iColorFormat: videoFormatI420,
            iStride: [self.width, self.width / 2, self.width / 2, 0],
            pData: [y.as_ptr().cast_mut(), u.as_ptr().cast_mut(), v.as_ptr().cast_mut(), null_mut()],
            iPicWidth: self.width,
            iPicHeight: self.height,
            uiTimeStamp: time_ms,
            bPsnrY: psnr,
            ..Default::default()
        };
        let mut info = SFrameBSInfo::default();
        // SAFETY: source and info live through the calls; the planes are as long as strides say.
        unsafe {
            if key {
                check(self.api.force_intra_frame(), "key frame")?;
            }
            let status = match self.api.encode_frame(&raw const source, &raw mut info) {
                NO_REFERENCE => self.api.encode_frame(&raw const source, &raw mut info),
                status => status,
            };
            check(status, "frame")?;
        }
        if info.eFrameType == videoFrameTypeSkip {
            return Err(Error("OpenH264: a frame was dropped although dropping is off".to_owned()));
        }
        let qp = match self.quantiser {
            Some(qp) => qp,
            None => self.mean_quantiser()?,
        };
        let layers = &info.sLayerInfo[..info.iLayerNum.max(0) as usize];
        let psnr_db = layers.last().map(|layer| layer.rPsnr[0]).filter(|_| psnr);
        Ok(Frame { bytes: collect(&info), keyframe: info.eFrameType == videoFrameTypeIDR, qp, psnr_db })
    }

    fn mean_quantiser(&mut self) -> Result<u8, Error> {
        let mut statistics = SEncoderStatistics::default();
        let pointer = from_mut(&mut statistics).cast();
        // SAFETY: the option fills an SEncoderStatistics during the call.
        check(unsafe { self.api.get_option(ENCODER_OPTION_GET_STATISTICS, pointer) }, "statistics")?;
        Ok(statistics.uiAverageFrameQP as u8)
    }
}

/// What a stream has against losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resilience {
    /// Slices of a picture; 0 counts as 1. The encoder may take fewer.
    pub slices: u8,
    /// Pictures are kept as long-term references, at most one in so many; `None`: none is.
    pub long_term_frames: Option<u8>,
}

/// How a stream names a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId {
    /// Of its last key frame, `idr_pic_id`.
    pub idr: u16,
    /// `frame_num`.
    pub number: u16,
}

/// Let a decoder conceal missing slices by the previous picture, moved as it moved.
pub(crate) fn conceal(decoder: &mut Decoder) -> Result<(), Error> {
    let mut how = ERROR_CON_SLICE_MV_COPY_CROSS_IDR;
    // SAFETY: the decoder exists, and the option takes an integer and reads it during the call.
    let status = unsafe { decoder.raw_api().set_option(DECODER_OPTION_ERROR_CON_IDC, from_mut(&mut how).cast()) };
    check(status as i32, "concealment")
}

/// Decodes the slices of a frame that came, with a decoder that conceals. A delimiter says that no more come, and the
/// decoder then fills the gaps. It reports every loss as an error, with a picture all the same: columns, rows and luma.
pub(crate) fn decode_anyway(decoder: &mut Decoder, frame: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
    let (mut planes, mut info) = ([null_mut::<u8>(); 3], SBufferInfo::default());
    for bytes in [frame, &ACCESS_UNIT_DELIMITER] {
        let length = i32::try_from(bytes.len()).ok()?;
        // SAFETY: the bytes live through the call, which fills planes and info.
        unsafe {
            decoder.raw_api().decode_frame2(bytes.as_ptr(), length, planes.as_mut_ptr(), &raw mut info);
        }
    }
    if info.iBufferStatus != 1 || planes[0].is_null() {
        return None;
    }
    // SAFETY: with a picture the decoder has filled this member of the union.
    let shape = unsafe { info.UsrData.sSystemBuffer };
    let [width, height, stride] = [shape.iWidth, shape.iHeight, shape.iStride[0]].map(usize::try_from);
    let (width, height, stride) = (width.ok()?, height.ok()?, stride.ok()?);
    if width == 0 || height == 0 || stride < width {
        return None;
    }
    // SAFETY: the luma plane has `height` rows, `stride` bytes apart, and stays valid until the next call.
    let luma = unsafe { std::slice::from_raw_parts(planes[0], (height - 1) * stride + width) };
    let samples = luma.chunks(stride).flat_map(|row| &row[..width]).copied().collect();
    Some((width, height, samples))
}

/// [itu-h264] 7.3.2.4: the following slices, of any type, are another picture's.
const ACCESS_UNIT_DELIMITER: [u8; 6] = [0, 0, 0, 1, 9, 0xf0];

/// The C object and its table of functions, destroyed with it.
struct Api {
    object: *mut ISVCEncoder,
    table: ISVCEncoderVtbl,
}

impl Api {
    fn new() -> Result<Self, Error> {
        let mut object = null_mut();
        // SAFETY: on success the library leaves a live object, whose first word points to its table.
        unsafe {
            check(APILoader::WelsCreateSVCEncoder(&raw mut object), "an encoder")?;
            Ok(Self { object, table: **object })
        }
    }
    unsafe fn get_default_params(&self, params: *mut SEncParamExt) -> i32 {
        self.table.GetDefaultParams.map_or(MISSING, |call| unsafe { call(self.object, params) })
    }
    unsafe fn initialize_ext(&self, params: *const SEncParamExt) -> i32 {
        self.table.InitializeExt.map_or(MISSING, |call| unsafe { call(self.object, params) })
    }
    unsafe fn encode_frame(&self, source: *const SSourcePicture, info: *mut SFrameBSInfo) -> i32 {
        self.table.EncodeFrame.map_or(MISSING, |call| unsafe { call(self.object, source, info) })
    }
    unsafe fn force_intra_frame(&self) -> i32 {
        self.table.ForceIntraFrame.map_or(MISSING, |call| unsafe { call(self.object, true) })
    }
    unsafe fn set_option(&self, option: ENCODER_OPTION, value: *mut c_void) -> i32 {
        self.table.SetOption.map_or(MISSING, |call| unsafe { call(self.object, option, value) })
    }
    unsafe fn get_option(&self, option: ENCODER_OPTION, value: *mut c_void) -> i32 {
        self.table.GetOption.map_or(MISSING, |call| unsafe { call(self.object, option, value) })
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        // SAFETY: the object was made by this library and is not used again.
        unsafe {
            if let Some(uninitialize) = self.table.Uninitialize {
                uninitialize(self.object);
            }
            APILoader::WelsDestroySVCEncoder(self.object);
        }
    }
}

/// For a function missing from the table; no status of the library's own is so low.
const MISSING: i32 = i32::MIN;

/// No kept reference is left to predict a frame from; called again, the encoder makes a key frame.
const NO_REFERENCE: i32 = 2;

/// All NAL units of a frame, concatenated.
fn collect(info: &SFrameBSInfo) -> Vec<u8> {
    let mut bytes = Vec::new();
    for layer in &info.sLayerInfo[..info.iLayerNum.max(0) as usize] {
        // SAFETY: the encoder has filled `iNalCount` lengths, and the buffer holds their sum; both
        // stay valid until the next call.
        unsafe {
            let lengths = std::slice::from_raw_parts(layer.pNalLengthInByte, layer.iNalCount.max(0) as usize);
            let total: i32 = lengths.iter().sum();
            bytes.extend_from_slice(std::slice::from_raw_parts(layer.pBsBuf, total.max(0) as usize));
        }
    }
    bytes
}

fn signed(bits_per_second: u32) -> Result<i32, Error> {
    i32::try_from(bits_per_second)
        .ok()
        .filter(|&bps| bps > 0)
        .ok_or_else(|| Error(format!("OpenH264: bitrate {bits_per_second} bit/s is out of range")))
}

fn check(status: i32, what: &str) -> Result<(), Error> {
    if status == 0 { Ok(()) } else { Err(Error(format!("OpenH264 refused {what} (status {status})"))) }
}
