// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <memory>
#include <vector>

#include "decompress_request.h"
#include "tricodec/buffer.h"
#include "tricodec/compress.h"
#include "tricodec/device.h"

namespace tricodec::plugin {

/// The samples of one batch decompressed on the CPU: sizes first, then the bytes to where they belong.
class HostDecompression {
public:
    HostDecompression(const ::dali::OpSpec& spec, const DecompressRequest& request, int num_threads);

    /// Looks at the streams and says what the output is. With headers the samples are decompressed to see them.
    [[nodiscard]] ::dali::OutputDesc begin(std::vector<ByteView> streams, const ::dali::ArgumentWorkspace& workspace,
                                           const TaskRunner& runner);
    /// Writes the elements to the output, which is as begin() said.
    void finish(::dali::TensorList<::dali::CPUBackend>& output, const TaskRunner& runner);
    void clear();

private:
    const DecompressRequest& request_;
    std::unique_ptr<compress::Codec> codec_;
    std::vector<ByteView> streams_;
    std::vector<NpyHeader> headers_;
    std::vector<std::shared_ptr<Buffer>> files_;  ///< header and elements
};

/// fn.tricodec.decompress on the CPU, on DALI's threads.
class DecompressArrays : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit DecompressArrays(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    DecompressRequest request_;
    HostDecompression host_;
};

/// What the backends with outputs on a GPU have in common: trusted data are decompressed there, in one call a batch and
/// to DALI's memory; others on the CPU.
class DeviceDecompression {
public:
    DeviceDecompression(const ::dali::OpSpec& spec, int num_threads);

    /// For streams in host memory, which may be page-locked.
    void run(::dali::Workspace& workspace, const ::dali::TensorList<::dali::CPUBackend>& streams);
    void run(::dali::Workspace& workspace, const ::dali::TensorList<::dali::GPUBackend>& streams);

private:
    void run_on_host(::dali::Workspace& workspace, const ::dali::TensorList<::dali::CPUBackend>& streams);
    void run_on_device(::dali::Workspace& workspace, const ::dali::TensorList<::dali::GPUBackend>& streams);
    void decompress_files(::dali::Workspace& workspace, std::span<const ByteView> streams);

    DecompressRequest request_;
    Device device_;
    int num_threads_;
    std::unique_ptr<compress::Codec> codec_;   ///< for trusted data
    std::unique_ptr<HostDecompression> host_;  ///< for others
};

/// fn.tricodec.decompress from host memory to a GPU.
class DecompressArraysMixed : public ::dali::StatelessOperator<::dali::MixedBackend> {
public:
    explicit DecompressArraysMixed(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    DeviceDecompression work_;
};

/// fn.tricodec.decompress on a GPU.
class DecompressArraysGpu : public ::dali::StatelessOperator<::dali::GPUBackend> {
public:
    explicit DecompressArraysGpu(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    DeviceDecompression work_;
};

}  // namespace tricodec::plugin
