// SPDX-License-Identifier: Apache-2.0
#include "video/stream_index_builder.h"

#include <algorithm>
#include <string>

#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec {

void StreamIndexBuilder::add(const Packet& packet) {
    const auto most = limits().max_packets;
    TRICODEC_EXPECT(num_packets() < most, refused,
                    "the stream has more than limits.max_packets = " + std::to_string(most) + " packets");
    const auto facts = inspector_.inspect(packet);
    index_.packets_.push_back({packet.pts, packet.dts, packet.pos, packet.duration,
                               static_cast<std::int64_t>(packet.data.size()), -1, facts.entry, facts.shows_frame,
                               facts.open_entry, facts.non_reference, static_cast<std::int64_t>(facts.referenced_bytes),
                               facts.slots});
    last_closes_group_ = facts.closes_group;
    layers_.push_back(facts.temporal_layer);
    has_parameter_sets_.push_back(facts.has_parameter_sets);
    index_.uncertain_ = index_.uncertain_ || facts.uncertain;
    index_.parameters_change_ = index_.parameters_change_ || facts.changes_parameters;
}

StreamIndex StreamIndexBuilder::make() const {
    StreamIndex index = index_;
    if (index.parameters_change_) {
        // The container's headers may not be those in force at a later key frame: it must bring its own.
        for (std::size_t k = 1; k < index.packets_.size(); ++k) {
            index.packets_[k].entry = index.packets_[k].entry && has_parameter_sets_[k];
        }
    }
    const int top_layer = layers_.empty() ? 0 : *std::max_element(layers_.begin(), layers_.end());
    for (std::size_t k = 0; k < layers_.size(); ++k) {
        // A picture of a lower layer may be referred to from the layers above it.
        index.packets_[k].non_reference = index.packets_[k].non_reference && layers_[k] == top_layer;
    }
    index.sort_positions();
    index.predict();
    return index;
}

}  // namespace tricodec
