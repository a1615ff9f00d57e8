// SPDX-License-Identifier: Apache-2.0
#include "read/read_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/executor.h"
#include "base/stage_scope.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec {

std::shared_ptr<Read> Read::make(IndexedVideo& video, FrameSink& sink, Resolve resolve, MakePlan make_plan) {
    std::shared_ptr<Read> read(new Read(video, sink, std::move(resolve), std::move(make_plan)));
    read->make_tasks(0);
    return read;
}

Read::Read(IndexedVideo& video, FrameSink& sink, Resolve resolve, MakePlan make_plan)
    : video_(video),
      sink_(sink),
      resolve_(std::move(resolve)),
      make_plan_(std::move(make_plan)),
      frame_bytes_(frame_bytes(video.stream())) {}

void Read::make_tasks(std::int64_t from) {
    std::vector<std::int64_t> numbers;
    do {
        const auto known = video_.index();
        numbers = resolve_();
        const auto left = std::min(from, static_cast<std::int64_t>(numbers.size()));
        index_ = video_.index_for(std::span(numbers).subspan(static_cast<std::size_t>(left)));
        if (index_->numbers_as(*known)) break;
    } while (true);
    count_ = static_cast<std::int64_t>(numbers.size());
    auto position = std::min(from, count_);
    plan_ = make_plan_(index_, std::span(numbers).subspan(static_cast<std::size_t>(position)));
    tasks_.clear();
    for (const auto& work : plan_.tasks) {
        const auto first = position;
        for (const auto& range : work.ranges) position += static_cast<std::int64_t>(range.wanted.size());
        tasks_.push_back({first, position, first});
    }
    head_ = next_ = 0;
}

std::optional<Read::Failure> Read::decode(std::size_t t) {
    auto& task = tasks_[t];
    const auto& work = plan_.tasks[t];
    const bool resumable = plan_.resumable && t + 1 == tasks_.size();
    auto position = task.first;
    try {
        for (const auto& range : work.ranges) {
            auto decoder = video_.decode(index_, range, {.num_threads = work.num_threads, .resumable = resumable});
            while (auto frame = decoder.next()) {
                if (!await_room(task, position)) return std::nullopt;
                sink_.put(position, std::move(*frame));
                ++position;  // not before: a frame that the sink refuses is the one that is missing
                const std::lock_guard lock(mutex_);
                task.put_until = position;
                if (position <= awaited_) changed_.notify_all();
            }
            if (decoder.stale()) return Failure{position, true, {}};
        }
    } catch (...) {
        return Failure{position, false, std::current_exception()};
    }
    return std::nullopt;
}

bool Read::await_room(const Task& task, std::int64_t position) {
    std::unique_lock lock(mutex_);
    const auto has_room = [&] {
        return cancelled_ || position < needed_ ||
               (plan_.slots != nullptr ? task.reserved_bytes > 0 : sink_.make_room(position));
    };
    if (!has_room()) {
        const WaitingTask waiting;
        if (plan_.slots != nullptr) plan_.slots->pause();
        room_.wait(lock, has_room);
        if (plan_.slots != nullptr) plan_.slots->resume();
    }
    return !cancelled_;
}

void Read::run() {
    needed_ = count_;
    if (plan_.slots == nullptr) {
        std::vector<std::function<void()>> tasks;
        for (std::size_t t = 0; t < tasks_.size(); ++t) tasks.emplace_back([this, t] { run_task(t); });
        run_parallel(tasks, plan_.num_decoders, [this] {
            const std::lock_guard lock(mutex_);
            cancelled_ = true;
            room_.notify_all();
        });
    } else {
        std::unique_lock lock(mutex_);
        launch();
        try {
            wait_interruptibly(changed_, lock,
                               [&] { return num_begun_ == 0 && (next_ == tasks_.size() || !failures_.empty()); });
        } catch (...) {
            stop(lock);
            throw;
        }
    }
    finish();
}

void Read::run_task(std::size_t t) {
    auto failure = decode(t);
    if (!failure) return;
    if (failure->error) std::rethrow_exception(failure->error);
    const std::lock_guard lock(mutex_);
    cancelled_ = true;  // all of it is decoded again
    failures_.push_back(*std::move(failure));
}

void Read::finish() {
    {
        std::unique_lock lock(mutex_);
        const auto* failure = first_failure(count_);
        if (failure != nullptr && failure->error) std::rethrow_exception(failure->error);
        // The sink may have had the frames numbered again when it looked at one of them.
        if (failure == nullptr && video_.index()->numbers_as(*index_)) return;
        stop(lock);
        restart(lock, 0);
    }
    run();
}

std::int64_t Read::await(std::int64_t begin, std::int64_t end, std::int64_t needed) {
    StageScope scope(Stage::wait, 0);
    std::unique_lock lock(mutex_);
    for (;;) {
        end = std::min(end, count_);
        taken_ = begin;
        awaited_ = end;
        needed_ = std::max(end, needed);
        release_taken();
        launch();
        room_.notify_all();
        if (begin >= end) return end;
        scope.set_num_frames(end - begin);
        wait_interruptibly(changed_, lock, [&] { return has_all(end) || first_failure(end) != nullptr; });
        if (has_all(end)) return end;
        // Tasks before the one that failed may fail too, at a lower frame.
        stop(lock);
        const auto* failure = first_failure(end);
        if (failure->error) std::rethrow_exception(failure->error);
        restart(lock, begin);
    }
}

void Read::cancel() {
    std::unique_lock lock(mutex_);
    stop(lock);
}

void Read::work(std::size_t t, std::int64_t generation) {
    {
        const std::lock_guard lock(mutex_);
        if (generation != generation_) return;
        ++num_working_;
    }
    std::optional<Failure> failure;
    {
        const EndedBy ended(cancelled_);
        failure = decode(t);
        if (cancelled_ && is_interrupted()) failure.reset();
    }
    const std::lock_guard lock(mutex_);
    --num_working_;
    --num_begun_;
    if (failure) failures_.push_back(*std::move(failure));
    launch();
    changed_.notify_all();
}

void Read::launch() {
    while (!cancelled_ && failures_.empty() && next_ < tasks_.size() && num_begun_ < plan_.num_decoders &&
           reserve(tasks_[next_])) {
        const auto first = tasks_[next_].first;
        auto job = [self = shared_from_this(), t = next_, generation = generation_] { self->work(t, generation); };
        ++num_begun_;
        ++next_;
        if (plan_.slots == nullptr) {
            try {
                submit(std::move(job));
            } catch (...) {
                // Tasks that work launch it when they end.
                --next_;
                if (--num_begun_ == 0) failures_.push_back({first, false, std::current_exception()});
                return;
            }
        } else {
            plan_.slots->run(std::move(job), [self = shared_from_this(), first] { return first < self->needed_; });
        }
    }
}

/// On a GPU a task begins ahead of its consumer only with memory for all of its frames, so that it never holds up its
/// decoder. On the CPU it waits for room frame by frame.
bool Read::reserve(Task& task) {
    const bool is_needed = task.first < needed_;
    if (plan_.slots == nullptr || task.end <= needed_) return true;
    const auto bytes = (task.end - task.first) * frame_bytes_;
    if (plan_.most_bytes > 0 && reserved_bytes_ + bytes > plan_.most_bytes) return is_needed;
    if (!plan_.slots->reserve(bytes)) return is_needed;
    task.reserved_bytes = bytes;
    reserved_bytes_ += bytes;
    return true;
}

void Read::release(Task& task) {
    if (plan_.slots == nullptr) return;
    const auto bytes = std::exchange(task.reserved_bytes, 0);
    plan_.slots->release(bytes);
    reserved_bytes_ -= bytes;
}

void Read::release_taken() {
    for (; head_ < tasks_.size() && tasks_[head_].end <= taken_; ++head_) release(tasks_[head_]);
}

bool Read::has_all(std::int64_t end) const {
    for (auto t = head_; t < tasks_.size() && tasks_[t].first < end; ++t) {
        if (tasks_[t].put_until < std::min(end, tasks_[t].end)) return false;
    }
    return true;
}

const Read::Failure* Read::first_failure(std::int64_t end) const {
    const auto first = std::ranges::min_element(failures_, {}, &Failure::position);
    return first == failures_.end() || first->position >= end ? nullptr : &*first;
}

void Read::stop(std::unique_lock<std::mutex>& lock) {
    cancelled_ = true;
    ++generation_;  // tasks that wait for a thread never begin
    room_.notify_all();
    changed_.wait(lock, [&] { return num_working_ == 0; });
    for (auto& task : tasks_) release(task);
}

void Read::restart(std::unique_lock<std::mutex>& lock, std::int64_t from) {
    lock.unlock();
    video_.renumber(*index_);
    make_tasks(from);
    sink_.restart(from, count_);
    lock.lock();
    failures_.clear();
    num_begun_ = 0;
    cancelled_ = false;
}

}  // namespace tricodec
