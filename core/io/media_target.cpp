// SPDX-License-Identifier: Apache-2.0
#include "tricodec/io/media_target.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/container_policy.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/output_file.h"

namespace tricodec {
namespace {

class FileWriter final : public ByteWriter {
public:
    FileWriter(const std::filesystem::path& path, unsigned permissions) : file_(path, permissions) {}

    void write(std::span<const std::byte> bytes) override { file_.write(bytes); }
    void seek(std::int64_t position) override { file_.seek(position); }
    bool seekable() const override { return file_.regular(); }
    bool readable() const override { return file_.regular(); }
    std::size_t read_at(std::int64_t position, std::span<std::byte> out) override {
        check_interrupt();  // a fast start moves the whole file
        return file_.read_at(position, out);
    }
    void finish() override { file_.finish(); }

private:
    OutputFile file_;
};

class MemoryWriter final : public ByteWriter {
public:
    explicit MemoryWriter(std::shared_ptr<std::vector<std::byte>> bytes) : bytes_(std::move(bytes)) { bytes_->clear(); }

    void write(std::span<const std::byte> bytes) override {
        const auto end = position_ + bytes.size();
        if (end > bytes_->size()) {
            // Growth by doubling is resize()'s own affair only where it is asked for one element at a time.
            if (end > bytes_->capacity()) bytes_->reserve(std::max(end, bytes_->capacity() * 2));
            bytes_->resize(end);
        }
        std::memcpy(bytes_->data() + position_, bytes.data(), bytes.size());
        position_ = end;
    }
    void seek(std::int64_t position) override {
        position_ = static_cast<std::size_t>(position);
        if (position_ > bytes_->size()) bytes_->resize(position_);
    }
    bool seekable() const override { return true; }
    bool readable() const override { return true; }
    std::size_t read_at(std::int64_t position, std::span<std::byte> out) override {
        const auto from = static_cast<std::size_t>(position);
        if (from >= bytes_->size()) return 0;
        const auto count = std::min(out.size(), bytes_->size() - from);
        std::memcpy(out.data(), bytes_->data() + from, count);
        return count;
    }

private:
    std::shared_ptr<std::vector<std::byte>> bytes_;
    std::size_t position_ = 0;
};

}  // namespace

std::size_t ByteWriter::read_at(std::int64_t, std::span<std::byte>) {
    fail(ErrorCode::unsupported, "this writer cannot read back what was written");
}

MediaTarget MediaTarget::from_path(const std::filesystem::path& path) {
    const std::string text = path.string();
    TRICODEC_EXPECT(!text.empty(), invalid_argument, "the path to write to is empty");
    TRICODEC_EXPECT(protocol_of(text).empty(), refused,
                    "'" + text + "' names the protocol '" + std::string(protocol_of(text)) +
                        "', and only files and memory are written; pass a plain path (./" + text +
                        " for a file of that name) or a file-like object");
    MediaTarget target;
    target.name_ = text;
    target.path_ = path;
    return target;
}

MediaTarget MediaTarget::from_memory(std::shared_ptr<std::vector<std::byte>> bytes, std::string name) {
    TRICODEC_EXPECT(bytes != nullptr, invalid_argument, "the bytes to write to are null");
    MediaTarget target;
    target.name_ = std::move(name);
    target.bytes_ = std::move(bytes);
    return target;
}

MediaTarget MediaTarget::from_writer(std::shared_ptr<ByteWriter> writer, std::string name) {
    TRICODEC_EXPECT(writer != nullptr, invalid_argument, "the writer is null");
    MediaTarget target;
    target.name_ = std::move(name);
    target.writer_ = std::move(writer);
    return target;
}

MediaTarget MediaTarget::with_permissions(unsigned permissions) const {
    MediaTarget target = *this;
    target.permissions_ = permissions & 0666;
    return target;
}

std::shared_ptr<ByteWriter> MediaTarget::open() const {
    if (writer_) return writer_;
    if (bytes_) return std::make_shared<MemoryWriter>(bytes_);
    return std::make_shared<FileWriter>(path_, permissions_);
}

}  // namespace tricodec
