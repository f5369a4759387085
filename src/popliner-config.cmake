# What find_package(popliner) reads: popliner::popliner is the shared library,
# popliner::popliner_static the static one. The static one is only there where the libraries that it
# is made of are; find_package(popliner REQUIRED COMPONENTS static) fails without them.
include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/popliner-targets.cmake)

find_package(PkgConfig QUIET)
find_package(Threads QUIET)
set(popliner_static_FOUND ${Threads_FOUND})
if(PKG_CONFIG_FOUND)
  foreach(module SQLITE3:sqlite3 PCRE2:libpcre2-8 CBOR:libcbor JANSSON:jansson XXHASH:libxxhash)
    string(REPLACE ":" ";" module ${module})
    list(POP_FRONT module name)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    if(NOT TARGET PkgConfig::${name})
      set(popliner_static_FOUND FALSE)
    endif()
  endforeach()
else()
  set(popliner_static_FOUND FALSE)
endif()
if(popliner_static_FOUND)
  include(${CMAKE_CURRENT_LIST_DIR}/popliner-static-targets.cmake)
elseif(popliner_FIND_REQUIRED_static)
  set(popliner_FOUND FALSE)
  set(popliner_NOT_FOUND_MESSAGE
    "the static library needs pkg-config, sqlite3, libpcre2-8, libcbor, jansson and libxxhash")
endif()
