// SPDX-License-Identifier: Apache-2.0
#include "common/open_videos.h"

#include <iterator>
#include <utility>

#include "tricodec/io/media_source.h"

namespace tricodec::plugin {
namespace {

/// For about two million packets: twenty hours of video.
constexpr std::int64_t kMostIndexBytes = std::int64_t{256} << 20;

}  // namespace

OpenVideo::OpenVideo(const MediaSource& source, const FrameReaderOptions& options)
    : reader_(FrameReader::open(source, options)),
      index_(reader_->frame_index()),
      num_damaged_packets_(reader_->num_damaged_packets()) {}

bool OpenVideo::depends_on_reads() {
    return reader_->num_damaged_packets() != num_damaged_packets_ || reader_->frame_index() != index_;
}

MediaSource VideoLocation::source() const {
    return name.empty() ? MediaSource::from_path(path) : source_of_file_part(path, offset_bytes, size_bytes, text());
}

OpenVideos::OpenVideos(std::vector<VideoLocation> locations, FrameReaderOptions options, std::size_t most_open)
    : locations_(std::move(locations)),
      options_(std::move(options)),
      most_open_(most_open),
      indexes_(locations_.size()) {
    for (std::size_t i = 0; i < locations_.size(); ++i) {
        damage_is_logged_.push_back(std::make_shared<std::atomic<bool>>(false));
    }
}

std::shared_ptr<OpenVideo> OpenVideos::make(std::size_t file, const std::string& device) {
    auto options = options_;
    options.device = device;
    {
        std::lock_guard lock(mutex_);
        options.known_index = indexes_[file];
        options.damage_is_logged = damage_is_logged_[file];
    }
    auto video = std::make_shared<OpenVideo>(locations_[file].source(), options);
    keep_index(file, *video);
    return video;
}

void OpenVideos::keep_index(std::size_t file, const OpenVideo& video) {
    std::lock_guard lock(mutex_);
    auto& kept = indexes_[file];
    if (kept == video.index()) return;
    if (kept) indexes_bytes_ -= size_bytes(*std::exchange(kept, nullptr));
    const auto bytes = size_bytes(*video.index());
    if (indexes_bytes_ + bytes > kMostIndexBytes) return;
    indexes_bytes_ += bytes;
    kept = video.index();
}

std::shared_ptr<OpenVideo> OpenVideos::open_to_count(std::size_t file) {
    // Nothing is decoded, so a decoder of the GPU is not needed.
    return make(file, "cpu");
}

std::shared_ptr<OpenVideo> OpenVideos::open(std::size_t file) {
    {
        std::lock_guard lock(mutex_);
        if (const auto found = places_.find(file); found != places_.end()) {
            open_.splice(open_.begin(), open_, found->second);
            found->second->used = true;
            return found->second->video;
        }
    }
    auto video = make(file, options_.device);
    std::list<Kept> closed;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    if (places_.contains(file)) return video;
    open_.push_front({file, video});
    places_[file] = open_.begin();
    while (open_.size() > most_open_) {
        places_.erase(open_.back().file);
        closed.splice(closed.end(), open_, std::prev(open_.end()));
    }
    return video;
}

std::shared_ptr<OpenVideo> OpenVideos::open_fresh(std::size_t file) {
    close(file);
    return make(file, options_.device);
}

void OpenVideos::close(std::size_t file) {
    std::list<Kept> closed;
    std::lock_guard lock(mutex_);
    const auto found = places_.find(file);
    if (found == places_.end()) return;
    closed.splice(closed.end(), open_, found->second);
    places_.erase(found);
}

void OpenVideos::end_batch() {
    std::lock_guard lock(mutex_);
    for (Kept& kept : open_) {
        if (!kept.used) kept.video->reader().close_idle_decoders(1);
        kept.used = false;
    }
}

}  // namespace tricodec::plugin
