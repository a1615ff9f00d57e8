// SPDX-License-Identifier: Apache-2.0
/* Replaces the driver's libnvcuvid.so.1, beside fake_libcuda.c: every packet is a picture of 320x180 in NV12, shown at
   once, with its number in all samples. A decoder takes the device memory of its surfaces. Of VP9 the header says what is
   shown and kept; a packet that shows a picture again is misread as one of 4109x36865, as NVIDIA's parser did. The environment:
     FAKE_CUDA_FAIL   function:result[:after n calls],... for cuvidCreateDecoder, cuvidParseVideoData, cuvidDecodePicture, cuvidMapVideoFrame64
     FAKE_CUDA_LOG    a file for one line a decoder made and destroyed
     FAKE_CUVID_WIDTH, _HEIGHT  the coded size (320, 192)      FAKE_CUVID_RIGHT, _BOTTOM  of the display area (320, 180)
     FAKE_CUVID_GRADIENT        1: luma is column + row, chroma column and row
     FAKE_CUVID_STATISTICS      1: the decoder gives statistics of blocks, as drivers since 590; all bytes but the header's
                                are the picture's number
     FAKE_CUVID_MOST  the largest width and height (4096)      FAKE_CUVID_MACROBLOCKS  the most of a picture (65536) */
#include <dlfcn.h>
#include <ffnvcodec/dynlink_cuda.h>
// Needs the types of the one above.
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include <stdio.h>

#include "fake_plan.h"

#define EXPORT __attribute__((visibility("default")))

enum { SURFACES = 4, STRIDE = 512, PICTURES = 32, SLOTS = 8 };

struct Decoder {
  unsigned long long memory;
  size_t height;
  unsigned char numbers[PICTURES];
  unsigned char decoded;
  int statistics;
};
struct Parser {
  CUVIDPARSERPARAMS calls;
  int surfaces; /* 0 before the first picture */
  int next;
  int slots[SLOTS]; /* of VP9: surface + 1, or 0 */
};

/* The driver's own, which the library has opened by then. */
static void* driver(const char* name) { return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name); }

static void note(const char* what) {
  const char* path = getenv("FAKE_CUDA_LOG");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s 0 0\n", what);
  fclose(file);
}

EXPORT CUresult cuvidGetDecoderCaps(CUVIDDECODECAPS* caps) {
  caps->bIsSupported = caps->eChromaFormat == cudaVideoChromaFormat_420 && caps->nBitDepthMinus8 == 0;
  caps->nNumNVDECs = 2;
  caps->nOutputFormatMask = 1 << cudaVideoSurfaceFormat_NV12;
  *(unsigned char*)caps->reserved3 = (unsigned char)number("FAKE_CUVID_STATISTICS", 0);
  caps->nMinWidth = 48;
  caps->nMinHeight = 48;
  caps->nMaxWidth = caps->nMaxHeight = (unsigned)number("FAKE_CUVID_MOST", 4096);
  caps->nMaxMBCount = (unsigned)number("FAKE_CUVID_MACROBLOCKS", 65536);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidCreateDecoder(CUvideodecoder* made, CUVIDDECODECREATEINFO* info) {
  CUresult (*allocate)(unsigned long long*, size_t) =
      (CUresult(*)(unsigned long long*, size_t))driver("cuMemAlloc_v2");
  const size_t picture = STRIDE * info->ulMaxHeight * 3 / 2;
  struct Decoder* decoder = calloc(1, sizeof(struct Decoder));
  CUresult result = (CUresult)outcome("cuvidCreateDecoder");
  if (!result) result = allocate(&decoder->memory, picture * (info->ulNumDecodeSurfaces + info->ulNumOutputSurfaces));
  if (result) {
    free(decoder);
    return result;
  }
  decoder->height = info->ulMaxHeight;
  decoder->statistics = (int)info->Reserved2[0] & 1; /* enableDecodeFeatures */
  *made = (CUvideodecoder)decoder;
  note("decoder");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidDestroyDecoder(CUvideodecoder handle) {
  struct Decoder* decoder = (struct Decoder*)handle;
  ((CUresult(*)(unsigned long long))driver("cuMemFree_v2"))(decoder->memory);
  free(decoder);
  note("no_decoder");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidReconfigureDecoder(CUvideodecoder handle, CUVIDRECONFIGUREDECODERINFO* info) {
  (void)handle;
  (void)info;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidDecodePicture(CUvideodecoder handle, CUVIDPICPARAMS* picture) {
  struct Decoder* decoder = (struct Decoder*)handle;
  const CUresult planned = (CUresult)outcome("cuvidDecodePicture");
  if (planned) return planned;
  decoder->numbers[picture->CurrPicIdx] = decoder->decoded++;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidGetDecodeStatus(CUvideodecoder handle, int picture, CUVIDGETDECODESTATUS* status) {
  (void)handle;
  (void)picture;
  status->decodeStatus = cuvidDecodeStatus_Success;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidMapVideoFrame64(CUvideodecoder handle, int picture, unsigned long long* pointer, unsigned* stride,
                                     CUVIDPROCPARAMS* process) {
  struct Decoder* decoder = (struct Decoder*)handle;
  const CUresult planned = (CUresult)outcome("cuvidMapVideoFrame64");
  if (planned) return planned;
  if (decoder->statistics && process->Reserved2[0]) { /* pCuvidProcExt */
    static unsigned char statistics[4096];
    const unsigned header[2] = {3, 20 * 12};
    memset(statistics, decoder->numbers[picture], sizeof statistics);
    memcpy(statistics, header, sizeof header);
    *((unsigned long long**)process->Reserved2[0])[16] = (unsigned long long)statistics;
  }
  /* Copies from it are done at once: one picture's memory is enough for all. */
  unsigned char* samples = (unsigned char*)decoder->memory;
  memset(samples, decoder->numbers[picture], STRIDE * decoder->height * 3 / 2);
  for (size_t y = 0; number("FAKE_CUVID_GRADIENT", 0) && y < decoder->height * 3 / 2; ++y) {
    const size_t row = y < decoder->height ? y : y - decoder->height;
    for (size_t x = 0; x < STRIDE; ++x)
      samples[y * STRIDE + x] = (unsigned char)(y < decoder->height ? x + row : x % 2 ? row : x / 2);
  }
  *pointer = decoder->memory;
  *stride = STRIDE;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidUnmapVideoFrame64(CUvideodecoder handle, unsigned long long pointer) {
  return pointer == ((struct Decoder*)handle)->memory ? CUDA_SUCCESS : (CUresult)1;
}

EXPORT CUresult cuvidCreateVideoParser(CUvideoparser* made, CUVIDPARSERPARAMS* parameters) {
  struct Parser* parser = calloc(1, sizeof(struct Parser));
  parser->calls = *parameters;
  *made = (CUvideoparser)parser;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuvidDestroyVideoParser(CUvideoparser parser) {
  free(parser);
  return CUDA_SUCCESS;
}

static int begin(struct Parser* parser, unsigned width, unsigned height) {
  CUVIDEOFORMAT format = {.codec = parser->calls.CodecType};
  format.chroma_format = cudaVideoChromaFormat_420;
  format.progressive_sequence = 1;
  format.min_num_decode_surfaces = parser->calls.CodecType == cudaVideoCodec_VP9 ? SLOTS + 2 : SURFACES;
  format.coded_width = width;
  format.coded_height = height;
  format.display_area.right = (int)number("FAKE_CUVID_RIGHT", 320);
  format.display_area.bottom = (int)number("FAKE_CUVID_BOTTOM", 180);
  parser->surfaces = parser->calls.pfnSequenceCallback(parser->calls.pUserData, &format);
  return parser->surfaces;
}

/* Where the first slice of H.264 or HEVC begins, at its start code: it tells a key frame. */
static unsigned first_slice(const CUVIDSOURCEDATAPACKET* packet, int hevc) {
  const unsigned char* bytes = packet->payload;
  for (unsigned at = 0; at + 3 < packet->payload_size; ++at) {
    const int type = hevc ? bytes[at + 3] >> 1 & 63 : bytes[at + 3] & 31;
    const int is_slice = hevc ? type < 32 : type == 1 || type == 5;
    if (bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1 && is_slice) return at;
  }
  return 0;
}

/* Of a VP9 frame's header: whether the frame is shown, and which slots it goes to; -1 if it only shows one again. */
static int vp9_refreshed(const unsigned char* frame, int* shown) {
  const unsigned bits = (unsigned)frame[0] << 16 | (unsigned)frame[1] << 8 | frame[2]; /* profile 0 */
  if (bits >> 19 & 1) return -1;
  *shown = bits >> 17 & 1;
  if (!(bits >> 18 & 1)) return 0xff; /* a key frame */
  int at = 17 - 1 - 1 - (*shown ? 0 : 1); /* past error_resilient_mode and intra_only */
  if (!*shown && (bits >> (at + 1) & 1)) return 0xff; /* intra only: not among the test's pictures */
  if (!(bits >> 16 & 1)) at -= 2;
  return (int)(bits >> (at - 7) & 0xff);
}

EXPORT CUresult cuvidParseVideoData(CUvideoparser handle, CUVIDSOURCEDATAPACKET* packet) {
  struct Parser* parser = (struct Parser*)handle;
  if (!(packet->flags & CUVID_PKT_ENDOFPICTURE)) return CUDA_SUCCESS; /* headers, or the end: nothing waits here */
  const CUresult planned = (CUresult)outcome("cuvidParseVideoData");
  if (planned) return planned;
  const int vp9 = parser->calls.CodecType == cudaVideoCodec_VP9;
  int shown = 1;
  const int refreshed = !vp9 ? 0 : packet->payload_size < 3 ? -1 : vp9_refreshed(packet->payload, &shown);
  if (refreshed < 0) return begin(parser, 4109, 36865) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  const unsigned width = (unsigned)number("FAKE_CUVID_WIDTH", 320), height = (unsigned)number("FAKE_CUVID_HEIGHT", 192);
  if (!parser->surfaces && !begin(parser, width, height)) return CUDA_ERROR_UNKNOWN;
  for (int slot = 0; slot < SLOTS;) { /* a surface that no slot holds */
    if (parser->slots[slot++] != parser->next + 1) continue;
    parser->next = (parser->next + 1) % parser->surfaces;
    slot = 0;
  }
  const unsigned slice = first_slice(packet, parser->calls.CodecType == cudaVideoCodec_HEVC);
  CUVIDPICPARAMS picture = {.CurrPicIdx = parser->next, .nNumSlices = 1, .pSliceDataOffsets = &slice};
  picture.pBitstreamData = packet->payload;
  picture.nBitstreamDataLen = (unsigned)packet->payload_size;
  picture.intra_pic_flag = refreshed == 0xff;
  for (int slot = 0; slot < SLOTS; ++slot) {
    if (refreshed >> slot & 1) parser->slots[slot] = parser->next + 1;
  }
  parser->next = (parser->next + 1) % parser->surfaces;
  if (!parser->calls.pfnDecodePicture(parser->calls.pUserData, &picture)) return CUDA_ERROR_UNKNOWN;
  if (!shown) return CUDA_SUCCESS;
  CUVIDPARSERDISPINFO display = {.picture_index = picture.CurrPicIdx, .progressive_frame = 1};
  return parser->calls.pfnDisplayPicture(parser->calls.pUserData, &display) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
