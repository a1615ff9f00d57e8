// SPDX-License-Identifier: Apache-2.0
/* Stands in for the driver's libnvcuvid.so.1, beside fake_libcuda.c: every packet is a picture of 320x180 in NV12, shown at
   once, whose samples are all its number. A decoder takes the device memory of its surfaces. The environment:
     FAKE_CUDA_FAIL   function:result[:after n calls],... for cuvidCreateDecoder, cuvidParseVideoData, cuvidDecodePicture, cuvidMapVideoFrame64
     FAKE_CUDA_LOG    a file for one line a decoder made and destroyed
     FAKE_CUVID_MOST  the largest width and height (4096)      FAKE_CUVID_MACROBLOCKS  the most of a picture (65536) */
#include <dlfcn.h>
#include <ffnvcodec/dynlink_cuda.h>
// Needs the types of the one above.
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include <stdio.h>

#include "fake_plan.h"

#define EXPORT __attribute__((visibility("default")))

enum { WIDTH = 320, HEIGHT = 180, CODED_HEIGHT = 192, SURFACES = 4, STRIDE = 512, PICTURES = 32 };

struct Decoder {
  unsigned long long memory;
  size_t height;
  unsigned char numbers[PICTURES];
  unsigned char decoded;
};
struct Parser {
  CUVIDPARSERPARAMS calls;
  int surfaces; /* 0 before the first picture */
  int next;
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
  (void)process;
  if (planned) return planned;
  /* Copies from it are done at once: one picture's memory is enough for all. */
  memset((void*)decoder->memory, decoder->numbers[picture], STRIDE * decoder->height * 3 / 2);
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

static int begin(struct Parser* parser) {
  CUVIDEOFORMAT format = {.codec = parser->calls.CodecType};
  format.chroma_format = cudaVideoChromaFormat_420;
  format.progressive_sequence = 1;
  format.min_num_decode_surfaces = SURFACES;
  format.coded_width = WIDTH;
  format.coded_height = CODED_HEIGHT;
  format.display_area.right = WIDTH;
  format.display_area.bottom = HEIGHT;
  parser->surfaces = parser->calls.pfnSequenceCallback(parser->calls.pUserData, &format);
  return parser->surfaces;
}

/* Where H.264's first slice begins, at its start code: it tells a key frame. */
static unsigned first_slice(const CUVIDSOURCEDATAPACKET* packet) {
  const unsigned char* bytes = packet->payload;
  for (unsigned at = 0; at + 3 < packet->payload_size; ++at) {
    const int type = bytes[at + 3] & 31;
    if (bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1 && (type == 1 || type == 5)) return at;
  }
  return 0;
}

EXPORT CUresult cuvidParseVideoData(CUvideoparser handle, CUVIDSOURCEDATAPACKET* packet) {
  struct Parser* parser = (struct Parser*)handle;
  if (!(packet->flags & CUVID_PKT_ENDOFPICTURE)) return CUDA_SUCCESS; /* headers, or the end: nothing waits here */
  const CUresult planned = (CUresult)outcome("cuvidParseVideoData");
  if (planned) return planned;
  if (!parser->surfaces && !begin(parser)) return CUDA_ERROR_UNKNOWN;
  const unsigned slice = first_slice(packet);
  CUVIDPICPARAMS picture = {.CurrPicIdx = parser->next, .nNumSlices = 1, .pSliceDataOffsets = &slice};
  picture.pBitstreamData = packet->payload;
  picture.nBitstreamDataLen = (unsigned)packet->payload_size;
  parser->next = (parser->next + 1) % parser->surfaces;
  if (!parser->calls.pfnDecodePicture(parser->calls.pUserData, &picture)) return CUDA_ERROR_UNKNOWN;
  CUVIDPARSERDISPINFO shown = {.picture_index = picture.CurrPicIdx, .progressive_frame = 1};
  return parser->calls.pfnDisplayPicture(parser->calls.pUserData, &shown) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
