#pragma once
// What the planner consists of, in the order in which it is used; pipeline.cc is the list.

#include <span>

#include "core/sched/actions/action.h"
#include "core/sched/filters/filter.h"
#include "core/sched/scores/score.h"

namespace tessera::sched {

std::span<const Filter* const> filters();
std::span<const Weighted> scores_of(Placement placement);
bool tries_devices(Placement placement);
std::span<const Action* const> actions();

}  // namespace tessera::sched
