#pragma once
// How a job's end becomes the exit code and the last sentence of a command. Pure.

#include <string>
#include <string_view>

#include "api/job.h"

namespace tessera::cli {

// docker's codes for what kept a program from running.
inline constexpr int kRunFailedExit = 125;
inline constexpr int kCannotRunExit = 126;
inline constexpr int kNotFoundExit = 127;

// The container's exit code; 125, 126 or 127 when it did not run; 143 when it was cancelled before
// it ran. Never 0 for a job that failed.
int exit_code_of(const api::Job& job);

// 126 or 127 by what the runtime said of a program that it could not start; else 125.
int start_failure_code(std::string_view message);

// One sentence about an end that is not plain success or a plain exit code; else empty.
std::string ending_of(const api::Job& job);

// "waits: no GPU is free", "starts on n1": where the job stands, for a person who waits.
std::string standing_of(const api::Job& job);

}  // namespace tessera::cli
