// SPDX-License-Identifier: Apache-2.0
#include "common/backend.h"

#include <algorithm>
#include <exception>

#include "common/errors.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec::plugin {
namespace {

/// DALI's view of memory that it does not own.
template <typename Backend>
::dali::Tensor<Backend> tensor_over(const void* data, std::size_t size, int device_index, ::dali::AccessOrder order) {
    ::dali::Tensor<Backend> tensor;
    tensor.ShareData(const_cast<void*>(data), size, false, ::dali::TensorShape<>{static_cast<std::int64_t>(size)},
                     DALI_UINT8, device_index, order);
    return tensor;
}

}  // namespace

Device usable_gpu(const ::dali::OpSpec& spec, const char* operation) {
    const int index = spec.GetArgument<int>("device_id");
    const std::string name = std::string("fn.tricodec.") + operation;
    if (index < 0) {
        throw_dali(ErrorCode::device, name +
                                          " works on a GPU here, and the pipeline has none; pass device_id= to the "
                                          "pipeline, or device=\"cpu\" to the operator");
    }
    const std::string reason = gpu_unusable_reason(index);
    if (!reason.empty()) {
        throw_dali(ErrorCode::device, name + " cannot work on GPU " + std::to_string(index) + ": " + reason +
                                          "; pass device=\"cpu\" to the operator");
    }
    return {Device::Kind::cuda, index};
}

std::string preferred_engine(Device device) {
    return device.kind == Device::Kind::cpu ? "cpu" : "auto:" + std::to_string(device.index);
}

void run_on_pool(std::vector<Task> tasks, ::dali::ThreadPool& pool) {
    // Errors are caught here, because the pool would replace them by a runtime_error of its own.
    std::vector<std::exception_ptr> errors(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto run = [&task = tasks[i], &error = errors[i]](int /*thread*/) {
            try {
                task.run();
            } catch (...) {
                error = std::current_exception();
            }
        };
        pool.AddWork(run, tasks[i].cost);
    }
    pool.RunAll();
    for (const auto& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

void run_on_library(std::vector<Task> tasks, int num_threads) {
    std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.cost > b.cost; });
    std::vector<std::function<void()>> functions;
    for (Task& task : tasks) functions.push_back(std::move(task.run));
    run_parallel(functions, num_threads);
}

::dali::TensorList<::dali::CPUBackend> list_on_host(const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type) {
    ::dali::TensorList<::dali::CPUBackend> host;
    host.set_pinned(false);
    host.Resize(shape, type);
    return host;
}

void copy_on_device(void* to, const void* from, std::size_t size, int device_index, ::dali::AccessOrder order) {
    if (size == 0) return;
    tensor_over<::dali::GPUBackend>(to, size, device_index, order)
        .Copy(tensor_over<::dali::GPUBackend>(from, size, device_index, order), order);
}

void copy_to_device(void* to, std::span<const std::byte> from, int device_index, ::dali::AccessOrder order) {
    if (from.empty()) return;
    // Not page-locked: the driver makes a copy of its own before the call returns.
    tensor_over<::dali::GPUBackend>(to, from.size(), device_index, order)
        .Copy(tensor_over<::dali::CPUBackend>(from.data(), from.size(), ::dali::CPU_ONLY_DEVICE_ID,
                                              ::dali::AccessOrder::host()),
              order);
}

}  // namespace tricodec::plugin
