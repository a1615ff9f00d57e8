// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/data/tensor_list.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/util/thread_pool.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tricodec/base/device.h"
#include "tricodec/compress/compress.h"

// How an operator, which is one template for its CPU, GPU and mixed forms, uses DALI's threads, memory and streams.
namespace tricodec::plugin {

/// True for operators with outputs on a GPU.
template <typename Backend>
inline constexpr bool kOnGpu = !std::is_same_v<Backend, ::dali::CPUBackend>;
template <typename Backend>
using OutputBackend = std::conditional_t<kOnGpu<Backend>, ::dali::GPUBackend, ::dali::CPUBackend>;

/// The GPU of an operator's pipeline. Throws DALI's RuntimeError, which names `operation` and the remedy, if this
/// library cannot use it.
[[nodiscard]] Device usable_gpu(const ::dali::OpSpec& spec, const char* operation);
/// The device of an operator.
template <typename Backend>
[[nodiscard]] Device device_of(const ::dali::OpSpec& spec, const char* operation) {
    if constexpr (kOnGpu<Backend>) return usable_gpu(spec, operation);
    return {};
}
/// The name of a device for decoders and encoders: "cpu", or "auto:0", where the CPU does what the GPU cannot.
[[nodiscard]] std::string preferred_engine(Device device);

/// The stream that DALI orders the operator's inputs and outputs by.
[[nodiscard]] inline StreamView stream_of(const ::dali::Workspace& workspace) {
    return {reinterpret_cast<std::uintptr_t>(workspace.stream())};
}

/// Work that may run at the same time as other tasks; those of greater cost begin first.
struct Task {
    std::function<void()> run;
    std::int64_t cost = 0;
};
/// Both raise the error of the first task, in the order of the list, that failed.
void run_on_pool(std::vector<Task> tasks, ::dali::ThreadPool& pool);
void run_on_library(std::vector<Task> tasks, int num_threads);
/// Runs tasks on DALI's threads on the CPU; on the library's for GPUs, because DALI gives such operators no threads.
template <typename Backend>
void run_tasks(std::vector<Task> tasks, const ::dali::Workspace& workspace, int num_threads) {
    if constexpr (kOnGpu<Backend>) {
        run_on_library(std::move(tasks), num_threads);
    } else {
        run_on_pool(std::move(tasks), workspace.GetThreadPool());
    }
}
/// The same for functions of the library that have tasks to run.
template <typename Backend>
[[nodiscard]] TaskRunner task_runner(const ::dali::Workspace& workspace, int num_threads) {
    return [&workspace, num_threads](std::vector<std::function<void()>>& functions) {
        std::vector<Task> tasks;
        for (auto& function : functions) tasks.push_back({[&function] { function(); }});
        run_tasks<Backend>(std::move(tasks), workspace, num_threads);
    };
}

/// Bytes of a sample's elements.
template <typename Backend>
[[nodiscard]] std::size_t bytes_of(const ::dali::TensorList<Backend>& list, int sample) {
    return static_cast<std::size_t>(list.tensor_shape(sample).num_elements()) * list.type_info().size();
}

/// The samples' bytes, to read or to write, in the memory of the backend.
template <typename Backend>
[[nodiscard]] std::vector<ByteView> views_of(const ::dali::TensorList<Backend>& list) {
    std::vector<ByteView> views;
    for (int i = 0; i < list.num_samples(); ++i) {
        views.emplace_back(static_cast<const std::byte*>(list.raw_tensor(i)), bytes_of(list, i));
    }
    return views;
}
template <typename Backend>
[[nodiscard]] std::vector<MutableBytes> places_of(::dali::TensorList<Backend>& list) {
    std::vector<MutableBytes> places;
    for (int i = 0; i < list.num_samples(); ++i) {
        places.emplace_back(static_cast<std::byte*>(list.raw_mutable_tensor(i)), bytes_of(list, i));
    }
    return places;
}

/// The shape of one-dimensional samples, of which `size` gives the number of elements.
template <typename Samples, typename Size = std::identity>
[[nodiscard]] ::dali::TensorListShape<> flat_shape(const Samples& samples, Size size = {}) {
    ::dali::TensorListShape<> shape(static_cast<int>(std::size(samples)), 1);
    for (int i = 0; const auto& sample : samples) {
        shape.set_tensor_shape(i++, ::dali::TensorShape<>{static_cast<std::int64_t>(std::invoke(size, sample))});
    }
    return shape;
}

template <typename From, typename To>
void copy_source_info(const ::dali::TensorList<From>& from, ::dali::TensorList<To>& to) {
    for (int i = 0; i < from.num_samples(); ++i) to.SetSourceInfo(i, from.GetMeta(i).GetSourceInfo());
}

/// A list in host memory that is not page-locked: the driver then makes a copy of its own before a transfer returns.
[[nodiscard]] ::dali::TensorList<::dali::CPUBackend> list_on_host(const ::dali::TensorListShape<>& shape,
                                                                  ::dali::DALIDataType type);

/// Resizes an output and has `write` fill it on the host; a GPU's output is then copied in the order of DALI's stream.
template <typename Backend, typename Write>
void write_output(::dali::Workspace& workspace, int index, const ::dali::TensorListShape<>& shape,
                  ::dali::DALIDataType type, Write&& write) {
    auto& output = workspace.Output<OutputBackend<Backend>>(index);
    if constexpr (kOnGpu<Backend>) {
        auto host = list_on_host(shape, type);
        write(host);
        output.Copy(host, workspace.output_order());
    } else {
        output.Resize(shape, type);
        write(output);
    }
}

/// Copies bytes of the GPU `device_index` in the order of a stream; the host does not wait.
void copy_on_device(void* to, const void* from, std::size_t size, int device_index, ::dali::AccessOrder order);
/// The same from host memory, which is free when the call returns.
void copy_to_device(void* to, std::span<const std::byte> from, int device_index, ::dali::AccessOrder order);

}  // namespace tricodec::plugin
