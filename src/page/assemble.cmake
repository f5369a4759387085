# Makes a C source of the page: page.html with its style and start.js, their checksums and that of
# the scripts, which are all that a browser may run of it, besides the solver: a WebAssembly module,
# or none. Scripts and solver are compressed; start.js unpacks the scripts.
#
#   cmake -DOUTPUT=FILE -DFOLDER=THIS -DSCRIPTS=a.js;b.js -DMODULE=FILE -P assemble.cmake
#
# SPDX-License-Identifier: GPL-3.0-or-later

# The base64 of the SHA-256 of a text.
function(checksum text result)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 hex "${text}")
  string(APPEND hex 0000) # 33 bytes, so groups of three; the last character becomes '='
  set(code "")
  foreach(start RANGE 0 60 6)
    string(SUBSTRING "${hex}" ${start} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 char)
      string(APPEND code "${char}")
    endforeach()
  endforeach()
  string(SUBSTRING "${code}" 0 43 code)
  set(${result} "${code}=" PARENT_SCOPE)
endfunction()

# Text as the items of an array of strings, a line each.
function(as_lines text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "?" "\\?" text "${text}") # no trigraphs
  string(REPLACE "\n" "\\n\",\n    \"" text "${text}")
  set(${result} "    \"${text}\",\n    NULL," PARENT_SCOPE)
endfunction()

# The bytes of a compressed file for C; a gzip file has the time in its bytes 4 to 7, which
# become 0.
function(compress file result)
  file(ARCHIVE_CREATE OUTPUT "${OUTPUT}.gz" PATHS "${file}" FORMAT raw COMPRESSION GZip
    COMPRESSION_LEVEL 9)
  file(READ "${OUTPUT}.gz" hex HEX)
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(SUBSTRING "${hex}" 0 8 begin)
  string(SUBSTRING "${hex}" 16 -1 rest)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${begin}00000000${rest}")
  string(REPEAT "....." 16 line)
  string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
  set(${result} "${bytes}" PARENT_SCOPE)
  set(${result}_size ${size} PARENT_SCOPE)
endfunction()

file(READ "${FOLDER}/page.html" page)
file(READ "${FOLDER}/page.css" style)
file(READ "${FOLDER}/start.js" start)
set(script "")
foreach(name IN LISTS SCRIPTS)
  cmake_path(ABSOLUTE_PATH name BASE_DIRECTORY "${FOLDER}")
  file(READ "${name}" part)
  string(APPEND script "${part}")
endforeach()
# lines begin at the left, and comments stay behind
string(REGEX REPLACE "(\n *(//[^\n]*)?)+" "\n" script "${script}")
string(REGEX REPLACE "(\n *(//[^\n]*)?)+" "\n" start "${start}")
string(REGEX REPLACE "\n +" "\n" style "${style}")
foreach(text IN ITEMS "${style}" "${start}")
  if(text MATCHES "</(style|script)" OR text MATCHES "<!--")
    message(FATAL_ERROR "A style or script of the page would end too early: ${CMAKE_MATCH_0}")
  endif()
endforeach()

file(WRITE "${OUTPUT}.js" "${script}")
compress("${OUTPUT}.js" scripts)
set(solver "")
set(solver_size 0)
set(policy "")
if(MODULE)
  compress("${MODULE}" solver)
  set(policy " 'wasm-unsafe-eval'")
endif()
string(REPLACE "@SOLVER_POLICY@" "${policy}" page "${page}")

checksum("${style}" style_checksum)
checksum("${script}" script_checksum)
checksum("${start}" start_checksum)
string(REPLACE "@STYLE_CHECKSUM@" "${style_checksum}" page "${page}")
string(REPLACE "@SCRIPT_CHECKSUM@" "${script_checksum}" page "${page}")
string(REPLACE "@START_CHECKSUM@" "${start_checksum}" page "${page}")
string(REPLACE "@START@" "${start}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
set(lines "")
foreach(mark IN ITEMS @ANSWER@ @DATA@ @PROGRAM@)
  string(FIND "${page}" "${mark}" place)
  string(SUBSTRING "${page}" 0 ${place} part)
  as_lines("${part}" part)
  string(APPEND lines "${part}\n")
  string(LENGTH "${mark}" length)
  math(EXPR place "${place} + ${length}")
  string(SUBSTRING "${page}" ${place} -1 page)
endforeach()
as_lines("${page}" part)
string(APPEND lines "${part}")
file(WRITE "${OUTPUT}"
  "/* Made by src/page/assemble.cmake. */\n"
  "#include \"page/page_data.h\"\n\n#include <stddef.h>\n\n"
  "const char *const pl_page_lines[] = {\n${lines}\n};\n\n"
  "const unsigned char pl_page_scripts[] = {\n    ${scripts}0};\n"
  "const size_t pl_page_scripts_size = ${scripts_size};\n\n"
  "const unsigned char pl_page_solver[] = {\n    ${solver}0};\n"
  "const size_t pl_page_solver_size = ${solver_size};\n")
