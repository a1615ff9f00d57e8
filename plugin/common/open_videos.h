// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tricodec/io/media_source.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec::plugin {

/// A video that is being read, and what its reader knew about it when it was opened.
class OpenVideo {
public:
    /// Opens and indexes it. Throws tricodec::Error.
    OpenVideo(const MediaSource& source, const FrameReaderOptions& options);

    [[nodiscard]] FrameReader& reader() noexcept { return *reader_; }
    [[nodiscard]] const FrameReader& reader() const noexcept { return *reader_; }
    [[nodiscard]] const std::shared_ptr<const FrameIndex>& index() const noexcept { return index_; }
    /// True if a read has met damage, or other frames than the headers predict. What the reader gives then depends on
    /// the reads before: a fresh reader may number the frames differently.
    [[nodiscard]] bool depends_on_reads();

private:
    std::unique_ptr<FrameReader> reader_;
    std::shared_ptr<const FrameIndex> index_;
    std::int64_t num_damaged_packets_ = 0;
};

/// Where a video is: a file, or a part of one.
struct VideoLocation {
    std::string path;
    std::string name{};  ///< of the part, empty for a whole file
    std::int64_t offset_bytes = 0;
    std::int64_t size_bytes = 0;

    /// For messages and as source info.
    [[nodiscard]] std::string text() const { return name.empty() ? path : path + "/" + name; }
    /// Throws tricodec::Error.
    [[nodiscard]] MediaSource source() const;
};

/// The files of a reading operator. The readers of the files used last stay open, with decoders that continue where
/// they are. Indexes of all files are kept while there is room, so that packets are read once.
/// Thread safety: safe.
class OpenVideos {
public:
    /// `most_open`: how many files stay open besides those in use.
    OpenVideos(std::vector<VideoLocation> locations, FrameReaderOptions options, std::size_t most_open);

    /// Opens a file on the CPU to count its frames, and keeps its index. Throws tricodec::Error.
    [[nodiscard]] std::shared_ptr<OpenVideo> open_to_count(std::size_t file);
    /// The open reader of a file, or a new one. Throws tricodec::Error.
    [[nodiscard]] std::shared_ptr<OpenVideo> open(std::size_t file);
    /// A reader that has read nothing. It is not kept, and the kept one is closed.
    [[nodiscard]] std::shared_ptr<OpenVideo> open_fresh(std::size_t file);
    /// Ends a batch: files that it did not use keep one decoder each, at the place where they stopped.
    void end_batch();

private:
    struct Kept {
        std::size_t file = 0;
        std::shared_ptr<OpenVideo> video;
        bool used = true;  ///< by the batch
    };
    [[nodiscard]] std::shared_ptr<OpenVideo> make(std::size_t file, const std::string& device);
    void keep_index(std::size_t file, const OpenVideo& video);
    void close(std::size_t file);

    std::vector<VideoLocation> locations_;
    FrameReaderOptions options_;
    std::size_t most_open_;
    std::mutex mutex_;
    std::list<Kept> open_;  // the one used last in front
    std::unordered_map<std::size_t, std::list<Kept>::iterator> places_;
    std::vector<std::shared_ptr<const FrameIndex>> indexes_;
    std::vector<std::shared_ptr<std::atomic<bool>>> damage_is_logged_;
    std::int64_t indexes_bytes_ = 0;
};

}  // namespace tricodec::plugin
