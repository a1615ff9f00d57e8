// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/executor.h"
#include "base/fork.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"

namespace tricodec {
namespace {

/// One call of run_parallel: tasks are claimed one by one, by the caller and by as many helpers as it may use.
struct Job {
    std::vector<std::function<void()>>* tasks = nullptr;
    std::size_t num_tasks = 0;
    std::atomic<std::size_t> next{0};

    std::mutex mutex;
    std::condition_variable done;
    std::size_t num_finished = 0;
    std::exception_ptr error;
    std::atomic<bool> interrupted{false};
    const std::function<void()>* stop = nullptr;  ///< the caller's, which may be empty

    /// After check_interrupt() threw on the caller's thread.
    void interrupt() {
        if (interrupted.exchange(true)) return;
        {
            const std::lock_guard lock(mutex);
            error = std::current_exception();
        }
        if (*stop) (*stop)();
    }

    /// Works until no task is left to claim.
    void work(bool is_caller) {
        for (;;) {
            const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
            if (i >= num_tasks) return;
            std::exception_ptr raised;
            try {
                if (is_caller && !interrupted) check_interrupt();
                if (!interrupted) (*tasks)[i]();
            } catch (...) {
                raised = std::current_exception();
                if (is_caller && is_interrupted()) interrupt();
            }
            std::lock_guard lock(mutex);
            if (raised && !error) error = raised;
            if (++num_finished == num_tasks) done.notify_all();
        }
    }
};

class ThreadPool {
public:
    /// Never destroyed: joining threads from a static destructor can deadlock with the loader's lock.
    static ThreadPool& instance() { return one_per_process<ThreadPool>(); }

    /// Threads that cannot be started, because memory is short, are left out: the caller works, too.
    void offer_help(const std::function<void()>& task, int copies) {
        std::lock_guard lock(mutex_);
        for (int i = 0; i < copies; ++i) queue_.push_back(task);
        (void)start_threads();
        wake_.notify_all();
    }

    /// Throws Error(out_of_memory) if there is no thread for the task.
    void offer(std::function<void()> task) {
        std::lock_guard lock(mutex_);
        queue_.push_back(std::move(task));
        if (!start_threads()) {
            queue_.pop_back();
            fail(ErrorCode::out_of_memory, "no thread could be started: memory or the number of threads is exhausted");
        }
        wake_.notify_one();
    }

    void count_waiting(int change) {
        std::lock_guard lock(mutex_);
        num_waiting_ += change;
        (void)start_threads();
    }

private:
    static constexpr int kMaxThreads = 256;  // beside those of waiting tasks

    /// Starts one for each task in the queue. False if that fails.
    [[nodiscard]] bool start_threads() {
        while (num_threads_ < std::min<int>(static_cast<int>(queue_.size()) + num_busy_, kMaxThreads + num_waiting_)) {
            try {
                std::thread([this] { loop(); }).detach();
            } catch (const std::system_error&) {
                return false;
            }
            ++num_threads_;
        }
        return true;
    }

    void loop() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return !queue_.empty(); });
            auto task = std::move(queue_.front());
            queue_.pop_front();
            ++num_busy_;
            lock.unlock();
            task();
            task = nullptr;
            lock.lock();
            --num_busy_;
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> queue_;
    int num_threads_ = 0;
    int num_busy_ = 0;
    int num_waiting_ = 0;
};

}  // namespace

void submit(std::function<void()> task) {
    ThreadPool::instance().offer(std::move(task));
}

void WaitingTask::count(int change) noexcept {
    ThreadPool::instance().count_waiting(change);
}

int available_cores() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void run_parallel(std::vector<std::function<void()>>& tasks, int num_threads, const std::function<void()>& stop) {
    if (tasks.empty()) return;
    auto job = std::make_shared<Job>();
    job->tasks = &tasks;
    job->num_tasks = tasks.size();
    job->stop = &stop;
    const int num_helpers = std::min(num_threads, static_cast<int>(tasks.size())) - 1;
    if (num_helpers > 0)
        ThreadPool::instance().offer_help(
            [job] {
                const EndedBy ended(job->interrupted);
                job->work(false);
            },
            num_helpers);
    job->work(true);
    std::unique_lock lock(job->mutex);
    const auto all_finished = [&] { return job->num_finished == job->num_tasks; };
    try {
        wait_interruptibly(job->done, lock, all_finished);
    } catch (...) {
        lock.unlock();
        job->interrupt();
        lock.lock();
        job->done.wait(lock, all_finished);
    }
    if (job->error) std::rethrow_exception(job->error);
}

void copy_parallel(std::span<const ByteCopy> copies, int num_threads, const TaskRunner& runner) {
    constexpr std::size_t kPieceBytes = 1 << 20;  // of a thread at a time; handing it out costs nothing beside it
    std::vector<ByteCopy> pieces;
    std::size_t total = 0;
    for (const ByteCopy& copy : copies) {
        total += copy.size;
        for (std::size_t at = 0; at < copy.size; at += kPieceBytes) {
            pieces.push_back({copy.from + at, copy.to + at, std::min(kPieceBytes, copy.size - at)});
        }
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < pieces.size(); i = next++) {
            std::memcpy(pieces[i].to, pieces[i].from, pieces[i].size);
        }
    };
    const std::size_t threads = std::min(static_cast<std::size_t>(std::max(1, num_threads)), total / kPieceBytes);
    if (threads <= 1) return work();
    std::vector<std::function<void()>> tasks(threads, work);
    runner ? runner(tasks) : run_parallel(tasks, static_cast<int>(threads));
}

}  // namespace tricodec
