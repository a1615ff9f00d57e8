// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

extern "C" {
#include <libavutil/dict.h>
}

#include "tricodec/error.h"

namespace tricodec {

/// Options for libavformat and libavcodec, which take out those that they know.
struct Dictionary {
    AVDictionary* entries = nullptr;
    Dictionary() = default;
    Dictionary(const Dictionary&) = delete;
    Dictionary& operator=(const Dictionary&) = delete;
    ~Dictionary() { av_dict_free(&entries); }

    void set(const char* key, const std::string& value) { av_dict_set(&entries, key, value.c_str(), 0); }
    void append(const char* key, const std::string& value) {
        av_dict_set(&entries, key, value.c_str(), AV_DICT_APPEND);
    }
    /// Throws Error(invalid_argument) if something is left that `whose` options do not include.
    void expect_used(const std::string& whose) const {
        if (const auto* left = av_dict_get(entries, "", nullptr, AV_DICT_IGNORE_SUFFIX)) {
            fail(ErrorCode::invalid_argument, whose + " has no option '" + left->key + "' (given as '" + left->value +
                                                  "'); see `ffmpeg -h` for those it has");
        }
    }
};

}  // namespace tricodec
