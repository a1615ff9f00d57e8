// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/checkpointing/op_checkpoint.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <memory>
#include <string>
#include <vector>

#include "common/backend.h"
#include "common/errors.h"
#include "common/video_batch.h"
#include "common/video_outputs.h"
#include "ops/sequence_reader.h"

namespace tricodec::plugin {

/// fn.tricodec.read_video: sequences of the frames of files, on the CPU or, with the GPU's decoders, in its memory.
/// Setup takes the next sequences, which determines the shapes; Run decodes them as decode_video does. A checkpoint
/// holds which sequences come next, and nothing about decoders.
template <typename Backend>
class ReadVideo : public ::dali::Operator<Backend> {
public:
    explicit ReadVideo(const ::dali::OpSpec& spec)
        : ::dali::Operator<Backend>(spec),
          device_(device_of<Backend>(spec, "read_video")),
          batch_(spec, "read_video"),
          reader_(std::make_unique<SequenceReader>(spec, batch_.arguments(), preferred_engine(device_),
                                                   this->num_threads_)) {}

    bool HasContiguousOutputs() const override { return !batch_.arguments().empty_on_error(); }
    ::dali::ReaderMeta GetReaderMeta() const override { return reader_->meta(); }

    void SaveState(::dali::OpCheckpoint& checkpoint, ::dali::AccessOrder /*order*/) override {
        checkpoint.MutableCheckpointState() = reader_->state();
    }
    void RestoreState(const ::dali::OpCheckpoint& checkpoint) override {
        reader_->restore(checkpoint.CheckpointState<EpochOrder::State>());
    }
    std::string SerializeCheckpoint(const ::dali::OpCheckpoint& checkpoint) const override {
        return checkpoint.CheckpointState<EpochOrder::State>().to_text();
    }
    void DeserializeCheckpoint(::dali::OpCheckpoint& checkpoint, const std::string& data) const override {
        checkpoint.MutableCheckpointState() = translate_errors("", [&] { return EpochOrder::State::from_text(data); });
    }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override {
        run_tasks<Backend>(reader_->begin(batch_, workspace, workspace.GetRequestedBatchSize(0)), workspace,
                           this->num_threads_);
        return batch_.settle_shapes(outputs);
    }
    void RunImpl(::dali::Workspace& workspace) override {
        decode_to_outputs<Backend>(batch_, workspace, device_, this->num_threads_);
    }

private:
    Device device_;
    VideoBatch batch_;
    std::unique_ptr<SequenceReader> reader_;
};

namespace {

constexpr const char* kReadVideoDoc = R"(Reads sequences of frames from video files.

It takes every codec and container of ``fn.tricodec.decode_video``, and has its arguments for cropping, resizing, color
conversion, normalization, data type and layout. The frames are byte for byte those of that operator for the same frames of a
file. Exactly one of ``filenames``, ``file_root``, ``file_list`` and ``paths`` names the files.

Each file is cut into sequences of ``sequence_length`` frames, ``stride`` apart. A sequence begins ``step`` frames after the
one before. With the arguments of ``fn.tricodec.decode_video`` that select frames (``fps``, ``num_frames``, ``start_s``, ...), the
frames that it would give of the file are cut so. A batch holds the next sequences in the order of the epoch: file after file, or shuffled as a whole. The files
used last stay open, with decoders that continue where they are. The sequences of a batch that come from one file are decoded
together, each frame once.

Outputs:

* frames: ``FHWC`` or ``FCHW`` by ``layout``, of type ``dtype``. With ``format``: raw planes.
* pts: the frames' presentation times in seconds, 1-D float64; NaN for places without a frame.
* with ``labels``, ``file_root``, ``file_list`` or ``label_ext``: the file's label, int32 of one element.
* with ``enable_frame_num``: numbers of frames, int32.
* with ``num_damaged_packets=True``: how many packets could not be decoded whole, int64 of one element.

With ``device="gpu"`` all decoders of the GPU work, and the outputs are on the GPU with the same bytes. The CPU decodes what
the GPU cannot decode exactly.

A file that cannot be opened raises an error that names it when the pipeline is built. A sequence that cannot be decoded fails
its batch. With ``on_error="empty"`` the file is left out, and the sequence has 0 frames.

Example::

    import nvidia.dali.fn as fn
    import nvidia.dali.types as types
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def clips(root):
        frames, pts, label = fn.tricodec.read_video(
            file_root=root, sequence_length=16, stride=2, random_shuffle=True, name="reader",
            size=(224, 224), dtype=types.FLOAT, layout="CHW")
        return frames, label
)";

int num_more_outputs(const ::dali::OpSpec& spec) {
    const auto numbers = spec.GetArgument<std::string>("enable_frame_num");
    return num_times_outputs(spec) + (has_labels(spec) ? 1 : 0) + (numbers != "none" && numbers != "False" ? 1 : 0) +
           (spec.GetArgument<bool>("num_damaged_packets") ? 1 : 0);
}

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__ReadVideoArguments)
    .DocStr("Arguments of the operators that read sequences of frames.")
    .AddParent("tricodec__DecodingArguments")
    .AddParent("tricodec__SelectionArguments")
    .AddRandomSeedArg()
    .AddArg("sequence_length", "Number of frames in a sequence.", DALI_INT32)
    .AddOptionalArg<std::vector<std::string>>("filenames", "Paths of the files to read.", nullptr)
    .AddOptionalArg<std::vector<int>>("labels",
                                      "A label for each of ``filenames``, which adds a third output; ``[]`` numbers "
                                      "the files from 0.",
                                      nullptr)
    .AddOptionalArg("file_root",
                    "A directory with directories of files. The directories are sorted, and the number of a file's "
                    "directory is its label. If there are no directories, the files in it are read, with label 0. "
                    "Hidden files are left out.",
                    "")
    .AddOptionalArg("file_list",
                    "A text file with a line for each file to read: ``file [label [start [end]]]``, separated by "
                    "blanks. Without labels the files are numbered from 0. ``start`` and ``end`` bound the part to "
                    "read.",
                    "")
    .AddOptionalArg("file_list_format",
                    "The unit of ``start`` and ``end`` in ``file_list``: ``\"timestamps\"`` in seconds, or "
                    "``\"frames\"``, numbers from 0, where negative ones count from the end.",
                    "timestamps")
    .AddOptionalArg("file_list_rounding",
                    "The frame for a ``start`` or ``end`` between two frames: ``\"start_down_end_up\"``, "
                    "``\"start_up_end_down\"``, ``\"all_up\"`` or ``\"all_down\"``.",
                    "start_down_end_up")
    .AddOptionalArg("file_list_include_end", "Also read the frame at ``end``.", false)
    .AddOptionalArg("file_list_frame_num",
                    "DALI's older name: ``True`` is ``file_list_format=\"frames\"`` with "
                    "``file_list_rounding=\"start_up_end_down\"``.",
                    false)
    .AddOptionalArg("file_list_include_preceding_frame",
                    "DALI's older name: ``True`` is ``file_list_rounding=\"start_down_end_up\"``, ``False`` "
                    "``\"start_up_end_down\"``.",
                    false)
    .AddOptionalArg<std::vector<std::string>>("paths",
                                              "Paths of webdataset archives (tar), each with an index of "
                                              "``index_paths``. Each open video of them is in memory.",
                                              nullptr)
    .AddOptionalArg<std::vector<std::string>>("index_paths",
                                              "Paths of the archives' indexes, one for each of ``paths``. DALI's "
                                              "``wds2idx`` makes them.",
                                              nullptr)
    .AddOptionalArg("ext", "Extensions of the videos in the archives, separated by ``;``.", "mp4;mkv;webm;avi;mov")
    .AddOptionalArg("label_ext",
                    "Extension of the file that holds the label of a sample, a number as text: ``\"cls\"``. Adds the "
                    "output of labels.",
                    "")
    .AddOptionalArg("missing_component_behavior",
                    "How a sample of an archive without a video is handled: ``\"error\"``, or ``\"skip\"``, which "
                    "leaves it out.",
                    "error")
    .AddOptionalArg("stride", "Every ``stride``-th frame is taken; at least 1.", 1)
    .AddOptionalArg("step",
                    "Frames from the first frame of a sequence to the first frame of the next one. -1 is "
                    "``sequence_length * stride``, so that sequences follow one another.",
                    -1)
    .AddOptionalArg("uniform_sample",
                    "Each file is one sequence: ``sequence_length`` frames evenly from its first to its last, halves "
                    "rounded up, repeated if there are fewer. ``stride``, ``step`` and ``pad_mode`` have no effect. "
                    "DALI's name; ``num_frames`` rounds halves to even, as numpy.",
                    false)
    .AddOptionalArg("pad_mode",
                    "How the frames at the end of a file are used that are too few for a sequence. ``\"none\"``: they "
                    "are left out. The others make one more sequence, with places past the end of the file: "
                    "``\"constant\"`` fills them with ``fill_value``, ``\"edge\"`` (``\"repeat\"``) with the last "
                    "frame, ``\"reflect_1001\"`` (``\"symmetric\"``) and ``\"reflect_101\"`` (``\"reflect\"``) with "
                    "the frames backwards, with the last frame again or without it.",
                    "none")
    .AddOptionalArg("pad_sequences", "The same as ``pad_mode=\"constant\"``.", false)
    .AddOptionalArg("fill_value", "The value of the output in places without a frame: one number, or one a channel.",
                    std::vector<float>{0.0f})
    .AddOptionalArg("enable_frame_num",
                    "Adds an output. ``\"scalar\"`` or ``True``: the number of the sequence's first frame in its file. "
                    "``\"sequence\"``: the numbers of all its frames, -1 in places without a frame.",
                    "none")
    .AddOptionalArg("random_shuffle",
                    "Shuffle all sequences again in each epoch, by ``seed``. Together the shards hold every sequence "
                    "once, whatever their seeds are.",
                    false)
    .AddOptionalArg("num_shards", "Number of parts that the sequences are divided into.", 1)
    .AddOptionalArg("shard_id", "The part to read, from 0.", 0)
    .AddOptionalArg("stick_to_shard", "Read the same shard in each epoch instead of the next one.", false)
    .AddOptionalArg("pad_last_batch",
                    "Fill the last batch of an epoch with its last sequence instead of the first ones of the next "
                    "epoch. All shards then have the same number of batches.",
                    false)
    .AddOptionalArg("lazy_init",
                    "Open the files to count their frames when the first batch or ``reader_meta`` needs it, not when "
                    "the pipeline is built.",
                    false)
    .AddOptionalArg("max_open_files",
                    "Number of files that stay open between batches, those used last. Each holds a decoder; those of "
                    "the last batch hold as many as decoded them.",
                    16);

DALI_SCHEMA(tricodec__ReadVideo)
    .DocStr(tricodec::plugin::kReadVideoDoc)
    .AddParent("tricodec__ReadVideoArguments")
    .NumInput(0)
    .NumOutput(1)
    .MakeStateful()
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, tricodec::plugin::frames_dtype)
    .OutputNDim(0, tricodec::plugin::frames_ndim)
    .OutputLayout(0, tricodec::plugin::frames_layout)
    .OutputDType(1, tricodec::plugin::second_dtype)
    .OutputNDim(1, 1)
    .OutputLayout(1, tricodec::plugin::second_layout)
#endif
    .AdditionalOutputsFn(tricodec::plugin::num_more_outputs);

DALI_REGISTER_OPERATOR(tricodec__ReadVideo, tricodec::plugin::ReadVideo<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__ReadVideo, tricodec::plugin::ReadVideo<::dali::GPUBackend>, ::dali::GPU);
