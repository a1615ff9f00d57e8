// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tricodec::python {

/// Sets the core's level to the effective level of logging.getLogger("tricodec"). The lock must be held.
void follow_python_log_level();

/// Hands the messages that waited for the lock to Python's logger. The lock must be held.
void deliver_log_messages();

}  // namespace tricodec::python
