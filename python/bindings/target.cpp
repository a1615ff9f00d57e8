// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "convert.h"
#include "file_like.h"

namespace tricodec::python {
namespace {

class FileLikeWriter final : public ByteWriter {
public:
    /// The lock must be held.
    explicit FileLikeWriter(const py::object& object)
        : object_(object), readable_(object_.seekable() && can_read(object)) {}

    void write(std::span<const std::byte> bytes) override {
        object_.call([&](const py::object& object) {
            while (!bytes.empty()) {
                // A copy: the object may keep what it is given, and the core's buffer is filled again.
                const py::bytes chunk(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                const py::object result = object.attr("write")(chunk);
                // Raw files may write less; objects that say nothing wrote all.
                const auto count = PyLong_Check(result.ptr()) ? result.cast<std::size_t>() : bytes.size();
                if (count == 0 || count > bytes.size()) {
                    throw py::value_error("write() of the target returned " + std::to_string(count) + " for " +
                                          std::to_string(bytes.size()) + " bytes");
                }
                bytes = bytes.subspan(count);
            }
            return 0;
        });
    }
    void seek(std::int64_t position) override {
        object_.call([&](const py::object& object) { return FileLike::seek_to(object, position, SEEK_SET); });
    }
    bool seekable() const override { return object_.seekable(); }
    bool readable() const override { return readable_; }

    std::size_t read_at(std::int64_t position, std::span<std::byte> out) override {
        return object_.call([&](const py::object& object) -> std::size_t {
            const auto before = object.attr("tell")().cast<std::int64_t>();
            FileLike::seek_to(object, position, SEEK_SET);
            const auto bytes = object.attr("read")(out.size()).cast<py::bytes>();
            FileLike::seek_to(object, before, SEEK_SET);
            const auto text = static_cast<std::string_view>(bytes);
            const auto count = std::min(text.size(), out.size());
            std::memcpy(out.data(), text.data(), count);
            return count;
        });
    }
    /// The object stays open: it is the caller's.
    void finish() override {
        object_.call([&](const py::object& object) {
            if (py::hasattr(object, "flush")) object.attr("flush")();
            return 0;
        });
    }

private:
    static bool can_read(const py::object& object) {
        return py::hasattr(object, "read") && py::hasattr(object, "tell") &&
               (!py::hasattr(object, "readable") || object.attr("readable")().cast<bool>());
    }

    FileLike object_;
    bool readable_;
};

}  // namespace

Target to_media_target(const py::object& target) {
    if (target.is_none()) {
        auto memory = std::make_shared<std::vector<std::byte>>();
        return {MediaTarget::from_memory(memory), memory};
    }
    if (is_path(target)) return {MediaTarget::from_path(std::filesystem::path(to_path(target))), nullptr};
    if (py::hasattr(target, "write")) {
        return {MediaTarget::from_writer(std::make_shared<FileLikeWriter>(target), name_of(target)), nullptr};
    }
    throw py::type_error(
        "target must be a path (str or os.PathLike), an object with write(bytes), or None for memory, not " +
        shown(target));
}

}  // namespace tricodec::python
