// SPDX-License-Identifier: Apache-2.0
/// AudioReader and AudioEncoder: cuts make no difference, and damage ends no process. tests/python/audio compares the
/// samples with ffmpeg's.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "media.h"
#include "tricodec/audio/audio_encoder.h"
#include "tricodec/audio/audio_reader.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

TEST(AudioReader, DamagedFilesGiveErrorsOrSamples) {
    std::mt19937 random(7);
    for (const auto& [name, codec] : {std::pair("damaged.m4a", "aac"), std::pair("damaged.flac", "flac"),
                                      std::pair("damaged.mp3", "libmp3lame"), std::pair("damaged.wav", "pcm_s16le")}) {
        const auto intact = testing::read_file(testing::sound_clip(name, codec));
        for (int i = 0; i < 20; ++i) {
            auto bytes = std::make_shared<std::vector<std::byte>>(intact);
            for (int k = 0; k < 30; ++k) (*bytes)[random() % bytes->size()] = static_cast<std::byte>(random());
            try {
                const auto reader = AudioReader::open(MediaSource::from_bytes(*bytes, bytes),
                                                      {.sample_rate = 16000, .num_channels = 1});
                EXPECT_EQ(reader->read(0, -1).data.view.shape[0], 1);
                (void)reader->read(0, 100);
                (void)reader->read_padded(-0.1, 0.5);
            } catch (const Error& error) {
                EXPECT_NE(std::string(error.what()), "");
            }
        }
    }
}

TEST(AudioEncoder, CutsOfTheSamplesMakeNoDifference) {
    const auto whole =
        AudioReader::open(MediaSource::from_path(testing::sound_clip("encoded.wav", "pcm_s16le")))->read(0, -1);
    const AudioInputForm form{.sample_rate = 44100, .num_channels = 2};
    AudioEncoding encoding;
    encoding.codec = "aac";
    encoding.sample_rate = 48000;
    const auto encoded = [&](std::int64_t step) {
        const auto encoder = AudioEncoder::create(form, encoding);
        std::vector<Packet> packets;
        const auto add = [&](std::vector<Packet> more) { std::ranges::move(more, std::back_inserter(packets)); };
        for (std::int64_t at = 0; at < whole.data.view.shape[1]; at += step) {
            TensorView part = whole.data.view;
            part.data = static_cast<float*>(part.data) + at;
            part.shape[1] = std::min(step, whole.data.view.shape[1] - at);
            add(encoder->encode(part));
        }
        add(encoder->flush());
        return packets;
    };

    const auto expected = encoded(1 << 20);
    const auto cut = encoded(777);

    ASSERT_GT(expected.size(), 100u);
    ASSERT_EQ(cut.size(), expected.size());
    for (std::size_t i = 0; i < cut.size(); ++i) {
        EXPECT_EQ(cut[i].pts, expected[i].pts);
        EXPECT_TRUE(std::ranges::equal(cut[i].data, expected[i].data));
    }
}

}  // namespace
}  // namespace tricodec
