// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <string>
#include <vector>

#include "decoding_schema.h"
#include "read_video.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kReadVideoDoc = R"(Reads sequences of frames from video files.

Every codec and container that ``fn.tricodec.decode_video`` takes, on the CPU and on the GPU; cropping, resizing, color
conversion, normalization, data type and layout are its words, and the frames are byte for byte what it gives for the same frames
of a file. Exactly one of ``filenames``, ``file_root`` and ``file_list`` says which files are read.

Each file is cut into sequences of ``sequence_length`` frames, ``stride`` apart, that begin ``step`` frames after one another. A
batch holds the next sequences in the order of the epoch: file after file, or shuffled as a whole. The files used last stay open, with
decoders that go on where they are, and the sequences of a batch that come from one file are decoded together, each frame once.

Outputs:

* frames: ``FHWC`` or ``FCHW`` by ``layout``, of type ``dtype``. With ``format``: raw planes.
* pts: the frames' presentation times in seconds, 1-D float64; of places that no frame fills NaN.
* with ``labels``, ``file_root`` or ``file_list``: the file's label, int32 of one element.
* with ``enable_frame_num``: numbers of frames, int32.
* with ``num_damaged_packets=True``: how many packets could not be decoded whole, int64 of one element.

With ``device="gpu"`` it runs on all decoders of the GPU, the outputs are there, and their bytes are the same; what the GPU cannot
decode exactly the CPU does.

A file that cannot be opened raises an error that names it when the pipeline is built, a sequence that cannot be decoded fails
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
    return (has_labels(spec) ? 1 : 0) + (numbers != "none" && numbers != "False" ? 1 : 0) +
           (spec.GetArgument<bool>("num_damaged_packets") ? 1 : 0);
}

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__ReadVideoArguments)
    .DocStr("Arguments of the operators that read sequences of frames.")
    .AddParent("tricodec__DecodingArguments")
    .AddRandomSeedArg()
    .AddArg("sequence_length", "How many frames a sequence has.", DALI_INT32)
    .AddOptionalArg<std::vector<std::string>>("filenames", "Paths of the files to read.", nullptr)
    .AddOptionalArg<std::vector<int>>("labels",
                                      "A label for each of ``filenames``, which gives a third output; ``[]`` numbers "
                                      "the files from 0 on.",
                                      nullptr)
    .AddOptionalArg("file_root",
                    "A directory whose directories hold the files. Those are sorted, and the number of a file's "
                    "directory is its label. If there are none, the files are those in it, with label 0. Hidden files "
                    "are left out.",
                    "")
    .AddOptionalArg("file_list",
                    "A text file with a line for each file to read: ``file [label [start [end]]]``, parted by blanks. "
                    "Without labels the files are numbered from 0 on. ``start`` and ``end`` bound the part that is "
                    "read.",
                    "")
    .AddOptionalArg("file_list_format",
                    "What ``start`` and ``end`` of ``file_list`` are: ``\"timestamps\"`` in seconds, or "
                    "``\"frames\"``, numbers from 0 on, negative ones counting from the end.",
                    "timestamps")
    .AddOptionalArg("file_list_rounding",
                    "Which frame a ``start`` or ``end`` between two frames means: ``\"start_down_end_up\"``, "
                    "``\"start_up_end_down\"``, ``\"all_up\"`` or ``\"all_down\"``.",
                    "start_down_end_up")
    .AddOptionalArg("file_list_include_end", "Whether the frame that ``end`` means is read, too.", false)
    .AddOptionalArg("stride", "Every how many frames one is taken; at least 1.", 1)
    .AddOptionalArg("step",
                    "How many frames after a sequence's first frame the next sequence begins; -1 is the frames from "
                    "its first to its last, so that sequences follow one another.",
                    -1)
    .AddOptionalArg("pad_mode",
                    "What becomes of the frames at the end of a file that are too few for a sequence. ``\"none\"``: "
                    "they are left out. Else they make one that is filled up: ``\"constant\"`` with ``fill_value``, "
                    "``\"edge\"`` (``\"repeat\"``) with the last frame, ``\"reflect_1001\"`` (``\"symmetric\"``) and "
                    "``\"reflect_101\"`` (``\"reflect\"``) with the frames backwards, with the last one again or "
                    "without.",
                    "none")
    .AddOptionalArg("pad_sequences", "The same as ``pad_mode=\"constant\"``.", false)
    .AddOptionalArg("fill_value", "The number that fills places of no frame, as it stands in the output.", 0.0f)
    .AddOptionalArg("enable_frame_num",
                    "Gives an output more: ``\"scalar\"`` or ``True`` the number of the sequence's first frame in its "
                    "file, ``\"sequence\"`` those of all its frames, -1 where no frame is.",
                    "none")
    .AddOptionalArg("random_shuffle",
                    "Draws the order of all sequences anew in each epoch, from ``seed``. Shards hold every sequence "
                    "once, whatever their seeds are.",
                    false)
    .AddOptionalArg("num_shards", "Into how many parts the sequences are divided.", 1)
    .AddOptionalArg("shard_id", "Which of them is read, from 0 on.", 0)
    .AddOptionalArg("stick_to_shard", "Read the same shard in each epoch, rather than the next one.", false)
    .AddOptionalArg("pad_last_batch",
                    "Fill the last batch of an epoch with its last sequence, rather than with the first ones of the "
                    "next epoch. All shards then have as many batches.",
                    false)
    .AddOptionalArg("lazy_init",
                    "Open the files to count their frames when the first batch or ``reader_meta`` needs it, rather "
                    "than when the pipeline is built.",
                    false)
    .AddOptionalArg("max_open_files",
                    "How many files stay open between batches, those used last. Each holds a decoder; those of the "
                    "last batch hold as many as decoded them.",
                    16);

#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
#define TRICODEC_READ_VIDEO_TYPES                         \
    .OutputDType(0, tricodec::plugin::frames_dtype)       \
        .OutputNDim(0, tricodec::plugin::frames_ndim)     \
        .OutputLayout(0, tricodec::plugin::frames_layout) \
        .OutputDType(1, DALI_FLOAT64)                     \
        .OutputNDim(1, 1)                                 \
        .OutputLayout(1, ::dali::TensorLayout("F"))
#else
#define TRICODEC_READ_VIDEO_TYPES
#endif
#define TRICODEC_READ_VIDEO_SCHEMA                 \
    .DocStr(tricodec::plugin::kReadVideoDoc)       \
        .AddParent("tricodec__ReadVideoArguments") \
        .NumInput(0)                               \
        .NumOutput(2)                              \
        .MakeStateful() TRICODEC_READ_VIDEO_TYPES.AdditionalOutputsFn(tricodec::plugin::num_more_outputs)

DALI_SCHEMA(tricodec__ReadVideo) TRICODEC_READ_VIDEO_SCHEMA;
// By "readers" in a name DALI's dynamic mode knows classes with epochs.
DALI_SCHEMA(tricodec__readers__Video) TRICODEC_READ_VIDEO_SCHEMA;

DALI_REGISTER_OPERATOR(tricodec__ReadVideo, tricodec::plugin::ReadVideoCpu, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__ReadVideo, tricodec::plugin::ReadVideoGpu, ::dali::GPU);
DALI_REGISTER_OPERATOR(tricodec__readers__Video, tricodec::plugin::ReadVideoCpu, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__readers__Video, tricodec::plugin::ReadVideoGpu, ::dali::GPU);
