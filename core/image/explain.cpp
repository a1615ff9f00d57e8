// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "image/cpu/engine.h"
#include "image/options.h"
#include "tricodec/base/text.h"

namespace tricodec::image {
namespace {

/// The steps of one plan, each looked at once.
class Report {
public:
    Report(const PreparedPlan& prepared, const TransformOptions& options, const std::string& kernel)
        : prepared_(prepared), plan_(prepared.plan()), options_(options), kernel_(kernel) {}

    FusionReport made() && {
        color();
        crop();
        resize();
        orientation();
        normalization();
        layout();
        path();
        return std::move(report_);
    }

private:
    void step(std::string_view name) { report_.name += (report_.name.empty() ? "" : " + ") + std::string(name); }
    void fused(std::string text) { report_.fused.push_back(std::move(text)); }
    void erased(std::string text) { report_.erased.push_back(std::move(text)); }
    void not_fused(std::string text) { report_.not_fused.push_back(std::move(text)); }

    [[nodiscard]] bool floats() const { return plan_.dtype != DType::uint8; }
    [[nodiscard]] bool has_chroma_filters() const { return plan_.filters.size() > 2; }
    [[nodiscard]] bool reads_chroma() const {
        return plan_.num_components == 3 && (prepared_.cpu() == nullptr || prepared_.cpu()->is_needed(1));
    }

    void color() {
        step(std::string(to_string(plan_.key.format)) + "_to_" + std::string(to_string(options_.color)));
        fused(floats() ? "range, matrix, scale, mean and std: one matrix of floats and one addition a channel"
                       : "range and matrix: one matrix of 13-bit integers, rounded once");
        if (plan_.num_components == 3 && !reads_chroma()) {
            erased("chroma: no channel of the output depends on it; it is not read");
        }
    }

    void crop() {
        if (!options_.crop) return;
        const bool turned = plan_.key.orientation.swaps_axes();
        const Size whole = turned ? Size{plan_.key.width, plan_.key.height} : Size{plan_.key.height, plan_.key.width};
        if (*options_.crop == Crop{0, 0, whole.height, whole.width}) {
            return erased("crop: it is the whole picture");
        }
        step("crop");
        fused("crop: into the first sample and the border of each filter; nothing outside it is read");
    }

    void resize() {
        const Size from{plan_.crop.height, plan_.crop.width};
        if (from == plan_.grid) {
            if (options_.size)
                erased("resize: the picture has the size " + size_text(plan_.output.width, plan_.output.height) +
                       " already");
            if (has_chroma_filters() && reads_chroma()) {
                fused(options_.chroma == ChromaUpsampling::nearest
                          ? "chroma: each sample is repeated for the pixels that it covers, as rows are converted"
                          : "chroma: from its own plane to the size of luma as rows are converted");
            }
            return;
        }
        step("resize");
        fused("resize: rows are converted as they are resampled; no picture of another size is kept");
        if (has_chroma_filters() && reads_chroma()) {
            fused("chroma: from its own plane straight to the output's size, not by way of luma's");
        }
    }

    void orientation() {
        const Orientation& orientation = plan_.key.orientation;
        if (orientation.mirrored) step("mirror");
        if (orientation.rotation_degrees != 0) step("rotate" + std::to_string(orientation.rotation_degrees));
        if (orientation == Orientation{}) return;
        if (!kernel_.empty()) {
            fused("orientation: into the addresses that the kernel stores to");
        } else if (orientation.swaps_axes()) {
            not_fused("rotate: columns become rows, so some rows are collected and then moved together");
        } else if (plan_.placement.column_per_x < 0) {
            not_fused("mirror: rows are made from left to right and then moved from right to left");
        } else {
            fused("rotate: into the order in which rows are stored");
        }
    }

    void normalization() {
        if (!floats()) return;
        const auto all = [](const std::vector<float>& values, float value) {
            return std::all_of(values.begin(), values.end(), [value](float one) { return one == value; });
        };
        const bool scaled = !options_.scale || *options_.scale != 1.0F;
        const bool shifted = !all(options_.mean, 0.0F) || !all(options_.std, 1.0F);
        if (shifted) {
            step("normalize");
        } else if (scaled) {
            step("scale");
        }
        if (!shifted && (!options_.mean.empty() || !options_.std.empty())) {
            erased("mean and std: 0 and 1 change no value");
        }
        if (!scaled) erased("scale: 1 changes no value");
        if (plan_.dtype == DType::float32) return;
        step("to_" + std::string(to_string(plan_.dtype)));
        fused(std::string(to_string(plan_.dtype)) + ": rounded as it is stored");
    }

    void layout() {
        if (plan_.layout == Layout::hwc) return;
        const std::string name = lower(to_string(plan_.layout));
        step(name);
        if (plan_.layout == Layout::chw || !kernel_.empty())
            return fused(name + ": into the addresses that channels are stored to");
        not_fused(name + ": rows of channels are made and then woven into groups");
    }

    void path() {
        if (!kernel_.empty()) {
            report_.path = kernel_;
            return fused("all steps: one launch reads the frame and writes the result, without a copy between them");
        }
        report_.engine = image_engine();
        const CpuPlan* const cpu = prepared_.cpu();
        if (cpu == nullptr) {
            report_.path = "scalar";
            not_fused("kernels: none for this machine in this build, or TRICODEC_DISABLE_CPU_FEATURES took them away");
            return;
        }
        if (cpu->path() == RowPath::shared_chroma) {
            report_.path = "fused rows";
            return fused("the whole row: one kernel from luma and resampled chroma to bytes");
        }
        report_.path = "generic rows";
        not_fused("one kernel for the whole row: " + cpu->why_generic() +
                  "; a kernel each for columns, rows and color, a few rows at a time");
        if (plan_.filters[0].max_taps == 1 && !plan_.filters[0].identity) {
            not_fused("nearest: columns are picked one by one");
        }
        if (plan_.dtype == DType::float16 && report_.engine.ends_with("SSE4")) {
            not_fused("float16: SSE4 has no instruction for it; values are converted one by one");
        }
    }

    const PreparedPlan& prepared_;
    const Plan& plan_;
    const TransformOptions& options_;
    const std::string& kernel_;
    FusionReport report_;
};

}  // namespace

FusionReport explain(const PreparedPlan& prepared, const TransformOptions& options, const std::string& kernel) {
    return Report(prepared, options, kernel).made();
}

}  // namespace tricodec::image

namespace tricodec {

std::string FusionReport::to_string() const {
    std::string text = name + " (" + path + ", " + engine + ")";
    const auto add = [&text](std::string_view title, const std::vector<std::string>& lines) {
        for (const std::string& line : lines) text += "\n  " + std::string(title) + ": " + line;
    };
    add("fused", fused);
    add("erased", erased);
    add("not fused", not_fused);
    return text;
}

}  // namespace tricodec
