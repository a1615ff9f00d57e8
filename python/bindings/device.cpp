// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <cstdlib>

#include "tricodec/device.h"
#include "tricodec/error.h"

namespace tricodec::python {

std::string host_device(const std::string& request) {
    const char* environment = std::getenv("TRICODEC_DEVICE");
    const bool decided =
        request != "auto" || (environment != nullptr && *environment != '\0' && std::string(environment) != "auto");
    if (!decided) return "cpu";
    const Device device = resolve_device(request);
    TRICODEC_EXPECT(device.kind == Device::Kind::cpu, unsupported,
                    "device '" + device.to_string() +
                        "' was asked for, but frames on a GPU have no Python arrays in this version; use device='cpu' "
                        "or 'auto', or the C++ interface");
    return device.to_string();
}

}  // namespace tricodec::python
