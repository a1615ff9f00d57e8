// SPDX-License-Identifier: Apache-2.0
#include "compress/cpu/guarded_call.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "base/fork.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

/// Memory that a child process and its parent share.
class SharedMemory {
public:
    explicit SharedMemory(std::size_t size) : size_(size == 0 ? 1 : size) {
        data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        TRICODEC_EXPECT(data_ != MAP_FAILED, out_of_memory,
                        "could not map " + std::to_string(size_) + " bytes for a child process");
    }
    ~SharedMemory() { munmap(data_, size_); }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

private:
    std::size_t size_;
    void* data_;
};

class Pipe {
public:
    Pipe() {
        TRICODEC_EXPECT(pipe2(ends_, O_CLOEXEC) == 0, io,
                        std::string("could not make a pipe: ") + std::strerror(errno));
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int end(int which) const noexcept { return ends_[which]; }
    void close_end(int which) {
        if (ends_[which] >= 0) close(ends_[which]);
        ends_[which] = -1;
    }

private:
    int ends_[2] = {-1, -1};
};

/// Forks, one thread at a time. Fork handlers of other libraries (gRPC) end the process if two threads run them at
/// once.
pid_t fork_alone() {
    struct Forking {
        std::mutex mutex;
    };
    const std::lock_guard lock(one_per_process<Forking>().mutex);
    return fork();
}

/// The child process. It runs no handler and no destructor of the parent.
[[noreturn]] void child(std::span<std::byte> memory, const std::function<bool(std::span<std::byte>)>& fill,
                        int report) {
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM}) signal(fault, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char result = fill(memory) ? 'y' : 'n';
    const ssize_t written = write(report, &result, 1);
    _exit(written == 1 ? 0 : 1);
}

constexpr char kEnded = 0;
constexpr char kTooLong = 't';

/// The letter that the child writes; kEnded if it ended without one, kTooLong if it did not end.
char wait_for_letter(int end, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    pollfd waited{end, POLLIN, 0};
    int ready = 0;
    do {
        // The time that is left: repeated signals must not delay the end.
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        ready = poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) return kTooLong;
    char letter = kEnded;
    return ready > 0 && read(end, &letter, 1) == 1 ? letter : kEnded;
}

}  // namespace

void run_guarded(std::span<std::byte> output, const std::function<bool(std::span<std::byte>)>& fill, double seconds,
                 const char* what) {
    const SharedMemory memory(output.size());
    const std::span<std::byte> shared(memory.data(), output.size());
    Pipe report;
    const pid_t process = fork_alone();
    TRICODEC_EXPECT(process >= 0, io, std::string("could not start a child process: ") + std::strerror(errno));
    if (process == 0) child(shared, fill, report.end(1));
    report.close_end(1);
    const char letter = wait_for_letter(report.end(0), seconds);
    if (letter == kEnded || letter == kTooLong) kill(process, SIGKILL);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    TRICODEC_EXPECT(letter != kTooLong, corrupt_data,
                    std::string(what) + " is damaged, or this machine is overloaded: its decoder took more than " +
                        std::to_string(std::lround(seconds)) + " s in a child process, which was ended");
    TRICODEC_EXPECT(
        letter == 'y', corrupt_data,
        std::string(what) + (letter == 'n' ? " is damaged" : " is damaged: its decoder failed in a child process"));
    if (!output.empty()) std::memcpy(output.data(), shared.data(), output.size());
}

}  // namespace tricodec::compress
