// SPDX-License-Identifier: Apache-2.0
#include "common/selection_arguments.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kRange[] = {"start", "stride", "count"};

}  // namespace

SelectionArguments::SelectionArguments(const ::dali::OpSpec& spec, bool of_reader)
    : OptionArguments(spec, selection_options(), {"start", "stride", "count"}) {
    if (!is_given()) return;
    translate_errors("", [&] {
        const bool by_sample = differs_by_sample() || std::ranges::any_of(kRange, [&](const char* name) {
                                   return spec.HasTensorArgument(name);
                               });
        TRICODEC_EXPECT(
            !by_sample || !of_reader, invalid_argument,
            "an argument that selects frames is a tensor; a reader takes constants, the same for all files");
        if (by_sample) return;  // each sample's are checked
        auto& selection = constants();
        selection.stride = spec.GetArgument<std::int64_t>("stride");
        if (!of_reader) {
            selection.start = spec.GetArgument<std::int64_t>("start");
            selection.count = spec.GetArgument<std::int64_t>("count");
        }
        expect_valid(selection);
    });
}

}  // namespace tricodec::plugin

static const ::dali::OpSchema& tricodec_selection_arguments = tricodec::plugin::options_schema(
    "tricodec__SelectionArguments", "The options that select frames.", tricodec::selection_options(),
    {tricodec::OptionType::whole, tricodec::OptionType::number, tricodec::OptionType::wholes,
     tricodec::OptionType::numbers},
    {"start", "stride", "count"});
