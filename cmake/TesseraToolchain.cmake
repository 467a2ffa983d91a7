# Compiler settings that every target shares: C++20, warnings as errors, ccache and mold when
# present, and the sanitizer that a preset asks for (TESSERA_SANITIZE: empty, "address,undefined" or
# "thread").
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
option(TESSERA_FUZZ "Coverage for libFuzzer, which needs Clang: the target fuzz")
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers for our own code: address,undefined or thread")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(tessera_flags INTERFACE)
target_include_directories(tessera_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(tessera_flags INTERFACE
  -Wall -Wextra -Werror $<$<CXX_COMPILER_ID:GNU>:-Wshadow=compatible-local>
  -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers  # designated initialisers leave the rest at its default
  -fdiagnostics-color=auto)
if(TESSERA_SANITIZE)
  # Without two checks of UBSan that double the time to compile: ASan tells a null pointer too, and
  # x86-64 takes unaligned access.
  target_compile_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE}
    -fno-sanitize=null,alignment -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # GCC 12 reports false maybe-uninitialized and the like once it instruments.
  target_compile_options(tessera_flags INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-tsan>)
  target_link_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
if(TESSERA_FUZZ)
  # Of GCC's own headers, which Clang reads with other eyes.
  target_compile_options(tessera_flags INTERFACE -Wno-deprecated-declarations)
  target_compile_options(tessera_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_package(Threads REQUIRED)
target_link_libraries(tessera_flags INTERFACE Threads::Threads)
