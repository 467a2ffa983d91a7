# tessera_library(NAME [DEPS …] [LIBS …] [TEST_DEPS …]): one library a folder, from all its *.cc,
# and one test program NAME_test from the *_test.cc beside them. DEPS are our own libraries, by
# folder name; LIBS are other people's. Folders with a CMakeLists.txt of their own are libraries of
# their own.
find_package(GTest REQUIRED)

function(tessera_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_DEPS;TEST_LIBS;SUBFOLDERS" ${ARGN})
  set(patterns *.cc)
  foreach(folder ${ARG_SUBFOLDERS})
    list(APPEND patterns ${folder}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC tessera_flags ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tessera_flags ${ARG_DEPS})
  endif()
  if(tests)
    tessera_test(${name}_test SOURCES ${tests} DEPS ${name} ${ARG_TEST_DEPS} LIBS ${ARG_TEST_LIBS})
  endif()
endfunction()

# tessera_test(NAME SOURCES … [DEPS …] [LIBS …] [LABELS …] [SERIAL]): a GoogleTest program known to
# ctest. Labels choose the tier: none (fast), "slow", "container" (needs root and containerd).
function(tessera_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE
    tessera_flags ${ARG_DEPS} ${ARG_LIBS} GTest::gtest_main GTest::gtest)
  target_compile_definitions(${name} PRIVATE TESSERA_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    TESSERA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if(ARG_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
