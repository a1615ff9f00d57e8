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

/// Adds to the report how each step of a plan is handled.
struct Explanation {
    const PreparedPlan& prepared;
    const Plan& plan;
    const TransformOptions& options;
    const std::string& kernel;
    FusionReport& report;

    void step(const std::string& name) const { report.name += (report.name.empty() ? "" : " + ") + name; }
    void fused(std::string text) const { report.fused.push_back(std::move(text)); }
    void erased(std::string text) const { report.erased.push_back(std::move(text)); }
    void not_fused(std::string text) const { report.not_fused.push_back(std::move(text)); }

    void color() const {
        step(std::string(to_string(plan.key.format)) + "_to_" + std::string(to_string(options.color)));
        fused(plan.dtype == DType::uint8 ? "range and matrix: one matrix of 13-bit integers, rounded once"
                                         : "range, matrix, scale, mean and std: one matrix of floats and one addition");
        const bool reads_chroma = prepared.cpu() == nullptr || prepared.cpu()->is_needed(1);
        if (plan.num_components == 3 && !reads_chroma) {
            erased("chroma: no channel of the output depends on it; it is not read");
        } else if (plan.filters.size() > 2) {
            fused("chroma: from its own plane straight to the output's size, as rows are converted");
        }
    }

    void geometry() const {
        const Size whole = upright(plan.key.width, plan.key.height, plan.key.orientation);
        if (options.crop && *options.crop == Crop{0, 0, whole.height, whole.width}) {
            erased("crop: it is the whole picture");
        } else if (options.crop) {
            step("crop");
            fused("crop: into the first sample and the border of each filter; nothing outside it is read");
        }
        if (Size{plan.crop.height, plan.crop.width} != plan.grid) {
            step("resize");
            fused("resize: rows are converted as they are resampled; no picture of another size is kept");
        } else if (options.size) {
            erased("resize: the picture has the size " + size_text(plan.output.width, plan.output.height) + " already");
        }
        const Orientation& orientation = plan.key.orientation;
        if (orientation.mirrored) step("mirror");
        if (orientation.rotation_degrees != 0) step("rotate" + std::to_string(orientation.rotation_degrees));
        if (orientation == Orientation{}) return;
        const bool moved = orientation.swaps_axes() || plan.placement.column_per_x < 0;
        if (kernel.empty() && moved) {
            not_fused("orientation: rows are made from left to right, then moved to their places");
        } else {
            fused("orientation: into the addresses that rows are stored to");
        }
    }

    void values() const {
        if (plan.dtype == DType::uint8) return;
        const auto all = [](const std::vector<float>& values, float value) {
            return std::all_of(values.begin(), values.end(), [value](float one) { return one == value; });
        };
        const bool scaled = !options.scale || *options.scale != 1.0F;
        const bool shifted = !all(options.mean, 0.0F) || !all(options.std, 1.0F);
        if (shifted || scaled) step(shifted ? "normalize" : "scale");
        if (!shifted && (!options.mean.empty() || !options.std.empty()))
            erased("mean and std: 0 and 1 change no value");
        if (!scaled) erased("scale: 1 changes no value");
        if (plan.dtype == DType::float32) return;
        step("to_" + std::string(to_string(plan.dtype)));
        fused(std::string(to_string(plan.dtype)) + ": rounded as it is stored");
    }

    void layout() const {
        if (plan.layout == Layout::hwc) return;
        const std::string name = lower(to_string(plan.layout));
        step(name);
        if (plan.layout == Layout::chw || !kernel.empty()) {
            fused(name + ": into the addresses that channels are stored to");
        } else {
            not_fused(name + ": rows of channels are made, then moved into groups");
        }
    }

    void path() const {
        if (!kernel.empty()) {
            report.path = kernel;
            return fused("all steps: one launch reads the frame and writes the result, without a copy between them");
        }
        report.engine = image_engine();
        const CpuPlan* const cpu = prepared.cpu();
        if (cpu == nullptr) {
            report.path = "scalar";
            not_fused("kernels: none for this machine in this build, or TRICODEC_DISABLE_CPU_FEATURES took them away");
        } else if (cpu->path() == RowPath::shared_chroma) {
            report.path = "fused rows";
            fused("the whole row: one kernel from luma and resampled chroma to bytes");
        } else {
            report.path = "generic rows";
            not_fused("one kernel for the whole row: " + cpu->why_generic() +
                      "; a kernel each for columns, rows and color, a few rows at a time");
        }
    }
};

}  // namespace

FusionReport explain(const PreparedPlan& prepared, const TransformOptions& options, const std::string& kernel) {
    FusionReport report;
    const Explanation explanation{prepared, prepared.plan(), options, kernel, report};
    explanation.color();
    explanation.geometry();
    explanation.values();
    explanation.layout();
    explanation.path();
    return report;
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
