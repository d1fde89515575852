/* libvpx's VP8 and VP9 encoders and decoders behind a handful of functions of plain numbers and pointers: its structures
   differ between versions, and here the compiler reads them out of the headers of the one that is linked.

   Settings are those of libwebrtc (modules/video_coding/codecs/vp8/libvpx_vp8_encoder.cc and vp9/libvpx_vp9_encoder.cc,
   one spatial and one temporal layer), but: one thread; no picture is left out by the encoder; no denoiser, so that what
   was coded is to be compared with what was seen; and half the buffer. With the whole one VP8 was 11 % below a target that
   had tripled in the second second after, and 44 % above one that had fallen to a fifth in the first (1280x720, the
   generated scene); with half of it, 4 % and 20 %. VP9's first seconds at 2 Mbit/s were of 2.54 and 1.60; with half of
   it, 2.10 and 1.87. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

/* Of times. */
#define TICKS_PER_SECOND 90000
/* Luma samples of the largest picture that is decoded: a stream that says it is larger may ask for any memory. */
#define MOST_SAMPLES (3840u * 2160u)
/* VP9 codes a key frame after so many pictures even where it is told to make none by itself. */
#define NO_KEYFRAME_SOON 1000000

typedef struct {
  vpx_codec_ctx_t codec;
  vpx_codec_enc_cfg_t config;
} legato_vpx;

typedef struct {
  vpx_codec_ctx_t codec;
  vpx_codec_iface_t *format;
} legato_vpx_decoder;

/* What one picture became; `bytes` live until the next one. */
typedef struct {
  const uint8_t *bytes;
  size_t length;
  int32_t keyframe;
  int32_t quantiser; /* of the bitstream, 0 ... 127 of VP8, 0 ... 255 of VP9 */
  double psnr_db;    /* of luma */
} legato_vpx_frame;

static void set_up_vp8(legato_vpx *encoder, uint32_t speed) {
  vpx_codec_control(&encoder->codec, VP8E_SET_NOISE_SENSITIVITY, 0);
  /* Negative: this speed, however long pictures take. */
  vpx_codec_control(&encoder->codec, VP8E_SET_CPUUSED, -(int)speed);
  vpx_codec_control(&encoder->codec, VP8E_SET_TOKEN_PARTITIONS, VP8_ONE_TOKENPARTITION);
}

static void set_up_vp9(legato_vpx *encoder, uint32_t speed) {
  vpx_codec_control(&encoder->codec, VP9E_SET_NOISE_SENSITIVITY, 0);
  vpx_codec_control(&encoder->codec, VP8E_SET_CPUUSED, (int)speed);
  /* Cyclic refresh: in each picture some blocks are coded finer, round and round. */
  vpx_codec_control(&encoder->codec, VP9E_SET_AQ_MODE, 3);
  vpx_codec_control(&encoder->codec, VP9E_SET_FRAME_PARALLEL_DECODING, 0);
  vpx_codec_control(&encoder->codec, VP9E_SET_TILE_COLUMNS, 0);
  vpx_codec_control(&encoder->codec, VP9E_SET_ROW_MT, 0);
}

/* Null, with `status`, where libvpx refuses. `vp9`: else VP8. `speed`: 0 ... 16 of VP8, 0 ... 9 of VP9, more is quicker
   and worse. `max_intra_percent`: the largest key frame, in percent of what a picture has on average. `resilient`: frames
   are decodable without what was learnt from others. */
legato_vpx *legato_vpx_open(int32_t vp9, uint32_t width, uint32_t height, uint32_t kbps, uint32_t speed,
                            uint32_t max_intra_percent, int32_t resilient, int32_t *status) {
  vpx_codec_iface_t *format = vp9 ? vpx_codec_vp9_cx() : vpx_codec_vp8_cx();
  legato_vpx *encoder = calloc(1, sizeof *encoder);
  if (encoder == NULL) {
    *status = VPX_CODEC_MEM_ERROR;
    return NULL;
  }
  vpx_codec_enc_cfg_t *config = &encoder->config;
  *status = vpx_codec_enc_config_default(format, config, 0);
  if (*status != VPX_CODEC_OK) {
    free(encoder);
    return NULL;
  }
  config->g_w = width;
  config->g_h = height;
  config->g_timebase.num = 1;
  config->g_timebase.den = TICKS_PER_SECOND;
  config->g_threads = 1;
  config->g_lag_in_frames = 0;
  config->g_error_resilient = resilient ? VPX_ERROR_RESILIENT_DEFAULT : 0;
  config->g_pass = VPX_RC_ONE_PASS;
  config->rc_end_usage = VPX_CBR;
  config->rc_target_bitrate = kbps;
  config->rc_dropframe_thresh = 0;
  config->rc_resize_allowed = 0;
  config->rc_min_quantizer = 2;
  config->rc_max_quantizer = vp9 ? 52 : 56;
  config->rc_undershoot_pct = vp9 ? 50 : 100;
  config->rc_overshoot_pct = vp9 ? 50 : 15;
  config->rc_buf_initial_sz = 250;
  config->rc_buf_optimal_sz = 300;
  config->rc_buf_sz = 500;
  config->kf_mode = VPX_KF_DISABLED;
  if (vp9) config->kf_min_dist = config->kf_max_dist = NO_KEYFRAME_SOON;
  *status = vpx_codec_enc_init(&encoder->codec, format, config, VPX_CODEC_USE_PSNR);
  if (*status != VPX_CODEC_OK) {
    free(encoder);
    return NULL;
  }
  if (vp9)
    set_up_vp9(encoder, speed);
  else
    set_up_vp8(encoder, speed);
  vpx_codec_control(&encoder->codec, VP8E_SET_STATIC_THRESHOLD, 1);
  vpx_codec_control(&encoder->codec, VP8E_SET_MAX_INTRA_BITRATE_PCT, max_intra_percent);
  return encoder;
}

/* The status. */
int32_t legato_vpx_set_bitrate(legato_vpx *encoder, uint32_t kbps) {
  encoder->config.rc_target_bitrate = kbps;
  return vpx_codec_enc_config_set(&encoder->codec, &encoder->config);
}

/* The flags of a frame that may be predicted from some of the last, golden and alternate frames, which are the bits of
   `used` in this order, and replaces those of `replaced`. */
static vpx_enc_frame_flags_t flags_of(uint32_t used, uint32_t replaced) {
  static const vpx_enc_frame_flags_t unused[] = {VP8_EFLAG_NO_REF_LAST, VP8_EFLAG_NO_REF_GF, VP8_EFLAG_NO_REF_ARF};
  static const vpx_enc_frame_flags_t left[] = {VP8_EFLAG_NO_UPD_LAST, VP8_EFLAG_NO_UPD_GF, VP8_EFLAG_NO_UPD_ARF};
  static const vpx_enc_frame_flags_t forced[] = {0, VP8_EFLAG_FORCE_GF, VP8_EFLAG_FORCE_ARF};
  vpx_enc_frame_flags_t flags = VP8_EFLAG_NO_UPD_ENTROPY;
  int buffer;
  for (buffer = 0; buffer < 3; buffer++) {
    if (!(used >> buffer & 1)) flags |= unused[buffer];
    flags |= replaced >> buffer & 1 ? forced[buffer] : left[buffer];
  }
  return flags;
}

/* Code a picture of planar 4:2:0, one plane behind the other, shown at `time` for `duration` ticks. `used` and `replaced`
   as above; 0: libvpx chooses references. The status. */
int32_t legato_vpx_encode(legato_vpx *encoder, const uint8_t *picture, int64_t time, uint32_t duration,
                          int32_t keyframe, uint32_t used, uint32_t replaced, legato_vpx_frame *frame) {
  vpx_enc_frame_flags_t flags = used ? flags_of(used, replaced) : 0;
  vpx_image_t image;
  vpx_codec_iter_t position = NULL;
  const vpx_codec_cx_pkt_t *packet;
  vpx_codec_err_t status;

  memset(frame, 0, sizeof *frame);
  /* The encoder reads the picture and does not write it. */
  if (vpx_img_wrap(&image, VPX_IMG_FMT_I420, encoder->config.g_w, encoder->config.g_h, 1, (uint8_t *)picture) == NULL)
    return VPX_CODEC_INVALID_PARAM;
  status = vpx_codec_encode(&encoder->codec, &image, time, duration, keyframe ? VPX_EFLAG_FORCE_KF : flags,
                            VPX_DL_REALTIME);
  if (status != VPX_CODEC_OK) return status;
  while ((packet = vpx_codec_get_cx_data(&encoder->codec, &position)) != NULL) {
    if (packet->kind == VPX_CODEC_CX_FRAME_PKT) {
      frame->bytes = packet->data.frame.buf;
      frame->length = packet->data.frame.sz;
      frame->keyframe = (packet->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
    } else if (packet->kind == VPX_CODEC_PSNR_PKT) {
      frame->psnr_db = packet->data.psnr.psnr[1];
    }
  }
  return vpx_codec_control(&encoder->codec, VP8E_GET_LAST_QUANTIZER, &frame->quantiser);
}

/* What a status means, in words that need not be freed. */
const char *legato_vpx_reason(int32_t status) { return vpx_codec_err_to_string((vpx_codec_err_t)status); }

void legato_vpx_close(legato_vpx *encoder) {
  vpx_codec_destroy(&encoder->codec);
  free(encoder);
}

/* The luma of a decoded picture; `samples` live until the next one. Null: nothing is to be shown. */
typedef struct {
  const uint8_t *samples;
  uint32_t width;
  uint32_t height;
  uint32_t stride;
} legato_vpx_luma;

/* Null, with `status`, where libvpx refuses. `vp9`: else VP8. */
legato_vpx_decoder *legato_vpx_open_decoder(int32_t vp9, int32_t *status) {
  legato_vpx_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) {
    *status = VPX_CODEC_MEM_ERROR;
    return NULL;
  }
  decoder->format = vp9 ? vpx_codec_vp9_dx() : vpx_codec_vp8_dx();
  *status = vpx_codec_dec_init(&decoder->codec, decoder->format, NULL, 0);
  if (*status != VPX_CODEC_OK) {
    free(decoder);
    return NULL;
  }
  return decoder;
}

/* Whether a frame says of itself that it is larger than what is decoded; key frames do. */
static int too_large(const legato_vpx_decoder *decoder, const uint8_t *bytes, uint32_t length) {
  vpx_codec_stream_info_t said;
  memset(&said, 0, sizeof said);
  said.sz = sizeof said;
  /* Its verdict on the frame is the decoder's, too. */
  vpx_codec_peek_stream_info(decoder->format, bytes, length, &said);
  return said.w != 0 && said.h > MOST_SAMPLES / said.w;
}

/* The status. */
int32_t legato_vpx_decode(legato_vpx_decoder *decoder, const uint8_t *bytes, uint32_t length, legato_vpx_luma *luma) {
  vpx_codec_iter_t position = NULL;
  const vpx_image_t *image;
  vpx_codec_err_t status;

  memset(luma, 0, sizeof *luma);
  if (too_large(decoder, bytes, length)) return VPX_CODEC_UNSUP_FEATURE;
  status = vpx_codec_decode(&decoder->codec, bytes, length, NULL, 0);
  if (status != VPX_CODEC_OK) return status;
  /* Of several pictures in one frame (spatial layers) the last one is the best. */
  while ((image = vpx_codec_get_frame(&decoder->codec, &position)) != NULL) {
    if (image->fmt != VPX_IMG_FMT_I420) continue;
    luma->samples = image->planes[VPX_PLANE_Y];
    luma->width = image->d_w;
    luma->height = image->d_h;
    luma->stride = image->stride[VPX_PLANE_Y];
  }
  return VPX_CODEC_OK;
}

void legato_vpx_close_decoder(legato_vpx_decoder *decoder) {
  vpx_codec_destroy(&decoder->codec);
  free(decoder);
}
