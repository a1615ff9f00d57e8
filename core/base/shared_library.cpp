// SPDX-License-Identifier: Apache-2.0
#include "base/shared_library.h"

#include <dlfcn.h>

namespace tricodec {

SharedLibrary::SharedLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* const text = dlerror();
    error_ = text == nullptr ? name : text;
}

void* SharedLibrary::address_of(const char* symbol) {
    void* const address = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
    if (address == nullptr && missing_.empty()) missing_ = symbol;
    return address;
}

}  // namespace tricodec
