// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "tricodec/packet.h"

namespace tricodec::python {

/// A Packet, or a bytes-like object copied into one (decoders read past the end, which needs padding).
[[nodiscard]] Packet to_packet(const pybind11::object& data);

}  // namespace tricodec::python
