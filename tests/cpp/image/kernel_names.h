// SPDX-License-Identifier: Apache-2.0
// The names of the CUDA kernels, as core/image/cuda/kernel_list.h has them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "image/cuda/kernel_list.h"

namespace tricodec::image::gpu {

/// Each fat binary's kernels; a name that a list has twice is there twice.
inline const std::map<std::string, std::multiset<std::string>>& kernels_by_binary() {
#define TRICODEC_NAME_OF(name, ...) #name,
#define TRICODEC_NAMES_OF(binary) {#binary, {TRICODEC_KERNELS_##binary(TRICODEC_NAME_OF)}},
    static const std::map<std::string, std::multiset<std::string>> all{TRICODEC_KERNEL_BINARIES(TRICODEC_NAMES_OF)};
#undef TRICODEC_NAMES_OF
#undef TRICODEC_NAME_OF
    return all;
}

/// The kernels that `is_wanted` says of.
template <class Wanted>
std::set<std::string> kernels_where(const Wanted& is_wanted) {
    std::set<std::string> names;
    for (const auto& [binary, kernels] : kernels_by_binary()) {
        for (const std::string& kernel : kernels) {
            if (is_wanted(kernel)) names.insert(kernel);
        }
    }
    return names;
}

}  // namespace tricodec::image::gpu
