// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "tricodec/base/error.h"
#include "tricodec/tensor/npy_header.h"

namespace tricodec {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// A file of version 1.0 with this dict and `num_elements` bytes behind it.
std::string file_with(const std::string& dict, std::size_t num_elements) {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(dict.size() & 0xFF);
    text += static_cast<char>(dict.size() >> 8);
    return text + dict + std::string(num_elements, '\0');
}

ErrorCode code_of(const std::string& file) {
    try {
        static_cast<void>(read_npy_header(bytes_of(file), file.size()));
    } catch (const Error& error) {
        return error.code();
    }
    return ErrorCode::internal;
}

TEST(NpyHeader, reads_any_spaces_and_commas_at_ends) {
    const std::string file = file_with("{'descr':'|i1' , 'fortran_order':False,  'shape': (2,3)}", 6);

    const NpyHeader header = read_npy_header(bytes_of(file), file.size());

    EXPECT_EQ(header.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(header.item_bytes, 1U);
}

TEST(NpyHeader, refuses_what_cannot_be_right) {
    EXPECT_EQ(code_of("no numpy file"), ErrorCode::corrupt_data);
    EXPECT_EQ(code_of(file_with("{'descr': '|i1', 'fortran_order': False, 'shape': (2,3)}", 5)),
              ErrorCode::corrupt_data);
    EXPECT_EQ(code_of(file_with("{'descr': '|i1', 'fortran_order': False, 'shape': (-2,-3)}", 6)),
              ErrorCode::corrupt_data);
    EXPECT_EQ(code_of(file_with("{'descr': '<i8', 'shape': (4294967296, 4294967296), 'fortran_order': False}", 0)),
              ErrorCode::corrupt_data);
    EXPECT_EQ(code_of(file_with("{'descr': '|i1', 'shape': (2,3)}", 6)), ErrorCode::corrupt_data);
    EXPECT_EQ(code_of(file_with("{'descr': '|i1', 'descr': '|i1', 'shape': (2,3), 'fortran_order': False}", 6)),
              ErrorCode::corrupt_data);
    EXPECT_EQ(code_of(file_with("{'descr': __import__('os'), 'shape': (2,3), 'fortran_order': False}", 6)),
              ErrorCode::corrupt_data);
}

TEST(NpyHeader, refuses_what_is_not_read_here) {
    EXPECT_EQ(code_of(file_with("{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}", 6)), ErrorCode::unsupported);
    EXPECT_EQ(code_of(file_with("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", 6)), ErrorCode::unsupported);
    EXPECT_EQ(code_of(file_with("{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (3,)}", 6)),
              ErrorCode::unsupported);
    EXPECT_EQ(code_of(file_with("{'descr': '|i1', 'fortran_order': True, 'shape': (2,3)}", 6)), ErrorCode::unsupported);
}

TEST(NpyHeader, reads_nothing_outside_of_any_bytes) {
    std::mt19937 random(9);
    const std::vector<std::int64_t> shape{2, 3};
    const std::string good = text_of(make_npy_header("<i2", shape)) + std::string(12, '\0');
    for (int i = 0; i < 20000; ++i) {
        std::string bad = good;
        for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
            bad[random() % 80] = static_cast<char>(random());
        }
        bad.resize(random() % (bad.size() + 1));
        bad.shrink_to_fit();  // for sanitizers: no room behind it
        try {
            EXPECT_LE(read_npy_header(bytes_of(bad), bad.size()).header_bytes, bad.size());
        } catch (const Error&) {
        }
    }
}

}  // namespace
}  // namespace tricodec
