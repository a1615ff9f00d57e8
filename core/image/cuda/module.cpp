// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/module.h"

#include "base/cuda/kernel_set.h"

#ifdef TRICODEC_HAVE_KERNELS
extern "C" const unsigned char tricodec_kernels_transform_kernels[] __attribute__((visibility("hidden")));
#endif

namespace tricodec::image::gpu {
namespace {

// Leaked on purpose: a context may be gone before static objects are.
cuda::KernelSet& kernels() {
#ifdef TRICODEC_HAVE_KERNELS
    const void* bytes = tricodec_kernels_transform_kernels;
#else
    const void* bytes = nullptr;
#endif
    static auto* all = new cuda::KernelSet(bytes, "frames on a GPU cannot be transformed");
    return *all;
}

}  // namespace

std::string missing_kernels_reason() {
    return kernels().missing_reason();
}

cuda::FunctionHandle find_kernel(const std::shared_ptr<cuda::Context>& context, const std::string& name) {
    return kernels().find(context, name);
}

}  // namespace tricodec::image::gpu
