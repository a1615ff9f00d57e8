// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tricodec/media/media_source.h"

namespace tricodec {

/// Names the process that reads objects in stores for this one, which opens no sockets to other machines itself.
/// `connection` is a SOCK_SEQPACKET socket to it, which the caller keeps open; -1 is none. Thread safety: safe.
void set_source_server(int connection) noexcept;

/// What the server of this process knows by `key`. Each source has a connection and a place of its own. A read waits
/// for the server alone: the calling thread may hold any lock, Python's too. Throws what reading it throws, and
/// Error(unsupported) without a server.
[[nodiscard]] MediaSource served_source(const std::string& key, const std::string& name);

}  // namespace tricodec
