// Instantiates the codec for what the core itself keeps in the store.

#include "api/codec_impl.h"
#include "core/command.h"

TESSERA_CODEC(tessera::core::Effect)
