// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <string>

namespace tricodec {

/// A library that is opened while the program runs, because it may be missing. It stays open for good.
class SharedLibrary {
public:
    /// `name` as dlopen() takes it; no other library sees its symbols.
    explicit SharedLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ != nullptr) return;
        const char* const text = dlerror();
        error_ = text == nullptr ? name : text;
    }

    [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
    /// Why it is not, in the system's words.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    /// The first function that was looked for and is not there; empty if all are.
    [[nodiscard]] const std::string& missing() const noexcept { return missing_; }

    /// Null where the library has none of that name, or is not open.
    template <class Function>
    void find(Function*& function, const char* symbol) {
        function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
        if (function == nullptr && missing_.empty()) missing_ = symbol;
    }

private:
    void* handle_ = nullptr;
    std::string error_;
    std::string missing_;
};

}  // namespace tricodec
