#pragma once
// A seeded random stream (SplitMix64; Steele, Lea, Flood, OOPSLA 2014). Passed by value to pure
// code, so the same seed always gives the same decisions.

#include <cstdint>

namespace tessera {

class Rng {
 public:
  explicit constexpr Rng(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); 0 when bound is 0.
  constexpr uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  constexpr bool chance(uint64_t percent) { return below(100) < percent; }
  // An independent stream, so that one more draw here does not reshuffle what follows there.
  constexpr Rng fork(uint64_t stream) {
    Rng child(state_ ^ (stream * 0xD1342543DE82EF95ull + 0x2545F4914F6CDD1Dull));
    child.next();
    return child;
  }

 private:
  uint64_t state_;
};

}  // namespace tessera
