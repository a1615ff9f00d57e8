// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/module.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/cuda/kernel_set.h"
#include "base/never_destroyed.h"
#include "image/cuda/kernel_list.h"
#include "tricodec/base/error.h"

#ifdef TRICODEC_HAVE_KERNELS
#define TRICODEC_DECLARE(binary) \
    extern "C" const unsigned char tricodec_kernels_##binary[] __attribute__((visibility("hidden")));
TRICODEC_KERNEL_BINARIES(TRICODEC_DECLARE)
#define TRICODEC_BYTES(binary) tricodec_kernels_##binary
#else
#define TRICODEC_BYTES(binary) nullptr
#endif

namespace tricodec::image::gpu {
namespace {

#define TRICODEC_NAME(binary) std::string_view(#binary),
constexpr std::array kNames{TRICODEC_KERNEL_BINARIES(TRICODEC_NAME)};

/// Whether the kernel's name is tricodec_BINARY_ and more.
bool is_in(std::string_view kernel, std::string_view binary) noexcept {
    constexpr std::string_view kPrefix = "tricodec_";
    const std::size_t end = kPrefix.size() + binary.size();
    return kernel.starts_with(kPrefix) && kernel.substr(kPrefix.size()).starts_with(binary) && kernel.size() > end &&
           kernel[end] == '_';
}

std::size_t number_of(std::string_view kernel) noexcept {
    const auto* found = std::find_if(kNames.begin(), kNames.end(), [&](auto binary) { return is_in(kernel, binary); });
    return static_cast<std::size_t>(found - kNames.begin());
}

/// In the order of kNames.
struct Binaries {
#define TRICODEC_SET(binary) {TRICODEC_BYTES(binary), "frames on a GPU cannot be transformed"},
    std::array<cuda::KernelSet, kNames.size()> all{{TRICODEC_KERNEL_BINARIES(TRICODEC_SET)}};
};

std::array<cuda::KernelSet, kNames.size()>& binaries() {
    static NeverDestroyed<Binaries> instance;
    return instance->all;
}

}  // namespace

cuda::FunctionHandle find_kernel(const std::shared_ptr<cuda::Context>& context, const std::string& name) {
    const std::size_t number = number_of(name);
    TRICODEC_INVARIANT(number < kNames.size());
    return binaries()[number].find(context, name);
}

}  // namespace tricodec::image::gpu
