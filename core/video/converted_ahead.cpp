// SPDX-License-Identifier: Apache-2.0
#include "video/converted_ahead.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "base/executor.h"
#include "base/interruptible_wait.h"
#include "tricodec/base/error.h"

namespace tricodec {

struct ConvertedAhead::Job {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    FrameReader::Converted result;
    std::exception_ptr error;

    void run(const FrameReader::Converter& convert, const Frame& frame) {
        Tensor picture;
        std::exception_ptr raised;
        try {
            picture = convert(frame);
        } catch (...) {
            raised = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        result = {std::move(picture), frame.pts, frame.duration};
        error = raised;
        is_done = true;
        changed.notify_all();
    }
};

void ConvertedAhead::add(Frame frame) {
    auto job = std::make_shared<Job>();
    jobs_.push_back(job);
    const auto work = [job, convert = convert_, frame = std::move(frame)] { job->run(*convert, frame); };
    try {
        submit(work);
    } catch (const Error&) {  // no thread could be started
        work();
    }
}

FrameReader::Converted ConvertedAhead::take() {
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    ++next_;
    std::unique_lock lock(job->mutex);
    wait_interruptibly(job->changed, lock, [&] { return job->is_done; });
    if (job->error) std::rethrow_exception(job->error);
    return std::move(job->result);
}

}  // namespace tricodec
