// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tricodec {

/// How many times this process has been forked on its way from the process that loaded the library: 0 there, one more
/// in each child made by fork(). Costs a load.
[[nodiscard]] std::uint64_t fork_generation() noexcept;

/// Remembers the process that an object was made in. Note [Fork], base/fork.h.
class ForkMark {
public:
    /// True in a child of the process that made the object: threads that the object had do not exist here.
    [[nodiscard]] bool in_child() const noexcept { return generation_ != fork_generation(); }
    /// Throws Error(unsupported) in a child. `object` names what cannot be used there: "this Encoder".
    void expect_not_in_child(const char* object) const;

private:
    std::uint64_t generation_ = fork_generation();
};

}  // namespace tricodec
