// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace tricodec {

/// A static object that is never destroyed. Codec threads, and static objects of the application that hold frames, may
/// use it until the process ends, and a CUDA driver may be gone before that. A constructor that takes milliseconds
/// holds a ForkGuard: a child would inherit the lock of the static variable.
///
///     static NeverDestroyed<Registry> all;
///     return *all;
template <class T>
class NeverDestroyed {
public:
    template <class... Arguments>
    explicit NeverDestroyed(Arguments&&... arguments) {
        new (storage_) T(std::forward<Arguments>(arguments)...);
    }
    [[nodiscard]] T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(storage_)); }
    [[nodiscard]] T* operator->() noexcept { return &**this; }

private:
    alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace tricodec
