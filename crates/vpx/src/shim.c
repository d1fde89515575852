/* libvpx's VP8 encoder and decoder behind a handful of functions of plain numbers and pointers: its structures differ between versions,
   and here the compiler reads them out of the headers of the one that is linked.

   Settings are those of libwebrtc (modules/video_coding/codecs/vp8/libvpx_vp8_encoder.cc), but: one thread; no
   picture is left out by the encoder; no denoiser, so that what was coded is to be compared with what was seen; and
   half its buffer. With the whole one libvpx was 11 % below a target that had tripled in the second second after, and
   44 % above one that had fallen to a fifth in the first (1280x720, the generated scene); with half of it, 4 % and
   20 %. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

/* Of times. */
#define TICKS_PER_SECOND 90000

typedef struct {
  vpx_codec_ctx_t codec;
  vpx_codec_enc_cfg_t config;
} legato_vp8;

/* What one picture became; `bytes` live until the next one. */
typedef struct {
  const uint8_t *bytes;
  size_t length;
  int32_t keyframe;
  int32_t quantiser; /* of the bitstream, 0 ... 127 */
  double psnr_db;    /* of luma */
} legato_vp8_frame;

/* Null, with `status`, where libvpx refuses. `speed`: 0 ... 16, more is quicker and worse. `max_intra_percent`: the
   largest key frame, in percent of what a picture has on average. */
legato_vp8 *legato_vp8_open(uint32_t width, uint32_t height, uint32_t kbps, uint32_t speed, uint32_t max_intra_percent,
                            int32_t *status) {
  legato_vp8 *encoder = calloc(1, sizeof *encoder);
  if (encoder == NULL) {
    *status = VPX_CODEC_MEM_ERROR;
    return NULL;
  }
  vpx_codec_enc_cfg_t *config = &encoder->config;
  *status = vpx_codec_enc_config_default(vpx_codec_vp8_cx(), config, 0);
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
  config->g_error_resilient = 0;
  config->g_pass = VPX_RC_ONE_PASS;
  config->rc_end_usage = VPX_CBR;
  config->rc_target_bitrate = kbps;
  config->rc_dropframe_thresh = 0;
  config->rc_resize_allowed = 0;
  config->rc_min_quantizer = 2;
  config->rc_max_quantizer = 56;
  config->rc_undershoot_pct = 100;
  config->rc_overshoot_pct = 15;
  config->rc_buf_initial_sz = 250;
  config->rc_buf_optimal_sz = 300;
  config->rc_buf_sz = 500;
  config->kf_mode = VPX_KF_DISABLED;
  *status = vpx_codec_enc_init(&encoder->codec, vpx_codec_vp8_cx(), config, VPX_CODEC_USE_PSNR);
  if (*status != VPX_CODEC_OK) {
    free(encoder);
    return NULL;
  }
  vpx_codec_control(&encoder->codec, VP8E_SET_NOISE_SENSITIVITY, 0);
  vpx_codec_control(&encoder->codec, VP8E_SET_STATIC_THRESHOLD, 1);
  /* Negative: this speed, however long pictures take. */
  vpx_codec_control(&encoder->codec, VP8E_SET_CPUUSED, -(int)speed);
  vpx_codec_control(&encoder->codec, VP8E_SET_TOKEN_PARTITIONS, VP8_ONE_TOKENPARTITION);
  vpx_codec_control(&encoder->codec, VP8E_SET_MAX_INTRA_BITRATE_PCT, max_intra_percent);
  return encoder;
}

/* The status. */
int32_t legato_vp8_set_bitrate(legato_vp8 *encoder, uint32_t kbps) {
  encoder->config.rc_target_bitrate = kbps;
  return vpx_codec_enc_config_set(&encoder->codec, &encoder->config);
}

/* Code a picture of planar 4:2:0, one plane behind the other, shown at `time` for `duration` ticks. The status. */
int32_t legato_vp8_encode(legato_vp8 *encoder, const uint8_t *picture, int64_t time, uint32_t duration,
                          int32_t keyframe, legato_vp8_frame *frame) {
  vpx_image_t image;
  vpx_codec_iter_t position = NULL;
  const vpx_codec_cx_pkt_t *packet;
  vpx_codec_err_t status;

  memset(frame, 0, sizeof *frame);
  /* The encoder reads the picture and does not write it. */
  if (vpx_img_wrap(&image, VPX_IMG_FMT_I420, encoder->config.g_w, encoder->config.g_h, 1, (uint8_t *)picture) == NULL)
    return VPX_CODEC_INVALID_PARAM;
  status = vpx_codec_encode(&encoder->codec, &image, time, duration, keyframe ? VPX_EFLAG_FORCE_KF : 0,
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
const char *legato_vp8_reason(int32_t status) { return vpx_codec_err_to_string((vpx_codec_err_t)status); }

void legato_vp8_close(legato_vp8 *encoder) {
  vpx_codec_destroy(&encoder->codec);
  free(encoder);
}

/* The luma of a decoded picture; `samples` live until the next one. Null: nothing is to be shown. */
typedef struct {
  const uint8_t *samples;
  uint32_t width;
  uint32_t height;
  uint32_t stride;
} legato_vp8_luma;

/* Null, with `status`, where libvpx refuses. */
vpx_codec_ctx_t *legato_vp8_open_decoder(int32_t *status) {
  vpx_codec_ctx_t *decoder = calloc(1, sizeof *decoder);
  *status = decoder == NULL ? VPX_CODEC_MEM_ERROR : vpx_codec_dec_init(decoder, vpx_codec_vp8_dx(), NULL, 0);
  if (*status != VPX_CODEC_OK) {
    free(decoder);
    return NULL;
  }
  return decoder;
}

/* The status. */
int32_t legato_vp8_decode(vpx_codec_ctx_t *decoder, const uint8_t *bytes, uint32_t length, legato_vp8_luma *luma) {
  vpx_codec_iter_t position = NULL;
  const vpx_image_t *image;
  vpx_codec_err_t status = vpx_codec_decode(decoder, bytes, length, NULL, 0);

  memset(luma, 0, sizeof *luma);
  if (status != VPX_CODEC_OK) return status;
  image = vpx_codec_get_frame(decoder, &position);
  if (image != NULL && image->fmt == VPX_IMG_FMT_I420) {
    luma->samples = image->planes[VPX_PLANE_Y];
    luma->width = image->d_w;
    luma->height = image->d_h;
    luma->stride = image->stride[VPX_PLANE_Y];
  }
  return VPX_CODEC_OK;
}

void legato_vp8_close_decoder(vpx_codec_ctx_t *decoder) {
  vpx_codec_destroy(decoder);
  free(decoder);
}
