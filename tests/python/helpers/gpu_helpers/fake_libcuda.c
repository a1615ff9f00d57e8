// SPDX-License-Identifier: Apache-2.0
/* Replaces the driver's libcuda.so.1 on machines without one: "device" memory is host memory, and work on a stream
   is done at once. Modules are fat binaries, not looked into; kernels do nothing, except tricodec_gather, which copies.
   The environment says what it is like:
     FAKE_CUDA_VERSION   the driver's CUDA version (13000)      FAKE_CUDA_INIT     what cuInit returns (0)
     FAKE_CUDA_GPUS      how many (1)                           FAKE_CUDA_MEMORY   bytes of each (1 GiB)
     FAKE_CUDA_FAIL      function:result[:after n calls],...    FAKE_CUDA_LOG      a file for one line per ordering call
     FAKE_CUDA_QUERY     what events answer (0; 600: not yet) */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_plan.h"

#define EXPORT __attribute__((visibility("default")))
typedef int Result;
typedef unsigned long long Pointer;

enum { HOST = 1, DEVICE = 2 };
struct Block {
  char* data;
  size_t size;
  int type;
  struct Block* next;
};
struct Stream {
  void* context;
};
struct Event {
  uintptr_t stream;
  double ms; /* of the host's clock when it was recorded */
};
struct Copy2D {
  size_t source_x, source_y;
  int source_type;
  const void* source_host;
  Pointer source_device;
  void* source_array;
  size_t source_stride, target_x, target_y;
  int target_type;
  void* target_host;
  Pointer target_device;
  void* target_array;
  size_t target_stride, width, height;
};

struct Gather {
  unsigned long long from, to, size, zeros;
};

static char contexts[8];
static char gather;
static __thread void* current[32];
static __thread int depth;
static struct Block* blocks;
static size_t used;
static volatile int lock;

static void take(void) {
  while (__sync_lock_test_and_set(&lock, 1)) {
  }
}
static void give(void) { __sync_lock_release(&lock); }

static void note(const char* what, uintptr_t stream, uintptr_t other) {
  const char* path = getenv("FAKE_CUDA_LOG");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %#lx %#lx\n", what, (unsigned long)stream, (unsigned long)other);
  fclose(file);
}

#define RUN(name)                                    \
  do {                                               \
    const Result planned = outcome(name);            \
    if (planned) return planned;                     \
  } while (0)

static Result allocate(void** pointer, size_t size, int type) {
  take();
  const int full = type == DEVICE && used + size > (size_t)number("FAKE_CUDA_MEMORY", 1L << 30);
  struct Block* block = full ? NULL : malloc(sizeof(struct Block));
  if (block) {
    block->data = calloc(1, size ? size : 1);
    block->size = size;
    block->type = type;
    block->next = blocks;
    blocks = block;
    if (type == DEVICE) used += size;
    *pointer = block->data;
  }
  give();
  return block ? 0 : 2;
}

static Result release(void* data) {
  Result result = 1;
  take();
  for (struct Block** at = &blocks; *at; at = &(*at)->next) {
    if ((*at)->data != data) continue;
    struct Block* block = *at;
    *at = block->next;
    if (block->type == DEVICE) used -= block->size;
    free(block->data);
    free(block);
    result = 0;
    break;
  }
  give();
  return result;
}

EXPORT Result cuGetErrorName(Result result, const char** name) {
  *name = result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : result == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT Result cuGetErrorString(Result result, const char** text) {
  (void)result;
  *text = "as the test wants it";
  return 0;
}
EXPORT Result cuInit(unsigned flags) { return flags ? 1 : (Result)number("FAKE_CUDA_INIT", 0); }
EXPORT Result cuDriverGetVersion(int* version) {
  *version = (int)number("FAKE_CUDA_VERSION", 13000);
  return 0;
}
EXPORT Result cuDeviceGetCount(int* count) {
  *count = (int)number("FAKE_CUDA_GPUS", 1);
  return 0;
}
EXPORT Result cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
EXPORT Result cuDeviceGetName(char* name, int size, int device) {
  snprintf(name, (size_t)size, "Fake GPU %d", device);
  return 0;
}
EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : attribute == 115 ? 1 : 65536;
  return 0;
}
EXPORT Result cuDeviceTotalMem_v2(size_t* size, int device) {
  (void)device;
  *size = (size_t)number("FAKE_CUDA_MEMORY", 1L << 30);
  return 0;
}
EXPORT Result cuDevicePrimaryCtxRetain(void** context, int device) {
  RUN("cuDevicePrimaryCtxRetain");
  *context = &contexts[device];
  return 0;
}
EXPORT Result cuCtxPushCurrent_v2(void* context) {
  current[depth++] = context;
  return 0;
}
EXPORT Result cuCtxPopCurrent_v2(void** context) {
  if (depth == 0) return 201;
  *context = current[--depth];
  return 0;
}
EXPORT Result cuCtxGetCurrent(void** context) {
  *context = depth ? current[depth - 1] : NULL;
  return 0;
}
EXPORT Result cuCtxGetDevice(int* device) {
  if (depth == 0) return 201;
  *device = (int)((char*)current[depth - 1] - contexts);
  return *device < 0 || *device > 7 ? 201 : 0;
}
EXPORT Result cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  *total = (size_t)number("FAKE_CUDA_MEMORY", 1L << 30);
  *free_bytes = *total - used;
  return 0;
}
/* What makes the host, or the whole device, wait. */
EXPORT Result cuMemAlloc_v2(Pointer* pointer, size_t size) {
  note("cuMemAlloc", 0, size);
  return allocate((void**)pointer, size, DEVICE);
}
EXPORT Result cuMemFree_v2(Pointer pointer) {
  note("cuMemFree", 0, 0);
  return release((void*)pointer);
}
EXPORT Result cuCtxSynchronize(void) {
  note("cuCtxSynchronize", 0, 0);
  return 0;
}
EXPORT Result cuMemHostAlloc(void** data, size_t size, unsigned flags) {
  (void)flags;
  RUN("cuMemHostAlloc");
  note("cuMemHostAlloc", 0, size);
  return allocate(data, size, HOST);
}
EXPORT Result cuMemFreeHost(void* data) {
  note("cuMemFreeHost", 0, 0);
  return release(data);
}
EXPORT Result cuMemcpyAsync(Pointer to, Pointer from, size_t size, void* stream) {
  RUN("cuMemcpyAsync");
  memmove((void*)to, (void*)from, size);
  note("copy", (uintptr_t)stream, size);
  return 0;
}
EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t size, void* stream) {
  RUN("cuMemcpyDtoHAsync_v2");
  return cuMemcpyAsync((Pointer)to, from, size, stream);
}
EXPORT Result cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t size, void* stream) {
  RUN("cuMemcpyHtoDAsync_v2");
  return cuMemcpyAsync(to, (Pointer)from, size, stream);
}
EXPORT Result cuMemcpy2DAsync_v2(const struct Copy2D* copy, void* stream) {
  RUN("cuMemcpy2DAsync_v2");
  const char* from = copy->source_type == HOST ? copy->source_host : (const char*)copy->source_device;
  char* to = copy->target_type == HOST ? copy->target_host : (char*)copy->target_device;
  from += copy->source_y * copy->source_stride + copy->source_x;
  to += copy->target_y * copy->target_stride + copy->target_x;
  for (size_t y = 0; y < copy->height; ++y) memcpy(to + y * copy->target_stride, from + y * copy->source_stride, copy->width);
  note("copy", (uintptr_t)stream, copy->width * copy->height);
  return 0;
}
EXPORT Result cuPointerGetAttribute(void* value, int attribute, Pointer pointer) {
  Result result = 1;
  take();
  for (const struct Block* block = blocks; block; block = block->next) {
    if ((char*)pointer < block->data || (char*)pointer >= block->data + block->size) continue;
    if (attribute == 2) *(unsigned*)value = (unsigned)block->type;
    if (attribute == 9) *(int*)value = 0;
    result = 0;
    break;
  }
  give();
  return result;
}
EXPORT Result cuStreamCreate(struct Stream** stream, unsigned flags) {
  (void)flags;
  RUN("cuStreamCreate");
  *stream = malloc(sizeof(struct Stream));
  (*stream)->context = depth ? current[depth - 1] : NULL;
  note("create", (uintptr_t)*stream, 0);
  return 0;
}
EXPORT Result cuStreamDestroy_v2(struct Stream* stream) {
  note("destroy", (uintptr_t)stream, 0);
  stream->context = NULL; /* kept: a handle may be asked about after its end */
  return 0;
}
EXPORT Result cuStreamSynchronize(void* stream) {
  RUN("cuStreamSynchronize");
  note("synchronize", (uintptr_t)stream, 0);
  return 0;
}
EXPORT Result cuStreamQuery(void* stream) {
  (void)stream;
  RUN("cuStreamQuery");
  return 0;
}
EXPORT Result cuStreamWaitEvent(void* stream, const struct Event* event, unsigned flags) {
  (void)flags;
  note("wait", (uintptr_t)stream, event->stream);
  return 0;
}
EXPORT Result cuStreamGetCtx(const struct Stream* stream, void** context) {
  *context = stream->context;
  return *context ? 0 : 400;
}
EXPORT Result cuStreamIsCapturing(void* stream, int* status) {
  *status = (long)stream == number("FAKE_CUDA_CAPTURED", 0);
  return 0;
}
EXPORT Result cuEventCreate(struct Event** event, unsigned flags) {
  (void)flags;
  RUN("cuEventCreate");
  *event = calloc(1, sizeof(struct Event));
  return 0;
}
EXPORT Result cuEventDestroy_v2(struct Event* event) {
  free(event);
  return 0;
}
EXPORT Result cuEventRecord(struct Event* event, void* stream) {
  if ((long)event == number("FAKE_CUDA_ALIEN_EVENT", 0)) return 400; /* of another GPU */
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  event->stream = (uintptr_t)stream;
  note("record", (uintptr_t)stream, (uintptr_t)event);
  return 0;
}
EXPORT Result cuCtxRecordEvent(void* context, struct Event* event) {
  (void)context;
  event->stream = 99;
  note("record", 99, 0);
  return 0;
}
EXPORT Result cuEventQuery(const struct Event* event) {
  (void)event;
  const Result planned = outcome("cuEventQuery");
  return planned ? planned : (Result)number("FAKE_CUDA_QUERY", 0);
}
EXPORT Result cuEventSynchronize(const struct Event* event) {
  (void)event;
  return outcome("cuEventSynchronize");
}
EXPORT Result cuEventElapsedTime(float* milliseconds, const struct Event* from, const struct Event* to) {
  *milliseconds = (float)(to->ms - from->ms);
  return 0;
}
EXPORT Result cuModuleLoadData(void** module, const void* image) {
  RUN("cuModuleLoadData");
  if (*(const unsigned*)image != 0xBA55ED50U) return 200; /* no fat binary */
  *module = contexts;
  note("module", (uintptr_t)current[depth - 1], (uintptr_t)image);
  return 0;
}
EXPORT Result cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  *function = strcmp(name, "tricodec_gather") == 0 ? &gather : contexts;
  return 0;
}
EXPORT Result cuFuncSetAttribute(void* function, int attribute, int value) {
  (void)function;
  (void)attribute;
  (void)value;
  return 0;
}
EXPORT Result cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, void* stream, void** arguments, void** extra) {
  (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
  RUN("cuLaunchKernel");
  for (unsigned i = 0; function == &gather && i < gx; ++i) {
    const struct Gather* copy = *(const struct Gather**)arguments[0] + i;
    memmove((void*)copy->to, (void*)copy->from, copy->size);
    memset((void*)(copy->to + copy->size), 0, copy->zeros);
  }
  note("launch", (uintptr_t)stream, 0);
  return 0;
}
EXPORT Result cuMemPoolCreate(void** pool, const void* properties) {
  (void)properties;
  *pool = contexts;
  return 0;
}
EXPORT Result cuMemPoolDestroy(void* pool) {
  (void)pool;
  return 0;
}
EXPORT Result cuMemPoolTrimTo(void* pool, size_t keep) {
  (void)pool;
  (void)keep;
  return 0;
}
EXPORT Result cuMemAllocFromPoolAsync(Pointer* pointer, size_t size, void* pool, void* stream) {
  (void)pool;
  RUN("cuMemAllocFromPoolAsync");
  note("allocate", (uintptr_t)stream, size);
  return allocate((void**)pointer, size, DEVICE);
}
EXPORT Result cuMemFreeAsync(Pointer pointer, void* stream) {
  (void)stream;
  return release((void*)pointer);
}
