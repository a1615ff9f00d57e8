// SPDX-License-Identifier: Apache-2.0
/* Replaces NVIDIA's libnvcomp.so.5, or with -DRELEASE=6 libnvcomp.so.6, beside the stand-in driver, with host memory as "device" memory: the batched
   interface for LZ4 with real blocks, by liblz4. What a GPU does not do on demand the environment asks for:
     FAKE_NVCOMP_SCRATCH   bytes of scratch memory that a chunk wants (0)
     FAKE_NVCOMP_FAIL      call:status[:after n calls] what a call returns; calls are compress, decompress, scratch, bound
     FAKE_NVCOMP_CHUNK     call:chunk:status           what a call says of one chunk; its bytes are not written then
     FAKE_NVCOMP_LOG       a file for one line per call: its name, chunks, and bytes of scratch memory; and one named
                           backend with the decompression backend before each decompress, and the options' second
                           word; and one named odd with the chunks that are not at multiples of 16, if there are any
     FAKE_NVCOMP_VERSION   the version that it says it has (5300 or 6000) */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RELEASE
#define RELEASE 5
#endif
#if RELEASE == 5
#define SCRATCH(name) nvcompBatched##name##GetTempSizeAsync
#define AND_STREAM
#define UNUSED_STREAM
#else
#define SCRATCH(name) nvcompBatched##name##GetTempSize
#define AND_STREAM , void* stream
#define UNUSED_STREAM , (void)stream
#endif

#define EXPORT __attribute__((visibility("default")))
typedef int Status;
enum { SUCCESS = 0, CANNOT_DECOMPRESS = 12, INTERNAL = 10000 };

struct Options {
  uint64_t words[8];
};

static int (*lz4_compress)(const char*, char*, int, int);
static int (*lz4_decompress)(const char*, char*, int, int);

__attribute__((constructor)) static void load(void) {
  void* library = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  lz4_compress = (int (*)(const char*, char*, int, int))dlsym(library, "LZ4_compress_default");
  lz4_decompress = (int (*)(const char*, char*, int, int))dlsym(library, "LZ4_decompress_safe");
}

static size_t bound(size_t size) { return size + size / 255 + 16; }

static Status outcome(const char* call) {
  static int calls;
  const char* plan = getenv("FAKE_NVCOMP_FAIL");
  const size_t length = strlen(call);
  if (!lz4_compress || !lz4_decompress) return INTERNAL;
  if (!plan || strncmp(plan, call, length) != 0 || plan[length] != ':') return SUCCESS;
  const char* after = strchr(plan + length + 1, ':');
  if (after && calls++ < atoi(after + 1)) return SUCCESS;
  return atoi(plan + length + 1);
}

/* What is said of a chunk of a call; SUCCESS: nothing but what happens. */
static Status outcome_of_chunk(const char* call, size_t chunk) {
  const char* plan = getenv("FAKE_NVCOMP_CHUNK");
  const size_t length = strlen(call);
  if (!plan || strncmp(plan, call, length) != 0 || plan[length] != ':') return SUCCESS;
  char* status;
  if (strtoul(plan + length + 1, &status, 10) != chunk) return SUCCESS;
  return atoi(status + 1);
}

static void note(const char* call, size_t count, size_t scratch) {
  const char* path = getenv("FAKE_NVCOMP_LOG");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %zu %zu\n", call, count, scratch);
  fclose(file);
}

static Status scratch_of(size_t count, size_t* scratch) {
  const char* text = getenv("FAKE_NVCOMP_SCRATCH");
  *scratch = text ? count * strtoul(text, NULL, 10) : 0;
  return outcome("scratch");
}

EXPORT Status nvcompGetProperties(uint32_t* properties) {
  const char* version = getenv("FAKE_NVCOMP_VERSION");
  properties[0] = version ? (uint32_t)atoi(version) : RELEASE == 5 ? 5300 : 6000;
  return SUCCESS;
}

#define TELLS_SCRATCH(name)                                                                                           \
  EXPORT Status SCRATCH(name)(size_t count, size_t largest, struct Options options, size_t* scratch, size_t total AND_STREAM) { \
    (void)largest, (void)options, (void)total UNUSED_STREAM;                                                          \
    return scratch_of(count, scratch);                                                                                \
  }
TELLS_SCRATCH(LZ4Compress)
TELLS_SCRATCH(LZ4Decompress)
TELLS_SCRATCH(ANSCompress)
TELLS_SCRATCH(ANSDecompress)
TELLS_SCRATCH(CascadedCompress)
TELLS_SCRATCH(CascadedDecompress)

static void note_odd(const void* const* inputs, void* const* outputs, size_t count) {
  size_t odd = 0;
  for (size_t i = 0; i < count; ++i) odd += ((uintptr_t)inputs[i] | (uintptr_t)outputs[i]) % 16 != 0;
  if (odd) note("odd", odd, 0);
}

EXPORT Status nvcompBatchedLZ4CompressGetMaxOutputChunkSize(size_t largest, struct Options options, size_t* most) {
  (void)options;
  *most = bound(largest);
  return outcome("bound");
}

EXPORT Status nvcompBatchedLZ4CompressAsync(const void* const* inputs, const size_t* sizes, size_t largest, size_t count,
                                            void* scratch, size_t scratch_bytes, void* const* outputs, size_t* output_sizes,
                                            struct Options options, Status* statuses, void* stream) {
  (void)largest, (void)stream;
  note("options", (uint32_t)options.words[0], options.words[0] >> 32);
  note_odd(inputs, outputs, count);
  note("compress", count, scratch_bytes);
  const Status planned = outcome("compress");
  if (planned) return planned;
  if (scratch_bytes) memset(scratch, 0x5a, scratch_bytes);
  for (size_t i = 0; i < count; ++i) {
    statuses[i] = outcome_of_chunk("compress", i);
    if (statuses[i]) continue;
    output_sizes[i] = (size_t)lz4_compress(inputs[i], outputs[i], (int)sizes[i], (int)bound(sizes[i]));
  }
  return SUCCESS;
}

/* The blocks' sizes are found out by decoding them. */
EXPORT Status nvcompBatchedLZ4GetDecompressSizeAsync(const void* const* inputs, const size_t* sizes, size_t* output_sizes,
                                                     size_t count, void* stream) {
  (void)stream;
  for (size_t i = 0; i < count; ++i) {
    const int most = (int)(255 * sizes[i]);
    char* output = malloc((size_t)most);
    const int size = output ? lz4_decompress(inputs[i], output, (int)sizes[i], most) : 0;
    output_sizes[i] = size < 0 ? 0 : (size_t)size;
    free(output);
  }
  return SUCCESS;
}

EXPORT Status nvcompBatchedLZ4DecompressAsync(const void* const* inputs, const size_t* sizes, const size_t* rooms,
                                              size_t* actual, size_t count, void* scratch, size_t scratch_bytes,
                                              void* const* outputs, struct Options options, Status* statuses, void* stream) {
  (void)stream;
  note("backend", (uint32_t)options.words[0], options.words[0] >> 32);
  note_odd(inputs, outputs, count);
  note("decompress", count, scratch_bytes);
  const Status planned = outcome("decompress");
  if (planned) return planned;
  if (scratch_bytes) memset(scratch, 0x5a, scratch_bytes);
  for (size_t i = 0; i < count; ++i) {
    statuses[i] = outcome_of_chunk("decompress", i);
    if (statuses[i]) continue;
    const int size = lz4_decompress(inputs[i], outputs[i], (int)sizes[i], (int)rooms[i]);
    actual[i] = size < 0 ? 0 : (size_t)size;
    if (size < 0) statuses[i] = CANNOT_DECOMPRESS;
  }
  return SUCCESS;
}

/* ANS and Cascaded by the same functions: what is tested of them is how they are called. */
#define SAME(name, call) \
  __attribute__((visibility("default"), alias("nvcompBatchedLZ4" #call))) Status nvcompBatched##name##call
#define ALL(name)                                                                                                     \
  SAME(name, CompressGetMaxOutputChunkSize)(size_t, struct Options, size_t*);                                         \
  SAME(name, CompressAsync)(const void* const*, const size_t*, size_t, size_t, void*, size_t, void* const*, size_t*, \
                            struct Options, Status*, void*);                                                          \
  SAME(name, GetDecompressSizeAsync)(const void* const*, const size_t*, size_t*, size_t, void*);                      \
  SAME(name, DecompressAsync)(const void* const*, const size_t*, const size_t*, size_t*, size_t, void*, size_t,       \
                              void* const*, struct Options, Status*, void*);
ALL(ANS)
ALL(Cascaded)

/* The library is known by these. They refuse everything. */
EXPORT int bitcompCreatePlan(void** plan, size_t size, int type, int mode, int algorithm) {
  (void)plan, (void)size, (void)type, (void)mode, (void)algorithm;
  return -1;
}
EXPORT int bitcompDestroyPlan(void* plan) { return plan != NULL; }
EXPORT int bitcompHostCompressLossless(void* plan, const void* input, void* output) {
  (void)plan, (void)input, (void)output;
  return -1;
}
EXPORT int bitcompHostUncompress(void* plan, const void* input, void* output) {
  (void)plan, (void)input, (void)output;
  return -1;
}
EXPORT int bitcompGetCompressedSize(const void* stream, size_t* size) {
  (void)stream, (void)size;
  return -1;
}
