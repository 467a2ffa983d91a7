#pragma once
// The schedulers whose completion times were published, to show that the accounting is the same.

#include <memory>

#include "bench/completion/accounting.h"

namespace bench {

std::unique_ptr<Scheduler> make_fifo();      // strict: who does not fit holds up those behind
std::unique_ptr<Scheduler> make_srtf();      // shortest remaining time first
std::unique_ptr<Scheduler> make_srsf();      // shortest remaining service (time × devices) first
std::unique_ptr<Scheduler> make_tiresias();  // least attained service, in three levels

}  // namespace bench
