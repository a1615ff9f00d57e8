// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/cuda/context.h"

namespace tricodec::cuda {

/// What the CUDA kernels of a build are compiled for.
struct KernelTargets {
    std::vector<int> architectures;  ///< 90 for sm_90
    int ptx = 0;                     ///< the compute capability of the PTX that other GPUs' drivers compile; 0 without

    /// Whether a GPU of this compute capability runs them: by a binary of its generation that is not newer than it, or
    /// by the PTX.
    [[nodiscard]] bool run_on(int major, int minor) const noexcept;
};

/// Of this build; nothing without nvcc, and with TRICODEC_DISABLE_CUDA_KERNELS=1 in the environment.
[[nodiscard]] const KernelTargets& kernel_targets();
/// Why this library has no kernels at all, for people; empty if it has.
[[nodiscard]] std::string missing_kernels_reason();
/// Why it has none for a GPU of this compute capability; empty if it has.
[[nodiscard]] std::string missing_kernels_reason(const std::string& gpu, int major, int minor);
/// "in this build for sm_90 and PTX of compute_90", or "not in this build".
[[nodiscard]] std::string kernels_in_words();

/// The kernels of one fat binary of this library, loaded into each context that asks for them. Thread safety: safe.
class KernelSet {
public:
    /// `bytes` is the binary, null if this build has none; `what` is what cannot be done without:
    /// "frames on a GPU cannot be transformed".
    KernelSet(const void* bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

    /// A kernel, loaded into `context` when first asked for. Throws Error(unsupported) where the library has none for
    /// the GPU, Error(device) where the driver cannot load it.
    [[nodiscard]] FunctionHandle find(const std::shared_ptr<Context>& context, const std::string& name);

private:
    /// The kernels in one context. They go with the context: there is no way to tell when a borrowed one is gone.
    struct Loaded {
        std::weak_ptr<Context> context;
        ModuleHandle module = nullptr;
        std::map<std::string, FunctionHandle> functions;
    };

    [[nodiscard]] ModuleHandle load(Context& context) const;

    const void* bytes_;
    std::string what_;
    std::mutex mutex_;
    std::list<Loaded> loaded_;
};

}  // namespace tricodec::cuda
