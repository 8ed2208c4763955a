# retile_library(Name SOURCES a.cpp ... LINK lib ... [LLVM]) adds a static library retileName with the project's
# warnings. LLVM marks the few libraries that include clang or llvm headers: no RTTI, and one precompiled header.

set(RETILE_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations -Werror)
# GCC 12 sees overlaps in std::string that cannot be (its bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND RETILE_WARNINGS -Wno-restrict)
endif()

add_library(retileFlags INTERFACE)
target_include_directories(retileFlags INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_compile_options(retileFlags INTERFACE ${RETILE_WARNINGS})
if(RETILE_SANITIZE)
  target_compile_options(retileFlags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(retileFlags INTERFACE -fsanitize=address,undefined)
endif()

if(RETILE_FUZZERS)
  target_compile_options(retileFlags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(retile_library name)
  cmake_parse_arguments(ARG "LLVM" "" "SOURCES;LINK" ${ARGN})
  add_library(retile${name} STATIC ${ARG_SOURCES})
  target_link_libraries(retile${name} PUBLIC retileFlags ${ARG_LINK})
  if(ARG_LLVM)
    target_include_directories(retile${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
    target_compile_definitions(retile${name} PRIVATE ${LLVM_DEFINITIONS_LIST})
    target_compile_options(retile${name} PRIVATE -fno-rtti)
  endif()
endfunction()
