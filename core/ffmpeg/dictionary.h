// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

extern "C" {
#include <libavutil/dict.h>
}

#include "base/suggestion.h"
#include "tricodec/base/error.h"

namespace tricodec {

/// Options for libavformat and libavcodec, which remove the ones that they know.
struct Dictionary {
    AVDictionary* entries = nullptr;
    Dictionary() = default;
    explicit Dictionary(const std::map<std::string, std::string>& values) {
        for (const auto& [key, value] : values) set(key.c_str(), value);
    }
    Dictionary(const Dictionary&) = delete;
    Dictionary& operator=(const Dictionary&) = delete;
    ~Dictionary() { av_dict_free(&entries); }

    void set(const char* key, const std::string& value) { av_dict_set(&entries, key, value.c_str(), 0); }
    void append(const char* key, const std::string& value) {
        av_dict_set(&entries, key, value.c_str(), AV_DICT_APPEND);
    }
    /// Throws Error(invalid_argument) if an option is left that `owner` does not have.
    void expect_used(const std::string& owner) const {
        if (const auto* left = av_dict_get(entries, "", nullptr, AV_DICT_IGNORE_SUFFIX)) {
            fail(ErrorCode::invalid_argument, owner + " has no option '" + left->key + "' (given as '" + left->value +
                                                  "'); see `ffmpeg -h` for those it has");
        }
    }
    [[nodiscard]] bool contains(const char* key) const noexcept {
        return av_dict_get(entries, key, nullptr, 0) != nullptr;
    }
    /// "'a', 'b'": the keys that are left.
    [[nodiscard]] std::string keys() const {
        return listed(to_map(entries), [](const auto& entry) { return "'" + entry.first + "'"; });
    }
    [[nodiscard]] static std::map<std::string, std::string> to_map(const AVDictionary* from) {
        std::map<std::string, std::string> result;
        const AVDictionaryEntry* entry = nullptr;
        while ((entry = av_dict_get(from, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
            result[entry->key] = entry->value;
        }
        return result;
    }
};

}  // namespace tricodec
