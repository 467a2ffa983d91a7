// Nodes that are not ready or are cordoned take nothing new.

#include "base/text.h"
#include "core/sched/filters/filter.h"

namespace tessera::sched {

const Filter kOpen{
    .name = "open",
    .check = [](Candidate& c) { return c.node->view.open ? Obstacle::kNone : Obstacle::kClosed; },
    .tell = [](const Candidate& c,
               Obstacle) { return cat(c.node->view.name, " ", c.node->view.closed_reason); }};

}  // namespace tessera::sched
