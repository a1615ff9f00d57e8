// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tricodec/error.h"
#include "tricodec/interrupt.h"
#include "tricodec/output_file.h"

namespace tricodec {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        std::ofstream(target_) << "old";
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string contents() const {
        std::ifstream file(target_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] std::ptrdiff_t num_files() const {
        return std::distance(fs::directory_iterator(folder_), fs::directory_iterator{});
    }
    static void write(OutputFile& file, std::string_view text) { file.write(std::as_bytes(std::span(text))); }

    fs::path folder_ = fs::path(::testing::TempDir()) / "tricodec_output_file";
    fs::path target_ = folder_ / "a.bin";
};

TEST_F(OutputFileTest, has_its_name_once_it_is_finished) {
    OutputFile file(target_);
    write(file, "xxxnew");
    file.seek(0);
    write(file, "the");
    EXPECT_EQ(contents(), "old");
    EXPECT_EQ(num_files(), 2);

    file.finish();
    file.finish();

    EXPECT_EQ(contents(), "thenew");
    EXPECT_EQ(num_files(), 1);
    EXPECT_THROW(write(file, "more"), Error);
}

TEST_F(OutputFileTest, leaves_the_old_file_when_it_is_destroyed_unfinished) {
    {
        OutputFile file(target_);
        write(file, "new");
    }
    EXPECT_EQ(contents(), "old");
    EXPECT_EQ(num_files(), 1);
}

TEST_F(OutputFileTest, is_removed_at_the_end_of_a_process_that_does_not_destroy_it) {
    OutputFile file(target_);
    write(file, "new");

    discard_open_outputs();

    EXPECT_EQ(num_files(), 1);
    EXPECT_THROW(file.finish(), Error);
    EXPECT_EQ(contents(), "old");
}

int g_checks = 0;

TEST(Interrupt, asks_ten_times_a_second_at_most_or_at_once) {
    set_interrupt_check([] { ++g_checks; });
    const auto begin = std::chrono::steady_clock::now();  // no later than the first check
    check_interrupt(true);
    const int before = g_checks;
    while (g_checks < before + 3) check_interrupt();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
    check_interrupt(true);
    EXPECT_EQ(g_checks, before + 4);

    set_interrupt_check([] { throw std::runtime_error("interrupted"); });
    EXPECT_THROW(check_interrupt(true), std::runtime_error);
    set_interrupt_check(nullptr);
    EXPECT_NO_THROW(check_interrupt(true));
}

}  // namespace
}  // namespace tricodec
