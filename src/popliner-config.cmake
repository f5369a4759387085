# What find_package(popliner) reads. Components:
#   solver  popliner::solver, the shared library of the solver alone, and popliner::solver_static.
#           Asked for alone, nothing else is looked for.
#   shared  popliner::popliner, the shared library of everything.
#   static  popliner::static, the static one, also known as popliner::popliner_static. It is only
#           there where the libraries that it is made of are.
# Without COMPONENTS: whatever is there.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set(popliner_wanted ${popliner_FIND_COMPONENTS})
if(NOT popliner_wanted)
  set(popliner_wanted solver shared static)
endif()
foreach(component ${popliner_wanted})
  set(popliner_${component}_FOUND FALSE)
endforeach()

find_package(Threads QUIET)
include(${CMAKE_CURRENT_LIST_DIR}/popliner-solver-targets.cmake)
if(Threads_FOUND)
  include(${CMAKE_CURRENT_LIST_DIR}/popliner-solver-static-targets.cmake)
endif()
set(popliner_solver_FOUND TRUE)

if(NOT popliner_wanted STREQUAL "solver" AND
   EXISTS ${CMAKE_CURRENT_LIST_DIR}/popliner-targets.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/popliner-targets.cmake)
  set(popliner_shared_FOUND TRUE)
  find_package(PkgConfig QUIET)
  set(popliner_static_FOUND ${Threads_FOUND})
  if(PKG_CONFIG_FOUND)
    foreach(module SQLITE3:sqlite3 PCRE2:libpcre2-8 JANSSON:jansson XXHASH:libxxhash ZLIB:zlib)
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
    if(NOT TARGET popliner::static)
      add_library(popliner::static ALIAS popliner::popliner_static)
    endif()
  endif()
endif()

foreach(component ${popliner_FIND_COMPONENTS})
  if(popliner_FIND_REQUIRED_${component} AND NOT popliner_${component}_FOUND)
    set(popliner_FOUND FALSE)
    if(NOT component MATCHES "^(shared|static)$")
      set(popliner_NOT_FOUND_MESSAGE
        "there is no component ${component}: expected solver, shared or static")
    elseif(NOT popliner_shared_FOUND)
      set(popliner_NOT_FOUND_MESSAGE "only the solver is installed (POPLINER_SOLVER_ONLY)")
    else()
      set(popliner_NOT_FOUND_MESSAGE
        "the static library needs pkg-config, sqlite3, libpcre2-8, jansson, libxxhash and zlib")
    endif()
  endif()
endforeach()
