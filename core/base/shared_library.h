// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/fork.h"

namespace tricodec {

/// A library that is opened while the program runs, because it may be missing. It stays open for good.
class SharedLibrary {
public:
    /// `name` as dlopen() expects it; no other library sees its symbols.
    explicit SharedLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ != nullptr) return;
        const char* const text = dlerror();
        error_ = text == nullptr ? name : text;
    }

    [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
    /// Why it is not, as the system reports it.
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

/// Opens one of FFmpeg's libraries ("libavfilter"), and has `find` look for its functions. Returns why it is not
/// usable, or nothing. `purpose` is what it does (", which converts the colors,") or empty.
template <class Find>
std::string open_ffmpeg_library(const char* library_name, int version, const char* purpose, Find find) {
    const ForkGuard guard;
    const std::string name = std::string(library_name) + TRICODEC_FFMPEG_SUFFIX ".so." + std::to_string(version);
    SharedLibrary library(name);
    if (!library.is_open()) {
        return "FFmpeg's " + name + purpose + " is not installed (" + library.error() +
               "); install it (Debian: apt-get install ffmpeg)";
    }
    find(library);
    return library.missing().empty() ? "" : name + " has no " + library.missing();
}

}  // namespace tricodec
