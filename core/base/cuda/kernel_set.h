// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/cuda/context.h"

namespace tricodec::cuda {

/// The kernels of one fat binary of this library, loaded into each context that asks for them. Thread safety: safe.
class KernelSet {
public:
    /// `bytes` is the binary, null if this build has none (kernel_targets.h); `what` is what cannot be done without:
    /// "frames on a GPU cannot be transformed".
    KernelSet(const void* bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

    /// Why there are no kernels in this library; empty if there are.
    [[nodiscard]] std::string missing_reason() const;

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
