// SPDX-License-Identifier: Apache-2.0
#include "tricodec/media/served_source.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

// The server's side is python/tricodec/_remote/_server.py.
enum Operation : std::int64_t { kOpen = 0, kRead = 1, kWillRead = 2, kWillReadOn = 4 };
struct Request {
    std::int64_t operation;
    std::int64_t offset;
    std::int64_t size;
};
/// `failed` is 0 or 1. `size` is that of the source, or of what follows: bytes, or an error's class and text.
struct Answer {
    std::int64_t failed;
    std::int64_t size;
};
constexpr std::int64_t kMostRead = 1 << 20;
constexpr std::int64_t kMostText = 1 << 16;

std::atomic<int> g_server{-1};

ErrorCode code_of(std::string_view class_name) {
    static constexpr std::pair<std::string_view, ErrorCode> kCodes[] = {
        {"MediaNotFoundError", ErrorCode::not_found}, {"UnsupportedError", ErrorCode::unsupported},
        {"RefusedError", ErrorCode::refused},         {"OutOfMemoryError", ErrorCode::out_of_memory},
        {"ValueError", ErrorCode::invalid_argument},
    };
    const auto* const found = std::ranges::find(kCodes, class_name, &std::pair<std::string_view, ErrorCode>::first);
    return found == std::end(kCodes) ? ErrorCode::io : found->second;
}

/// A stream socket of this side to a thread of the server.
int connect_to_server(const std::string& name) {
    const int server = g_server;
    TRICODEC_EXPECT(server >= 0, unsupported,
                    "'" + name +
                        "' is a remote source, and no process reads them for this one; make the pipeline in "
                        "the process that runs it, with tricodec.dali");
    std::array<int, 2> ends{};
    TRICODEC_EXPECT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, io,
                    "no connection for reading '" + name + "': " + std::strerror(errno));
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(server, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    const int failure = errno;
    ::close(ends[1]);
    if (sent < 0) {
        ::close(ends[0]);
        fail(ErrorCode::io, "the process that reads '" + name + "' is not there: " + std::strerror(failure));
    }
    return ends[0];
}

class ServedReader final : public ByteReader {
public:
    ServedReader(const std::string& key, std::string name) : name_(std::move(name)), socket_(connect_to_server(name_)) {
        try {
            send(kOpen, 0, std::as_bytes(std::span(key)));
            size_ = receive_answer();
        } catch (...) {
            ::close(socket_);
            throw;
        }
    }
    ServedReader(const ServedReader&) = delete;
    ServedReader& operator=(const ServedReader&) = delete;
    ~ServedReader() override { ::close(socket_); }

    std::size_t read(std::span<std::byte> out) override {
        const auto wanted = std::min({std::ssize(out), kMostRead, size_ - position_});
        if (wanted <= 0) return 0;
        const Request request{kRead, position_, wanted};
        send_all(std::as_bytes(std::span(&request, 1)));
        const auto count = receive_answer();
        TRICODEC_EXPECT(count > 0 && count <= wanted, io, "reading '" + name_ + "' gave another number of bytes");
        receive_all(out.first(static_cast<std::size_t>(count)));
        position_ += count;
        return static_cast<std::size_t>(count);
    }
    void seek(std::int64_t position) override { position_ = position; }
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return size_; }
    [[nodiscard]] bool seekable() const override { return true; }
    [[nodiscard]] bool fetches_ahead() const override { return true; }
    void will_read(std::span<const ByteRange> ranges) override { send(kWillRead, 0, std::as_bytes(ranges)); }
    void will_read_on() override { send(kWillReadOn, position_, {}); }

private:
    void send(Operation operation, std::int64_t offset, std::span<const std::byte> more) {
        const Request request{operation, offset, std::ssize(more)};
        send_all(std::as_bytes(std::span(&request, 1)));
        send_all(more);
    }

    /// The size of an answer without an error.
    std::int64_t receive_answer() {
        Answer answer{};
        receive_all(std::as_writable_bytes(std::span(&answer, 1)));
        if (answer.failed == 0) return answer.size;
        std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(answer.size, 0, kMostText)), '\0');
        receive_all(std::as_writable_bytes(std::span(text)));
        const auto end = std::min(text.find('\n'), text.size());
        fail(code_of(std::string_view(text).substr(0, end)), text.substr(std::min(end + 1, text.size())));
    }

    void send_all(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) fail_ended();
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }

    void receive_all(std::span<std::byte> bytes) {
        while (!bytes.empty()) {
            const auto count = ::recv(socket_, bytes.data(), bytes.size(), MSG_WAITALL);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) fail_ended();
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }

    [[noreturn]] void fail_ended() const {
        fail(ErrorCode::io, "the process that reads '" + name_ + "' has ended; make the pipeline again");
    }

    std::string name_;
    int socket_;
    std::int64_t size_ = 0;
    std::int64_t position_ = 0;
};

static_assert(sizeof(ByteRange) == 2 * sizeof(std::int64_t), "the server takes them as pairs");

}  // namespace

void set_source_server(int connection) noexcept {
    g_server = connection;
}

MediaSource served_source(const std::string& key, const std::string& name) {
    return MediaSource::from_reader(std::make_shared<ServedReader>(key, name), name);
}

}  // namespace tricodec
